"""A Cosserat rod: section, axis, how its ends are held, what loads and damps it, how it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, numbers, shape_of, whole
from stiction.rods.centreline import Centreline, vector
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

LEAST_ELEMENTS = 4
LARGEST_CORRECTION = 1.0 / 6.0


class RodEnd(Record):
    """Base of how an end is held."""


@dataclass(frozen=True, eq=False, repr=False)
class Free(RodEnd):
    """Nothing holds the end."""


@dataclass(frozen=True, eq=False, repr=False)
class Pinned(RodEnd):
    """The end node stays where it is; the frame beside it turns freely."""


HOLDS = ("section", "element")


def _check_hold(end: Clamped | Driven) -> None:
    """Refuse a convention that does not exist."""
    if end.hold not in HOLDS:
        raise ModelError(
            f"{type(end).__name__}.hold",
            repr(end.hold),
            "'section' or 'element'",
            "a clamp holds the section at the end, or the whole last element.",
            "leave it out for the section.",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Clamped(RodEnd):
    """The section at the end stays as it is.

    Parameters
    ----------
    hold : "section" fixes the end node and joins the first frame to the clamp by half an element;
        frequencies and rests converge with the square of the element length. "element" fixes the
        last two nodes and the frame between them, which shortens the rod by half an element
    """

    hold: str = "section"

    def __post_init__(self) -> None:
        _check_hold(self)


@dataclass(frozen=True, eq=False, repr=False)
class Driven(RodEnd):
    """A clamp that moves like a rigid body.

    Parameters
    ----------
    velocity : of the end node [m/s]
    angular_velocity : of the clamp about the end node [rad/s]
    rise : time in which both grow linearly from zero [s]
    hold : what it holds, see `Clamped`
    """

    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    rise: float = 0.0
    hold: str = "section"

    def __post_init__(self) -> None:
        _check_hold(self)
        why = "the clamp moves like a rigid body."
        for name, unit in (("velocity", "m/s"), ("angular_velocity", "rad/s")):
            value = vector(f"Driven.{name}", getattr(self, name), unit=unit, why=why)
            object.__setattr__(self, name, value)
        number(
            "Driven.rise",
            self.rise,
            rule="nonnegative",
            unit="s",
            why="the motion grows from zero in this time.",
            try_="give 0 for motion at full speed at once.",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Turned(RodEnd):
    """A clamp that turns about an axis through the end node by a given history.

    Between the times the angle is linear, outside them it stays as it is at the first and the
    last. Times are those of the run, as for loads. It holds the section, see `Clamped`.

    Parameters
    ----------
    axis : it turns about, in space; any length
    times : rising [s]
    angles : by which it has turned from where it starts, right-handed about the axis [rad]
    slides : whether the end node is free to move along the axis, under loads and the rod alone

    Verified by: tests/unit/rods/test_turned.py::test_twist_alone_has_a_closed_form

    Examples
    --------
    >>> import stiction as st
    >>> end = st.rods.Turned([1.0, 0.0, 0.0], times=[0.0, 2.0], angles=[0.0, 3.0], slides=True)
    >>> end.angles
    (0.0, 3.0)
    """

    axis: Vector
    times: Sequence[float]
    angles: Sequence[float]
    slides: bool = False

    # the section at the end, as `Clamped` calls it
    hold = "section"

    def __post_init__(self) -> None:
        why = "the clamp turns about it."
        axis = vector("Turned.axis", self.axis, unit="1", why=why)
        long = float(np.linalg.norm(axis))
        if not 0.0 < long < np.inf:
            try_ = "give [1.0, 0.0, 0.0]."
            raise ModelError("Turned.axis", self.axis, "a direction", why, try_)
        object.__setattr__(self, "axis", axis / long)
        why, try_ = "they say how far the clamp has turned when.", "give as many as rising times."
        times = numbers("Turned.times", self.times, why=why, try_=try_)
        angles = numbers("Turned.angles", self.angles, why=why, try_=try_)
        if times.size < 2 or times.size != angles.size or not (np.diff(times) > 0.0).all():
            got = f"{times.size} times and {angles.size} angles"
            needs = "as many angles as rising times [s], at least two"
            raise ModelError("Turned.angles", got, needs, why, try_)
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "angles", tuple(angles.tolist()))
        slides: object = self.slides
        if not isinstance(slides, bool):
            why, try_ = "the end slides along the axis or is held.", "give True."
            raise ModelError("Turned.slides", repr(slides), "True or False", why, try_)


class RodMotion(Record):
    """Base of how a rod moves at the start; parts add up."""

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return (n + 1, 3) velocities of the `nodes` [m/s]."""
        return np.zeros_like(nodes)

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return (n, 3) angular velocities in space [rad/s]; `axis` (n, 3) third directors."""
        return np.zeros_like(axis)


@dataclass(frozen=True, eq=False, repr=False)
class SineVelocity(RodMotion):
    """Velocity sin(mode pi k / n) times a vector at node k of n.

    Parameters
    ----------
    mode_number : half waves along the rod
    velocity : amplitude [m/s]
    """

    mode_number: int
    velocity: Vector

    def __post_init__(self) -> None:
        why = "it counts half waves along the rod."
        where, most = "SineVelocity.mode_number", 1_000_000
        whole(where, self.mode_number, least=1, most=most, why=why, try_="give 1.")
        why = "it is the amplitude of the wave."
        value = vector("SineVelocity.velocity", self.velocity, unit="m/s", why=why)
        object.__setattr__(self, "velocity", value)

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return the sine wave."""
        part = np.linspace(0.0, 1.0, len(nodes))
        return np.outer(np.sin(self.mode_number * np.pi * part), self.velocity)


