"""The movie of solids: bodies coloured by stress, contact surfaces, and tractions as arrows.

`movie_of` samples the run at the times of frames and returns layers for the player of `plot.player`
(imported as `m`): cells, lines, arrows or dots. Surfaces are interpolated between saved samples,
bodies between snapshots where this is accurate. `figures.SolidFigures.movie` calls it. In shapes, f
is the number of frames, t of samples, s of snapshots, p of contact points.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import between, held, run_movie
from stiction.solids.figures.data import NO_FRICTION, SLIDES, SolidData

__all__ = ["SolidFrames", "movie_of", "times_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NEEDED = ("snapshot_time", "drawn_position", "drawn_cell")
# order of the axes of bodies in space, z, x, y: the second axis points upwards in the movie
_SHOWN = (2, 0, 1)
_WITHIN = 0.004  # admissible error of interpolated surfaces over the size of the bodies
_CLIPPED = 0.98  # fraction of the stresses within the colour scale
_MOST_POINTS = 240  # of a surface
_MOST_ARROWS = 70
_MOST_DOTS = 400
_MOST_CELLS = 4000
_ARROW = 0.14  # longest traction over the height of the picture


def times_of(data: SolidData, count: int) -> Floats:
    """Return times of about `count` frames: those of saved samples and of all snapshots."""
    time = data.time
    rows = style.few(time.size, count) if time.size > count else np.arange(time.size)
    return np.union1d(time[rows], data.snapshot_time)


@dataclass(frozen=True, eq=False)
class SolidFrames:
    """Bodies and surfaces at the times of the frames.

    Surfaces are saved at all t samples of the run, bodies at its s snapshots.

    Parameters
    ----------
    data : the run
    time : (f,) times of the frames
    """

    data: SolidData
    time: Floats

    @functools.cached_property
    def surface(self) -> Floats:
        """(t, p, d) saved positions of the contact points."""
        names = [f"surface_{axis}" for axis in ("xyz" if self.data.in_space else "xy")]
        return np.stack([self.data.values(name) for name in names], axis=2)

    @functools.cached_property
    def size(self) -> float:
        """The largest extent of the bodies over the run, along an axis."""
        places = self.data.values("drawn_position")
        return float(np.ptp(places.reshape(-1, places.shape[2]), axis=0).max()) or 1.0

    @functools.cached_property
    def follows(self) -> Bools:
        """(s - 1,) whether linear interpolation between two snapshots is accurate.

        The test compares interpolated contact surfaces with those saved at samples in between.

        Verified by: tests/unit/solids/figures/test_player.py::test_bodies_that_snap_are_held
        """
        taken = self.data.snapshot_time
        if taken.size < 2 or not self.data.has("surface_x", "surface_y"):
            return np.ones(max(taken.size - 1, 0), dtype=bool)
        time = self.data.time
        rows = [int(np.argmin(np.abs(time - t))) for t in taken]
        straight = between(time, taken, self.surface[rows])
        off = np.nanmax(np.abs(straight - self.surface), axis=(1, 2)) / self.size
        interval = np.clip(np.searchsorted(taken, time, side="right") - 1, 0, taken.size - 2)
        worst = np.zeros(taken.size - 1)
        np.maximum.at(worst, interval, off)
        return np.asarray(worst <= _WITHIN)

    def body(self, name: str) -> Floats:
        """Return (f, ...) a variable of the snapshots, interpolated linearly where `follows`.

        In other intervals it is the value of the last snapshot.
        """
        taken, values = self.data.snapshot_time, self.data.values(name)
        if taken.size < 2:
            return np.repeat(values, self.time.size, axis=0)
        at = np.clip(np.searchsorted(taken, self.time, side="right") - 1, 0, taken.size - 2)
        straight, last = between(self.time, taken, values), held(self.time, taken, values)
        follows = self.follows[at].reshape(-1, *[1] * (values.ndim - 1))
        return np.where(follows, straight, last)


def movie_of(data: SolidData, time: Floats) -> m.Movie:
    """Return the movie of solids with frames at these times.

    Raises
    ------
    ModelError : if the run holds no snapshots.

    Verified by: tests/unit/solids/figures/test_player.py::test_frames_are_the_saved_bodies
    """
    data.require("animate", *_NEEDED)
    # bodies and their limits, rigid partners, contact surfaces, then view and readings
    frames = SolidFrames(data, time)
    places = frames.body("drawn_position")
    space = data.in_space
    places = places[..., _SHOWN] if space else places
    low, high = (f(places.reshape(-1, places.shape[2]), axis=0) for f in (np.nanmin, np.nanmax))
    shade, title = _shaded(data, frames)
    layers: list[m.Layer] = [m.Cells(places, _cells(data), shade)]
    if data.has("rigid_x", "rigid_y"):
        rigid = np.stack([frames.body("rigid_x"), frames.body("rigid_y")], axis=2)
        apart = np.isnan(rigid[0, :, 0])
        firsts = (0, *(int(at) - i for i, at in enumerate(np.flatnonzero(apart))))
        colour = np.full((1, len(firsts)), m.INK)
        layers.append(m.Lines(rigid[:, ~apart], firsts, colour, width=2.5))
    if data.has("surface_x", "surface_y"):
        dots = _contact_dots(data, frames) if space else None
        layers += dots if dots is not None else _surfaces(data, frames, float((high - low)[1]))
    spare = 0.04 * float((high - low).max()) + np.array([0.0, 0.14, 0.0][: low.size]) * (high - low)
    shape = float(np.clip((high - low)[-1] / max(float((high - low)[0]), 1e-300), 0.2, 0.75))
    unit = "dimensionless" if data.plain else "m"
    axes = ("z", "x", "y") if space else (f"x ({unit})", f"y ({unit})")
    readings = [
        m.Reading(word, _unit(data, name), between(time, data.time, data.values(name)))
        for word, name in (("displacement", "displacement"), ("force", "force_x"))
        if data.has(name)
    ]
    views = [m.View(title, layers, low - spare, high + spare, axes, height=shape)]
    drawn = any(isinstance(layer, m.Dots | m.Arrows) for layer in layers)
    keys = _keys(data) if drawn else []
    return run_movie(data.run, time, views, _notes(frames), readings=readings, keys=keys)


def _keys(data: SolidData) -> list[tuple[int, str]]:
    """Return the colours of dots in space, or of tractions in the plane, and their meanings."""
    if data.in_space:
        return [(m.BLUE, "sticks"), (m.RED, "slips")]
    frictional = data.has("slides") and bool((data.values("slides") > NO_FRICTION).any())
    if not frictional:
        return [(m.BLUE, "traction")]
    return [(m.BLUE, "traction in stick"), (m.RED, "traction in slip")]


def _unit(data: SolidData, name: str) -> str:
    unit = data.run.variables[name].unit
    return "" if unit == "1" else unit


def _notes(frames: SolidFrames) -> str:
    """Return the note that says how bodies are interpolated between snapshots."""
    words = ["contact surfaces and tractions are drawn from every saved sample"]
    if not frames.follows.all():
        count = int((~frames.follows).sum())
        words.append(
            f"bodies are interpolated between snapshots, except in {count} of "
            f"{frames.follows.size} intervals, where they move too suddenly"
        )
    else:
        words.append("bodies are interpolated between snapshots")
    return "; ".join(words)


def _shaded(data: SolidData, frames: SolidFrames) -> tuple[Ints, str]:
    """Return (f, c) the shades of the cells, and the title that explains them."""
    if data.has("area_stretch"):
        known = np.log(np.maximum(np.nan_to_num(frames.body("area_stretch"), nan=1.0), 1e-300))
        words = "logarithmic area stretch of membranes: red positive, up to {0:.2g}"
    else:
        data.require("animate", "stress_trace")
        known = np.nan_to_num(frames.body("stress_trace"))
        unit = "" if data.plain else " Pa"
        words = f"trace of the Cauchy stress: blue compression, red tension, up to {{0:.2g}}{unit}"
    stress = known[:, _cells(data)].mean(axis=2)
    limit = float(np.quantile(np.abs(stress), _CLIPPED)) or float(np.abs(stress).max()) or 1.0
    ratio = np.clip(stress / limit, -1.0, 1.0)
    # 64 levels of colour compress well and are visually continuous
    shade = np.round((0.5 + 0.5 * ratio) * 63.0) / 63.0 * m.SHADES
    title = words.format(limit) + ("; dimensionless" if data.plain else "")
    return np.round(shade).astype(np.int64), title


def _cells(data: SolidData) -> Ints:
    return data.cells[style.few(len(data.cells), _MOST_CELLS)]


def _surfaces(data: SolidData, frames: SolidFrames, height: float) -> list[m.Layer]:
    """Return the contact surfaces as lines, and the tractions on them as arrows.

    Parameters
    ----------
    height : of the picture, for the length of arrows [m]
    """
    picked: list[Ints] = []
    starts: list[int] = []
    for body in data.bodies:
        mine = data.of_body(body)
        starts.append(sum(earlier.size for earlier in picked))
        picked.append(mine[style.few(mine.size, _MOST_POINTS)])
    points = np.concatenate(picked)
    at = between(frames.time, data.time, frames.surface[:, points])
    found: list[m.Layer] = [m.Lines(at, tuple(starts), np.full((1, len(starts)), m.INK), width=1.2)]
    if not data.has("normal_traction", "tangential_traction"):
        return found
    # arrows at points that carry a traction at any time, red in slip
    touching = np.flatnonzero(data.active(range(data.time.size)))
    if not touching.size:
        return found
    touching = touching[style.few(touching.size, _MOST_ARROWS)]
    force = tractions(data, frames.surface)[:, touching]
    largest = float(np.linalg.norm(np.nan_to_num(force), axis=2).max()) or 1.0
    vectors = between(frames.time, data.time, _ARROW * height / largest * np.nan_to_num(force))
    foot = between(frames.time, data.time, frames.surface[:, touching])
    slides = np.zeros(foot.shape[:2], dtype=bool)
    if data.has("slides"):
        slides = held(frames.time, data.time, data.values("slides")[:, touching]) == SLIDES
    colour = np.where(slides, m.RED, m.BLUE)
    colour[np.linalg.norm(vectors, axis=2) < 1e-3 * _ARROW * height] = m.HIDDEN
    return [*found, m.Arrows(foot, vectors, colour)]


def _contact_dots(data: SolidData, frames: SolidFrames) -> list[m.Layer]:
    """Return dots at contact points in space: blue in stick, red in slip, else hidden."""
    if not data.has("slides"):
        return []
    known = np.nan_to_num(data.values("slides"))
    points = np.flatnonzero((known > 0.0).any(axis=0))
    if not points.size:
        return []
    points = points[style.few(points.size, _MOST_DOTS)]
    at = between(frames.time, data.time, frames.surface[:, points][..., _SHOWN])
    state = held(frames.time, data.time, known[:, points])
    colour = np.where(state == SLIDES, m.RED, np.where(state > 0.0, m.BLUE, m.HIDDEN))
    return [m.Dots(at, colour, 1.6)]


def tractions(data: SolidData, surface: Floats) -> Floats:
    """Return (t, p, 2) traction vectors on the bodies, at positions `surface` (t, p, 2).

    Pressure acts along the inward normal, the tangential traction along the surface coordinate.

    Verified by: tests/unit/solids/figures/test_player.py::test_tractions_carry_the_forces
    """
    force = np.zeros(surface.shape)
    pressure, shear = (data.values(f"{n}_traction") for n in ("normal", "tangential"))
    middle = data.values("drawn_position").mean(axis=(0, 1))
    of = data.values("body_of_drawn") if data.has("body_of_drawn") else None
    # points of two contacts may coincide: a line through both would have no direction
    for body, mine in [(b, points) for b in data.bodies for points in data.by_contact(b)]:
        line = surface[:, mine]
        along = np.gradient(line, axis=1) if mine.size > 1 else np.ones_like(line)
        along /= np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-300)
        across = np.stack([along[..., 1], -along[..., 0]], axis=2)
        if of is not None:
            middle = data.values("drawn_position")[:, of == body].mean(axis=(0, 1))
        out = across * np.sign((across * (line - middle)).sum(axis=(1, 2)))[:, None, None]
        force[:, mine] = shear[:, mine, None] * along - pressure[:, mine, None] * out
    return force
