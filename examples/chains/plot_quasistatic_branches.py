r"""
Two quasistatic motions from one start
======================================

**Physics.** The Axioms paper leaves open whether the quasistatic problem has one solution, and
whether a lack of uniqueness is linked to the continuum of steady states. This example answers both
questions.

With **constant** friction the solution is unique (theory page), although the steady states form a
continuum. So the continuum is not the cause.

With friction that **weakens** with speed uniqueness fails. One slipping block, without inertia,
balances :math:`w = f - k x = h(v) = c v + N \mu(v)`. If :math:`h` first decreases and then
increases, then for :math:`\min h < w \le \mu_s N` the block may stick *or* slip with the speed on
the rising part. In slip :math:`w` decreases, and at :math:`w = \min h` the block must stop.

Source: Axioms 14(4) 299, Problem 2, sections 3, 4 and 10.
"""

# %%
# The model
# ---------
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.chains.branching import branches
from stiction.exact import chains as exact

chain = st.read_scenario("quasistatic-branches").system

# %%
# The law
# -------
law = chain.law
v = np.linspace(0.0, 1.2, 400)
fig, ax = plt.subplots(figsize=(5.5, 3.0), layout="constrained")
ax.plot(v, 0.2 * v + law.coefficient(v), label="h(v) = c v + N mu(v)")
ax.plot([0.0, 0.0], [0.0, 0.3], color="0.6", lw=4, label="rest")
ax.axhline(0.25, color="#D55E00", lw=1, label="w at the start")
ax.set(xlabel="slip speed [m/s]", ylabel="force [N]")
ax.legend()

# %%
# Method and solve
# ----------------
# :func:`~stiction.chains.branching.branches` lists the admissible velocities of a state, with a
# certificate of completeness. The fastest stable one gives the slipping motion; the integral of 1
# / v over the path is the time.
found = branches(chain, 0.25, [0.0])
assert found.certified
for branch in found.branches:
    print(f"admissible at the start: {branch.kind:8s} {branch.velocity[0]:.10f} m/s")
end = found.slide_end
assert end is not None
angle = np.linspace(0.0, 0.5 * np.pi, 400)
x = end.x * np.sin(angle)
speed = np.array([branches(chain, 0.25, [at]).of_kind("sliding")[0].velocity[0] for at in x[:-1]])
speed = np.append(speed, end.speed)
rate = end.x * np.cos(angle) / speed
time = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(angle))])

# %%
# Reading the result
# ------------------
fig, ax = plt.subplots(figsize=(5.5, 3.0), layout="constrained")
ax.plot([0.0, 0.3], [0.0, 0.0], label="rests")
ax.plot(np.append(time, 0.3), np.append(x, end.x), label="slips, then must stop")
ax.set(xlabel="time [s]", ylabel="displacement [m]")
ax.legend()

# %%
# Check against the closed form: speeds at the start, position and time of the stop.
numbers = (law.mu_static, law.mu_kinetic, law.v_scale)
roots = exact.weakening_roots(0.25, chain.damping, 1.0, *numbers)
slide = exact.weakening_slide(0.25, chain.stiffness, chain.damping, 1.0, numbers)
print(f"the sliding branch ends at {end.x:.10f} m, closed form {slide.x:.10f} m")
print(f"after {end.duration:.10f} s, closed form {slide.duration:.10f} s, path {time[-1]:.6f} s")
speeds = [branch.velocity[0] for branch in found.branches]
assert found.certified
assert np.allclose(speeds, [0.0, *roots], rtol=0.0, atol=1e-10)
assert abs(end.x - slide.x) < 1e-12
assert abs(end.duration - slide.duration) < 1e-10
assert abs(time[-1] - slide.duration) < 1e-4

# %%
# Is the continuum of steady states the cause? The same block with constant friction has a continuum
# of steady states too, and exactly one admissible velocity in every state.
same = replace(chain, law=st.Coulomb(mu=0.2))
width = 2.0 * st.StickSet(same).projections().half_width[0]
counts = {len(branches(same, 0.25, [at]).branches) for at in np.linspace(-1.0, 1.0, 42)}
print(
    f"constant friction: equilibria in an interval of {width:.2f} m, admissible velocities {counts}"
)
assert width > 0.1
assert counts == {1}

# %%
# With a strong damper :math:`h` has no fold. The velocity is then unique again, although friction
# weakens and the steady states form a continuum.
strong = replace(chain, damping=3.0)
assert branches(strong, 0.25, [0.0]).always_unique
assert not found.always_unique
