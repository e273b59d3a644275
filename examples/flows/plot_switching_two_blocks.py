r"""
A flow with two discontinuity surfaces: two blocks on a belt
============================================================

**Physics.** Two blocks between walls, coupled by a spring, are on one belt. Each has its own dry
friction, so each has its own switching function, the slip :math:`h_i = v_i - v_b`:

.. math:: m \dot v_i = -k x_i \pm k_c (x_2 - x_1) - F_i(|h_i|)\operatorname{sgn} h_i, \qquad
          F_i(u) = K_i + (S_i - K_i)\,e^{-u/v_s}.

They stick separately or together. If both stick, the state slides along the *intersection* of the
two surfaces and both friction forces are unknown.

Source: Newton's law; the same blocks as a :class:`~stiction.chains.model.Chain` are the second
method.
"""

# %%
# The model
# ---------
# One function for the field, with the state and one sign per surface, and one function per
# surface. Numba compiles them; functions that it cannot compile run as Python, and the audit
# reports the cost.
import math

import matplotlib.pyplot as plt
import numpy as np

import stiction as st

SPRING, COUPLING, BELT, V_SCALE = 1.0, 1.2, 0.2, 0.5
STATIC, KINETIC = (1.0, 1.3), (0.6, 0.8)


def field(x, s):
    """Return x1', x2', v1', v2' with the signs s of both slips."""
    link = COUPLING * (x[1] - x[0])
    weaker = [math.exp(-s[i] * (x[2 + i] - BELT) / V_SCALE) for i in range(2)]
    first = KINETIC[0] + (STATIC[0] - KINETIC[0]) * weaker[0]
    second = KINETIC[1] + (STATIC[1] - KINETIC[1]) * weaker[1]
    return [
        x[2],
        x[3],
        -SPRING * x[0] + link - s[0] * first,
        -SPRING * x[1] - link - s[1] * second,
    ]


# %%
# The law
# -------
# Inside `field`, :math:`s_i h_i` stands for :math:`|h_i|`: the field of each side continues
# smoothly beyond the surface, as Filippov's theory requires. `abs` would introduce a kink.
blocks = st.PiecewiseSmooth(
    h=[lambda x: x[2] - BELT, lambda x: x[3] - BELT],
    f=field,
    x0=[0.3, -0.2, BELT, BELT],
    names=["x1", "x2", "v1", "v2"],
)

# %%
# Method and solve
# ----------------
# The flow from plain functions, the built-in description of it, and a chain of two masses between
# two walls, whose method sums Taylor series and shares no code with that of flows.
span = (0.0, 40.0)
run = st.solve(blocks, st.EventDriven(rtol=1e-12), t_span=span, save=4001)
built_in = st.solve(st.switching.TwoBlockStickSlip(x0=[0.3, -0.2, BELT, BELT]), t_span=span)
law = st.ExponentialWeakening(mu_static=STATIC, mu_kinetic=KINETIC, v_scale=V_SCALE)
chain = st.Chain(
    mass=[1.0, 1.0],
    stiffness=[SPRING, COUPLING, SPRING],
    supports="both",
    normal_force=[1.0, 1.0],
    law=law,
    belt_speed=BELT,
    x0=[0.3, -0.2],
    v0=BELT,
)
other = st.solve(chain, st.EventDriven(), t_span=span)
print(run)
print(run.events[["time", "contact", "from", "to", "kind"]].head(8))

# %%
# Reading the result
# ------------------
# The velocities, and the intervals in which each block sticks (thick).
time, sliding = np.asarray(run.data["time"]), np.asarray(run.data["mode"]) == 0
fig, ax = plt.subplots(figsize=(7.0, 2.6), layout="constrained")
for i, colour in enumerate(("#0072B2", "#D55E00")):
    v = np.asarray(run.data[f"v{i + 1}"])
    ax.plot(time, v, color=colour, label=f"block {i + 1}")
    ax.plot(time, np.where(sliding[:, i], v + 0.05 * (1 - 2 * i), np.nan), color=colour, lw=3)
ax.set(xlabel="time [1]", ylabel="velocity [1]")
ax.legend(fontsize="small", loc="lower right")

# %%
# All three agree, event by event.
times = run.events["time"].to_numpy()
gap = np.abs(times - other.events["time"].to_numpy()).max()
same = np.abs(times - built_in.events["time"].to_numpy()).max()
both = np.mean(sliding.all(axis=1))
print(f"{times.size} events; largest gap to the chain {gap:.1e}, to the built-in flow {same:.1e}")
print(f"both blocks stick {100.0 * both:.1f} % of the time")
assert gap < 1e-8
assert same < 1e-8
assert 0.0 < both < 1.0

# %%
# Everything was compiled, no multiplier exceeded its bound, and the solution was unique.
for check in run.audit.checks:
    print(f"{check.check}: {check.value:.3g}, limit {check.limit}")
assert run.audit.ok
assert run.determinism.status == "deterministic"
