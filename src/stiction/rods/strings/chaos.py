"""Predictability of two strings in rolling contact: Lyapunov exponents and times of breakdown.

Strings u(x, t) and v(x, t) touch at x = s1 and s2, which move by s1' = G1 <u_t>, s2' = G2 <v_t>,
with mean velocities <.> at the contact and mobilities G1, G2 (`model`). A run breaks down where the
contact reaches the speed of the waves. The largest Lyapunov exponent is the mean exponential rate
at which two neighbouring orbits diverge. The distance of the neighbour is renormalised to a small
value at regular times (Benettin et al. 1980), so it remains in the linear range for any length of
the run.

Source: Gay-Balmaz, Putkaradze 2012, "contact chaos"; Benettin et al., Meccanica 15 (1980) 9.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Quantity, Request, Run
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import Record, number, whole
from stiction.rods.methods import Characteristics
from stiction.rods.strings.characteristics import Path
from stiction.rods.strings.model import RollingStrings

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = [
    "Breakdown",
    "ChaosMap",
    "Exponent",
    "breakdown",
    "chaos_map",
    "exponent",
    "lyapunov",
    "lyapunov_error",
]

Floats = npt.NDArray[np.float64]

# number of batches whose means give the standard error; standard errors for "exponential"
_BATCHES, _SURE = 8, 3.0
# default step of the paths, and a tolerance that never shortens a step
_DEFAULT_STEP, _NO_TOLERANCE = 5e-3, 1e300
# a distance of two motions needs neither a second run nor located corners
_OF_DISTANCES: dict[str, Any] = {"check": False, "corners": 0, "tolerance": _NO_TOLERANCE}
_FIELDS = ("s1", "s2")
# reasons why a run ends before its end time, in words
_ENDS = {
    "breakdown": "the model ends",
    "end": "a contact point reaches a fixed end",
    "limit": "max_steps are used up",
    "not finite": "a wave is not finite",
    "": "the run ends",
}
# largest number of steps tried until the waves of both neighbours have equally many cubics
_TRIES = 5


@dataclass(frozen=True, eq=False, repr=False)
class Exponent(Record):
    """An estimate of the largest Lyapunov exponent from a finite time.

    Parameters
    ----------
    time : (k,) ends of the blocks
    log_growth : (k,) logarithm of the growth of the distance in each block
    rate : mean rate over the second half of the time [1 per time unit]
    error : standard error of that mean, from batches of blocks
    power : exponent p of a power law t^p with the same growth over that half
    ended : reason why the run ended before `t_end`: "breakdown", "end" (a contact point reached a
        fixed end), "limit" (of steps), "not finite", or "" if it did not

    Source: Benettin et al. 1980.
    """

    time: Floats
    log_growth: Floats
    rate: float
    error: float
    power: float
    ended: str

    @property
    def verdict(self) -> str:
        """Return "exponential", "regular" or "undecided".

        In a regular motion the distance grows like t, with the mean rate 2 ln 2 / T over the second
        half of a time T. The bound is twice that. A rate that exceeds it by three standard errors
        is exponential; one that is below it by one standard error is regular. Fewer than 16 blocks
        are undecided.
        """
        if self.time.size < 2 * _BATCHES:
            return "undecided"
        bound = 4.0 * np.log(2.0) / float(self.time[-1])
        if self.rate - _SURE * self.error > bound:
            return "exponential"
        return "regular" if self.rate + self.error < bound else "undecided"

    @property
    def horizon(self) -> float:
        """Time in which an error grows by the factor e; infinite if the rate is not positive."""
        return 1.0 / self.rate if self.rate > 0.0 else float("inf")

    def __str__(self) -> str:
        """Return the result in one line."""
        if not self.time.size:
            return f"no exponent: {_ENDS[self.ended]} before the end of the first block"
        tail = f", where {_ENDS[self.ended]}" if self.ended else ""
        return (
            f"exponent {self.rate:.3g} +- {self.error:.1g} up to t = {self.time[-1]:.4g}{tail}: "
            f"{self.verdict}"
        )


def exponent(
    system: RollingStrings,
    t_end: float,
    *,
    method: Characteristics | None = None,
    field: str = "s2",
    size: float = 1e-8,
    block: float = 2.0,
) -> Exponent:
    """Return the largest Lyapunov exponent of the strings, by renormalisation.

    Parameters
    ----------
    t_end : end time of the run
    method : its step, `max_steps` and `end_margin` are used; None means a step of 5e-3
    field : initial value in which the neighbour differs: s1 or s2
    size : distance after renormalisation, far above rounding and far below the size of the motion
    block : time between two renormalisations

    Raises
    ------
    ModelError : if numbers are not positive, fewer than two blocks fit, or the strings have drag.
    SolveError : if the initial waves of the neighbours have different numbers of cubics.

    Notes
    -----
    Steps do not end at corners and are never shortened, so both orbits take equal steps, and states
    can be interpolated. A step that ends at a corner in one orbit only would separate the
    neighbours by the error of a step, about 1e-7.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_equal_strings_have_no_exponent
    """
    for name, value in (("t_end", t_end), ("size", size), ("block", block)):
        why = "the neighbouring orbit is renormalised after each block."
        remedy = "give 150.0." if name == "t_end" else "leave this value out."
        number(f"exponent.{name}", value, rule="positive", why=why, try_=remedy)
    if field not in _FIELDS or t_end < 2.0 * block:
        got = f"field {field!r}, and t_end = {t_end / block:.3g} times `block`"
        needs = "field 's1' or 's2', and t_end of at least twice `block`"
        why = "the neighbour differs in a contact point, and growth is averaged over blocks."
        try_ = "give field='s2' and a later t_end."
        raise ModelError("exponent", got, needs, why, try_)
    given = Characteristics(step=_DEFAULT_STEP) if method is None else method
    solver = dataclasses.replace(given, **_OF_DISTANCES)
    # two neighbouring orbits; after each block the second is moved back to the distance `size`
    ends = np.arange(0.0, t_end * (1.0 + 1e-12), block)
    request = Request(0.0, float(ends[-1]), ends)
    one, two = _neighbours(system, solver, request, field, size)
    before, times, log_growth = size, [], []
    for k in range(1, ends.size):
        if not (_advance_to(one, k + 1) and _advance_to(two, k + 1)):
            break
        distance = _distance(one, two)
        times.append(float(ends[k]))
        log_growth.append(float(np.log(distance / before)))
        # without renormalisation the distance grows on from its present value
        before = size if two.interpolate_from(one, size / distance) else distance
    return _exponent_from_blocks(np.array(times), np.array(log_growth), _ended(one) or _ended(two))


@functools.lru_cache(maxsize=1)
def _exponent_of(run: Run) -> Exponent | None:
    """Return the exponent of the motion of a run, cached for its rate and error; None if short."""
    system, method = run.system, run.method
    assert isinstance(system, RollingStrings)
    if not isinstance(method, Characteristics):
        raise ModelError(
            "measured.lyapunov",
            f"a run by {type(method).__name__}",
            "a run by Characteristics",
            "the neighbouring orbit is integrated by the method of characteristics.",
            "give Characteristics(), or compare two runs by rods.growth.",
        )
    duration = run.t_end - float(run.time[0])
    # too few blocks for an estimate
    if duration < 2.0 * _BATCHES:
        return None
    return exponent(system, duration, method=method)


def lyapunov(run: Run) -> Quantity:
    """Return the Lyapunov exponent of the motion of a run, up to its end time.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_studies_measure_exponents
    """
    result, meaning = (
        _exponent_of(run),
        "largest Lyapunov exponent, over the second half of the run",
    )
    return Quantity(None if result is None else result.rate, "1", meaning)


def lyapunov_error(run: Run) -> Quantity:
    """Return the standard error of `lyapunov`."""
    result, meaning = _exponent_of(run), "standard error of the Lyapunov exponent"
    return Quantity(None if result is None else result.error, "1", meaning)


def _neighbours(
    system: RollingStrings, solver: Characteristics, request: Request, field: str, size: float
) -> tuple[Path, Path]:
    """Return the paths of two neighbours whose initial waves have equal numbers of cubics."""
    moved = dataclasses.replace(system, **{field: getattr(system, field) + size})
    for k in range(_TRIES):
        # the number depends on the step: it changes if the contact is an integer number of steps
        # from an end
        method = dataclasses.replace(solver, step=solver.step * (1.0 - 1e-4 * k))
        one, two = Path(system, method, request), Path(moved, method, request)
        if np.array_equal(one.pair.waves, two.pair.waves):
            return one, two
    raise SolveError(
        explain(
            "exponent",
            "two neighbouring orbits whose waves have different numbers of cubic segments for "
            f"{_TRIES} steps",
            "equal numbers of segments",
            "the state of the neighbour is interpolated to renormalise its distance.",
            "give a smaller `size`, or another step, as by method=Characteristics(step=4e-3).",
        )
    )


def _ended(path: Path) -> str:
    """Return the reason why a path ended, as in `Exponent.ended`."""
    kernels = path.kernels
    names = {
        kernels.NO_SUBSONIC_ROOT: "breakdown",
        kernels.ENDED: "end",
        kernels.LIMIT: "limit",
        kernels.NOT_FINITE: "not finite",
    }
    return names.get(int(path.now.flag), "")


def _advance_to(path: Path, upto: int) -> bool:
    """Integrate to a saved time; return whether it was reached."""
    while path.now.flag == path.kernels.REACHED and path.now.done < upto:
        path.advance(upto)
    return bool(path.now.done >= upto)


def _distance(one: Path, two: Path) -> float:
    """Return the distance of two paths: of contact points, and of the waves of the last period."""
    first, second = one.contact[0], two.contact[0]
    difference = np.array([first.s1 - second.s1, first.s2 - second.s2])
    total = float((difference**2).sum())
    for f in range(4):
        string = one.pair.strings[f // 2]
        turn = 2.0 * string.length / string.speed
        mine, theirs = (p.pair.cubics[f, : p.pair.waves[f].count] for p in (one, two))
        late = mine[mine["knot"] > mine["knot"][-1] - turn]
        other = np.interp(late["knot"], theirs["knot"], theirs["c0"])
        total += float(np.mean((late["c0"] - other) ** 2))
    return float(np.sqrt(total))


def _exponent_from_blocks(time: Floats, log_growth: Floats, ended: str) -> Exponent:
    """Return the exponent over the second half of the blocks, with its standard error."""
    if time.size < 2:
        nan = float("nan")
        return Exponent(time, log_growth, nan, nan, nan, ended)
    half = time.size // 2
    block = float(time[1] - time[0])
    rates = log_growth[half:] / block
    groups = np.array_split(rates, min(_BATCHES, rates.size))
    means = np.array([group.mean() for group in groups])
    error = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else float("nan")
    total = float(log_growth[half:].sum())
    power = total / float(np.log(time[-1] / time[half - 1])) if half else float("nan")
    return Exponent(time, log_growth, float(rates.mean()), error, power, ended)


# ---- a map


@dataclass(frozen=True, eq=False, repr=False)
class ChaosMap(Record):
    """Lyapunov exponents over the mobility and the distance of the contact points.

    Parameters
    ----------
    mobility : (m,) G of both strings
    offset : (k,) s2 - s1
    rate, error : (m, k) exponents and their errors
    verdict : (m, k) see `Exponent.verdict`
    reached : (m, k) times reached by the runs
    """

    mobility: Floats
    offset: Floats
    rate: Floats
    error: Floats
    verdict: npt.NDArray[np.str_]
    reached: Floats

    def share(self, word: str) -> float:
        """Return the fraction of cells with this verdict."""
        return float(np.mean(self.verdict == word))

    def plot(self) -> PaperFigure:
        """Return the map as a figure: the exponent in colours, verdicts as markers."""
        from stiction.rods.figures.strings.chaos import draw_map

        return draw_map(self.mobility, self.offset, self.rate, self.verdict)

    def __str__(self) -> str:
        """Return the numbers of cells with each verdict."""
        words = ("exponential", "regular", "undecided")
        counts = ", ".join(f"{int((self.verdict == w).sum())} {w}" for w in words)
        return f"{self.verdict.size} starts: {counts}"


def chaos_map(
    system: RollingStrings,
    mobility: Sequence[float],
    offset: Sequence[float],
    t_end: float,
    *,
    method: Characteristics | None = None,
) -> ChaosMap:
    """Return the exponents of `system` with other G1 = G2 and s2 = s1 + offset.

    Parameters
    ----------
    mobility, offset : (m,) values of G, (k,) values of s2 - s1
    t_end : end time of every run
    method : as for `exponent`; None means a step of 5e-3, sufficient for a verdict

    Verified by: tests/unit/rods/strings/test_chaos.py::test_a_map_holds_what_exponents_say
    """
    whole("chaos_map", len(mobility) * len(offset), least=1, why="a map has cells.", try_="2 x 2.")
    shape = len(mobility), len(offset)
    rate, error, reached = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    verdict = np.full(shape, "undecided", dtype="<U11")
    for i, G in enumerate(mobility):
        for j, distance in enumerate(offset):
            cell = dataclasses.replace(system, G1=float(G), G2=float(G), s2=system.s1 + distance)
            result = exponent(cell, t_end, method=method)
            if result.time.size:
                rate[i, j], error[i, j] = result.rate, result.error
                verdict[i, j], reached[i, j] = result.verdict, result.time[-1]
    return ChaosMap(np.array(mobility), np.array(offset), rate, error, verdict, reached)


# ---- time of breakdown


@dataclass(frozen=True, eq=False, repr=False)
class Breakdown(Record):
    """Times of breakdown from runs with several steps and perturbed initial states.

    Parameters
    ----------
    step, perturbation : (m,) step of each run, and perturbation of its initial s2
    time : (m,) times at which the runs end before `t_end`; infinite if they do not
    ended : (m,) event of that time: "breakdown", "end" (a contact point reaches a fixed end), or ""
    t_end : end time of the runs
    """

    step: Floats
    perturbation: Floats
    time: Floats
    ended: npt.NDArray[np.str_]
    t_end: float

    @property
    def spread(self) -> float:
        """Latest minus earliest end; infinite if a run has none, or ends by another event."""
        one_event = np.isfinite(self.time).all() and (self.ended == self.ended[0]).all()
        return float(self.time.max() - self.time.min()) if one_event else np.inf

    @property
    def digits(self) -> int:
        """Return the number of significant digits on which all runs agree."""
        if not np.isfinite(self.spread):
            return 0
        if self.spread == 0.0:
            return 15
        return max(0, int(np.floor(np.log10(float(np.abs(self.time).max()) / self.spread))))

    def __str__(self) -> str:
        """Return the time to the digits on which all runs agree."""
        middle = float(np.median(self.time))
        if self.digits > 2:
            what = _ENDS[str(self.ended[0])]
            return f"{what} at t = {middle:.{self.digits}g}, to the digits shown"
        if not np.isfinite(self.time).any():
            return f"the model does not end before t = {self.t_end:.6g} in any of the runs"
        alive, first = int(np.isinf(self.time).sum()), float(self.time.min())
        last = float(self.time[np.isfinite(self.time)].max())
        text, of = f"not determined: runs end from {first:.4g} to {last:.4g}", self.time.size
        if alive:
            text += f"; {alive} of {of} runs do not end before {self.t_end:.6g}"
        if outside := int((self.ended == "end").sum()):
            text += f"; in {outside} of {of} runs {_ENDS['end']}"
        return text


def breakdown(
    system: RollingStrings,
    t_end: float,
    *,
    steps: Sequence[float] = (1e-3, 7e-4, 5e-4),
    perturbations: Sequence[float] = (0.0, 1e-10, -1e-10),
) -> Breakdown:
    """Return the times of breakdown for all these steps and perturbations.

    The digits on which all agree are reliable. Errors grow with the Lyapunov exponent, so the time
    of a late breakdown is not determined.

    Parameters
    ----------
    t_end : end time of all runs
    steps : steps of `Characteristics`
    perturbations : perturbations of the initial s2

    Raises
    ------
    ModelError : if the strings have drag, or a step is too short.
    SolveError : if a run uses up its steps, or a wave is not finite: its end is then not known.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_an_early_breakdown_has_its_digits
    """
    number("breakdown.t_end", t_end, rule="positive", why="runs start at 0.", try_="give 100.0.")
    request = Request(0.0, float(t_end), np.array([0.0, float(t_end)]))
    runs, events = [], []
    for step in steps:
        for perturbation in perturbations:
            moved = dataclasses.replace(system, s2=system.s2 + perturbation)
            path = Path(moved, Characteristics(step=step, check=False), request)
            _advance_to(path, 2)
            ended = _ended(path)
            if ended in ("limit", "not finite"):
                got = f"a run with step {step:g} in which {_ENDS[ended]} at t = {path.end:.6g}"
                needs = "runs to their breakdown, or to t_end"
                why = "the time of breakdown of this run is not known."
                try_ = "give an earlier t_end or longer steps."
                raise SolveError(explain("breakdown", got, needs, why, try_))
            runs.append((step, perturbation, path.end if ended else np.inf))
            events.append(ended)
    columns = np.array(runs).T
    return Breakdown(columns[0], columns[1], columns[2], np.array(events), float(t_end))
