"""Declared fields: the annotation of a field states unit, range and error text of its value.

    mass: Annotated[Numbers, Positive("kg", "a massless block has no inertia.", per="mass")]

Systems, laws, loads and methods derive from `Declared`. Its constructor checks every declared field
by its rule, such as `Positive`, and converts it to a float, an array or an object, or raises an
error. Conditions that relate several fields are checked in `__post_init__` of the derived class.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stiction.catalogue import FOREIGN
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_WORK, Record, fits, number, numbers, shape_of, whole

__all__ = [
    "Choice",
    "Components",
    "Count",
    "Declared",
    "Finite",
    "Flag",
    "Limit",
    "NonNegative",
    "Part",
    "Parts",
    "Positive",
    "Rule",
    "rules_of",
]

Floats = npt.NDArray[np.float64]

_TRY = "leave this value out for the default."
_UNBOUNDED = (None, None, None, None)
# an error message lists fewer numbers than this
_FEW = 9
# how an error message writes a vector, by its number of components
_WRITTEN = {2: "[x, y]", 3: "[x, y, z]"}


class Rule(Protocol):
    """Interface of rules: the admissible values of a field.

    In the texts of a rule, `{0.name}` is replaced by the value of the field `name` of the object.
    """

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return the checked and converted value of the field.

        Parameters
        ----------
        where : name of the field, such as "Chain.mass"
        value : the given value
        owner : the object that has the field
        hint : type of the field, from its annotation

        Raises
        ------
        ModelError : on a value that is not admissible.
        """


