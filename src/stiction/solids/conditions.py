"""Conditions on bodies: fixed, driven along a program, or loaded by one."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Count, Declared, Finite, Part, Parts
from stiction.numerics.checks import Record, number, shape_of
from stiction.solids.contact.partners import BODY, Boundary

__all__ = [
    "COMPONENT",
    "PLANE_COMPONENT",
    "PROGRAM",
    "WHERE",
    "Condition",
    "Driven",
    "Fixed",
    "Loaded",
    "Nearest",
    "Program",
    "Reaction",
    "Rigid",
    "Stage",
    "described_place",
]

Floats = npt.NDArray[np.float64]

_WHY_POINTS = "the value goes from point to point."
_TRY_POINTS = "give times = [0, 1] and values = [0, 2], as many values as rising times."
_TIMES = Finite("", _WHY_POINTS, _TRY_POINTS, per="point", rising=True)
_VALUES = Finite("", _WHY_POINTS, _TRY_POINTS, per="time")
_POINT = Components("m", "a node is near.", counts=(2, 3))
_CONTACT = Count(0, "contacts are counted from 0.", "give the index in the list.")
_ABOUT = Components("m", "moments are reported about it.", counts=(2, 3))

# of conditions: where, along which axis, and how much over time
WHERE = Part(
    "a condition acts somewhere.",
    "for example Boundary(0, 'bottom').",
    "a Boundary, a Nearest node or a Rigid partner",
)
_LOADED = Part("a force acts on a node or on a rigid partner.", "give Nearest(...) or Rigid(...).")
_WHY_COMPONENT = "0 is x, 1 is y, and in space 2 is z."
_TRY_COMPONENT = "give 1 for the vertical."
COMPONENT = Count(0, _WHY_COMPONENT, _TRY_COMPONENT, most=2)
PLANE_COMPONENT = Count(0, "0 is x, 1 is y.", _TRY_COMPONENT, most=1)
PROGRAM = Part("it follows a program over time.", "give Program([0, 1], [0, 2]).")

# of stages
_UNTIL = Finite("", "it is when the stage ends.", "give the time at which the next one begins.")
_CONDITIONS = Parts("it says what is done meanwhile.", "give Driven, Loaded, Fixed or others.")
_STEPS = Count(1, "the stage is divided into them.", "leave it out, or give 20.", most=10_000_000)


@dataclass(frozen=True, eq=False, repr=False)
class Program(Declared):
    """A value that goes from point to point in straight lines, constant before and after.

    Parameters
    ----------
    times : rising [time unit]
    values : one per time

    Verified by: tests/unit/solids/test_conditions.py::test_program
    """

    times: Annotated[Sequence[float] | Floats, _TIMES] = (0.0, 1.0)
    values: Annotated[Sequence[float] | Floats, _VALUES] = (0.0, 1.0)

    @property
    def lengths(self) -> dict[str, int]:
        """How many values there are."""
        return {"time": math.prod(shape_of(self.times))}

    def at(self, t: float) -> float:
        """Return the value at time t."""
        return float(np.interp(t, self.times, self.values))

    def corners(self) -> Floats:
        """Return the times at which the slope may jump."""
        return np.asarray(self.times)


class Where(Declared, abc.ABC):
    """Base of places that a condition may refer to."""


@dataclass(frozen=True, eq=False, repr=False)
class Nearest(Where):
    """The node of a body's mesh that is nearest to a point of the reference configuration.

    On a boundary of splines it is the place of the surface there, not a control point.

    Parameters
    ----------
    body : number of the body, from 0
    point : [m]
    """

    body: Annotated[int, BODY] = 0
    point: Annotated[Sequence[float] | Floats, _POINT] = (0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Rigid(Where):
    """The rigid partner of a contact.

    Parameters
    ----------
    contact : number of the contact, from 0 in the order of `Solid.contacts`
    """

    contact: Annotated[int, _CONTACT] = 0


class Condition(Declared, abc.ABC):
    """Base of what is done to bodies and rigid partners.

    Attributes
    ----------
    where : a boundary, a node, or a rigid partner
    """

    where: Where | Boundary


@dataclass(frozen=True, eq=False, repr=False)
class Fixed(Condition):
    """Displacements held at zero.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    components : which of them, 0 for x and 1 for y
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    components: Sequence[int] = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.components
        listed = given if isinstance(given, Iterable) else (given,)
        clean = [COMPONENT.clean("Fixed.components", one, self, int) for one in listed]
        object.__setattr__(self, "components", tuple(clean))


@dataclass(frozen=True, eq=False, repr=False)
class Driven(Condition):
    """A displacement that follows a program.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    component : 0 for x, 1 for y
    program : displacement over time [m]
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    component: Annotated[int, COMPONENT] = 1
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


@dataclass(frozen=True, eq=False, repr=False)
class Loaded(Condition):
    """A force per out-of-plane width that follows a program, shared evenly by the nodes there.

    Parameters
    ----------
    where : a node, or a rigid partner
    component : 0 for x, 1 for y
    program : force over time [N/m]
    """

    where: Annotated[Where, _LOADED] = field(default_factory=Rigid)
    component: Annotated[int, COMPONENT] = 1
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


def described_place(where: object) -> str:
    """Return the words for a place in messages."""
    if isinstance(where, Boundary):
        return f"boundary {where.name!r} of body {where.body}"
    if isinstance(where, Nearest):
        point = ", ".join(f"{x:.6g}" for x in where.point)
        return f"the node of body {where.body} near ({point})"
    if isinstance(where, Rigid):
        return f"the rigid partner of contact {where.contact}"
    return repr(where)


def bodies_named(conditions: Iterable[object]) -> set[int]:
    """Return the numbers of the bodies that conditions name, also within terms of their sums.

    Verified by: tests/unit/solids/test_conditions.py::test_bodies_that_conditions_name
    """
    found: set[int] = set()
    for condition in conditions:
        if isinstance(condition, Boundary | Nearest):
            found.add(condition.body)
        elif isinstance(condition, list | tuple):
            found |= bodies_named(condition)
        elif isinstance(condition, Record) and not isinstance(condition, Where):
            found |= bodies_named(vars(condition).values())
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Reaction(Declared):
    """A place at which forces of supports are reported, with their moment about a point.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    about : point of the moment, which stays where it is [m]; None takes the origin

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    about: Annotated[Sequence[float] | Floats | None, _ABOUT] = None


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Declared):
    """A part of the program with conditions of its own, beside those of the whole solid.

    What no condition holds is free. `Fixed` holds where a place is when the stage begins, and
    programs of `Driven` count from there; a rigid partner that no condition names stays where
    it is. Forces are as given. Times are those of the run.

    Parameters
    ----------
    until : time at which the stage ends
    conditions : that hold from the end of the stage before
    steps : load steps of the stage if none fails; None takes those of the method
    rows : how many states are saved, evenly spaced, its end included; None takes what is asked
        for in `solve`

    Verified by: tests/unit/solids/equilibria/test_stages.py::test_preload_shear_hold
    """

    until: Annotated[float, _UNTIL] = 1.0
    conditions: Annotated[Sequence[Condition], _CONDITIONS] = ()
    steps: Annotated[int | None, _STEPS] = None
    rows: Annotated[int | None, _STEPS] = None


def ramp(value: float) -> Program:
    """Return the program from zero at time 0 to `value` at time 1."""
    v = number("ramp", value, why="it is where the program ends.", try_="give a number.")
    return Program((0.0, 1.0), (0.0, v))
