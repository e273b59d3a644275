r"""
Buckling of a column and snap-through of an arch
================================================

**Physics.** A slender column under a dead load is straight up to Euler's load
:math:`\pi^2 EI / (4 l^2)`, and bends into an elastica beyond it. The bending grows continuously
with the load. An arch under a force at its crown behaves differently: at a limit point there is no
equilibrium nearby, and it snaps through. Between its limit points the load decreases along the
path of equilibria, so only arclength continuation can follow it.

Source: Euler 1744 for the elastica; DaDeppo and Schmidt 1975 for the deep arch, whose published
load is 8.97 :math:`EI/R^2`.
"""

# %%
# The model
# ---------
# The bending stiffness is one, and so are the length of the column and the radius of the arch.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.rods import elastica_tip, euler_load
from stiction.rods import Arc, Clamped, Free, Pinned, PointForce, Straight
from stiction.rods.statics import equilibrium, follow_path

RADIUS = 0.003
thin = st.rods.CircularSection(RADIUS, young=4.0 / (np.pi * RADIUS**4), poisson=0.3)


def column(load, sideways=0.0):
    """Return a column along x, pressed at its tip, and pushed a little to one side."""
    return st.rods.CosseratRod(
        thin,
        Straight([0, 0, 0], [1, 0, 0]),
        elements=40,
        right=Free(),
        loads=[PointForce([-load, 0, 0]), PointForce([0, sideways, 0])],
    )


HALF = np.deg2rad(215) / 2
arch = st.rods.CosseratRod(
    thin,
    Arc(
        [0, 0, 0], [np.cos(HALF), np.sin(HALF), 0], [np.sin(HALF), -np.cos(HALF), 0], 1.0, 2 * HALF
    ),
    elements=40,
    left=Clamped(),
    right=Pinned(),
    natural_curvature=None,
    loads=[PointForce([0, -1, 0], at=0.5)],
)

# %%
# The law
# -------
# The energy is quadratic in the strains; the loads have constant directions. So an equilibrium is
# a stationary point of the energy, and it is stable at a minimum.
EULER = euler_load(1.0, 1.0)
print(f"Euler's load: {EULER:.4f}")

# %%
# Method and solve
# ----------------
# The column is pushed to one side and released: it stays there.
over = np.array([1.05, 1.2, 1.5, 2.0, 2.5])
rests = []
for load in over * EULER:
    pushed = equilibrium(column(load, 0.02 * load), steps=10)
    rests.append(equilibrium(column(load), start=pushed))
path = follow_path(arch, arc=0.2, max_points=150, max_factor=14.0)
limit = path.losses[0].time
print(f"the arch snaps at {limit:.3f}, after {len(path.states)} points")

# %%
# Reading the result
# ------------------
# Left: the column, and the tips of the exact elastica as crosses. Right: the load on the arch
# along its path; the dashed line is the published limit.
tips = np.array([elastica_tip(1.0, 1.0, load) for load in over * EULER])
fig, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for rest, part in zip(rests, over, strict=True):
    left.plot(rest.position[:, 1], rest.position[:, 0], label=f"{part:g}")
left.plot(tips[:, 1], tips[:, 0], "kx")
left.set(aspect="equal", xlabel="y / l", ylabel="x / l")
left.set(xlim=(-0.25, 1.05), ylim=(-0.15, 1.35))
left.legend(title="of Euler's load", fontsize="small", ncols=3, loc="upper center")
crown = np.array([state.position[20, 1] for state in path.states])
right.plot(crown[0] - crown, path.factor)
right.axhline(8.97, ls="--", color="0.5")
right.set(xlabel="descent of the crown / R", ylabel="load [EI / R^2]")

found = np.array([rest.position[-1, :2] for rest in rests])
assert np.abs(found - tips).max() < 1e-3
assert abs(limit / 8.97 - 1.0) < 0.01
