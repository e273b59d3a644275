r"""
The detachment wave of 50 masses, and the rod as its limit
==========================================================

**Physics.** A force :math:`f` is applied at once to the free end of a long chain. A front runs
into the chain and sets one mass after another in motion. A rod with dry friction
(:math:`\rho u_{tt} - EA\,u_{xx} + \mu\rho g\,\operatorname{Sgn}(u_t) \ni 0`) is the limit of many
masses. Its front moves exactly at the wave speed :math:`c = \sqrt{EA/\rho}` up to the distance
:math:`2f/(\mu\rho g)`. Here this is 2.7 m, more than the length of 1 m, so the front reaches the
wall at :math:`L/c = 0.1` s.

In the chain, :math:`c` is :math:`\sqrt{k/m}` masses per second, but waves disperse. A small force
acts on masses ahead of the front from the first moment, and they slip before the rod's front
arrives. A dispersed front has the width :math:`s^{1/3}` links after :math:`s` links, so this error
is of order :math:`n^{-2/3}` in seconds.

Source: Axioms 14(4) 299, section 10, which names n masses and rods as future work.
"""

# %%
# The model
# ---------
# The same rod divided into more and more masses: 1 kg, 1 m and 100 N/m in total.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact

# %%
# The law
# -------
# The friction coefficient is 0.3. Times the weight of the chain, it gives a friction bound of
# 2.943 N; the load is 4 N.
LENGTH, SPEED = 1.0, 10.0
_, arrest = exact.rod_step_arrest(force=4.0, mu=0.3, weight=9.81, wave_speed=SPEED)
print(f"in an infinite rod the front would stop after {arrest:.4f} m")
assert arrest > LENGTH


# %%
# Method and solve
# ----------------
def wave(n):
    """Return the built-in scenario with n masses; the whole keeps its mass and stiffness."""
    return st.read_scenario(
        "detachment-wave", n=n, mass=1.0 / n, stiffness=100.0 * n, spacing=1.0 / n
    )


counts = (25, 50, 100, 200)
runs = {n: wave(n).solve() for n in counts}
print(runs[50])

# %%
# Reading the result
# ------------------
# The front is the boundary between grey (stick) and colour. It is straight: the speed is constant.
runs[50].plot.onset()

# %%
# The onset table of every tenth mass. Mass 50 starts with the load, at t = 0.
onset = {n: np.array(run.quantities["onset_time"].value) for n, run in runs.items()}
for i in range(49, -1, -10):
    rod = (49 - i) / 50.0 * LENGTH / SPEED
    print(f"mass {i + 1:2d}: {onset[50][i]:.9f} s, rod {rod:.3f} s")
print(f"mass  1: {onset[50][0]:.9f} s, rod {49 / 50 * LENGTH / SPEED:.3f} s")

# %%
# Speed of the front over the half next to the wall, against :math:`\sqrt{k/m}` masses per second,
# and the largest error of all onsets against the rod.
errors, ratios = [], []
for n in counts:
    links = np.arange(n - 1, -1, -1)
    half = slice(0, n // 2)
    per_second = np.polyfit(onset[n][half], links[half], 1)[0]
    chain = runs[n].system
    wave = np.sqrt(chain.link_stiffness[0] / chain.masses[0])
    errors.append(np.abs(onset[n] - links / n * LENGTH / SPEED).max())
    ratios.append(per_second / wave)
    print(f"n = {n:3d}: front {per_second:8.2f} masses/s, sqrt(k/m) {wave:8.2f}, ", end="")
    print(f"ratio {ratios[-1]:.4f}, largest error {1e3 * errors[-1]:.3f} ms")
order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
print(f"the error falls like n^-{order:.2f}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for n in counts:
    distance = (n - np.arange(1, n + 1)) / n * LENGTH
    axes[0].plot(distance, 1e3 * (onset[n] - distance / SPEED), label=f"n = {n}")
axes[0].set(xlabel="distance from the load [m]", ylabel="onset, chain minus rod [ms]")
axes[0].legend()
axes[1].loglog(counts, 1e3 * np.array(errors), "o-")
axes[1].loglog(counts, 1e3 * errors[-1] * (np.array(counts) / 200.0) ** (-2 / 3), ":", label="-2/3")
axes[1].set(xlabel="number of masses", ylabel="largest error [ms]")
axes[1].set_xticks(counts, [str(n) for n in counts])
axes[1].minorticks_off()
axes[1].legend()

# %%
# Checks: every mass moves, because 4 N exceed 2.943 N; the error decreases with n, at a rate close
# to two thirds; and the speed of the front approaches the wave speed.
assert all(np.isfinite(onset[n]).all() for n in counts)
assert np.all(np.diff(errors) < 0.0)
assert np.all(np.diff(ratios) > 0.0)
assert 0.97 < ratios[-1] < 1.0
last = np.log2(errors[-2] / errors[-1])
print(f"order between n = 100 and 200: {last:.3f}")
assert 0.55 < last < 0.68
