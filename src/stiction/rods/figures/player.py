"""The movie of rods in space: rods, rigid partners, contacts and contact forces."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.plot.player import movie as m
from stiction.plot.player.sampling import held, hermite, run_movie, slopes
from stiction.rods.figures.data import RodData
from stiction.rods.figures.partners import near
from stiction.rods.figures.view import turn_of

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_NODES = 400
_MOST_STRIPES = 40  # contacts under the time bar
_MOST_SURFACE = 900  # points of the lines that show a rigid partner
_ARROW = 0.2  # longest arrow over the size of the scene


def movie_of(data: RodData, time: Floats, angles: tuple[float, float] = (28.0, -60.0)) -> m.Movie:
    """Return the movie of rods with frames at `time` (f,) [s].

    angles : elevation and azimuth of the initial direction of view [degrees]

    Verified by: tests/unit/rods/figures/test_player.py::test_frames_are_the_saved_rods
    """
    finite = np.flatnonzero(np.isfinite(_values(data, "position")).all(axis=(1, 2)))
    knots, saved = data.time[finite], _values(data, "position")[finite]
    low, high = data.box
    layers: list[m.Layer] = [*_partners(data, finite, time), _rods(data, time, knots, saved)]
    marks, arrows = _contacts(data, time, float(np.linalg.norm(high - low)))
    layers += [*arrows, *marks]
    title, axes, turn = "the rods in space", ("x (m)", "y (m)", "z (m)"), turn_of(angles)
    notes = "between saved states rods move on cubics through them; "
    notes += "contacts and forces are those saved last"
    views = [m.View(title, layers, low, high, axes, height=0.6, turn=turn)]
    if not marks:
        return run_movie(data.run, time, views, notes)
    keys = [(m.BLUE, "rolls"), (m.RED, "slips"), (m.PALE, "open")]
    modes = np.nan_to_num(data.contact("contact_mode")).astype(np.int64)
    modes = held(time, data.time, modes[:, modes.any(axis=0)][:, :_MOST_STRIPES])
    strip = np.array([m.PALE, m.BLUE, m.RED])[modes]
    return run_movie(data.run, time, views, notes, keys=keys, strip=strip)


def _values(data: RodData, name: str) -> Floats:
    return np.asarray(data.run.variables[name].values, dtype=np.float64)


def _rods(data: RodData, time: Floats, knots: Floats, saved: Floats) -> m.Lines:
    """Return the rods as lines, interpolated between saved states `saved` at times `knots`."""
    of, radius = data.rod_of_node, _values(data, "radius_of_node")
    numbers = np.unique(of)
    every = max(1, -(-of.size // _MOST_NODES))
    picked = []
    for i in numbers:
        mine = np.flatnonzero(of == i)
        picked.append(np.unique(np.append(mine[::every], mine[-1])))
    starts = np.cumsum([0, *(mine.size for mine in picked[:-1])])
    nodes = np.concatenate(picked)
    positions = saved[:, nodes]
    moved = hermite(time, knots, positions, slopes(knots, positions, np.zeros(0)))
    colour = np.array([[m.BODIES[k % len(m.BODIES)] for k in range(numbers.size)]])
    thick = 2.0 * float(radius.mean())
    return m.Lines(moved, tuple(int(k) for k in starts), colour, thick=thick)


def _contacts(data: RodData, time: Floats, size: float) -> tuple[list[m.Dots], list[m.Arrows]]:
    """Return dots and force arrows of the closed contacts of all frames.

    size : diagonal of the box around the rods [m]
    """
    if not data.n_contact or not data.has("contact_point"):
        return [], []
    samples = np.clip(np.searchsorted(data.time, time, side="right") - 1, 0, None)
    scenes = [data.scene(int(sample)) for sample in np.unique(samples)]
    most = max(scene.points.shape[0] for scene in scenes)
    if not most:
        return [], []
    shape = (len(scenes), most, 3)
    points, forces = np.zeros(shape), np.zeros(shape)
    points[:] = 0.5 * (data.box[0] + data.box[1])
    colour = np.full(shape[:2], m.HIDDEN)
    for k, scene in enumerate(scenes):
        n = scene.points.shape[0]
        points[k, :n], forces[k, :n] = scene.points, scene.forces
        colour[k, :n] = np.where(scene.slips, m.RED, m.BLUE)
    at = np.searchsorted(np.unique(samples), samples)
    points, forces, colour = points[at], forces[at], colour[at]
    dots = [m.Dots(points, colour, 4.0, held=True)]
    force = data.largest_force
    if force <= 0.0:
        return dots, []
    return dots, [m.Arrows(points, _ARROW * size / force * forces, colour, held=True)]


def _partners(data: RodData, finite: Ints, time: Floats) -> list[m.Layer]:
    """Return lines on the surfaces of rigid partners, near the rods."""
    layers: list[m.Layer] = []
    for surface in data.scene(int(finite[0])).surfaces:
        step = max(1, int(np.sqrt(2.0 * surface[..., 0].size / _MOST_SURFACE)))
        grid_lines = [*surface[::step], *np.swapaxes(surface, 0, 1)[::step]]
        lines_near = [line[near(line, data.box)] for line in grid_lines]
        lines_near = [line for line in lines_near if len(line) > 1]
        if not lines_near:
            continue
        starts = np.cumsum([0, *(len(line) for line in lines_near[:-1])])
        colour = np.full((1, len(lines_near)), m.GREY)
        lines = np.concatenate(lines_near)[None]
        layers.append(m.Lines(lines, tuple(int(k) for k in starts), colour, width=0.5))
    return layers