@dataclasses.dataclass(frozen=True)
class Finite:
    """A finite number, an array of finite numbers, or an object of another class in the annotation.

    Parameters
    ----------
    unit : unit of the value, such as "kg"; "" or "1" for a dimensionless number
    why, try_ : reason and remedy in the error message
    per : for an array, the noun of its entries, such as "mass" if there is one entry per mass; the
        property `lengths` of the owner gives the length. If the type also allows a float, a single
        number applies to all entries. "" for a single number
    size : length of an array of fixed length
    fewest : smallest length of an array; 0 allows an empty one
    rising : whether the array must increase strictly
    least, most : inclusive bounds
    above, below : exclusive bounds
    needs : requirement in the error message; "" derives it from the bounds
    """

    unit: str
    why: str
    try_: str = _TRY
    _: dataclasses.KW_ONLY
    per: str = ""
    size: int = 0
    fewest: int = 1
    rising: bool = False
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    needs: str = ""

    sign: ClassVar[str] = "finite"

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return a float, or a read-only array of floats."""
        if type(value) is float and self._allows(value) and (not self.per or _allows_float(hint)):
            return value
        if isinstance(value, _others(hint)):
            return value
        texts = {"why": self.why, "try_": self.try_}
        if "{" in self.why + self.try_:
            texts = {name: text.format(owner) for name, text in texts.items()}
        options = {"rule": self.sign, "unit": self.unit, **texts}
        scalar = shape_of(value) == ()
        # one number applies to all entries only if the type allows a float
        if not self.per or (scalar and _allows_float(hint)):
            one = number(where, value, **options)
            self._check_bounds(where, one, texts)
            return one
        size = None if scalar else self.size or owner.lengths.get(self.per)
        if not (size or self.fewest) and shape_of(value) == (0,):
            return ()
        array = numbers(where, value, size=size, per=self.per, **options)
        self._check_list(where, array, texts)
        for bound in (array.min(), array.max()):
            self._check_bounds(where, float(bound), texts)
        return array

    def _allows(self, value: float) -> bool:
        """Return whether the rule has no bounds and admits a float; the fast path of `clean`."""
        bounded = self.least, self.most, self.above, self.below
        signed = self.sign == "finite" or value > 0.0
        return signed and bounded == _UNBOUNDED and math.isfinite(value)

    def _check_list(self, where: str, array: Floats, texts: Mapping[str, str]) -> None:
        """Refuse an array that is too short, or does not increase as required."""
        many = f"at least {self.fewest} " if self.fewest > 1 else ""
        unit = f" [{self.unit}]" if self.unit else ""
        needs = f"{many}numbers{unit}{' that increase strictly' if self.rising else ''}"
        if array.size < self.fewest:
            raise ModelError(where, f"{array.size} values", needs, **texts)
        if self.rising and not (np.diff(array) > 0.0).all():
            short = f"{array.size} numbers that do not increase"
            got = array.tolist() if array.size < _FEW else short
            raise ModelError(where, got, needs, **texts)

    def _check_bounds(self, where: str, value: float, texts: Mapping[str, str]) -> None:
        """Refuse a value outside the bounds."""
        low = (self.least is None or value >= self.least) and (
            self.above is None or value > self.above
        )
        high = (self.most is None or value <= self.most) and (
            self.below is None or value < self.below
        )
        if not (low and high):
            raise ModelError(where, value, self.needs or self._bounds(), **texts)

    def _bounds(self) -> str:
        """Return the bounds as text."""
        low = self.least if self.above is None else self.above
        high = self.most if self.below is None else self.below
        unit = f" [{self.unit}]" if self.unit else ""
        if low is None:
            return f"{'at most' if self.below is None else 'a number below'} {high:.6g}{unit}"
        if high is None:
            return f"{'at least' if self.above is None else 'a number above'} {low:.6g}{unit}"
        return f"a number between {low:.6g} and {high:.6g}{unit}"


class Positive(Finite):
    """A number > 0, or an array of them; parameters as of `Finite`."""

    sign = "positive"


class NonNegative(Finite):
    """A number >= 0, or an array of them; parameters as of `Finite`."""

    sign = "nonnegative"


@dataclasses.dataclass(frozen=True)
class Components:
    """The components of a point or a vector.

    Parameters
    ----------
    unit : unit of the components, such as "m"; "" or "1" for dimensionless components
    why, try_ : reason and remedy in the error message; if `try_` is "", the remedy lists the
        admissible numbers of components
    counts : admissible numbers of components
    direction : whether the vector is a direction, which must not be zero
    """

    unit: str
    why: str
    try_: str = ""
    _: dataclasses.KW_ONLY
    counts: tuple[int, ...] = (3,)
    direction: bool = False

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> Floats:
        """Return a read-only array of floats."""
        try_ = self.try_ or f"give {' or '.join(_WRITTEN[count] for count in self.counts)}."
        shape = shape_of(value)
        if shape not in {(count,) for count in self.counts}:
            got = f"{shape[0]} values" if len(shape) == 1 else f"an array of shape {shape}"
            unit = f" [{self.unit}]" if self.unit else ""
            needs = f"{' or '.join(map(str, self.counts))} finite numbers{unit}, one per component"
            raise ModelError(where, got if shape else repr(value), needs, self.why, try_)
        vector = numbers(where, value, per="component", unit=self.unit, why=self.why, try_=try_)
        with np.errstate(over="ignore"):
            length = float(np.linalg.norm(vector))
        if self.direction and not 0.0 < length < np.inf:
            raise ModelError(where, f"a vector of length {length:g}", "a direction", self.why, try_)
        return vector


@dataclasses.dataclass(frozen=True)
class Count:
    """An integer, or a tuple of integers.

    Parameters
    ----------
    least, most : inclusive bounds
    why, try_ : reason and remedy in the error message
    each : memory for each counted object [bytes]; it limits the count
    size : length of a tuple of integers, whose product is limited too; 0 for a single integer
    """

    least: int
    why: str
    try_: str = _TRY
    _: dataclasses.KW_ONLY
    most: int = MOST_WORK
    each: float = 0.0
    size: int = 0

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> int | tuple[int, ...]:
        """Return an int, or a tuple of ints."""
        options = {"why": self.why, "try_": self.try_}
        limits = {"least": self.least, "most": self.most}
        if not self.size:
            return whole(where, value, **limits, each=self.each, **options)  # type: ignore[arg-type]
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != self.size:
            raise ModelError(where, repr(value), f"{self.size} whole numbers", **options)
        counts = tuple(whole(where, one, **limits, **options) for one in value)  # type: ignore[arg-type]
        fits(where, math.prod(counts), self.each, self.try_)
        return counts


def Limit(least: int = 1, most: int = MOST_WORK, each: float = 0.0) -> Count:
    """Return the rule of a bound on the work of a method; parameters as of `Count`."""
    why, try_ = "the work of a run is bounded.", "leave the default."
    return Count(least, why, try_, most=most, each=each)


@dataclasses.dataclass(frozen=True)
class Flag:
    """True or False.

    Parameters
    ----------
    why, try_ : reason and remedy in the error message
    """

    why: str
    try_: str = _TRY

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> bool:
        """Return a bool."""
        if not isinstance(value, bool | np.bool_):
            raise ModelError(where, repr(value), "True or False", self.why, self.try_)
        return bool(value)


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of a few allowed values.

    Parameters
    ----------
    values : the allowed values
    why, try_ : reason and remedy in the error message
    """

    values: tuple[str | float, ...]
    why: str
    try_: str = _TRY

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return the value."""
        plain = isinstance(value, str | int | float | np.number) and not isinstance(value, bool)
        if not plain or value not in self.values:
            needs = "one of " + ", ".join(map(repr, self.values))
            raise ModelError(where, repr(value), needs, self.why, self.try_)
        return self.values[self.values.index(value)]


@dataclasses.dataclass(frozen=True)
class Part:
    """An object of a class that the annotation names.

    Parameters
    ----------
    why, try_ : reason and remedy in the error message
    needs : requirement in the error message; "" for the name of the class
    """

    why: str
    try_: str = _TRY
    needs: str = ""

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return the object."""
        kinds = _classes(hint)
        if not isinstance(value, kinds):
            needs = self.needs or " or ".join(_with_article(kind.__name__) for kind in kinds)
            raise ModelError(where, repr(value), needs, self.why, self.try_)
        return value


