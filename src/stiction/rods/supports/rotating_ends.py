"""Clamps with prescribed rotation in static rod problems.

The angle is proportional to the load factor. A clamp may slide along its axis of rotation. Then the
whole problem is rotated so that this axis is the first axis of space, and the boundary condition
fixes single components. r (3, k) are positions of nodes, q (4, k) quaternions of frames, w first.
`statics.StaticRod` has a `RotatingEnds`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.rods.rod import Clamped, CosseratRod, Driven, Pinned, Turned

__all__ = ["RotatingEnds", "check_supports", "product", "rotate"]

Floats = npt.NDArray[np.float64]


class RotatingEnds:
    """The rotating ends (`Turned`) of a rod with six unknowns per slot, see `statics`.

    A fictitious frame beyond each end (a ghost) is the frame of its clamp. At load factor f the
    angle of a clamp is f times the last angle of its history.

    Attributes
    ----------
    angle : largest angle [rad], 0 without a rotating end
    rotation : quaternion (4,) from space to the rotated space of the solution, w first
    """

    def __init__(self, rod: CosseratRod) -> None:
        n = rod.elements
        both = ((rod.left, 0, 1), (rod.right, n + 1, n + 1))
        self.ends = [(end, ghost, node) for end, ghost, node in both if isinstance(end, Turned)]
        self.angle = max((abs(end.angles[-1]) for end, _, _ in self.ends), default=0.0)
        sliding = [(np.asarray(end.axis), node) for end, _, node in self.ends if end.slides]
        self.sliding = [node for _, node in sliding]
        self.rotation = np.array([1.0, 0.0, 0.0, 0.0])
        if sliding:
            self.rotation = _onto_first(sliding[0][0])
            if any(np.linalg.norm(np.cross(sliding[0][0], axis)) > 1e-9 for axis, _ in sliding):
                got = "ends that slide along different axes"
                needs = "ends that slide along one axis"
                why = (
                    "the equations are solved in coordinates with one axis along the sliding "
                    "direction."
                )
                try_ = "let one end slide, or both along one axis."
                raise ModelError("equilibrium.rod", got, needs, why, try_)
        self.start: list[Floats] = []

    def to_solution(self, r: Floats, q: Floats) -> None:
        """Rotate positions (3, k) and frames (4, k) to the space of the solution, in place."""
        if self.sliding:
            r[:], q[:] = rotate(self.rotation, r), product(self.rotation, q)

    def from_solution(self, r: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Return copies of positions and frames of the solution in the original space."""
        if not self.sliding:
            return r.copy(), q.copy()
        return self.back(r), product(self._inverse, q)

    def back(self, x: Floats) -> Floats:
        """Return vectors (3, k) of the solution in the original space."""
        return rotate(self._inverse, x)

    @property
    def _inverse(self) -> Floats:
        """Return the quaternion (4,) of the inverse rotation, back to the original space."""
        return np.asarray(self.rotation * np.array([1.0, -1.0, -1.0, -1.0]))

    def set_initial_frames(self, q: Floats) -> None:
        """Store the frames (4, slots) of the clamps at angle 0."""
        self.start = [q[:, ghost].copy() for _, ghost, _ in self.ends]

    def rotate_clamps(self, q: Floats, factor: float) -> None:
        """Set the frames of the clamps at a load factor."""
        for (end, ghost, _), start in zip(self.ends, self.start, strict=True):
            half = 0.5 * factor * end.angles[-1]
            axis = rotate(self.rotation, np.asarray(end.axis)[:, None])[:, 0]
            q[:, ghost] = product(np.array([np.cos(half), *np.sin(half) * axis]), start)

    def fix_sliding_nodes(self, free: npt.NDArray[np.bool_]) -> None:
        """Set `free` (6 slots,) to False for components of sliding nodes across the axis."""
        for node in self.sliding:
            free[6 * node + 1 : 6 * node + 3] = False

    def constrain_matrix(self, matrix: Floats, band: int) -> None:
        """Replace rows and columns of these components by those of the identity matrix.

        matrix : banded storage of `scipy.linalg.solve_banded`, half bandwidth `band`
        """
        size = matrix.shape[1]
        for node in self.sliding:
            for i in (6 * node + 1, 6 * node + 2):
                columns = np.arange(max(i - band, 0), min(i + band + 1, size))
                matrix[band + i - columns, columns] = 0.0
                matrix[:, i] = 0.0
                matrix[band, i] = 1.0


def check_supports(rod: CosseratRod) -> None:
    """Raise ModelError if the supports do not prevent a rigid motion.

    Two pins are accepted, although a moment about the line between them has no equilibrium.
    """
    ends = (rod.left, rod.right)
    clamped = [isinstance(end, Clamped | Turned) for end in ends]
    pinned = [isinstance(end, Pinned) for end in ends]
    fixed = [isinstance(end, Clamped | Pinned | Turned) and not _slides(end) for end in ends]
    try_ = "give left = Clamped()."
    if any(isinstance(end, Driven) for end in ends):
        got, needs, why = "a driven end", "ends at rest", "a static rod has no moving end."
        try_ = "give Clamped(), or Turned for an angle."
    elif not any(clamped) and not all(pinned):
        got = "a pin and a free end" if any(pinned) else "two free ends"
        needs = "an end that is clamped, or two pins"
        why = "the rod could turn as a rigid body, so no equilibrium is unique."
    elif not any(fixed):
        got, needs = "no end with a fixed node", "one fixed node"
        why = "the rod could slide as a whole."
    else:
        return
    raise ModelError("equilibrium.rod", got, needs, why, try_)


def _slides(end: object) -> bool:
    """Return whether the node of an end moves along the axis of its clamp."""
    return isinstance(end, Turned) and end.slides


def _onto_first(axis: Floats) -> Floats:
    """Return the quaternion (1 + a . e1, a x e1), normalised: it rotates a unit vector a to e1."""
    rotation = np.array([1.0 + axis[0], 0.0, axis[2], -axis[1]])
    # opposite direction, to the rounding of 1 + a . e1: half a turn about the third axis
    norm = float(np.linalg.norm(rotation))
    return rotation / norm if norm > 1e-8 else np.array([0.0, 0.0, 0.0, 1.0])


def product(one: Floats, two: Floats) -> Floats:
    """Return quaternion `one` (4,) times `two` (4,) or (4, k), w first."""
    w, u = one[0], one[1:].reshape(3, *[1] * (two.ndim - 1))
    scalar = w * two[0] - (u * two[1:]).sum(axis=0)
    vector = w * two[1:] + u * two[0] + np.cross(u, two[1:], axis=0)
    return np.concatenate([scalar[None], vector])


def rotate(q: Floats, x: Floats) -> Floats:
    """Return vectors (3, k) rotated by a unit quaternion (4,)."""
    u = q[1:, None]
    twice = 2.0 * np.cross(u, x, axis=0)
    return np.asarray(x + q[0] * twice + np.cross(u, twice, axis=0))
