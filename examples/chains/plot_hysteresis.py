r"""
Hysteresis loop under slow cyclic loading
=========================================

**Physics.** Under a slowly varying load inertia is negligible and the chain is always at the
threshold of slip. The force in spring :math:`i` is then the *play operator* of the load with half
width :math:`F_i`: it is constant until it differs from the load by :math:`F_i`,

.. math:: T_i = \operatorname{Play}_{F_i}[f], \qquad F_i = \mu g\,(m_i + \dots + m_n).

The work of the load over one loop equals the friction heat, the area of the loop.

Source: Axioms 14(4) 299, Problem 2. The play operator is derived on the theory page.
"""

# %%
# The model
# ---------
# The load goes up to 10 N, down to -10 N, and repeats this cycle once; the second cycle is
# periodic.
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact

TIME = np.array([0.0, 200.0, 600.0, 1000.0, 1400.0, 1800.0])
FORCE = np.array([0.0, 10.0, -10.0, 10.0, -10.0, 10.0])

# %%
# The law
# -------
law = st.Coulomb(mu=0.25)
load = st.chains.PiecewiseLinear(TIME, FORCE)
chain = st.Chain(mass=np.ones(3), stiffness=20.0, load=load, law=law)

# %%
# Method and solve
# ----------------
# :class:`~stiction.methods.Quasistatic` needs no time step: between two turning points of the load
# every spring force is known in closed form.
run = st.solve(chain, st.Quasistatic(), t_span=(0.0, 1800.0), save=1801)
print(run)

# %%
# Reading the result
# ------------------
force, x = run.data["load"].to_numpy(), run.data["x"].to_numpy()
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for i, colour in enumerate(("#0072B2", "#D55E00", "#009E73")):
    axes[0].plot(x[:, i], force, color=colour, label=f"mass {i + 1}")
    axes[1].plot(force, 20.0 * np.diff(x, axis=1, prepend=0.0)[:, i], color=colour)
axes[0].set(xlabel="displacement [m]", ylabel="load [N]")
axes[1].set(xlabel="load [N]", ylabel="force in the spring [N]")
axes[0].legend(fontsize="small")

# %%
# Check 1: every spring force is the play operator of the load, through all reversals.
critical = exact.critical_force(np.ones(3), 0.25)
tension = 20.0 * np.diff(x, axis=1, prepend=0.0)
turning = np.interp(run.time, TIME, FORCE)
off = np.abs(tension - exact.play(turning, critical)).max()
print(f"largest difference from the play operator: {off:.1e} N")
assert off < 1e-12
assert run.audit.ok

# %%
# Check 2: the area of the loop is the friction heat of one cycle. For a play operator of half
# width :math:`F` and amplitude :math:`\pm A` the loop of force against elongation is a
# parallelogram of area :math:`4 F (A - F) / k`.
heat = run.ledger["friction_heat"].to_numpy()
one_round = heat[-1] - heat[np.searchsorted(run.time, 1000.0)]
area = np.sum(4.0 * critical * np.maximum(0.0, 10.0 - critical) / 20.0)
print(f"heat of one cycle {one_round:.12f} J, area of the loop {area:.12f} J")
assert abs(one_round - area) < 1e-10

# %%
# Check 3, a second method: the full dynamics with dampers ends each stroke on the same curve,
# except for the lag of the dampers: each moving spring lags by :math:`c\,\dot f / k^2`.
damped = replace(chain, damping=5.0)
late = st.solve(damped, st.EventDriven(), t_span=(0.0, 1800.0), save=TIME)
drift = np.abs(late.data["x"].to_numpy() - x[np.searchsorted(run.time, TIME)]).max()
lag = 3.0 * 5.0 * 0.05 / 20.0**2
print(f"full dynamics with dampers: {drift:.6f} m behind, lag of the dampers {lag:.6f} m")
assert abs(drift - lag) < 1e-6
