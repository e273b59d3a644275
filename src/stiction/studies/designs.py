"""Designs of experiments: how the values of the swept fields are combined to members of a study.

There are full grids, pairs, Latin hypercubes, Sobol sequences, and the samples of Saltelli for
Sobol's sensitivity indices.
"""

from __future__ import annotations

import abc
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ScenarioError
from stiction.numerics.checks import MOST_SEED, Record, fits, number, whole

__all__ = ["Design", "Grid", "LatinHypercube", "Paired", "Range", "Saltelli", "Sobol", "columns"]

Column = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_BYTES_OF_MEMBER = 100.0


@dataclass(frozen=True, eq=False, repr=False)
class Range(Record):
    """The range of a field: `count` evenly spaced values, or the interval that a design samples.

    Parameters
    ----------
    low, high : ends of the range, in the unit of the field
    count : number of values; None for an interval that a design such as `LatinHypercube` samples
    log : whether values are evenly spaced in the logarithm

    Verified by: tests/unit/studies/test_designs.py::test_ranges_are_spread
    """

    low: float
    high: float
    count: int | None = None
    log: bool = False

    def __post_init__(self) -> None:
        why, try_ = "low and high are the ends of the range.", "for example Range(0.1, 0.5, 21)."
        rule = "positive" if self.log else "finite"
        for name in ("low", "high"):
            value = number(f"Range.{name}", getattr(self, name), rule=rule, why=why, try_=try_)
            object.__setattr__(self, name, value)
        if self.count is not None:
            each, why = _BYTES_OF_MEMBER, "the range is divided into this many values."
            whole("Range.count", self.count, least=1, each=each, why=why, try_=try_)
            why = "low and high are the ends of the range."
        if not self.low < self.high and (self.count != 1 or self.low > self.high):
            got, needs = f"{self.high!r}", f"more than low = {self.low!r}"
            raise ScenarioError("Range.high", got, needs, why, try_)

    @property
    def values(self) -> Floats:
        """(count,) the values, ends included."""
        if self.count is None:
            got, needs = "a Range without a count", "a count"
            why = "this design combines given values, and does not sample an interval."
            try_ = "Range(low, high, count), or a design that samples, such as LatinHypercube."
            raise ScenarioError("fields", got, needs, why, try_)
        if self.log:
            return np.geomspace(self.low, self.high, self.count)
        if math.isinf(self.high - self.low):
            return self.within(np.linspace(0.0, 1.0, self.count))
        return np.linspace(self.low, self.high, self.count)

    def within(self, fraction: Floats) -> Floats:
        """Return the values at fractions in [0, 1] of the range."""
        if self.log:
            ratio = self.high / self.low
            if ratio < math.inf:
                return np.asarray(self.low * ratio**fraction)
            # both ends are numbers, their ratio is not
            return np.asarray(self.low ** (1.0 - fraction) * self.high**fraction)
        if math.isinf(self.high - self.low):
            return np.asarray((1.0 - fraction) * self.low + fraction * self.high)
        return np.asarray(self.low + (self.high - self.low) * fraction)


class Design(Record, abc.ABC):
    """Base class of designs, which combine the values of fields to members."""

    extends = True

    @abc.abstractmethod
    def columns(self, fields: Mapping[str, object]) -> dict[str, Column]:
        """Return {path: (members,) values}."""


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Design):
    """The full grid: every value of each field is combined with every value of the others.

    Verified by: tests/unit/studies/test_designs.py::test_grids_hold_every_combination

    Examples
    --------
    >>> import stiction as st
    >>> members = st.studies.Grid().columns({"law.mu": [0.1, 0.2], "load.rate": [1.0, 2.0, 3.0]})
    >>> members["law.mu"]
    array([0.1, 0.1, 0.1, 0.2, 0.2, 0.2])
    """

    def columns(self, fields: Mapping[str, object]) -> dict[str, Column]:
        """Return the members of the grid; the last field changes fastest."""
        lists = {path: _values(path, given) for path, given in fields.items()}
        count = math.prod(len(v) for v in lists.values())
        fits("fields", count, _BYTES_OF_MEMBER, "take fewer values of each field.")
        places = np.unravel_index(np.arange(count), [len(v) for v in lists.values()])
        pairs = zip(lists.items(), places, strict=True)
        return {path: values[place] for (path, values), place in pairs}


