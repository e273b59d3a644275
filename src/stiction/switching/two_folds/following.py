"""Hops out of a two-fold, stored as saved states and events of a trajectory.

A hop is an arc of an orbit from the surface back to it. Next to a two-fold its height is below the
rounding errors of h, so that the kernels do not see it; `hopping` computes the hops, and this
module moves the `Trajectory` of a run to their end. The system has one surface, number 0.

`Flow.y` is (x, t, W): state, time, energies. The rows of `Hops.nodes` and of `Flow.saved_states`
are (t, x, W). So the energies start at n + 1 in both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stiction.switching.flow.records import CROSS
from stiction.switching.flow.trajectory import Trajectory
from stiction.switching.model import SwitchingSystem
from stiction.switching.two_folds.hopping import hop_away

__all__ = ["follow_hops"]


def follow_hops(
    system: SwitchingSystem, path: Trajectory, t_end: float, drain: Callable[[], None]
) -> None:
    """Move a trajectory placed next to a two-fold to a point at which its hops are resolved.

    It is not moved if the state is not next to an invisible two-fold, if its offset from the
    two-fold is not known well enough, or if the hops do not grow before `t_end`.

    Parameters
    ----------
    t_end : end time of the run
    drain : stores the events of the trajectory and empties its records

    Verified by: tests/unit/switching/two_folds/test_hopping.py::test_a_run_hops_as_an_ensemble_does
    """
    flow, t, side = path.flow, path.t, float(path.sides[0])
    hops = hop_away(system, path.x, 0, path.sides, int(flow.progress.q), t_end - t)
    if hops is None:
        return
    n = path.x.size
    spent, times = flow.y[n + 1 :].copy(), t + hops.nodes[:, 0]
    first = int(flow.progress.saves)
    last = int(np.searchsorted(flow.save, times[-1], side="right"))
    wanted = flow.save[first:last]
    samples = flow.saved_states[first:last]
    samples[:, 1:] = hops.at(wanted - t)
    samples[:, n + 1 :] += spent
    landed = times[[node for node, _ in hops.landings]]
    # the side changes at each landing
    crossings = np.searchsorted(landed, wanted, side="right")
    flow.saved_signs[first:last, 0] = np.where(crossings % 2 == 0, side, -side)
    flow.progress.saves = last
    for node, after in hops.landings:
        flow.y[:n], flow.y[n] = hops.nodes[node, 1 : n + 1], times[node]
        path.log(CROSS, 0, -after, after)
        drain()
    path.place(float(times[-1]), hops.nodes[-1, 1 : n + 1], np.array([hops.side]))
    # later margins include the error of this start
    flow.progress.start_error = hops.relative_error
    # `place` sets state and time, not the energies; `hops` counts them from its start
    flow.y[n + 1 :] = spent + hops.nodes[-1, n + 1 :]
