"""Fitted parameters: their names, units and bounds, and the coordinates in which they are searched.

The search uses transformed parameters, the coordinates y (n,): the logarithm of a positive
parameter, the difference mu_static - mu_kinetic, and the ratio gamma / beta of the Bouc-Wen law.
`Coordinates.physical` maps y to the values (n,) in SI units. Every point within the
bounds of these coordinates is a valid law. A profile likelihood fixes one value and fits the others
(`intervals`): the argument `profiled` of the maps below is (index, value) of the fixed parameter.
`problem.Problem` makes the parameters and the coordinates.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.fits.rigs import Free, Rig
from stiction.laws.friction import Friction
from stiction.laws.rate_and_state import RateAndState

__all__ = ["OF_LAWS", "Coordinates", "Law", "Parameter", "law_name", "parameters_of"]

Floats = npt.NDArray[np.float64]
Law = Friction | RateAndState

# {law: {field: unit}} of the fields that may be fitted; other fields keep their given values
OF_LAWS: Mapping[str, Mapping[str, str]] = {
    "Coulomb": {"mu": "1"},
    "StaticKinetic": {"mu_static": "1", "mu_kinetic": "1"},
    "ExponentialWeakening": {"mu_static": "1", "mu_kinetic": "1", "v_scale": "m/s"},
    "Stribeck": {"mu_static": "1", "mu_kinetic": "1", "v_scale": "m/s", "viscous": "s/m"},
    "AgeingCoulomb": {"mu_fresh": "1", "growth": "1", "time": "s", "length": "m"},
    "Dahl": {"sigma0": "1/m", "mu": "1"},
    "LuGre": {
        "sigma0": "1/m", "sigma1": "s/m", "sigma2": "s/m",
        "mu_static": "1", "mu_kinetic": "1", "v_scale": "m/s",
    },
    "BoucWen": {"sigma0": "1/m", "beta": "1/m^power", "gamma": "1/m^power"},
    "AgeingLaw": {"a": "1", "b": "1", "length": "m", "mu0": "1"},
    "SlipLaw": {"a": "1", "b": "1", "length": "m", "mu0": "1"},
}  # fmt: skip
# fields whose coordinate is the logarithm, those that may be negative, and those that may be zero
_LOGARITHMIC = frozenset(
    ("sigma0", "v_scale", "time", "length", "a", "beta", "stiffness", "mass", "mu0", "mu")
)
_SIGNED = frozenset(("gamma", "offset", "drift", "force_start"))
_MAY_VANISH = frozenset(("viscous", "sigma1", "sigma2", "growth", "b"))
# {one: other}: the coordinate of `one` is its difference from `other`, or its ratio to `other`
_EXCESS = {"mu_static": "mu_kinetic"}
_RATIO = {"gamma": "beta"}
# {field of a rig that may be fitted: unit}, and those with one value for each curve
_OF_RIGS = {"stiffness": "N/m", "mass": "kg", "force_start": "N", "offset": "N", "drift": "N/s"}
OF_CURVES = ("offset", "drift")
# lower bound of positive parameters of a law in `OF_LAWS` that are not logarithmic, mu_static,
# mu_kinetic and mu_fresh, and of 1 + gamma / beta. Chosen, below any coefficient that is measured.
# Without a measured normal force a coefficient has the size of the force; for small forces
# `Problem` gives a smaller bound
LEAST = 1e-6
# bounds of logarithms, so that exp does not overflow (at 709) and the products of two parameters
# do not either
_LARGEST_LOG = 600.0


class _Pair(NamedTuple):
    """A parameter whose coordinate is relative to a partner: the difference or the ratio.

    position : index of the parameter
    partner : index of the partner; -1 if it is not fitted
    constant : value of a partner that is not fitted
    ratio : whether the coordinate is the ratio to the partner, else the difference from it
    """

    position: int
    partner: int
    constant: float
    ratio: bool


class _UpperBound(NamedTuple):
    """Upper bound of a partner whose other parameter is given, such as mu_kinetic by mu_static."""

    position: int
    value: float


@dataclass(frozen=True)
class Parameter:
    """One number that is fitted.

    Parameters
    ----------
    name : name of the field; for a field of the rig, the name after "rig."
    unit : unit of the value
    owner : "law" for a field of the law; for a field of the rig the number of its curve, or "-1" if
        all curves share it
    low, high : bounds of the value
    start : starting value from the user; None if the user gave none
    of_scenario : whether the parameter is a field of a scenario; `name` is then its path
    of_own_law : whether the parameter is a field of a user's law, of which only `start` is known
    """

    name: str
    unit: str
    owner: str
    low: float
    high: float
    start: float | None
    of_scenario: bool = False
    of_own_law: bool = False

    @functools.cached_property
    def field(self) -> str:
        """Name of the field of the law or rig."""
        if self.of_scenario:
            return self.name
        return self.name.removeprefix("rig.").partition("[")[0]

    @functools.cached_property
    def logarithmic(self) -> bool:
        """Whether the coordinate of the search is the logarithm of the value."""
        if self.of_scenario or self.of_own_law:
            relative = self.field in _EXCESS or self.field in _RATIO
            return self.low >= 0.0 and (self.start or 0.0) > 0.0 and not relative
        return self.field in _LOGARITHMIC and self.low >= 0.0

    @property
    def may_equal_low(self) -> bool:
        """Whether the lower bound itself is an admissible value.

        A bound that the user gave for a field of a rig is one. Zero is one for the parameters in
        `_MAY_VANISH`: friction without their terms is still a law. Other parameters with the lower
        bound 0 are positive.
        """
        return self.field in _MAY_VANISH or (self.owner != "law" and self.low != 0.0)

    @property
    def signed(self) -> bool:
        """Whether the value may be negative."""
        return self.low < 0.0


def law_name(law: Law | type[Law]) -> str:
    """Return the name of the class of a law; with its module for a user's namesake of a law."""
    cls = law if isinstance(law, type) else type(law)
    own = cls.__module__.partition(".")[0] != "stiction"
    return f"{cls.__module__}.{cls.__name__}" if own and cls.__name__ in OF_LAWS else cls.__name__


