"""Exit directions at an intersection of two surfaces, and which of them a policy chooses.

The kernels return the admissible directions as bits (`flow.intersections.directions`, which defines
quadrants, half surfaces and spirals). Here they get names, and the policy of a run chooses some of
them as initial states (`Start`) of continuations. `event_driven` calls `starts_at` at a loss of
determinism, and `leave` at the end of a chosen time of sliding.

Source: Filippov 1988, sections 15 and 19.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import Policy
from stiction.switching.flow import records as r
from stiction.switching.flow.intersections.directions import (
    ESCAPES,
    HALF_SURFACES,
    SLIDES_MINUS,
    SLIDES_PLUS,
    SPIRAL,
)
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import SwitchingSystem
from stiction.switching.nonuniqueness.choices import OFF_LINE, LossPoint, Start
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample

__all__ = ["ExitDirection", "directions_of", "equilibrium_at_intersection", "leave", "starts_at"]

Floats = npt.NDArray[np.float64]

_NAMES = {1.0: "+", -1.0: "-", 0.0: "slide"}
_QUADRANTS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
_HALF_SURFACES = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))


@dataclass(frozen=True)
class ExitDirection:
    """One admissible direction from a codimension-2 intersection.

    Parameters
    ----------
    kind : `slip` into a quadrant, `slide` along a half surface that attracts, `escape` along one
        that repels, `spiral` outward by infinitely many crossings, or `codim2_sliding`
    signs : signs of h for both surfaces after the exit, 0 on a surface where the solution slides
    branch : sign of the determinant of the sliding vector of codimension-2 sliding, else 0
    """

    kind: str
    signs: tuple[float, float] = (0.0, 0.0)
    branch: int = 0

    def __str__(self) -> str:
        """Return the direction in words."""
        if self.kind == "spiral":
            return "spiral"
        if self.kind == "codim2_sliding":
            return "codimension-2 sliding"
        return f"{self.kind} ({_NAMES[self.signs[0]]}, {_NAMES[self.signs[1]]})"


def directions_of(bits: int) -> tuple[ExitDirection, ...]:
    """Return the directions of a set of bits.

    Their order: quadrants, half surfaces, repelling half surfaces, spiral, codimension-2 sliding.
    """
    directions = [
        ExitDirection("slip", signs) for c, signs in enumerate(_QUADRANTS) if bits >> c & 1
    ]
    for kind in ("slide", "escape"):
        for e, signs in enumerate(_HALF_SURFACES):
            repels = bits >> (ESCAPES + e) & 1
            if bits >> (HALF_SURFACES + e) & 1 and repels == (kind == "escape"):
                directions.append(ExitDirection(kind, signs))
    if bits >> SPIRAL & 1:
        directions.append(ExitDirection("spiral"))
    for bit, branch in ((SLIDES_PLUS, 1), (SLIDES_MINUS, -1)):
        if bits >> bit & 1:
            directions.append(ExitDirection("codim2_sliding", branch=branch))
    return tuple(directions)


def starts_at(
    system: SwitchingSystem,
    policy: Policy,
    loss: LossPoint,
    rng: np.random.Generator,
    tolerance: Tolerance,
) -> tuple[Sequence[Start], str]:
    """Return the futures of a policy at an intersection, and the reason if there are none.

    Verified by: tests/unit/switching/test_intersections.py::test_policies_take_what_is_open
    """
    if isinstance(policy, ByKind):
        policy = policy.intersection
    directions = directions_of(loss.directions)
    known = ", ".join(map(str, directions)) or "none known"
    if isinstance(policy, Leave):
        target_side = 1.0 if policy.side == "+" else -1.0
        direction = _towards(directions, target_side)
        if direction is None:
            return (), f"no exit direction to {policy.side} (exit directions: {known})"
        sliding_directions = [other for other in directions if other.kind == "codim2_sliding"]
        if policy.after > 0.0 and sliding_directions:
            return [
                _start(system, loss, sliding_directions[0], tolerance, policy.after, target_side)
            ], ""
        return [_start(system, loss, direction, tolerance, policy.after, target_side)], ""
    if isinstance(policy, Enumerate):
        return [_start(system, loss, direction, tolerance) for direction in directions], ""
    if not isinstance(policy, Sample):
        return (), f"the run stops, as its solution is not unique (exit directions: {known})"
    chosen = rng.integers(len(directions), size=policy.n)
    dwell = rng.exponential(1.0 / policy.hazard, policy.n)
    side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
    return [
        _start(system, loss, directions[int(k)], tolerance, float(d), float(s))
        for k, d, s in zip(chosen, dwell, side, strict=True)
    ], ""


def _towards(directions: Sequence[ExitDirection], side: float) -> ExitDirection | None:
    """Return the first direction to one side of the first surface, or else of the second one."""
    for surface in range(2):
        for direction in directions:
            if direction.kind == "spiral" or direction.signs[surface] == side:
                return direction
    return None


def _start(
    system: SwitchingSystem,
    loss: LossPoint,
    direction: ExitDirection,
    tolerance: Tolerance,
    dwell: float = 0.0,
    side: float = 1.0,
) -> Start:
    """Return the start of a direction; unstable sliding leaves to `side` after `dwell`."""
    sides, note = loss.sides.copy(), str(direction)
    pair = (loss.surface, loss.other)
    sides[list(pair)] = direction.signs
    if direction.kind == "spiral":
        return _along_spiral(system, loss, tolerance, side)
    if direction.kind not in ("codim2_sliding", "escape") or dwell <= 0.0:
        return Start(loss.x, sides, note=note, branch=direction.branch)
    surface = (
        loss.other if direction.kind == "escape" and direction.signs[1] == 0.0 else loss.surface
    )
    note += f", leave to {_NAMES[side]} after {dwell:.6g}"
    return Start(
        loss.x, sides, note=note, side=side, dwell=dwell, branch=direction.branch, surface=surface
    )


def _along_spiral(
    system: SwitchingSystem, loss: LossPoint, tolerance: Tolerance, side: float
) -> Start:
    """Return a start on one `side` of the first surface, at a crossing of the outward spiral.

    The last revolution before it is followed backward with constant rates. To first order earlier
    revolutions are similar to it, so that their times and displacements are a geometric series.
    """
    one, two = loss.surface, loss.other
    normals = system.gradient(loss.x)[[one, two]]
    fraction = min(max(OFF_LINE, 1e3 * tolerance.rtol), 1e-4)
    reach = fraction * float(np.abs(normals[0]) @ np.asarray(system.compiled.scale))

    def flow(signs: tuple[float, float]) -> tuple[Floats, Floats]:
        all_signs = loss.sides.copy()
        all_signs[[one, two]] = signs
        field = system.field(loss.x, all_signs)
        return field, normals @ field

    # the spiral enters the quadrant in which it moves away from h_2 = 0
    entered = 1.0 if flow((side, 1.0))[1][1] > 0.0 else -1.0
    signs, axis, distance = [side, -entered], 0, reach
    moved, time = np.zeros(loss.x.size), 0.0
    for _ in range(4):
        field, rate = flow((signs[0], signs[1]))
        spent = distance / abs(rate[axis])
        moved, time = moved + spent * field, time + spent
        axis = 1 - axis
        distance = abs(rate[axis]) * spent
        # go backward into the previous quadrant
        signs[1 - axis] = -signs[1 - axis]
    growth = reach / distance
    fraction = 1.0 / (1.0 - 1.0 / growth)
    sides = loss.sides.copy()
    sides[[one, two]] = side, entered
    note = f"spiral, at h_{one + 1} = {side * reach:.3g} after {time * fraction:.3g}"
    return Start(loss.x + fraction * moved, sides, wait=time * fraction, note=note)


def leave(system: SwitchingSystem, path: Trajectory, surface: int, side: float) -> None:
    """Leave a surface to one side; do nothing if the state no longer slides on it.

    On an intersection the first exit direction to that side is taken; if there is none, sliding
    continues.
    """
    sides = path.sides
    slides = np.flatnonzero(sides == 0.0)
    if sides[surface] != 0.0:
        return
    if slides.size == 1:
        sides[surface] = side
        path.log(r.LEAVE, surface, 0.0, side)
        path.place(path.t, path.x, sides)
        return
    other = int(slides[slides != surface][0])
    bits = path.directions(surface, other)
    direction = _towards(directions_of(bits), side)
    if direction is None:
        return
    loss = LossPoint("intersection", path.t, path.x, sides, surface, other, bits)
    start = _start(system, loss, direction, path.tolerance, side=side)
    path.place(path.t + start.wait, start.x, start.sides)
    for k in (surface, other):
        if start.sides[k] != 0.0:
            path.log(r.LEAVE, k, 0.0, float(start.sides[k]))


def equilibrium_at_intersection(
    system: SwitchingSystem, x: Floats, events: npt.NDArray[np.void]
) -> tuple[Floats, int, int] | None:
    """Return the intersection at which crossings of two surfaces accumulate, and these surfaces.

    The last eight events must be alternate crossings of two surfaces, and x must be near their
    intersection; otherwise the result is None.

    Parameters
    ----------
    x : (n,) accumulation point
    events : all events of the run
    """
    last = events[-8:]
    pair = np.unique(last["surface"])
    turning = len(last) == 8 and (last["kind"] == r.CROSS).all() and pair.size == 2
    if not turning or not (np.diff(last["surface"]) != 0).all():
        return None
    scale, point = np.asarray(system.compiled.scale), x.copy()
    for _ in range(4):
        steep = system.gradient(point)[pair] * scale
        point = point - scale * (np.linalg.pinv(steep) @ system.surfaces_at(point)[pair])
    if not float(np.max(np.abs(point - x) / scale)) < 1e-5:
        return None
    return point, int(pair[0]), int(pair[1])
