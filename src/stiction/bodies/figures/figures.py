"""Figures of rigid bodies: their places at six times, and their speeds; and the movie.

`stiction plot` and `run.plot` call `figures_of`. All numbers come from the saved variables of a run
(`outcome`); `space` has the figures of bodies in space.
"""

from __future__ import annotations

import numpy as np

from stiction.bodies.figures.outlines import limits, outlines, spring_ends, support_outlines
from stiction.bodies.figures.player import movie_of
from stiction.bodies.figures.space import movie_in_space, scene_in_space
from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.figure import PaperFigure
from stiction.plot.figures import Figures
from stiction.plot.player.movie import Movie
from stiction.plot.player.sampling import frame_times

__all__ = ["BodyFigures", "figures_of"]

_FRAMES = 6
# bodies up to which their numbers stand beside the lines
_LABELLED = 8


class BodyFigures(Figures):
    """The figures of a run of rigid bodies."""

    NAMES = ("scene", "speeds")
    default = NAMES

    def scene(self) -> PaperFigure:
        """Return the bodies at six times, the last ones darkest, with the paths of their centres.

        Springs and the pins of hinges are drawn at the end.

        Verified by: tests/unit/bodies/test_figures.py::test_outlines_stand_where_the_bodies_are
        """
        run = self.run
        if _is_in_space(run):
            return scene_in_space(run, _FRAMES)
        low, high = limits(run)
        # as high as the view, whose units are equal
        height = (style.PAGE - 0.72) * (high - low)[1] / (high - low)[0]
        figure = style.new_figure(style.PAGE, float(np.clip(height, 0.8, 5.0)) + 0.54)
        ((ax,),) = style.grid(figure)
        position, angle = run.variables["position"].values, run.variables["angle"].values
        frames = np.unique(np.linspace(0, len(run.time) - 1, _FRAMES).round().astype(int))
        for k in range(len(run.variables["support"].values)):
            for around in support_outlines(run, k, run.time[frames], low, high):
                # edges above all areas: a floor that rises covers where it was
                ax.fill(*around.T, fc=style.REST, lw=0.0, zorder=0.5)
                ax.fill(*around.T, fc="none", ec=style.GREY, lw=0.7)
        for body in range(angle.shape[1]):
            shown = outlines(run, body, position[frames, body], angle[frames, body])
            for k, points in enumerate(shown):
                shade = min(1.0, 0.2 + 0.8 * (k + 1) / len(frames))
                ax.fill(*points.T, fc=style.STUCK, ec=style.INK, lw=0.7, alpha=shade)
            ax.plot(*position[:, body].T, color=style.BLUE, lw=0.6)
        for ends in spring_ends(run)[-1]:
            ax.plot(*ends.T, color=style.GREY, lw=0.9, marker="o", ms=2.0)
        if "hinge_place" in run.variables:
            pins = run.variables["hinge_place"].values[-1]
            ax.plot(*pins.T, color=style.INK, lw=0.0, marker="o", ms=3.5, mfc="white")
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x (m)", ylabel="y (m)")
        ax.set_aspect("equal", adjustable="box")
        return figure

    def movie(self, count: int) -> Movie:
        """Return the motion of the bodies."""
        times = frame_times(self.run, count)
        return (movie_in_space if _is_in_space(self.run) else movie_of)(self.run, times)

    def speeds(self) -> PaperFigure:
        """Return speeds of the centres of mass, and rotation; one colour for each body."""
        figure = style.new_figure(style.COLUMN, 3.0)
        margins = (0.66, 0.3, 0.42, 0.12)
        (top,), (low,) = style.grid(figure, rows=2, margins=margins, share_time=True)
        run = self.run
        speed = np.linalg.norm(run.variables["velocity"].values, axis=-1)
        spin, n = run.variables["spin"].values, speed.shape[1]
        spin = np.linalg.norm(spin, axis=-1) if spin.ndim > 2 else spin
        colours = style.mass_colours(np.arange(1, n + 1), n)
        for ax, values in ((top, speed), (low, spin)):
            for body in range(n):
                ax.plot(run.time, values[:, body], color=colours[body], lw=0.8)
        top.set_ylabel("speed (m/s)")
        low.set(xlabel="time (s)", ylabel="spin (rad/s)")
        figure.align_ylabels([top, low])
        if n <= _LABELLED:
            style.end_labels(top, speed[-1], [str(k + 1) for k in range(n)], colours)
        return figure


def _is_in_space(run: Run) -> bool:
    """Return whether the bodies of a run move in space."""
    return "orientation" in run.variables


figures_of = BodyFigures
