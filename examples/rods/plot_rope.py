r"""
Rope of three strands
=====================

**Physics.** Three unloaded helices touch each other, without a core. The rope is pulled between
ends that do not rotate. It tends to unlay, so its ends bear a moment beside the force. Without
friction, the force and the moment for a small lay angle :math:`\alpha` are

.. math:: F = 3\,EA\,\varepsilon, \qquad M = F R \tan\alpha .

with the radius :math:`R` of the helices. As the lay angle decreases, each strand slips along its
neighbours. Friction on both sides of a strand has a moment about the radius, which a shear force
balances. The moment of the rope falls by

.. math:: \frac{\Delta M}{M} = -\mu \frac{a}{R} \cot\frac{\pi}{3} \sin\alpha \cos\alpha

with the radius :math:`a` of a strand.

Source: Costello, Theory of Wire Rope (1997), for helices without friction; the moment of friction
is derived in :mod:`stiction.exact`.
"""

# %%
# The model
# ---------
# Strands of 1 mm radius, one turn of the rope, stretched by 0.1 %.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.rods import rope_friction, rope_radius, rope_stiffness

WIRE = st.rods.CircularSection(0.001, 1e9, poisson=0.3)
STRAIN, STRANDS, ELEMENTS = 1e-3, 3, 32
LAYS = [0.1, 0.2, 0.3]

ropes = {
    lay: st.rods.laid_rope(WIRE, strands=STRANDS, lay=lay, elements=ELEMENTS, strain=STRAIN)
    for lay in LAYS
}

# %%
# The law
# -------
# Coulomb's law, exactly; strands slip where its bound is reached.
FRICTIONS = [0.0, 0.3]

# %%
# Method and solve
# ----------------
# The nodes of each strand are in contact with the axes of the strands that follow it. Newton's
# method solves for displacements and tractions together.
method = st.rods.Quasistatic(steps=3)
runs = {}
for lay, rope in ropes.items():
    for mu in FRICTIONS:
        search = st.rods.ContactSearch(st.Coulomb(mu), self_contact=False)
        runs[lay, mu] = st.solve(st.rods.Rods(rope, search=search), method, save=2)
assert all(run.audit.ok for run in runs.values())

# %%
# Reading the result
# ------------------
# Left: the axes of the strands of the last rope. Right: the moment over that of small angles;
# points are computed, lines are the stiffness of helices, with and without the moment of friction.
# Points are up to 1 % lower than lines because of the mesh of 32 elements a turn.
fig = plt.figure(figsize=(8.0, 4.0), layout="constrained")
left = fig.add_subplot(1, 2, 1, projection="3d")
last = runs[LAYS[-1], FRICTIONS[-1]].data
for strand in range(1, STRANDS + 1):
    nodes = last["position"].values[-1][last["rod_of_node"].values == strand]
    left.plot(*1e3 * nodes.T, lw=5.0, solid_capstyle="round")
left.set(xlabel="x [mm]", ylabel="y [mm]", zlabel="z [mm]")
left.set(xticks=[-1.0, 0.0, 1.0], yticks=[-1.0, 0.0, 1.0])
left.set_box_aspect((1.0, 1.0, 2.0))

right = fig.add_subplot(1, 2, 2)
section = {
    "axial": WIRE.axial_stiffness,
    "bending": WIRE.bending_stiffness,
    "twist": WIRE.twist_stiffness,
}
lays = np.linspace(LAYS[0] - 0.05, LAYS[-1] + 0.02, 50)


def small(lay: float) -> float:
    """Return the moment F R tan(lay) of small angles [N m]."""
    radius = rope_radius(STRANDS, lay)[0] * WIRE.radius
    return float(STRANDS * WIRE.axial_stiffness * STRAIN * radius * np.tan(lay))


for index, mu in enumerate(FRICTIONS):
    line = [
        rope_stiffness(STRANDS, lay, WIRE.radius, **section)[1, 0]
        * STRAIN
        * (1.0 + rope_friction(STRANDS, lay, mu))
        / small(lay)
        for lay in lays
    ]
    right.plot(lays, line, color=f"C{index}", label=f"mu = {mu:g}")
    moments = [runs[lay, mu].data["end_moment"].values[-1, 2] / small(lay) for lay in LAYS]
    right.plot(LAYS, moments, "o", color=f"C{index}")
    assert np.abs(np.interp(LAYS, lays, line) / moments - 1.0).max() < 0.02
right.set(xlabel="lay angle [rad]", ylabel="moment / (F R tan alpha)")
right.legend()
