"""The signs with which a run starts, or why a state is no start."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.switching.flow.surfaces import Continuations
from stiction.switching.flow.trajectory import Trajectory
from stiction.switching.model import MODES, SwitchingSystem

__all__ = ["start_sides"]

Floats = npt.NDArray[np.float64]


def start_sides(
    system: SwitchingSystem, path: Trajectory, t: float, x: Floats
) -> tuple[Floats, npt.NDArray[np.bool_], int, dict[int, Continuations]]:
    """Return the signs at the start and on which surfaces it is, or refuse what is no start.

    On an intersection also the exit directions, as bits; the signs of both surfaces are then left
    open. Last come the continuations of the surfaces that it is on, of which the trajectory was
    last put on the last one.
    """
    name = f"{type(system).__name__}.x0"
    here = path.evaluate_state(x)
    h = here.h
    for callback in system.compiled.keep:
        if hasattr(callback, "check"):
            callback.check()
    if not here.finite:
        raise ModelError(
            name,
            f"{x.tolist()}, where h = {h.tolist()} and x' = {here.field.tolist()}",
            "a start at which the field and h are finite",
            "the flow starts there.",
            "start inside the domain of the functions.",
        )
    sides = np.where(h > 0.0, 1.0, -1.0)
    flat = [not (any(row) and all(g == g for g in row)) for row in here.gradient.tolist()]
    for i in range(h.size):
        if flat[i] and abs(h[i]) <= 1e-12:
            raise ModelError(
                name,
                f"{x.tolist()}, where h = 0 and its gradient is zero",
                "a switching function whose gradient is not zero where it switches",
                "without it the surface has no sides.",
                "take another h with the same zeros, for example its square root.",
            )
    pair, directions = [i for i, near in enumerate(here.near.tolist()) if near], 0
    found: dict[int, Continuations] = {}
    if len(pair) == 2 and not any(flat[i] for i in pair):
        path.place(t, x, np.where(here.near, 0.0, sides))
        directions = path.directions(*pair)
    for i in range(h.size):
        if here.near[i] and not flat[i]:
            if not directions:
                sides[i], found[i] = _side_on_surface(system, path, t, x, sides, i)
        elif system.mode is not None and i == 0 and MODES[system.mode] != sides[0]:
            raise ModelError(
                f"{type(system).__name__}.mode",
                f"{system.mode!r} at a start with h = {h[0]:.6g}",
                f"{'+' if sides[0] > 0.0 else '-'!r} or nothing",
                "off the surface the mode is the sign of h.",
                "leave the mode out, or start on the surface.",
            )
    return sides, here.near, directions, found


def _side_on_surface(
    system: SwitchingSystem, path: Trajectory, t: float, x: Floats, sides: Floats, i: int
) -> tuple[float, Continuations]:
    """Return the sign with which a start on surface i goes on, and the directions there are."""
    probe = sides.copy()
    probe[i] = 0.0
    path.place(t, x, probe)
    here = path.continuations_at(i)
    wanted = None if system.mode is None or i > 0 else MODES[system.mode]
    if wanted is not None:
        allowed = {1.0: here.plus, -1.0: here.minus, 0.0: here.along}[wanted]
        if not allowed and not path.at_two_fold(i):
            open_ = (("+", here.plus), ("-", here.minus), ("slide", here.along))
            directions = [name for name, may in open_ if may]
            raise ModelError(
                f"{type(system).__name__}.mode",
                f"{system.mode!r} at x0 = {x.tolist()}",
                f"one of {', '.join(map(repr, directions))}",
                "on the surface the field must let the state go that way.",
                "leave the mode out to take what is forced.",
            )
        return wanted, here
    if here.escaping or here.along:
        return 0.0, here
    return (1.0 if here.plus else -1.0), here
