r"""
A first Filippov flow: a block on a belt
========================================

**Physics.** A spring holds a block on a moving belt. Friction weakens in proportion to slip, so
the equilibrium on the belt is unstable and the block converges to a stick-slip cycle. With mass
and stiffness scaled to 1,

.. math:: \ddot x + x = -(\mu_0 - \alpha\,|\dot x - v_b|)\operatorname{sgn}(\dot x - v_b).

The right side jumps where :math:`h = \dot x - v_b = 0`. Stick is a motion *on* that surface. It
lasts while :math:`|x| \le \mu_0`, and slip begins at :math:`x = \mu_0`. In slip the equation is
linear, so the period follows from one root of one function. Neither :math:`\mu_0` nor :math:`v_b`
enters it.

Source: textbook (friction-induced vibration); closed form in ``stiction.exact.switching``.
"""

# %%
# The model
# ---------
# The built-in oscillator, and the same one from plain functions: h, and the field on either side.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.switching import belt_cycle

MU0, ALPHA, BELT = 1.0, 0.1, 0.5
block = st.BeltOscillator(mu0=MU0, alpha=ALPHA, belt_speed=BELT, x0=[0.0, BELT])
own = st.PiecewiseSmooth(
    h=lambda x: x[1] - BELT,
    f_plus=lambda x: [x[1], -x[0] - (MU0 - ALPHA * (x[1] - BELT))],
    f_minus=lambda x: [x[1], -x[0] + (MU0 + ALPHA * (x[1] - BELT))],
    x0=[0.0, BELT],
    names=["x", "v"],
)

# %%
# The law
# -------
# Friction is part of the field: each side has its own sign, and on the surface the sign may have
# any value between -1 and 1. In stick it is determined by equilibrium, so it is a result of the
# run.
print("the field on both sides of stick at x = 0.5:")
print(block.field(np.array([0.5, BELT]), 1.0), block.field(np.array([0.5, BELT]), -1.0))

# %%
# Method and solve
# ----------------
# Events are located on the dense output of an order 8 pair; nothing is smoothed.
run = st.solve(block, st.EventDriven(rtol=1e-13), t_span=(0.0, 20.0), save=2001)
mine = st.solve(own, st.EventDriven(rtol=1e-13), t_span=(0.0, 20.0))
print(run)
print(run.events[["time", "from", "to", "kind", "x", "v", "multiplier_after"]])

# %%
# Reading the result
# ------------------
# The cycle in the phase plane, and the multiplier (friction over its bound). In stick the friction
# force equals the force of the spring; slip begins where the multiplier reaches 1.
stuck = np.asarray(run.data["mode"])[:, 0] == 0
x, v = np.asarray(run.data["x"]), np.asarray(run.data["v"])
fig, axes = plt.subplots(1, 2, figsize=(7.0, 2.8), layout="constrained")
axes[0].plot(x, v, color="#0072B2")
axes[0].plot(np.where(stuck, x, np.nan), np.where(stuck, v, np.nan), color="#D55E00", lw=3)
axes[0].set(xlabel="displacement [1]", ylabel="velocity [1]")
axes[1].plot(run.data["time"], -np.asarray(run.data["multiplier"])[:, 0], color="#0072B2")
axes[1].set(xlabel="time [1]", ylabel="fraction of friction used [1]")

# %%
# The check against the closed form, for the period and for the position where the block sticks
# again.
exact = belt_cycle(MU0, ALPHA, BELT)
slips = run.events.query("kind == 'leave'")
period = np.diff(slips["time"])[-1]
landing = run.events.query("kind == 'slide'")["x"].to_numpy()
print(f"period {period:.14f}, closed form {exact.period:.14f}")
print(f"sticks at x = {landing[-1]:.14f}, closed form {exact.x_stick:.14f}")
print(f"slip begins at x = {slips['x'].to_numpy()[-1]:.14f}")
assert abs(period - exact.period) < 1e-12
assert np.abs(landing - exact.x_stick).max() < 1e-12
assert np.abs(slips["x"] - MU0).max() < 1e-12

# %%
# Plain functions give the same events, and the solution was unique.
assert np.abs(mine.events["time"] - run.events["time"]).max() < 1e-12
assert run.determinism.status == "deterministic"
print(f"ledger closes to {run.energy.imbalance_rel:.1e}")
assert run.energy.imbalance_rel < 1e-11
