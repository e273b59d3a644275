r"""
Two soft cylinders: friction breaks a symmetry
==============================================

**Physics.** Two half cylinders with overlap slide across each other at a fixed distance of their
bases. Without friction the forces are symmetric about u = R: the horizontal force is antisymmetric
and the vertical one symmetric. The net work is zero. Friction moves the lower cylinder along with
the upper one, and the work becomes heat. (The audit reports what this coarse mesh does not
resolve.)

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, section 4.2.
"""

# %%
# The model
# ---------
# Lengths are in units of R, stresses in Young's modulus E. Both bodies are deformable: each
# surface is loaded in its own pass, and neither is the master of the other. Bezier curves of
# degree 3 make the surfaces smooth.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

# %%
# The law
# -------
# Weak adhesion; without friction, and with extended Amontons friction.
models = {"no friction": st.laws.Frictionless(), "EA, mu = 0.2": st.EA(mu=0.2)}

# %%
# Method and solve
# ----------------
# The upper base moves from R on the left to R on the right. Saved times are symmetric about the
# middle.
save = np.linspace(0.0, 1.0, 17)
method = st.solids.Quasistatic(steps=16)
runs = {
    name: st.solve(st.solids.TwoCylinders(model=m), method, save=save) for name, m in models.items()
}
print(runs["EA, mu = 0.2"])

# %%
# Reading the result
# ------------------
# Left: forces on the lower cylinder. Right: both bodies in the middle, coloured by the first
# invariant of the stress.
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for colour, (name, run) in zip(("tab:blue", "tab:red"), runs.items(), strict=True):
    u = run.data["displacement"]
    axes[0].plot(u, run.data["force_x"], color=colour, label=f"{name}: horizontal")
    axes[0].plot(u, run.data["force_y"], color=colour, ls="--", label="vertical")
axes[0].axhline(0.0, color="k", lw=0.5)
axes[0].set(xlabel="displacement [R]", ylabel="force [E R]")
axes[0].legend(fontsize="x-small", loc="center left")
data = runs["EA, mu = 0.2"].data
middle = int(np.argmin(np.abs(data["snapshot_time"].values - 0.5)))
x, y = data["drawn_position"][middle].values.T
cells = data["drawn_cell"].values
triangles = np.concatenate([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
shade = data["stress_trace"][middle].values
axes[1].tripcolor(x, y, triangles, shade, cmap="RdBu_r", vmin=-0.5, vmax=0.5, shading="gouraud")
axes[1].set(aspect="equal", xlabel="x [R]", ylabel="y [R]")

# %%
# The symmetry holds to the tolerance of Newton's method. The passes are not the
# derivative of one energy; a column of the ledger gives the difference.
plain, rubbed = runs.values()
fx, fy = plain.data["force_x"].values, plain.data["force_y"].values
size = np.abs(fy).max()
print(f"force_x is odd to {np.abs(fx + fx[::-1]).max() / size:.1e}")
print(f"force_y is even to {np.abs(fy - fy[::-1]).max() / size:.1e}")
heat = rubbed.energy.total_friction_heat[-1]
work = rubbed.ledger["external_work"].values[-1]
lost = rubbed.data["non_reciprocity"].values[-1]
print(f"with friction: work {work:.5f}, heat {heat:.5f}, non-reciprocity {lost:.1e} E R²")
assert np.abs(fx + fx[::-1]).max() < 1e-7 * size
assert np.abs(fy - fy[::-1]).max() < 1e-7 * size
assert heat > 0.9 * work > 0.0
assert abs(lost) < 0.05 * work
assert rubbed.data["force_x"].values[8] > 0.1 * size
