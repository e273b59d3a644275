"""Divergence of neighbouring orbits, and power spectra, of two strings in rolling contact.

Strings u(x, t), v(x, t) touch at x = s1 and s2, which move with the contact (`model`); u1 and v1
are their coefficients of sin(2 pi x / l). Two runs from nearby initial states are compared. In a
chaotic motion their distance grows as exp(rate t) up to the size of the motion; in a regular motion
it is bounded or grows as a power of t. A finite time does not distinguish these by one number, so
both fits are returned with their errors. The spectrum is the periodogram of one variable of a run,
with a window.

Source: Gay-Balmaz, Putkaradze 2012, "contact chaos" and Fig. 2; formulas sheet
(docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import method_for
from stiction.core.run import Request, Run
from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, whole
from stiction.rods.methods import Characteristics
from stiction.rods.strings.model import RollingStrings

__all__ = ["Growth", "Spectrum", "growth", "spectrum"]

Floats = npt.NDArray[np.float64]

_FIELDS = ("u", "v", "u_t", "v_t")
# limit of the linear range: distance over the size of the motion
_LARGE = 0.03
_MOST_SAVES = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Growth(Record):
    """Growth of the distance of two neighbouring runs.

    Parameters
    ----------
    time : (t,) times of the comparison
    distance : (t,) root of the sum of squared differences of s1, s2 and of mean squared differences
        of u, v, u_t, v_t
    linear_until : end of the linear range
    rate : of the fit log(distance) = const + rate t over the second half of the linear range
    power : of the fit log(distance) = const + power log(t) over the same time
    misfit_rate, misfit_power : root mean square errors of both fits, in log(distance)
    t_end : time reached by both runs
    """

    time: Floats
    distance: Floats
    linear_until: float
    rate: float
    power: float
    misfit_rate: float
    misfit_power: float
    t_end: float

    @property
    def factor(self) -> float:
        """Largest distance over the first one, in the linear range."""
        linear = self.time <= self.linear_until
        return float(self.distance[linear].max() / self.distance[0])

    @property
    def finite_time_exponent(self) -> float:
        """Mean exponential rate, log(factor) over the length of the linear range."""
        return float(np.log(self.factor) / (self.linear_until - self.time[0]))

    def __str__(self) -> str:
        """Return the result in one line."""
        return (
            f"two runs diverged by a factor {self.factor:.3g} until t = {self.linear_until:.4g}: "
            f"exp({self.rate:.3g} t) fits to {self.misfit_rate:.2g}, "
            f"t^{self.power:.3g} to {self.misfit_power:.2g} in the logarithm"
        )


def growth(
    system: RollingStrings,
    t_end: float,
    *,
    method: object | None = None,
    field: str = "s2",
    size: float = 1e-7,
    saves: int = 401,
) -> Growth:
    """Return the growth of the distance of two runs with nearby initial states.

    Parameters
    ----------
    t_end : end time of both runs
    method : method of both runs; None means `Characteristics()`
    field : number in which the second system differs: s1, s2, F, G1 or G2
    size : difference, far above the error of the method and far below the size of the motion
    saves : number of times to compare

    Raises
    ------
    ModelError : if the field is not one of these, or too few distances can be fitted.

    Notes
    -----
    A run that breaks down is compared up to the breakdown.

    Verified by: tests/unit/rods/strings/test_growth.py::test_exponent_of_a_made_up_pair
    """
    number("growth.t_end", t_end, rule="positive", why="runs start at 0.", try_="give 100.0.")
    number(
        "growth.size",
        size,
        rule="positive",
        why="the two initial states differ by this size.",
        try_="give 1e-7.",
    )
    why = "the growth is fitted to the saved distances."
    whole("growth.saves", saves, least=16, why=why, try_="give 401.")
    if field not in ("s1", "s2", "F", "G1", "G2") or saves > _MOST_SAVES:
        raise ModelError(
            "growth",
            f"field {field!r} and {saves} saves",
            f"one of s1, s2, F, G1, G2 and at most {_MOST_SAVES} saves",
            "the two runs differ in one initial number, and all saved states stay in memory.",
            "give field = 's2', or fewer saves.",
        )
    # the run and its neighbour, compared at the times that both have reached
    solver = method_for(system, Characteristics() if method is None else method)
    request = Request(0.0, float(t_end), np.linspace(0.0, float(t_end), saves))
    one = solver.solve(system, request)
    moved = dataclasses.replace(system, **{field: getattr(system, field) + size})
    two = solver.solve(moved, request)
    count = min(one.time.size, two.time.size)
    # the last sample of a run that ended early may be between two saved times
    count -= int(one.time[count - 1] != two.time[count - 1])
    distance, scale = _distance(one, two, count)
    if field in ("F", "G1", "G2"):
        # both runs have the same initial state
        distance[0] = distance[0] or size
    return fitted(one.time[:count], distance, scale)


def fitted(time: Floats, distance: Floats, scale: float) -> Growth:
    """Return the fits of the growth of a distance.

    Parameters
    ----------
    time, distance : (t,) times, and distances at these times
    scale : size of the motion; distances above 3 % of it are not fitted

    Verified by: tests/unit/rods/strings/test_growth.py::test_exponent_of_a_made_up_pair
    """
    large = np.flatnonzero(distance > _LARGE * scale)
    last = int(large[0]) if large.size else time.size
    used = np.arange(last // 2, last)
    used = used[(distance[used] > 0.0) & (time[used] > 0.0)]
    if used.size < 4:
        raise ModelError(
            "growth",
            f"{used.size} distances that can be fitted",
            "at least 4",
            "the runs were equal, left the linear range at once, or broke down.",
            "take a smaller size, more saves or an earlier end.",
        )
    logs = np.log(distance[used])
    rate, one = _line(time[used], logs)
    power, two = _line(np.log(time[used]), logs)
    return Growth(
        time=time,
        distance=distance,
        linear_until=float(time[last - 1]),
        rate=rate,
        power=power,
        misfit_rate=one,
        misfit_power=two,
        t_end=float(time[-1]),
    )


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the slope of the regression line, and the root mean square error."""
    slope, start = np.polyfit(x, y, 1)
    return float(slope), float(np.sqrt(np.mean((y - start - slope * x) ** 2)))


