"""Base classes of methods (numerical schemes), and the choice of the method for a system.

A method is a frozen dataclass: its fields are the parameters of a numerical scheme, its function
`solve(system, request)` returns a `Run`. Each subpackage defines its methods in its module
`methods`, with the classes of the systems that they solve. `stiction.core.driver` selects one by
`method_for`. The base classes of the policies at losses of determinism and at bifurcations of
equilibria are here too.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from stiction.catalogue import attribute, method_homes, package_of
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
    """Base class of policies, which choose a solution at a loss of determinism."""


class Solver(Protocol):
    """Interface of methods: those of the package, and those that a user writes."""

    def solve(self, system: Any, request: Request) -> Run:
        """Return the run of `system`."""


class Method(Declared, abc.ABC):
    """Base class of the methods of this package: their parameters, and `solve`.

    The class variable `solves` lists the classes of systems that a method solves. The code of the
    method is imported in `solve` only, so that a method object can be created quickly.
    """

    solves: ClassVar[tuple[type, ...]] = ()

    if not TYPE_CHECKING:

        def __new__(cls, *args: object, **given: object) -> Any:
            """Raise an error for unknown fields, before they are checked."""
            refuse_unknown_fields(cls, given)
            return super().__new__(cls, *args, **given)

    @abc.abstractmethod
    def solve(self, system: Any, request: Request) -> Run:
        """Return the run of `system`; the status of the run reports an early end.

        Parameters
        ----------
        system : an object of one of the classes in `solves`
        request : time span, saved times, progress, checkpoint
        """

    def blocks(
        self,
        system: Any,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return a function that solves many systems in one compiled call; None if unsupported.

        Parameters
        ----------
        paths : the varied fields, each as a path of names and indices, such as ("law", "mu")
        names : names of the results that are saved
        """
        return None


