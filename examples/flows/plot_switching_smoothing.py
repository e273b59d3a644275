r"""
Errors of a smoothed sign after a two-fold
==========================================

**Physics.** A common method replaces :math:`\operatorname{sgn} h` by :math:`\tanh(h/\varepsilon)`:
the field is smooth, the solution unique, and any solver can be used. While the flow crosses or
slides the result converges, with an error proportional to :math:`\varepsilon`. After a two-fold it
does not. Each width gives one result that looks reliable, but the results do not converge: the
orbit winds out of the two-fold, with one more turn each time the width decreases by a fixed
factor. The limit is a set, and the smooth solutions vary within it.

Source: the local model of Szalai, Jeffrey, Phys. Rev. E 90, 022914 (2014), (30), with numbers of
ours.
"""

# %%
# The model
# ---------
# Sliding from this start reaches the two-fold at t = 1.1375.
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import stiction as st
from stiction.exact.switching import sliding_arrival, sliding_orbit
from stiction.switching.funnel import futures

J1, J2, END = -1.2, -1.5, 2.5
system = st.switching.NormalForm(J1=J1, J2=J2, x0=[0.0, 0.3, 0.1], mode="slide")

# %%
# The law
# -------
# The fields of both sides, combined by a smooth sign. The solver is a stiff one of SciPy.


def smooth(_t, x, width):
    """Return x' with tanh(h / width) in the place of the sign."""
    up = 0.5 * (1.0 + np.tanh(x[0] / width))
    return [-up * x[1] + (1.0 - up) * x[2], up + (1.0 - up) * J2, up * J1 + 1.0 - up]


# %%
# Method and solve
# ----------------
# The set-valued result: a run that stops at the two-fold, and the solutions after it.
run = st.solve(system, st.EventDriven(rtol=1e-12), t_span=(0.0, END))
arrival = sliding_arrival(J1, J2, (0.1, 0.3))
funnel = futures(system, [0.0, 0.0, 0.0], END - arrival, angles=12, distances=12)
print(run.reason)

# %%
# The smooth results, for widths over three decades.
widths = 10.0 ** -np.arange(2.0, 5.1, 0.25)
before, after = np.linspace(0.05, 0.9, 50), np.linspace(arrival, END, 4001)
rows_early, rows_late = [], []
for width in widths:
    answer = solve_ivp(
        smooth, (0.0, END), [0.0, 0.3, 0.1], "Radau", args=(width,), rtol=1e-9, atol=1e-12,
        dense_output=True,
    )  # fmt: skip
    assert answer.sol is not None
    rows_early.append(answer.sol(before))
    rows_late.append(answer.sol(after))
early, late = np.array(rows_early), np.array(rows_late)

# %%
# Reading the result
# ------------------
# Left: the distance from the surface after the two-fold, for three widths. Right: the final state
# against the width, and the range of the set-valued result (band).
low, high, _ = funnel.bounds(END - arrival)
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for i, colour in zip((0, 6, 12), ("#0072B2", "#D55E00", "#009E73"), strict=True):
    axes[0].plot(after, late[i, 0], color=colour, label=f"width {widths[i]:.0e}")
axes[1].axhspan(low[1], high[1], color="#0072B2", alpha=0.12, lw=0)
axes[1].semilogx(widths, late[:, 1, -1], "o-", ms=3, color="#0072B2", label="smoothed")
axes[0].set(xlabel="time [1]", ylabel="h [1]")
axes[1].set(xlabel="width of the smoothing [1]", ylabel=f"y at t = {END} [1]")
for ax in axes:
    ax.legend(fontsize="x-small")

# %%
# Before the two-fold the error is proportional to the width.
s = np.linspace(0.0, 12.0, 4001)
points, times = sliding_orbit(s, J1, J2, (0.1, 0.3))
z, y = (np.interp(before, times, column) for column in points.T)
errors = np.abs(early[:, 1:] - np.array([y, z])).max(axis=(1, 2))
order = np.polyfit(np.log(widths[:9]), np.log(errors[:9]), 1)[0]
print(f"error before: {errors[0]:.1e} to {errors[8]:.1e}, order {order:.2f}")
assert 0.8 < order < 1.2

# %%
# After it nothing converges. Neighbouring widths differ by a factor of 1.8, and their results by
# the width of the set; the number of crossings grows with the logarithm of 1 / width.
jumps = np.abs(np.diff(late[:, 1, -1]))
crossings = (np.diff(np.sign(late[:, 0]), axis=1) != 0).sum(axis=1)
print("y at the end:", np.round(late[:, 1, -1], 3))
print("crossings:", crossings)
print(f"the set reaches from {low[1]:.3f} to {high[1]:.3f}")
assert jumps[-4:].max() > 0.2 * (high[1] - low[1])
assert crossings[-1] >= crossings[0] + 3

# %%
# Each single result looks certain, but the model admits the whole set.
assert run.determinism.status == "lost"
assert late[:, 1, -1].min() > low[1] - 0.02
assert late[:, 1, -1].max() < high[1] + 0.02
