"""Springs and dampers of rigid bodies in space, where bodies turn about their principal axes.

The tension of a spring of length l is k (l - l0) + c dl/dt along the line of its ends, with the
stiffness k, the damping c and the length l0 without force. `bodies.joints.springs.Springs` has
these formulas; this class has the parts that depend on the dimension.
`space.mechanics.SpatialMechanics` makes it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.joints.springs import Springs
from stiction.bodies.space.rotation import matrices

__all__ = ["SpatialSprings"]

Floats = npt.NDArray[np.float64]


class SpatialSprings(Springs):
    """The springs of a system in space; `points` are in the frames of the principal axes.

    Places (..., m, 7) have quaternions, and velocities (..., m, 6) and moments have components
    about the principal axes. The second column of `inverse` has the largest inverse moments.

    Verified by: tests/unit/bodies/space/test_springs.py::test_motion_in_a_plane
    """

    components: ClassVar[int] = 3

    def arms(self, pose: Floats) -> Floats:
        """Return (..., s, 2, 3) vectors from the centres of the parts to the ends [m]."""
        turn = matrices(pose[..., self.ends, 3:])
        return np.asarray((turn @ self._points[..., None])[..., 0])

    def _by_spin(self, pose: Floats, arms: Floats, velocity: Floats) -> Floats:
        """Return (..., s, 2, 3) velocities of the ends relative to the centres [m/s]."""
        turn = matrices(pose[..., self.ends, 3:])
        spin = velocity[..., self.ends, 3:]
        return np.asarray((turn @ np.cross(spin, self._points)[..., None])[..., 0])

    def _moments(self, pose: Floats, end: int, arm: Floats, force: Floats) -> Floats:
        """Return (..., s, 3) moments of forces (..., s, 3) about the principal axes [N m]."""
        turn = matrices(pose[..., self.ends[:, end], 3:])
        own = (force[..., None, :] @ turn)[..., 0, :]
        return np.cross(self._points[:, end], own)
