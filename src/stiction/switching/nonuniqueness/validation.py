"""Validation of discontinuity surfaces and initial modes, and the seed of a policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.switching.flow.events import ASIDE, FLAT
from stiction.switching.model import SwitchingSystem
from stiction.switching.nonuniqueness.intersections import ExitDirection
from stiction.switching.policies import ByKind, Sample

__all__ = ["check_normals", "refuse_mode", "seed"]

Floats = npt.NDArray[np.float64]


def check_normals(system: SwitchingSystem, x: Floats) -> None:
    """Refuse a switching function h whose gradient is zero on its surface h = 0."""
    scale = np.asarray(system.compiled.scale)
    steepness = np.abs(system.gradient(x)) @ scale
    # the criterion of `flow.events.gradient_vanishes`
    moves = ASIDE * np.diag(np.maximum(scale, np.abs(x - system.start_state())))
    near = [np.abs(system.gradient(x + move)) @ scale for move in (*moves, *-moves)]
    for i in np.flatnonzero(steepness < FLAT * np.max(near, axis=0)):
        raise ModelError(
            f"{type(system).__name__}.h",
            f"a gradient of zero near x = {x.tolist()}, where h_{i + 1} = 0",
            "a switching function whose gradient is not zero where h = 0",
            "rates of h along the fields decide between crossing and sliding.",
            "take another h with the same zeros, for example an odd root of h.",
        )


def refuse_mode(system: SwitchingSystem, x: Floats, directions: Sequence[ExitDirection]) -> None:
    """Refuse a start on an intersection whose mode is not an exit direction."""
    raise ModelError(
        f"{type(system).__name__}.mode",
        f"{system.mode!r} at x0 = {x.tolist()}",
        "one of " + ", ".join(map(str, directions)),
        "on an intersection a solution can leave in these directions only.",
        "leave the mode out: the run takes the only direction, or that of its policy.",
    )


def seed(policy: Policy) -> list[int]:
    """Return the seed of the random numbers of a run: one number for each part of the policy."""
    parts = [policy]
    if isinstance(policy, ByKind):
        parts = [policy.two_fold, policy.codim2_line, policy.escaping_start, policy.fold]
        # without random numbers at intersections the seed has four numbers
        parts += [policy.intersection] if isinstance(policy.intersection, Sample) else []
    return [part.seed if isinstance(part, Sample) else 0 for part in parts]
