"""The movie of rigid bodies in the plane: outlines of bodies and supports, springs and pins.

States between saved ones are interpolated linearly. `figures.BodyFigures.movie` calls it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.bodies.figures.outlines import (
    limits,
    outlines,
    spring_ends,
    support_outlines,
)
from stiction.core.run import Run
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import between, run_movie

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]


def movie_of(run: Run, time: Floats) -> m.Movie:
    """Return the movie with frames at these times [s].

    Verified by: tests/unit/bodies/test_figures.py::test_frames_are_the_saved_places
    """
    position = between(time, run.time, run.variables["position"].values)
    angle = between(time, run.time, run.variables["angle"].values)
    low, high = limits(run)
    supports = range(len(run.variables["support"].values))
    around = [support_outlines(run, k, time, low, high) for k in supports]
    layers: list[m.Layer] = [_line(points, m.SURFACE) for points in around]
    for body in range(angle.shape[1]):
        points = outlines(run, body, position[:, body], angle[:, body])
        layers.append(_line(points, m.BODIES[body % len(m.BODIES)]))
        layers.append(m.Lines(points, (0,), np.full((1, 1), m.INK), closed=True))
    ends = between(time, run.time, spring_ends(run))
    if ends.size:
        layers.append(m.Springs(ends.reshape(len(time), -1, 2)))
    if "hinge_place" in run.variables:
        pins = between(time, run.time, run.variables["hinge_place"].values)
        layers.append(m.Dots(pins, np.full((1, pins.shape[1]), m.INK), size=3.0))
    height = float(np.clip((high - low)[1] / (high - low)[0], 0.2, 1.0))
    view = m.View("motion", layers, low, high, ("x (m)", "y (m)"), height=height)
    notes = "places and angles between saved states are interpolated linearly"
    speed = np.hypot(*np.moveaxis(run.variables["velocity"].values, -1, 0)).max(axis=1)
    fastest = m.Reading("fastest body", "m/s", between(time, run.time, speed))
    return run_movie(run, time, [view], notes, readings=[fastest])


def _line(points: Floats, colour: int) -> m.Lines:
    """Return one filled outline; points (f, k, 2) [m]."""
    return m.Lines(points, (0,), np.full((1, 1), colour), closed=True, filled=True)
