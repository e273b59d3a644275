r"""
Random friction: scatter of the critical load
=============================================

**Physics.** The friction of real surfaces varies with position. Let each of n equal masses have
its own coefficient, uniform in :math:`\bar\mu \pm s`. The load at which the slip wave reaches the
wall is :math:`F_1 = g \sum \mu_i m_i`, a sum of independent numbers, so

.. math:: \operatorname{E} F_1 = n \bar\mu m g, \qquad
          \operatorname{sd} F_1 = \sqrt{n}\,\frac{s}{\sqrt{3}}\, m g .

Relative to its mean the scatter falls like :math:`n^{-1/2}`: long chains are predictable.

Source: Axioms 14(4) 299, section 10, which names random friction as future work.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

N, MEAN, SPREAD, G = 10, 0.25, 0.1, 9.81


def chain(seed):
    """Return ten masses with coefficients drawn from `seed`."""
    law = st.laws.RandomCoulomb(mu_mean=MEAN, mu_spread=SPREAD, seed=seed)
    return st.Chain(mass=1.0, n=N, stiffness=20.0, damping=2.0, load=st.Ramp(0.5), law=law)


# %%
# The law
# -------
# The seed is part of the law. The same seed gives the same surface, here and on any machine.
print("seed 1:", np.round(chain(1).friction.mu_static, 4))

# %%
# Method and solve
# ----------------
# One complete wave by the exact method, twenty more for the dynamic onset at mass 1, and the
# closed form for two thousand surfaces.
run = st.solve(chain(1), st.EventDriven(), t_span=(0.0, 60.0))
seeds = range(1, 21)
dynamic = [
    st.solve(chain(s), t_span=(0.0, 75.0), save=2).quantities["onset_force"].value[0] for s in seeds
]
slow = [chain(s).critical_force() for s in range(1, 2001)]
closed = np.array([force[0] for force in slow if force is not None])

# %%
# Reading the result
# ------------------
# The front follows the closed-form line, which is not straight.
run.plot.onset()

# %%
fig, ax = plt.subplots(figsize=(7.0, 3.2), layout="constrained")
ax.hist(closed, bins=40, density=True, color="#56B4E9", label="critical force, 2000 surfaces")
mean, sd = N * MEAN * G, np.sqrt(N) * SPREAD / np.sqrt(3.0) * G
f = np.linspace(mean - 4.0 * sd, mean + 4.0 * sd, 200)
ax.plot(f, np.exp(-0.5 * ((f - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi)), color="#0072B2")
ax.plot(dynamic, np.zeros(len(dynamic)), "|", color="#D55E00", ms=14, label="onset of 20 runs")
ax.set(xlabel="load when the wave reaches the wall [N]", ylabel="density [1/N]")
ax.set_xlim(mean - 7.0 * sd, mean + 4.0 * sd)
ax.legend(loc="upper left", fontsize="small")

# %%
# The checks compare mean and scatter with the closed form (within three standard errors of 2000
# draws), and every run with its own surface: with dampers and a slow load, inertia shifts the
# onset by less than one per cent.
print(f"mean {closed.mean():.3f} N, closed form {mean:.3f} N")
print(f"sd   {closed.std(ddof=1):.3f} N, closed form {sd:.3f} N")
shift = np.array(dynamic) / closed[:20] - 1.0
print(f"dynamic onset over critical force - 1: from {shift.min():.1e} to {shift.max():.1e}")
assert abs(closed.mean() - mean) < 3.0 * sd / np.sqrt(2000.0)
assert abs(closed.std(ddof=1) - sd) < 3.0 * sd / np.sqrt(4000.0)
assert np.abs(shift).max() < 1e-2
