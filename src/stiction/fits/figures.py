"""Figures of a fit: data and fitted law, residuals, profile likelihoods, correlation.

`Fit.plot` returns them, and `stiction fit` writes them into the folder of the fit. A residual is
the measured minus the fitted force; a profile is the drop of 2 ln L (L: likelihood) below its
maximum when one parameter is fixed and the others are fitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.fits.intervals import drop_at_ends
from stiction.plot import style
from stiction.plot.files import written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.fits.outcome import Estimate, Fit
    from stiction.plot.figure import PaperFigure

__all__ = ["FitFigures"]

Floats = npt.NDArray[np.float64]

# colours of measured data and of the fitted law
_DATA, _LAW = style.GREY, style.BLUE
# the figure shows a profile up to this drop of 2 ln L below its maximum (L: likelihood): a little
# above `intervals.KNOWN_DROP`
_TOP = 24.0


@dataclass(frozen=True, eq=False)
class FitFigures:
    """The figures of a fit.

    Parameters
    ----------
    fit : the fit
    """

    fit: Fit

    NAMES = ("data", "residuals", "profiles", "correlation")

    def data(self) -> PaperFigure:
        """Return measured and fitted forces over displacement, and over time or row number."""
        fit = self.fit
        figure = style.new_figure(style.PAGE, 2.7)
        left, right = style.grid(
            figure, margins=(0.6, 0.16, 0.45, 0.3), columns=2, gaps=(0.75, 0.1)
        )[0]
        for ax, (word, unit, places) in ((left, self._across()), (right, self._clock())):
            for k, (curve, at) in enumerate(zip(fit.curves, places, strict=True)):
                self._pair(ax, at, np.asarray(curve.force), fit.forces[k], first=k == 0)
            style.scale_axis(ax.xaxis, word, unit)
            word = "force" if self._unit else "coefficient of friction"
            style.scale_axis(ax.yaxis, word, self._unit)
        style.key(left, columns=2, markers=2.0)
        return figure

    def residuals(self) -> PaperFigure:
        """Return residuals over time and over the imposed displacement, and their histogram.

        The line is the normal density of mean zero with the mean square of the residuals.
        """
        fit = self.fit
        figure = style.new_figure(style.PAGE, 2.5)
        axes = style.grid(figure, margins=(0.65, 0.16, 0.45, 0.2), columns=3, gaps=(0.75, 0.1))[0]
        for ax, (word, unit, places) in zip(axes, (self._clock(), self._across()), strict=False):
            for k, (at, r) in enumerate(zip(places, fit.residuals, strict=True)):
                colour, shown = style.MASS_COLOURS[k % len(style.MASS_COLOURS)], style.thin(at, r)
                ax.plot(at[shown], r[shown], ".", ms=1.6, color=colour)
            ax.axhline(0.0, lw=0.6, color=style.INK)
            style.scale_axis(ax.xaxis, word, unit)
            style.scale_axis(ax.yaxis, "residual", self._unit)
        every = np.concatenate([r[np.isfinite(r)] for r in fit.residuals])
        axes[2].hist(every, bins=30, color=_DATA, density=True)
        size = max(float(np.sqrt(np.mean(every**2))), 1e-300)
        at = np.linspace(every.min(), every.max(), 200)
        bell = np.exp(-0.5 * (at / size) ** 2) / (size * np.sqrt(2.0 * np.pi))
        axes[2].plot(at, bell, "-", lw=1.0, color=_LAW)
        style.scale_axis(axes[2].xaxis, "residual", self._unit)
        axes[2].set_yticks([])
        axes[2].set_ylabel("density")
        return figure

    def profiles(self) -> PaperFigure:
        """Return the drop of 2 ln L along each parameter while the others are fitted again.

        The dashed line is the drop at the ends of the intervals by `Profile`. Intervals by
        `Bootstrap` are quantiles, whose ends may have another drop.

        Verified by: tests/unit/fits/test_outcome.py::test_profiles_show_the_drop_at_the_ends
        """
        shown = self.fit.estimates
        columns = min(len(shown), 3)
        rows = -(-len(shown) // columns)
        figure = style.new_figure(style.PAGE, 0.35 + 1.95 * rows)
        grid = style.grid(figure, rows, columns, margins=(0.55, 0.16, 0.45, 0.15), gaps=(0.6, 0.55))
        places = [ax for line in grid for ax in line]
        fit = self.fit
        limit = drop_at_ends(fit.intervals.level, fit.known_noise, fit.freedom)
        for ax, estimate in zip(places, shown, strict=False):
            self._profile(ax, estimate, limit)
        for ax in places[len(shown) :]:
            ax.remove()
        return figure

    def correlation(self) -> PaperFigure:
        """Return the correlation matrix of the parameters; undetermined parameters are grey."""
        fit = self.fit
        names = [e.name for e in fit.estimates]
        n = len(names)
        figure = style.new_figure(style.COLUMN, style.COLUMN)
        ax = style.grid(figure, margins=(0.95, 0.2, 0.9, 0.15))[0][0]
        ax.set_facecolor(style.STUCK)
        ax.imshow(np.ma.masked_invalid(fit.correlation), cmap="RdBu_r", vmin=-1.0, vmax=1.0)
        for i in range(n):
            for j in range(n):
                value = fit.correlation[i, j]
                text = f"{value:.2f}".replace("-", "\u2212") if np.isfinite(value) else "?"
                colour = "white" if abs(value) > 0.6 else style.INK
                ax.text(j, i, text, ha="center", va="center", size=6.5, color=colour)
        ax.set_xticks(range(n), names, rotation=90)
        ax.set_yticks(range(n), names)
        return figure

    def write(self, folder: Path, what: Sequence[str] = (), format: str = "png") -> list[Path]:
        """Write the named figures, or all, into a folder; return their paths."""
        for name in what:
            if name not in self.NAMES:
                needs, why = "one of " + ", ".join(self.NAMES), "a fit has these figures."
                try_ = nearest(name, self.NAMES)
                raise ModelError("figure", repr(name), needs, why, try_)
        paths = []
        for name in what or self.NAMES:
            path = folder / f"{name}.{format}"
            with written(path) as partial:
                getattr(self, name)().savefig(partial, format=format, dpi=200)
            paths.append(path)
        return paths

    # ---- parts of the figures

    @property
    def _unit(self) -> str:
        """Unit of the measured values: none if all are coefficients of friction."""
        forces = any((np.asarray(curve.normal_force) != 1.0).any() for curve in self.fit.curves)
        return "N" if forces else ""

    def _across(self) -> tuple[str, str, list[Floats]]:
        """Return label, unit and, for each curve, (n,) values of the displacement.

        They are those of the velocity if a curve has no displacement.
        """
        curves = self.fit.curves
        if all(curve.displacement is not None for curve in curves):
            return "displacement", "m", [np.asarray(curve.displacement) for curve in curves]
        return "velocity", "m/s", [curve.speeds() for curve in curves]

    def _clock(self) -> tuple[str, str, list[Floats]]:
        """Return label, unit and each curve's (n,) times, or row numbers if one has no times."""
        curves = self.fit.curves
        if all(curve.time is not None for curve in curves):
            return "time", "s", [curve.clock for curve in curves]
        return "row", "", [np.arange(float(curve.rows)) for curve in curves]

    def _pair(self, ax: Axes, x: Floats, data: Floats, law: Floats, *, first: bool) -> None:
        """Draw measured and fitted values (n,) of one curve over x (n,); `first` has labels."""
        shown = style.thin(x, data)
        dots: dict[str, Any] = {"ms": 2.0, "mew": 0.0, "color": _DATA}
        ax.plot(x[shown], data[shown], "o", label="measured" if first else None, **dots)
        shown = style.thin(x, law)
        ax.plot(x[shown], law[shown], "-", lw=1.0, color=_LAW, label="law" if first else None)

    def _profile(self, ax: Axes, estimate: Estimate, limit: float) -> None:
        """Draw the profile of one parameter, the drop `limit` and the ends of its interval."""
        from scipy.interpolate import PchipInterpolator

        places = estimate.places[np.isfinite(estimate.places).all(axis=1)]
        x, first = np.unique(places[:, 0], return_index=True)
        drop = places[first, 1]
        if x.size > 1:
            # the square root of the drop is nearly linear: interpolate it
            root = np.sqrt(drop) * np.sign(x - estimate.value)
            fine = np.linspace(x[0], x[-1], 801)
            smooth = PchipInterpolator(x, root)(fine) ** 2
            inside = fine[smooth < _TOP]
            ax.plot(fine, smooth, "-", lw=0.9, color=_LAW)
            room = 0.05 * np.ptp(inside)
            if room > 0.0:
                ax.set_xlim(inside[0] - room, inside[-1] + room)
        ax.plot(x, drop, "o", ms=2.5, mew=0.0, color=_LAW)
        ax.axhline(limit, lw=0.6, ls="--", color=style.INK)
        for end in (estimate.low, estimate.high):
            if np.isfinite(end):
                ax.axvline(end, lw=0.6, color=style.MASS_COLOURS[1])
        ax.set_ylim(0.0, _TOP)
        unit = estimate.unit
        plain = unit.startswith("1")
        word = estimate.name + (f" ({unit})" if plain and unit != "1" else "")
        style.scale_axis(ax.xaxis, word, "" if plain else unit)
        style.scale_axis(ax.yaxis, "drop of 2 ln L")
