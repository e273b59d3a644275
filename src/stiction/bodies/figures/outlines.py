"""Outlines of bodies and supports in the plane, from the saved variables of a run.

An outline has k points (x, y) [m], of f frames. Surfaces are numbered from 0, supports after the
bodies; `figures` and `player` draw them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run

__all__ = [
    "is_half_plane",
    "limits",
    "outlines",
    "shape_points",
    "spring_ends",
    "support_outlines",
    "turned",
]

Floats = npt.NDArray[np.float64]

# angles of the points on a circle [rad]
_ARC = np.linspace(0.0, 2.0 * np.pi, 49)
# the variable `surface_kind` of a half plane
_HALF_PLANE = 2


def shape_points(run: Run, surface: int) -> Floats:
    """Return (k, 2) points around a shape about its centre [m]; a disc shows a radius."""
    radius = float(run.variables["surface_radius"].values[surface])
    if radius > 0.0:
        around = radius * np.stack([np.cos(_ARC), np.sin(_ARC)], axis=1)
        return np.concatenate([[[0.0, 0.0]], around, [[0.0, 0.0]]])
    corners = run.variables["surface_corners"].values[surface]
    return np.asarray(corners[np.isfinite(corners[:, 0])])


def outlines(run: Run, body: int, position: Floats, angle: Floats) -> Floats:
    """Return (f, k, 2) points around a body at its places (f, 2) and angles (f,) [m]."""
    points = shape_points(run, body)
    return np.asarray(turned(points, angle) + position[:, None])


def support_outlines(run: Run, k: int, time: Floats, low: Floats, high: Floats) -> Floats:
    """Return (f, k, 2) points around a support [m]; of a half plane a strip in view.

    A half plane that moves along itself stays, and a support that stays has one row, f = 1.

    Parameters
    ----------
    k : number of the support, from 0
    time : (f,) times of the frames [s]
    low, high : (2,) lower left and upper right corners of the view [m]

    Verified by: tests/unit/bodies/test_figures.py::test_moving_supports_are_drawn_where_they_are
    """
    points = _support_outline(run, k, low, high)[None]
    moved = (time - run.time[0])[:, None] * run.variables["support"].values[k, 3:5]
    if is_half_plane(run, k):
        normal = points[0, 1] - points[0, 2]
        normal = normal / np.hypot(*normal)
        moved = (moved @ normal)[:, None] * normal
    return np.asarray(points + moved[:, None] if moved.any() else points)


def _support_outline(run: Run, k: int, low: Floats, high: Floats) -> Floats:
    """Return (k, 2) points around a support at the start [m]."""
    values = run.variables
    surface = _surface(run, k)
    place, angle = values["support"].values[k, :2], values["support"].values[k, 2:3]
    points = turned(shape_points(run, surface), angle)[0]
    if not is_half_plane(run, k):
        return np.asarray(points + place)
    normal, size = points[0], 4.0 * float((high - low).sum())
    along, middle = np.array([normal[1], -normal[0]]), 0.5 * (low + high)
    foot = middle - ((middle - place) @ normal) * normal
    ends = foot + size * along, foot - size * along
    return np.array([ends[0], ends[1], ends[1] - size * normal, ends[0] - size * normal])


def is_half_plane(run: Run, k: int) -> bool:
    """Return whether support k is a half plane."""
    return bool(run.variables["surface_kind"].values[_surface(run, k)] == _HALF_PLANE)


def _surface(run: Run, k: int) -> int:
    """Return the number of support k among all surfaces."""
    values = run.variables
    return len(values["surface_kind"].values) - len(values["support"].values) + k


def spring_ends(run: Run) -> Floats:
    """Return (t, s, 2, 2) places of the ends of the springs [m]."""
    if "spring_ends" not in run.variables:
        return np.zeros((len(run.time), 0, 2, 2))
    return run.variables["spring_ends"].values


def limits(run: Run) -> tuple[Floats, Floats]:
    """Return the lower left and upper right corners of all but half planes [m]."""
    position, angle = run.variables["position"].values, run.variables["angle"].values
    around = [outlines(run, k, position[:, k], angle[:, k]) for k in range(angle.shape[1])]
    finite = [k for k in range(len(run.variables["support"].values)) if not is_half_plane(run, k)]
    ends, one = run.time[[0, -1]], np.ones(2)
    around += [support_outlines(run, k, ends, 0.0 * one, one) for k in finite]
    around += list(np.moveaxis(spring_ends(run), 1, 0))
    low = np.min([one.min(axis=(0, 1)) for one in around], axis=0)
    high = np.max([one.max(axis=(0, 1)) for one in around], axis=0)
    room = 0.08 * float((high - low).max())
    return low - room, high + room


def turned(points: Floats, angle: Floats) -> Floats:
    """Return (f, k, 2) points turned by angles (f,)."""
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = points[:, 0], points[:, 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)
