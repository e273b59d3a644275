"""What is done to bodies: held, driven along a program, or loaded by one."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, numbers, whole
from stiction.solids.contact.partners import Boundary, point_of

__all__ = [
    "Condition",
    "Driven",
    "Fixed",
    "Loaded",
    "Nearest",
    "Program",
    "Reaction",
    "Rigid",
    "Stage",
    "check_component",
    "check_program",
    "check_where",
    "told_place",
]

Floats = npt.NDArray[np.float64]

# the third component, which bodies in space have
_DEPTH = 2


@dataclass(frozen=True, eq=False, repr=False)
class Program(Record):
    """A value that goes from point to point in straight lines, constant before and after.

    Parameters
    ----------
    times : rising [time unit]
    values : one per time

    Verified by: tests/unit/solids/test_conditions.py::test_program
    """

    times: Sequence[float] | Floats = (0.0, 1.0)
    values: Sequence[float] | Floats = (0.0, 1.0)

    def __post_init__(self) -> None:
        why = "the value goes from point to point."
        try_ = "give times = [0, 1] and values = [0, 2]."
        t = numbers("Program.times", self.times, per="point", why=why, try_=try_)
        v = numbers("Program.values", self.values, per="point", why=why, try_=try_)
        if t.shape != v.shape or t.ndim != 1 or t.size == 0 or not (np.diff(t) > 0.0).all():
            got = f"{t.size} times and {v.size} values"
            needs = "as many values as rising times"
            raise ModelError("Program.times", got, needs, why, try_)
        object.__setattr__(self, "times", t)
        object.__setattr__(self, "values", v)

    def at(self, t: float) -> float:
        """Return the value at time t."""
        return float(np.interp(t, self.times, self.values))

    def corners(self) -> Floats:
        """Return the times at which the slope may jump."""
        return np.asarray(self.times)


class Where(Record, abc.ABC):
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

    body: int = 0
    point: Sequence[float] | Floats = (0.0, 0.0)

    def __post_init__(self) -> None:
        why = "bodies are counted from 0."
        whole("Nearest.body", self.body, least=0, why=why, try_="give the place in the list.")
        point = point_of("Nearest.point", self.point, "a node is near.", (2, 3))
        object.__setattr__(self, "point", point)


@dataclass(frozen=True, eq=False, repr=False)
class Rigid(Where):
    """The rigid partner of a contact.

    Parameters
    ----------
    contact : number of the contact, from 0 in the order of `Solid.contacts`
    """

    contact: int = 0

    def __post_init__(self) -> None:
        why = "contacts are counted from 0."
        whole("Rigid.contact", self.contact, least=0, why=why, try_="give the place in the list.")


class Condition(Record, abc.ABC):
    """Base of what is done to bodies and rigid partners.

    Attributes
    ----------
    where : a boundary, a node, or a rigid partner
    """

    where: Where | Boundary


def check_where(name: str, where: object) -> None:
    """Refuse what is no place."""
    if not isinstance(where, (Boundary, Where)):
        raise ModelError(
            f"{name}.where",
            repr(where),
            "a Boundary, a Nearest node or a Rigid partner",
            "a condition acts somewhere.",
            "for example Boundary(0, 'bottom').",
        )


def check_component(where: str, value: object, most: int = _DEPTH) -> int:
    """Return 0, 1 or 2, or refuse; bodies of the plane, and loads of them, have no third one."""
    why = "0 is x, 1 is y."
    whole(where, value, least=0, why=why, try_="give 0 or 1.")
    if value not in range(most + 1):
        raise ModelError(where, value, "0 or 1", why, "give 1 for the vertical.")
    return int(value)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, eq=False, repr=False)
class Fixed(Condition):
    """Displacements held at zero.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    components : which of them, 0 for x and 1 for y
    """

    where: Where | Boundary = field(default_factory=Boundary)
    components: Sequence[int] = (0, 1)

    def __post_init__(self) -> None:
        check_where("Fixed", self.where)
        try:
            given = list(self.components)
        except TypeError:
            given = [self.components]  # type: ignore[list-item]
        object.__setattr__(
            self, "components", tuple(check_component("Fixed.components", c) for c in given)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Driven(Condition):
    """A displacement that follows a program.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    component : 0 for x, 1 for y
    program : displacement over time [m]
    """

    where: Where | Boundary = field(default_factory=Boundary)
    component: int = 1
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        check_where("Driven", self.where)
        object.__setattr__(self, "component", check_component("Driven.component", self.component))
        check_program("Driven", self.program)


@dataclass(frozen=True, eq=False, repr=False)
class Loaded(Condition):
    """A force per out-of-plane width that follows a program, shared evenly by the nodes there.

    Parameters
    ----------
    where : a node, or a rigid partner
    component : 0 for x, 1 for y
    program : force over time [N/m]
    """

    where: Where = field(default_factory=Rigid)
    component: int = 1
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        where: object = self.where
        if not isinstance(where, Where):
            why = "a force acts on a node or on a rigid partner."
            try_ = "give Nearest(...) or Rigid(...)."
            raise ModelError("Loaded.where", repr(self.where), "a Where", why, try_)
        object.__setattr__(self, "component", check_component("Loaded.component", self.component))
        check_program("Loaded", self.program)


def check_program(name: str, program: object) -> None:
    """Refuse what is no program."""
    if not isinstance(program, Program):
        why, try_ = "it follows a program over time.", "give Program([0, 1], [0, 2])."
        raise ModelError(f"{name}.program", repr(program), "a Program", why, try_)


def told_place(where: object) -> str:
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
class Reaction(Record):
    """A place at which forces of supports are told, with their moment about a point.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    about : point of the moment, which stays where it is [m]; None takes the origin

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """

    where: Where | Boundary = field(default_factory=Boundary)
    about: Sequence[float] | Floats | None = None

    def __post_init__(self) -> None:
        check_where("Reaction", self.where)
        if self.about is not None:
            why = "moments are told about it."
            about = point_of("Reaction.about", self.about, why, (2, 3))
            object.__setattr__(self, "about", about)


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Record):
    """A part of the program with conditions of its own, beside those of the whole solid.

    What no condition holds is free. `Fixed` holds where a place is when the stage begins, and
    programs of `Driven` count from there; a rigid partner that no condition names stays where
    it is. Forces are as given. Times are those of the run.

    Parameters
    ----------
    until : time at which the stage ends
    conditions : that hold from the end of the stage before
    steps : load steps of the stage if none fails; None takes those of the method
    rows : how many states are kept, evenly spaced, its end included; None takes what is asked
        for in `solve`

    Verified by: tests/unit/solids/equilibria/test_stages.py::test_preload_shear_hold
    """

    until: float = 1.0
    conditions: Sequence[Condition] = ()
    steps: int | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        why, try_ = "it is when the stage ends.", "give the time at which the next one begins."
        object.__setattr__(self, "until", number("Stage.until", self.until, why=why, try_=try_))
        given: object = self.conditions
        found = (given,) if isinstance(given, Condition) else tuple(self.conditions)
        wrong: list[object] = [c for c in found if not issubclass(type(c), Condition)]
        if wrong:
            why, try_ = "it says what is done meanwhile.", "give Driven, Loaded, Fixed or others."
            needs = "Condition objects"
            raise ModelError("Stage.conditions", repr(wrong[0]), needs, why, try_)
        object.__setattr__(self, "conditions", found)
        why, try_ = "the stage is divided into them.", "leave it out, or give 20."
        for name in ("steps", "rows"):
            value = getattr(self, name)
            if value is not None:
                whole(f"Stage.{name}", value, least=1, most=10_000_000, why=why, try_=try_)


def ramp(value: float) -> Program:
    """Return the program from zero at time 0 to `value` at time 1."""
    v = number("ramp", value, why="it is where the program ends.", try_="give a number.")
    return Program((0.0, 1.0), (0.0, v))
