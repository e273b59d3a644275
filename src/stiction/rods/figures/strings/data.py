"""Data of the figures of rolling strings: variables of a run and derived quantities.

Strings u(x, t) and v(x, t) touch at x = s1 and s2; their lead harmonics u1, v1 are the coefficients
of sin(2 pi x / l). Only saved data are read, so a loaded run gives the same figures as a computed
one. Strings are named u and v; all quantities are dimensionless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.plot import style
from stiction.plot.run_data import RunData, window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CONTACT", "STRINGS", "Line", "StringData"]

Floats = npt.NDArray[np.float64]

STRINGS = {"u": style.BLUE, "v": style.VERMILION}
CONTACT = "#d7191c"  # the red line of the paper
_NEEDED = ("s1", "s2", "s1_rate", "s2_rate", "contact_force", "u1", "v1", "u", "v", "x", "y")
_LEAST_SAMPLES = 16


@dataclass(frozen=True, eq=False)
class Line:
    """The spectrum of a lead harmonic, u1 or v1, and that of the same string without contact.

    The lead harmonic is the coefficient of sin(2 pi x / l) of the displacement.

    Parameters
    ----------
    omega : (f,) angular frequencies
    density : (f,) power per angular frequency
    free : (f,) density of the same string without contact; None if unknown
    frequency : angular frequency of this harmonic without contact, 2 pi c / l; None if unknown
    """

    omega: Floats
    density: Floats
    free: Floats | None
    frequency: float | None


@dataclass(frozen=True, eq=False)
class StringData(RunData):
    """The saved history of two strings in contact and quantities derived from it.

    Parameters
    ----------
    run : the run, computed or loaded

    Raises
    ------
    ModelError : if the run has no fields of strings.
    """

    NEEDED = _NEEDED
    FAMILY = "strings"

    def has(self, name: str) -> bool:
        """Return whether the run has a variable."""
        return name in self.run.variables

    def values(self, name: str) -> Floats:
        """Return the array of a saved variable."""
        return np.asarray(self.run.variables[name].values, dtype=np.float64)

    def place(self, name: str) -> Floats:
        """Return (node,) positions at which the field of string `name`, u or v, is saved."""
        return self.values("x" if name == "u" else "y")

    def length(self, name: str) -> float:
        """Return the length of string `name`; if not saved, that of its grid."""
        if self.has("length"):
            return float(self.values("length")["uv".index(name)])
        return float(self.place(name)[-1])

    def speed(self, name: str) -> float | None:
        """Return the wave speed of string `name`; None if it was not saved."""
        return (
            float(self.values("wave_speed")["uv".index(name)]) if self.has("wave_speed") else None
        )

    def contact(self, name: str) -> Floats:
        """Return (t,) contact points on string `name`, which grow beyond the length of a circle."""
        return self.values("s1" if name == "u" else "s2")

    def contact_on_grid(self, name: str) -> Floats:
        """Return (t,) contact points between 0 and the length; NaN at each passage of a full turn.

        Verified by: tests/unit/rods/figures/strings/test_figures.py::test_contact_goes_round
        """
        s, length = self.contact(name), self.length(name)
        turn = np.floor(s / length)
        turn[s == length] = 0.0
        inside = s - length * turn
        inside[1:][np.diff(turn) != 0.0] = np.nan
        return np.asarray(inside)

    @property
    def breaks(self) -> list[tuple[float, str]]:
        """Times and kinds of the events, which end a run early."""
        log = self.run.event_log
        return list(zip(log.time.tolist(), log.kind, strict=True))

    def chosen(self, names: Sequence[str] | str) -> tuple[str, ...]:
        """Return the names as a tuple; ModelError if one is not u or v."""
        names = (names,) if isinstance(names, str) else tuple(names)
        for name in names:
            if name not in STRINGS:
                raise ModelError(
                    "plot.field",
                    repr(name),
                    "u or v",
                    "the two strings are named u and v.",
                    nearest(str(name), tuple(STRINGS)),
                )
        return names

    def window(self, window: tuple[float, float] | None) -> tuple[float, float]:
        """Return begin and end of the time interval to draw; ModelError if invalid; None: all."""
        return self.span if window is None else window_of("plot.window", window, self.run)

    def end_lines(self, ax: Axes) -> None:
        """Draw a dashed line at the end of the model."""
        for time, _ in self.breaks:
            ax.axvline(time, color=style.INK, lw=0.8, ls=(0, (2, 1.2)), zorder=2.5)

    def end_handles(self) -> list[Any]:
        """Return the legend entries of those lines."""
        from matplotlib.lines import Line2D

        words = {"breakdown": "breakdown", "end": "contact at an end"}
        looks: dict[str, Any] = {"color": style.INK, "lw": 0.8, "ls": (0, (2, 1.2))}
        kinds = dict.fromkeys(kind for _, kind in self.breaks)
        return [Line2D([], [], label=words.get(kind, kind), **looks) for kind in kinds]

    # ---- spectrum of a lead harmonic

    @property
    def evenly_spaced_samples(self) -> int:
        """Number of evenly spaced saved times from the start."""
        gaps = np.diff(self.time)
        if not gaps.size:
            return int(self.time.size)
        uneven = np.flatnonzero(np.abs(gaps - gaps[0]) > 1e-6 * abs(gaps[0]))
        return int(uneven[0]) + 1 if uneven.size else int(self.time.size)

    @property
    def has_spectrum(self) -> bool:
        """Whether enough evenly spaced times were saved for a spectrum."""
        return self.evenly_spaced_samples >= _LEAST_SAMPLES

    def spectrum(self, name: str) -> Line:
        """Return the spectrum of the lead harmonic of string `name`, by a Hann window.

        Raises
        ------
        ModelError : if fewer than 16 evenly spaced times were saved.

        Verified by: tests/unit/rods/figures/strings/test_figures.py::test_spectrum_of_two_lines
        """
        samples = self.evenly_spaced_samples
        if not self.has_spectrum:
            raise ModelError(
                "plot.spectrum",
                f"{samples} evenly spaced times",
                f"at least {_LEAST_SAMPLES}",
                "the Fourier transform needs equal time steps.",
                "save the run at evenly spaced times, for example save=2001.",
            )
        step = float(self.time[1] - self.time[0])
        signal = self.values(f"{name}1")[:samples]
        omega = np.asarray(2.0 * np.pi * np.fft.rfftfreq(samples, step)[1:], dtype=np.float64)
        c = self.speed(name)
        free, frequency = None, None
        if c is not None:
            frequency = 2.0 * np.pi * c / self.length(name)
            phase = frequency * (self.time[:samples] - self.time[0])
            rate = self._harmonic_rate(name)
            alone = signal[0] * np.cos(phase) + rate / frequency * np.sin(phase)
            free = _power(alone, step)
        return Line(omega, _power(signal, step), free, frequency)

    def _harmonic_rate(self, name: str) -> float:
        """Return the rate of the lead harmonic at the start, from the saved velocities."""
        if not self.has(f"{name}_t"):
            return 0.0
        x, length = self.place(name), self.length(name)
        wave = self.values(f"{name}_t")[0] * np.sin(2.0 * np.pi * x / length)
        # the field is zero at both ends of the string, saved or not
        return float(2.0 / length * wave.sum() * (x[1] - x[0]))


def _power(signal: Floats, step: float) -> Floats:
    """Return the power per angular frequency of a signal (t,), with a Hann window.

    It is the one-sided periodogram step |F|^2 / (pi sum w^2) of the weighted signal without its
    weighted mean, with the discrete Fourier transform F and the weights w, at all frequencies but
    zero.
    """
    weights = np.hanning(signal.size)
    signal = (signal - np.average(signal, weights=weights)) * weights
    density = np.abs(np.fft.rfft(signal)) ** 2 * step / (np.pi * (weights**2).sum())
    if signal.size % 2 == 0:
        # the last line has no counterpart of negative frequency
        density[-1] *= 0.5
    return np.asarray(density[1:])
