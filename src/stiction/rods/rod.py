"""A geometrically exact (Cosserat) rod: section, axis, supports, loads, damping, initial motion.

`CosseratRod` combines a `Section`, a `Centreline`, supports of both ends (`RodEnd`), dead loads
(`RodLoad`) and initial velocities (`RodMotion`). The classes only hold and check the data. The
energy and the discretisation, with positions at nodes and frames in elements, are those of
docs/theory/rods, "One rod": per rest length 1/2 (g - e3) . S (g - e3) + 1/2 (k - k0) . B (k - k0)
with the derivative g of the axis and the curvature k, both in the frame of the section, the natural
curvature k0, the third unit vector e3, and the stiffness S of shear and stretch, B of bending and
twist. `assembly` (dynamics) and `statics` convert a rod to arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import (
    Choice,
    Components,
    Count,
    Declared,
    Finite,
    Flag,
    NonNegative,
    Part,
    Parts,
    Positive,
)
from stiction.errors import ModelError
from stiction.numerics.checks import numbers, shape_of
from stiction.rods.centreline import LEAST_SINE, Centreline, sine_between
from stiction.rods.section import Section

__all__ = [
    "Clamped",
    "CosseratRod",
    "Driven",
    "Free",
    "GivenMotion",
    "LineForce",
    "Pinned",
    "PointForce",
    "PointMoment",
    "RigidMotion",
    "RodEnd",
    "RodLoad",
    "RodMotion",
    "SineSpin",
    "SineVelocity",
    "Turned",
]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

# memory of an element in the arrays of a rod and of the stepper [bytes], without saved states
BYTES_OF_ELEMENT = 2000

# ends and motions
RISE = NonNegative(
    "s", "the motion grows from zero in this time.", "give 0 for motion at full speed at once."
)
_HOLD = Choice(
    ("section", "element"),
    "a clamp fixes the section at the end, or the whole last element.",
    "leave this value out for the section.",
)
_WHY_CLAMP = "the clamp moves like a rigid body."
_AXIS = Components(
    "1", "the clamp rotates about this axis.", "give [1.0, 0.0, 0.0].", direction=True
)
_WHY_TURN = "times and angles are the history of the rotation."
_TRY_TURN = "give one angle per time, at least two, with increasing times."
_TIMES = Finite("s", _WHY_TURN, _TRY_TURN, per="point", fewest=2, rising=True)
_ANGLES = Finite("rad", _WHY_TURN, _TRY_TURN, per="time")
_SLIDES = Flag("True lets the end slide along the axis; False fixes it.", "give True.")
_MODE = Count(1, "the rod carries this many half waves.", "give 1.", most=1_000_000)
_WHY_WAVE = "the wave has this amplitude."
_WHY_RIGID = "the rod moves as a rigid body."

# loads
GRAVITY = Components("m/s^2", "gravity accelerates every rod.")
_WHY_LOAD = "a dead load keeps its direction in space."
_WHY_SCALE = "the factors at these times scale the load."
_TRY_SCALE = "give one factor per time, with increasing times."
_LOAD_TIMES = Finite("s", _WHY_SCALE, _TRY_SCALE, per="point", fewest=0, rising=True)
_FACTORS = Finite("1", _WHY_SCALE, _TRY_SCALE, per="time", fewest=0)
_AT = Finite("1", "0 is the start of the rod, 1 its end.", "give 1.0.", least=0.0, most=1.0)

# rods
_WHY_PART, _TRY_PART = (
    "a rod is composed of objects of these classes.",
    "see the docstring of CosseratRod.",
)
_OBJECT = Part(_WHY_PART, _TRY_PART)
_SECTION = Part(
    "a rod has the same section everywhere; tapered and jointed rods are not supported.",
    "give one CircularSection, or a GivenSection for layers of different materials.",
)
_MOTION = Parts(_WHY_PART, _TRY_PART, "a RodMotion, or a list of them")
_LOADS = Parts(_WHY_PART, _TRY_PART, "a RodLoad, or a list of them")
_ELEMENTS = Count(
    4,
    "every element has one frame, and a contact acts on four.",
    "give 40.",
    each=BYTES_OF_ELEMENT,
)
_LENGTH = Positive(
    "m", "the axis has this rest length.", "leave this value out for an unstretched rod."
)
_WHY_DAMPING, _TRY_DAMPING = "damping dissipates energy.", "leave this value out for no damping."
DRAG = NonNegative("N s/m^2", _WHY_DAMPING, _TRY_DAMPING)
DAMPING = NonNegative("s", _WHY_DAMPING, _TRY_DAMPING)
_ROTATIONAL_DRAG = NonNegative("N s", _WHY_DAMPING, _TRY_DAMPING)
_CURVATURE = Components("1/m", "the unloaded rod has these curvatures and this twist.")
_WHY_DIRECTOR = "the first director has this direction."
_DIRECTOR = Components("1", _WHY_DIRECTOR, direction=True)
_CORRECTION = NonNegative(
    "1",
    "the correction reduces the mass of the end nodes.",
    "give 0.1, or leave this value out.",
    most=1.0 / 6.0,
    needs="at most 1/6",
)


class RodEnd(Declared):
    """Base class of the supports of a rod end."""


@dataclass(frozen=True, eq=False, repr=False)
class Free(RodEnd):
    """A free end, without support."""


@dataclass(frozen=True, eq=False, repr=False)
class Pinned(RodEnd):
    """The end node is fixed; the frame next to it rotates freely."""


@dataclass(frozen=True, eq=False, repr=False)
class Clamped(RodEnd):
    """The section at the end is fixed.

    Parameters
    ----------
    hold : "section" fixes the end node, and joins the first frame to the clamp by half an element;
        frequencies and equilibria converge with the square of the element length. "element" fixes
        the last two nodes and the frame between them, which shortens the rod by half an element
    """

    hold: Annotated[str, _HOLD] = "section"


@dataclass(frozen=True, eq=False, repr=False)
class Driven(RodEnd):
    """A clamp that moves like a rigid body.

    Parameters
    ----------
    velocity : of the end node [m/s]
    angular_velocity : of the clamp about the end node [rad/s]
    rise : time in which both velocities grow linearly from zero [s]
    hold : "section" or "element", see `Clamped`
    """

    velocity: Annotated[Vector, Components("m/s", _WHY_CLAMP)] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, Components("rad/s", _WHY_CLAMP)] = (0.0, 0.0, 0.0)
    rise: Annotated[float, RISE] = 0.0
    hold: Annotated[str, _HOLD] = "section"


@dataclass(frozen=True, eq=False, repr=False)
class Turned(RodEnd):
    """A clamp that rotates about an axis through the end node with a given history of the angle.

    The angle is linear between the times, and constant before the first and after the last. It
    clamps the section, see `Clamped`.

    Parameters
    ----------
    axis : direction of the axis of rotation in space, of any length
    times : (n,) increasing times of the run [s]
    angles : (n,) angles from the initial orientation, right-handed about the axis [rad]
    slides : whether the end node moves freely along the axis; contact forces do not move it

    Verified by: tests/unit/rods/test_turned.py::test_twist_alone_has_a_closed_form

    Examples
    --------
    >>> import stiction as st
    >>> end = st.rods.Turned([1.0, 0.0, 0.0], times=[0.0, 2.0], angles=[0.0, 3.0], slides=True)
    >>> end.angles.tolist()
    [0.0, 3.0]
    """

    axis: Annotated[Vector, _AXIS]
    times: Annotated[Vector, _TIMES]
    angles: Annotated[Vector, _ANGLES]
    slides: Annotated[bool, _SLIDES] = False

    # the section at the end, as `Clamped` calls it
    hold = "section"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", np.asarray(self.axis) / np.linalg.norm(self.axis))

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of lists by the noun of their entries: as many angles as times."""
        return {"time": math.prod(shape_of(self.times))}


