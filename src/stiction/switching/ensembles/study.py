"""Ensembles: many initial states of one flow, with statistics of their ends, times and events.

`ensemble` integrates all starts without a policy: a trajectory ends where its future is not unique.
`EnsembleResult` has the ends, `Occupation` a grid of residence times. `blocks` runs the kernels.
There are N starts of a flow of n states and m surfaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Positive
from stiction.core.method import SharedName
from stiction.errors import ModelError
from stiction.numerics.checks import cores_of_process, fits, number, whole
from stiction.switching.ensembles.blocks import Task, run_task
from stiction.switching.ensembles.state import Ends
from stiction.switching.flow.records import KINDS
from stiction.switching.methods import EventDriven, event_driven
from stiction.switching.model import SwitchingSystem

__all__ = ["ENDS", "KINDS", "Ending", "EnsembleResult", "Occupation", "ensemble", "share_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# names of the codes of `flow.records` and `kernels`, by their number; then come kinds of events
ENDS = (
    "time",
    "work_limit",
    "work_limit",
    "two_fold",
    "codim2_line",
    "accumulation",
    "stalled",
    "not_finite",
    "no_exit",
    "fold",
    "intersection",
    "undecided",
    "escaping_start",
    "no_start",
)
ENDED_ALWAYS = ("two_fold", "codim2_line")
DEFAULT = EventDriven(rtol=1e-8)


_END = Finite(
    "",
    "low and high are the ends of the grid.",
    "for example low=(0.0, -1.2), high=(0.4, -0.8).",
    per="axis",
    size=2,
)
_INTERVAL = Positive(
    "",
    "the state is sampled at this interval of time.",
    "give a tenth of the time that a trajectory needs to pass through a cell.",
)


@dataclass(frozen=True, eq=False, repr=False)
class Occupation(Declared):
    """A grid over two states; an ensemble adds the time that its trajectories spend in each cell.

    Parameters
    ----------
    axes : the two states, by name or by index from 0
    low, high : lower and upper ends of the grid for both states [state units]
    bins : number of cells along each axis
    interval : time between two samples of the state [time unit]
    """

    axes: tuple[str | int, str | int]
    low: Annotated[Sequence[float], _END]
    high: Annotated[Sequence[float], _END]
    bins: tuple[int, int] = (100, 100)
    interval: Annotated[float, _INTERVAL] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, tuple(float(end) for end in getattr(self, name)))
        for low, high in zip(self.low, self.high, strict=True):
            if not low < high:
                raise ModelError(
                    "Occupation.high", repr(high), f"more than low = {low!r}", _END.why, _END.try_
                )
        for name in ("axes", "bins"):
            pair = getattr(self, name)
            if isinstance(pair, np.ndarray):
                object.__setattr__(self, name, pair.tolist())
        counts: Any = self.bins
        for name, pair, why in (
            ("axes", self.axes, "the axes of the grid are two states."),
            ("bins", counts, "each axis has its number of cells."),
        ):
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                try_ = "for example axes=('x1', 'x2'), bins=(100, 100)."
                raise ModelError(
                    f"Occupation.{name}", repr(pair), "a pair, one entry per axis", why, try_
                )
        for count in counts:
            whole(
                "Occupation.bins",
                count,
                least=1,
                why="each axis has a number of cells.",
                try_="for example bins=(100, 100).",
            )
        # memory: each block of starts has its own grid before their sum
        fits("Occupation.bins", math.prod(self.bins), 512.0, "for example bins=(100, 100).")

    def grid(self, names: Sequence[str]) -> tuple[Ints, Floats, Floats, tuple[int, int]]:
        """Return the grid for the kernels.

        Returns
        -------
        (2,) numbers of the two states, (2,) lower ends, (2,) widths of a cell, numbers of cells.
        """
        places = []
        for axis in self.axes:
            place = list(names).index(axis) if isinstance(axis, str) and axis in names else axis
            if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
                raise ModelError(
                    "Occupation.axes",
                    repr(axis),
                    "one of " + ", ".join(names),
                    "the axes of the grid are two states.",
                    "give two of these names, or their indices from 0.",
                )
            places.append(int(place))
        low, high = np.array(self.low), np.array(self.high)
        width = (high - low) / np.array(self.bins, dtype=np.float64)
        return np.array(places, dtype=np.int64), low, width, self.bins


@dataclass(frozen=True)
class Ending:
    """Statistics of the trajectories with one kind of end.

    Parameters
    ----------
    end : kind of the end
    count : number of these trajectories
    share, share_error : their fraction of all trajectories, and its standard error
    mean, quantiles : mean of their end times, and quantiles at 5, 25, 50, 75, 95 per cent
        [time unit]
    """

    end: str
    count: int
    share: float
    share_error: float
    mean: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class EnsembleResult:
    """The ends of all starts.

    Parameters
    ----------
    state : (N, n) state at the end
    sides : (N, m) signs at the end, 0 in sliding
    time : (N,) end time [time unit]
    speed : (N,) |x'| at the end, in units of the scale of each state
    code : (N,) kind of the end, an index into `ends`
    ends : names of the codes: `time` (end time reached), `two_fold`, `codim2_line`, a kind of
        event in `until`, `accumulation` (of events), `fold` (a grazing after which the state may
        leave to either side), `intersection` (several exit directions), `undecided` (two solutions
        within the error), `escaping_start` (no side was given, or sliding becomes escaping at a
        kink), `no_start` (the given sign contradicts the state), `no_exit` (no admissible
        continuation), `stalled` (time does not advance), `not_finite`, `work_limit`. Trajectories
        that spiral into an intersection of two surfaces end as `accumulation` or `undecided`; a run
        of `solve` extrapolates them and slides on
    steps : (N,) number of steps
    counts, first : (N, kinds) number of events of each kind, and the time of the first one, NaN
        for none
    kinds : names of the kinds of events
    density : (bins of axis 1, bins of axis 2) time that all trajectories together spent in each
        cell of the `Occupation` [time unit]; empty without one
    outside : time spent outside its grid [time unit]
    """

    state: Floats
    sides: Floats
    time: Floats
    speed: Floats
    code: Ints
    ends: tuple[str, ...]
    steps: Ints
    counts: npt.NDArray[np.int32]
    first: Floats
    kinds: tuple[str, ...]
    density: Floats
    outside: float

    @property
    def end(self) -> npt.NDArray[np.str_]:
        """(N,) kind of the end of each trajectory."""
        return np.array(self.ends)[self.code]

    def ended(self, *ends: str) -> Flags:
        """Return (N,) whether each trajectory has one of these ends."""
        for end in ends:
            if end not in self.ends:
                raise ModelError(
                    "EnsembleResult.ended",
                    repr(end),
                    "one of " + ", ".join(dict.fromkeys(self.ends)),
                    "a trajectory has one of these ends.",
                    "see `ends`.",
                )
        good = np.array([end in ends for end in self.ends])
        return np.asarray(good[self.code])

    def return_times(self, kind: str) -> Floats:
        """Return (N,) the time of the first event of a kind, NaN where there was none.

        For `two_fold` and `codim2_line`, which end a trajectory, it is the end time.

        Verified by: tests/unit/switching/ensembles/test_study.py::test_return_times
        """
        if kind in ENDED_ALWAYS:
            return np.where(self.ended(kind), self.time, np.nan)
        if kind not in self.kinds:
            raise ModelError(
                "EnsembleResult.return_times",
                repr(kind),
                "one of " + ", ".join(self.kinds),
                "an event has one of these kinds.",
                "see `kinds`.",
            )
        return self.first[:, self.kinds.index(kind)].copy()

    def statistics(self) -> tuple[Ending, ...]:
        """Return count, fraction and end times for every kind of end, the most frequent first.

        Verified by: tests/unit/switching/ensembles/test_study.py::test_statistics
        """
        endings = []
        for end in dict.fromkeys(self.ends):
            these = self.ended(end)
            if these.any():
                times = self.time[these]
                quantiles = np.quantile(times, [0.05, 0.25, 0.5, 0.75, 0.95])
                share = share_of(these)
                mean = float(times.mean())
                endings.append(
                    Ending(end, int(these.sum()), *share, mean, tuple(quantiles.tolist()))
                )
        return tuple(sorted(endings, key=lambda ending: -ending.count))

    def escaped(self, recurrent: Callable[[Floats], Flags] | None = None) -> tuple[float, float]:
        """Return the fraction of trajectories that escaped, and its standard error.

        A trajectory has escaped if it ended neither at a two-fold, nor on a codimension-2 line,
        nor in the region of state space where `recurrent` is True.

        Parameters
        ----------
        recurrent : takes the final states (N, n) and returns (N,) whether they are in the region

        Verified by: tests/unit/switching/ensembles/test_study.py::test_statistics
        """
        gone = ~self.ended(*ENDED_ALWAYS)
        if recurrent is not None:
            gone &= ~np.asarray(recurrent(self.state), dtype=bool)
        return share_of(gone)


def share_of(these: Flags) -> tuple[float, float]:
    """Return the fraction of True values, and its standard error.

    If none or all are True, the error is that of one further, different value.
    """
    count, total = int(these.sum()), these.size
    share = count / total
    safe = min(max(share, 1.0 / (total + 1)), total / (total + 1))
    return share, float(np.sqrt(safe * (1.0 - safe) / total))


def ensemble(
    system: SwitchingSystem,
    starts: npt.ArrayLike,
    t_end: float,
    *,
    sides: npt.ArrayLike | None = None,
    method: EventDriven | SharedName = DEFAULT,
    until: Sequence[str] = ENDED_ALWAYS,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    occupation: Occupation | None = None,
) -> EnsembleResult:
    """Return the ends of many starts of one flow, integrated by compiled code.

    Each trajectory ends at `t_end`, at an event named in `until`, or where its future is not
    unique; `method.policy` is not used. Results do not depend on `workers`.

    Parameters
    ----------
    starts : (N, n) states at time 0
    t_end : end time [time unit], > 0; may be inf if every trajectory ends otherwise
    sides : (N,) or (N, m) signs at the start: 1, -1, 0 for sliding, NaN for the only admissible
        one, which is the default
    method : tolerances and bounds on the work; each trajectory has at most 20,000 steps, or
        `max_steps` if that is less
    until : kinds of events at which a trajectory ends: `cross`, `slide`, `leave`, `kink`,
        `fold`. Two-folds and codimension-2 lines always end it
    workers : number of threads; by default that of the processors
    progress : called with the completed fraction
    occupation : grid of residence times

    Raises
    ------
    ModelError : on starts, signs or kinds that do not fit the system.

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs

    Examples
    --------
    >>> import stiction as st
    >>> belt = st.BeltOscillator()
    >>> found = st.ensemble(belt, [[1.0, 0.0], [2.0, 0.0]], t_end=1.0, workers=1)
    >>> found.end.tolist(), found.time.tolist()
    (['time', 'time'], [1.0, 1.0])
    """
    method = event_driven(system, method)
    x = check_starts(system, starts)
    n_starts = len(x)
    end = check_end_time(t_end, occupation)
    occupation_at = None if occupation is None else occupation.grid(system.state_names)
    if occupation is not None:
        # each thread saves the states at all samples of a trajectory
        each = 8.0 * (1 + system.compiled.n + system.compiled.m)
        each *= cores_of_process() if workers is None else 1
        samples = math.ceil(min(end / occupation.interval, 1e18))
        fits("ensemble.occupation", samples, each, "take a longer interval.")
    task = Task(
        system=system,
        x=x,
        sides=check_sides(system, sides, n_starts),
        dwell=np.tile([np.inf, 0.0], (n_starts, 1)),
        t_end=end,
        method=method,
        stop=stop_flags(until),
        grid=occupation_at,
        interval=1.0 if occupation is None else occupation.interval,
    )
    return result_of(*run_task(task, workers, progress))


def result_of(endings: Ends, density: Floats, outside: float) -> EnsembleResult:
    """Return the results of a task as an `EnsembleResult`."""
    return EnsembleResult(
        state=endings.state,
        sides=endings.signs,
        time=endings.ends["time"].copy(),
        speed=endings.ends["speed"].copy(),
        code=endings.ends["code"].copy(),
        ends=ENDS + KINDS,
        steps=endings.ends["steps"].copy(),
        counts=endings.counts,
        first=endings.first,
        kinds=KINDS,
        density=density,
        outside=outside,
    )


# ---- validation


def _array(where: str, given: npt.ArrayLike, why: str) -> Floats:
    """Return an array of floats; ModelError if `given` is none."""
    try:
        return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        got, try_ = repr(given), "stack them along the first axis."
        raise ModelError(where, got, "an array of numbers", why, try_) from error


def check_starts(system: SwitchingSystem, starts: npt.ArrayLike) -> Floats:
    """Return (N, n) the initial states, with the clock; ModelError if they are no states."""
    n = len(system.state_names)
    x = system.full_state(_array("ensemble.starts", starts, "each start is a state."))
    if x.ndim != 2 or x.shape[1] != n or not len(x) or not np.isfinite(x).all():
        got = f"an array of shape {x.shape}" + ("" if np.isfinite(x).all() else " with NaN or inf")
        raise ModelError(
            "ensemble.starts",
            got,
            f"finite numbers of shape (N, {n})",
            f"each start is ({', '.join(system.state_names)}).",
            "stack the starts along the first axis.",
        )
    return x


def check_sides(system: SwitchingSystem, sides: npt.ArrayLike | None, n_starts: int) -> Floats:
    """Return (N, m) the signs at the starts, NaN for the admissible ones; ModelError for others."""
    m = system.compiled.m
    if sides is None:
        return np.full((n_starts, m), np.nan)
    given = _array("ensemble.sides", sides, "each start has one sign per surface.")
    if given.ndim == 1 and m == 1:
        given = given.reshape(-1, 1)
    if given.shape != (n_starts, m) or not np.isin(given[~np.isnan(given)], (-1, 0, 1)).all():
        raise ModelError(
            "ensemble.sides",
            f"an array of shape {given.shape}",
            f"1, -1, 0 or NaN in the shape ({n_starts}, {m})",
            "each start has one sign per surface.",
            "leave this value out for the admissible signs.",
        )
    return given


def stop_flags(until: Sequence[str]) -> Ints:
    """Return (kinds,) 1 for the kinds of events in `until`, else 0."""
    stop = np.zeros(len(KINDS), dtype=np.int64)
    for kind in until:
        if kind not in KINDS:
            raise ModelError(
                "ensemble.until",
                repr(kind),
                "kinds of events, of " + ", ".join(KINDS),
                "a trajectory can end at an event.",
                'for example until=("slide",).',
            )
        stop[KINDS.index(kind)] = 1
    return stop


def check_end_time(t_end: float, occupation: Occupation | None) -> float:
    """Return the end time as a finite number, 1e300 for infinity; ModelError if not admissible."""
    unlimited = occupation is None and t_end == np.inf
    return (
        1e300
        if unlimited
        else number(
            "ensemble.t_end",
            t_end,
            rule="positive",
            why="trajectories start at time 0.",
            try_="give a positive time, which must be finite with an `occupation`.",
        )
    )
