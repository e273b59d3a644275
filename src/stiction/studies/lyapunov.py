"""Lyapunov exponents of a motion, by renormalisation of the products of its tangent maps.

The motion is divided into segments. The tangent map M of a segment is the derivative of its end by
its start, with the saltation matrices of the events in between. It is applied to an orthonormal
set of directions, the columns of Q. The images are orthonormalised by Gram and Schmidt, M Q = Q' R,
and Q' is the set of the next segment. Exponent i is the mean of log R_ii per time:

    lambda_i = sum over segments of log R_ii / (end - start).

Stick removes a perturbation of the velocity: the direction has R_ii = 0, its exponent is -inf, and
it is left out of the set from then on. Users call `lyapunov_exponents`.

Source: Benettin, Galgani, Giorgilli, Strelcyn, Meccanica 15 (1980) 9 and 21; Mueller, Chaos,
Solitons and Fractals 5 (1995) 1671 (saltation matrices).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.tangents import NotDifferentiable, Tangents
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import number, numbers
from stiction.studies.cycles.shooting import sizes_of

__all__ = ["LyapunovExponents", "lyapunov_exponents"]

Floats = npt.NDArray[np.float64]

# batches of time whose means give the standard error
_BATCHES = 16
# fraction of the span that settles where no time is given, and runs that find the sizes of states
_SETTLING, _SIZINGS = 0.1, 16
# longest segment as a fraction of the span: a batch has several
_LONGEST = 1.0 / 256.0
# the factors R_ii of a segment lie between this number and its inverse. Derivatives are exact to
# about 1e-11 of the largest, so that the logarithm of the smallest factor is exact to 1e-8
_SPREAD = 1e-3
# an image below this fraction of the largest entry of the tangent map is zero up to rounding; the
# same fraction as in `cycles.cycle.floquet`
_ZERO = 1e-13
# halvings of a segment whose factors exceed `_SPREAD`: an event within it may cause that at any
# length
_HALVINGS = 6
# shortest segment before a time without derivatives, as a fraction of the longest
_SHORTEST = 1e-6
# a segment whose end lies at an event is repeated with this fraction of the length
_SHORTER = 0.7


@dataclass(frozen=True, eq=False, repr=False)
class LyapunovExponents:
    """Mean exponential rates at which neighbours of a motion diverge.

    Parameters
    ----------
    exponents : (n,) the largest first; -inf for a direction that stick removes, or whose decay is
        faster than 5e5 over the span [1/s, or the inverse of the system's unit of time]
    errors : (n,) standard errors, from the means of 16 batches of time; 0 for -inf
    start, end : times between which rates are averaged
    time : (k,) ends of the segments
    running : (k, n) exponents averaged from `start` to these times
    failures : why the average ends early, at a time without derivatives; empty if it does not
    """

    exponents: Floats
    errors: Floats
    start: float
    end: float
    time: Floats
    running: Floats
    failures: tuple[NotDifferentiable, ...]

    def __repr__(self) -> str:
        """Return the exponents with their errors."""
        lines = [f"<LyapunovExponents from t = {self.start:.6g} to {self.end:.6g}:"]
        lines += [
            f"  {value:.9g}"
            + (" (stick removes perturbations)" if value == -np.inf else f" +- {error:.2g}")
            for value, error in zip(self.exponents, self.errors, strict=True)
        ]
        lines += [
            f"  no derivative after t = {f.time:.9g}: {f.kind}, {f.reason}" for f in self.failures
        ]
        return "\n".join(lines) + ">"


def lyapunov_exponents(
    system: Any,
    method: Any = None,
    t_span: tuple[float, float] = (0.0, 1.0),
    *,
    settle: float | None = None,
) -> LyapunovExponents:
    """Return all Lyapunov exponents of the motion that starts at the system's state.

    Parameters
    ----------
    system : a system that supplies derivatives; see `core.tangents.Differentiable`
    method : a method of the system that integrates derivatives; None for its default
    t_span : start of the motion and end of the average [s, or the system's unit of time]
    settle : time at the start that is not averaged. In its first half the motion approaches its
        attractor, in the second the directions align. None for a tenth of the span

    Raises
    ------
    ModelError : if the system supplies no derivatives, or a time is not positive.
    SolveError : if the motion has no derivatives before the average begins.

    Notes
    -----
    The errors are those of a finite time; the error of the derivatives is 1e-8 in a segment. In a
    regular motion rates oscillate, and the average converges like 1 / t. Over whole periods of a
    periodic orbit an exponent equals log |multiplier| / period.

    Source: Benettin et al. 1980.
    Verified by: tests/exact/test_lyapunov_exponents.py::test_lorenz

    Examples
    --------
    >>> import stiction as st
    >>> found = st.studies.lyapunov_exponents(st.BeltOscillator(), t_span=(0.0, 100.0))
    >>> bool(abs(found.exponents[0]) < 0.01), float(found.exponents[1])
    (True, -inf)
    """
    where = "lyapunov_exponents"
    if not hasattr(system, "tangents"):
        needs, why = (
            "a system that supplies derivatives",
            "the tangent maps of the system advance the directions.",
        )
        try_ = "take a flow that switches, or a Chain."
        raise ModelError(f"{where}.system", type(system).__name__, needs, why, try_)
    why, try_ = "a motion goes forward in time.", "for example (0.0, 1000.0)."
    start, end = numbers(f"{where}.t_span", t_span, size=2, per="end", why=why, try_=try_).tolist()
    if not start < end:
        raise ModelError(f"{where}.t_span", repr(t_span), "an end after the start", why, try_)
    why, try_ = "a motion approaches its attractor first.", "leave this value out."
    settle = _SETTLING * (end - start) if settle is None else settle
    settle = number(f"{where}.settle", settle, rule="positive", why=why, try_=try_)
    if not start + settle < end:
        got, needs = f"{settle:.6g}", f"less than the span, {end - start:.6g}"
        why = "growth is averaged over the rest of the span."
        raise ModelError(f"{where}.settle", got, needs, why, try_)
    motion = _Motion(system, method, start, (end - start) * _LONGEST)
    motion.approach(start + 0.5 * settle)
    motion.follow(start + settle)
    motion.restart()
    motion.follow(end)
    return _averages(motion)


class _Place(NamedTuple):
    """A motion at an instant, with orthonormal directions and their growth.

    Attributes
    ----------
    system : the system that starts at the state there
    directions : (n, r) the columns of Q that stick has not removed, orthonormal in states that are
        divided by their sizes
    columns : (r,) numbers of these directions, from 0 to n - 1
    growth : (n,) sum of log R_ii since the average began; -inf for removed directions
    """

    time: float
    system: Any
    directions: Floats
    columns: tuple[int, ...]
    growth: Floats


class _Motion:
    """A motion, followed segment by segment.

    Attributes
    ----------
    sizes : (n,) largest values of the states, by which they are divided
    length, longest : length of the next segment, and largest length
    places : the start, and the ends of the segments so far
    """

    def __init__(self, system: Any, method: Any, start: float, longest: float) -> None:
        n = len(system.start_names)
        self.method = method
        self.length = self.longest = longest
        self.sizes = np.ones(n)
        self.failures: tuple[NotDifferentiable, ...] = ()
        self.places = [_Place(start, system, np.eye(n), tuple(range(n)), np.zeros(n))]

    def approach(self, until: float) -> None:
        """Follow the motion without derivatives, and find the sizes of its states."""
        place = self.places[-1]
        largest, time, system = np.zeros(self.sizes.size), place.time, place.system
        for end in np.linspace(time, until, _SIZINGS + 1)[1:].tolist():
            run: Tangents = system.tangents(self.method, (time, end), ())
            if not np.isfinite(run.final).all():
                self.failures = run.failures
                return
            time, system = end, system.at_state(run.final)
            largest = np.maximum(largest, np.abs(run.final))
        # a periodic state may be within rounding of 0 at all these instants
        self.sizes = sizes_of(system, largest)
        self.places = [place._replace(time=time, system=system)]

    def restart(self) -> None:
        """Begin the average here, with all directions."""
        place, n = self.places[-1], self.sizes.size
        r = len(place.columns)
        # removed directions are replaced by an orthonormal basis of the complement of the others
        rest = np.linalg.svd(place.directions)[0][:, r:]
        directions = np.hstack([place.directions, rest])
        columns = tuple(range(n))
        self.places = [_Place(place.time, place.system, directions, columns, np.zeros(n))]

    def follow(self, until: float) -> None:
        """Follow the motion and its directions to a time, or to the first one without derivatives.

        A segment is halved in two cases: a factor R_ii, which is zero or very small, is beyond
        `_SPREAD` (a fast decay is thereby distinguished from a removed direction); or the segment
        has no derivatives, which may be due to an event at its end.
        """
        # an event in (t, hard] may cause the small factor: segments up to `hard` are no shorter
        # than `least`, because halving further would lead to starts within rounding of the event.
        # `returned` is the last end of a segment that was taken back, because an event lies there
        hard, least, returned = -np.inf, 0.0, -np.inf
        while self.places[-1].time < until and not self.failures:
            place = self.places[-1]
            count = np.ceil((until - place.time) / self.length * (1.0 - 1e-9))
            end = until if count <= 1.0 else place.time + (until - place.time) / count
            run: Tangents = place.system.tangents(self.method, (place.time, end), ("x0",))
            if run.failures:
                at_start = run.failures[0].time <= place.time
                if at_start and len(self.places) > 1 and place.time > returned:
                    # the last segment ended at an event
                    self.length = _SHORTER * (place.time - self.places[-2].time)
                    self.places.pop()
                    returned = place.time
                elif end - place.time > _SHORTEST * self.longest:
                    self.length = 0.5 * (end - place.time)
                else:
                    self.failures = run.failures
                continue
            new, spread = self._moved(place, run, end)
            if spread < _SPREAD:
                if place.time >= hard:
                    hard, least = end, (end - place.time) * 0.5**_HALVINGS
                if end - place.time > 1.5 * least:
                    self.length = max(0.5 * (end - place.time), least)
                    continue
            self.places.append(new)
            if spread > np.sqrt(_SPREAD):
                self.length = min(2.0 * self.length, self.longest)

    def _moved(self, place: _Place, run: Tangents, end: float) -> tuple[_Place, float]:
        """Return the end of a segment, and the least of its factors and of their inverses."""
        matrix = run.final_by * self.sizes / self.sizes[:, None]
        zero = _ZERO * float(np.abs(matrix).max(initial=0.0))
        growth, columns, factors = place.growth.copy(), list[int](), list[float]()
        basis = np.zeros((len(matrix), 0))
        for column, image in zip(place.columns, (matrix @ place.directions).T, strict=True):
            # orthogonalised twice: after the first time a small image still contains rounding
            # errors of the size of the whole image
            for _ in range(2):
                image = image - basis @ (basis.T @ image)
            factor = float(np.linalg.norm(image))
            factors.append(factor if factor > zero else 0.0)
            if factor > zero:
                growth[column] += np.log(factor)
                columns.append(column)
                basis = np.hstack([basis, image[:, None] / factor])
            else:
                growth[column] = -np.inf
        # all factors are 0 where stick removes every direction
        spread = min(min(factors, default=1.0), 1.0 / max([1.0, *factors]))
        system = place.system.at_state(run.final)
        return _Place(end, system, basis, tuple(columns), growth), spread


def _averages(motion: _Motion) -> LyapunovExponents:
    """Return the averages over the segments since the restart, the largest first."""
    start = motion.places[0].time
    time = np.array([place.time for place in motion.places])
    growth = np.array([place.growth for place in motion.places])
    n, end = growth.shape[1], float(time[-1])
    if time.size == 1:
        failure = motion.failures[0]
        got = f"{failure.kind} at t = {failure.time:.9g}: {failure.reason}"
        needs, why = "a motion with derivatives", "nothing is left to be averaged."
        try_ = "start elsewhere, or take a shorter `settle`."
        raise SolveError(explain("lyapunov_exponents", got, needs, why, try_))
    running = growth[1:] / (time[1:] - start)[:, None]
    exponents, errors = running[-1], np.zeros(n)
    ends = np.linspace(start, end, _BATCHES + 1)
    for i in np.flatnonzero(np.isfinite(exponents)):
        means = np.diff(np.interp(ends, time, growth[:, i])) * _BATCHES / (end - start)
        errors[i] = means.std(ddof=1) / np.sqrt(_BATCHES)
    order = np.argsort(-exponents, kind="stable")
    return LyapunovExponents(
        exponents=exponents[order],
        errors=errors[order],
        start=start,
        end=end,
        time=time[1:],
        running=running[:, order],
        failures=motion.failures,
    )