@dataclass(frozen=True, eq=False, repr=False)
class SineSpin(RodMotion):
    """Spin about the rod's own axis, rate sin(mode pi (e + 1/2) / n) in element e of n.

    Parameters
    ----------
    mode_number : half waves along the rod
    rate : amplitude [rad/s]

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.SineSpin(mode_number=1, rate=2.0).rate
    2.0
    """

    mode_number: int
    rate: float

    def __post_init__(self) -> None:
        why = "it counts half waves along the rod."
        where, most = "SineSpin.mode_number", 1_000_000
        whole(where, self.mode_number, least=1, most=most, why=why, try_="give 1.")
        why = "it is the amplitude of the wave."
        number("SineSpin.rate", self.rate, unit="rad/s", why=why, try_="give 1.0.")

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return the wave about the third directors."""
        part = (np.arange(len(axis)) + 0.5) / len(axis)
        return np.asarray(self.rate * np.sin(self.mode_number * np.pi * part)[:, None] * axis)


@dataclass(frozen=True, eq=False, repr=False)
class RigidMotion(RodMotion):
    """The rod moves as a rigid body about its middle.

    Parameters
    ----------
    velocity : of the mean of the nodes [m/s]
    angular_velocity : [rad/s]
    """

    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        why = "the rod moves as a rigid body."
        for name, unit in (("velocity", "m/s"), ("angular_velocity", "rad/s")):
            value = vector(f"RigidMotion.{name}", getattr(self, name), unit=unit, why=why)
            object.__setattr__(self, name, value)

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return v + w x (r - mean r)."""
        return np.asarray(
            self.velocity + np.cross(self.angular_velocity, nodes - nodes.mean(axis=0))
        )

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return the same angular velocity everywhere."""
        return np.tile(np.asarray(self.angular_velocity), (len(axis), 1))


@dataclass(frozen=True, eq=False, repr=False)
class GivenMotion(RodMotion):
    """Any velocities, node by node.

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
        for name in ("velocity", "angular_velocity"):
            value = getattr(self, name)
            if value is not None:
                flat = numbers(f"GivenMotion.{name}", np.ravel(value), why=why, try_=try_)
                object.__setattr__(self, name, flat)

    def velocity_at(self, nodes: Floats) -> Floats:
        """Return the given velocities."""
        return self._shaped("velocity", self.velocity, nodes.shape)

    def spin_at(self, nodes: Floats, axis: Floats) -> Floats:
        """Return the given angular velocities."""
        if self.angular_velocity is None:
            return np.zeros_like(axis)
        return self._shaped("angular_velocity", self.angular_velocity, axis.shape)

    def _shaped(self, name: str, flat: object, shape: tuple[int, ...]) -> Floats:
        array = np.asarray(flat, dtype=np.float64)
        if array.size != shape[0] * 3:
            raise ModelError(
                f"GivenMotion.{name}",
                f"{array.size} numbers",
                f"{shape[0]} rows of three",
                "one row per node, or per element for angular velocities.",
                "check the number of elements.",
            )
        return array.reshape(shape)


class RodLoad(Record):
    """Base of dead loads: they keep their direction in space.

    `times` [s] and `factors` [1] scale a load in time, linear between them and level outside;
    both empty mean constant.
    """