def refuse_unknown_fields(cls: type, given: Mapping[str, object]) -> None:
    """Raise an error for a field that a method lacks; the error names the methods that have it.

    Parameters
    ----------
    cls : class of the method; if it defines `__init__`, the parameters of that are its fields
    given : {field: value} of keyword arguments

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
        subpackage = label_of(cls).partition(".")[0]
        # methods of the same subpackage may solve the same system
        near = [label for label in others if label.startswith(f"{subpackage}.")] or others
        raise ModelError(
            f"{cls.__name__}.{name}",
            repr(value),
            f"one of {', '.join(known)}" if known else "no field",
            f"{name} is a field of {', '.join(others)}."
            if others
            else "no method has a field of this name.",
            _example(near[0], name, value) if near else nearest(name, known),
        )


def _example(label: str, name: str, value: object) -> str:
    """Return a call of the method that has the field, with the value if it admits it."""
    try:
        dict(method_homes())[label](**{name: value})
    except ModelError as error:
        needs = str(error).splitlines()[0].rpartition("; needs ")[2]
        return f"{label}({name}=...) with {needs}"
    except TypeError:
        # it needs other fields too
        pass
    return f"{label}({name}={value!r})."


def methods_with(field: str, name: str) -> list[str]:
    """Return the labels of all methods with a field `field`; methods called `name` come first."""
    labels = [
        label
        for label, method in method_homes()
        if field in {f.name for f in dataclasses.fields(method)}
    ]
    return sorted(labels, key=lambda label: not label.endswith(f".{name}"))


class BranchPolicy(Record, abc.ABC):
    """Base class of policies at a bifurcation of equilibria."""


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
    """Switch to the bifurcating branch, along the critical mode.

    A symmetric body can buckle in two directions; `side` selects one.

    Parameters
    ----------
    side : "+" selects the direction in which the largest displacement of the critical mode is
        positive, "-" the opposite direction

    Verified by: tests/unit/solids/equilibria/test_branches.py::test_a_column_follows_the_elastica
    """

    side: str = "+"

    def __post_init__(self) -> None:
        if self.side not in ("+", "-"):
            why, try_ = "`side` selects one of the two branches.", 'give "+".'
            raise ModelError("FollowBranch.side", repr(self.side), '"+" or "-"', why, try_)


class SharedName(Record):
    """Base class of `stiction.EventDriven` and `stiction.Quasistatic`, whose name is shared.

    `solve` replaces an object of such a class by the method of that name for the given system.
    """

    if not TYPE_CHECKING:

        def __new__(cls, *args: object, **given: object) -> Any:
            """Raise an error for a field that is not common to all methods of this name."""
            refuse_unknown_fields(cls, given)
            return super().__new__(cls, *args, **given)

    def __post_init__(self) -> None:
        """Check the values, unless they are defaults, by the rules of the first such method."""
        if any(getattr(self, f.name) is not f.default for f in dataclasses.fields(self)):  # type: ignore[arg-type]
            name = self.shared_name()
            self.of(next(cls for _, cls in method_homes() if cls.__name__ == name))

    def shared_name(self) -> str:
        """Return the name that the methods share; a subclass of a user has another name."""
        return next(b.__name__ for b in type(self).__mro__ if b.__module__ == "stiction.methods")

    def of(self, cls: type[Method]) -> Method:
        """Return an object of `cls`, the method of a system, with the same values of fields."""
        names = [f.name for f in dataclasses.fields(self) if f.init]  # type: ignore[arg-type]
        fields = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        made: Method = cls(**{name: getattr(self, name) for name in names if name in fields})
        return made


def methods_of(system: object) -> dict[str, type[Method]]:
    """Return {name: class} of the methods that solve a system."""
    package = package_of(type(system).__name__, system)
    if not package:
        return {}
    names: tuple[str, ...] = attribute(f"{package}.methods", "__all__")
    methods = {name: attribute(f"{package}.methods", name) for name in names}
    return {
        name: cls
        for name, cls in methods.items()
        if isinstance(cls, type) and issubclass(cls, Method) and isinstance(system, cls.solves)
    }


def default_method(system: Any) -> Any:
    """Return the default method of a system."""
    known = methods_of(system)
    if system.default_method not in known:
        needs, why = "a method object", "systems of this class have no default method."
        try_ = "pass `method`, an object with a method solve(system, request)."
        raise ModelError("solve.method", "None", needs, why, try_)
    return known[system.default_method]()


def method_for(system: object, method: object) -> Solver:
    """Return the method that solves a system.

    Parameters
    ----------
    method : a method object; an object of a shared name (`SharedName`), which is replaced by the
        method of the system; a user's own object with ``solve(system, request)``; or None for the
        default of the system

    Raises
    ------
    ModelError : if the system cannot be solved by this method.

    Verified by: tests/unit/test_solve.py::test_a_method_for_another_system_is_refused
    """
    if method is None:
        default: Solver = default_method(system)
        return default
    own = hasattr(method, "solve")
    if isinstance(method, type) or not (own or isinstance(method, SharedName)):
        span = isinstance(method, (tuple, list)) and len(method) == 2
        raise ModelError(
            "solve.method",
            repr(method),
            "a method object, such as EventDriven(), or None",
            "the second argument of `solve` is the numerical method.",
            f"t_span={method!r} for the time span."
            if span
            else "write the method with parentheses, for example EventDriven().",
        )
    known = methods_of(system)
    solves: tuple[type, ...] = getattr(method, "solves", ())
    if own and (not solves or isinstance(system, solves)):
        return method  # type: ignore[return-value]
    if isinstance(method, SharedName) and method.shared_name() in known:
        return method.of(known[method.shared_name()])
    name, what = label_of(type(method)), type(system).__name__
    needs = " or ".join(f"a {cls.__name__}" for cls in solves)
    those = ", ".join(label_of(cls) for cls in known.values())
    raise ModelError(
        name,
        f"a {what}",
        needs or f"a system that has a method {name}",
        "each method is written for the equations of certain systems.",
        f"{what} is solved by {those}." if those else "write solve(system, request).",
    )


def label_of(cls: type) -> str:
    """Return the name of a class of methods with its subpackage, such as "chains.EventDriven"."""
    _, _, path = cls.__module__.partition("stiction.")
    subpackage, _, inside = path.partition(".")
    return f"{subpackage}.{cls.__name__}" if inside else cls.__name__


def name_of(method: object) -> str:
    """Return the full name of the class of a method; "" for a user's own method.

    Verified by: tests/unit/test_methods.py::test_the_full_name_of_a_method_is_that_of_its_class
    """
    for base in type(method).__mro__:
        ours = base.__module__.startswith("stiction.") and base not in (Method, SharedName)
        # skip the abstract bases
        if ours and issubclass(base, (Method, SharedName)):
            return f"{base.__module__}.{base.__name__}"
    return ""
