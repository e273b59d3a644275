r"""
Periodic orbits of a dry-friction oscillator
============================================

**Physics.** A harmonic force moves a block on a spring against dry friction (Den Hartog 1931):

.. math:: \ddot x + x + f \operatorname{sgn} \dot x = \cos(r t).

Under weak friction the block turns at once. Beyond a boundary it stops at every turning point: a
crossing of the surface :math:`\dot x = 0` becomes an interval of sliding. This is the
crossing-sliding bifurcation. With :math:`V = 1/(1 - r^2)` and
:math:`U = \sin(\pi/r) / (r (1 + \cos(\pi/r)))` it lies at

.. math:: f = \left(U^2 / V^2 + 1 / (V - 1)^2\right)^{-1/2}.

Source: Den Hartog 1931; di Bernardo et al. 2008, chapter 8.
"""

# %%
# The model
# ---------
# Each side of the surface has its own field. The force makes the time a variable of the flow.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

R = 0.7


def slip(side):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side * p.f]


# %%
# The law
# -------
# Friction is the sign of the side times `f`; in stick it takes any value between.
block = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=slip(1.0),
    f_minus=slip(-1.0),
    x0=[1.0, 0.5],
    names=["x", "v"],
    parameters={"r": R, "f": 0.5},
)

# %%
# Method and solve
# ----------------
# Shooting finds the orbit; continuation follows it to both ends of the span of friction.
cycle = st.find_cycle(block, guess=[1.0, 0.5], period=2.0 * np.pi / R, settle=60.0)
branch = st.continue_cycle(cycle, "p.f", span=(0.4, 0.85), step=0.15)
print(branch)

# %%
# Reading the result
# ------------------
# The multipliers lie on a circle until the orbit sticks; then one of them is 0.
orbits = [branch.cycles[0].run(400), branch.cycles[-1].run(400)]
fig, axes = plt.subplots(1, 2, figsize=(7.0, 2.8), layout="constrained")
for run, colour, f in zip(orbits, ("#0072B2", "#D55E00"), branch.values[[0, -1]], strict=True):
    axes[0].plot(run.data["x"], run.data["v"], color=colour, label=f"f = {f:.2f}")
axes[0].set(xlabel="displacement [1]", ylabel="velocity [1]")
axes[0].legend()
moduli = np.abs([orbit.multipliers for orbit in branch.cycles])
axes[1].plot(branch.values, moduli, color="#0072B2")
axes[1].axvline(branch.bifurcations[0].value, color="#D55E00", lw=1.0)
axes[1].set(xlabel="friction [1]", ylabel="modulus of multipliers [1]")

# %%
# The check against the closed form of the boundary.
gain, turned = 1.0 / (1.0 - R * R), np.sin(np.pi / R) / (R * (1.0 + np.cos(np.pi / R)))
bound = 1.0 / np.hypot(turned / gain, 1.0 / (gain - 1.0))
for one in branch.bifurcations:
    print(f"{one.kind} at f = {one.value:.12f}, closed form {bound:.12f}")
    assert one.kind == "crossing-sliding"
    assert abs(one.value - bound) < 1e-10
assert branch.bifurcations
assert moduli[-1].min() == 0.0
