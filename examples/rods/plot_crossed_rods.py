r"""
Two elastic rods in rolling contact
===================================

**Physics.** Two stretched rubber rods cross at 60 degrees with one contact point. Rod 1 has an
initial velocity and spin. At the contact both surfaces have the same velocity,

.. math:: \dot r_1 + \tfrac12 w_1 \times D = \dot r_2 - \tfrac12 w_2 \times D, \qquad D = r_2 - r_1,

so the contact does no work, and it moves along both rods as they roll. This example measures how
exactly the scheme satisfies these properties.

Source: Gay-Balmaz and Putkaradze 2012, Fig. 1 and equations (3)-(10), with the corrections on the
theory page; the reference case was computed by a second program.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

rods = st.CrossedRods()

# %%
# The law
# -------
# There is no friction law: the rods roll under any force. The contact can then be tensile, which
# no dry contact can be; the audit reports it.
assert rods.friction is None

# %%
# Method and solve
# ----------------
steps = np.array([2e-4, 1e-4, 5e-5])
runs = [st.solve(rods, st.RollingLeapfrog(h), t_span=(0.0, 0.2), save=201) for h in steps]

# %%
# Reading the result
# ------------------
run = runs[-1]
data, time = run.data, run.time
total = run.energy.kinetic + run.energy.stored
fig, axes = plt.subplots(2, 2, figsize=(7.0, 4.6), layout="constrained", sharex=True)
axes[0, 0].plot(time, 1e3 * (data.s1 - 0.5), label="on rod 1")
axes[0, 0].plot(time, 1e3 * (data.s2 - 0.5), label="on rod 2")
axes[0, 0].set(ylabel="contact point [mm]")
axes[0, 0].legend(fontsize="small")
axes[0, 1].plot(time, data.lambda_n)
axes[0, 1].axhspan(0.0, float(data.lambda_n.max()), color="0.9")
axes[0, 1].set(ylabel="normal force [N]; grey: pulls")
for h, one in zip(steps, runs, strict=True):
    energy = one.energy.kinetic + one.energy.stored
    axes[1, 0].semilogy(time[1:], np.abs(energy - energy[0])[1:], lw=0.8, label=f"{h:.0e} s")
axes[1, 0].set(xlabel="time [s]", ylabel="energy error [J]")
axes[1, 0].legend(fontsize="small")
axes[1, 1].semilogy(time[1:], data.rolling_residual[1:] + 1e-20, lw=0.8, label="slip [m/s]")
axes[1, 1].semilogy(time[1:], np.abs(data.gap[1:]) + 1e-20, lw=0.8, label="gap [m]")
axes[1, 1].set(xlabel="time [s]")
axes[1, 1].legend(fontsize="small")

errors = [one.energy.imbalance_rel for one in runs]
order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
print(f"energy error over its scale: {errors[-1]:.1e}, falls like the step to the {order:.2f}")
print(f"s1(0.1) = {float(data.s1[100]):.7f} m, s2(0.1) = {float(data.s2[100]):.7f} m")
print(f"largest slip {float(data.rolling_residual.max()):.1e} m/s, ", end="")
print(f"largest gap {float(np.abs(data.gap).max()):.1e} m")

# %%
# Checks: the reference, order 2 in energy, no slip, no gap; and the audit reports the tensile
# contact.
assert abs(float(data.s1[100]) - 0.497643527) < 1e-6
assert abs(float(data.s2[100]) - 0.499295303) < 1e-6
assert 1.9 < order < 2.1
assert float(data.rolling_residual.max()) < 1e-14
assert float(np.abs(data.gap).max()) < 1e-14
assert [check.check for check in run.audit.checks if check.ok is False] == [
    "normal_force_compressive"
]
