"""What the loop over a flow needs beside itself: leave a surface, refuse one, seed a policy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.methods import Policy
from stiction.switching.flow import records as r
from stiction.switching.flow.trajectory import Trajectory
from stiction.switching.model import SwitchingSystem
from stiction.switching.policies import ByKind, Sample

__all__ = ["check_normals", "leave", "seed"]

Floats = npt.NDArray[np.float64]


def leave(path: Trajectory, surface: int, side: float) -> None:
    """Leave a surface to one side, unless a fold has ended the sliding before."""
    sides = path.sides
    if sides[surface] == 0.0:
        sides[surface] = side
        path.log(r.LEAVE, surface, 0.0, side)
        path.place(path.t, path.x, sides)


def check_normals(system: SwitchingSystem, x: Floats) -> None:
    """Refuse a switching function whose gradient is zero where it switches."""
    scale = np.asarray(system.compiled.scale)
    here = np.abs(system.gradient(x)) @ scale
    start = np.abs(system.gradient(np.array(system.x0, dtype=np.float64))) @ scale
    for i in np.flatnonzero(here <= 1e-4 * start):
        raise ModelError(
            explain(
                f"{type(system).__name__}.h",
                f"a gradient of zero near x = {x.tolist()}, where h_{i + 1} = 0",
                "a switching function whose gradient is not zero where it switches",
                "without it the surface has no sides.",
                "take another h with the same zeros, for example its odd root.",
            )
        )


def seed(policy: Policy) -> list[int]:
    """Return what the random numbers of a run start from."""
    parts = [policy]
    if isinstance(policy, ByKind):
        parts = [policy.two_fold, policy.codim2_line, policy.escaping_start, policy.fold]
    return [part.seed if isinstance(part, Sample) else 0 for part in parts]
