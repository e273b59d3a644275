"""Frictional contact problems: files of other projects, and problems made here.

Files stand beside the project, in ../shared/external (STICTION_SHARED names another folder).
"""

import os
from pathlib import Path

import numpy as np
import pytest

from stiction.numerics.friction_problem.problem import friction_problem

SHARED = Path(os.environ.get("STICTION_SHARED", Path(__file__).resolve().parents[2] / "shared"))
FOLDER = SHARED / "external/friction_contact"
FILES = sorted(path.name for path in FOLDER.glob("*.*")) if FOLDER.is_dir() else []


def problem_in(name):
    """Return the problem of a file, and skip the test where the folder is absent."""
    if not (FOLDER / name).is_file():
        pytest.skip(f"{name} is not in ../shared/external/friction_contact")
    return friction_problem(FOLDER / name)


def brick_tower(layers, mu, push=0.0, jitter=0.0, seed=0, dt=1e-2):
    """Return bricks on each other, on four corners each: W has half its rank, or less.

    Parameters
    ----------
    push : spread of the bricks' velocities [m/s]
    jitter : spread of the directions of normals
    """
    rng = np.random.default_rng(seed)
    length, depth, height = 2.0, 1.0, 0.5
    mass = length * depth * height
    turn = mass / 12 * np.array([depth**2 + height**2, length**2 + height**2, length**2 + depth**2])
    inverse = np.tile(np.concatenate([np.full(3, 1 / mass), 1 / turn]), layers)
    rows = []
    for k in range(layers):
        for x, y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            normal = np.array([0, 0, 1.0]) + jitter * rng.normal(size=3)
            normal /= np.linalg.norm(normal)
            first = np.cross(normal, [0, 1, 0.3])
            first /= np.linalg.norm(first)
            for axis in (normal, first, np.cross(normal, first)):
                row = np.zeros((layers, 6))
                for body, sign, arm in ((k, 1, -height / 2), (k - 1, -1, height / 2)):
                    if body >= 0:
                        place = np.array([x * length / 2, y * depth / 2, arm])
                        row[body] = sign * np.concatenate([axis, np.cross(place, axis)])
                rows.append(row.ravel())
    frames = np.array(rows)
    weight = np.tile([0.0, 0.0, -9.81 * dt, 0.0, 0.0, 0.0], layers)
    free = weight + push * rng.normal(size=6 * layers)
    w = (frames * inverse) @ frames.T
    return friction_problem(0.5 * (w + w.T), (frames @ free).reshape(-1, 3), mu)


def random_problem(bodies, contacts, size, mu, rng):
    """Return contacts with frames at random; q is a motion of the bodies, so that forces exist."""
    each = 3 if size == 2 else 6
    frames = np.zeros((contacts * size, each * bodies))
    for c in range(contacts):
        for body in {rng.integers(bodies), rng.integers(bodies)}:
            at = np.s_[c * size : (c + 1) * size, each * body : each * body + each]
            frames[at] = rng.normal(size=(size, each))
    q = frames @ rng.normal(size=each * bodies)
    return friction_problem(frames @ frames.T, q.reshape(contacts, size), mu)
