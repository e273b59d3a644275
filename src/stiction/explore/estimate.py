"""Estimates of the solve time of a changed scenario, scaled from a measured similar one.

The time is that of a scenario with the same system and method, times

    (time span ratio) (ratio of the numbers of parts)^2 (ratio of the numbers of steps),

plus the time of its report. `session` shows the estimate and refuses runs that are too large.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stiction.errors import ModelError
from stiction.io.scenario.built_in import built_in, seconds
from stiction.io.scenario.listing import duration
from stiction.io.scenario.source import Table

__all__ = ["LIVE_S", "MOST_BYTES", "MOST_S", "Estimate", "Known", "estimate", "known_of"]

# a run that takes less time starts at every move of a slider
LIVE_S = 0.2
# a longer run is refused: it should run in a terminal
MOST_S = 600.0
MOST_BYTES = 2 << 30
# time of a process that only loads the package; it is part of the measured times
_START_S = 0.7
_LEAST_S = 0.02
# default number of saved times
_SAVES = 1001
# numbers saved at each time: for each part of a system, and for the whole
_COLUMNS, _BESIDE = 12, 32
# bound of the counted number of parts
_MOST = 1e15
# fields of a method to which the work is inversely proportional, and proportional
_INVERSE = re.compile(r"^(step|dt|part)$")
_WORK = re.compile(r"^(steps|corners)$")
# integers that select a variant or a part of a system and do not change its size
_NO_SIZE = re.compile(r"seed|mode_number|order|^(first|second)$")


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a run.

    Parameters
    ----------
    seconds : processor time; None if no similar scenario was timed
    bytes : of saved states
    measured : whether it is scaled from a run on this machine
    """

    seconds: float | None
    bytes: float
    measured: bool = False

    @property
    def live(self) -> bool:
        """Whether it may run at every move of a slider."""
        return self.measured and self.seconds is not None and self.seconds <= LIVE_S

    @property
    def at_once(self) -> bool:
        """Whether it may run as soon as its scenario is chosen."""
        return self.seconds is not None and self.seconds <= 5.0

    @property
    def too_large(self) -> bool:
        """Whether a page refuses it."""
        return (self.seconds or 0.0) > MOST_S or self.bytes > MOST_BYTES

    def __str__(self) -> str:
        """Return the estimate in a few words."""
        if self.bytes > MOST_BYTES:
            return f"about {_size(self.bytes)} of saved states"
        if self.seconds is None:
            return "the run time is not known"
        if self.seconds < 0.095:
            return "less than 0.1 s"
        return f"about {_duration(self.seconds)}"

    def check(self) -> None:
        """Refuse a run that is too large for a page.

        Raises
        ------
        ModelError : with the estimate.

        Verified by: tests/unit/explore/test_estimate.py::test_oversized_runs_are_refused
        """
        if not self.too_large:
            return
        needs = f"at most about {_duration(MOST_S)} and {_size(MOST_BYTES)} of saved states"
        why = "a page waits for its runs and stores their saved states in memory."
        try_ = (
            "a shorter solve.t_end, longer steps, fewer parts; or save the scenario as TOML and "
            "run the file "
        )
        try_ += "by `stiction run FILE.toml` in a terminal."
        raise ModelError("run", f"a run of {self}", needs, why, try_)


@dataclass(frozen=True)
class Known:
    """A scenario with a measured time.

    Parameters
    ----------
    table : its TOML table as plain values
    seconds : time of the solve [s]
    measured : whether it was measured on this machine
    fixed : time of its report and its figures, independent of its size [s]
    """

    table: Mapping[str, Any]
    seconds: float
    measured: bool = False
    fixed: float = 0.0


