r"""
Reachable equilibria
====================

**Physics.** The Axioms paper conjectures that every steady state is the limit of some motion that
does not start there. For the dynamic problem this is true, and the motion arrives in finite time.
For each mass choose a direction :math:`\sigma_i` against the force that acts on it at the target,
so that friction decelerates all masses,

.. math:: v_i(-s) = \sigma_i\,s\,\frac{\mu N_i - \sigma_i R_i}{m_i} + O(s^2),

and integrate the equation of motion backwards from the target at zero velocity. Forwards, all
masses stop at one time, at the target, and stick.

Without inertia the answer is the opposite. If all :math:`|R_i| < \mu N_i`, then :math:`v^T R =
v^T C v + \sum \mu N_i |v_i|` forces :math:`v = 0`: an interior state is reached only from itself.

Source: Axioms 14(4) 299, sections 3 and 9.2.
"""

# %%
# The model
# ---------
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact

# %%
# The law
# -------
law = st.Coulomb(mu=0.05)
chain = st.Chain(mass=np.ones(3), stiffness=20.0, load=st.Constant(10.0), law=law)
stick = st.StickSet(chain)

# %%
# Method and solve
# ----------------
# Targets: the centre, the eight vertices, and 31 random states of the set.
centre = np.mean(stick.bounds(), axis=0)
targets = np.vstack([centre, stick.vertices(), stick.sample(31, seed=7)])
errors, runs = [], []
for x_star in targets:
    plan = st.reach(chain, x_star)
    run = st.solve(plan.chain, st.EventDriven(), t_span=(0.0, plan.duration + 0.5), save=801)
    late = run.quantities["stop_time"].value - plan.duration
    errors.append((np.abs(run.final["x"] - x_star).max(), abs(late)))
    runs.append(run)
worst_place, worst_time = np.max(errors, axis=0)
print(
    f"{len(targets)} targets; worst place {worst_place:.1e} m, worst stop time {worst_time:.1e} s"
)

# %%
# Reading the result
# ------------------
# Phase planes towards the centre: all three masses arrive at one time with velocity zero.
fig, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), layout="constrained", sharey=True)
for i, ax in enumerate(axes):
    for run, colour in zip(
        (runs[0], runs[1], runs[8]), ("#0072B2", "#D55E00", "#009E73"), strict=True
    ):
        ax.plot(run.data["x"][:, i], run.data["v"][:, i], color=colour)
        ax.plot(run.final["x"][i], 0.0, "o", color=colour)
    ax.plot([stick.bounds()[0][i], stick.bounds()[1][i]], [0.0, 0.0], color="0.7", lw=4, zorder=0)
    ax.set(xlabel=f"displacement of mass {i + 1} [m]")
axes[0].set_ylabel("velocity [m/s]")

# %%
# A millisecond before arrival the velocities are those of the formula above, to first order.
plan = st.reach(chain, centre)
before = 1e-3
first, _ = exact.arrival_velocity(before, stick.drive(centre), chain.stick_bound, chain.masses)
near = st.solve(plan.chain, t_span=(0.0, plan.duration - before), save=2).final["v"]
print("velocity 1 ms before:", near, "first order:", first)
assert np.allclose(near, first, rtol=1e-3)
assert worst_place < 1e-12
assert worst_time < 1e-9

# %%
# The message of the result explains why inertia is needed.
print(plan.why_not_quasistatic)
assert plan.interior

# %%
# A numerical experiment confirms the second half. A motion without inertia and with dampers
# that starts outside the set ends on its boundary: for any start, some mass is at its friction
# bound.
slow = replace(chain, damping=2.0)
for start in (0.0 * centre, 1.3 * centre, centre + np.array([0.0, 0.2, -0.2])):
    run = st.solve(replace(slow, x0=start), st.Quasistatic(), t_span=(0.0, 40.0), save=2)
    margin = stick.margins(run.final["x"]).relative.min()
    print(f"from {np.round(start, 2)}: smallest margin left, relative to the bound: {margin:.1e}")
    assert margin < 1e-3
