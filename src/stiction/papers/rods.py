"""Figure 2 and statements of "Dynamics of elastic rods in perfect friction contact".

Two vibrating strings u(x, t) and v(y, t) roll on each other at the moving point x = s1, y = s2:

    u_tt - c^2 u_xx = -lam delta(x - s1),   v_tt - c^2 v_yy = F lam delta(y - s2),
    <u_t> = F <v_t>,   s1' = G1 <u_t>,   s2' = G2 <v_t>,

with the mobilities G1 and G2, and means <.> of both sides of the contact. The rows compare the
energy, spectra of the motion, and the growth of a small initial difference.

Source: Gay-Balmaz, Putkaradze 2012. The paper prints no numbers besides u = sin x on
0 < x < 2 pi, so that most rows compare statements. Its equations are used with the corrections of
the theory page; mobilities, contact points and times of its figure are assumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.papers.items import LOST, Item, Row, Runs

if TYPE_CHECKING:
    from stiction.rods.strings.growth import Growth, Spectrum
    from stiction.rods.strings.model import RollingStrings

__all__ = ["ITEMS"]

Floats = npt.NDArray[np.float64]

_FIGURE, _SAME, _RING = "string-figure-2", "string-symmetric", "string-periodic"
_T_GROWTH = 60.0  # two runs are compared up to here


def _yes(holds: object) -> str:
    return "yes" if holds else "no"


def _strings(run: Run) -> RollingStrings:
    from stiction.rods.strings.model import RollingStrings

    assert isinstance(run.system, RollingStrings)
    return run.system


def _values(run: Run, name: str) -> Floats:
    return np.asarray(run.variables[name].values, dtype=np.float64)


def _drift(run: Run) -> float:
    total = run.energy.kinetic + run.energy.stored
    return float(np.abs(total / total[0] - 1.0).max())


# ---- Fig. 2 left


def _field(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 2: start, assumed parameters, contact point and energy."""
    run = runs[_FIGURE]
    system, s = _strings(run), _values(run, "s1")
    rate = np.abs(_values(run, "s1_rate")) / system.speeds[0]
    x = _values(run, "x")
    start = float(np.abs(_values(run, "u")[0] - np.sin(x)).max())
    return [
        Row("string ends at x =", 2.0 * np.pi, system.lengths[0]),
        Row("largest |u(x, 0) - sin x|", 0.0, start),
        Row("F, assumed", LOST, system.F),
        Row("G1 = G2, assumed", LOST, system.G1),
        Row("s1 at the start, assumed", LOST, system.s1),
        Row("s2 at the start, assumed", LOST, system.s2),
        Row("time shown, assumed", LOST, run.t_end),
        Row("least s1", LOST, float(s.min())),
        Row("largest s1", LOST, float(s.max())),
        Row("largest |s1'| / c", "below 1", float(rate.max())),
        Row("largest relative change of the energy", 0.0, _drift(run)),
    ]


def _draw_field(runs: Runs, path: Path) -> None:
    runs[_FIGURE].plot.field("u").savefig(path, dpi=200)


# ---- Fig. 2 right


def _lines(runs: Runs) -> list[Row]:
    """Return the rows on the spectrum of the string: its peak, and the power in overtones."""
    run = runs[_FIGURE]
    result = _spectrum(run)
    peak = float(result.omega[np.argmax(result.density)])
    high = result.omega > 1.5 * float(result.free or 1.0)
    high_fraction = float(result.density[high].sum() / result.density.sum())
    free = _free_high_fraction(run, result)
    return [
        Row("frequency of the string without contact [rad per time]", 1.0, float(result.free or 0)),
        Row("mode of fixed ends that is called the first harmonic", "first", "second"),
        Row("frequency of the highest peak", LOST, peak),
        Row(
            "fraction of the power within four resolutions of that line", LOST, result.share_of_line
        ),
        Row("fraction of the power above 1.5 times its frequency", LOST, high_fraction),
        Row("the same without contact, from the window alone", 0.0, free),
        Row("high overtones persist", "yes", _yes(high_fraction > 1e3 * max(free, 1e-12))),
        Row("flatness of the spectrum; 0 for lines, 0.56 for noise", LOST, result.flatness),
    ]


def _spectrum(run: Run) -> Spectrum:
    from stiction.rods.strings.growth import spectrum

    return spectrum(run, "u1")


def _free_high_fraction(run: Run, result: Spectrum) -> float:
    """Return the fraction of power above 1.5 times the line of cos(omega t) in the same window."""
    signal = np.cos(float(result.free or 1.0) * run.time)
    weights = np.hanning(signal.size)
    signal = (signal - np.average(signal, weights=weights)) * weights
    power = np.abs(np.fft.rfft(signal))[1:] ** 2
    return float(power[result.omega > 1.5 * float(result.free or 1.0)].sum() / power.sum())


