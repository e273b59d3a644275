r"""
Symmetry under a change of sign of the force
============================================

**Physics.** Proposition 1 of the Axioms paper assumes :math:`f > 0`, and the text says that the
case :math:`f < 0` "is not symmetric". The equations are odd: if :math:`x(t)` solves the problem
for :math:`f, x_0, v_0`, then :math:`-x(t)` solves it for :math:`-f, -x_0, -v_0`, because
:math:`\operatorname{Sgn}` is odd. So :math:`S(-f) = -S(f)`, and the formulas of Proposition 1
hold for either sign without a change. Only a run whose start is not mirrored together with the
force is not symmetric.

Source: Axioms 14(4) 299, section 3, Proposition 1.
"""

# %%
# The model
# ---------
# Unequal masses and springs and a start away from zero exclude an accidental symmetry.
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st

FORCE = 12.0
X0, V0 = np.array([0.10, -0.05, 0.20]), np.array([0.0, 0.3, -0.2])

# %%
# The law
# -------
law = st.ExponentialWeakening(mu_static=0.08, mu_kinetic=0.05, v_scale=0.2)
chain = st.Chain(
    mass=[1.0, 2.0, 1.5],
    stiffness=[20.0, 35.0, 15.0],
    load=st.Constant(FORCE),
    law=law,
    x0=X0,
    v0=V0,
)

# %%
# Method and solve
# ----------------
# The run, its mirror image, and the run in which only the sign of the force changes.
mirrored = replace(chain, load=st.Constant(-FORCE), x0=-X0, v0=-V0)
only_force = replace(chain, load=st.Constant(-FORCE))
runs = [st.solve(c, st.EventDriven(), t_span=(0.0, 15.0)) for c in (chain, mirrored, only_force)]

# %%
# Reading the result
# ------------------
fig, axes = plt.subplots(1, 2, figsize=(7.0, 2.8), layout="constrained", sharey=True)
for ax, other, title in zip(axes, runs[1:], ("mirrored", "force alone"), strict=True):
    ax.plot(runs[0].time, runs[0].data["x"][:, 2], label="f > 0")
    ax.plot(other.time, -other.data["x"][:, 2], "--", label=f"f < 0, {title}, drawn upside down")
    ax.set(xlabel="time [s]")
    ax.legend(fontsize="small")
axes[0].set_ylabel("mass 3 [m]")

# %%
# The numbers.
apart = [float(np.abs(runs[0].data["x"] + other.data["x"]).max()) for other in runs[1:]]
print(f"largest |x(f) + x(-f)|: mirrored {apart[0]:.1e} m, force alone {apart[1]:.3f} m")
print("stop times [s]:", [round(run.quantities["stop_time"].value, 6) for run in runs])
assert apart[0] == 0.0
assert apart[1] > 0.1
assert list(runs[0].events["time"]) == list(runs[1].events["time"])

# %%
# Each of them ends inside the stick set of its own force, described by one formula for both signs:
# :math:`|b f - K x|_i \le \mu_s N_i`.
for run, force in zip(runs, (FORCE, -FORCE, -FORCE), strict=True):
    drive = force * np.array([0.0, 0.0, 1.0]) - chain.stiffness_matrix() @ run.final["x"]
    assert np.all(np.abs(drive) <= chain.stick_bound)
