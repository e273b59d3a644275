r"""
A block on a moving belt: the period of stick-slip
==================================================

**Physics.** A belt moves a block until the spring force exceeds static friction. The block slips
back and sticks again. With a static and a lower kinetic coefficient the period is known. Let
:math:`D = (\mu_s - \mu_k) N / k` and :math:`\omega = \sqrt{k/m}`. The block sticks while the
spring elongates from :math:`-D` to :math:`D` about the equilibrium with kinetic friction. It then
slips along a circle of the phase plane until its velocity is that of the belt again:

.. math:: T = \frac{2 D}{V} + \frac{2}{\omega}\left(\pi - \arctan\frac{D\,\omega}{V}\right).

Source: textbook (friction-induced vibration); the belt is an extension of Axioms 14(4) 299.
"""

# %%
# The model
# ---------
# The block starts in stick on the belt.
import numpy as np

import stiction as st

STATIC, KINETIC, SPRING, BELT = 0.3, 0.15, 20.0, 0.1

# %%
# The law
# -------
# The coefficient jumps at zero slip. Between the two coefficients both stick and slip are
# admissible; this law sticks as long as possible.
law = st.StaticKinetic(mu_static=STATIC, mu_kinetic=KINETIC)
block = st.Chain(mass=[1.0], stiffness=SPRING, law=law, belt_speed=BELT, v0=BELT)

# %%
# Method and solve
# ----------------
# The run of sixty seconds gives the numbers; the figures show its first eight seconds.
run = st.solve(block, st.EventDriven(), t_span=(0.0, 60.0))
begin = st.solve(block, st.EventDriven(), t_span=(0.0, 8.0))
print(run)

# %%
# Reading the result
# ------------------
# The figures show the sawtooth of stick-slip and its closed loop in the phase plane.
begin.plot.motion()

# %%
begin.plot.phase()

# %%
# Friction force: it grows with the spring while the block sticks and falls to the kinetic value
# when it slips.
begin.plot.friction()

# %%
# The check against the closed form.
slips = run.events.query("kind == 'slip'")["time"].to_numpy()
d = (STATIC - KINETIC) * 9.81 / SPRING
omega = np.sqrt(SPRING)
period = 2.0 * d / BELT + 2.0 / omega * (np.pi - np.arctan(d * omega / BELT))
found = np.diff(slips)
print(f"{slips.size} slips; period {found.mean():.12f} s, closed form {period:.12f} s")
assert np.abs(found - period).max() < 1e-10

# %%
# On average friction dissipates all work of the belt: over whole periods kinetic and elastic
# energy return to the same values.
heat = float(run.ledger["friction_heat"][-1] - run.ledger["friction_heat"][0])
work = float(run.ledger["external_work"][-1] - run.ledger["external_work"][0])
print(f"work of the belt {work:.6f} J, heat {heat:.6f} J, imbalance {run.energy.imbalance_rel:.1e}")
assert run.energy.imbalance_rel < 1e-12

# %%
# Continuous weakening friction gives stick-slip too, with a smoother transition.
soft = st.ExponentialWeakening(mu_static=STATIC, mu_kinetic=KINETIC, v_scale=0.1)
weak = st.Chain(mass=[1.0], stiffness=SPRING, law=soft, belt_speed=BELT, v0=BELT)
st.solve(weak, st.EventDriven(), t_span=(0.0, 8.0)).plot.phase()
