"""How far ahead two strings can be foretold: exponents, maps of them, times of breakdown.

A Lyapunov exponent is the mean rate at which the distance of two neighbours grows. The neighbour
is brought back to a small distance again and again (Benettin et al. 1980), so that it never
leaves the linear range however long the run is.

Source: Gay-Balmaz, Putkaradze 2012, "contact chaos"; Benettin et al., Meccanica 15 (1980) 9.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.run import Quantity, Request, Run
from stiction.errors import ModelError
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

# blocks whose means give the error of an exponent, and errors that a verdict needs
_BATCHES, _SURE = 8, 3.0
# step of the marches, and a tolerance that cuts none
_STEP, _NEVER = 5e-3, 1e300
_FIELDS = ("s1", "s2")
# steps that are tried until both starts have as many pieces
_TRIES = 5


@dataclass(frozen=True, eq=False, repr=False)
class Exponent(Record):
    """The largest Lyapunov exponent of a motion, as far as a finite time shows it.

    Parameters
    ----------
    time : (k,) ends of the blocks
    log_growth : (k,) logarithm of the growth of the distance in each block
    rate : mean rate over the second half of the time [1 per time unit]
    error : standard error of that mean, from batches of blocks
    power : exponent p of a growth t^p that would have the same growth over that half
    ended : how the run ended before `t_end`: "breakdown", "end", or "" if it did not

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

        A regular motion lets the distance grow like t, whose mean rate over the second half of a
        time T is 2 ln 2 / T. Exponential is what exceeds twice that by three errors; regular is
        what does not exceed it within one error; nothing is said of fewer than 16 blocks.
        """
        if self.time.size < 2 * _BATCHES:
            return "undecided"
        bound = 4.0 * np.log(2.0) / float(self.time[-1])
        if self.rate - _SURE * self.error > bound:
            return "exponential"
        return "regular" if self.rate + self.error < bound else "undecided"

    @property
    def horizon(self) -> float:
        """Time over which an error grows e-fold; infinite where none is seen to."""
        return 1.0 / self.rate if self.rate > 0.0 else float("inf")

    def __str__(self) -> str:
        """Return the result in one line."""
        tail = f", until its {self.ended}" if self.ended else ""
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
    """Return the largest Lyapunov exponent of the strings, by renormalised neighbours.

    Parameters
    ----------
    t_end : time of the run
    method : whose step is taken; 5e-3 when None
    field : number of the start in which the neighbour differs: s1 or s2
    size : distance to which the neighbour is brought back; large beside rounding, small beside
        the motion
    block : time between two returns

    Raises
    ------
    ModelError : if numbers are not positive, or fewer than two blocks fit.

    Notes
    -----
    Steps land on no corner and are never cut, so that both marches take the same ones and what
    is between two states is a state. Landing on corners is a decision, which moves two
    neighbours apart by the error of a step, some 1e-7.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_equal_strings_have_no_exponent
    """
    for name, value in (("t_end", t_end), ("size", size), ("block", block)):
        why = "a neighbour is followed from block to block."
        number(f"exponent.{name}", value, rule="positive", why=why, try_="leave it out.")
    if field not in _FIELDS or t_end < 2.0 * block:
        got, needs = f"field {field!r}, {t_end / block:.3g} blocks", "s1 or s2, and two blocks"
        why, try_ = "a place of the contact is moved.", "give field='s2' and a later t_end."
        raise ModelError("exponent", got, needs, why, try_)
    step = _STEP if method is None else method.step
    solver = Characteristics(step=step, check=False, corners=0, tolerance=_NEVER)
    ends = np.arange(0.0, t_end * (1.0 + 1e-12), block)
    request = Request(0.0, float(ends[-1]), ends)
    one, two = _pair(system, solver, request, field, size)
    before, times, grown = size, [], []
    for k in range(1, ends.size):
        if not (_march(one, k + 1) and _march(two, k + 1)):
            break
        apart = _distance(one, two)
        times.append(float(ends[k]))
        grown.append(float(np.log(apart / before)))
        before = size if two.nearer(one, size / apart) else apart
    ended = {one.kernels.OUTRUN: "breakdown", one.kernels.ENDED: "end"}.get(one.now.flag, "")
    return _judged(np.array(times), np.array(grown), ended)


@functools.lru_cache(maxsize=1)
def _exponent_of(run: Run) -> Exponent | None:
    system, method = run.system, run.method
    assert isinstance(system, RollingStrings)
    assert isinstance(method, Characteristics)
    # a motion that ended at once has none
    if run.t_end < 2.0 * _BATCHES:
        return None
    return exponent(system, run.t_end, method=method)


def lyapunov(run: Run) -> Quantity:
    """Return the Lyapunov exponent of the motion of a run, up to its end time.

    Verified by: tests/unit/rods/strings/test_chaos.py::test_studies_measure_exponents
    """
    found, meaning = _exponent_of(run), "largest Lyapunov exponent, over the second half of the run"
    return Quantity(None if found is None else found.rate, "1", meaning)


def lyapunov_error(run: Run) -> Quantity:
    """Return the standard error of `lyapunov`."""
    found, meaning = _exponent_of(run), "standard error of the Lyapunov exponent"
    return Quantity(None if found is None else found.error, "1", meaning)


def _pair(
    system: RollingStrings, solver: Characteristics, request: Request, field: str, size: float
) -> tuple[Path, Path]:
    """Return marches from both starts whose initial waves are cut into as many pieces."""
    moved = dataclasses.replace(system, **{field: getattr(system, field) + size})
    for k in range(_TRIES):
        # pieces are counted by the step: a contact that is a whole number of steps from an end
        # has one piece more or less beside it
        method = dataclasses.replace(solver, step=solver.step * (1.0 - 1e-4 * k))
        one, two = Path(system, method, request), Path(moved, method, request)
        if np.array_equal(one.pair.waves, two.pair.waves):
            break
    return one, two


def _march(path: Path, upto: int) -> bool:
    """March to a saved time; return whether it was reached."""
    while path.now.flag == path.kernels.REACHED and path.now.done < upto:
        path.advance(upto)
    return bool(path.now.done >= upto)


def _distance(one: Path, two: Path) -> float:
    """Return the distance of two marches: of the contacts, and of the waves of the last turn."""
    here, there = one.contact[0], two.contact[0]
    apart = np.array([here.s1 - there.s1, here.s2 - there.s2])
    total = float((apart**2).sum())
    for f in range(4):
        string = one.pair.strings[f // 2]
        turn = 2.0 * string.length / string.speed
        mine, theirs = (p.pair.cubics[f, : p.pair.waves[f].count] for p in (one, two))
        late = mine[mine["knot"] > mine["knot"][-1] - turn]
        other = np.interp(late["knot"], theirs["knot"], theirs["c0"])
        total += float(np.mean((late["c0"] - other) ** 2))
    return float(np.sqrt(total))


def _judged(time: Floats, grown: Floats, ended: str) -> Exponent:
    """Return the exponent of the second half of the blocks, with its error."""
    if time.size < 2:
        nan = float("nan")
        return Exponent(time, grown, nan, nan, nan, ended)
    half = time.size // 2
    block = float(time[1] - time[0])
    rates = grown[half:] / block
    groups = np.array_split(rates, min(_BATCHES, rates.size))
    means = np.array([group.mean() for group in groups])
    error = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else float("nan")
    total = float(grown[half:].sum())
    power = total / float(np.log(time[-1] / time[half - 1])) if half else float("nan")
    return Exponent(time, grown, float(rates.mean()), error, power, ended)


# ---- a map


@dataclass(frozen=True, eq=False, repr=False)
class ChaosMap(Record):
    """Exponents over the mobility and the distance of the contact points.

    Parameters
    ----------
    mobility : (m,) G of both strings
    offset : (k,) s2 - s1
    rate, error : (m, k) exponents and their errors
    verdict : (m, k) words of `Exponent.verdict`
    reached : (m, k) times that the runs reached
    """

    mobility: Floats
    offset: Floats
    rate: Floats
    error: Floats
    verdict: npt.NDArray[np.str_]
    reached: Floats

    def share(self, word: str) -> float:
        """Return the share of cells with this verdict."""
        return float(np.mean(self.verdict == word))

    def plot(self) -> PaperFigure:
        """Return the map as a figure: the exponent in colours, verdicts as signs."""
        from stiction.rods.figures.strings.chaos import draw_map

        return draw_map(self.mobility, self.offset, self.rate, self.verdict)

    def __str__(self) -> str:
        """Return how many cells have which verdict."""
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
    mobility, offset : values of G and of s2 - s1
    t_end : of every run
    method : whose step is taken; 5e-3 when None, which a verdict does not need finer

    Verified by: tests/unit/rods/strings/test_chaos.py::test_a_map_holds_what_exponents_say
    """
    whole("chaos_map", len(mobility) * len(offset), least=1, why="a map has cells.", try_="2 x 2.")
    shape = len(mobility), len(offset)
    rate, error, reached = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape)
    verdict = np.full(shape, "undecided", dtype="<U11")
    for i, G in enumerate(mobility):
        for j, apart in enumerate(offset):
            cell = dataclasses.replace(system, G1=float(G), G2=float(G), s2=system.s1 + apart)
            found = exponent(cell, t_end, method=method)
            if found.time.size:
                rate[i, j], error[i, j] = found.rate, found.error
                verdict[i, j], reached[i, j] = found.verdict, found.time[-1]
    return ChaosMap(np.array(mobility), np.array(offset), rate, error, verdict, reached)


