"""The set-valued return map of the line h = g = 0 of the wheel, and its orbits under a rule.

A point (r, 0, omega0) of the line has several exit directions. Each orbit leads back to the line,
to the two-fold, or elsewhere, so that the first-return map r -> r' has several values. A rule
selects one exit direction at each return; whether all orbits return depends on the rule. The orbits
are integrated as ensembles from initial states next to the line (`return_kernels`). A state is
(r [m], v [m/s], omega [rad/s]); h and g are the lateral and the rolling velocity of the wheel.
`line_return` computes one return, `line_orbits` many returns under a rule.

Source: formulas sheet, section 7.
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
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED, number, numbers, whole
from stiction.switching.ensembles.study import KINDS, EnsembleResult, result_of, share_of
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.wheel.escapes import Escapes
from stiction.switching.wheel.model import WheelOnTurntable

__all__ = [
    "AlwaysSlip",
    "LineExit",
    "LineOrbits",
    "LineReturns",
    "LyapunovExponent",
    "RandomExit",
    "Rule",
    "SlideIfPossible",
    "line_orbits",
    "line_return",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_METHOD = EventDriven(rtol=1e-10)
# initial distance from the line: above the tolerance, small enough that a ray is straight
_NEAREST, _FARTHEST = 1e-7, 1e-4
# distance of a second orbit whose return gives the slope of the map by a difference [m]
_APART = 1e-5
# largest time until a return in `line_orbits` [time unit]
_LONGEST = 500.0
# largest speed of a final state that counts as an equilibrium [scale / time unit]
_SPEED_AT_REST = 1e-6
# signs of h for each `LineExit`, 0 in sliding
_SIGNS = np.array([1.0, -1.0, 0.0, 0.0])


class LineExit(enum.Enum):
    """Exit directions of the line: slip to one side, slide, or slide in the escaping region."""

    SLIP_PLUS = 0
    SLIP_MINUS = 1
    SLIDE = 2
    ESCAPE = 3


@dataclass(frozen=True, eq=False)
class LineReturns:
    """First returns of orbits from the line.

    Parameters
    ----------
    r : (N,) position of the next arrival at the line [m]; NaN for an orbit that ends otherwise
    time : (N,) time until the end [time unit]
    end : (N,) `line`, `two_fold`, `no_exit` (no such exit direction), `rest` (equilibrium),
        `other_line` (the branch r = 0 of the line), or an end of `ensemble`
    state : (N, 3) last state
    """

    r: Floats
    time: Floats
    end: npt.NDArray[np.str_]
    state: Floats


@dataclass(frozen=True)
class LyapunovExponent:
    """Mean of log |dr'/dr| per return, its standard error over orbits, and number of returns."""

    value: float
    error: float
    returns: int


def line_return(
    wheel: WheelOnTurntable,
    r: npt.ArrayLike,
    direction: LineExit,
    *,
    dwell: float = 0.0,
    side: float = 1.0,
    t_end: float = 500.0,
    method: EventDriven | SharedName = _METHOD,
    workers: int | None = None,
) -> LineReturns:
    """Return the next arrivals at the line of orbits that leave it at `r` in one exit direction.

    Parameters
    ----------
    r : (N,) positions on the line [m]
    direction : exit direction of all orbits
    dwell, side : for `LineExit.ESCAPE`, time of sliding before the orbit leaves the surface, and
        the side; with a dwell time of 0 it does not leave
    t_end : largest time until the return [time unit]

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_returns_of_single_runs

    Examples
    --------
    >>> import stiction as st
    >>> from stiction.switching.wheel.return_map import LineExit
    >>> wheel = st.WheelOnTurntable.at_two_fold(0.1859, -1.037)
    >>> found = st.switching.line_return(wheel, [0.17], LineExit.SLIP_MINUS, workers=1)
    >>> found.end.tolist(), found.r.round(4).tolist()
    (['line'], [0.1697])
    """
    method = event_driven(wheel, method)
    wheel.only_for_the_paper_law("line_return")
    given: object = direction
    if not isinstance(given, LineExit):
        needs = "one of " + ", ".join(map(str, LineExit))
        why, try_ = "all orbits leave the line in this direction.", "give LineExit.SLIP_MINUS."
        raise ModelError("line_return.direction", repr(direction), needs, why, try_)
    why, try_ = "an orbit must return before this time.", "give 500."
    number("line_return.t_end", t_end, rule="positive", why=why, try_=try_)
    why, try_ = "an orbit slides for this time before it escapes.", "give 0.0."
    number("line_return.dwell", dwell, rule="nonnegative", why=why, try_=try_)
    if side not in (1.0, -1.0):
        why = "an escape ends on one side of h = 0."
        raise ModelError("line_return.side", repr(side), "1 or -1", why, "give 1.0.")
    points = numbers(
        "line_return.r",
        np.atleast_1d(r),
        per="point",
        unit="m",
        why="each number is a position r on the line.",
        try_="for example np.linspace(0.16, 0.18, 100).",
    ).copy()
    exits = np.full(points.size, direction.value, dtype=np.int64)
    leave = np.tile([np.inf, 0.0], (points.size, 1))
    if direction is LineExit.ESCAPE and dwell > 0.0:
        leave[:] = dwell, side
    starts = _starts(wheel, points, exits, method)
    return _returns(wheel, starts, _SIGNS[exits], leave, t_end, method, workers)