def _check_load(load: object, name: str, unit: str) -> None:
    label = f"{type(load).__name__}.{name}"
    why = "a dead load keeps its direction in space."
    object.__setattr__(load, name, vector(label, getattr(load, name), unit=unit, why=why))
    times, factors = tuple(getattr(load, "times", ())), tuple(getattr(load, "factors", ()))
    why, try_ = "they scale the load in time.", "give as many factors as rising times."
    label = type(load).__name__
    if len(times) != len(factors):
        got = f"{len(times)} times and {len(factors)} factors"
        raise ModelError(f"{label}.factors", got, "one per time", why, try_)
    if times:
        array = numbers(f"{label}.times", times, why=why, try_=try_)
        numbers(f"{label}.factors", factors, why=why, try_=try_)
        if not (np.diff(array) > 0.0).all():
            raise ModelError(f"{label}.times", times, "rising times [s]", why, try_)
    at = getattr(load, "at", 0.0)
    number(f"{label}.at", at, unit="1", why="0 is the start of the rod, 1 its end.", try_="give 1.")
    if not 0.0 <= at <= 1.0:
        why = "0 is the start of the rod, 1 its end."
        raise ModelError(f"{label}.at", at, "a number between 0 and 1", why, "give 1.0.")


@dataclass(frozen=True, eq=False, repr=False)
class LineForce(RodLoad):
    """The same force on every length of the rod.

    Parameters
    ----------
    force : per rest length [N/m]
    times, factors : history, see `RodLoad`

    Examples
    --------
    >>> import stiction as st
    >>> weight = st.rods.LineForce([0.0, 0.0, -9.81e-3], times=[0.0, 1.0], factors=[0.0, 1.0])
    >>> weight.force.tolist()  # [N/m], there in full after 1 s
    [0.0, 0.0, -0.00981]
    """

    force: Vector
    times: Sequence[float] = ()
    factors: Sequence[float] = ()

    def __post_init__(self) -> None:
        _check_load(self, "force", "N/m")


@dataclass(frozen=True, eq=False, repr=False)
class PointForce(RodLoad):
    """A force on the node nearest to a place.

    Parameters
    ----------
    force : [N]
    at : place along the rod [1], 0 its start and 1 its end
    times, factors : history, see `RodLoad`
    """

    force: Vector
    at: float = 1.0
    times: Sequence[float] = ()
    factors: Sequence[float] = ()

    def __post_init__(self) -> None:
        _check_load(self, "force", "N")


@dataclass(frozen=True, eq=False, repr=False)
class PointMoment(RodLoad):
    """A moment on the element nearest to a place.

    Parameters
    ----------
    moment : in space [N m]
    at : place along the rod [1], 0 its start and 1 its end
    times, factors : history, see `RodLoad`

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.PointMoment([0.0, 0.0, 1e-4], at=1.0).moment.tolist()
    [0.0, 0.0, 0.0001]
    """

    moment: Vector
    at: float = 1.0
    times: Sequence[float] = ()
    factors: Sequence[float] = ()

    def __post_init__(self) -> None:
        _check_load(self, "moment", "N m")


