"""Events, heat and impact loss of rods that slip, as the step is halved.

::

    python benchmarks/slip_events.py          # six steps from 4e-5 s to 1.25e-6 s

Two cases: crossed rods at mu = 3, and a free rod that is thrown at another one and spins. The
sequence of events must be the same at every step, but for those nearer to another event of their
contact than 20 of the coarsest steps; times of the others, heat and impact loss must be of second
order. Orders are of the sums of absolute differences between neighbouring steps.
"""

from __future__ import annotations

import itertools

import numpy as np

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    CosseratRod,
    Free,
    RigidMotion,
    RollingContact,
    RollingLeapfrog,
    Straight,
)

STEPS = [4e-5 / 2**k for k in range(6)]


def crossed():
    """Return crossed rods, the end of their run, and when heat and loss are compared [s]."""
    return st.CrossedRods(friction=st.Coulomb(3.0)), 0.3, 0.07


def thrown():
    """Return a rod that flies at a fixed one, slides along it and comes to roll, and its times."""
    section = CircularSection(0.02, 1e6, density=1000.0)
    low = Straight((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0))
    high = Straight((0.0, -0.25, 0.042), (0.0, 0.25, 0.042))
    ends = {"left": Free(), "right": Free()}
    motion = [RigidMotion((0.6, 0.1, -0.5), (0.0, 0.0, 2.0))]
    rods = [
        CosseratRod(section, low, elements=20, left=Clamped(), right=Clamped()),
        CosseratRod(section, high, elements=20, motion=motion, **ends),
    ]
    touch = RollingContact(0.5, 0.25, friction=st.Coulomb(0.4))
    return st.Rods(rods, [touch], gravity=(0.0, 0.0, -9.81)), 0.1, 0.1


def order(values):
    """Return the orders between neighbouring triples of arrays."""
    far = [float(np.abs(np.subtract(a, b)).sum()) for a, b in itertools.pairwise(values)]
    pairs = itertools.pairwise(far)
    return [round(float(np.log2(a / b)), 2) if a and b else None for a, b in pairs]


def table(name, system, t_end, split):
    """Print what becomes of the events; return how many are apart from others."""
    save = sorted({0.0, split, t_end})
    runs = [st.solve(system, RollingLeapfrog(h), (0.0, t_end), save=save) for h in STEPS]
    kinds = [list(run.events.kind) for run in runs]
    times = [run.events.time.to_numpy() for run in runs]
    same = all(k == kinds[-1] for k in kinds)
    print(f"{name}: events {[len(k) for k in kinds]}, the same {same}")
    fine = times[-1]
    near = np.abs(fine[:, None] - fine[None])
    # a slip that begins with an impact is at the time of the impact
    near[near < 1e-12] = np.inf
    apart = near.min(axis=1) >= 20.0 * STEPS[0]
    shortest = [float(np.diff(t)[np.diff(t) > 0.0].min(initial=np.inf)) for t in times]
    print("  shortest between two, in steps:", np.round(np.divide(shortest, STEPS), 2))
    for kind, when, far in zip(kinds[-1], fine, apart, strict=True):
        print(f"    {when:.9f} s {kind}{'' if far else '  (near another)'}")
    if same:
        for way, some in (("apart", apart), ("all", np.ones(len(fine), dtype=bool))):
            orders = order([t[some] for t in times])
            print(f"  times of {some.sum()} events ({way}): orders {orders}")
    for what in ("friction_heat", "impact_loss"):
        values = [np.array([np.sum(getattr(run.energy, what)[1])]) for run in runs]
        print(f"  {what} at {split} s: {values[-1][0]:.9g} J, orders {order(values)}")
    print("  ledger:", " ".join(f"{run.energy.imbalance_rel:.1e}" for run in runs))
    return int(apart.sum())


def main():
    """Print both tables."""
    found = table("crossed rods, mu = 3", *crossed()) + table("a thrown rod", *thrown())
    print(f"events at least 20 of the coarsest steps apart: {found}")


if __name__ == "__main__":
    main()
