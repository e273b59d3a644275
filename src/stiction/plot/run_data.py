"""The saved history of a run as figures read it: sample times, and a check of its variables.

The modules `figures.data` of the systems derive a class from `RunData` with their variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.errors import ModelError
from stiction.numerics.checks import floats_of
from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RunData", "window_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunData:
    """The saved history of a run; base of one class for each kind of system.

    Parameters
    ----------
    run : the run, live or loaded

    Raises
    ------
    ModelError : if the run lacks a variable in `NEEDED`.
    """

    run: Run

    # variables that the figures need, and the name of the kind of system in messages
    NEEDED: ClassVar[tuple[str, ...]] = ()
    FAMILY: ClassVar[str] = "a run"

    def __post_init__(self) -> None:
        missing = [name for name in self.NEEDED if name not in self.run.variables]
        if missing:
            got = f"a run of {self.run.system_name} without {', '.join(missing)}"
            needs = "the saved variables " + ", ".join(self.NEEDED)
            why = f"the figures of {self.FAMILY} are drawn from these variables."
            raise ModelError("plot", got, needs, why, "solve again, and save the whole run.")

    @property
    def time_word(self) -> str:
        """The label of time: dimensionless if the run has no unit of time."""
        return style.DIMENSIONLESS_TIME if self.run.time_unit == "1" else "time"

    def time_axis(self, ax: Axes, span: tuple[float, float] | None = None) -> None:
        """Label the horizontal axis of `ax` as time and fit it to the span."""
        ax.set_xlim(*(span or self.span))
        style.scale_axis(ax.xaxis, self.time_word, self.run.time_unit)

    @property
    def time(self) -> Floats:
        """(t,) saved times, in the time unit of the run."""
        return self.run.time

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end of the times to draw; a run that ended at once gets a unit of time."""
        begin, end = float(self.time[0]), float(self.time[-1])
        return begin, end if end > begin else begin + 1.0


def window_of(where: str, window: object, run: Run) -> tuple[float, float]:
    """Return begin and end of a window of time; a ModelError for one that is not inside the run.

    Parameters
    ----------
    where : name of the argument, for the message
    window : two times; ends within rounding of the ends of the run are moved onto them
    """
    low, high = float(run.time[0]), float(run.time[-1])
    given, rounding = floats_of(window), 1e-12 * (abs(low) + abs(high))
    inside = np.clip(given, low, high)
    moved = np.abs(inside - given).max(initial=0.0) > rounding
    if given.shape != (2,) or moved or not inside[0] < inside[1]:
        unit = "" if run.time_unit == "1" else f" [{run.time_unit}]"
        needs = f"a begin and a later end between {low} and {high}{unit}"
        why, try_ = "only saved states can be drawn.", "leave this value out to show the whole run."
        raise ModelError(where, repr(window), needs, why, try_)
    return float(inside[0]), float(inside[1])
