"""Rods tied together: a braid, and a knot in one rod."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.laws.coulomb import Friction
from stiction.rods.centreline import Curve
from stiction.rods.contact.curve.nodes import curve_nodes
from stiction.rods.contact.model import ContactSearch
from stiction.rods.model import LEAST_MARGIN, Rods, RodSystem, check_contact_curve
from stiction.rods.presets import (
    HELD,
    MATERIAL,
    ROOM,
    TRY,
    check_numbers,
    check_whole,
)
from stiction.rods.rod import CosseratRod, Driven
from stiction.rods.section import CircularSection

__all__ = ["Braid", "TighteningKnot"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Braid(RodSystem):
    """Two twisted or three plaited rods between clamps that are pulled apart.

    Seen from above the rods are sine waves that cross and take turns to be on top. They start
    without strain, just apart, and press on each other as they straighten; contacts are found
    while they move.

    Parameters
    ----------
    strands : 2, twisted about each other, or 3, plaited
    periods : how often the pattern repeats
    pitch : length of one period along x [m]
    width : amplitude of the waves, seen from above [m]
    pull : velocity of the clamps at the end, along x [m/s]
    rise : time in which it grows from zero [s]
    friction : Coulomb's law; None rolls perfectly while it presses
    clearance : gap at the start, in radii [1]
    radius : of the rods [m]
    young, density : of the material [Pa], [kg/m^3]
    elements : of each rod
    drag : external damping [N s/m^2]
    internal_damping : retardation time of the material [s]
    contact_curve : the axis that contacts see, "spline" or "fitted"; see `Rods`

    Source: several contacts, formulas sheet of the rods paper, section 4.
    Verified by: tests/unit/rods/test_presets.py::test_strands_of_a_braid_start_just_apart

    Examples
    --------
    >>> import stiction as st
    >>> len(st.rods.Braid(strands=3, elements=60).assembled().rods)
    3
    """

    strands: int = 3
    periods: float = 1.5
    pitch: float = 0.3
    width: float = 0.04
    pull: float = 0.1
    rise: float = 0.02
    friction: Friction | None = None
    clearance: float = 0.02
    radius: float = 0.01
    young: float = 1e6
    density: float = 1000.0
    elements: int = 60
    drag: float = 0.0
    internal_damping: float = 0.0
    contact_curve: str = "spline"

    def __post_init__(self) -> None:
        check_contact_curve(self)
        material = {name: rule for name, rule in MATERIAL.items() if name != "length"}
        check_numbers(
            self,
            {
                **material,
                "periods": ("positive", "1", "the pattern repeats so often."),
                "pitch": ("positive", "m", "it is the length of one period."),
                "width": ("positive", "m", "without it the rods do not cross."),
                "pull": ("finite", "m/s", "the clamps at the end move with it."),
                "rise": ("nonnegative", "s", "the pull grows from zero in this time."),
                "clearance": ("positive", "1", "rods start apart, not inside each other."),
                "drag": ("nonnegative", "N s/m^2", "damping takes energy out."),
                "internal_damping": ("nonnegative", "s", "damping takes energy out."),
            },
        )
        # every point of a strand is compared with every point of another one
        check_whole(self, "elements", 4 * LEAST_MARGIN, ROOM, rods=3, most=5000)
        if self.strands not in (2, 3):
            why = "these are the patterns that are known here."
            raise ModelError(explain("Braid.strands", self.strands, "2 or 3", why, TRY))
        self.assembled()

    def assembled(self) -> Rods:
        """Return the strands and the search for their contacts."""
        unit = [self._wave(i, 1.0) for i in range(self.strands)]
        # heights scale so that no two strands come nearer than the clearance
        wanted = (2.0 + self.clearance) * self.radius
        height = 1.25 * wanted
        for _ in range(8):
            unit = [self._wave(i, height) for i in range(self.strands)]
            height *= wanted / _nearest(unit[0], unit[1])
        section = CircularSection(self.radius, self.young, 0.5, self.density)
        rods = [
            CosseratRod(
                section,
                Curve(curve_nodes(evenly(points, self.elements + 1), self.contact_curve)),
                elements=self.elements,
                left=HELD,
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
        turn = np.linspace(0.0, 2.0 * np.pi * self.periods, 20 * self.elements + 1)
        angle = turn + 2.0 * np.pi * strand / self.strands
        up = np.cos(angle) if self.strands == 2 else np.sin(2.0 * angle)
        along = self.pitch * turn / (2.0 * np.pi)
        return np.column_stack([along, self.width * np.sin(angle), height * up])


@dataclass(frozen=True, eq=False, repr=False)
class TighteningKnot(RodSystem):
    """An overhand knot in one rod, whose clamped ends are pulled apart along y.

    The rod starts without strain on an open trefoil, touching nowhere; it meets itself as the
    loop closes. Contacts are found while it moves.

    Parameters
    ----------
    size : length unit of the trefoil, which is about 6 wide and 38 long [m]
    arm : straight part at each end, in units of `size` [1]
    pull : velocity of each end, outwards [m/s]
    rise : time in which it grows from zero [s]
    friction : Coulomb's law; None rolls perfectly while it presses
    radius : of the rod [m]
    young, density : of the material [Pa], [kg/m^3]
    elements : of the rod
    drag : external damping [N s/m^2]
    internal_damping : retardation time of the material [s]
    contact_curve : the axis that contacts see, "spline" or "fitted"; see `Rods`

    Source: self-contact, formulas sheet of the rods paper, section 4; the curve is the torus
    knot (2, 3), cut where it is outermost.
    Verified by: tests/unit/rods/test_presets.py::test_a_knot_tightens_against_friction

    Examples
    --------
    >>> import stiction as st
    >>> knot = st.rods.TighteningKnot(elements=80).assembled()
    >>> len(knot.rods), knot.contacts
    (1, ())
    """

    size: float = 0.02
    arm: float = 4.0
    pull: float = 0.2
    rise: float = 0.05
    friction: Friction | None = None
    radius: float = 0.008
    young: float = 1e6
    density: float = 1000.0
    elements: int = 120
    drag: float = 0.2
    internal_damping: float = 0.0
    contact_curve: str = "spline"

    def __post_init__(self) -> None:
        check_contact_curve(self)
        material = {name: rule for name, rule in MATERIAL.items() if name != "length"}
        check_numbers(
            self,
            {
                **material,
                "size": ("positive", "m", "it scales the knot."),
                "arm": ("positive", "1", "the ends are pulled along it."),
                "pull": ("finite", "m/s", "the ends move with it."),
                "rise": ("nonnegative", "s", "the pull grows from zero in this time."),
                "drag": ("nonnegative", "N s/m^2", "damping takes energy out."),
                "internal_damping": ("nonnegative", "s", "damping takes energy out."),
            },
        )
        check_whole(self, "elements", 8 * LEAST_MARGIN, ROOM)
        self.assembled()

    def assembled(self) -> Rods:
        """Return the rod and the search for its self-contacts."""
        points = evenly(self.size * self._overhand(), self.elements + 1)
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
        """Return points of the knot: a cut torus knot and two arms, with corners rounded."""
        turn = np.linspace(0.5, 2.0 * np.pi - 0.5, 1200)
        wide = 2.0 + np.cos(3.0 * turn)
        knot = np.column_stack(
            [wide * np.cos(2.0 * turn), wide * np.sin(2.0 * turn), np.sin(3.0 * turn)]
        )
        end, bend = knot[0], 1.5
        quarter = np.linspace(0.0, 0.5 * np.pi, 100)[1:]
        out = np.concatenate([end[0] + bend * np.sin(quarter), np.full(300, end[0] + bend)])
        up = bend * (1.0 - np.cos(quarter))
        up = end[1] + np.concatenate([up, up[-1] + self.arm * np.linspace(0.0, 1.0, 301)[1:]])
        # both arms come down to one line, on which they are pulled
        gone = np.concatenate([bend * quarter, 0.5 * np.pi * bend + (up[99:] - up[98])])
        part = np.clip(gone / (0.7 * gone[-1]), 0.0, 1.0)
        arm = np.column_stack([out, up, end[2] * (1.0 - part**2 * (3.0 - 2.0 * part))])
        # the knot is its own image in a half turn about x
        points = evenly(np.vstack([arm[::-1], knot, arm * (1.0, -1.0, -1.0)]), 4001)
        return _rounded(points, 50)


def evenly(points: Floats, count: int) -> Floats:
    """Return `count` points on a polygon, at even distances along it."""
    gone = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    at = np.linspace(0.0, gone[-1], count)
    return np.column_stack([np.interp(at, gone, points[:, a]) for a in range(3)])


def _rounded(points: Floats, width: int) -> Floats:
    """Return a polygon smoothed by a Gaussian of `width` points; straight ends stay."""
    reach = 3 * width
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    more = np.arange(1, reach + 1)[:, None]
    before = points[0] + (points[0] - points[1]) * more[::-1]
    after = points[-1] + (points[-1] - points[-2]) * more
    long = np.vstack([before, points, after])
    columns = [np.convolve(long[:, a], weights / weights.sum(), mode="valid") for a in range(3)]
    return np.column_stack(columns)


def _nearest(first: Floats, second: Floats) -> float:
    """Return the least distance between the points of two curves."""
    rows = (np.linalg.norm(second - point, axis=1).min() for point in first[::4])
    return float(min(rows))
