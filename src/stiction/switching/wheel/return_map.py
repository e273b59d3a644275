"""The return map of the wheel's line h = g = 0, and what follows from choosing exits by a rule.

A point (r, 0, omega0) of the line has several ways out. Each leads back to the line, to the
two-fold, or elsewhere: a map of r with several values. A rule picks one of them each time;
whether all trajectories find their way back then depends on the rule.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Positive
from stiction.core.method import SharedName
from stiction.numerics.checks import MOST_SEED, numbers, whole
from stiction.switching.ensembles.study import KINDS, EnsembleResult, result_of, share_of
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.wheel.escapes import Escapes
from stiction.switching.wheel.model import WheelOnTurntable

__all__ = [
    "AlwaysSlip",
    "LineOrbits",
    "LineReturns",
    "LineWay",
    "LyapunovExponent",
    "RandomWay",
    "Rule",
    "SlideIfPossible",
    "line_orbits",
    "line_return",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_METHOD = EventDriven(rtol=1e-10)
# as for single runs: far enough for the tolerance, near enough that a ray is straight
_NEAREST, _FARTHEST = 1e-7, 1e-4
# distance of the twin whose return gives the slope of the map [m]
_TWIN = 1e-5
# a state slower than this at the end rests [scale / time unit]
_RESTS = 1e-6
_SIGNS = np.array([1.0, -1.0, 0.0, 0.0])


class LineWay(enum.Enum):
    """Ways out of the line: slip to one side, slide, or slide in the escaping region."""

    SLIP_PLUS = 0
    SLIP_MINUS = 1
    SLIDE = 2
    ESCAPE = 3


@dataclass(frozen=True, eq=False)
class LineReturns:
    """Where orbits from the line go first.

    Parameters
    ----------
    r : (N,) place of the next hit of the line [m]; NaN if it ends otherwise
    time : (N,) until then [time unit]
    end : (N,) `line`, `two_fold`, `no_way` (no such way out there), or as in an ensemble
    state : (N, 3) last state
    """

    r: Floats
    time: Floats
    end: npt.NDArray[np.str_]
    state: Floats


@dataclass(frozen=True)
class LyapunovExponent:
    """Mean of log |dr'/dr| per return, and its standard error over independent members."""

    value: float
    error: float
    returns: int


def line_return(
    wheel: WheelOnTurntable,
    r: npt.ArrayLike,
    way: LineWay,
    *,
    dwell: float = 0.0,
    side: float = 1.0,
    t_end: float = 500.0,
    method: EventDriven | SharedName = _METHOD,
    workers: int | None = None,
) -> LineReturns:
    """Return where orbits that leave the line at `r` by one way meet it again.

    Parameters
    ----------
    r : (N,) places on the line [m]
    dwell, side : for `LineWay.ESCAPE`, how long it slides before it leaves, and to which
        side; it goes on sliding where the dwell time is 0

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_returns_of_single_runs

    Examples
    --------
    >>> import stiction as st
    >>> from stiction.switching.wheel.return_map import LineWay
    >>> wheel = st.WheelOnTurntable.at_two_fold(0.1859, -1.037)
    >>> found = st.switching.line_return(wheel, [0.17], LineWay.SLIP_MINUS, workers=1)
    >>> found.end.tolist(), found.r.round(4).tolist()
    (['line'], [0.1697])
    """
    method = event_driven(wheel, method)
    wheel.only_for_the_paper_law("line_return")
    places = numbers(
        "line_return.r",
        np.atleast_1d(np.asarray(r, dtype=np.float64)),
        per="point",
        unit="m",
        why="each is a place on the line.",
        try_="for example np.linspace(0.16, 0.18, 100).",
    ).copy()
    ways = np.full(places.size, way.value, dtype=np.int64)
    leave = np.tile([np.inf, 0.0], (places.size, 1))
    if way is LineWay.ESCAPE and dwell > 0.0:
        leave[:] = dwell, side
    starts = _starts(wheel, places, ways, method)
    return _returns(wheel, starts, _SIGNS[ways], leave, t_end, method, workers)


