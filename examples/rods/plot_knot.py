r"""
Pulling a knot
==============

**Physics.** A straight elastic rod is tied into a loose trefoil knot. Contacts without friction do
no work, so :math:`T + B \kappa^2 / 2` is constant along the rod, with the tension :math:`T`, the
bending stiffness :math:`B` and the curvature :math:`\kappa`. In a very loose knot the loop is a
circle without tension, so that its radius is

.. math:: R = \sqrt{B / 2 T} .

Friction in the braid adds :math:`\mu` times the sum of the normal forces to the tension, while
:math:`\mu` is small: the strands of the braid slide as much as the end of the rod moves.

Source: Audoly, Clauvelin and Neukirch (2007), Phys. Rev. Lett. 99, 164301; Clauvelin, Audoly and
Neukirch (2009), J. Mech. Phys. Solids 57, 1623.
"""

# %%
# The model
# ---------
# Lengths are in radii :math:`a` of the rod, forces in :math:`B / a^2`.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

ROD = st.rods.GivenSection(100.0, 100.0, bending=1.0, twist=0.77, outer_radius=1.0)
knot = st.rods.overhand_knot(ROD, loop=8.0, tail=20.0, elements=95, pull=3.0)

# %%
# The law
# -------
# Coulomb's law, exactly.
FRICTIONS = [0.0, 0.1]

# %%
# Method and solve
# ----------------
# The rod relaxes against drag to the equilibrium of the knot, without friction; then its right end
# is pulled.
runs = {}
for mu in FRICTIONS:
    system = st.rods.Rods([knot], search=st.rods.ContactSearch(st.Coulomb(mu)))
    runs[mu] = st.solve(system, st.rods.Quasistatic(steps=6), save=4)
assert all(run.audit.ok for run in runs.values())
for mu, run in runs.items():
    print(f"mu = {mu:g}: tension {run.data['tension'].values[:, 1].round(5)} B / a^2")

# %%
# Reading the result
# ------------------
# Left: the knot at the end, with its nodes in contact: an interval, and a point on each side of it.
# Right: the tension of the tail over that of a circle with the curvature at the top of the loop,
# which is 1 in a very loose knot without friction.
fig = plt.figure(figsize=(8.0, 4.0), layout="constrained")
left = fig.add_subplot(1, 2, 1, projection="3d")
last = runs[0.0].data
place, touches = last["position"].values[-1], last["contact_mode"].values[-1] > 0
left.plot(*place.T, lw=3.0, color="0.7")
left.plot(*place[last["node_of_contact"].values[touches] - 1].T, "o", color="C3", ms=4.0)
left.set(xlabel="x / a", ylabel="y / a", xlim=(-25, 25), zlim=(-15, 15))
left.set_box_aspect((2.0, 1.0, 0.8))


def loop_radius(position: np.ndarray) -> float:
    """Return the radius of curvature at the top of the loop."""
    chord = np.diff(position, axis=0)
    length = np.linalg.norm(chord, axis=1)
    turn = np.linalg.norm(np.diff(chord / length[:, None], axis=0), axis=1)
    top = int(np.argmax(position[:, 1]))
    return float(length[top] / turn[top - 1])


right = fig.add_subplot(1, 2, 2)
for mu, run in runs.items():
    radius = np.array([loop_radius(position) for position in run.data["position"].values])
    load = 2.0 * run.data["tension"].values[:, 1] * radius**2
    # the first record is the relaxed knot, without friction
    right.plot(radius[1:], load[1:], "o-", label=f"mu = {mu:g}")
right.axhline(1.0, color="0.5", ls="--", lw=1.0)
right.set(xlabel="radius of the loop R / a", ylabel="2 T R$^2$ / B", ylim=(0.0, None))
right.legend()
