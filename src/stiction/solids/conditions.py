"""Boundary conditions of bodies and rigid partners: zero or prescribed displacements, and forces.

A condition names a place (`Where`: a boundary, the node nearest to a point, or a rigid partner),
a component, and a `Program`, its piecewise linear value over time. A `Stage` is an interval of
time with further conditions. `equilibria.boundary_conditions` turns them into prescribed unknowns
and nodal forces. Linear constraints are in `constraints`, distributed loads in `loads`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Count, Declared, Finite, Part, Parts
from stiction.errors import ModelError
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

_WHY_POINTS = "a program is linear between these points."
_TRY_POINTS = "give times = [0, 1] and values = [0, 2], as many values as rising times."
_TIMES = Finite("", _WHY_POINTS, _TRY_POINTS, per="point", rising=True)
_VALUES = Finite("", _WHY_POINTS, _TRY_POINTS, per="time")
_POINT = Components("m", "the node nearest to this point is chosen.", counts=(2, 3))
_CONTACT = Count(0, "contacts are counted from 0.", "give the index of the contact in the list.")
_ABOUT = Components("m", "moments are reported about this point.", counts=(2, 3))

# checks of the fields of conditions: place, component and program
WHERE = Part(
    "the condition acts at this place.",
    "for example Boundary(0, 'bottom').",
    "a Boundary, a Nearest node or a Rigid partner",
)
_LOADED = Part(
    "a force acts on a node or on a rigid partner.",
    "give Nearest(...) or Rigid(...).",
    "a Nearest node or a Rigid partner",
)
_WHY_COMPONENT = "component 0 is x, 1 is y, and in space 2 is z."
_TRY_COMPONENT = "give 1 for the vertical."
COMPONENT = Count(0, _WHY_COMPONENT, _TRY_COMPONENT, most=2)
PLANE_COMPONENT = Count(0, "component 0 is x, 1 is y.", _TRY_COMPONENT, most=1)
PROGRAM = Part("the prescribed value follows a program over time.", "give Program([0, 1], [0, 2]).")

# checks of the fields of stages
_UNTIL = Finite("", "the stage ends at this time.", "give the time at which the next stage begins.")
_CONDITIONS = Parts(
    "these conditions act during the stage.", "give conditions such as Driven, Loaded or Fixed."
)
_STEPS = Count(
    1,
    "a stage has this many load steps, or saved states.",
    "leave this value out, or give 20.",
    most=10_000_000,
)


@dataclass(frozen=True, eq=False, repr=False)
class Program(Declared):
    """A piecewise linear function of time, constant before its first and after its last point.

    Parameters
    ----------
    times : rising [time unit of the run]
    values : one per time, in the unit of the condition that uses the program

    Verified by: tests/unit/solids/test_conditions.py::test_program
    """

    times: Annotated[Sequence[float] | Floats, _TIMES] = (0.0, 1.0)
    values: Annotated[Sequence[float] | Floats, _VALUES] = (0.0, 1.0)

    @property
    def lengths(self) -> dict[str, int]:
        """The number of values that the checks of the fields require."""
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

    On a spline boundary it is the nearest point of the surface, not a control point.

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
    """Base of the conditions on bodies and rigid partners.

    Attributes
    ----------
    where : a boundary, a node, or a rigid partner
    """

    where: Where | Boundary


@dataclass(frozen=True, eq=False, repr=False)
class Fixed(Condition):
    """Displacements prescribed as zero.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    components : the fixed components, 0 for x, 1 for y, 2 for z
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    components: Sequence[int] = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.components
        listed = given if isinstance(given, Iterable) else (given,)
        clean = [COMPONENT.clean("Fixed.components", one, self, int) for one in listed]
        if not clean:
            needs, why = "at least one component", "a condition without components fixes nothing."
            raise ModelError("Fixed.components", repr(given), needs, why, "give (0, 1), or (1,).")
        object.__setattr__(self, "components", tuple(clean))


@dataclass(frozen=True, eq=False, repr=False)
class Driven(Condition):
    """A displacement that follows a program.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    component : 0 for x, 1 for y, 2 for z
    program : displacement over time [m]
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    component: Annotated[int, COMPONENT] = 1
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


@dataclass(frozen=True, eq=False, repr=False)
class Loaded(Condition):
    """A force at a node or on a rigid partner that follows a program.

    Parameters
    ----------
    where : a node, or a rigid partner
    component : 0 for x, 1 for y, 2 for z
    program : force over time, per out-of-plane width [N/m]; in three dimensions [N]
    """

    where: Annotated[Where, _LOADED] = field(default_factory=Rigid)
    component: Annotated[int, COMPONENT] = 1
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


def described_place(where: object) -> str:
    """Return the description of a place for messages, such as "boundary 'top' of body 0"."""
    if isinstance(where, Boundary):
        return f"boundary {where.name!r} of body {where.body}"
    if isinstance(where, Nearest):
        point = ", ".join(f"{x:.6g}" for x in where.point)
        return f"the node of body {where.body} near ({point})"
    if isinstance(where, Rigid):
        return f"the rigid partner of contact {where.contact}"
    return repr(where)


def bodies_named(conditions: Iterable[object]) -> set[int]:
    """Return the numbers of the bodies that conditions refer to, also in the terms of `Linear`.

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
    """A place at which reaction forces of supports and their moment about a point are reported.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    about : reference point of the moment, fixed in space [m]; None takes the origin

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    about: Annotated[Sequence[float] | Floats | None, _ABOUT] = None


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Declared):
    """An interval of time with further conditions, in addition to those of the whole solid.

    Displacements without a condition are free. `Fixed` holds the position at the begin of the
    stage, and `Driven` prescribes the displacement from that position. A rigid partner without a
    condition stays at its position. Programs of forces give the total force, not its change. Times
    are those of the run, which begins in the first stage.

    Parameters
    ----------
    until : time at which the stage ends
    conditions : conditions during this stage alone
    steps : load steps of the stage if none fails; None takes those of the method
    rows : number of saved states, evenly spaced in time and including the end of the stage; None
        takes the save times of `solve`. `Continuation` saves all its steps instead

    Verified by: tests/unit/solids/equilibria/test_stages.py::test_preload_shear_hold
    """

    until: Annotated[float, _UNTIL] = 1.0
    conditions: Annotated[Sequence[Condition], _CONDITIONS] = ()
    steps: Annotated[int | None, _STEPS] = None
    rows: Annotated[int | None, _STEPS] = None


def ramp(value: float) -> Program:
    """Return the program from zero at time 0 to `value` at time 1."""
    v = number("ramp", value, why="the program ends with this value.", try_="give a number.")
    return Program((0.0, 1.0), (0.0, v))
