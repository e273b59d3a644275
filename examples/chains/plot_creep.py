r"""
Smoothed friction never sticks
==============================

**Physics.** Many programs replace the set-valued sign by a smooth function, here
:math:`\phi(v) = v/\sqrt{v^2 + \varepsilon^2}`. A block under a force below its friction bound
should stick. With smoothed friction it must creep, because friction vanishes at zero velocity:

.. math:: \mu N \phi(v) = R \quad\Rightarrow\quad
          v = \frac{\varepsilon R}{\sqrt{(\mu N)^2 - R^2}} .

This matters most in slow processes: over a long time the block creeps until the spring alone
carries the load, as without friction.

Source: Axioms 14(4) 299, sections 7 and 8. The paper's own smoothing function is missing in the
available text.
"""

# %%
# The model
# ---------
# One block on a soft spring, under half of its friction bound.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

MU, PULL = 0.2, 0.981

# %%
# The law
# -------
block = st.Chain(mass=[1.0], stiffness=0.05, load=st.Constant(PULL), law=st.Coulomb(mu=MU))

# %%
# Method and solve
# ----------------
# The paper's scheme with three widths of smoothing, and the same scheme with exact friction.
widths = (1e-2, 1e-3, 1e-4)
smooth = {
    width: st.solve(
        block, st.chains.RegularizedTheta(step=1e-3, theta=1.0, smoothing=width), t_span=(0.0, 20.0)
    )
    for width in widths
}
exact_step = st.solve(block, st.ThetaStepper(step=1e-3, theta=1.0), t_span=(0.0, 20.0))

# %%
# Reading the result
# ------------------
fig, ax = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
for width, run in smooth.items():
    ax.plot(run.time, 1e3 * run.data["x"][:, 0], label=f"smoothed, {width:g} m/s")
ax.plot(exact_step.time, 1e3 * exact_step.data["x"][:, 0], "k", label="set-valued")
ax.set(xlabel="time [s]", ylabel="displacement [mm]")
ax.legend()

# %%
# Checks: the creep agrees with the formula, and with exact friction the block sticks.
for width, run in smooth.items():
    creep = width * PULL / np.sqrt((MU * 9.81) ** 2 - PULL**2)
    at = np.searchsorted(run.time, 1.0)
    found = float(run.data["v"][at, 0])
    print(f"smoothing {width:7.0e} m/s: creep {found:.6e} m/s, formula {creep:.6e} m/s")
    assert abs(found / creep - 1.0) < 1e-2
assert np.all(exact_step.final["x"] == 0.0)
assert np.all(exact_step.final["v"] == 0.0)