def parameters_of(
    law: Law | type[Law], rig: Rig, curves: int, free: Sequence[str] | None
) -> list[Parameter]:
    """Return the parameters to be fitted, those of the law first.

    Parameters
    ----------
    law : a law whose values are the starting point, or the class of a law
    rig : the test rig; its fields that hold `Free` are parameters too
    curves : number of curves
    free : fields of the law that are fitted; None for all fields that can be fitted

    Raises
    ------
    ModelError : on fields that the law does not have, or that cannot be fitted.
    """
    own = law_name(law) not in OF_LAWS
    made = []
    for name, unit, start in _of_law(law, free):
        # a field of a user's law may be negative if its start is; zero is no start of such a field
        start = (start or None) if own else start
        signed = (start or 0.0) < 0.0 if own else name in _SIGNED
        low = -math.inf if signed else 0.0
        made.append(Parameter(name, unit, "law", low, math.inf, start, of_own_law=own))
    for field, unit in _OF_RIGS.items():
        given = getattr(rig, field, None)
        if not isinstance(given, Free):
            continue
        low = given.low if field in _SIGNED else max(given.low, 0.0)
        if not (low < given.high and (given.start is None or given.start >= low)):
            where, got = f"{type(rig).__name__}.{field}", repr(given)
            needs = f"`high` > {low:g} and, if a start is given, `start` >= {low:g}"
            why, try_ = f"in this fit {field} is at least {low:g}.", "omit `low`, `high`, `start`."
            raise ModelError(where, got, needs, why, try_)
        several = field in OF_CURVES and curves > 1
        for k in range(curves if field in OF_CURVES else 1):
            name = f"rig.{field}[{k + 1}]" if several else f"rig.{field}"
            owner = str(k) if field in OF_CURVES else "-1"
            made.append(Parameter(name, unit, owner, low, given.high, given.start))
    return made


def _of_law(
    law: Law | type[Law], free: Sequence[str] | None
) -> list[tuple[str, str, float | None]]:
    """Return (name, unit, starting value or None) of each field of a law that is fitted."""
    name, starts = law_name(law), dict[str, Any]()
    known = OF_LAWS.get(name)
    if known is None:
        cls: Any = law if isinstance(law, type) else type(law)
        if not (isinstance(cls, type) and issubclass(cls, Friction)) or cls.states:
            needs, why = (
                "one of " + ", ".join(OF_LAWS),
                "a fit can integrate the states of these laws only.",
            )
            try_ = "give one of these, or your own law without a state; " + nearest(name, OF_LAWS)
            raise ModelError("fit.law", name, needs, why, try_)
        given_class: Any = cls
        fields = dataclasses.fields(given_class)
        # a default is a starting value too; a float may be written as 1, and an int is no quantity
        values = {f.name: getattr(law, f.name, None) for f in fields if f.type not in ("int", int)}
        starts = {f: v for f, v in values.items() if isinstance(v, int | float | np.number)}
        known = {f: "SI" for f, v in starts.items() if not isinstance(v, bool)}
    chosen = list(known) if free is None else list(free)
    for field in chosen:
        if field not in known:
            needs, why = "one of " + ", ".join(known), f"only these fields of {name} can be fitted."
            raise ModelError("fit.free", repr(field), needs, why, nearest(field, known))
    if not chosen:
        needs, why = "at least one field of the law", "no parameter would be fitted."
        raise ModelError("fit.free", "none", needs, why, "leave `free` out to fit all fields.")
    for field in known if not isinstance(law, type) else ():
        starts[field] = value = getattr(law, field)
        if np.ndim(value) != 0:
            where, why = f"{name}.{field}", "a test has one contact."
            raise ModelError(where, "several numbers", "one number", why, "give one number.")
    return [(f, known[f], float(starts[f]) if starts else None) for f in known if f in chosen]