# ---- rules


class Rule(Declared, abc.ABC):
    """Which way out is taken, given those there are."""

    @abc.abstractmethod
    def choose(self, there: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return the ways (N,) and when and where a slide is left (N, 2), inf for never.

        Parameters
        ----------
        there : (N, 4) which of the ways exist, in the order of `LineWay`
        """


@dataclass(frozen=True, eq=False, repr=False)
class AlwaysSlip(Rule):
    """Always the slip ray to h < 0."""

    def choose(self, there: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return `SLIP_MINUS` for all."""
        count = len(there)
        return np.full(count, LineWay.SLIP_MINUS.value), np.tile([np.inf, 0.0], (count, 1))


@dataclass(frozen=True, eq=False, repr=False)
class SlideIfPossible(Rule):
    """Slide where that is possible, otherwise the slip ray to h < 0."""

    def choose(self, there: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return `SLIDE` or `SLIP_MINUS`."""
        slide = there[:, LineWay.SLIDE.value]
        ways = np.where(slide, LineWay.SLIDE.value, LineWay.SLIP_MINUS.value)
        return ways, np.tile([np.inf, 0.0], (len(there), 1))


@dataclass(frozen=True, eq=False, repr=False)
class RandomWay(Rule):
    """Any of the ways there are, all as likely; an escaping slide ends at a constant hazard.

    Parameters
    ----------
    hazard : rate at which a slide in the escaping region ends [1 / time unit], > 0
    """

    hazard: Annotated[float, Positive("", "it is a rate.", "1.0 for a mean time of one.")] = 1.0

    def choose(self, there: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return random ways, and times and sides for those that escape."""
        luck = np.where(there, rng.random(there.shape), -1.0)
        ways = np.argmax(luck, axis=1)
        dwell = rng.exponential(1.0 / self.hazard, len(there))
        side = np.where(rng.random(len(there)) < 0.5, 1.0, -1.0)
        escapes = ways == LineWay.ESCAPE.value
        return ways, np.column_stack([np.where(escapes, dwell, np.inf), side])


# ---- orbits of the map


@dataclass(frozen=True, eq=False)
class LineOrbits:
    """Orbits of the return map under a rule.

    Parameters
    ----------
    r : (returns + 1, N) places on the line [m], NaN at the two-fold and after the end
    slope : (returns, N) dr'/dr, NaN where there is none
    fate : (N,) `line` (all returns were made), `two_fold`, `rest`, `undecided`, `elsewhere`
    two_folds : (N,) how often the two-fold was reached
    drifted : (N,) whether it came to a place where no open set of orbits enters the line
    time : (N,) that passed until the end [time unit]
    """

    r: Floats
    slope: Floats
    fate: npt.NDArray[np.str_]
    two_folds: Ints
    drifted: Flags
    time: Floats

    def share(self, fate: str) -> tuple[float, float]:
        """Return the share of members with a fate, and its standard error."""
        return share_of(self.fate == fate)

    @property
    def met_two_fold(self) -> tuple[float, float]:
        """Share of members that reached the two-fold at all, and its standard error."""
        return share_of(self.two_folds > 0)

    def lyapunov(self) -> LyapunovExponent:
        """Return the mean log slope per return; its error counts members, not returns.

        Verified by: tests/unit/switching/wheel/test_return_map.py::test_slopes
        """
        logs = np.log(np.abs(self.slope))
        good = np.isfinite(logs)
        count, total = good.sum(axis=0), np.where(good, logs, 0.0).sum(axis=0)
        n = int((count > 0).sum())
        if n < 2:
            return LyapunovExponent(float("nan"), float("nan"), int(count.sum()))
        mean = float(total.sum() / count.sum())
        # a ratio of two sums over members
        scatter = total - mean * count
        error = float(np.sqrt((scatter**2).sum() * n / (n - 1)) / count.sum())
        return LyapunovExponent(mean, error, int(count.sum()))


def line_orbits(
    wheel: WheelOnTurntable,
    r: npt.ArrayLike,
    rule: Rule,
    returns: int,
    *,
    funnel: Escapes | None = None,
    seed: int = 0,
    slopes: bool = True,
    method: EventDriven | SharedName = _METHOD,
) -> LineOrbits:
    """Return orbits of the return map that begin at the places `r` of the line.

    Parameters
    ----------
    r : (N,) places [m]
    rule : which way out is taken each time
    returns : how often, at most
    funnel : exits behind the two-fold, drawn evenly; an orbit ends there when left out
    seed : of the random choices
    slopes : whether a twin of each orbit gives the slope of the map, which doubles the work

    Verified by: tests/unit/switching/wheel/test_return_map.py::test_rules_and_fates

    Examples
    --------
    >>> import stiction as st
    >>> from stiction.switching.wheel.return_map import AlwaysSlip
    >>> wheel = st.WheelOnTurntable.at_two_fold(0.1859, -1.037)
    >>> found = st.switching.line_orbits(wheel, [0.17], AlwaysSlip(), 1, slopes=False)
    >>> found.fate.tolist(), found.r[:, 0].round(4).tolist()
    (['line'], [0.17, 0.1697])
    """
    method = event_driven(wheel, method)
    wheel.only_for_the_paper_law("line_orbits")
    why = "it makes draws repeatable."
    whole("line_orbits.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 0.")
    why, each = "it counts returns.", 64.0 * max(np.size(r), 1)
    whole("line_orbits.returns", returns, least=1, each=each, why=why, try_="20.")
    why, try_ = "each is a place on the line.", "for example np.linspace(0.16, 0.18, 100)."
    places = numbers(
        "line_orbits.r", np.atleast_1d(r), per="orbit", unit="m", why=why, try_=try_
    ).copy()
    return _Orbits(wheel, places, rule, funnel, np.random.default_rng(seed), method).run(
        returns, slopes
    )


class _Orbits:
    """The state of all orbits between two returns."""

    def __init__(
        self,
        wheel: WheelOnTurntable,
        r: Floats,
        rule: Rule,
        funnel: Escapes | None,
        rng: np.random.Generator,
        method: EventDriven,
    ) -> None:
        self.wheel, self.rule, self.funnel = wheel, rule, funnel
        self.rng, self.method = rng, method
        self.r = r
        self.fate = np.full(r.size, "line", dtype="<U12")
        self.two_folds = np.zeros(r.size, dtype=np.int64)
        self.drifted = ~_entered(wheel, r)
        self.time = np.zeros(r.size)

    def run(self, returns: int, slopes: bool) -> LineOrbits:
        places, slope = [self.r.copy()], []
        for _ in range(returns):
            slope.append(self._step(slopes))
            places.append(self.r.copy())
        at_line = np.array(places), np.array(slope)
        return LineOrbits(*at_line, self.fate, self.two_folds, self.drifted, self.time)

    def _step(self, slopes: bool) -> Floats:
        """Make one return of every orbit that still goes on; return the slopes."""
        slope = np.full(self.r.size, np.nan)
        on = np.flatnonzero(self.fate == "line")
        at = np.flatnonzero(self.fate == "two_fold") if self.funnel is not None else on[:0]
        if not on.size + at.size:
            return slope
        r = self.r[on]
        every = np.array(
            [_starts(self.wheel, r, np.full(r.size, w), self.method) for w in range(len(LineWay))]
        )
        there = np.isfinite(every[:, :, 0].T)
        ways, leave = self.rule.choose(there, self.rng)
        ways = ways.astype(np.int64)
        begin = [every[ways, np.arange(r.size)]]
        signs, dwell = [_SIGNS[ways]], [leave]
        if slopes:
            begin.append(_starts(self.wheel, r + _TWIN, ways, self.method))
            signs, dwell = signs * 2, dwell * 2
        if at.size and self.funnel is not None:
            x, side, spent = self.funnel.draw(at.size, self.rng)
            begin.append(np.column_stack([x, spent]))
            signs.append(side)
            dwell.append(np.tile([np.inf, 0.0], (at.size, 1)))
        found = _returns(
            self.wheel,
            np.concatenate(begin),
            np.concatenate(signs),
            np.concatenate(dwell),
            500.0,
            self.method,
            None,
        )
        if slopes:
            twin = found.r[on.size : 2 * on.size]
            slope[on] = (twin - found.r[: on.size]) / _TWIN
        rows = np.concatenate([np.arange(on.size), len(found.r) - at.size + np.arange(at.size)])
        self._settle(np.concatenate([on, at]), found, rows)
        return slope

    def _settle(self, members: Ints, found: LineReturns, rows: Ints) -> None:
        end = found.end[rows]
        self.r[members] = found.r[rows]
        self.time[members] += np.where(np.isfinite(found.time[rows]), found.time[rows], 0.0)
        known = np.isin(end, ("line", "two_fold", "rest", "undecided"))
        self.fate[members] = np.where(known, end, "elsewhere")
        self.two_folds[members] += end == "two_fold"
        line = end == "line"
        self.drifted[members[line]] |= ~_entered(self.wheel, found.r[rows][line])


# ---- kernels


def _starts(wheel: WheelOnTurntable, r: Floats, ways: Ints, method: EventDriven) -> Floats:
    """Return (N, 4) states next to the line and the time to them, NaN for no such way."""
    from stiction.switching.wheel.return_kernels import line_starts

    share = min(max(_NEAREST, 1e3 * method.rtol), _FARTHEST)
    out = np.empty((r.size, 4))
    far = share * float(np.max(wheel.compiled.scale))
    line_starts(r.copy(), ways.astype(np.int64), wheel.params, far, out)
    return out


def _entered(wheel: WheelOnTurntable, r: Floats) -> Flags:
    from stiction.switching.wheel.return_kernels import line_entered

    out = np.empty(r.size, dtype=np.bool_)
    line_entered(r.copy(), wheel.params, out)
    return out


def _returns(
    wheel: WheelOnTurntable,
    starts: Floats,
    signs: Floats,
    dwell: Floats,
    t_end: float,
    method: EventDriven,
    workers: int | None,
) -> LineReturns:
    """Follow starts (N, 4) to the line or to where they end; NaN rows are no starts."""
    from stiction.switching.ensembles.blocks import Task, run_task

    good = np.isfinite(starts).all(axis=1)
    count = len(starts)
    r, time = np.full(count, np.nan), np.full(count, np.nan)
    end = np.full(count, "no_way", dtype="<U16")
    state = np.full((count, 3), np.nan)
    if not good.any():
        return LineReturns(r, time, end, state)
    task = Task(
        system=wheel,
        x=starts[good, :3].copy(),
        sides=signs[good].reshape(-1, 1).copy(),
        dwell=dwell[good].copy(),
        t_end=t_end,
        method=dataclasses.replace(method, policy=None),
        stop=np.zeros(len(KINDS), dtype=np.int64),
    )
    found = result_of(*run_task(task, workers))
    time[good] = found.time + starts[good, 3]
    state[good] = found.state
    end[good] = _words(wheel, found)
    r = np.where(end == "line", state[:, 0], np.nan)
    return LineReturns(r, time, end, state)


def _words(wheel: WheelOnTurntable, found: EnsembleResult) -> npt.NDArray[np.str_]:
    """Return how each trajectory ended; `line` is the branch v = 0, omega = omega0."""
    end = found.end.astype("<U16")
    hit = found.ended("codim2_line")
    here = np.abs(found.state[:, 2] - wheel.omega0) <= 1e-6
    end[hit & here] = "line"
    end[hit & ~here] = "other_line"
    end[found.ended("time") & (found.speed <= _RESTS)] = "rest"
    return end