@dataclass(frozen=True, eq=False, repr=False)
class CosseratRod(Record):
    """A geometrically exact rod that stretches, shears, bends and twists.

    It has `elements` + 1 nodes and a frame in each element (staggered); masses are lumped.

    Parameters
    ----------
    section : cross-section; rolling contact needs a `CircularSection`
    centreline : where the nodes start
    length : rest length [m]; None takes that of the centreline, so that it starts unstretched
    elements : how many of equal rest length
    left, right : how the ends are held
    natural_curvature : strain (k1, k2, twist) of the unloaded rod in its frames [1/m]; None,
        [] in a file, takes that of the centreline, so that the rod starts unbent
    motion : velocities at the start; parts add up
    loads : dead loads; parts add up
    drag : external damping, force per length and velocity [N s/m^2]
    rotational_drag : external damping, moment per length and angular velocity [N s]
    internal_damping : retardation time of the material (Kelvin-Voigt) [s]
    first_director : of the first frame, made normal to the axis; None chooses one
    end_correction : c, with which the last three nodes at each end carry 1/2 - 3c/2, 1 + 2c and
        1 - c/2 elements of mass, weight and drag [1]: 1/12 is Gregory's rule, 0 the trapezoidal;
        None takes 1/18 at a free end of a rod held elsewhere, and 0 at all others

    Source: Gay-Balmaz and Putkaradze 2012, equations (1)-(8) as corrected in the formulas
    sheet of the rods paper, sections 1 and 3.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    section: Section
    centreline: Centreline
    length: float | None = None
    elements: int = 40
    left: RodEnd = field(default_factory=Clamped)
    right: RodEnd = field(default_factory=Clamped)
    natural_curvature: Vector | None = (0.0, 0.0, 0.0)
    motion: Sequence[RodMotion] = ()
    loads: Sequence[RodLoad] = ()
    drag: float = 0.0
    rotational_drag: float = 0.0
    internal_damping: float = 0.0
    first_director: Vector | None = None
    end_correction: float | None = None

    def __post_init__(self) -> None:
        for name, kind in (
            ("section", Section),
            ("centreline", Centreline),
            ("left", RodEnd),
            ("right", RodEnd),
        ):
            _kind(f"CosseratRod.{name}", getattr(self, name), kind)
        _parts(self, "motion", RodMotion)
        _parts(self, "loads", RodLoad)
        why = "every element carries one frame, and the contact needs several."
        check_elements("CosseratRod.elements", self.elements, LEAST_ELEMENTS, why)
        if self.length is not None:
            why = "it is the rest length of the axis."
            number(
                "CosseratRod.length",
                self.length,
                rule="positive",
                unit="m",
                why=why,
                try_="leave it out for an unstretched rod.",
            )
        for name, unit in (
            ("drag", "N s/m^2"),
            ("rotational_drag", "N s"),
            ("internal_damping", "s"),
        ):
            number(
                f"CosseratRod.{name}",
                getattr(self, name),
                rule="nonnegative",
                unit=unit,
                why="damping takes energy out.",
                try_="leave it out for none.",
            )
        if self.natural_curvature is not None and shape_of(self.natural_curvature) == (0,):
            object.__setattr__(self, "natural_curvature", None)
        for name, unit in (("natural_curvature", "1/m"), ("first_director", "1")):
            if getattr(self, name) is not None:
                why = "it has three components."
                value = vector(f"CosseratRod.{name}", getattr(self, name), unit=unit, why=why)
                object.__setattr__(self, name, value)
        _check_correction(self.end_correction)
        self.nodes()

    def nodes(self) -> Floats:
        """Return (elements + 1, 3) positions of the nodes at the start [m]."""
        points = self.centreline.points(self.elements + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            long = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if not np.isfinite(long.sum()):
            got, needs = "an axis beyond floating point", "lengths whose squares are finite too"
            why, try_ = "a rod has a length [m].", "choose units in which it is moderate."
            raise ModelError("CosseratRod.centreline", got, needs, why, try_)
        if not (long > 0.0).all():
            raise ModelError(
                "CosseratRod.centreline",
                "two nodes at one place",
                "nodes that differ",
                "the axis has a direction between any two of them.",
                "check the centreline.",
            )
        return points

    @property
    def slides(self) -> bool:
        """Whether an end slides."""
        return any(isinstance(end, Turned) and end.slides for end in (self.left, self.right))

    @property
    def rest_length(self) -> float:
        """Rest length [m]."""
        if self.length is not None:
            return self.length
        return float(np.linalg.norm(np.diff(self.nodes(), axis=0), axis=1).sum())


# of an element in the arrays of a rod and of the march, besides what is saved
BYTES_OF_ELEMENT = 2000


def check_elements(where: str, elements: object, least: int, why: str, rods: int = 1) -> None:
    """Refuse a number of elements that is too small, or that would not fit into memory.

    Parameters
    ----------
    rods : how many rods have so many each
    """
    each = rods * BYTES_OF_ELEMENT
    whole(where, elements, least=least, each=each, why=why, try_="give 40.")


def _check_correction(c: float | None) -> None:
    """Refuse an end correction that leaves an end node with less than half of its mass."""
    where, most = "CosseratRod.end_correction", LARGEST_CORRECTION
    why, try_ = "it takes mass from the end nodes.", "give 0.1, or leave it out."
    if c is not None and not number(where, c, rule="nonnegative", why=why, try_=try_) <= most:
        raise ModelError(where, c, "at most 1/6", why, try_)


def _parts(rod: CosseratRod, name: str, kind: type) -> None:
    value = getattr(rod, name)
    parts = tuple(value) if isinstance(value, list | tuple) else (value,)
    for part in parts:
        _kind(f"CosseratRod.{name}", part, kind)
    object.__setattr__(rod, name, parts)


def _kind(where: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ModelError(
            where,
            repr(value),
            f"a {kind.__name__}",
            "a rod is described by such objects.",
            "see the documentation of CosseratRod.",
        )
