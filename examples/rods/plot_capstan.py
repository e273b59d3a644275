r"""
Capstan with its exponential
============================

**Physics.** A rope lies on a fixed drum over half a turn. One end is clamped with the tension
:math:`T_0`. The force on the other end rises beyond the capacity of friction, and falls again.
Where the rope slips, the tension changes with the turning :math:`\psi` from the pulled end like
:math:`e^{\mp \lambda \psi}`. Where it sticks, the tension stays as it was. So slip spreads from the
pulled end. When the force falls from :math:`P` to :math:`U`, reverse slip spreads in the same way:

.. math:: T = \max(T_0, P e^{-\lambda \psi}), \qquad
   T = \min(P e^{-\lambda \psi}, U e^{\lambda \psi}) .

Friction acts at the surface of the rope, a radius :math:`r` from its axis, whose curvature is
:math:`1/\rho`. So :math:`\lambda` is smaller than :math:`\mu`:
:math:`\lambda (1 + \mu \lambda r/\rho) = \mu (1 - r/\rho)`.

Source: Euler 1762 for the exponential; decision record 41 for the thick rope.
"""

# %%
# The model
# ---------
# Lengths are in units of :math:`\rho`, forces in units of :math:`T_0`. Straight strands of six
# elements are on both sides of the arc. Stretch, shear and bending are small.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle

import stiction as st
from stiction.exact.rods import capstan_exponent
from stiction.rods import Clamped, CosseratRod, Curve, CylinderPartner, Free, PointForce

RADIUS, COUNT, STRAND = 0.05, 40, 6
FORCES, TIMES = [1.0, 1.6, 3.0, 1.5], [0.0, 1.0, 2.0, 3.0]

angle = np.linspace(0.0, np.pi, COUNT + 1)
arc = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
strand = np.pi / COUNT * np.arange(1, STRAND + 1)[:, None] * [0.0, 1.0, 0.0]
nodes = np.concatenate([arc[0] - strand[::-1], arc, arc[-1] - strand])

rope = CosseratRod(
    st.rods.GivenSection(2e3, 2e3, bending=2e-4, twist=2e-4, outer_radius=RADIUS),
    Curve(nodes),
    elements=len(nodes) - 1,
    left=Clamped(),
    right=Free(),
    loads=[PointForce([0.0, -1.0, 0.0], 1.0, TIMES, FORCES)],
)
drum = CylinderPartner([0.0, 0.0, -1.0], [0.0, 0.0, 1.0], 1.0 - RADIUS)

# %%
# The law
# -------
# Coulomb's law, exactly: a contact sticks with no slip at all, or slips at its bound.
mu = 0.3
exponent = capstan_exponent(mu, RADIUS)
print(f"mu = {mu}, lambda = {exponent:.4f}, held at most {np.exp(exponent * np.pi):.3f}")

# %%
# Method and solve
# ----------------
# Equilibria at four times; the slip between them is part of their history.
search = st.rods.ContactSearch(st.Coulomb(mu), self_contact=False)
system = st.rods.Rods([rope], search=search, partners=[drum])
run = st.solve(system, st.rods.Quasistatic(steps=15), (TIMES[0], TIMES[-1]), save=TIMES)
print(run)
assert run.audit.ok

# %%
# Reading the result
# ------------------
# Left: the rope after the force has fallen, with its contacts. Right: tensions in the elements at
# the four times as points, and the closed forms as lines. Slip is where a line has a slope.
FULL = FORCES[2]
psi = (COUNT + STRAND - 0.5 - np.arange(rope.elements)) * np.pi / COUNT
inside = (psi > 0.0) & (psi < np.pi)
exact = [
    np.ones_like(psi),
    np.maximum(1.0, FORCES[1] * np.exp(-exponent * psi)),
    FULL * np.exp(-exponent * psi),
    np.minimum(FULL * np.exp(-exponent * psi), FORCES[3] * np.exp(exponent * psi)),
]
fig, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
left.add_patch(Circle((0.0, 0.0), 1.0 - RADIUS, color="0.9"))
position, tension = run.data["position"].values, run.data["tension"].values
node, mode = run.data["node_of_contact"].values - 1, run.data["contact_mode"].values
left.plot(*position[-1, :, :2].T, color="0.4")
for kind, name, colour in ((1, "stick", "C0"), (2, "slip", "C1")):
    at = node[mode[-1] == kind]
    left.plot(*position[-1, at, :2].T, "o", ms=4, color=colour, label=name)
left.set(aspect="equal", xlabel="x / rho", ylabel="y / rho", title=f"force {FORCES[-1]:g}")
left.annotate("", (-1.0, -0.85), (-1.0, -0.45), arrowprops={"arrowstyle": "->"})
left.text(1.05, -0.52, "clamp", ha="right", va="top")
left.legend(loc="center")
for index, (force, line) in enumerate(zip(FORCES, exact, strict=True)):
    right.plot(psi[inside], tension[index, inside], ".", color=f"C{index}")
    right.plot(psi[inside], line[inside], color=f"C{index}", label=f"{force:g}")
right.set(yscale="log", xlabel="turning psi from the pulled end [rad]", ylabel="tension / T0")
right.set(yticks=[1.0, 1.5, 2.0, 3.0], yticklabels=["1", "1.5", "2", "3"])
right.minorticks_off()
right.legend(title="force on the pulled end")

away = (psi > 0.2) & (psi < np.pi - 0.2)
for values, line in zip(tension, exact, strict=True):
    assert np.abs(values / line - 1.0)[away].max() < 0.02
