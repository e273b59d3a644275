"""Where two switching surfaces meet and several ways lead on: what they are, what policies take.

The kernels say which ways are open, as a set of bits (`flow.corners.ways`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.method import Policy
from stiction.switching.choosing.choices import OFF_LINE, Place, Start
from stiction.switching.flow import records as r
from stiction.switching.flow.corners.ways import (
    ESCAPES,
    HALVES,
    SPIRAL,
    STAYS_MINUS,
    STAYS_PLUS,
)
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import SwitchingSystem
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample

__all__ = ["Way", "leave", "rests_at", "starts_at", "ways_of"]

Floats = npt.NDArray[np.float64]

_NAMES = {1.0: "+", -1.0: "-", 0.0: "slide"}
_CORNERS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
_HALVES = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))


@dataclass(frozen=True)
class Way:
    """One way on from where two surfaces meet.

    Parameters
    ----------
    kind : `slip` into a corner, `slide` along a half surface, `escape` along one that repels,
        `spiral` out by infinitely many crossings, `stay`
    signs : of both surfaces, 0 on one that it slides on
    branch : of a `stay`, the sign of the determinant of its sliding vector
    """

    kind: str
    signs: tuple[float, float] = (0.0, 0.0)
    branch: int = 0

    def __str__(self) -> str:
        """Return it in words."""
        if self.kind in ("stay", "spiral"):
            return self.kind
        return f"{self.kind} ({_NAMES[self.signs[0]]}, {_NAMES[self.signs[1]]})"


def ways_of(bits: int) -> tuple[Way, ...]:
    """Return the ways of a set: into corners, along half surfaces, out along a spiral, staying."""
    found = [Way("slip", signs) for c, signs in enumerate(_CORNERS) if bits >> c & 1]
    for kind in ("slide", "escape"):
        for e, signs in enumerate(_HALVES):
            repels = bits >> (ESCAPES + e) & 1
            if bits >> (HALVES + e) & 1 and repels == (kind == "escape"):
                found.append(Way(kind, signs))
    if bits >> SPIRAL & 1:
        found.append(Way("spiral"))
    for bit, branch in ((STAYS_PLUS, 1), (STAYS_MINUS, -1)):
        if bits >> bit & 1:
            found.append(Way("stay", branch=branch))
    return tuple(found)


def starts_at(
    system: SwitchingSystem,
    policy: Policy,
    place: Place,
    rng: np.random.Generator,
    tolerance: Tolerance,
) -> tuple[Sequence[Start], str]:
    """Return the futures a policy takes where two surfaces meet, and why there are none.

    Verified by: tests/unit/switching/test_corners.py::test_policies_take_what_is_open
    """
    if isinstance(policy, ByKind):
        policy = policy.intersection
    ways = ways_of(place.ways)
    known = ", ".join(map(str, ways)) or "none known"
    if isinstance(policy, Leave):
        wanted = 1.0 if policy.side == "+" else -1.0
        way = _towards(ways, wanted)
        if way is None:
            return (), f"no way out to {policy.side} (ways out: {known})"
        stays = [other for other in ways if other.kind == "stay"]
        if policy.after > 0.0 and stays:
            return [_start(system, place, stays[0], tolerance, policy.after, wanted)], ""
        return [_start(system, place, way, tolerance, policy.after, wanted)], ""
    if isinstance(policy, Enumerate):
        return [_start(system, place, way, tolerance) for way in ways], ""
    if not isinstance(policy, Sample):
        return (), f"it stops where the future is not unique (ways out: {known})"
    picked = rng.integers(len(ways), size=policy.n)
    dwell = rng.exponential(1.0 / policy.hazard, policy.n)
    side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)
    return [
        _start(system, place, ways[int(k)], tolerance, float(d), float(s))
        for k, d, s in zip(picked, dwell, side, strict=True)
    ], ""


def _towards(ways: Sequence[Way], side: float) -> Way | None:
    """Return the first way to one side of the first surface, or else of the second one."""
    for surface in range(2):
        for way in ways:
            if way.kind == "spiral" or way.signs[surface] == side:
                return way
    return None


def _start(
    system: SwitchingSystem,
    place: Place,
    way: Way,
    tolerance: Tolerance,
    dwell: float = 0.0,
    side: float = 1.0,
) -> Start:
    """Return the start of a way; a `stay` or an `escape` leaves to `side` after `dwell`."""
    sides, note = place.sides.copy(), str(way)
    pair = (place.surface, place.other)
    sides[list(pair)] = way.signs
    if way.kind == "spiral":
        return _along_spiral(system, place, tolerance, side)
    if way.kind not in ("stay", "escape") or dwell <= 0.0:
        return Start(place.x, sides, note=note, branch=way.branch)
    surface = place.other if way.kind == "escape" and way.signs[1] == 0.0 else place.surface
    note += f", leave to {_NAMES[side]} after {dwell:.6g}"
    return Start(
        place.x, sides, note=note, side=side, dwell=dwell, branch=way.branch, surface=surface
    )


def _along_spiral(
    system: SwitchingSystem, place: Place, tolerance: Tolerance, side: float
) -> Start:
    """Return a start on the first surface's `side`, where a spiral out of the place crosses.

    To first order all turns are similar: the last one, gone back, gives them all.
    """
    one, two = place.surface, place.other
    normals = system.gradient(place.x)[[one, two]]
    share = min(max(OFF_LINE, 1e3 * tolerance.rtol), 1e-4)
    reach = share * float(np.abs(normals[0]) @ np.asarray(system.compiled.scale))

    def flow(signs: tuple[float, float]) -> tuple[Floats, Floats]:
        all_signs = place.sides.copy()
        all_signs[[one, two]] = signs
        field = system.field(place.x, all_signs)
        return field, normals @ field

    # the corner it enters there is the one in which it moves away from h_2 = 0
    enters = 1.0 if flow((side, 1.0))[1][1] > 0.0 else -1.0
    signs, axis, off = [side, -enters], 0, reach
    moved, time = np.zeros(place.x.size), 0.0
    for _ in range(4):
        field, rate = flow((signs[0], signs[1]))
        spent = off / abs(rate[axis])
        moved, time = moved + spent * field, time + spent
        axis = 1 - axis
        off = abs(rate[axis]) * spent
        # back into the corner before, across the axis on which it began
        signs[1 - axis] = -signs[1 - axis]
    growth = reach / off
    share = 1.0 / (1.0 - 1.0 / growth)
    sides = place.sides.copy()
    sides[[one, two]] = side, enters
    note = f"spiral, at h_{one + 1} = {side * reach:.3g} after {time * share:.3g}"
    return Start(place.x + share * moved, sides, wait=time * share, note=note)


def leave(system: SwitchingSystem, path: Trajectory, surface: int, side: float) -> None:
    """Leave a surface to one side, unless the sliding there has ended before.

    Where two surfaces meet it takes a way to that side, and stays if there is none.
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
    bits = path.ways(surface, other)
    way = _towards(ways_of(bits), side)
    if way is None:
        return
    place = Place("intersection", path.t, path.x, sides, surface, other, bits)
    start = _start(system, place, way, path.tolerance, side=side)
    path.place(path.t + start.wait, start.x, start.sides)
    for k in (surface, other):
        if start.sides[k] != 0.0:
            path.log(r.LEAVE, k, 0.0, float(start.sides[k]))


def rests_at(
    system: SwitchingSystem, x: Floats, events: npt.NDArray[np.void]
) -> tuple[Floats, int, int] | None:
    """Return where two surfaces meet if crossings of both pile up there, and the surfaces.

    Parameters
    ----------
    x : (n,) where they pile up
    events : all so far
    """
    last = events[-8:]
    pair = np.unique(last["surface"])
    turning = len(last) == 8 and (last["kind"] == r.CROSS).all() and pair.size == 2
    if not turning or not (np.diff(last["surface"]) != 0).all():
        return None
    scale, found = np.asarray(system.compiled.scale), x.copy()
    for _ in range(4):
        steep = system.gradient(found)[pair] * scale
        found = found - scale * (np.linalg.pinv(steep) @ system.surfaces_at(found)[pair])
    if not float(np.max(np.abs(found - x) / scale)) < 1e-5:
        return None
    return found, int(pair[0]), int(pair[1])