# ---- when the model ends


@dataclass(frozen=True, eq=False, repr=False)
class Breakdown(Record):
    """When runs that ought to agree come to the end of the model.

    Parameters
    ----------
    step, nudge : (m,) step of each run, and what was added to its s2
    time : (m,) when it ended; inf where it did not
    t_end : how long they ran
    """

    step: Floats
    nudge: Floats
    time: Floats
    t_end: float

    @property
    def spread(self) -> float:
        """Latest less earliest end; infinite where one run does not end."""
        return float(self.time.max() - self.time.min()) if np.isfinite(self.time).all() else np.inf

    @property
    def digits(self) -> int:
        """Return to how many significant digits all runs agree; 0 for none."""
        if not np.isfinite(self.spread):
            return 0
        if self.spread == 0.0:
            return 15
        return max(0, int(np.floor(np.log10(float(np.abs(self.time).max()) / self.spread))))

    def __str__(self) -> str:
        """Return what may be said of the time."""
        middle = float(np.median(self.time))
        if self.digits > 2:
            return f"the model ends at t = {middle:.{self.digits}g}, to the digits shown"
        if not np.isfinite(self.time).any():
            return f"the model does not end before t = {self.t_end:.6g} in any of the runs"
        alive, first = int(np.isinf(self.time).sum()), float(self.time.min())
        last = float(self.time[np.isfinite(self.time)].max())
        rest = f"; {alive} of {self.time.size} runs do not end before {self.t_end:.6g}"
        return f"not determined: runs end from {first:.4g} to {last:.4g}{rest if alive else ''}"


