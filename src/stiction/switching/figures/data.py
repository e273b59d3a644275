"""Data of the figures of a piecewise-smooth flow: variables of a run and derived quantities.

Only saved data are read, so that a run loaded from disk gives the same figures as a live one. A run
has t saved times and m surfaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.plot import style
from stiction.plot.run_data import RunData

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["MODES", "FlowData", "labels", "symbol"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NEEDED = ("mode", "multiplier")
MODES = {"+": 1, "slide": 0, "-": -1}
SCALED_TIME = "scaled time τ (s/(kg m²))"
_GREEK = {"omega": "ω", "theta": "θ", "phi": "φ", "psi": "ψ"}


@dataclass(frozen=True, eq=False)
class FlowData(RunData):
    """The saved history of a flow and quantities derived from it.

    Parameters
    ----------
    run : the run, live or loaded

    Raises
    ------
    ModelError : if the run holds no history of a flow.
    """

    NEEDED = _NEEDED
    FAMILY = "a flow"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the states, in the order of the system."""
        return tuple(self.run.final)

    def state(self, name: str) -> Floats:
        """Return (t,) one state."""
        return np.asarray(self.run.variables[name].values, dtype=np.float64)

    def unit(self, name: str) -> str:
        """Return the unit of a variable, "" where it has none."""
        unit = self.run.variables[name].unit
        return "" if unit == "1" else unit

    @property
    def mode(self) -> Ints:
        """(t, m) modes: -1 where h < 0, 0 sliding, 1 where h > 0."""
        values = np.asarray(self.run.variables["mode"].values, dtype=np.int64)
        return values.reshape(self.time.size, -1)

    @property
    def multiplier(self) -> Floats:
        """(t, m) sign of h, the multiplier while sliding."""
        values = np.asarray(self.run.variables["multiplier"].values, dtype=np.float64)
        return values.reshape(self.time.size, -1)

    @property
    def n_surface(self) -> int:
        """Number of switching surfaces."""
        return int(self.mode.shape[1])

    @property
    def time_word(self) -> str:
        """Label of the time axis; the time is called scaled if it has no unit but a state has."""
        scaled = is_scaled(self.run.time_unit, map(self.unit, self.names))
        return SCALED_TIME if scaled else super().time_word

    def label(self, axis: Axis, name: str, *, alone: bool = False) -> None:
        """Label an axis with the symbol and the unit of a state.

        Parameters
        ----------
        alone : whether the figure has no axis of time, whose label would say that the system is
            dimensionless
        """
        without = alone and self.time_word == style.DIMENSIONLESS_TIME
        plain = " (dimensionless)" if without else ""
        style.scale_axis(axis, f"{symbol(name)}{plain}", self.unit(name))

    def chosen(self, names: Sequence[object]) -> tuple[str, ...]:
        """Return the names of states; a ModelError for an unknown one has the nearest known one."""
        for name in names:
            if name not in self.names:
                raise ModelError(
                    "plot.phase",
                    repr(name),
                    "one of " + ", ".join(self.names),
                    "each axis of a phase portrait shows one state.",
                    nearest(str(name), self.names),
                )
        return tuple(str(name) for name in names)

    def mode_changes(self, i: int) -> tuple[Floats, Ints]:
        """Return the times of mode changes of surface `i` (from 0), and the modes (-1, 0, 1).

        Verified by: tests/unit/switching/figures/test_figures.py::test_modes_come_from_the_events
        """
        log = self.run.event_log
        begin, first = self.time[:1], self.mode[:1, i]
        mine = [
            k
            for k in np.flatnonzero(log.contact == i + 1).tolist()
            if log.before[k] != log.after[k]
        ]
        if not mine:
            return begin, first
        modes = np.array([MODES[log.before[mine[0]]], *(MODES[log.after[k]] for k in mine)])
        return np.concatenate([begin, log.time[mine]]), modes

    @property
    def losses(self) -> list[tuple[float, str]]:
        """Time and kind of each loss of determinism."""
        return [(loss.time, loss.kind) for loss in self.run.determinism.losses]


def is_scaled(time_unit: str, units: Iterable[str]) -> bool:
    """Return whether time is scaled: it has no unit, but a state has one."""
    return time_unit == "1" and any(unit not in ("", "1") for unit in units)


def labels(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Return labels of axes for the states and, last, for time, whose unit is the last one."""
    *of_states, of_time = units
    words = [
        f"{symbol(name)} ({unit})" if unit not in ("", "1") else symbol(name)
        for name, unit in zip(names, of_states, strict=True)
    ]
    plain = SCALED_TIME if is_scaled(of_time, of_states) else style.DIMENSIONLESS_TIME
    return [*words, plain if of_time == "1" else f"time ({of_time})"]


def symbol(name: str) -> str:
    """Return the symbol of a state: Greek letters by name, final digits as subscripts."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return _GREEK.get(stem, stem) + (style.subscript(int(digits)) if digits else "")
