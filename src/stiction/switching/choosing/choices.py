"""What a policy does where the future is not unique: pure from policy and place to starts.

Each `Start` is one of the futures the model allows there; the run follows the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.switching.choosing.exits import EscapingWedge, Exit
from stiction.switching.flow.trajectory import Tolerance
from stiction.switching.model import LineExit, SwitchingSystem
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample

__all__ = ["OFF_LINE", "Place", "Start", "starts", "undecided_ways"]

Floats = npt.NDArray[np.float64]

# how far from a codimension-2 line an orbit is started along its ray [units of the scale]:
# far enough that the tolerance tells the ray from the surface, near enough that it is straight
OFF_LINE, _FARTHEST = 1e-7, 1e-4
_NAMES = {1.0: "+", -1.0: "-"}


@dataclass(frozen=True, eq=False)
class Place:
    """Where determinism is lost: kind, time, state, signs before, surface (from 0).

    At an intersection `other` is the second surface and `directions` the set of exit directions, as
    bits.
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
    """One future: after `wait` at the place the trajectory is at x with these signs.

    Parameters
    ----------
    x, sides : state and signs from which it goes on
    wait : time that has passed there
    note : the choice in words
    side : the side of a later exit, for a state that still slides in the escaping region
        until `dwell` has passed; 0 when it is free to go
    dwell : time of sliding still to come before it leaves to `side`
    through : the exit behind a two-fold, whose way is known backward; None otherwise
    rest : whether it stays where it is for ever
    branch : of two sliding vectors where two surfaces meet, the sign of the determinant of
        the one it follows; 0 where there is nothing to choose
    surface : which surface it leaves after `dwell`; that of the place when None
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
    place: Place,
    rng: np.random.Generator,
    tolerance: Tolerance,
    horizon: float,
) -> tuple[Sequence[Start], str]:
    """Return the futures a policy takes at a place, and why there are none.

    Parameters
    ----------
    rng : where `Sample` draws from
    tolerance : of the ways back from exits to a two-fold
    horizon : longest time of dwelling that is enumerated
    """
    if isinstance(policy, ByKind):
        policy = getattr(policy, place.kind, policy.two_fold)
    if place.kind == "two_fold":
        return _at_two_fold(system, policy, place, rng, tolerance, horizon)
    if place.kind == "codim2_line":
        return _at_line(system, policy, place, rng, tolerance)
    if place.kind == "escaping_start":
        return _in_escaping(policy, place, rng)
    return (), "the policy says nothing about this place"


def undecided_ways(policy: Policy, place: Place, rng: np.random.Generator) -> Sequence[Start]:
    """Return the ways a policy takes where the error of the run hides which is right.

    Verified by: tests/unit/switching/test_margins.py::test_a_policy_takes_either_branch
    """
    side = float(place.sides[place.surface])
    ways = (side, -side) if isinstance(policy, Enumerate) else (side,)
    if isinstance(policy, Leave):
        ways = (_sign(policy.side),)
    elif isinstance(policy, Sample):
        ways = (1.0 if rng.random() < 0.5 else -1.0,)
    found = []
    for way in ways:
        sides = place.sides.copy()
        sides[place.surface] = way
        note = "it goes on in its mode" if way == side else f"leave to {_NAMES[way]}"
        found.append(Start(place.x, sides, note=note))
    return found


# ---- in an escaping region


def _in_escaping(
    policy: Policy, place: Place, rng: np.random.Generator
) -> tuple[Sequence[Start], str]:
    if isinstance(policy, Leave):
        return [_slide_then(place, _sign(policy.side), policy.after)], ""
    if isinstance(policy, Sample):
        dwell = rng.exponential(1.0 / policy.hazard, policy.n)
        side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
        pairs = zip(side, dwell, strict=True)
        return [_slide_then(place, float(s), float(d)) for s, d in pairs], ""
    if isinstance(policy, Enumerate):
        return [_slide_then(place, side, 0.0) for side in (1.0, -1.0)], ""
    return (), "it stops where the future is not unique"


def _slide_then(place: Place, side: float, dwell: float) -> Start:
    sides = place.sides.copy()
    sides[place.surface] = 0.0 if dwell > 0.0 else side
    note = f"leave to {_NAMES[side]} after {dwell:.6g}"
    return Start(place.x, sides, note=note, side=side if dwell > 0.0 else 0.0, dwell=dwell)


def _sign(side: str) -> float:
    return 1.0 if side == "+" else -1.0


# ---- at a two-fold


def _at_two_fold(
    system: SwitchingSystem,
    policy: Policy,
    place: Place,
    rng: np.random.Generator,
    tolerance: Tolerance,
    horizon: float,
) -> tuple[Sequence[Start], str]:
    if not isinstance(policy, (Leave, Sample, Enumerate)):
        return (), "it stops where the future is not unique"
    if isinstance(policy, Leave) and policy.after <= 0.0:
        return (), (
            "nothing can leave a two-fold at once, both sides bend back to the surface; "
            "Leave(side, after) needs after > 0 here"
        )
    try:
        at = place.sides.copy()
        at[place.surface] = 0.0
        wedge = EscapingWedge(system, place.x, tolerance, at)
        reach = wedge.longest(math.pi / 4)
    except (ModelError, np.linalg.LinAlgError) as error:
        return (), str(error).splitlines()[0]
    found: list[tuple[Exit, float]] = []
    if isinstance(policy, Leave):
        exit_ = wedge.exit_after(math.pi / 4, policy.after)
        if exit_ is None:
            return (), (
                f"no exit after {policy.after:.6g} was found; orbits dwell up to "
                f"{reach.dwell:.6g} there, and times below about 1e-6 of that are not resolved"
            )
        found.append((exit_, _sign(policy.side)))
    elif isinstance(policy, Sample):
        found = _sampled(wedge, policy, rng)
    else:
        found = _enumerated(wedge, policy, horizon)
    if not found:
        return (), "no exit was found"
    return [_through(place, exit_, side) for exit_, side in found], ""


def _sampled(
    wedge: EscapingWedge, policy: Sample, rng: np.random.Generator
) -> list[tuple[Exit, float]]:
    """Draw dwell times from the hazard and directions evenly, within what exists."""
    found: list[tuple[Exit, float]] = []
    for _ in range(20 * policy.n):
        angle = float(rng.uniform(0.0, math.pi / 2))
        dwell = float(rng.exponential(1.0 / policy.hazard))
        side = 1.0 if rng.random() < 0.5 else -1.0
        exit_ = wedge.exit_after(angle, dwell) if dwell > 0.0 else None
        # a draw beyond the last exit of its ray is drawn again
        if exit_ is not None:
            found.append((exit_, side))
        if len(found) == policy.n:
            break
    return found


def _enumerated(
    wedge: EscapingWedge, policy: Enumerate, horizon: float
) -> list[tuple[Exit, float]]:
    """Return exits on a grid of directions and distances, up to the horizon, to both sides."""
    found = []
    for a in range(policy.grid):
        angle = (a + 0.5) / policy.grid * math.pi / 2
        try:
            last = wedge.longest(angle)
        except ModelError:
            # the rays next to a fold may come from elsewhere
            continue
        if last.dwell > horizon:
            last = wedge.exit_after(angle, horizon) or last
        for b in range(policy.grid):
            exit_ = wedge.exit_at(angle, last.distance * (b + 1.0) / policy.grid)
            if exit_ is not None:
                found += [(exit_, 1.0), (exit_, -1.0)]
    return found


def _through(place: Place, exit_: Exit, side: float) -> Start:
    sides = place.sides.copy()
    sides[place.surface] = side
    note = f"leave to {_NAMES[side]} after {exit_.dwell:.6g}, direction {exit_.angle:.4g}"
    return Start(exit_.x, sides, wait=exit_.dwell, note=note, through=exit_)


# ---- on a codimension-2 line


def _at_line(
    system: SwitchingSystem,
    policy: Policy,
    place: Place,
    rng: np.random.Generator,
    tolerance: Tolerance,
) -> tuple[Sequence[Start], str]:
    share = min(max(OFF_LINE, 1e3 * tolerance.rtol), _FARTHEST)
    distance = share * float(np.max(system.compiled.scale))
    ways = list(system.line_exits(place.x))
    if not isinstance(policy, (Leave, Sample, Enumerate)):
        names = ", ".join(f"{way.kind} {way.mode}" for way in ways) or "none known"
        return (), f"it stops where the future is not unique (exit directions: {names})"
    moving = [way for way in ways if way.kind != "rest"]
    if isinstance(policy, Leave):
        moving = [way for way in moving if way.mode == policy.side]
        if not moving:
            known = ", ".join(f"{way.kind} {way.mode}" for way in ways) or "none known"
            return (), f"no exit direction to {policy.side} (exit directions: {known})"
        return [_off_line(system, place, moving[0], distance)], ""
    if isinstance(policy, Enumerate):
        return [_off_line(system, place, way, distance) for way in ways], ""
    if not moving:
        return (), "no way out is known"
    picked = rng.integers(len(moving), size=policy.n)
    dwell = rng.exponential(1.0 / policy.hazard, policy.n)
    side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
    return [
        _off_line(system, place, moving[int(i)], distance, float(d), float(s))
        for i, d, s in zip(picked, dwell, side, strict=True)
    ], ""


def _off_line(
    system: SwitchingSystem,
    place: Place,
    way: LineExit,
    distance: float,
    dwell: float = 0.0,
    side: float = 0.0,
) -> Start:
    if way.kind == "rest":
        return Start(place.x, place.sides, note="rest", rest=True)
    sides = place.sides.copy()
    sides[0] = {"+": 1.0, "-": -1.0, "slide": 0.0}[way.mode]
    x = system.line_point(place.x) + distance * np.array(way.direction)
    note = f"{way.kind} {way.mode} at angle {way.angle:.6g}"
    if way.kind != "escape":
        dwell, side = 0.0, 0.0
    return Start(x, sides, distance / way.speed, note, side, dwell)
