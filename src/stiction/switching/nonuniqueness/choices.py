"""Continuations that a policy chooses at a loss of determinism.

The loss is at a two-fold, on a codimension-2 line, in an escaping region, or at a grazing within
the error of the run; `intersections` has those at intersections of two surfaces. Each `Start` is
the initial state of one admissible solution. `event_driven` continues the run from the first one
and reports the others as futures. The functions change neither the run nor the system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.switching.flow.trajectory import Tolerance
from stiction.switching.model import LineExit, SwitchingSystem
from stiction.switching.nonuniqueness.exits import EscapingWedge, Exit
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample

__all__ = ["OFF_LINE", "LossPoint", "Start", "side_continuations", "starts"]

Floats = npt.NDArray[np.float64]

# smallest and largest initial distance from a codimension-2 line along a ray [units of the scale]:
# above the tolerance, and so small that the orbit is straight
OFF_LINE, _FARTHEST = 1e-7, 1e-4
_NAMES = {1.0: "+", -1.0: "-"}


@dataclass(frozen=True, eq=False)
class LossPoint:
    """A loss of determinism.

    Parameters
    ----------
    kind : kind of the loss, such as `two_fold`
    t, x : time and state
    sides : (m,) signs of the surfaces before the loss
    surface : number of the surface, from 0
    other : second surface at an intersection, else -1
    directions : exit directions at an intersection as bits, see `flow.intersections.directions`
    """

    kind: str
    t: float
    x: Floats
    sides: Floats
    surface: int = 0
    other: int = -1
    directions: int = 0


@dataclass(frozen=True, eq=False)
class Start:
    """One future: a time `wait` after the loss the trajectory is at x with these signs.

    Parameters
    ----------
    x, sides : state and signs from which the solution continues
    wait : time between the loss and x
    note : the choice in words, for the report
    side : side to which the solution leaves after sliding in the escaping region for the time
        `dwell`; 0 if it does not slide there
    dwell : time of sliding after x before the solution leaves to `side`
    through : exit after a two-fold; the motion to it is integrated backward. None for other losses
    rest : whether the solution is an equilibrium
    branch : for codimension-2 sliding, the sign of the determinant of the Jacobian of the sliding
        conditions, which selects one of up to two sliding vectors; 0 if there is no choice
    surface : surface that the solution leaves after `dwell`; None for that of the loss
    """

    x: Floats
    sides: Floats
    wait: float = 0.0
    note: str = ""
    side: float = 0.0
    dwell: float = 0.0
    through: Exit | None = None
    rest: bool = False
    branch: int = 0
    surface: int | None = None


def starts(
    system: SwitchingSystem,
    policy: Policy,
    loss: LossPoint,
    rng: np.random.Generator,
    tolerance: Tolerance,
    horizon: float,
) -> tuple[Sequence[Start], str]:
    """Return the futures that a policy chooses at a loss, and the reason if there are none.

    Parameters
    ----------
    rng : random generator of `Sample`
    tolerance : tolerance of the backward integration from exits to a two-fold
    horizon : longest dwell time that `Enumerate` considers
    """
    if isinstance(policy, ByKind):
        policy = getattr(policy, loss.kind, policy.two_fold)
    if loss.kind == "two_fold":
        return _at_two_fold(system, policy, loss, rng, tolerance, horizon)
    if loss.kind == "codim2_line":
        return _at_line(system, policy, loss, rng, tolerance)
    if loss.kind == "escaping_start":
        return _in_escaping(policy, loss, rng)
    return (), "policies have no continuation for this kind of loss"


def side_continuations(
    policy: Policy, loss: LossPoint, rng: np.random.Generator
) -> Sequence[Start]:
    """Return the chosen continuations where both sides of a surface are possible.

    That is so at a grazing, and within the error of the run beside one.

    Verified by: tests/unit/switching/test_margins.py::test_a_policy_takes_either_branch
    """
    side = float(loss.sides[loss.surface])
    sides_taken = (side, -side) if isinstance(policy, Enumerate) else (side,)
    if isinstance(policy, Leave):
        sides_taken = (_sign(policy.side),)
    elif isinstance(policy, Sample):
        sides_taken = tuple(np.where(rng.random(policy.n) < 0.5, 1.0, -1.0).tolist())
    results = []
    for side_taken in sides_taken:
        sides = loss.sides.copy()
        sides[loss.surface] = side_taken
        note = "it stays in its mode" if side_taken == side else f"leave to {_NAMES[side_taken]}"
        results.append(Start(loss.x, sides, note=note))
    return results


# ---- in an escaping region


def _in_escaping(
    policy: Policy, loss: LossPoint, rng: np.random.Generator
) -> tuple[Sequence[Start], str]:
    """Return the futures of a state in an escaping region, and the reason if there are none."""
    if isinstance(policy, Leave):
        return [_slide_then(loss, _sign(policy.side), policy.after)], ""
    if isinstance(policy, Sample):
        dwell = rng.exponential(1.0 / policy.hazard, policy.n)
        side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
        pairs = zip(side, dwell, strict=True)
        return [_slide_then(loss, float(s), float(d)) for s, d in pairs], ""
    if isinstance(policy, Enumerate):
        return [_slide_then(loss, side, 0.0) for side in (1.0, -1.0)], ""
    return (), "the run stops, as its solution is not unique"


def _slide_then(loss: LossPoint, side: float, dwell: float) -> Start:
    """Return the future that slides for the time `dwell`, then leaves to `side`."""
    sides = loss.sides.copy()
    sides[loss.surface] = 0.0 if dwell > 0.0 else side
    note = f"leave to {_NAMES[side]} after {dwell:.6g}"
    return Start(loss.x, sides, note=note, side=side if dwell > 0.0 else 0.0, dwell=dwell)


def _sign(side: str) -> float:
    """Return the sign of h on a side, "+" or "-"."""
    return 1.0 if side == "+" else -1.0


# ---- at a two-fold


def _at_two_fold(
    system: SwitchingSystem,
    policy: Policy,
    loss: LossPoint,
    rng: np.random.Generator,
    tolerance: Tolerance,
    horizon: float,
) -> tuple[Sequence[Start], str]:
    """Return the futures of a two-fold, and the reason if there are none.

    A future slides in the escaping region from the two-fold to an exit, and leaves there. Exits
    have polar coordinates around the two-fold (`EscapingWedge`).
    """
    if not isinstance(policy, (Leave, Sample, Enumerate)):
        return (), "the run stops, as its solution is not unique"
    if isinstance(policy, Leave) and policy.after <= 0.0:
        return (), (
            "no orbit leaves a two-fold at once, because orbits of both sides return to the "
            "surface; Leave(side, after) needs after > 0 here"
        )
    try:
        at = loss.sides.copy()
        at[loss.surface] = 0.0
        wedge = EscapingWedge(system, loss.x, tolerance, at)
        # the ray halfway between both folds, at angles 0 and pi/2
        reach = wedge.longest(math.pi / 4)
    except (ModelError, np.linalg.LinAlgError) as error:
        return (), str(error).splitlines()[0]
    results: list[tuple[Exit, float]] = []
    if isinstance(policy, Leave):
        exit_ = wedge.exit_after(math.pi / 4, policy.after)
        if exit_ is None:
            return (), (
                f"no exit after {policy.after:.6g}; the longest dwell time found in this "
                f"direction is {reach.dwell:.6g}, and times below about 1e-6 of that are not "
                "resolved"
            )
        results.append((exit_, _sign(policy.side)))
    elif isinstance(policy, Sample):
        results = _sampled(wedge, policy, rng)
    else:
        results = _enumerated(wedge, policy, horizon)
    if not results:
        return (), "there is no exit"
    return [_through(loss, exit_, side) for exit_, side in results], ""


def _sampled(
    wedge: EscapingWedge, policy: Sample, rng: np.random.Generator
) -> list[tuple[Exit, float]]:
    """Draw exits with exponential dwell times, and uniform directions and sides."""
    results: list[tuple[Exit, float]] = []
    for _ in range(20 * policy.n):
        angle = float(rng.uniform(0.0, math.pi / 2))
        dwell = float(rng.exponential(1.0 / policy.hazard))
        side = 1.0 if rng.random() < 0.5 else -1.0
        exit_ = wedge.exit_after(angle, dwell) if dwell > 0.0 else None
        # a draw beyond the last exit of its ray is repeated
        if exit_ is not None:
            results.append((exit_, side))
        if len(results) == policy.n:
            break
    return results


def _enumerated(
    wedge: EscapingWedge, policy: Enumerate, horizon: float
) -> list[tuple[Exit, float]]:
    """Return exits on a grid of directions and distances, up to the horizon, to both sides."""
    results = []
    for a in range(policy.grid):
        angle = (a + 0.5) / policy.grid * math.pi / 2
        try:
            last = wedge.longest(angle)
        except ModelError:
            # no orbit of a ray next to a fold may come from the two-fold
            continue
        if last.dwell > horizon:
            last = wedge.exit_after(angle, horizon) or last
        for b in range(policy.grid):
            exit_ = wedge.exit_at(angle, last.distance * (b + 1.0) / policy.grid)
            if exit_ is not None:
                results += [(exit_, 1.0), (exit_, -1.0)]
    return results


def _through(loss: LossPoint, exit_: Exit, side: float) -> Start:
    """Return the future that slides from the two-fold to an exit and leaves to `side`."""
    sides = loss.sides.copy()
    sides[loss.surface] = side
    note = f"leave to {_NAMES[side]} after {exit_.dwell:.6g}, direction {exit_.angle:.4g}"
    return Start(exit_.x, sides, wait=exit_.dwell, note=note, through=exit_)


# ---- on a codimension-2 line


def _at_line(
    system: SwitchingSystem,
    policy: Policy,
    loss: LossPoint,
    rng: np.random.Generator,
    tolerance: Tolerance,
) -> tuple[Sequence[Start], str]:
    """Return the futures of a point of a codimension-2 line, and the reason if there are none.

    A future begins at a small distance from the line along an exit direction.
    """
    fraction = min(max(OFF_LINE, 1e3 * tolerance.rtol), _FARTHEST)
    distance = fraction * float(np.max(system.compiled.scale))
    exits = list(system.line_exits(loss.x))
    if not isinstance(policy, (Leave, Sample, Enumerate)):
        names = ", ".join(f"{exit_.kind} {exit_.mode}" for exit_ in exits) or "none known"
        return (), f"the run stops, as its solution is not unique (exit directions: {names})"
    leaving = [exit_ for exit_ in exits if exit_.kind != "rest"]
    if isinstance(policy, Leave):
        leaving = [exit_ for exit_ in leaving if exit_.mode == policy.side]
        if not leaving:
            known = ", ".join(f"{exit_.kind} {exit_.mode}" for exit_ in exits) or "none known"
            return (), f"no exit direction to {policy.side} (exit directions: {known})"
        return [_off_line(system, loss, leaving[0], distance)], ""
    if isinstance(policy, Enumerate):
        return [_off_line(system, loss, exit_, distance) for exit_ in exits], ""
    if not leaving:
        return (), "no exit direction is known"
    chosen = rng.integers(len(leaving), size=policy.n)
    dwell = rng.exponential(1.0 / policy.hazard, policy.n)
    side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
    return [
        _off_line(system, loss, leaving[int(i)], distance, float(d), float(s))
        for i, d, s in zip(chosen, dwell, side, strict=True)
    ], ""


def _off_line(
    system: SwitchingSystem,
    loss: LossPoint,
    exit_: LineExit,
    distance: float,
    dwell: float = 0.0,
    side: float = 0.0,
) -> Start:
    """Return the future in an exit direction of the line.

    Parameters
    ----------
    distance : distance of its start from the line [state units]
    dwell, side : for an exit in the escaping region, time of sliding and side of the exit
    """
    if exit_.kind == "rest":
        return Start(loss.x, loss.sides, note="rest", rest=True)
    sides = loss.sides.copy()
    sides[0] = {"+": 1.0, "-": -1.0, "slide": 0.0}[exit_.mode]
    x = system.line_point(loss.x) + distance * np.array(exit_.direction)
    note = f"{exit_.kind} {exit_.mode} at angle {exit_.angle:.6g}"
    if exit_.kind != "escape":
        dwell, side = 0.0, 0.0
    return Start(x, sides, distance / exit_.speed, note, side, dwell)