def _draw_lines(runs: Runs, path: Path) -> None:
    runs[_FIGURE].plot.spectrum().savefig(path, dpi=200)


# ---- periodic ends


def _ring(runs: Runs) -> list[Row]:
    """Return the rows of the closed strings, where u + v is a free wave."""
    run = runs[_RING]
    x, t = _values(run, "x"), run.time[:, None]
    free = np.sin(x) * np.cos(t) + 0.5 * np.cos(2.0 * x) * np.cos(2.0 * t)
    difference = float(np.abs(_values(run, "u") + _values(run, "v") - free).max())
    parts = [_values(run, name) for name in ("energy_P", "energy_M")]
    change = max(float(np.abs(part / part[0] - 1.0).max()) for part in parts)
    return [
        Row("u + v is a free wave: largest difference from it", 0.0, difference),
        Row("energies of u + v and u - v: largest relative change", 0.0, change),
        Row("contact point at t = 100", LOST, float(_values(run, "s1")[-1])),
        Row("factor of lambda in the equation of u - v", 2.0, -2.0),
        Row("the contact moves by G/2 times", "P (text), P_t (19)", "P_t"),
    ]


def _draw_ring(runs: Runs, path: Path) -> None:
    runs[_RING].plot.field().savefig(path, dpi=200)


# ---- equal contact points


def _same(runs: Runs) -> list[Row]:
    """Return the rows of the motion with s1 = s2, beside its closed form.

    It is tan(s/2) = tan(s(0)/2) exp(-G1 (1 - cos t) / 2).
    """
    run = runs[_SAME]
    system, t, s = _strings(run), run.time, _values(run, "s1")
    slow = np.exp(-0.5 * system.G1 * (1.0 - np.cos(t)))
    closed = 2.0 * np.arctan(np.tan(0.5 * system.s1) * slow)
    both = _values(run, "u1") + _values(run, "v1")
    return [
        Row("largest difference of s from its closed form", "none given", _size(s - closed)),
        Row("largest difference of u1 + v1 from cos t", "none given", _size(both - np.cos(t))),
        Row("chaotic for all tested starts", "yes", "no: periodic"),
    ]


def _size(values: Floats) -> float:
    return float(np.abs(values).max())


def _draw_same(runs: Runs, path: Path) -> None:
    runs[_SAME].plot.paths().savefig(path, dpi=200)


# ---- growth of a small difference


def _growths(runs: Runs) -> dict[str, Growth]:
    """Return the growth of a small initial difference in s1, for two starts."""
    from stiction.rods.methods import Characteristics
    from stiction.rods.strings.growth import growth

    method = Characteristics(step=1e-3, check=False)
    words = {"s1 = 2, s2 = 2.5": _FIGURE, "s1 = s2 = 2": _SAME}
    return {
        word: growth(_strings(runs[name]), _T_GROWTH, method=method, field="s1")
        for word, name in words.items()
    }


def _chaos(runs: Runs) -> list[Row]:
    """Return the rows on this growth: exponential, or a power of time."""
    rows = []
    for word, one in _growths(runs).items():
        rows += [
            Row(f"{word}: growth factor of the difference of two runs", "grows", one.factor),
            Row(f"{word}: exponent of the fit exp(rate t)", "positive", one.rate),
            Row(f"{word}: misfit of this fit in the logarithm", "none given", one.misfit_rate),
            Row(f"{word}: misfit of the best power of t", "none given", one.misfit_power),
            Row(f"{word}: compared up to", "none given", one.linear_until),
        ]
    return rows


def _draw_chaos(runs: Runs, path: Path) -> None:
    from stiction.rods.figures.strings.over_time import growths

    fits = _growths(runs).items()
    growths({word: (one.time, one.distance) for word, one in fits}).savefig(path, dpi=200)


ITEMS = {
    "figure-2-left": Item(
        "one string over x and time, the contact point in red", (_FIGURE,), _field, _draw_field
    ),
    "figure-2-right": Item("spectrum of the lead harmonic", (_FIGURE,), _lines, _draw_lines),
    "periodic": Item(
        "strings closed to circles: the sum of both waves is a free wave",
        (_RING,),
        _ring,
        _draw_ring,
    ),
    "symmetric": Item("equal contact points: a closed form", (_SAME,), _same, _draw_same),
    "chaos": Item("growth of an initial difference of 1e-7", (_FIGURE, _SAME), _chaos, _draw_chaos),
}
