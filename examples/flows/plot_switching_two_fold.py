r"""
Find and classify a two-fold
============================

**Physics.** On a switching surface :math:`h = 0` the flow of each side can be tangent to it: a
fold, :math:`L_\pm = \nabla h \cdot f_\pm = 0`. In three dimensions both folds are curves on the
surface. Where they cross, :math:`L_+ = L_- = 0`, Filippov's sliding field is undefined. Four
numbers determine the local flow,

.. math:: K_{ab} = \nabla(L_a) \cdot f_b, \qquad a, b \in \{+, -\}.

If both folds are invisible, :math:`K_{++} < 0 < K_{--}`, the sliding flow is that of the matrix
:math:`\begin{pmatrix} J_1 & 1 \\ 1 & J_2 \end{pmatrix}`, with :math:`J_1 =
K_{-+}/\sqrt{-K_{++}K_{--}}` and :math:`J_2 = -K_{+-}/\sqrt{-K_{++}K_{--}}`. For :math:`J_{1,2} <
0`, :math:`J_1 J_2 > 1` (case 1) the whole sliding flow reaches the point in finite time and
continues into the region where sliding is unstable.

Source: Szalai, Jeffrey, Phys. Rev. E 90, 022914 (2014), (8)-(11), (22)-(30) and Fig. 3.
"""

# %%
# The model
# ---------
# The wheel on a turntable, and the local model of a two-fold with numbers of our own.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import switching as exact

wheel = st.WheelOnTurntable()
local = st.switching.NormalForm(J1=-1.2, J2=-1.5, x0=[0.0, 0.3, 0.1], mode="slide")

# %%
# The law
# -------
# In the local model both sides are parabolic: each orbit leaves the surface and returns to it.
print("f+ at the two-fold:", local.field(np.zeros(3), 1.0))
print("f- at the two-fold:", local.field(np.zeros(3), -1.0))

# %%
# Method and solve
# ----------------
# Newton's method on h = L+ = L- = 0 from a rough guess. It needs the system only as functions.
fold = st.two_fold(wheel, guess=(0.19, -0.03, -1.03))
print(f"at r, v, omega = {fold.x}: {fold.kind}, case {fold.case}")
print(f"J1 = {fold.J1:.13f}, J2 = {fold.J2:.13f}, eigenvalues {fold.eigenvalues}")
print(fold.why)
for future in fold.local_futures:
    print(" -", future)
run = st.solve(local, st.EventDriven(rtol=1e-13), t_span=(0.0, 20.0))
print(run)

# %%
# Reading the result
# ------------------
# The three cases of Fig. 3, in closed form: sliding orbits (y, z > 0) and orbits of the escaping
# region (y, z < 0). Arrows point forward in time; only case 1 leads from sliding into escaping.
fig, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), layout="constrained", sharey=True)
cases = {1: (-1.2, -1.5), 2: (1.2, 1.5), 3: (-0.5, -0.5)}
for ax, (case, (j1, j2)) in zip(axes, cases.items(), strict=True):
    ax.fill_between([0, 1], 0, 1, color="#0072B2", alpha=0.12, lw=0)
    ax.fill_between([-1, 0], -1, 0, color="#D55E00", alpha=0.12, lw=0)
    for angle in np.linspace(0.05, 0.45, 6) * np.pi:
        start = 0.6 * np.array([np.cos(angle), np.sin(angle)])
        points, _ = exact.sliding_orbit(np.linspace(-3.0, 6.0, 400), j1, j2, tuple(start))
        points[(points < 0.0).any(axis=1) | (points > 1.0).any(axis=1)] = np.nan
        for sense in (1.0, -1.0):
            z, y = sense * points.T
            ax.plot(y, z, color="0.3", lw=0.8)
            i = np.nanargmin(np.abs(np.hypot(z, y) - 0.55))
            turn = 6 if sense > 0.0 else -6
            ax.annotate(
                "", (y[i + turn], z[i + turn]), (y[i], z[i]), arrowprops={"arrowstyle": "->"}
            )
    ax.set(xlabel="y [1]", title=f"case {case}: J = {j1:g}, {j2:g}", xlim=(-1, 1), ylim=(-1, 1))
axes[0].set_ylabel("z [1]")

# %%
# The wheel's numbers against the closed form, which has every derivative written out by hand.
table = exact.Turntable(1.0, 1.0, 1e-3, 1e-3, 0.05, 0.1, -1.0, 1.0, wheel.gamma)
known = exact.wheel_two_fold(table, 0.1859, -1.037)
assert fold.J1 is not None
assert fold.J2 is not None
pairs = {"K++": (fold.Kpp, known.kpp), "K--": (fold.Kmm, known.kmm)}
pairs |= {"J1": (fold.J1, known.j1), "J2": (fold.J2, known.j2), "v*": (fold.x[1], known.v)}
for name, (found, wanted) in pairs.items():
    print(f"{name:4s} {found:+.15f}  closed form {float(wanted):+.15f}")
    assert abs(found - wanted) < 1e-11 * abs(wanted)
assert fold.case == 1
assert not fold.deterministic

# %%
# The arrival time of the local model agrees with the closed form, and the search finds its
# two-fold with the given J.
arrival = run.events["time"].to_numpy()[-1]
expected = exact.sliding_arrival(-1.2, -1.5, (0.1, 0.3))
print(f"arrival {arrival:.15f}, closed form {expected:.15f}")
assert abs(arrival - expected) < 1e-13
again = st.two_fold(local, guess=(0.1, -0.2, 0.3))
assert again.J1 is not None
assert again.J2 is not None
assert np.allclose([again.J1, again.J2], [-1.2, -1.5], atol=1e-12)

# %%
# The wheels with such a point fill a region of the plane of (r*, omega*), here from closed forms
# for case 1. This is Fig. 4(a) with the conditions of panel (g) that stiffness and trail are
# positive.
r, omega = np.linspace(0.005, 0.5, 300), np.linspace(-2.0, -0.5, 300)
flags = wheel.fig4_flags(r, omega)
fig, ax = plt.subplots(figsize=(3.4, 2.6), layout="constrained")
ax.contourf(r, omega, flags["all"], levels=[0.5, 1.5], colors=["#0072B2"], alpha=0.4)
ax.plot(0.1859, -1.037, "k.")
ax.set(xlabel="r* [m]", ylabel="omega* [rad/s]")
print(f"case 1 in {100.0 * flags['all'].mean():.1f} % of the window")
assert wheel.fig4_flags([0.1859], [-1.037])["all"].all()
