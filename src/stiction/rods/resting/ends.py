"""Ends of rods at rest that turn with the load factor, and slide along the axis they turn about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.rods.rod import Clamped, CosseratRod, Driven, Pinned, Turned

__all__ = ["TurnedEnds", "product", "refuse_loose", "rotate"]

Floats = npt.NDArray[np.float64]


class TurnedEnds:
    """The turned ends of a rod whose unknowns have six columns per slot, the ghosts outside.

    At load factor f a clamp has turned by f times the last angle of its history. A node that
    slides has one free direction: the rod is turned so that this is the first axis of space, and
    what is found is turned back.

    Attributes
    ----------
    angle : largest of the angles [rad], 0 where no end turns
    """

    def __init__(self, rod: CosseratRod) -> None:
        n = rod.elements
        both = ((rod.left, 0, 1), (rod.right, n + 1, n + 1))
        self.ends = [(end, ghost, node) for end, ghost, node in both if isinstance(end, Turned)]
        self.angle = max((abs(end.angles[-1]) for end, _, _ in self.ends), default=0.0)
        sliding = [(np.asarray(end.axis), node) for end, _, node in self.ends if end.slides]
        self.sliding = [node for _, node in sliding]
        # how space is turned for the solution: a quaternion, w first
        self.way = np.array([1.0, 0.0, 0.0, 0.0])
        if sliding:
            self.way = _onto_first(sliding[0][0])
            if any(np.linalg.norm(np.cross(sliding[0][0], axis)) > 1e-9 for axis, _ in sliding):
                got, needs = "ends that slide along different axes", "one axis"
                why, try_ = "one axis of space is kept free.", "let one end slide."
                raise ModelError("equilibrium.rod", got, needs, why, try_)
        self.start: list[Floats] = []

    def into(self, r: Floats, q: Floats) -> None:
        """Turn places (3, k) and frames (4, k) into the space of the solution, in place."""
        if self.sliding:
            r[:], q[:] = rotate(self.way, r), product(self.way, q)

    def back(self, r: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Return copies of places and frames in the space they were given in."""
        if not self.sliding:
            return r.copy(), q.copy()
        away = self.way * np.array([1.0, -1.0, -1.0, -1.0])
        return rotate(away, r), product(away, q)

    def take(self, q: Floats) -> None:
        """Keep the frames (4, slots) from which clamps turn."""
        self.start = [q[:, ghost].copy() for _, ghost, _ in self.ends]

    def turn(self, q: Floats, factor: float) -> None:
        """Put the clamps where they are at a load factor."""
        for (end, ghost, _), start in zip(self.ends, self.start, strict=True):
            half = 0.5 * factor * end.angles[-1]
            axis = rotate(self.way, np.asarray(end.axis)[:, None])[:, 0]
            q[:, ghost] = product(np.array([np.cos(half), *np.sin(half) * axis]), start)

    def hold(self, free: npt.NDArray[np.bool_]) -> None:
        """Mark what a sliding node cannot do as held."""
        for node in self.sliding:
            free[6 * node + 1 : 6 * node + 3] = False

    def hold_rows(self, matrix: Floats, band: int) -> None:
        """Give a matrix in diagonal form rows and columns of the unit matrix for the same."""
        size = matrix.shape[1]
        for node in self.sliding:
            for i in (6 * node + 1, 6 * node + 2):
                columns = np.arange(max(i - band, 0), min(i + band + 1, size))
                matrix[band + i - columns, columns] = 0.0
                matrix[:, i] = 0.0
                matrix[band, i] = 1.0


def refuse_loose(rod: CosseratRod) -> None:
    """Raise ModelError for ends without a rest."""
    ends = (rod.left, rod.right)
    held = [isinstance(end, Clamped | Turned) for end in ends]
    pinned = [isinstance(end, Pinned) for end in ends]
    stays = [isinstance(end, Clamped | Pinned | Turned) and not _slides(end) for end in ends]
    try_ = "give left = Clamped()."
    if any(isinstance(end, Driven) for end in ends):
        got, needs, why = "a driven end", "ends that stay", "a rod at rest has no moving end."
        try_ = "give Clamped(), or Turned for an angle."
    elif not any(held) and not all(pinned):
        got = "a pin and a free end" if any(pinned) else "two free ends"
        needs, why = "an end that is clamped, or two pins", "a loose rod has no place to rest."
    elif not any(stays):
        got, needs = "no end that keeps its place", "one that does"
        why = "a rod that may slide as a whole has no place to rest."
    else:
        return
    raise ModelError("equilibrium.rod", got, needs, why, try_)


def _slides(end: object) -> bool:
    return isinstance(end, Turned) and end.slides


def _onto_first(axis: Floats) -> Floats:
    """Return the quaternion that turns a unit vector onto the first axis."""
    way = np.array([1.0 + axis[0], 0.0, axis[2], -axis[1]])
    # the other way round: half a turn about the third axis
    long = float(np.linalg.norm(way))
    return way / long if long > 1e-6 else np.array([0.0, 0.0, 0.0, 1.0])


def product(one: Floats, two: Floats) -> Floats:
    """Return quaternion `one` (4,) times `two` (4,) or (4, k), w first."""
    w, u = one[0], one[1:].reshape(3, *[1] * (two.ndim - 1))
    scalar = w * two[0] - (u * two[1:]).sum(axis=0)
    vector = w * two[1:] + u * two[0] + np.cross(u, two[1:], axis=0)
    return np.concatenate([scalar[None], vector])


def rotate(turn: Floats, x: Floats) -> Floats:
    """Return vectors (3, k) turned by a unit quaternion (4,)."""
    u = turn[1:, None]
    twice = 2.0 * np.cross(u, x, axis=0)
    return np.asarray(x + turn[0] * twice + np.cross(u, twice, axis=0))
