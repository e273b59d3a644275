"""The movie of a study: each frame shows saved results at one value of a swept field.

`Study.animate` shows it in a notebook, or writes it as a page or a film.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.plot.player import movie as m
from stiction.studies.results import largest_entry

if TYPE_CHECKING:
    from stiction.studies.figures import StudyFigures

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]

_MOST_FRAMES = 400
_MOST_VIEWS = 2
_MOST_POINTS = 400


def movie_of(figures: StudyFigures, varied: str, over: str | None, names: list[str]) -> m.Movie:
    """Return the movie of a study; each frame is one value of a swept field.

    Members with equal values of the fields, as with seeds, are shown by their median. A result that
    is a list is shown by its largest entry.

    Parameters
    ----------
    varied : the field that changes from frame to frame
    over : the field along the horizontal axis; None for `varied`
    names : saved results; the first two become views

    Raises
    ------
    ModelError : if no field has two values, or no saved result is a number.

    Verified by: tests/unit/studies/test_player.py::test_frames_are_the_members
    """
    table = figures.study.table
    places = np.asarray(table[varied], dtype=np.float64)
    values = np.unique(places)
    if values.size > _MOST_FRAMES:
        values = values[np.unique(np.linspace(0, values.size - 1, _MOST_FRAMES).astype(int))]
    results = {name: largest_entry(np.asarray(table[name], dtype=np.float64)) for name in names}
    results = {name: numbers for name, numbers in results.items() if np.isfinite(numbers).any()}
    if values.size < 2 or not results:
        got = "a study without a varied number"
        needs = "a swept number of two values or more, and a saved number"
        why = "each frame shows a saved number at one value of a swept field."
        try_ = "draw the figure `distribution`."
        raise ModelError("animate", got, needs, why, try_)
    at = np.asarray(table[over], dtype=np.float64) if over else places
    views = [
        _view(figures, name, results[name], (varied, places, values), (over, at))
        for name in list(results)[:_MOST_VIEWS]
    ]
    readings = [
        m.Reading(figures.word(name), figures.unit(name), _medians(numbers, places, values))
        for name, numbers in results.items()
    ]
    # readings show only results with a number in every frame
    complete = [r for r in readings if np.isfinite(r.values).all()][:4]
    return m.Movie(
        title=figures.study.title or "a study",
        notes=f"{varied} takes the {values.size} values of the study in turn; "
        f"grey: all {figures.study.members} members"
        + (f"; blue: along {over} at the value shown" if over else ""),
        time=values,
        unit=figures.unit(varied),
        views=views,
        readings=complete,
        keys=[(m.BLUE, "at the value shown"), (m.GREY, "all members")],
        even=True,
        clock=varied,
    )


def _medians(numbers: Floats, places: Floats, values: Floats) -> Floats:
    """Return the median of the members at each of `values`; `places` has the value of each."""
    groups = [numbers[(places == value) & np.isfinite(numbers)] for value in values]
    return np.array([np.median(group) if group.size else np.nan for group in groups])


def _view(
    figures: StudyFigures,
    name: str,
    numbers: Floats,
    slides: tuple[str, Floats, Floats],
    along: tuple[str | None, Floats],
) -> m.View:
    """Return a view of all members in grey, and of those at the value of the frame in blue."""
    varied, places, values = slides
    over, at = along
    good = np.flatnonzero(np.isfinite(numbers))
    some = good[np.unique(np.linspace(0, good.size - 1, _MOST_POINTS).astype(int))]
    every = np.column_stack([at[some], numbers[some]])[None]
    layers: list[m.Layer] = [m.Dots(every, np.full((1, some.size), m.GREY), 2.0)]
    if over:
        axis = np.unique(at)
        at_value = [places == value for value in values]
        curves = [np.column_stack([axis, _medians(numbers[k], at[k], axis)]) for k in at_value]
        shown = np.stack(curves)
    else:
        shown = np.column_stack([values, _medians(numbers, places, values)])[:, None]
    # a missing number is drawn below the visible range
    low, high = _limits(at[good], numbers[good])
    hidden = ~np.isfinite(shown[..., 1])
    shown[..., 1] = np.where(hidden, low[1] - 10.0 * (high[1] - low[1]), shown[..., 1])
    if over and not hidden.any():
        layers.append(m.Lines(shown, (0,), np.full((1, 1), m.BLUE), 1.6))
    layers.append(m.Dots(shown, np.where(hidden, m.HIDDEN, m.BLUE), 4.0))
    unit = figures.unit(name)
    label = figures.word(name) + (f" ({unit})" if unit else "")
    across = over or varied
    unit = figures.unit(across)
    axes = (across + (f" ({unit})" if unit else ""), label)
    return m.View(f"{label} over {across}", layers, low, high, axes, False, 0.6)


def _limits(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return (2,) lower and (2,) upper limits of both axes, with a margin of 6 %."""
    low = np.array([x.min(), y.min()], dtype=np.float64)
    high = np.array([x.max(), y.max()], dtype=np.float64)
    spare = np.where(high > low, 0.06 * (high - low), 0.5 * np.maximum(np.abs(high), 1.0))
    return low - spare, high + spare