def breakdown(
    system: RollingStrings,
    t_end: float,
    *,
    steps: Sequence[float] = (1e-3, 7e-4, 5e-4),
    nudges: Sequence[float] = (0.0, 1e-10, -1e-10),
) -> Breakdown:
    """Return when the model ends in runs of all these steps from all these starts.

    What they share may be printed. Errors of steps and starts grow as the exponent says, so
    that the time of a breakdown after many of its e-foldings is no number of the model.

    Parameters
    ----------
    t_end : end of all runs
    steps : of `Characteristics`
    nudges : what is added to s2 at the start

    Verified by: tests/unit/rods/strings/test_chaos.py::test_an_early_breakdown_has_its_digits
    """
    number("breakdown.t_end", t_end, rule="positive", why="runs start at 0.", try_="give 100.0.")
    request = Request(0.0, float(t_end), np.array([0.0, float(t_end)]))
    found = []
    for step in steps:
        for nudge in nudges:
            moved = dataclasses.replace(system, s2=system.s2 + nudge)
            path = Path(moved, Characteristics(step=step, check=False), request)
            _march(path, 2)
            over = path.now.flag == path.kernels.OUTRUN
            found.append((step, nudge, path.end if over else np.inf))
    columns = np.array(found).T
    return Breakdown(columns[0], columns[1], columns[2], float(t_end))