@dataclass(frozen=True, eq=False, repr=False)
class Paired(Design):
    """Pairs: member k has the k-th value of each field.

    Verified by: tests/unit/studies/test_designs.py::test_pairs_go_together

    Examples
    --------
    >>> import stiction as st
    >>> members = st.studies.Paired().columns({"law.mu": [0.1, 0.2], "load.rate": [1.0, 2.0]})
    >>> members["load.rate"]
    array([1., 2.])
    """

    def columns(self, fields: Mapping[str, object]) -> dict[str, Column]:
        """Return the given values of each field."""
        lists = {path: _values(path, given) for path, given in fields.items()}
        sizes = {path: len(values) for path, values in lists.items()}
        if len(set(sizes.values())) > 1:
            got = ", ".join(f"{size} of {path}" for path, size in sizes.items())
            needs = "the same number of values of each field"
            why = "the design Paired combines the k-th values of all fields."
            raise ScenarioError("fields", got, needs, why, "Grid() combines all values.")
        return lists


@dataclass(frozen=True, eq=False, repr=False)
class _Sample(Design):
    members: int
    seed: int = 1

    def __post_init__(self) -> None:
        name, why = type(self).__name__, "the sample has this many members."
        whole(f"{name}.members", self.members, least=1, why=why, try_="for example 1024.")
        why = "the same seed repeats the sample."
        whole(f"{name}.seed", self.seed, least=0, most=MOST_SEED, why=why, try_="for example 1.")
        fits(f"{name}.members", self.members, _BYTES_OF_MEMBER, "take fewer members.")

    def columns(self, fields: Mapping[str, object]) -> dict[str, Column]:
        """Return a sample of the box whose sides are the ranges of the fields."""
        for path, given in fields.items():
            if not isinstance(given, Range):
                needs = "a Range, or {from = ..., to = ...} in a file"
                why = f"{type(self).__name__} samples the box between two ends of each field."
                try_ = "take Grid() or Paired() for given values."
                raise ScenarioError(f"fields.{path}", _brief(given), needs, why, try_)
            if given.count is not None:
                got, needs = f"a Range with count = {given.count}", "a Range without a count"
                why = f"`members` of {type(self).__name__} is the number of samples."
                raise ScenarioError(f"fields.{path}", got, needs, why, "leave the count out.")
        points = self._unit_sample(len(fields))
        pairs = enumerate(fields.items())
        return {p: r.within(points[:, k]) for k, (p, r) in pairs if isinstance(r, Range)}

    @abc.abstractmethod
    def _unit_sample(self, size: int) -> Floats:
        """Return (members, size) points of the unit cube."""


@dataclass(frozen=True, eq=False, repr=False)
class LatinHypercube(_Sample):
    """Latin hypercube sample: one member in each of `members` equal slices of every range.

    Parameters
    ----------
    members : number of members
    seed : seed of the random numbers

    Verified by: tests/unit/studies/test_designs.py::test_samples_fill_the_box

    Examples
    --------
    >>> import stiction as st
    >>> design = st.studies.LatinHypercube(10, seed=3)
    >>> members = design.columns({"law.mu": st.studies.Range(0.0, 1.0)})
    >>> sorted(int(10 * mu) for mu in members["law.mu"])  # one in each tenth
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    extends = False

    def _unit_sample(self, size: int) -> Floats:
        from scipy.stats import qmc

        sampler = qmc.LatinHypercube(size, rng=np.random.default_rng(self.seed))
        return np.asarray(sampler.random(self.members))


@dataclass(frozen=True, eq=False, repr=False)
class Sobol(_Sample):
    """The first points of a scrambled Sobol sequence; a study with more members continues it.

    Parameters
    ----------
    members : number of members; powers of two give the most uniform samples
    seed : seed of the scrambling

    Verified by: tests/unit/studies/test_designs.py::test_samples_fill_the_box

    Examples
    --------
    >>> import stiction as st
    >>> members = st.studies.Sobol(8, seed=1).columns({"law.mu": st.studies.Range(0.0, 1.0)})
    >>> sorted(int(8 * mu) for mu in members["law.mu"])
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    def _unit_sample(self, size: int) -> Floats:
        return _sobol(size, self.members, self.seed)


