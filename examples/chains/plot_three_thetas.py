r"""
Three values of theta and their energy errors
=============================================

**Physics.** The Axioms paper solves the chain by the one-step :math:`\theta` scheme with smoothed
friction and compares :math:`\theta = 0, \frac12, 1`. Its Proposition 2 and equation (35) balance
the energy of the scheme. The exact identity has one more term,

.. math:: -\left(\theta - \tfrac12\right)
          \sum_l\left(|v_{l+1} - v_l|_M^2 + |x_{l+1} - x_l|_K^2\right),

the energy that the scheme removes (:math:`\theta > \frac12`) or creates
(:math:`\theta < \frac12`). So (35) is an equality for :math:`\theta = \frac12` alone. The ledger
lists this term as ``algorithmic`` and closes for every :math:`\theta`.

Source: Axioms 14(4) 299, sections 7 and 9, Figs. 8 to 10. Step, smoothing and the uniform
differences of (35) are missing in the available text.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.chains import compare

# %%
# The law
# -------
law = st.Coulomb(mu=0.05)
chain = st.Chain(mass=np.ones(3), stiffness=20.0, load=st.Constant(10.0), law=law)
THETAS = (0.0, 0.5, 1.0)

# %%
# Method and solve
# ----------------
# The paper's scheme with three step sizes for each theta, and the exact motion.
steps = (4e-3, 2e-3, 1e-3)
runs = {
    (theta, step): st.solve(
        chain,
        st.chains.RegularizedTheta(step=step, theta=theta, smoothing=1e-3),
        t_span=(0.0, 10.0),
        save=501,
    )
    for theta in THETAS
    for step in steps
}
true = st.solve(chain, st.EventDriven(), t_span=(0.0, 10.0), save=501)

# %%
# Reading the result
# ------------------
# Differences between the three trajectories, as in Figs. 8 and 9.
names = [f"theta = {theta:g}" for theta in (0.5, 0.0, 1.0)]
compare([runs[theta, 1e-3] for theta in (0.5, 0.0, 1.0)], names)

# %%
# The uniform difference of the two sides of (35), and the imbalance of the ledger, which includes
# the missing term.


def gap(run):
    """Return the largest difference of both sides of (35) [J]: no algorithmic term."""
    return float(np.abs(run.energy.imbalance - run.energy.algorithmic).max())


fig, ax = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
for theta in THETAS:
    gaps = [gap(runs[theta, step]) for step in steps]
    ax.loglog(steps, gaps, "o-", label=f"theta = {theta:g}")
    run = runs[theta, 1e-3]
    error = float(np.abs(run.data["x"] - true.data["x"]).max())
    taken = float(run.ledger["algorithmic"][-1])
    print(f"theta = {theta:3.1f}: error of (35) {gaps[-1]:.1e} J; ledger closes to ", end="")
    print(
        f"{run.energy.imbalance_rel:.0e}; scheme removes {taken:+.3f} J; error of x {error:.1e} m"
    )
ax.set(xlabel="time step [s]", ylabel="error of (35) [J]")
ax.set_xticks(steps, [f"{step:g}" for step in steps])
ax.minorticks_off()
ax.legend()

# %%
# Checks. The ledger closes for all three. (35) holds for one half only; for zero and one its error
# is proportional to the step, with opposite signs.
for theta in THETAS:
    assert runs[theta, 1e-3].energy.imbalance_rel < 1e-12
assert gap(runs[0.5, 1e-3]) < 1e-11
for theta in (0.0, 1.0):
    order = np.log2(gap(runs[theta, 2e-3]) / gap(runs[theta, 1e-3]))
    assert 0.8 < order < 1.2
assert float(runs[0.0, 1e-3].ledger["algorithmic"][-1]) < 0.0
assert float(runs[1.0, 1e-3].ledger["algorithmic"][-1]) > 0.0

# %%
# With exact friction (:class:`~stiction.chains.theta.methods.ThetaStepper`) the same identity
# holds, and the masses stop.
for theta in (0.5, 0.6, 1.0):
    run = st.solve(chain, st.ThetaStepper(step=1e-3, theta=theta), t_span=(0.0, 10.0), save=501)
    error = float(np.abs(run.data["x"] - true.data["x"]).max())
    stop = run.quantities["stop_time"].value
    print(f"exact friction, theta = {theta}: stops at {stop:.3f} s, ", end="")
    print(f"error of x {error:.1e} m, ledger closes to {run.energy.imbalance_rel:.0e}")
    assert run.energy.imbalance_rel < 1e-12
    assert np.all(run.final["v"] == 0.0)
