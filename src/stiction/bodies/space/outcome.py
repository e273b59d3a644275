"""The variables of a run in space: places, orientations, velocities, shapes.

`space.run` gives them to `bodies.outcome.assembled`, which makes the `Run`. First axes are t saved
times and n bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable

if TYPE_CHECKING:
    from stiction.bodies.space.model import SpatialBodies, SpatialBody, SpatialSupport

__all__ = ["final_of", "variables_of"]

Floats = npt.NDArray[np.float64]


def variables_of(
    system: SpatialBodies, position: Floats, turned: Floats, velocity: Floats, spin: Floats
) -> dict[str, Variable]:
    """Return the variables of the saved states, and the shapes for figures.

    Parameters
    ----------
    position, velocity, spin : (t, n, 3) in the axes of space
        [m], [m/s], [rad/s]
    turned : (t, n, 4) quaternions that turn the shapes' frames to the axes of space
    """
    vector = ("time", "body", "component")
    what = "quaternion (w, x, y, z), which turns the frame of the shape to that of space"
    return {
        "position": Variable(position.copy(), vector, "m", "of the centre of mass"),
        "orientation": Variable(turned, ("time", "body", "quaternion"), "1", what),
        "velocity": Variable(velocity.copy(), vector, "m/s", "of the centre of mass"),
        "spin": Variable(spin, vector, "rad/s", "angular velocity, in the axes of space"),
        **_outlines(system),
    }


def final_of(variables: Mapping[str, Variable]) -> dict[str, Floats]:
    """Return the last state as (n,) arrays, one for each component, for `Run.final`."""
    names = {
        "position": ("x", "y", "z"),
        "orientation": ("quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z"),
        "velocity": ("velocity_x", "velocity_y", "velocity_z"),
        "spin": ("spin_x", "spin_y", "spin_z"),
    }
    return {
        name: variables[of].values[-1, :, k].copy()
        for of, each in names.items()
        for k, name in enumerate(each)
    }


def _outlines(system: SpatialBodies) -> dict[str, Variable]:
    """Return the shapes for figures: kinds, radii, ends of edges padded by NaN, and supports."""
    parts: list[SpatialBody | SpatialSupport] = [*system.bodies, *system.supports]
    each = ("surface",)
    hulls = [part.shape.hull for part in parts]
    most = max(len(hull.edges) for hull in hulls)
    lines = np.full((len(parts), max(most, 1), 2, 3), np.nan)
    for k, hull in enumerate(hulls):
        lines[k, : len(hull.edges)] = hull.vertices[hull.edges[:, :2]]
    for k, support in enumerate(system.supports, start=system.n):
        if (normal := getattr(support.shape, "normal", None)) is not None:
            lines[k, 0] = np.stack([np.zeros(3), normal / np.linalg.norm(normal)])
    places = [[*s.position, *s.orientation, *s.velocity] for s in system.supports]
    kinds = np.array([part.shape.kind for part in parts])
    radii = np.array([getattr(part.shape, "radius", 0.0) for part in parts])
    what = "0 sphere or capsule, 1 polyhedron, 2 half space; bodies, then supports"
    return {
        "surface_kind": Variable(kinds, each, "1", what),
        "surface_radius": Variable(radii, each, "m", "of spheres and capsules"),
        "surface_edges": Variable(
            lines,
            ("surface", "edge", "end", "component"),
            "m",
            "edges of polyhedra and cores of capsules about the centre of mass; of a half space "
            "its normal",
        ),
        "support": Variable(
            np.array(places).reshape(-1, 10),
            ("support", "number"),
            "1",
            "place [m], quaternion and velocity [m/s] of supports",
        ),
    }
