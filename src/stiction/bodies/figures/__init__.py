"""Figures of rigid bodies: where they are, and their energies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.figure import PaperFigure
from stiction.plot.figures import Figures

__all__ = ["BodyFigures", "figures_of"]

Floats = npt.NDArray[np.float64]

_FRAMES = 6
_ARC = np.linspace(0.0, 2.0 * np.pi, 60)


class BodyFigures(Figures):
    """The figures of a run of rigid bodies."""

    NAMES = ("scene", "speeds")
    default = NAMES

    def scene(self) -> PaperFigure:
        """Return the bodies at six times, the last ones darkest, with the paths of their centres.

        Verified by: tests/unit/bodies/test_figures.py::test_outlines_stand_where_the_bodies_are
        """
        figure = style.new_figure(style.PAGE, 3.2)
        ((ax,),) = style.grid(figure)
        run = self.run
        position, n = run.variables["position"].values, run.variables["angle"].values.shape[1]
        frames = np.unique(np.linspace(0, len(run.time) - 1, _FRAMES).round().astype(int))
        for k, frame in enumerate(frames):
            shade = min(1.0, 0.2 + 0.8 * (k + 1) / len(frames))
            for body in range(n):
                ax.fill(
                    *outline(run, frame, body).T, fc=style.STUCK, ec=style.INK, lw=0.7, alpha=shade
                )
        for body in range(n):
            ax.plot(*position[:, body].T, color=style.BLUE, lw=0.6)
        x, y = (
            np.concatenate([outline(run, f, b)[:, i] for f in frames for b in range(n)])
            for i in (0, 1)
        )
        edge = 0.08 * max(np.ptp(x), np.ptp(y))
        ax.set(xlim=(x.min() - edge, x.max() + edge), ylim=(y.min() - edge, y.max() + edge))
        for k in range(len(run.variables["support"].values)):
            ax.fill(
                *support_outline(run, k, x, y).T, fc=style.REST, ec=style.GREY, lw=0.7, zorder=0
            )
        ax.set_aspect("equal", adjustable="box")
        ax.set(xlabel="x (m)", ylabel="y (m)")
        return figure

    def speeds(self) -> PaperFigure:
        """Return speeds of the centres of mass, and rotation."""
        figure = style.new_figure(style.COLUMN, 3.0)
        (top,), (low,) = style.grid(figure, rows=2, share_time=True)
        run = self.run
        speed = np.hypot(*np.moveaxis(run.variables["velocity"].values, -1, 0))
        top.plot(run.time, speed, color=style.INK, lw=0.8)
        low.plot(run.time, run.variables["spin"].values, color=style.INK, lw=0.8)
        top.set_ylabel("speed (m/s)")
        low.set(xlabel="time (s)", ylabel="spin (rad/s)")
        return figure


def outline(run: Run, frame: int, body: int) -> Floats:
    """Return (k, 2) points around a body at a saved state [m]; a disc shows a radius."""
    values = run.variables
    radius = float(values["surface_radius"].values[body])
    corners = values["surface_corners"].values[body]
    points = corners[np.isfinite(corners[:, 0])] if radius == 0.0 else _disc(radius)
    angle = float(values["angle"].values[frame, body])
    return np.asarray(_turned(points, angle) + values["position"].values[frame, body])


def support_outline(run: Run, k: int, x: Floats, y: Floats) -> Floats:
    """Return (k, 2) points around a support at the start [m]; of a half plane a strip in view."""
    values = run.variables
    surface = len(values["surface_kind"].values) - len(values["support"].values) + k
    place, angle = values["support"].values[k, :2], float(values["support"].values[k, 2])
    radius = float(values["surface_radius"].values[surface])
    corners = values["surface_corners"].values[surface]
    if values["surface_kind"].values[surface] == 2:
        normal = _turned(corners[:1], angle)[0]
        along, size = np.array([normal[1], -normal[0]]), 4.0 * (np.ptp(x) + np.ptp(y))
        foot = np.array([x.mean(), y.mean()])
        foot = foot - ((foot - place) @ normal) * normal
        ends = foot + size * along, foot - size * along
        return np.array([ends[0], ends[1], ends[1] - size * normal, ends[0] - size * normal])
    points = corners[np.isfinite(corners[:, 0])] if radius == 0.0 else _disc(radius)
    return np.asarray(_turned(points, angle) + place)


def _disc(radius: float) -> Floats:
    around = radius * np.stack([np.cos(_ARC), np.sin(_ARC)], axis=1)
    return np.concatenate([[[0.0, 0.0]], around, [[0.0, 0.0]]])


def _turned(points: Floats, angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points @ np.array([[c, s], [-s, c]]))


figures_of = BodyFigures
