r"""
Rods that slip and open
=======================

**Physics.** The rods of the paper of Gay-Balmaz and Putkaradze roll under any force. Real surfaces
roll only while the tangential force is below :math:`\mu` times the normal one, and have contact
only under pressure:

.. math:: 0 \le p_N \perp -\bar u_n \ge 0, \qquad -\bar u_T \in N_{\mu p_N}(\lambda_T) .

Two examples show the friction that rolling needs: crossed rods with decreasing friction, and a rod
on a slope with a closed form: a solid cylinder rolls while :math:`\tan\beta \le 3\mu`.

Source: formulas sheet of the rods paper, section 4; the cylinder is a textbook problem.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

SLOPE, G = 0.6, 9.81


def on_slope(mu):
    """Return a stiff free rod across a clamped one."""
    law = st.Coulomb(mu)
    return st.rods.RodOnFixedRod(slope=SLOPE, friction=law, young=1e8, fixed_length=0.4)


# %%
# The law
# -------
coefficients = np.array([0.05, 0.1, 0.15, 0.2, 0.26, 0.4])
crossed = {mu: st.CrossedRods(friction=st.Coulomb(mu)) for mu in (0.5, 0.1)}

# %%
# Method and solve
# ----------------
runs = {
    mu: st.solve(system, st.RollingLeapfrog(step=2.5e-5), t_span=(0.0, 0.3), save=601)
    for mu, system in crossed.items()
}
slid = [st.solve(on_slope(mu), t_span=(0.0, 0.15), save=31) for mu in coefficients]

# %%
# Reading the result
# ------------------
fig, axes = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained")
for mu, run in runs.items():
    axes[0].plot(run.time, 1e3 * (run.data.s1 - 0.5), label=f"mu = {mu}")
    axes[1].plot(run.time, run.data.contact_mode, lw=0.8, label=f"mu = {mu}")
    kinds = run.events["kind"].value_counts().to_dict()
    print(f"mu = {mu}: {kinds}, friction heat {run.energy.friction_heat[-1].sum():.4f} J")
axes[0].set(xlabel="time [s]", ylabel="contact on rod 1 [mm]")
axes[0].legend(fontsize="small")
axes[1].set(xlabel="time [s]", yticks=(0, 1, 2), yticklabels=("open", "rolls", "slips"))

pulls = []
for run in slid:
    x = run.data.position.values[:, 41:, 0].mean(axis=1)
    pulls.append(2.0 * np.polyfit(run.time, x, 2)[0])
fine = np.linspace(0.0, 0.45, 200)
rolls, slips = 2.0 / 3.0 * G * np.sin(SLOPE), G * (np.sin(SLOPE) - fine * np.cos(SLOPE))
closed = np.where(np.tan(SLOPE) <= 3.0 * fine, rolls, slips)
axes[2].plot(fine, closed, "k-", lw=1, label="rigid cylinder")
axes[2].plot(coefficients, pulls, "o", label="rod")
axes[2].set(xlabel="mu", ylabel="acceleration [m/s2]")
axes[2].legend(fontsize="small")

# %%
# Checks: friction only dissipates, the bound holds, and the rod on the slope accelerates like a
# cylinder. (It bends the rod below it, which makes the slope a little steeper.)
for run in (*runs.values(), *slid):
    assert run.audit.ok
    assert np.diff(run.energy.friction_heat.sum(axis=1)).min() > -1e-12
for mu, pull in zip(coefficients, pulls, strict=True):
    expected = np.interp(mu, fine, closed)
    print(f"mu = {mu:.2f}: {pull:.3f} m/s2, rigid cylinder {expected:.3f}")
    assert abs(pull / expected - 1.0) < 0.03
assert set(runs[0.5].events["kind"]) == {"slip", "stick", "open", "close"}
