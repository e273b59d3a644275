r"""
Unequal masses: is the motion chaotic?
======================================

**Physics.** The Axioms paper sees irregular motion of unequal masses and asks whether it is
chaotic. Take two motions of one chain under one load and let :math:`\delta` be their difference.
With constant friction, and without a belt or with one,

.. math:: \frac{d}{dt}\,\tfrac12\left(\dot\delta^T M \dot\delta + \delta^T K \delta\right)
   = -\dot\delta^T C \dot\delta - \sum_i \mu N_i\,(s_i - s_i')(v_i - v_i') \le 0,

because the set-valued sign is monotone: :math:`(s - s')(v - v') \ge 0`. In this norm the distance
of two motions **never** grows. Constant friction is never chaotic, for any masses, springs,
dampers and any load in time. Friction that weakens with speed is not monotone, and the proof
fails.

Source: Axioms 14(4) 299, section 8, Figs. 6 and 7, whose parameters are missing in the available
text.
"""

# %%
# The model
# ---------
import itertools
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st

chain = st.Chain(
    mass=[1.0, 2.0, 4.0], stiffness=20.0, load=st.Constant(30.0), law=st.Coulomb(mu=0.05)
)

# %%
# The law
# -------
# Constant friction of the paper's runs, and weakening friction on a belt for contrast.
weak = replace(
    chain,
    law=st.ExponentialWeakening(mu_static=0.3, mu_kinetic=0.15, v_scale=0.1),
    load=st.Constant(0.0),
    belt_speed=0.1,
    v0=0.1,
)
shaken = replace(chain, load=st.chains.SumOf([st.Constant(10.0), st.chains.Sine(10.0, 3.0)]))

# %%
# Method and solve
# ----------------
# Two exact runs are compared. The norm above measures their difference, which is rescaled to its
# initial size after each interval. Nothing is linearised, so stick needs no special treatment: the
# difference of a mass that sticks in both runs is constant.


def growth(chain, t_end, size=1e-7, intervals=200):
    """Return the growth rate [1/s] of the distance of two motions, piece by piece."""
    start = np.random.default_rng(1).standard_normal((2, chain.n_mass))
    stiffness, mass = chain.stiffness_matrix(), chain.masses

    def norm(d):
        return np.sqrt(d[0] @ stiffness @ d[0] + d[1] @ (mass * d[1]))

    state, apart = np.array([chain.x_start, chain.v_start]), start * size / norm(start)
    times, rates = np.linspace(0.0, t_end, intervals + 1), []
    for span in itertools.pairwise(times):
        here, there = (
            st.solve(replace(chain, x0=s[0], v0=s[1]), st.EventDriven(), t_span=span, save=2)
            for s in (state, state + apart)
        )
        state = np.array([here.final["x"], here.final["v"]])
        apart = np.array([there.final["x"], there.final["v"]]) - state
        rates.append(np.log(norm(apart) / size) / (times[1] - times[0]))
        apart *= size / norm(apart)
    return np.array(rates)


stop = st.solve(chain, t_span=(0.0, 20.0)).quantities["stop_time"].value
rates = {
    "constant friction, constant load, until it stops": growth(chain, stop),
    "constant friction, shaken": growth(shaken, 100.0),
    "weakening friction on a belt": growth(weak, 200.0),
}

# %%
# Reading the result
# ------------------
st.solve(chain, t_span=(0.0, 20.0)).plot.motion()

# %%
fig, ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")
for name, rate in rates.items():
    ax.plot(np.arange(1, rate.size + 1) / rate.size, np.cumsum(rate) / rate.size, label=name)
    print(f"{name}: mean {rate.mean():+.3f} 1/s, largest of an interval {rate.max():+.1e} 1/s")
ax.set(xlabel="fraction of the run", ylabel="sum of log growth / run time [1/s]")
ax.axhline(0.0, color="0.5", lw=0.8)
ax.legend()

# %%
# The result for constant friction: the largest rate of any interval is of the size of rounding
# (the difference of two runs has an error of 1e-14 over a distance of 1e-7), as the proof
# requires. The motion of Figs. 6 and 7 is irregular, but not chaotic. Weakening friction on a belt
# gives a persistent positive rate.
for name in list(rates)[:2]:
    assert rates[name].max() < 1e-6
    assert rates[name].mean() < -0.01
assert rates["weakening friction on a belt"][100:].mean() > 0.01
