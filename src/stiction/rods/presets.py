"""Presets of rods in frictional contact: crossed rods, a rod on a rod, a net, a braid, a knot.

Each preset is a `RodSystem` with few parameters; `assembled` returns its rods and contacts, with
the initial nodes on explicit curves. `rods.wrapped` also uses `resample` and `rounded`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import (
    Choice,
    Components,
    Count,
    Finite,
    Flag,
    Positive,
)
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.numerics.checks import fits
from stiction.rods.centreline import Curve, Straight
from stiction.rods.contact.curve.nodes import curve_nodes
from stiction.rods.contact.model import FRICTION, RESTITUTION, ContactSearch, RollingContact
from stiction.rods.model import CONTACT_CURVE, LEAST_MARGIN, Rods, RodSystem
from stiction.rods.rod import (
    BYTES_OF_ELEMENT,
    DAMPING,
    DRAG,
    RISE,
    Clamped,
    CosseratRod,
    Driven,
    Free,
    RigidMotion,
    SineSpin,
    SineVelocity,
)
from stiction.rods.section import DENSITY, POISSON, RADIUS, YOUNG, CircularSection

__all__ = ["Braid", "CrossedRods", "RodNet", "RodOnFixedRod", "TighteningKnot"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

# the reference case of the formulas sheet fixes the last element, not the section at the end
CLAMPED = Clamped(hold="element")


_LENGTH = Positive("m", "every rod has this rest length.")
_STRETCH = Positive("1", "the clamps are this many rest lengths apart.")
_FRACTION = Finite("1", "0 is the start of the rod, 1 its end.", above=0.0, below=1.0)
_CLAMPS = Finite("m/s", "the clamps move at this velocity.")
_ROOM = "the contact acts on four nodes and needs several between it and each end."
_ELEMENTS = Count(2 * LEAST_MARGIN + 4, _ROOM, each=BYTES_OF_ELEMENT)
# crossed rods
_ANGLE = Finite(
    "rad",
    "only rods that cross have one contact point.",
    above=math.radians(10.0),
    below=math.radians(170.0),
)
_PLUCK = Finite("m", "rod 1 has this initial deflection.")
_WAVE = Components("m/s", "a wave on rod 1 has this amplitude.")
_SPIN = Finite("rad/s", "rod 1 rotates about its axis at this rate.")
# a rod on a fixed rod
_SLOPE = Finite(
    "rad",
    "at larger slopes the free rod does not lie on rod 1.",
    above=-0.5 * math.pi,
    below=0.5 * math.pi,
)
_OFFSET = Finite("m", "the middle of the free rod is at this distance from the contact.")
_VELOCITY = Components("m/s", "the whole free rod starts at this velocity.")
_GRAVITY = Finite("m/s^2", "gravity is the load of the free rod.")
# nets
_LINES = Count(1, "a net has rods in both directions.", each=BYTES_OF_ELEMENT)
_CELL = Positive("m", "neighbouring rods are this far apart.")
_WOVEN = Flag("True weaves the columns over and under the rows; False lays them on the rows.")
_THROW = Finite("m/s", "the middle of the net starts at this velocity.")
_SEARCH = Flag("True lets a search find the contacts; False declares one at each crossing.")
_CELL_ELEMENTS = Count(LEAST_MARGIN + 1, _ROOM, each=BYTES_OF_ELEMENT)
# braids and knots
_STRANDS = Choice((2, 3), "braids of two and of three strands are implemented.")
_PERIODS = Positive("1", "the braid repeats its period this many times.")
_PITCH = Positive("m", "one period has this length.")
_WIDTH = Positive("m", "without a width the rods do not cross.")
_CLEARANCE = Positive("1", "rods start with a gap, not in penetration.")
# bound on the memory for the distances of all points of two strands
_STRAND_ELEMENTS = Count(4 * LEAST_MARGIN, _ROOM, most=5000, each=3 * BYTES_OF_ELEMENT)
_SIZE = Positive("m", "this length scales the knot.")
_ARM = Positive("1", "the straight ends have this length.")
_KNOT_ELEMENTS = Count(8 * LEAST_MARGIN, _ROOM, each=BYTES_OF_ELEMENT)


@dataclass(frozen=True, eq=False, repr=False)
class CrossedRods(RodSystem):
    """Two stretched rods between clamps that cross in contact at one point, and are plucked.

    Rod 1 lies along x, rod 2 above it at an `angle` in the plane, with the contact in the middle.
    Rod 1 has an initial deflection `pluck`, a transverse velocity of a half and a whole wave, and
    a spin about its axis.

    Parameters
    ----------
    angle : between the rods [rad]
    stretch : length between the clamps over rest length [1]
    pluck : initial deflection of rod 1 at `pluck_at` [m]
    pluck_at : position of the pluck along rod 1 [1], 0 its start and 1 its end
    half_wave, whole_wave : (3,) amplitudes of the initial velocities sin(pi x) and sin(2 pi x),
        with x from 0 to 1 along rod 1 [m/s]; components along rod 1, across both rods, towards
        rod 2
    spin : initial angular velocity of rod 1 about its axis: in the middle, zero at the ends [rad/s]
    friction : Coulomb's law; None: bilateral rolling without slip
    radius, length : of both rods [m]
    young, poisson, density : of the material [Pa], [1], [kg/m^3]
    elements : number of elements of each rod
    drag : external damping of both rods [N s/m^2]
    contact_curve : the contact curve, "spline" or "fitted"; see `Rods`

    Source: Gay-Balmaz and Putkaradze 2012, Fig. 1; the defaults are the reference case of the
    formulas sheet (docs/formulas/rods.md), section 6.
    Verified by: tests/unit/rods/test_presets.py::test_crossed_rods_are_the_reference_case
    """

    angle: Annotated[float, _ANGLE] = math.pi / 3.0
    stretch: Annotated[float, _STRETCH] = 1.02
    pluck: Annotated[float, _PLUCK] = 0.0
    pluck_at: Annotated[float, _FRACTION] = 0.25
    half_wave: Annotated[Vector, _WAVE] = (0.0, 0.5, 1.0)
    whole_wave: Annotated[Vector, _WAVE] = (0.0, 0.7, 0.0)
    spin: Annotated[float, _SPIN] = 2.0
    friction: Annotated[Coulomb | None, FRICTION] = None
    radius: Annotated[float, RADIUS] = 0.02
    length: Annotated[float, _LENGTH] = 1.0
    young: Annotated[float, YOUNG] = 1e6
    poisson: Annotated[float, POISSON] = 0.5
    density: Annotated[float, DENSITY] = 1000.0
    elements: Annotated[int, _ELEMENTS] = 40
    drag: Annotated[float, DRAG] = 0.0
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def assembled(self) -> Rods:
        """Return both rods and their contact."""
        section = CircularSection(self.radius, self.young, self.poisson, self.density)
        half = 0.5 * self.stretch * self.length
        along = np.array([math.cos(self.angle), math.sin(self.angle), 0.0])
        above = np.array([0.0, 0.0, 2.0 * self.radius])
        x = np.linspace(0.0, 1.0, self.elements + 1)
        line = np.outer(2.0 * x - 1.0, [half, 0.0, 0.0])
        line[:, 1] = self.pluck * np.minimum(x / self.pluck_at, (1 - x) / (1 - self.pluck_at))
        # crossing of both rods in projection on the plane
        beside = line @ np.array([-along[1], along[0], 0.0])
        k = int(np.argmax(np.diff(np.sign(beside)) != 0.0))
        s1 = (k + beside[k] / (beside[k] - beside[k + 1])) / self.elements
        s2 = 0.5 + 0.5 * (line[k] @ along) / half
        lower = CosseratRod(
            section,
            Curve(line) if self.pluck else Straight(line[0], line[-1]),
            length=self.length,
            elements=self.elements,
            left=CLAMPED,
            right=CLAMPED,
            motion=[
                SineVelocity(1, self.half_wave),
                SineVelocity(2, self.whole_wave),
                SineSpin(1, self.spin),
            ],
            drag=self.drag,
        )
        upper = CosseratRod(
            section,
            Straight(above - half * along, above + half * along),
            length=self.length,
            elements=self.elements,
            left=CLAMPED,
            right=CLAMPED,
            drag=self.drag,
        )
        contact = RollingContact(s1 * self.length, s2 * self.length, friction=self.friction)
        return Rods([lower, upper], [contact], contact_curve=self.contact_curve)


@dataclass(frozen=True, eq=False, repr=False)
class RodOnFixedRod(RodSystem):
    """A free rod across a clamped one: rolling, slip or opening under gravity.

    Rod 1 lies along x between clamps; rod 2 lies on it across, along y. Gravity points down and
    along x, as on a slope. A stiff free rod rolls down with 2/3 g sin(slope) if
    tan(slope) <= 3 mu, and slips with g (sin(slope) - mu cos(slope)) otherwise.

    Parameters
    ----------
    slope : of rod 1 [rad]
    friction : Coulomb's law; None: bilateral rolling without slip
    at : contact point along rod 1 [1], 0 its start and 1 its end
    offset : distance of the middle of the free rod from the contact [m]; the rod tips
    velocity : of the free rod at the start [m/s]; x along rod 1, z up
    restitution : coefficient of restitution of impacts [1]
    gravity : [m/s^2]
    radius, length : of the free rod [m]
    fixed_radius, fixed_length : of the clamped rod [m]
    young, density : of both rods [Pa], [kg/m^3]
    elements : number of elements of each rod
    internal_damping : retardation time of the material [s]
    contact_curve : the contact curve, "spline" or "fitted"; see `Rods`

    Source: a rigid cylinder on a slope; formulas sheet (docs/formulas/rods.md), section 4.
    Verified by: tests/unit/rods/test_presets.py::test_a_stiff_rod_rolls_and_slips_down_a_slope
    """

    slope: Annotated[float, _SLOPE] = 0.3
    friction: Annotated[Coulomb | None, FRICTION] = None
    at: Annotated[float, _FRACTION] = 0.3
    offset: Annotated[float, _OFFSET] = 0.0
    velocity: Annotated[Vector, _VELOCITY] = (0.0, 0.0, 0.0)
    restitution: Annotated[float, RESTITUTION] = 0.0
    gravity: Annotated[float, _GRAVITY] = 9.81
    radius: Annotated[float, RADIUS] = 0.02
    length: Annotated[float, _LENGTH] = 0.4
    fixed_radius: Annotated[float, RADIUS] = 0.02
    fixed_length: Annotated[float, _LENGTH] = 0.5
    young: Annotated[float, YOUNG] = 1e7
    density: Annotated[float, DENSITY] = 1000.0
    elements: Annotated[int, _ELEMENTS] = 40
    internal_damping: Annotated[float, DAMPING] = 0.0
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def assembled(self) -> Rods:
        """Return the clamped rod, the free rod, and their contact."""
        shape = (self.young, 0.5, self.density)
        position = self.at * self.fixed_length
        above = self.radius + self.fixed_radius
        fixed = CosseratRod(
            CircularSection(self.fixed_radius, *shape),
            Straight((-position, 0.0, 0.0), (self.fixed_length - position, 0.0, 0.0)),
            elements=self.elements,
            left=CLAMPED,
            right=CLAMPED,
            internal_damping=self.internal_damping,
        )
        reach = 0.5 * self.length
        free = CosseratRod(
            CircularSection(self.radius, *shape),
            Straight((0.0, self.offset - reach, above), (0.0, self.offset + reach, above)),
            elements=self.elements,
            left=Free(),
            right=Free(),
            motion=[RigidMotion(self.velocity)],
            internal_damping=self.internal_damping,
        )
        contact = RollingContact(
            position, reach - self.offset, friction=self.friction, restitution=self.restitution
        )
        down = (math.sin(self.slope), 0.0, -math.cos(self.slope))
        gravity = tuple(self.gravity * d for d in down)
        return Rods([fixed, free], [contact], gravity=gravity, contact_curve=self.contact_curve)


@dataclass(frozen=True, eq=False, repr=False)
class RodNet(RodSystem):
    """A net of stretched rods between clamps: rows along x, columns along y.

    The rods of a woven net pass over and under each other alternately; otherwise all columns lie on
    the rows. The initial velocity normal to its plane is sin(pi x) sin(pi y).

    Parameters
    ----------
    rows, columns : numbers of rods; rows are rods 1, 2, ..., columns come after them
    cell : distance between neighbours [m]
    woven : rods pass over and under alternately; False: columns lie on the rows
    throw : initial velocity of the middle [m/s]
    stretch : length between the clamps over rest length [1]; of a woven rod that of its curve
    friction : Coulomb's law; None: rolling without slip
    found : a search finds the contacts while the net moves; False: each crossing has a declared one
    radius : of the rods [m]
    young, density : of the material [Pa], [kg/m^3]
    cell_elements : elements per cell
    drag : external damping [N s/m^2]
    contact_curve : the contact curve, "spline" or "fitted"; see `Rods`

    Source: several contacts, formulas sheet (docs/formulas/rods.md), section 4.
    Verified by: tests/unit/rods/test_presets.py::test_a_net_has_a_contact_at_every_crossing
    """

    rows: Annotated[int, _LINES] = 3
    columns: Annotated[int, _LINES] = 3
    cell: Annotated[float, _CELL] = 0.1
    woven: Annotated[bool, _WOVEN] = True
    throw: Annotated[float, _THROW] = 0.5
    stretch: Annotated[float, _STRETCH] = 1.1
    friction: Annotated[Coulomb | None, FRICTION] = None
    found: Annotated[bool, _SEARCH] = False
    radius: Annotated[float, RADIUS] = 0.005
    young: Annotated[float, YOUNG] = 1e6
    density: Annotated[float, DENSITY] = 1000.0
    cell_elements: Annotated[int, _CELL_ELEMENTS] = 10
    drag: Annotated[float, DRAG] = 0.0
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def assembled(self) -> Rods:
        """Return rows, columns and their contacts."""
        cells = self.rows * (self.columns + 1) + self.columns * (self.rows + 1)
        fits("RodNet", cells * self.cell_elements, BYTES_OF_ELEMENT, "take a smaller net.")
        most = 0.25 * self.cell
        if self.radius >= most:
            needs, why = f"a number below {most:.6g} [m]", "parallel rods must not be in contact."
            raise ModelError("RodNet.radius", self.radius, needs, why, "take a larger cell.")
        rods = [self._rod(i, self.columns, self.rows, 0) for i in range(1, self.rows + 1)]
        rods += [self._rod(j, self.rows, self.columns, 1) for j in range(1, self.columns + 1)]
        if self.found:
            search = ContactSearch(friction=self.friction, self_contact=False)
            return Rods(rods, search=search, contact_curve=self.contact_curve)
        contacts = [
            RollingContact(
                j / (self.columns + 1) * rods[i - 1].rest_length,
                i / (self.rows + 1) * rods[self.rows + j - 1].rest_length,
                first=i,
                second=self.rows + j,
                friction=self.friction,
            )
            for i in range(1, self.rows + 1)
            for j in range(1, self.columns + 1)
        ]
        return Rods(rods, contacts, contact_curve=self.contact_curve)

    def _rod(self, number: int, crossings: int, lines: int, across: int) -> CosseratRod:
        """Return one rod; `across` is 0 for rows and 1 for columns, `lines` their number."""
        elements = self.cell_elements * (crossings + 1)
        x = np.linspace(0.0, crossings + 1.0, elements + 1)
        points = np.zeros((elements + 1, 3))
        points[:, across] = self.cell * x
        points[:, 1 - across] = self.cell * number
        side = -1.0 if across == 0 else 1.0
        if self.woven:
            points[:, 2] = side * self.radius * (-1.0) ** number * np.cos(np.pi * x)
        else:
            points[:, 2] = side * self.radius
        nodes = curve_nodes(points, self.contact_curve)
        arclength = float(np.linalg.norm(np.diff(nodes, axis=0), axis=1).sum())
        velocity = self.throw * math.sin(math.pi * number / (lines + 1))
        return CosseratRod(
            CircularSection(self.radius, self.young, 0.5, self.density),
            Curve(nodes),
            length=arclength / self.stretch,
            elements=elements,
            left=CLAMPED,
            right=CLAMPED,
            motion=[SineVelocity(1, (0.0, 0.0, velocity))],
            drag=self.drag,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Braid(RodSystem):
    """Two twisted or three plaited rods between clamps that move apart.

    In projection the rods are sine waves that cross and alternate on top. They start without strain
    and with a small gap, and come into contact as they straighten; a search finds the contacts.

    Parameters
    ----------
    strands : 2, twisted about each other, or 3, plaited
    periods : number of repetitions of the pattern
    pitch : length of one period along x [m]
    width : amplitude of the waves in projection [m]
    pull : velocity of the clamps at the ends of the rods, along x [m/s]
    rise : time in which this velocity grows linearly from zero [s]
    friction : Coulomb's law; None: rolling without slip under compression
    clearance : initial gap over the radius [1]
    radius : of the rods [m]
    young, density : of the material [Pa], [kg/m^3]
    elements : of each rod
    drag : external damping [N s/m^2]
    internal_damping : retardation time of the material [s]
    contact_curve : the contact curve, "spline" or "fitted"; see `Rods`

    Source: several contacts, formulas sheet (docs/formulas/rods.md), section 4.
    Verified by: tests/unit/rods/test_presets.py::test_strands_of_a_braid_start_just_apart

    Examples
    --------
    >>> import stiction as st
    >>> len(st.rods.Braid(strands=3, elements=60).assembled().rods)
    3
    """

    strands: Annotated[int, _STRANDS] = 3
    periods: Annotated[float, _PERIODS] = 1.5
    pitch: Annotated[float, _PITCH] = 0.3
    width: Annotated[float, _WIDTH] = 0.04
    pull: Annotated[float, _CLAMPS] = 0.1
    rise: Annotated[float, RISE] = 0.02
    friction: Annotated[Coulomb | None, FRICTION] = None
    clearance: Annotated[float, _CLEARANCE] = 0.02
    radius: Annotated[float, RADIUS] = 0.01
    young: Annotated[float, YOUNG] = 1e6
    density: Annotated[float, DENSITY] = 1000.0
    elements: Annotated[int, _STRAND_ELEMENTS] = 60
    drag: Annotated[float, DRAG] = 0.0
    internal_damping: Annotated[float, DAMPING] = 0.0
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def assembled(self) -> Rods:
        """Return the strands and the search for their contacts."""
        unit = [self._wave(i, 1.0) for i in range(self.strands)]
        # scale the height so that the least gap of two strands is the clearance
        distance = (2.0 + self.clearance) * self.radius
        height = 1.25 * distance
        for _ in range(8):
            unit = [self._wave(i, height) for i in range(self.strands)]
            height *= distance / _least_distance(unit[0], unit[1])
        section = CircularSection(self.radius, self.young, 0.5, self.density)
        rods = [
            CosseratRod(
                section,
                Curve(curve_nodes(resample(points, self.elements + 1), self.contact_curve)),
                elements=self.elements,
                left=CLAMPED,
                right=Driven((self.pull, 0.0, 0.0), rise=self.rise, hold="element"),
                natural_curvature=None,
                drag=self.drag,
                internal_damping=self.internal_damping,
            )
            for points in (self._wave(i, height) for i in range(self.strands))
        ]
        search = ContactSearch(friction=self.friction, self_contact=False)
        return Rods(rods, search=search, contact_curve=self.contact_curve)

    def _wave(self, strand: int, height: float) -> Floats:
        """Return (20 elements + 1, 3) points of one strand, with this amplitude along z [m]."""
        turn = np.linspace(0.0, 2.0 * np.pi * self.periods, 20 * self.elements + 1)
        angle = turn + 2.0 * np.pi * strand / self.strands
        up = np.cos(angle) if self.strands == 2 else np.sin(2.0 * angle)
        along = self.pitch * turn / (2.0 * np.pi)
        return np.column_stack([along, self.width * np.sin(angle), height * up])


@dataclass(frozen=True, eq=False, repr=False)
class TighteningKnot(RodSystem):
    """An overhand knot in one rod, whose clamped ends move apart along y.

    The rod starts without strain on an open trefoil, without contact. Self-contact begins when the
    loop closes; a search finds the contacts.

    Parameters
    ----------
    size : unit of length of the trefoil, whose width is about 6 and length about 38 units [m]
    arm : straight part at each end, in units of `size` [1]
    pull : outward velocity of each end [m/s]
    rise : time in which this velocity grows linearly from zero [s]
    friction : Coulomb's law; None: rolling without slip under compression
    radius : of the rod [m]
    young, density : of the material [Pa], [kg/m^3]
    elements : number of elements of the rod
    drag : external damping [N s/m^2]
    internal_damping : retardation time of the material [s]
    contact_curve : the contact curve, "spline" or "fitted"; see `Rods`

    Source: self-contact, formulas sheet (docs/formulas/rods.md), section 4; the curve is the torus
    knot (2, 3), opened at its outermost point.
    Verified by: tests/unit/rods/test_presets.py::test_a_knot_tightens_against_friction

    Examples
    --------
    >>> import stiction as st
    >>> knot = st.rods.TighteningKnot(elements=80).assembled()
    >>> len(knot.rods), knot.contacts
    (1, ())
    """

    size: Annotated[float, _SIZE] = 0.02
    arm: Annotated[float, _ARM] = 4.0
    pull: Annotated[float, _CLAMPS] = 0.2
    rise: Annotated[float, RISE] = 0.05
    friction: Annotated[Coulomb | None, FRICTION] = None
    radius: Annotated[float, RADIUS] = 0.008
    young: Annotated[float, YOUNG] = 1e6
    density: Annotated[float, DENSITY] = 1000.0
    elements: Annotated[int, _KNOT_ELEMENTS] = 120
    drag: Annotated[float, DRAG] = 0.2
    internal_damping: Annotated[float, DAMPING] = 0.0
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def assembled(self) -> Rods:
        """Return the rod and the search for its self-contacts."""
        points = resample(self.size * self._overhand(), self.elements + 1)
        rod = CosseratRod(
            CircularSection(self.radius, self.young, 0.5, self.density),
            Curve(curve_nodes(points, self.contact_curve)),
            elements=self.elements,
            left=Driven((0.0, self.pull, 0.0), rise=self.rise, hold="element"),
            right=Driven((0.0, -self.pull, 0.0), rise=self.rise, hold="element"),
            natural_curvature=None,
            drag=self.drag,
            internal_damping=self.internal_damping,
        )
        search = ContactSearch(friction=self.friction)
        return Rods([rod], search=search, contact_curve=self.contact_curve)

    def _overhand(self) -> Floats:
        """Return (n, 3) points of the knot, in units of `size`: an opened torus knot, two arms."""
        turn = np.linspace(0.5, 2.0 * np.pi - 0.5, 1200)
        wide = 2.0 + np.cos(3.0 * turn)
        knot = np.column_stack(
            [wide * np.cos(2.0 * turn), wide * np.sin(2.0 * turn), np.sin(3.0 * turn)]
        )
        end, bend = knot[0], 1.5
        quarter = np.linspace(0.0, 0.5 * np.pi, 100)[1:]
        x = np.concatenate([end[0] + bend * np.sin(quarter), np.full(300, end[0] + bend)])
        up = bend * (1.0 - np.cos(quarter))
        up = end[1] + np.concatenate([up, up[-1] + self.arm * np.linspace(0.0, 1.0, 301)[1:]])
        # both arms descend to the line along which the ends move
        arclength = np.concatenate([bend * quarter, 0.5 * np.pi * bend + (up[99:] - up[98])])
        part = np.clip(arclength / (0.7 * arclength[-1]), 0.0, 1.0)
        arm = np.column_stack([x, up, end[2] * (1.0 - part**2 * (3.0 - 2.0 * part))])
        # the knot is symmetric under a half turn about x
        points = resample(np.vstack([arm[::-1], knot, arm * (1.0, -1.0, -1.0)]), 4001)
        return rounded(points, 50)


def resample(points: Floats, count: int) -> Floats:
    """Return (count, 3) points at equal arclengths on the polygon through `points` (n, 3)."""
    arclength = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    at = np.linspace(0.0, arclength[-1], count)
    return np.column_stack([np.interp(at, arclength, points[:, a]) for a in range(3)])


def rounded(points: Floats, width: int) -> Floats:
    """Return a polygon smoothed by a Gaussian of `width` points, extended straight at its ends."""
    reach = 3 * width
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    beyond = np.arange(1, reach + 1)[:, None]
    before = points[0] + (points[0] - points[1]) * beyond[::-1]
    after = points[-1] + (points[-1] - points[-2]) * beyond
    extended = np.vstack([before, points, after])
    columns = [np.convolve(extended[:, a], weights / weights.sum(), mode="valid") for a in range(3)]
    return np.column_stack(columns)


def _least_distance(first: Floats, second: Floats) -> float:
    """Return the least distance between the points of two curves."""
    distances = (np.linalg.norm(second - point, axis=1).min() for point in first[::4])
    return float(min(distances))