def _distance(one: Run, two: Run, count: int) -> tuple[Floats, float]:
    """Return the distance of two runs at each time, and the size of the motion."""
    squares, scale = np.zeros(count), 0.0
    for name in ("s1", "s2"):
        a, b = (run.variables[name].values[:count] for run in (one, two))
        squares += (a - b) ** 2
        scale += float(np.var(a))
    for name in _FIELDS:
        a, b = (run.variables[name].values[:count] for run in (one, two))
        squares += ((a - b) ** 2).mean(axis=1)
        scale += float((a**2).mean())
    return np.sqrt(squares), float(np.sqrt(scale))


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Record):
    """The spectrum of a signal of a run.

    Parameters
    ----------
    omega : (f,) increasing angular frequencies without zero [rad per time unit]
    density : (f,) power per angular frequency; its sum times the step of omega is the variance
        of the signal, weighted by the window
    free : angular frequency of the signal without contact, 2 pi c / l for u1; None if unknown
    resolution : width of a line; closer lines are not resolved [rad per time unit]
    """

    omega: Floats
    density: Floats
    free: float | None
    resolution: float

    @property
    def share_of_line(self) -> float:
        """Fraction of the power within four resolutions of `free`; 1 without contact.

        NaN if `free` is unknown or the signal is constant.
        """
        if self.free is None:
            return float("nan")
        if not self.density.any():
            return float("nan")
        near = np.abs(self.omega - self.free) <= 4.0 * self.resolution
        return float(self.density[near].sum() / self.density.sum())

    @property
    def flatness(self) -> float:
        """Geometric over arithmetic mean of the density up to eight times the frequency `free`.

        Near 0 for a few lines; 0.56 = exp(-Euler's constant) for noise, whose density has an
        exponential distribution. NaN without power there, as of a constant signal.
        """
        most = self.omega[-1] if self.free is None else 8.0 * self.free
        part = self.density[self.omega <= most]
        if not part.any():
            return float("nan")
        part = np.maximum(part, 1e-300)
        return float(np.exp(np.log(part).mean()) / part.mean())


def spectrum(
    run: Run, name: str = "u1", *, window: Callable[[int], Floats] = np.hanning
) -> Spectrum:
    """Return the spectrum of a variable of `run` that depends on time only.

    Parameters
    ----------
    name : name of the variable. u1 is the coefficient of sin(2 pi x / l): with fixed ends the
        second mode, not the lowest
    window : function that returns the weights of n samples

    Raises
    ------
    ModelError : if there is no such variable, or its times are not evenly spaced.

    Verified by: tests/unit/rods/strings/test_growth.py::test_spectrum_of_known_lines
    """
    variable = run.variables.get(name)
    if variable is None or variable.dims != ("time",):
        known = sorted(key for key, v in run.variables.items() if v.dims == ("time",))
        why = "the spectrum of one signal is computed."
        raise ModelError("spectrum.name", repr(name), f"one of {known}", why, "give 'u1'.")
    gaps = np.diff(run.time)
    if gaps.size < 15 or np.ptp(gaps) > 1e-6 * gaps.mean():
        spaced = f", spaced by {gaps.min():.4g} to {gaps.max():.4g}" if gaps.size else ""
        raise ModelError(
            "spectrum",
            f"{run.time.size} times{spaced}",
            "at least 16 times with equal spacing (to 1e-6)",
            "the spectrum is a discrete Fourier transform over equal steps, and fewer than 16 "
            "times resolve no spectral lines.",
            "save at evenly spaced times.",
        )
    signal = np.asarray(variable.values, dtype=np.float64)
    why, try_ = "the signal is multiplied by the window.", "for example numpy.hanning."
    given: object = window
    if not callable(given):
        got, needs = repr(window), "a function of the number of samples"
        raise ModelError("spectrum.window", got, needs, why, try_)
    weights = np.asarray(window(signal.size), dtype=np.float64)
    if weights.shape != signal.shape or not weights.sum() > 0.0:
        got, needs = f"weights of shape {weights.shape}", f"{signal.size} weights with a sum > 0"
        raise ModelError("spectrum.window", got, needs, why, try_)
    # the average of equal numbers may be rounded
    mean = np.average(signal, weights=weights) if np.ptp(signal) > 0.0 else signal[0]
    signal = (signal - mean) * weights
    # one-sided periodogram step |F|^2 / (pi sum w^2), with the discrete Fourier transform F
    step = float(gaps.mean())
    omega = np.asarray(2.0 * np.pi * np.fft.rfftfreq(signal.size, step), dtype=np.float64)
    power = np.abs(np.fft.rfft(signal)) ** 2
    density = np.asarray(power * step / (np.pi * (weights**2).sum()), dtype=np.float64)
    if signal.size % 2 == 0:
        # the last line has no counterpart of negative frequency
        density[-1] *= 0.5
    system = run.system
    free = None
    if isinstance(system, RollingStrings) and name in ("u1", "v1"):
        i = ("u1", "v1").index(name)
        free = 2.0 * np.pi * system.speeds[i] / system.lengths[i]
    return Spectrum(omega[1:], density[1:], free, float(omega[1]))