# ---- rules


class Rule(Declared, abc.ABC):
    """The choice among the exit directions of a point."""

    @abc.abstractmethod
    def choose(self, existing: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return exit directions (N,), and (N, 2) the time and the side at which sliding ends.

        The time is inf for a slide that does not end by this rule.

        Parameters
        ----------
        existing : (N, 4) which exit directions exist, in the order of `LineExit`
        """


@dataclass(frozen=True, eq=False, repr=False)
class AlwaysSlip(Rule):
    """Always the slip ray to h < 0."""

    def choose(self, existing: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return `SLIP_MINUS` for all."""
        count = len(existing)
        return np.full(count, LineExit.SLIP_MINUS.value), np.tile([np.inf, 0.0], (count, 1))


@dataclass(frozen=True, eq=False, repr=False)
class SlideIfPossible(Rule):
    """Slide where that is possible, otherwise the slip ray to h < 0."""

    def choose(self, existing: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return `SLIDE` or `SLIP_MINUS`."""
        slide = existing[:, LineExit.SLIDE.value]
        exits = np.where(slide, LineExit.SLIDE.value, LineExit.SLIP_MINUS.value)
        return exits, np.tile([np.inf, 0.0], (len(existing), 1))


@dataclass(frozen=True, eq=False, repr=False)
class RandomExit(Rule):
    """Any exit direction with equal probability; sliding in the escaping region ends at random.

    Parameters
    ----------
    hazard : rate at which a slide in the escaping region ends [1 / time unit], > 0
    """

    hazard: Annotated[
        float,
        Positive(
            "",
            "a slide in the escaping region ends at this rate.",
            "give 1.0 for a mean time of one.",
        ),
    ] = 1.0

    def choose(self, existing: Flags, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return random exit directions, and times and sides for those that escape."""
        draws = np.where(existing, rng.random(existing.shape), -1.0)
        exits = np.argmax(draws, axis=1)
        dwell = rng.exponential(1.0 / self.hazard, len(existing))
        side = np.where(rng.random(len(existing)) < 0.5, 1.0, -1.0)
        escapes = exits == LineExit.ESCAPE.value
        return exits, np.column_stack([np.where(escapes, dwell, np.inf), side])


# ---- orbits of the map


@dataclass(frozen=True, eq=False)
class LineOrbits:
    """Orbits of the return map under a rule.

    Parameters
    ----------
    r : (returns + 1, N) positions on the line [m], NaN at the two-fold and after the end
    slope : (returns, N) slope dr'/dr of the map, NaN where it is undefined
    fate : (N,) end of each orbit: `line` (all returns were computed), `two_fold`, `rest`
        (equilibrium), `undecided` (two solutions within the error), `elsewhere`
    two_folds : (N,) number of arrivals at the two-fold
    drifted : (N,) whether the orbit reached a point of the line that no open set of orbits enters
    time : (N,) time until the end [time unit]
    """

    r: Floats
    slope: Floats
    fate: npt.NDArray[np.str_]
    two_folds: Ints
    drifted: Flags
    time: Floats

    def share(self, fate: str) -> tuple[float, float]:
        """Return the fraction of members with a fate, and its standard error."""
        return share_of(self.fate == fate)

    @property
    def met_two_fold(self) -> tuple[float, float]:
        """Fraction of members that reached the two-fold, and its standard error."""
        return share_of(self.two_folds > 0)

    def lyapunov(self) -> LyapunovExponent:
        """Return the mean of log |slope| per return; its error treats orbits as independent.

        Verified by: tests/unit/switching/wheel/test_return_map.py::test_slopes
        """
        logs = np.log(np.abs(self.slope))
        valid = np.isfinite(logs)
        count, total = valid.sum(axis=0), np.where(valid, logs, 0.0).sum(axis=0)
        n = int((count > 0).sum())
        if n < 2:
            return LyapunovExponent(float("nan"), float("nan"), int(count.sum()))
        mean = float(total.sum() / count.sum())
        # standard error of a ratio of two sums over orbits
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
    """Return orbits of the return map that begin at positions `r` of the line.

    Parameters
    ----------
    r : (N,) positions [m]
    rule : selects an exit direction at each return
    returns : largest number of returns
    funnel : exits after the two-fold, drawn uniformly; by default orbits end at the two-fold
    seed : seed of the random choices
    slopes : whether to compute the slope of the map from a second orbit at a small distance, which
        doubles the work

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
    given: object = rule
    if not isinstance(given, Rule):
        why = "the rule selects an exit direction at each return."
        try_ = f"give AlwaysSlip() of {__name__}."
        raise ModelError("line_orbits.rule", repr(rule), "a Rule", why, try_)
    why = "the same seed repeats the random choices."
    whole("line_orbits.seed", seed, least=0, most=MOST_SEED, why=why, try_="give 0.")
    why, each = "orbits are followed over this many returns.", 64.0 * max(np.size(r), 1)
    whole("line_orbits.returns", returns, least=1, each=each, why=why, try_="20.")
    why, try_ = (
        "each number is a position r on the line.",
        "for example np.linspace(0.16, 0.18, 100).",
    )
    points = numbers(
        "line_orbits.r", np.atleast_1d(r), per="orbit", unit="m", why=why, try_=try_
    ).copy()
    return _Orbits(wheel, points, rule, funnel, np.random.default_rng(seed), method).run(
        returns, slopes
    )


class _Orbits:
    """The state of all orbits between two returns.

    Attributes
    ----------
    r : (N,) last position on the line [m], NaN elsewhere
    fate, two_folds, drifted, time : (N,) as in `LineOrbits`, up to now
    """

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
        """Return all orbits after `returns` returns; `slopes` asks for derivatives of the map."""
        points, slope = [self.r.copy()], []
        for _ in range(returns):
            slope.append(self._step(slopes))
            points.append(self.r.copy())
        at_line = np.array(points), np.array(slope)
        return LineOrbits(*at_line, self.fate, self.two_folds, self.drifted, self.time)

    def _step(self, slopes: bool) -> Floats:
        """Compute one return of every orbit that has not ended; return the slopes."""
        slope = np.full(self.r.size, np.nan)
        # numbers of the orbits on the line, and of those at the two-fold
        on = np.flatnonzero(self.fate == "line")
        at = np.flatnonzero(self.fate == "two_fold") if self.funnel is not None else on[:0]
        if not on.size + at.size:
            return slope
        r = self.r[on]
        # (4, N, 4) starts in every exit direction, as `_starts` returns them; NaN for none
        every = np.array(
            [_starts(self.wheel, r, np.full(r.size, w), self.method) for w in range(len(LineExit))]
        )
        existing = np.isfinite(every[:, :, 0].T)
        exits, leave = self.rule.choose(existing, self.rng)
        exits = exits.astype(np.int64)
        begin = [every[exits, np.arange(r.size)]]
        signs, dwell = [_SIGNS[exits]], [leave]
        if slopes:
            # the second orbit of each pair
            begin.append(_starts(self.wheel, r + _APART, exits, self.method))
            signs, dwell = signs * 2, dwell * 2
        if at.size and self.funnel is not None:
            x, side, spent = self.funnel.draw(at.size, self.rng)
            begin.append(np.column_stack([x, spent]))
            signs.append(side)
            dwell.append(np.tile([np.inf, 0.0], (at.size, 1)))
        result = _returns(
            self.wheel,
            np.concatenate(begin),
            np.concatenate(signs),
            np.concatenate(dwell),
            _LONGEST,
            self.method,
            None,
        )
        if slopes:
            second = result.r[on.size : 2 * on.size]
            slope[on] = (second - result.r[: on.size]) / _APART
        # rows of the result without those of the second orbits
        positions = np.concatenate(
            [np.arange(on.size), len(result.r) - at.size + np.arange(at.size)]
        )
        self._record_returns(np.concatenate([on, at]), result, positions)
        return slope

    def _record_returns(self, members: Ints, result: LineReturns, positions: Ints) -> None:
        """Update orbits `members` by the rows `positions` of the result."""
        end = result.end[positions]
        self.r[members] = result.r[positions]
        self.time[members] += np.where(
            np.isfinite(result.time[positions]), result.time[positions], 0.0
        )
        known = np.isin(end, ("line", "two_fold", "rest", "undecided"))
        self.fate[members] = np.where(known, end, "elsewhere")
        self.two_folds[members] += end == "two_fold"
        line = end == "line"
        self.drifted[members[line]] |= ~_entered(self.wheel, result.r[positions][line])


# ---- kernels


def _starts(wheel: WheelOnTurntable, r: Floats, exits: Ints, method: EventDriven) -> Floats:
    """Return (N, 4) states r, v, omega next to the line, and the time from the line to them.

    Rows are NaN where there is no such exit direction.

    Parameters
    ----------
    exits : (N,) values of `LineExit`
    """
    from stiction.switching.wheel.return_kernels import line_starts

    fraction = min(max(_NEAREST, 1e3 * method.rtol), _FARTHEST)
    out = np.empty((r.size, 4))
    distance = fraction * float(np.max(wheel.compiled.scale))
    line_starts(r.copy(), exits.astype(np.int64), wheel.params, distance, out)
    # both branches of the line intersect at r = 0, where h and g determine no direction
    out[np.abs(r) <= distance] = np.nan
    return out


def _entered(wheel: WheelOnTurntable, r: Floats) -> Flags:
    """Return (N,) whether an open set of orbits enters the line at each position."""
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
    """Integrate from starts until the line or another end.

    Parameters
    ----------
    starts : (N, 4) states and times of `_starts`; NaN rows have no start
    signs : (N,) signs of h at the starts, 0 in sliding
    dwell : (N, 2) time at which sliding ends, inf for never, and the side
    """
    from stiction.switching.ensembles.blocks import Task, run_task

    valid = np.isfinite(starts).all(axis=1)
    count = len(starts)
    r, time = np.full(count, np.nan), np.full(count, np.nan)
    end = np.full(count, "no_exit", dtype="<U16")
    state = np.full((count, 3), np.nan)
    if not valid.any():
        return LineReturns(r, time, end, state)
    task = Task(
        system=wheel,
        x=starts[valid, :3].copy(),
        sides=signs[valid].reshape(-1, 1).copy(),
        dwell=dwell[valid].copy(),
        t_end=t_end,
        method=dataclasses.replace(method, policy=None),
        stop=np.zeros(len(KINDS), dtype=np.int64),
    )
    result = result_of(*run_task(task, workers))
    time[valid] = result.time + starts[valid, 3]
    state[valid] = result.state
    end[valid] = _kinds_of_end(wheel, result)
    r = np.where(end == "line", state[:, 0], np.nan)
    return LineReturns(r, time, end, state)


def _kinds_of_end(wheel: WheelOnTurntable, result: EnsembleResult) -> npt.NDArray[np.str_]:
    """Return the kind of end of each orbit; `line` is the branch v = 0, omega = omega0."""
    end = result.end.astype("<U16")
    hit = result.ended("codim2_line")
    on_branch = np.abs(result.state[:, 2] - wheel.omega0) <= 1e-6
    end[hit & on_branch] = "line"
    end[hit & ~on_branch] = "other_line"
    end[result.ended("time") & (result.speed <= _SPEED_AT_REST)] = "rest"
    return end