def estimate(table: Table, known: Sequence[Known]) -> Estimate:
    """Estimate the cost of a scenario from measured ones of the same system and method.

    Work is taken as proportional to the time span, to the square of the number of parts, and to the
    number of steps. The effect of other numbers is not known before a run.

    Parameters
    ----------
    table : the scenario
    known : scenarios with known times, the last measured one first

    Verified by: tests/unit/explore/test_estimate.py::test_work_grows_with_what_makes_it
    """
    similar = [one for one in known if _kinds(one.table) == _kinds(table)]
    near = min(similar, key=lambda one: abs(math.log(_growth(table, one.table))), default=None)
    measured = next((one for one in similar if one.measured), None)
    base = measured or near
    size = 8.0 * _saves(table) * (_COLUMNS * _parts(table) + _BESIDE)
    if base is None:
        # no similar scenario was timed: only a very large one is refused
        grown = max(1.0, _parts(table) / 1e4) * max(1.0, _counts(table) / 1e5)
        return Estimate(None if grown <= 1.0 else MOST_S * grown, size)
    grown = base.seconds * _growth(table, base.table) + base.fixed
    return Estimate(grown, size, base.measured)


@functools.cache
def known_of(name: str = "") -> tuple[Known, ...]:
    """Return the built-in scenarios with a known time, the one called `name` first."""
    timed = []
    for key, path in built_in().items():
        if key in seconds():
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            timed.append((key != name, Known(table, max(_LEAST_S, seconds()[key] - _START_S))))
    return tuple(one for _, one in sorted(timed, key=lambda pair: pair[0]))


def _kinds(table: Mapping[str, Any]) -> tuple[object, object]:
    """Return the names of the classes of system and method, None if a table has none."""
    return _part(table, "system").get("type"), _part(table, "method").get("type")


def _part(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = table.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _growth(table: Mapping[str, Any], base: Mapping[str, Any]) -> float:
    """Return the work of a scenario as a multiple of that of `base`."""
    grown = _ratio(_span(table), _span(base)) * _ratio(_parts(table), _parts(base)) ** 2
    mine, its = _part(table, "method"), _part(base, "method")
    for name, value in mine.items():
        old = its.get(name)
        if _is_number(value) and _is_number(old):
            if _INVERSE.match(name):
                grown *= _ratio(_float(old), _float(value))
            elif _WORK.match(name):
                grown *= _ratio(_float(value), _float(old))
    return min(max(grown, 1e-12), 1e30)


def _ratio(new: float, old: float) -> float:
    return new / old if new > 0.0 and old > 0.0 else 1.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _float(value: Any) -> float:
    """Return a number as a float; integers beyond the range of floats are clipped."""
    return float(max(min(value, 10**30), -(10**30)))


def _span(table: Mapping[str, Any]) -> float:
    """Return the time span t_end - t_start of a scenario; 0 if it has none."""
    solve = _part(table, "solve")
    times = [solve.get("t_start", 0.0), solve.get("t_end")]
    if not all(isinstance(time, int | float) for time in times):
        return 0.0
    start, end = map(_float, times)
    return end - start if end > start else 0.0


def _saves(table: Mapping[str, Any]) -> float:
    save = _part(table, "solve").get("save", _SAVES)
    return float(len(save)) if isinstance(save, list) else _float(save) if _is_number(save) else 0.0


def _parts(table: Mapping[str, Any]) -> float:
    """Return about how many parts a system has: its counts multiplied, or its longest list."""
    return max(1.0, min(_counts(table), _MOST))


def _counts(table: Mapping[str, Any]) -> float:
    """Return the product of the counts in a system, or the length of its longest list."""
    product, longest = 1.0, 1.0
    for name, value in _leaves(_part(table, "system")):
        if isinstance(value, list):
            longest = max(longest, float(len(value)))
            # cells = [60, 2] counts in two directions
            if value and all(isinstance(v, int) and v > 0 for v in value):
                product *= math.prod(_float(v) for v in value)
        elif isinstance(value, int) and value > 1 and not _NO_SIZE.search(name):
            product = min(product * _float(value), _MOST)
    return max(product, longest)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield (name of the key, value) of all values in nested tables, without booleans."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, str(key))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for inner in value:
            yield from _leaves(inner, name)
    elif not isinstance(value, bool):
        yield name, value


def _duration(value: float) -> str:
    if value < 5400.0:
        return duration(value)
    if value < 172_800.0:
        return f"{value / 3600.0:.0f} h"
    return f"{value / 86400.0:.3g} days"


def _size(value: float) -> str:
    return f"{value / 2**30:.3g} GiB" if value >= 2**30 else f"{value / 2**20:.3g} MiB"
