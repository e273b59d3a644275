"""What solves a system, how the two meet, and what is done where the future is not unique."""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from stiction.catalogue import attribute, method_homes, room_of
from stiction.core.fields import Declared
from stiction.errors import ModelError, nearest
from stiction.numerics.checks import Record

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = [
    "BranchPolicy",
    "FollowBranch",
    "Method",
    "Policy",
    "SharedName",
    "Solver",
    "StayOnPath",
    "StopThere",
    "default_method",
    "label_of",
    "method_for",
    "methods_of",
    "methods_with",
    "name_of",
    "refuse_unknown_fields",
]


class Policy(Declared):
    """Base of what a run does where the model allows more than one future."""


class Solver(Protocol):
    """What solves a system: a method, of the package or of a user."""

    def solve(self, system: Any, request: Request) -> Run:
        """Return the run of `system`."""


class Method(Declared, abc.ABC):
    """Base of what solves a system: the numbers that say how, and a way to the code that does.

    A class names in `solves` the classes of systems that it takes, and imports its engine in
    `solve`, so that a method costs nothing before it runs.
    """

    solves: ClassVar[tuple[type, ...]] = ()

    def __new__(cls, *_: object, **given: object) -> Any:
        """Refuse fields that the method does not have, before they are looked at."""
        refuse_unknown_fields(cls, given)
        return super().__new__(cls)

    @abc.abstractmethod
    def solve(self, system: Any, request: Request) -> Run:
        """Return the run of `system`; one that ended early carries its status.

        Parameters
        ----------
        system : of one of the classes in `solves`
        request : time span, times to save at, progress, checkpoint
        """

    def blocks(
        self,
        system: Any,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return what solves many systems in one call of compiled code; None where nothing does.

        Parameters
        ----------
        paths : of the fields that are varied
        names : of the results that are saved
        """
        return None


def refuse_unknown_fields(cls: type, given: Mapping[str, object]) -> None:
    """Refuse a field that a method does not have, and name the methods that have it.

    Parameters
    ----------
    cls : class of the method; one with an `__init__` of its own takes what that takes
    given : {field: value} as they were given by name

    Raises
    ------
    ModelError : on the first field that `cls` lacks.

    Verified by: tests/unit/test_methods.py::test_a_field_of_another_method_is_refused
    """
    code = getattr(cls.__init__, "__code__", None)  # type: ignore[misc]
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name, value in given.items():
        if name in known:
            continue
        others = methods_with(name, cls.__name__)
        raise ModelError(
            f"{cls.__name__}.{name}",
            repr(value),
            f"one of {', '.join(known)}" if known else "no field",
            f"{name} is a field of {', '.join(others)}."
            if others
            else "no method has a field of this name.",
            f"{others[0]}({name}={value!r})." if others else nearest(name, known),
        )


def methods_with(field: str, name: str) -> list[str]:
    """Return the labels of all methods that have a field, those called `name` first."""
    found = [
        label
        for label, method in method_homes()
        if field in {f.name for f in dataclasses.fields(method)}
    ]
    return sorted(found, key=lambda label: not label.endswith(f".{name}"))


class BranchPolicy(Record, abc.ABC):
    """What a path of equilibria does where another one leaves it."""


@dataclass(frozen=True, eq=False, repr=False)
class StopThere(BranchPolicy):
    """End the run at the bifurcation."""


@dataclass(frozen=True, eq=False, repr=False)
class StayOnPath(BranchPolicy):
    """Continue along the path, stable or not; the default. The other branch is reported.

    Examples
    --------
    >>> import stiction as st
    >>> policy = st.solids.StayOnPath()
    >>> st.Continuation(on_bifurcation=policy).on_bifurcation
    StayOnPath()
    """


@dataclass(frozen=True, eq=False, repr=False)
class FollowBranch(BranchPolicy):
    """Go over to the branch, along the critical way.

    Where a symmetric body buckles there are two, and nothing in the model prefers one.

    Parameters
    ----------
    side : "+" takes the one on which the place that moves farthest moves along its axis, "-"
        the other one

    Verified by: tests/unit/solids/equilibria/test_branches.py::test_a_column_follows_the_elastica
    """

    side: str = "+"

    def __post_init__(self) -> None:
        if self.side not in ("+", "-"):
            why, try_ = "it says which of the two branches is taken.", 'give "+".'
            raise ModelError("FollowBranch.side", repr(self.side), '"+" or "-"', why, try_)


class SharedName(Record):
    """Base of what stands for the method of its name of the system that is solved."""

    def __new__(cls, *_: object, **given: object) -> Any:
        """Refuse fields that not all methods of this name have."""
        refuse_unknown_fields(cls, given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check what is not the default as the first method of this name does."""
        if any(getattr(self, f.name) is not f.default for f in dataclasses.fields(self)):  # type: ignore[arg-type]
            name = self.shared_name()
            self.of(next(cls for _, cls in method_homes() if cls.__name__ == name))

    def shared_name(self) -> str:
        """Return the name that the methods share; a user's subclass has another."""
        return next(b.__name__ for b in type(self).__mro__ if b.__module__ == "stiction.methods")

    def of(self, cls: type[Method]) -> Method:
        """Return the method of a system with the same fields."""
        names = [f.name for f in dataclasses.fields(self) if f.init]  # type: ignore[arg-type]
        fields = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        made: Method = cls(**{name: getattr(self, name) for name in names if name in fields})
        return made


def methods_of(system: object) -> dict[str, type[Method]]:
    """Return the methods that stand in the room of a system and take it, by name."""
    room = room_of(type(system).__name__, system)
    if not room:
        return {}
    names: tuple[str, ...] = attribute(f"{room}.methods", "__all__")
    found = {name: attribute(f"{room}.methods", name) for name in names}
    return {
        name: cls
        for name, cls in found.items()
        if isinstance(cls, type) and issubclass(cls, Method) and isinstance(system, cls.solves)
    }


def default_method(system: Any) -> Any:
    """Return the method that a system names as its own, with its defaults."""
    known = methods_of(system)
    if system.default_method not in known:
        needs, why = "a method", "this system names none that stands in its room."
        try_ = "give one with solve(system, request)."
        raise ModelError("solve.method", "None", needs, why, try_)
    return known[system.default_method]()


def method_for(system: object, method: object) -> Solver:
    """Return what solves a system: of a shared name the method of the system, else `method`.

    Parameters
    ----------
    method : of a class that takes the system, a shared name, or anything with
        ``solve(system, request)``, a user's own method; None for the default of the system

    Raises
    ------
    ModelError : if the system cannot be solved by this method.

    Verified by: tests/unit/test_solve.py::test_a_method_for_another_system_is_refused
    """
    if method is None:
        found: Solver = default_method(system)
        return found
    own = hasattr(method, "solve")
    if isinstance(method, type) or not (own or isinstance(method, SharedName)):
        span = isinstance(method, (tuple, list)) and len(method) == 2
        raise ModelError(
            "solve.method",
            repr(method),
            "a method object, such as EventDriven(), or None",
            "the second argument says how the system is solved.",
            f"t_span={method!r} for the time span."
            if span
            else "write the method with parentheses, for example EventDriven().",
        )
    known = methods_of(system)
    takes: tuple[type, ...] = getattr(method, "solves", ())
    if own and (not takes or isinstance(system, takes)):
        return method  # type: ignore[return-value]
    if isinstance(method, SharedName) and method.shared_name() in known:
        return method.of(known[method.shared_name()])
    name, what = label_of(type(method)), type(system).__name__
    needs = " or ".join(f"a {cls.__name__}" for cls in takes)
    those = ", ".join(label_of(cls) for cls in known.values())
    raise ModelError(
        name,
        f"a {what}",
        needs or f"a system that has a method {name}",
        "a method uses the structure of its systems.",
        f"{what} is solved by {those}." if those else "write solve(system, request).",
    )


def label_of(cls: type) -> str:
    """Return how a class of methods is called with its room, such as "chains.EventDriven"."""
    _, _, rest = cls.__module__.partition("stiction.")
    room, _, inside = rest.partition(".")
    return f"{room}.{cls.__name__}" if inside else cls.__name__


def name_of(method: object) -> str:
    """Return the full name of the class of a method; "" for a user's own method.

    Verified by: tests/unit/test_methods.py::test_the_full_name_of_a_method_is_that_of_its_class
    """
    for base in type(method).__mro__:
        ours = base.__module__.startswith("stiction.") and base not in (Method, SharedName)
        # fields of a user's own method come from bases of ours that solve nothing
        if ours and issubclass(base, (Method, SharedName)):
            return f"{base.__module__}.{base.__name__}"
    return ""
