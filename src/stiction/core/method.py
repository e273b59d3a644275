"""What solves a system, how the two meet, and what is done where the future is not unique."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from stiction.catalogue import attribute, homes, method_homes, room_of
from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = [
    "BranchPolicy",
    "FollowBranch",
    "Method",
    "Namesake",
    "Policy",
    "StayOnPath",
    "StopThere",
    "default_method",
    "method_for",
    "methods_of",
    "name_of",
    "refuse_unknown_fields",
]


class Policy(Record):
    """Base of what a run does where the model allows more than one future."""


class Method(Record, abc.ABC):
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


def refuse_unknown_fields(cls: type, given: dict[str, object]) -> None:
    """Refuse a field that a method does not have, and name the methods that have it.

    Parameters
    ----------
    cls : class of the method, a dataclass
    given : {field: value} as they were given by name

    Raises
    ------
    ModelError : on the first field that `cls` lacks.

    Verified by: tests/unit/test_methods.py::test_a_field_of_another_method_is_refused
    """
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    for name, value in given.items():
        if name in known:
            continue
        where = [
            label
            for label, found in method_homes()
            if name in {f.name for f in dataclasses.fields(found)}
        ]
        raise ModelError(
            explain(
                f"{cls.__name__}.{name}",
                repr(value),
                f"one of {', '.join(known)}" if known else "no field",
                f"{name} is a field of {', '.join(where)}."
                if where
                else "no method has a field of this name.",
                f"{where[0]}({name}={value!r})." if where else "leave it out.",
            )
        )


class BranchPolicy(Record, abc.ABC):
    """What a path of equilibria does where another one leaves it."""


@dataclass(frozen=True, eq=False, repr=False)
class StopThere(BranchPolicy):
    """End the run at the bifurcation."""


@dataclass(frozen=True, eq=False, repr=False)
class StayOnPath(BranchPolicy):
    """Go on along the path, stable or not; the default. The other one is told.

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
            raise ModelError(explain("FollowBranch.side", repr(self.side), '"+" or "-"', why, try_))


class Namesake(Record):
    """Base of what stands for the method of the same name of the system that is solved."""

    def __new__(cls, *_: object, **given: object) -> Any:
        """Refuse fields that not all namesakes have."""
        refuse_unknown_fields(cls, given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check what is not the default as the first namesake does."""
        if any(getattr(self, f.name) is not f.default for f in dataclasses.fields(self)):  # type: ignore[arg-type]
            _, module = homes(type(self).__name__)[1]
            self.of(attribute(module, type(self).__name__))

    def of(self, cls: type[Method]) -> Method:
        """Return the namesake of a system with the same fields."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        made: Method = cls(**fields)
        return made


def methods_of(system: object) -> dict[str, type[Method]]:
    """Return the methods that stand in the room of a system and take it, by name."""
    room = room_of(type(system).__name__, system)
    if not room:
        return {}
    names: tuple[str, ...] = attribute(f"{room}.methods", "__all__")
    found = {name: attribute(f"{room}.methods", name) for name in names}
    return {name: cls for name, cls in found.items() if isinstance(system, cls.solves)}


def default_method(system: Any) -> Any:
    """Return the method that a system names as its own, with its defaults."""
    known = methods_of(system)
    if system.default_method not in known:
        needs, why = "a method", "this system names none that stands in its room."
        try_ = "give one with solve(system, request)."
        raise ModelError(explain("solve.method", "None", needs, why, try_))
    return known[system.default_method]()


def method_for(system: object, method: object) -> Any:
    """Return the method that solves a system: of a namesake the one of the system, else itself.

    Parameters
    ----------
    method : of a class that takes the system, a namesake of one, or anything with
        ``solve(system, request)``, a user's own method

    Raises
    ------
    ModelError : if the system cannot be solved by this method.

    Verified by: tests/unit/test_solve.py::test_a_method_for_another_system_is_refused
    """
    if isinstance(method, Namesake):
        cls = methods_of(system).get(type(method).__name__)
        if cls is not None:
            return method.of(cls)
    elif isinstance(system, getattr(method, "solves", object)) and hasattr(method, "solve"):
        return method
    known = ", ".join(methods_of(system))
    name, what = type(method).__name__, type(system).__name__
    raise ModelError(
        explain(
            name,
            f"a {what}",
            f"a system that {name} can solve",
            "a method uses the structure of its systems.",
            f"{what} is solved by {known}." if known else "write solve(system, request).",
        )
    )


def name_of(method: object) -> str:
    """Return the full name of the class of a method; "" for a user's own method."""
    for base in type(method).__mro__:
        if base.__module__.startswith("stiction.") and base is not Method:
            return f"{base.__module__}.{base.__name__}"
    return ""