@dataclass(frozen=True, eq=False, repr=False)
class Saltelli(_Sample):
    """Saltelli's samples, from which Sobol's sensitivity indices are computed.

    A and B are two samples of `members` points each. For each field, a further sample AB is A with
    the values of this field from B. The study has `members` (fields + 2) members: first A, then B,
    then AB of each field in the order of the fields.

    Parameters
    ----------
    members : size of the sample A, a power of two, 2 or more
    seed : seed of the scrambling

    Source: Saltelli et al., Comput. Phys. Commun. 181 (2010) 259.
    Verified by: tests/unit/studies/test_sensitivity.py::test_indices_of_a_known_function
    """

    extends = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members & (self.members - 1) or self.members == 1:
            needs = "a power of two, 2 or more"
            why = "only such a part of a Sobol sequence is balanced, and one point has no variance."
            raise ScenarioError("Saltelli.members", self.members, needs, why, "take 256.")

    def columns(self, fields: Mapping[str, object]) -> dict[str, Column]:
        """Return A, B and AB of each field; ScenarioError if two members are equal."""
        made = super().columns(fields)
        points = np.column_stack(list(made.values()))
        # a study solves equal members once, which would change the order of A, B and AB
        if len(made) > 1 and len(np.unique(points, axis=0)) < len(points):
            got, needs = "ranges in which members are equal", "wider ranges"
            why = "the ranges hold so few floating-point numbers that A, B and AB have equal rows."
            raise ScenarioError("fields", got, needs, why, "give ends that differ more.")
        return made

    def _unit_sample(self, size: int) -> Floats:
        """Return points of A, then of B, then of A with column k from B for each k."""
        both = _sobol(2 * size, self.members, self.seed)
        a, b = both[:, :size], both[:, size:]
        mixed = []
        for k in range(size):
            one = a.copy()
            one[:, k] = b[:, k]
            mixed.append(one)
        return np.concatenate([a, b, *mixed])


def _sobol(size: int, members: int, seed: int) -> Floats:
    """Return (members, size) points of a scrambled Sobol sequence."""
    import warnings

    from scipy.stats import qmc

    with warnings.catch_warnings():
        # numbers that are not powers of two are allowed, and give less uniform samples
        warnings.simplefilter("ignore", UserWarning)
        sampler = qmc.Sobol(size, rng=np.random.default_rng(seed))
        return np.asarray(sampler.random(members))


def columns(design: Design, fields: Mapping[str, object]) -> dict[str, Column]:
    """Return {path: (members,) values} of a design for the swept fields.

    Raises
    ------
    ScenarioError : if there are no fields, or the design cannot use the values.
    """
    if not fields:
        why, try_ = "a study varies at least one field.", 'for example {"law.mu": [0.1, 0.2]}.'
        raise ScenarioError("fields", "nothing", "at least one field", why, try_)
    return design.columns(fields)


def _values(path: str, given: object) -> Column:
    """Return the values of a field as an array; objects and lists become an array of objects."""
    if isinstance(given, Range):
        return given.values
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.size:
        # fast path: arrays of numbers are not converted to lists
        if given.dtype.kind == "f" and given.dtype.itemsize <= 8:
            return given.astype(np.float64)
        if given.dtype.kind == "i":
            return given.astype(np.int64)
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(listed, range):
        listed = list(listed)
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not len(listed):
        needs, why = "a list of values, or a Range", "each member has one of the values."
        try_ = "for example [0.1, 0.2, 0.3]."
        raise ScenarioError(f"fields.{path}", _brief(given), needs, why, try_)
    plain = [v.tolist() if isinstance(v, np.generic | np.ndarray) else v for v in listed]
    kinds = {type(v) for v in plain}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        with contextlib.suppress(OverflowError):
            made = np.array(plain)
            # integers without an exact float remain integers
            pairs = zip(made.tolist(), plain, strict=True) if made.dtype.kind == "f" else ()
            if all(a == b for a, b in pairs if isinstance(b, int)):
                return made
    objects = np.empty(len(plain), dtype=object)
    objects[:] = plain
    return objects


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
