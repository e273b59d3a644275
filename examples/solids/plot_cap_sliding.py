r"""
A soft cap under shear: contact that shrinks before it slides
=============================================================

**Physics.** A rigid plate is pressed on a soft cap, or held by adhesion alone, and then moved
sideways under a constant normal force. Sliding begins at both edges and propagates inward, while
the contact becomes shorter, :math:`L \approx L_0 - \xi F_t^2`. In full sliding the traction is
uniform and the force is :math:`F_t = \tau L`.

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, section 5, eq. (37). The
paper's mesh has 900 x 47 elements; this one is far coarser, and its xi does not reproduce theirs.
"""

# %%
# The model
# ---------
# Lengths are in units of L0, stresses in Young's modulus E. The plate is a rigid partner; its
# normal force is a load on its own node. The cap is nearly incompressible.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

loads = {"held by adhesion": 0.0, "pressed": 0.5}

# %%
# The law
# -------
# Model DI: the interface has the same shear strength wherever surfaces are near, also under
# tension. Its value is that of the largest tension, mu = 1.
friction = st.DI(mu=1.0)
caps = {
    name: st.CapSliding(normal_force=load, model=friction, cells=(100, 5), u_end=2.6)
    for name, load in loads.items()
}

# %%
# Method and solve
# ----------------
# In the first tenth of the program the attraction grows, until 0.3 the normal force grows to its
# value, and then the plate moves.
save = np.concatenate([[0.0], np.linspace(0.3, 1.0, 36)])
runs = {
    name: st.solve(cap, st.solids.Quasistatic(steps=40), save=save) for name, cap in caps.items()
}
print(runs["pressed"])

# %%
# Reading the result
# ------------------
# Left: contact length against tangential force, with the line of full sliding. Right: shear on the
# cap along its top at three times. It is per reference area: in full sliding it is uniform per
# current area, and the top is stretched at the rear and compressed in front.
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for name, run in runs.items():
    sheared = run.data.isel(time=slice(1, None))
    axes[0].plot(sheared["force_x"], sheared["contact_length"], ".-", label=name)
tau = friction.tau(st.LennardJones.from_strength(max_tension=0.165, work_of_adhesion=0.0135))
line = np.linspace(0.0, 14.0, 2)
axes[0].plot(tau * line, line, "k", lw=1, label="full sliding")
axes[0].set(xlabel="tangential force [E L0]", ylabel="contact length [L0]", ylim=(6, 14))
axes[0].legend(loc="lower left")
data = runs["pressed"].data
for row in (12, 24, 36):
    inside = np.abs(data["surface_x"][row] - data["displacement"][row]) < 10.0
    axes[1].plot(
        data["surface_x"][row][inside],
        -data["tangential_traction"][row][inside],
        label=f"u = {data['displacement'].values[row]:.2f}",
    )
axes[1].set(xlabel="x [L0]", ylabel="shear traction [E]")
axes[1].legend(loc="upper right")

# %%
# Every run ends on the line of full sliding; the contact has lost a sixth or more.
for name, run in runs.items():
    begin = run.quantities["contact_length_initial"].value
    end = run.quantities["contact_length_final"].value
    force = run.data["force_x"].values[-1]
    at = run.quantities["full_sliding_at"].value
    print(f"{name}: {begin:.3f} to {end:.3f} L0, all slides from u = {at:.2f} L0")
    print(f"{name}: F_t / (tau L) = {force / (tau * end):.5f}")
    assert end < 0.87 * begin
    assert abs(force / (tau * end) - 1.0) < 2e-3
    assert run.energy.imbalance_rel < 1e-3
    assert (np.diff(run.energy.total_friction_heat) >= 0.0).all()
held = [abs(run.data["force_y"].values[-1] + loads[name]) for name, run in runs.items()]
assert max(held) < 1e-8
