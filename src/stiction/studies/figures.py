"""Figures of a study: a saved result over one or two swept fields, or its distribution.

There are heat maps, curves with quantile bands, phase diagrams, maps of the number of events, and
histograms. `Study.plot` returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, StoreError, explain, nearest
from stiction.plot.figures import Animated
from stiction.plot.files import check_looks, written
from stiction.plot.style import (
    COLUMN,
    INK,
    MASS_COLOURS,
    colour_bar,
    grid,
    key,
    many_colours,
    new_figure,
    scale_axis,
)
from stiction.studies.results import ABSENT, STANDARD, STATUSES, largest_entry, without_run

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie
    from stiction.studies.study import Study

__all__ = ["StudyFigures", "write_study_figures"]

Array = npt.NDArray[Any]

_FEW = 8
_SIZE = (COLUMN, 2.6)
_MARGINS = (0.6, 0.75, 0.45, 0.3)


@dataclass(frozen=True, eq=False)
class StudyFigures(Animated):
    """The figures of a study; each method draws one saved result over the swept fields.

    Parameters
    ----------
    study : the study, complete or not
    """

    study: Study

    NAMES = ("map", "curve", "phase", "events", "distribution")

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named."""
        if any(path.rpartition(".")[2] == "seed" for path in self._numeric()):
            return ("curve", "distribution")
        if len(self._numeric()) >= 2:
            return ("map", "phase", "events", "distribution")
        return ("curve", "phase", "distribution") if self._numeric() else ("distribution",)

    def map(self, name: str | None = None) -> PaperFigure:
        """Return a heat map of a result over the first two swept fields.

        If several members belong to a cell, as with seeds, the cell shows their mean.
        """
        return self._map(name or self._first(), many_colours())

    def events(self) -> PaperFigure:
        """Return a map of the number of events."""
        return self._map("events", many_colours())

    def phase(self, name: str | None = None) -> PaperFigure:
        """Return a phase diagram: the values of a discrete result, or whether it exists.

        The default result is the status, if it differs among the members; otherwise the diagram
        shows whether the first saved result exists. Squares of several phases at one place, as with
        seeds, are nested.
        """
        words, place = self._phases(name)
        figure = new_figure(COLUMN, 2.7)
        ax = grid(figure, margins=(0.6, 0.16, 0.45, 0.5))[0][0]
        x, y, axes = self._plane()
        places, at = _places(x, y)
        found = np.zeros((len(places), len(words)), dtype=bool)
        found[at[place >= 0], place[place >= 0]] = True
        inside = 1.0 - (np.cumsum(found, axis=1) - 1) / np.maximum(found.sum(axis=1), 1)[:, None]
        for k, word in enumerate(words):
            these, colour = found[:, k], MASS_COLOURS[k % len(MASS_COLOURS)]
            areas = (self._marker_size(axes) * inside[these, k]) ** 2
            ax.scatter(places[these, 0], places[these, 1], s=areas, c=colour, marker="s", lw=0)
            ax.plot([], [], "s", ms=4.0, color=colour, label=word, mew=0)
        self._label(ax, axes)
        key(ax, columns=min(len(words), 3), markers=1.5)
        return figure

    def curve(self, name: str | None = None) -> PaperFigure:
        """Return median and 5 % to 95 % quantiles of a result over the first swept field."""
        name = name or self._first()
        path = self._plane()[2][0]
        x, values = self._values(path), self._result(name)
        figure = new_figure(*_SIZE)
        ax = grid(figure, margins=(0.6, 0.16, 0.45, 0.3))[0][0]
        places = np.unique(x)
        columns = values.reshape(len(values), -1)
        for k in range(min(columns.shape[1], len(MASS_COLOURS))):
            groups = [columns[(x == p) & np.isfinite(columns[:, k]), k] for p in places]
            bands = np.array([_band(group) for group in groups])
            colour = MASS_COLOURS[k]
            label = f"{k + 1}" if columns.shape[1] > 1 else None
            ax.plot(places, bands[:, 1], "-", lw=1.0, color=colour, label=label)
            if (bands[:, 2] > bands[:, 0]).any():
                shade: dict[str, Any] = {"color": colour, "alpha": 0.2, "lw": 0}
                ax.fill_between(places, bands[:, 0], bands[:, 2], **shade)
        if columns.shape[1] > 1:
            key(ax, columns=6)
        scale_axis(ax.xaxis, path, self.unit(path))
        scale_axis(ax.yaxis, _words(name), self.unit(name))
        return figure

    def distribution(self, name: str | None = None) -> PaperFigure:
        """Return the histogram of a result over all members."""
        name = name or self._first()
        result = self._result(name)
        values = result[np.isfinite(result)]
        figure = new_figure(*_SIZE)
        ax = grid(figure, margins=(0.6, 0.16, 0.45, 0.3))[0][0]
        if values.size:
            bins = int(np.clip(np.sqrt(values.size), 5, 60))
            low, high = float(values.min()), float(values.max())
            # values that differ by rounding only count as equal
            if high - low <= 1e-12 * max(abs(low), abs(high)):
                low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
            ax.hist(values, bins=bins, range=(low, high), color=MASS_COLOURS[0])
        scale_axis(ax.xaxis, _words(name), self.unit(name))
        scale_axis(ax.yaxis, "entries of all members" if result.size > len(result) else "members")
        return figure

    def movie(self, count: int) -> Movie:
        """Return a movie that varies the first swept field; `count` is not used."""
        from stiction.studies.player import movie_of

        swept = [p for p in self._numeric() if len(np.unique(self._values(p))) > 1]
        if not swept:
            self._plane()
            swept = list(self._numeric())
        over = next((p for p in swept[1:] if not p.endswith("seed")), None)
        return movie_of(self, swept[0], over, [*self._result_names(), "events"])

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError for an unknown name; the message lists the figures."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(_unknown(name))

    # ---- data

    def _numeric(self) -> list[str]:
        """Return the swept fields that hold numbers; those with a single value come last."""
        table = self.study.table
        numeric = [p for p in self.study.fields if table[p].dtype.kind in "fiu"]
        sizes = {p: len(np.unique(table[p])) for p in numeric}
        return sorted(numeric, key=lambda p: sizes[p] == 1)

    def _values(self, path: str) -> Array:
        return np.asarray(self.study.table[path], dtype=np.float64)

    def _result_names(self) -> list[str]:
        """Return the names of the saved results, those without a number in any member last."""
        skip = (*self.study.fields, *STANDARD)
        variables = self.study.manifest.variables
        named = [n for n in variables if n not in skip and variables[n].dims[:1] != ("row",)]
        # results without a number in any member come last
        table = self.study.table
        return sorted(
            named, key=lambda n: (not np.isfinite(table[n]).any(), len(variables[n].shape))
        )

    def _first(self) -> str:
        return (self._result_names() or ["events"])[0]

    def _result(self, name: str) -> Array:
        """Return a saved result of all members as floats, NaN for members without a run."""
        known = [*self._result_names(), *STANDARD]
        if name not in known:
            needs, why = "one of " + ", ".join(known), "only these results were saved."
            raise ModelError("plot", repr(name), needs, why, nearest(name, known))
        values = np.asarray(self.study.table[name], dtype=np.float64)
        status = self.study.table["status"]
        values[status == ABSENT if name == "status" else without_run(status)] = np.nan
        return values

    def unit(self, name: str) -> str:
        """Return the unit of a field or a result; "" if it is dimensionless."""
        unit = self.study.manifest.variables[name].unit
        return "" if unit == "1" else unit

    def word(self, name: str) -> str:
        """Return the label of one number of a result for each member: of a list, the largest."""
        shape = self.study.manifest.variables[name].shape
        return ("largest " if np.prod(shape) > 1 else "") + _words(name)

    def _plane(self) -> tuple[Array, Array, list[str]]:
        """Return the coordinates of the members over one or two swept fields."""
        axes = self._numeric()[:2]
        if not axes:
            needs, why = "a swept field that holds numbers", "an axis of the figure needs numbers."
            try_ = "draw the figure `distribution`."
            raise ModelError("plot", "swept fields without numbers", needs, why, try_)
        x = self._values(axes[0])
        y = self._values(axes[1]) if len(axes) > 1 else np.zeros_like(x)
        return x, y, axes

    def _phases(self, name: str | None) -> tuple[list[str], Array]:
        """Return the labels of the phases, and the phase of each member; -1 if it is not solved."""
        status = self.study.table["status"]
        if name is None and len(np.unique(status[status != ABSENT])) > 1:
            codes = [int(c) for c in np.unique(status) if c != ABSENT]
            place = np.array([codes.index(int(c)) if c != ABSENT else -1 for c in status])
            return [STATUSES[c].replace("_", " ") for c in codes], place
        name = name or self._first()
        values = self._result(name)
        values = largest_entry(values)
        distinct = np.unique(values[np.isfinite(values)])
        if 1 < len(distinct) <= _FEW:
            place = np.searchsorted(distinct, np.nan_to_num(values))
            place[~np.isfinite(values)] = -1
            return [f"{self.word(name)} {v:.4g}" for v in distinct], place
        place = np.where(np.isfinite(values), 0, 1)
        place[without_run(status)] = -1
        return [_words(name), f"no {_words(name)}"], place

    def _map(self, name: str, colours: Any) -> PaperFigure:
        """Draw a result over one or two fields: cells of a grid, or dots if it has many gaps."""
        x, y, axes = self._plane()
        drawn = largest_entry(self._result(name))
        figure = new_figure(COLUMN, 2.7)
        ax = grid(figure, margins=_MARGINS)[0][0]
        good = np.isfinite(drawn)
        limits = (float(drawn[good].min()), float(drawn[good].max())) if good.any() else (0.0, 1.0)
        if limits[0] == limits[1]:
            limits = (limits[0] - 0.5, limits[1] + 0.5)
        scale: dict[str, Any] = {"cmap": colours, "vmin": limits[0], "vmax": limits[1]}
        xs, i = np.unique(x, return_inverse=True)
        ys, j = np.unique(y, return_inverse=True)
        if len(xs) * len(ys) <= 4 * len(x):
            total, count = np.zeros((len(ys), len(xs))), np.zeros((len(ys), len(xs)))
            np.add.at(total, (j[good], i[good]), drawn[good])
            np.add.at(count, (j[good], i[good]), 1.0)
            with np.errstate(all="ignore"):
                ax.pcolormesh(_edges(xs), _edges(ys), total / count, rasterized=True, **scale)
        else:
            places, at = _places(x[good], y[good])
            mean = np.bincount(at, drawn[good]) / np.bincount(at)
            ax.scatter(places[:, 0], places[:, 1], c=mean, s=6, lw=0, **scale)
        self._label(ax, axes)
        colour_bar(ax, colours, limits, self.word(name), self.unit(name))
        return figure

    def _marker_size(self, axes: list[str]) -> float:
        """Return the size of markers that fill a grid [pt]."""
        most = max(len(np.unique(self._values(path))) for path in axes)
        return float(np.clip(150.0 / most, 1.0, 8.0))

    def _label(self, ax: Any, axes: list[str]) -> None:
        """Label the axes of a figure with the names and units of the swept fields."""
        scale_axis(ax.xaxis, axes[0], self.unit(axes[0]))
        if len(axes) > 1:
            scale_axis(ax.yaxis, axes[1], self.unit(axes[1]))
        else:
            ax.set_yticks([])
            ax.yaxis.label.set_color(INK)


