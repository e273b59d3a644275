r"""
The solutions after a two-fold: a funnel
========================================

**Physics.** A wheel on a turntable sticks, slides into its two-fold, and continues into the
escaping region. It may leave that region at any time, at any point that an orbit from the two-fold
reaches, to either side. All these motions solve the model. Together they form the funnel.

The forward problem cannot be computed: every orbit leaves the two-fold along the same direction,
and neighbours separate with the power :math:`\lambda_2/\lambda_1 = 14`. The backward problem can.
The method selects an exit and integrates back to the two-fold, which gives the time in the
escaping region.

Source: Szalai, Jeffrey, Phys. Rev. E 90, 022914 (2014), sections IV and V; the set itself is new
here.
"""

# %%
# The model
# ---------
# The paper's wheel, and the local model of a two-fold, for which the time in the escaping region
# has a closed form.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.switching import sliding_arrival
from stiction.switching.funnel import futures

wheel = st.WheelOnTurntable()
local = st.switching.NormalForm(J1=-1.2, J2=-1.5)

# %%
# The law
# -------
# After the two-fold the law does not decide: every multiplier in [-1, 1] that keeps the wheel in
# stick is admissible, and so is slip to either side.
fold = st.two_fold(wheel, guess=(0.19, -0.03, -1.03))
print(fold.why)

# %%
# Method and solve
# ----------------
# A grid of directions and distances; each exit is integrated back to the two-fold and forward to
# both sides.
HORIZON = 8.0
funnel = futures(wheel, fold.x, HORIZON, angles=8, distances=8, method=st.EventDriven(rtol=1e-9))
known = futures(local, [0.0, 0.0, 0.0], 1.0, angles=8, distances=8)
print(
    f"{len(funnel)} futures; their ends:",
    {k: funnel.end_kind.count(k) for k in set(funnel.end_kind)},
)

# %%
# Reading the result
# ------------------
# The picture shows all solutions. They agree at the two-fold and spread soon after.
colours = {1.0: "#0072B2", -1.0: "#D55E00", 0.0: "0.4"}
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for path, side in zip(funnel.states, funnel.side, strict=True):
    axes[0].plot(funnel.time, path[:, 2], color=colours[float(side)], lw=0.4)
dots = axes[1].scatter(*funnel.exits[:, [0, 2]].T, c=funnel.dwell, s=6, cmap="cividis")
fig.colorbar(dots, ax=axes[1], label="time of dwelling [1]")
axes[1].plot(fold.x[0], fold.x[2], "k*", label="two-fold")
axes[0].set(xlabel="scaled time since the two-fold [s/(kg m²)]", ylabel="omega [rad/s]")
axes[1].set(xlabel="r [m]", ylabel="omega [rad/s]")
axes[1].legend(fontsize="x-small")

# %%
# Width of the set and its error. The last column is the part that half of the rays would have
# missed.
for t in (0.5, 1.0, 2.0):
    low, high, doubt = funnel.bounds(t)
    print(f"tau = {t}: omega between {low[2]:.5f} and {high[2]:.5f}, doubt {doubt[2]:.0e}")

# %%
# The times in the escaping region of the local model, against the closed form: backward in time an
# orbit of the escaping region is a sliding orbit of the mirrored point.
left = known.side != 0.0
wanted = [sliding_arrival(-1.2, -1.5, (-z, -y)) for _, y, z in known.exits[left]]
error = np.abs(known.dwell[left] - wanted).max()
print(f"dwell times: {left.sum()} exits, largest error {error:.1e}")
assert error < 1e-9

# %%
# From every exit the wheel reaches the line h = g = 0 next, where determinism is lost again,
# unless the time horizon comes first. A solution that grazes the surface within its error is
# reported as undecided.
early = (funnel.side != 0.0) & (funnel.dwell < HORIZON - 3.0)
ends = {kind for kind, is_early in zip(funnel.end_kind, early, strict=True) if is_early}
print(f"{early.sum()} solutions that leave before tau = {HORIZON - 3.0:g} end in", ends)
assert ends - {"undecided"} == {"codim2_line"}

# %%
# Probabilities are a choice, not a result. The distribution of arrival times at the line depends
# on the assumed exit rate.
means = []
for hazard in (0.5, 1.0, 4.0):
    times, weights = funnel.return_times("codim2_line", hazard)
    means.append(float(weights @ times / weights.sum()))
    print(f"rate {hazard}: mean time to the line {means[-1]:.3f}")
assert means[0] > means[1] > means[2]
assert abs(funnel.weights(1.0).sum() - 1.0) < 1e-12