@dataclasses.dataclass(frozen=True)
class Parts:
    """Several objects of classes that the annotation names, as in `Sequence[Load]`.

    Parameters
    ----------
    why, try_ : reason and remedy in the error message
    needs : requirement in the error message; "" for the names of the classes
    least : smallest number of objects
    """

    why: str
    try_: str = _TRY
    needs: str = ""
    least: int = 0

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return a tuple of the objects."""
        kinds = _classes(hint)
        parts = tuple(value) if isinstance(value, list | tuple) else (value,)
        wrong = [part for part in parts if not isinstance(part, kinds)]
        if wrong or len(parts) < self.least:
            needs = self.needs or f"{' or '.join(kind.__name__ for kind in kinds)} objects"
            raise ModelError(where, repr(wrong[0]) if wrong else "none", needs, self.why, self.try_)
        return parts


def _with_article(name: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


class _Field(NamedTuple):
    """A rule and the type of its field."""

    rule: Rule
    hint: Any


@functools.cache
def _fields_of(cls: type) -> dict[str, _Field]:
    """Return the declared fields of a class, arrays last: other fields set their lengths."""
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__):
        for name, text in inspect.get_annotations(base).items():
            hint = _resolved(base, name, text)
            for rule in _rules_in(hint):
                fields[name] = _Field(rule, hint.__origin__)
            if any(map(_has_rule, _parts(hint))):
                raise ModelError(
                    f"{base.__name__}.{name}",
                    f"{text}, with a rule inside its type",
                    "the rule around the whole type",
                    "a rule inside a union or a list would check nothing.",
                    "write Annotated[float | None, rule].",
                )
    return dict(sorted(fields.items(), key=lambda item: bool(getattr(item[1].rule, "per", ""))))


def _resolved(base: type, name: str, hint: Any) -> Any:
    """Return the annotation of a field; itself if it has names that cannot be resolved here."""
    if not isinstance(hint, str):
        return hint
    one = types.FunctionType((lambda: None).__code__, {})
    one.__annotations__ = {name: hint}
    names = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
    try:
        found = inspect.get_annotations(one, globals=names, locals=dict(vars(base)), eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        # names that are imported for type checkers only declare no rule, but "Annotated" does
        if "Annotated" in hint:
            raise
        return hint
    return found[name]


def _rules_in(hint: Any) -> list[Rule]:
    """Return the rules in the metadata of an `Annotated` type; none for another type."""
    return [rule for rule in getattr(hint, "__metadata__", ()) if hasattr(rule, "clean")]


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the types inside a type; none of a class variable, which is no field."""
    if hasattr(hint, "__metadata__"):
        return _parts(hint.__origin__)
    return () if typing.get_origin(hint) is ClassVar else typing.get_args(hint)


def _has_rule(hint: Any) -> bool:
    """Return whether a type, or a type inside it, has a rule."""
    return bool(_rules_in(hint)) or any(map(_has_rule, _parts(hint)))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; of another type only itself."""
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    return typing.get_args(hint) if union else (hint,)


def _allows_none(hint: Any) -> bool:
    return types.NoneType in _alternatives(hint)


@functools.cache
def _allows_float(hint: Any) -> bool:
    return float in _alternatives(hint)


@functools.cache
def _others(hint: Any) -> tuple[type, ...]:
    """Return the classes of objects that a field of numbers admits besides numbers."""
    kinds = (one for one in _alternatives(hint) if isinstance(one, type))
    return tuple(kind for kind in kinds if kind not in (float, int, types.NoneType))


def _classes(hint: Any) -> tuple[type, ...]:
    """Return the classes in a type; for a sequence, the classes of its items."""
    classes: list[type] = []
    for one in _alternatives(hint):
        if typing.get_origin(one) is not None:
            classes += _classes(typing.get_args(one)[0])
        elif one is not types.NoneType:
            classes.append(one)
    return tuple(classes)


def rules_of(cls: type) -> dict[str, Rule]:
    """Return the rules of the declared fields of a class, by name.

    Verified by: tests/unit/core/test_fields.py::test_rules_are_read
    """
    return {name: field.rule for name, field in _fields_of(cls).items()}


class Declared(Record):
    """Base class of systems, laws, loads and methods, whose fields are declared.

    Verified by: tests/unit/core/test_fields.py::test_every_rule_refuses
    """

    def __init_subclass__(cls) -> None:
        """Record that a module outside this package defines a class."""
        super().__init_subclass__()
        if not cls.__module__.startswith("stiction."):
            FOREIGN.add(cls.__module__)

    def __post_init__(self) -> None:
        """Check and convert every declared field, or raise an error."""
        cls: Any = type(self)
        for name, field in _fields_of(cls).items():
            value = getattr(self, name)
            if value is None and _allows_none(field.hint):
                continue
            clean = field.rule.clean(f"{cls.__name__}.{name}", value, self, field.hint)
            if clean is not value:
                object.__setattr__(self, name, clean)

    @property
    def lengths(self) -> Mapping[str, int]:
        """Lengths of arrays by the noun of their entries, such as {"mass": 3}."""
        return {}