class RodMotion(Declared):
    """Base class of initial velocities of a rod; several add up."""

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return (n + 1, 3) velocities of the `nodes` [m/s]."""
        return np.zeros_like(nodes)

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return (n, 3) angular velocities of elements in space [rad/s].

        axis : (n, 3) third directors
        """
        return np.zeros_like(axis)


@dataclass(frozen=True, eq=False, repr=False)
class SineVelocity(RodMotion):
    """Initial velocity sin(mode_number pi k / n) times a vector, at node k = 0, ..., n.

    Parameters
    ----------
    mode_number : number of half waves along the rod
    velocity : amplitude [m/s]
    """

    mode_number: Annotated[int, _MODE]
    velocity: Annotated[Vector, Components("m/s", _WHY_WAVE)]

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return (n + 1, 3) velocities of the nodes [m/s]."""
        fraction = np.linspace(0.0, 1.0, len(nodes))
        return np.outer(np.sin(self.mode_number * np.pi * fraction), self.velocity)


@dataclass(frozen=True, eq=False, repr=False)
class SineSpin(RodMotion):
    """Initial spin about the axis of the rod, rate sin(mode_number pi (e + 1/2) / n) in element e.

    Parameters
    ----------
    mode_number : number of half waves along the rod
    rate : amplitude [rad/s]

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.SineSpin(mode_number=1, rate=2.0).rate
    2.0
    """

    mode_number: Annotated[int, _MODE]
    rate: Annotated[float, Finite("rad/s", _WHY_WAVE, "give 1.0.")]

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return (n, 3) angular velocities along the third directors [rad/s]."""
        fraction = (np.arange(len(axis)) + 0.5) / len(axis)
        return np.asarray(self.rate * np.sin(self.mode_number * np.pi * fraction)[:, None] * axis)


