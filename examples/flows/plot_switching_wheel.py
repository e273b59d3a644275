r"""
A wheel on a turntable: loss of determinism and exit rules
==========================================================

**Physics.** A slider in a slit of a disk holds a wheel that rolls and slips on a turntable below.
Friction switches with the lateral velocity :math:`h`. In stick, :math:`h = 0`, the wheel can reach
a two-fold in finite time, where the solution stops being unique. The paper of Szalai and Jeffrey
restarts its runs after this point by hand. Here the run stops there, or follows a policy that you
select, and the result reports it.

There is a second such set, which the paper does not mention: the line :math:`h = g = 0`, where the
wheel neither slips nor rolls and friction has no direction.

Source: Szalai, Jeffrey, Phys. Rev. E 90, 022914 (2014), Fig. 5; its initial states are missing in
the available text, and we chose them.
"""

# %%
# The model
# ---------
# The paper's wheel: stiffness and trail place a two-fold at r* and omega*.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

wheel = st.WheelOnTurntable.at_two_fold(
    r_star=0.1859, omega_star=-1.037, x0=[0.22, -0.0624, -1.08], mode="slide"
)
print(f"kappa = {wheel.kappa:.15f} m, k2 = {wheel.k2:.14f} N/m")
print("two-folds at r =", wheel.two_fold_state().r, "of case", wheel.two_fold_state().case)

# %%
# The law
# -------
# The force grows with the slip angle from mu to 4 mu / 3 and the moment decreases to zero. The
# force has a kink where the wheel stops rolling, and no limit where it stops rolling and slipping.
law = st.laws.SimplifiedTyre(kappa=wheel.kappa)
angle = np.array([1e-9, np.pi / 4, np.pi / 2])
print("force at slip angles 0, 45, 90 degrees:", law.force(np.sin(angle), np.cos(angle)))

# %%
# Method and solve
# ----------------
# First without a choice: the run ends at the two-fold.
stopped = st.solve(wheel, st.EventDriven(rtol=1e-12), t_span=(0.0, 60.0))
print(stopped)

# %%
# Then with exits from the two-fold to either side after the same time, and a stop at the line.
paths = {}
for side in ("+", "-"):
    policy = st.switching.ByKind(
        two_fold=st.switching.Leave(side, after=2.0), codim2_line=st.switching.Stop()
    )
    paths[side] = st.solve(wheel, st.EventDriven(rtol=1e-10, policy=policy), t_span=(0.0, 60.0))
    print(f"to {side}: {paths[side].reason}")

# %%
# Last with two rules at the line: always slip to h < 0, and any exit direction, drawn at random.
rules = {"always -": st.switching.Leave("-"), "drawn": st.switching.Sample(hazard=1.0, seed=2)}
runs = {}
for name, rule in rules.items():
    policy = st.switching.ByKind(two_fold=st.switching.Sample(hazard=1.0, seed=1), codim2_line=rule)
    method = st.EventDriven(rtol=1e-10, policy=policy)
    runs[name] = st.solve(wheel, method, t_span=(0.0, 80.0), save=8001)

# %%
# Reading the result
# ------------------
# The same start and the same wheel; only the rule at the line differs.
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for (name, run), colour in zip(runs.items(), ("#0072B2", "#D55E00"), strict=True):
    axes[0].plot(run.data["time"], run.data["r"], color=colour, lw=0.8, label=name)
    axes[1].plot(run.data["r"], run.data["omega"], color=colour, lw=0.4)
axes[0].axhline(0.1859, color="0.6", lw=0.6, zorder=0)
axes[1].plot(0.1859, -1.037, "k.", label="two-fold")
axes[1].axhline(-1.0, color="0.6", lw=0.6, zorder=0, label="h = g = 0")
axes[0].set(xlabel="scaled time [s/(kg m²)]", ylabel="r [m]")
axes[1].set(xlabel="r [m]", ylabel="omega [rad/s]")
for ax in axes:
    ax.legend(fontsize="x-small")

# %%
# The arrival, against a number from an independent computation with 40 digits.
arrival = stopped.events.query("kind == 'two_fold'")["time"].to_numpy()[0]
print(f"arrival at the two-fold: {arrival:.10f}, reference 7.7817381606")
assert abs(arrival - 7.7817381606) < 2e-8
assert stopped.status is st.Status.STOPPED
assert abs(stopped.final["r"] - 0.1859) < 1e-8

# %%
# Both runs left the surface at the same point and time, and ended on the line at different
# positions.
left = [run.events.query("kind == 'leave'").iloc[0] for run in paths.values()]
ends = [run.final["r"] for run in paths.values()]
print(f"both leave at tau = {left[0]['time']:.6f}; they reach the line at r =", ends)
assert left[0]["time"] == left[1]["time"]
assert abs(left[0]["time"] - arrival - 2.0) < 1e-8
assert abs(ends[0] - ends[1]) > 1e-5

# %%
# The directions into and out of the line at that position.
for ray in wheel.line_rays(ends[0]):
    print(f"  {ray.label:12s} rho' = {ray.growth:+.4f}")

# %%
# The return of trajectories to the two-fold, and its time, depend on the rule. If the wheel slips
# each time, it drifts along the line for a long time; a random exit soon brings it back.
for name, run in runs.items():
    hits = run.events["kind"].value_counts()
    print(f"{name}: {hits['codim2_line']} times at the line, {hits['two_fold']} at the two-fold")
places = runs["always -"].events.query("kind == 'codim2_line'")["r"].to_numpy()
assert (np.diff(places) < 0.0).all()
assert (runs["always -"].events["kind"] == "two_fold").sum() == 1
assert (runs["drawn"].events["kind"] == "two_fold").sum() > 1
