r"""
The stick-slip cycle of the wheel
=================================

**Physics.** The contact of a wheel on a turntable slips sideways and sticks in turn. Its stick-slip
cycle is stable. On a slower turntable the intervals of stick are shorter. They vanish at a
grazing-sliding bifurcation, where the cycle meets an unstable cycle without stick: a still slower
turntable has no cycle. The unstable cycle begins at a Hopf bifurcation of steady slip.

Source: the wheel of the paper on two-fold singularities; di Bernardo et al. 2008, chapter 8.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

wheel = st.WheelOnTurntable()

# %%
# The law
# -------
# The limits of friction are those of the tyre of the paper.

# %%
# Method and solve
# ----------------
# Shooting starts from the point at which orbits land on the surface of stick. Pseudo-arclength
# continuation follows the cycle over the angular velocity, stable or not.
method = st.switching.EventDriven(rtol=1e-12)
cycle = st.find_cycle(wheel, (0.705371, 0.026210, -0.911041), method)
print(cycle)
branch = st.continue_cycle(cycle, "omega0", (-1.02, -0.3), step=0.1, max_orbits=16)
print(branch)
for one in branch.bifurcations:
    print(f"{one.kind} at omega0 = {one.value:.10f}")

# %%
# Reading the result
# ------------------
# Left: the range of v over a period; the two cycles meet where stick vanishes. Right: the slip
# velocity of three orbits over a period. It is zero in stick.
runs = [orbit.run(400) for orbit in branch.cycles]
ranges = np.array([np.ptp(run.data["v"].values) for run in runs])
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
graze, hopf = branch.bifurcations
common = graze.value, np.ptp(graze.cycle.run(400).data["v"].values)
stable = np.flatnonzero(branch.stable)
both = np.column_stack([branch.values, ranges])
axes[0].plot(*np.vstack([both[stable], common]).T, "o-", ms=3.0, label="stable")
end = hopf.value, 0.0
unstable = np.vstack([common, both[stable[-1] + 1 :], end])
axes[0].plot(*unstable.T, "o--", ms=3.0, label="unstable")
for one, color in zip(branch.bifurcations, ("C3", "C4"), strict=True):
    axes[0].axvline(one.value, color=color, lw=0.8, label=one.kind)
axes[0].set(xlabel="angular velocity of the turntable", ylabel="range of v")
axes[0].set(xlim=(-1.0025, -0.9985), ylim=(0.0, 0.06))
axes[0].legend(fontsize="small", loc="lower left")
for place in (0, 2, 5):
    data, start = runs[place].data, float(runs[place].data["time"][0])
    label = f"omega0 = {branch.values[place]:.4f}"
    axes[1].plot(data["time"] - start, data["slip_velocity"], label=label)
axes[1].set(xlabel="scaled time", ylabel="slip velocity")
axes[1].legend(fontsize="small")
assert [one.kind for one in branch.bifurcations] == ["grazing-sliding", "Hopf"]
