"""Initial mode of a run: the sign of each switching function at the start, 0 for sliding.

Off a surface it is the sign of h. On a surface it is the mode that the user gives, which must be
admissible except at a two-fold. Without a given mode it is sliding where the flow can slide, on an
escaping surface too, and otherwise the side to which the flow leaves. `event_driven` calls
`start_sides` at the start of a run; `flow.surfaces` has Filippov's conditions.
"""

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
    """Return initial signs, surfaces of the start, exit directions and continuations.

    Returns
    -------
    signs : (m,) initial signs, 0 for sliding; not set for two surfaces that intersect at the start
    near : (m,) whether the start lies on each surface
    directions : exit directions as bits, if the start lies on an intersection of two surfaces
    continuations : admissible continuations by the number of each surface of the start. The
        trajectory is placed on the last of these surfaces

    Raises
    ------
    ModelError : if h or the field is not finite, the gradient of an h is zero on its surface, or
        the given mode is not admissible away from a two-fold.
    """
    name = f"{type(system).__name__}.x0"
    values = path.evaluate_state(x)
    h = values.h
    for callback in system.compiled.keep:
        if hasattr(callback, "check"):
            callback.check()
    if not values.finite:
        raise ModelError(
            name,
            f"{x.tolist()}, where h = {h.tolist()} and x' = {values.field.tolist()}",
            "a start at which the field and h are finite",
            "the solution starts at this state.",
            "take a start inside the domain of the functions.",
        )
    sides = np.where(h > 0.0, 1.0, -1.0)
    flat = [not (any(row) and all(g == g for g in row)) for row in values.gradient.tolist()]
    for i in range(h.size):
        if flat[i] and h[i] == 0.0:
            what = "zero" if np.isfinite(values.gradient[i]).all() else "not finite"
            raise ModelError(
                name,
                f"{x.tolist()}, where h = 0 and its gradient is {what}",
                "a switching function whose gradient is not zero where h = 0",
                "rates of h along the fields decide between crossing and sliding.",
                "take another h with the same zeros, for example an odd root of h.",
            )
    surfaces, directions = [i for i, near in enumerate(values.near.tolist()) if near], 0
    continuations: dict[int, Continuations] = {}
    if len(surfaces) == 2 and not any(flat[i] for i in surfaces):
        path.place(t, x, np.where(values.near, 0.0, sides))
        directions = path.directions(*surfaces)
    for i in range(h.size):
        if values.near[i] and not flat[i]:
            if not directions:
                sides[i], continuations[i] = _side_on_surface(system, path, t, x, sides, i)
        elif system.mode is not None and i == 0 and MODES[system.mode] != sides[0]:
            raise ModelError(
                f"{type(system).__name__}.mode",
                f"{system.mode!r} at a start with h = {h[0]:.6g}",
                f"mode {'+' if sides[0] > 0.0 else '-'!r}, or none",
                "off the surface the mode is the sign of h.",
                "leave the mode out, or start on the surface.",
            )
    return sides, values.near, directions, continuations


def _side_on_surface(
    system: SwitchingSystem, path: Trajectory, t: float, x: Floats, sides: Floats, i: int
) -> tuple[float, Continuations]:
    """Return the sign of a start on surface i, and the admissible continuations."""
    probe = sides.copy()
    probe[i] = 0.0
    path.place(t, x, probe)
    options = path.continuations_at(i)
    asked = None if system.mode is None or i > 0 else MODES[system.mode]
    if asked is not None:
        allowed = {1.0: options.plus, -1.0: options.minus, 0.0: options.along}[asked]
        if not allowed and not path.at_two_fold(i):
            open_ = (("+", options.plus), ("-", options.minus), ("slide", options.along))
            directions = [name for name, may in open_ if may]
            raise ModelError(
                f"{type(system).__name__}.mode",
                f"{system.mode!r} at x0 = {x.tolist()}",
                f"one of {', '.join(map(repr, directions))}",
                "on a surface only these modes satisfy Filippov's conditions.",
                "give one of these modes, or leave the mode out.",
            )
        return asked, options
    if options.escaping or options.along:
        return 0.0, options
    return (1.0 if options.plus else -1.0), options
