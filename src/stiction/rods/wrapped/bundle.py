"""Several rods in one array of slots, with the interface of a single static rod.

`problem.WrappedProblem` uses the elastic forces and the tangent stiffness of all rods at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stiction.rods import rod_kernels as rk
from stiction.rods.rod import CosseratRod
from stiction.rods.statics import StaticRod

__all__ = ["StaticRods"]


class StaticRods(StaticRod):
    """State, forces, stiffness and increments of rods whose slots follow one another.

    The slot before and the slot after each rod have no stiffness, so rods do not act on their
    neighbours. Node i of a rod is in slot `offset + 1 + i`, and element i too. Attributes are those
    of `StaticRod`; `nodes` and `elements` are the slots of all nodes and of all elements.

    Verified by: tests/unit/rods/wrapped/test_wrapped_rods.py::test_rods_do_not_act_on_each_other
    """

    def __init__(self, rods: Sequence[CosseratRod], tolerance: float, max_iterations: int) -> None:
        each = [StaticRod(rod, tolerance, max_iterations) for rod in rods]
        self.tolerance, self.max_iterations = tolerance, max_iterations
        # the ends of wrapped rods do not rotate by a load factor
        self.ends = each[0].ends
        self.offsets = [0, *np.cumsum([rod.slots for rod in each]).tolist()]
        self.slots = self.offsets[-1]
        self.size = 6 * self.slots
        self.r = np.hstack([rod.r for rod in each])
        self.q = np.hstack([rod.q for rod in each])
        self.mat = np.hstack([rod.mat for rod in each])
        self.given_angles = np.hstack([rod.given_angles for rod in each])
        self.natural_angles = np.hstack([rod.natural_angles for rod in each])
        self.free = np.concatenate([rod.free for rod in each])
        self.rounding = max(rod.rounding for rod in each)
        self.scratch, self.work = np.zeros((24, self.slots)), np.zeros((10, self.slots))
        rows = rk.material_of(self.mat)
        # a torque over the element length is an error of the shear force
        self.arm = np.repeat([np.ones(self.slots), rows.length], 3, axis=0).T.ravel()
        self.elements = np.flatnonzero(rows.axial > 0.0)
        first = np.array(self.offsets[:-1])
        self.nodes = np.setdiff1d(np.arange(self.slots), first)
