"""The parallel projection of rods, common to both renderers of a scene.

`view_of` determines the projection such that all nodes, arrows and near partners are visible;
`scene` (matplotlib) and `paint` (PyVista) draw with it, `player` starts with its angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import floats_of
from stiction.rods.figures.data import RodData, Scene
from stiction.rods.figures.partners import near

__all__ = [
    "RODS",
    "ROLL_COLOUR",
    "SLIP_COLOUR",
    "View",
    "arrows",
    "rod_colours",
    "turn_of",
    "view_of",
]

Floats = npt.NDArray[np.float64]

# pale, so that arrows are visible on them; distinct for colour-blind readers too
RODS = ("#9ecae1", "#f6c38b", "#b5d8b0", "#d5c3e0", "#efe08f", "#c9c9c9")
ROLL_COLOUR, SLIP_COLOUR = "#08306b", "#c1272d"
_ARROW = 0.22  # longest arrow over the size of the scene
_EDGE = 1.06  # size of the picture over that of the scene
_SHAPES = (1.4, 2.6)  # least and largest ratio of width to height of a picture


@dataclass(frozen=True, eq=False)
class View:
    """A parallel projection.

    Parameters
    ----------
    right, up, out : (3,) unit vectors: to the right, up, and towards the viewer
    centre : (3,) point in the middle of the picture [m]
    half : half of the height and half of the width of the picture [m]
    arrow : length of an arrow per force [m/N]
    """

    right: Floats
    up: Floats
    out: Floats
    centre: Floats
    half: tuple[float, float]
    arrow: float


def turn_of(angles: tuple[float, float]) -> tuple[float, float]:
    """Return (azimuth, elevation) [rad] for valid (elevation, azimuth) [degrees]."""
    given = floats_of(angles)
    if given.shape != (2,) or not np.isfinite(given).all():
        got, needs = repr(angles), "elevation and azimuth in degrees"
        why, try_ = "these angles give the direction of view.", "for example view=(30.0, -60.0)."
        raise ModelError("plot.scene.view", got, needs, why, try_)
    return float(np.deg2rad(given[1])), float(np.deg2rad(given[0]))


def view_of(data: RodData, scenes: Sequence[Scene], angles: tuple[float, float]) -> View:
    """Return the view that shows all scenes completely.

    Parameters
    ----------
    angles : elevation above the x-y plane, and azimuth about z from x [degrees]

    Verified by: tests/unit/rods/figures/test_figures.py::test_view_shows_every_node
    """
    around, high = turn_of(angles)
    out = np.array([np.cos(high) * np.cos(around), np.cos(high) * np.sin(around), np.sin(high)])
    right = np.array([-np.sin(around), np.cos(around), 0.0])
    up = np.cross(out, right)
    radius = max(float(scene.radii.max()) for scene in scenes)
    positions = np.concatenate([rod for scene in scenes for rod in scene.rods])
    positions = positions[np.isfinite(positions).all(axis=1)]
    size = float(np.linalg.norm(np.ptp(positions, axis=0))) + 2.0 * radius
    force = data.largest_force
    arrow = _ARROW * size / force if force > 0.0 else 0.0
    tips = [scene.points + arrow * scene.forces for scene in scenes]
    bodies = [part.reshape(-1, 3) for scene in scenes for part in scene.surfaces]
    every = np.concatenate([positions, *tips, *(body[near(body, data.box)] for body in bodies)])
    seen = every @ np.stack([right, up, out], axis=1)
    low, high_ = seen.min(axis=0) - radius, seen.max(axis=0) + radius
    middle = 0.5 * (low + high_)
    half = 0.5 * _EDGE * (high_ - low)
    width, height = float(half[0]), float(half[1])
    width, height = max(width, _SHAPES[0] * height), max(height, width / _SHAPES[1])
    centre = middle[0] * right + middle[1] * up + middle[2] * out
    return View(right, up, out, centre, (height, width), arrow)


def arrows(view: View, scene: Scene) -> Floats:
    """Return (c, 3) arrows of the contact forces [m]."""
    return np.asarray(view.arrow * scene.forces)


def rod_colours(count: int) -> list[str]:
    """Return a colour per rod; colours repeat for many rods."""
    return [RODS[i % len(RODS)] for i in range(count)]