@dataclass(frozen=True, eq=False, repr=False)
class RigidMotion(RodMotion):
    """Initial velocities of a rigid body motion about the mean of the nodes.

    Parameters
    ----------
    velocity : of the mean of the nodes [m/s]
    angular_velocity : [rad/s]
    """

    velocity: Annotated[Vector, Components("m/s", _WHY_RIGID)] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, Components("rad/s", _WHY_RIGID)] = (0.0, 0.0, 0.0)

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return (n + 1, 3) velocities v + w x (r - mean r) of the nodes [m/s]."""
        return np.asarray(
            self.velocity + np.cross(self.angular_velocity, nodes - nodes.mean(axis=0))
        )

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return (n, 3) the same angular velocity for all elements [rad/s]."""
        return np.tile(np.asarray(self.angular_velocity), (len(axis), 1))


@dataclass(frozen=True, eq=False, repr=False)
class GivenMotion(RodMotion):
    """Given initial velocities of all nodes and elements.

    Parameters
    ----------
    velocity : (n + 1, 3) [m/s], or one flat list
    angular_velocity : (n, 3) in space [rad/s], or one flat list; None is zero

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> st.rods.GivenMotion(np.ones((5, 3)), np.zeros((4, 3))).velocity.size  # five nodes
    15
    """

    velocity: Sequence[float] | Floats
    angular_velocity: Sequence[float] | Floats | None = None

    def __post_init__(self) -> None:
        why, try_ = "every node has a velocity.", "give an array of shape (nodes, 3)."
        for name, unit in (("velocity", "m/s"), ("angular_velocity", "rad/s")):
            if getattr(self, name) is not None:
                where, given = f"GivenMotion.{name}", getattr(self, name)
                shape = shape_of(given)
                given = np.ravel(given) if len(shape) == 2 and shape[1] == 3 else given
                flat = numbers(where, given, unit=unit, why=why, try_=try_)
                object.__setattr__(self, name, flat)

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return (n + 1, 3) the given velocities [m/s]."""
        return self._shaped("velocity", self.velocity, nodes.shape)

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return (n, 3) the given angular velocities [rad/s]."""
        if self.angular_velocity is None:
            return np.zeros_like(axis)
        return self._shaped("angular_velocity", self.angular_velocity, axis.shape)

    def _shaped(self, name: str, flat: object, shape: tuple[int, ...]) -> Floats:
        """Return the array of a flat list; ModelError if its length is wrong."""
        array = np.asarray(flat, dtype=np.float64)
        if array.size != shape[0] * 3:
            raise ModelError(
                f"GivenMotion.{name}",
                f"{array.size} numbers",
                f"{shape[0]} rows of three numbers",
                "one row per node, or per element for angular velocities.",
                "check the number of elements.",
            )
        return array.reshape(shape)