class Coordinates:
    """The coordinates of a search, and their map to the values of the parameters.

    Parameters
    ----------
    parameters : the n fitted parameters
    fixed : {field: value} of the fields of the law that are not fitted
    least : lower bound of coefficients of friction whose coordinate is no logarithm [1]

    Verified by: tests/unit/fits/test_parameters.py::test_every_point_is_a_law
    """

    def __init__(
        self, parameters: Sequence[Parameter], fixed: Mapping[str, float], least: float = LEAST
    ) -> None:
        self.least = least
        self.parameters, self.fixed = tuple(parameters), dict(fixed)
        self.size = len(self.parameters)
        names = [q.name for q in self.parameters]
        self._pairs: list[_Pair] = []
        # of mu_kinetic, if mu_static is given and not fitted
        self._largest_partner: _UpperBound | None = None
        for table, ratio in ((_EXCESS, False), (_RATIO, True)):
            for one, other in table.items():
                if one in names:
                    j = names.index(other) if other in names else -1
                    pair = _Pair(names.index(one), j, fixed.get(other, 0.0), ratio)
                    self._pairs.append(pair)
                elif other in names and not ratio and one in fixed:
                    self._largest_partner = _UpperBound(names.index(other), fixed[one])
        self._log = np.array([q.logarithmic for q in self.parameters])

    def physical(self, y: Floats, profiled: tuple[int, float] | None = None) -> Floats:
        """Return the values (n,) at coordinates `y`; `profiled` (index, value) fixes one."""
        values = np.array(y, dtype=np.float64)
        # exp overflows at 709, and its result is subnormal below -708
        values[self._log] = np.exp(np.clip(values[self._log], -690.0, 690.0))
        if profiled is not None:
            values[profiled[0]] = profiled[1]
        for i, j, constant, ratio in self._pairs:
            if profiled is not None and profiled[0] == i:
                continue
            partner = values[j] if j >= 0 else constant
            values[i] = partner * y[i] if ratio else partner + y[i]
        return values

    def derivatives(self, y: Floats, profiled: tuple[int, float] | None = None) -> Floats:
        """Return the derivatives (n, n) of values with respect to coordinates; 0 for a fixed value.

        Verified by: tests/unit/fits/test_parameters.py::test_derivatives_of_values
        """
        values = self.physical(y, profiled)
        by = np.diag(np.where(self._log, values, 1.0))
        if profiled is not None:
            by[profiled[0]] = 0.0
        for i, j, constant, ratio in self._pairs:
            if profiled is not None and profiled[0] == i:
                continue
            partner = by[j] if j >= 0 else np.zeros(self.size)
            by[i] = partner * y[i] if ratio else partner
            by[i, i] += (values[j] if j >= 0 else constant) if ratio else 1.0
        return by

    def coordinates(self, values: Floats) -> Floats:
        """Return the coordinates (n,) of values (n,), the inverse of `physical`."""
        y = np.array(values, dtype=np.float64)
        y[self._log] = np.log(np.maximum(y[self._log], 1e-300))
        for i, j, constant, ratio in self._pairs:
            partner = values[j] if j >= 0 else constant
            y[i] = values[i] / partner if ratio else max(values[i] - partner, 0.0)
        return y

    def without_weakening(self, y: Floats) -> Floats | None:
        """Return `y` with mu_static = mu_kinetic; None if mu_static is not fitted."""
        excess = [pair.position for pair in self._pairs if not pair.ratio]
        if not excess:
            return None
        made = y.copy()
        made[excess] = 0.0
        return made

    def bounds(self, profiled: tuple[int, float] | None = None) -> tuple[Floats, Floats]:
        """Return (n,) lower and upper bounds of the coordinates; `profiled` fixes one value."""
        low = np.array([q.low for q in self.parameters])
        high = np.array([q.high for q in self.parameters])
        with np.errstate(divide="ignore"):
            log_low = np.log(np.maximum(low[self._log], 0.0))
            low[self._log] = np.maximum(log_low, -_LARGEST_LOG)
            high[self._log] = np.minimum(np.log(high[self._log]), _LARGEST_LOG)
        # a coefficient of friction is positive
        positive = np.array([not q.may_equal_low for q in self.parameters])
        low[~self._log & (low == 0.0) & positive] = self.least
        for i, j, _, ratio in self._pairs:
            # Bouc-Wen: |gamma| <= beta, or a loop creates energy, and beta + gamma > 0, or z has no
            # bound; see `laws.presliding`. Otherwise mu_static >= mu_kinetic
            low[i], high[i] = (LEAST - 1.0, 1.0) if ratio else (0.0, math.inf)
            if profiled is not None and profiled[0] == i and j >= 0:
                # the value of i is fixed, so that these conditions bound its partner: beta (whose
                # coordinate is the logarithm) from below, mu_kinetic from above. The tiny numbers
                # keep the logarithm finite and the upper bound positive
                if ratio:
                    low[j] = math.log(max(abs(profiled[1]), 1e-260))
                else:
                    high[j] = max(profiled[1], 1e-300)
        if self._largest_partner is not None:
            high[self._largest_partner.position] = self._largest_partner.value
        return low, high