def _places(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the (p, 2) distinct places, and the place of each member."""
    places, at = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    return places, at.ravel()


def _band(values: Array) -> tuple[float, float, float]:
    """Return the quantiles 5 %, 50 % and 95 % of values; NaN for none."""
    if not values.size:
        return np.nan, np.nan, np.nan
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    return float(low), float(middle), float(high)


def _edges(values: Array) -> Array:
    """Return the edges of the cells of a heat map around their centres `values`."""
    if len(values) == 1:
        half = 0.5 * (abs(values[0]) or 1.0)
        return np.array([values[0] - half, values[0] + half])
    middle = 0.5 * (values[1:] + values[:-1])
    first, last = 2 * values[0] - middle[0], 2 * values[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _unknown(name: str) -> str:
    needs, why = "one of " + ", ".join(StudyFigures.NAMES), "a study has these figures."
    return explain("plot", f"figure {name!r}", needs, why, nearest(name, StudyFigures.NAMES))


def write_study_figures(
    study: Study,
    folder: Path,
    what: Sequence[str] = (),
    format: str = "png",
    dpi: float | None = None,
) -> list[Path]:
    """Write figures of a study and return their paths, one file each.

    Parameters
    ----------
    what : names of figures, or NAME:RESULT such as map:stop_time; () for the default set
    format : "png", "pdf" or "svg"
    dpi : dots per inch of PNG; None for 150

    Verified by: tests/unit/studies/test_figures.py::test_the_default_set_is_written
    """
    if not study.members:
        got, needs, try_ = (
            "a study without members",
            "one member or more",
            "run the same sweep again.",
        )
        raise ModelError("plot", got, needs, "the study ended before its members were saved.", try_)
    figures = study.plot
    wanted = list(what) or list(figures.default)
    for name in wanted:
        if name.partition(":")[0] not in StudyFigures.NAMES:
            raise ModelError(_unknown(name.partition(":")[0]))
        if name.startswith("events:"):
            needs, why = (
                "'events' alone",
                "the figure `events` shows the number of events, and takes no other result.",
            )
            raise ModelError("plot", repr(name), needs, why, f"draw map:{name.partition(':')[2]}.")
    dpi = check_looks(format, dpi)
    paths = []
    for name in dict.fromkeys(wanted):
        kind, _, result = name.partition(":")
        figure = getattr(figures, kind)(*([result] if result else []))
        path = folder / f"{kind}{'-' + result if result else ''}.{format}"
        try:
            with written(path) as partial:
                figure.savefig(partial, format=format, dpi=dpi)
        except OSError as error:
            got, needs = error.strerror or str(error), "a folder that can be written"
            why = "figures are written to this folder."
            try_ = "free space on the disk, or change permissions."
            raise StoreError(str(folder), got, needs, why, try_) from error
        paths.append(path)
    return paths