class RodLoad(Declared):
    """Base class of dead loads, which have a constant direction in space.

    `factors` (n,) [1] at `times` (n,) [s] scale a load, linearly between the times, and with the
    first or last factor outside them. A load without times is constant.
    """

    times: Vector
    factors: Vector

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of lists by the noun of their entries: as many factors as times."""
        return {"time": math.prod(shape_of(self.times))}


@dataclass(frozen=True, eq=False, repr=False)
class LineForce(RodLoad):
    """A constant force per length of the rod.

    Parameters
    ----------
    force : per rest length [N/m]
    times, factors : history, see `RodLoad`

    Examples
    --------
    >>> import stiction as st
    >>> weight = st.rods.LineForce([0.0, 0.0, -9.81e-3], times=[0.0, 1.0], factors=[0.0, 1.0])
    >>> weight.force.tolist()  # [N/m], reached after 1 s
    [0.0, 0.0, -0.00981]
    """

    force: Annotated[Vector, Components("N/m", _WHY_LOAD)]
    times: Annotated[Vector, _LOAD_TIMES] = ()
    factors: Annotated[Vector, _FACTORS] = ()


@dataclass(frozen=True, eq=False, repr=False)
class PointForce(RodLoad):
    """A force on the node closest to a position.

    Parameters
    ----------
    force : in space [N]
    at : position along the rod [1], 0 its start and 1 its end
    times, factors : history, see `RodLoad`
    """

    force: Annotated[Vector, Components("N", _WHY_LOAD)]
    at: Annotated[float, _AT] = 1.0
    times: Annotated[Vector, _LOAD_TIMES] = ()
    factors: Annotated[Vector, _FACTORS] = ()


@dataclass(frozen=True, eq=False, repr=False)
class PointMoment(RodLoad):
    """A moment on the element at a position.

    Parameters
    ----------
    moment : in space [N m]
    at : position along the rod [1], 0 its start and 1 its end
    times, factors : history, see `RodLoad`

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.PointMoment([0.0, 0.0, 1e-4], at=1.0).moment.tolist()
    [0.0, 0.0, 0.0001]
    """

    moment: Annotated[Vector, Components("N m", _WHY_LOAD)]
    at: Annotated[float, _AT] = 1.0
    times: Annotated[Vector, _LOAD_TIMES] = ()
    factors: Annotated[Vector, _FACTORS] = ()


@dataclass(frozen=True, eq=False, repr=False)
class CosseratRod(Declared):
    """A geometrically exact rod with stretch, shear, bending and twist.

    It has `elements` + 1 nodes, and a frame in each element (staggered); masses are lumped.

    Parameters
    ----------
    section : cross-section; rolling contact needs a `CircularSection`
    centreline : initial positions of the nodes
    length : rest length [m]; None means that of the centreline: no initial stretch
    elements : number of elements, of equal rest length
    left, right : supports of the start and the end
    natural_curvature : (3,) curvatures and twist (k1, k2, k3) of the unloaded rod about its three
        directors [1/m]; None, in a file [], means those of the centreline: no initial bending.
        The third director is along the axis; k1 > 0 bends the rod away from the second director,
        k2 > 0 towards the first
    motion : initial velocities, which add up
    loads : dead loads, which add up
    drag : external damping, force per length and velocity [N s/m^2]
    rotational_drag : external damping, moment per length and angular velocity [N s]
    internal_damping : retardation time of the material (Kelvin-Voigt) [s]
    first_director : first director of the first frame, projected normal to the axis: the direction
        about which k1 and EI1 act. Along the given centreline the frames do not twist. None takes
        the coordinate axis closest to normal, enough where neither k1, k2 nor EI2 are given
    end_correction : c [1], quadrature weights at the ends: the last three nodes at each end have
        mass, weight and drag of 1/2 - 3c/2, 1 + 2c and 1 - c/2 elements. 1/12 is Gregory's rule, 0
        the trapezoidal rule; None means 1/18 at a free end of a supported rod, and 0 at other ends

    Source: Gay-Balmaz and Putkaradze 2012, equations (1)-(8) as corrected in the formulas
    sheet (docs/formulas/rods.md), sections 1 and 3.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    section: Annotated[Section, _SECTION]
    centreline: Annotated[Centreline, _OBJECT]
    length: Annotated[float | None, _LENGTH] = None
    elements: Annotated[int, _ELEMENTS] = 40
    left: Annotated[RodEnd, _OBJECT] = field(default_factory=Clamped)
    right: Annotated[RodEnd, _OBJECT] = field(default_factory=Clamped)
    natural_curvature: Annotated[Vector | None, _CURVATURE] = (0.0, 0.0, 0.0)
    motion: Annotated[Sequence[RodMotion], _MOTION] = ()
    loads: Annotated[Sequence[RodLoad], _LOADS] = ()
    drag: Annotated[float, DRAG] = 0.0
    rotational_drag: Annotated[float, _ROTATIONAL_DRAG] = 0.0
    internal_damping: Annotated[float, DAMPING] = 0.0
    first_director: Annotated[Vector | None, _DIRECTOR] = None
    end_correction: Annotated[float | None, _CORRECTION] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        nodes = self.nodes()
        director, along = self.first_director, nodes[1] - nodes[0]
        if director is not None and sine_between(director, along) < LEAST_SINE:
            raise ModelError(
                "CosseratRod.first_director",
                "a direction along the axis of the rod",
                "a direction across the axis",
                _WHY_DIRECTOR,
                "leave this value out, or give a direction normal to the axis.",
            )

    def nodes(self) -> Floats:
        """Return (elements + 1, 3) positions of the nodes at the start [m]."""
        given = self.centreline.points(self.elements + 1)
        shape, wanted = shape_of(given), (self.elements + 1, 3)
        if shape != wanted:
            raise ModelError(
                "CosseratRod.centreline",
                f"{type(self.centreline).__name__}.points of shape {shape}",
                f"shape {wanted}",
                "a rod has one node more than elements, with three coordinates each.",
                "return as many points as the argument of `points` requests.",
            )
        points = np.asarray(given, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if not np.isfinite(lengths.sum()):
            got, needs = (
                "an axis whose length overflows or underflows",
                "lengths with finite squares",
            )
            why, try_ = (
                "a rod has a finite length [m].",
                "choose units in which the length is moderate.",
            )
            raise ModelError("CosseratRod.centreline", got, needs, why, try_)
        if not (lengths > 0.0).all():
            raise ModelError(
                "CosseratRod.centreline",
                "two neighbouring nodes at the same point",
                "different nodes",
                "the axis has a direction between neighbouring nodes.",
                "check the centreline.",
            )
        along = np.diff(points, axis=0) / lengths[:, None]
        if (np.linalg.norm(along[1:] + along[:-1], axis=1) < LEAST_SINE).any():
            raise ModelError(
                "CosseratRod.centreline",
                "an axis that turns back by 180 degrees at a node",
                "smaller angles between neighbouring elements",
                "the plane in which the rod bends is not determined.",
                "check the order of the nodes, or take more elements.",
            )
        return points

    @property
    def slides(self) -> bool:
        """Whether an end is a `Turned` clamp that slides."""
        return any(isinstance(end, Turned) and end.slides for end in (self.left, self.right))

    @property
    def rest_length(self) -> float:
        """Rest length [m]."""
        if self.length is not None:
            return self.length
        return float(np.linalg.norm(np.diff(self.nodes(), axis=0), axis=1).sum())
