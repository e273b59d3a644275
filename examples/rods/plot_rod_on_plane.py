r"""
A rod on a plane: rolling, slip, impact and lift-off
====================================================

**Physics.** A rod lies on a plane with contact along its length. A rigid rod is the cylinder of
textbooks. Down a slope it rolls with :math:`\tfrac23 g\sin\beta` if
:math:`\mu \ge \tfrac13\tan\beta`, and slips with :math:`g(\sin\beta - \mu\cos\beta)` otherwise.
Started without spin it slips until :math:`t = v_0/(3\mu g)` and then rolls with
:math:`\tfrac23 v_0`; the energy loss, :math:`m v_0^2/6`, does not depend on the friction.
Different parts of an elastic rod roll and slip at different times, and may also lift off the plane
and impact again.

Source: rigid cylinder in closed form; rods as in Gay-Balmaz and Putkaradze, "Dynamics of elastic
rods in perfect friction contact", Phys. Rev. Lett. (2012), with contact laws beyond that paper.
"""

# %%
# The model
# ---------
# A rubber rod of 4 cm thickness. Every node can have contact with the plane at the point below it.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

import stiction as st
from stiction.exact.rolling_cylinder import incline_acceleration, slide_time, slip_heat
from stiction.rods.centreline import Straight
from stiction.rods.methods import PlaneLeapfrog
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.rod import CosseratRod, Free, RigidMotion
from stiction.rods.section import CircularSection

section = CircularSection(radius=0.02, young=1e6, density=1000.0)


def rod(low, high, speed):
    """Return a straight free rod along y; its ends are `low` and `high` above the plane [m]."""
    line = Straight([0.0, -0.25, 0.02 + low], [0.0, 0.25, 0.02 + high])
    motion = [RigidMotion([speed, 0.0, 0.0])]
    return CosseratRod(section, line, elements=12, left=Free(), right=Free(), motion=motion)


# %%
# The law
# -------
# Coulomb: the contact rolls while friction is below mu times the normal force, otherwise it slips;
# it can only be compressive. A part that hits the plane does not bounce (restitution 0).
SLOPE, SPEED, MU = 0.3, 0.8, 0.3
downhill = [9.81 * np.sin(SLOPE), 0.0, -9.81 * np.cos(SLOPE)]
bounds = np.linspace(0.0, 0.2, 9)

# %%
# Method and solve
# ----------------
# Half kick, drift, half kick; a step ends where a node hits the plane. All nodes are solved
# together.
method = PlaneLeapfrog(fraction=0.1)
found = []
for mu in bounds:
    slope = RodOnPlane(rod(0.0, 0.0, 0.0), friction=st.Coulomb(mu), gravity=downhill)
    run = st.solve(slope, method, (0.0, 0.1), save=3)
    found.append(2.0 * run.data["position"].values[-1, 6, 0] / 0.1**2)
thrown = st.solve(RodOnPlane(rod(0.0, 0.0, SPEED), friction=st.Coulomb(MU)), method, (0.0, 0.2))
falls = RodOnPlane(rod(0.01, 0.08, SPEED), friction=st.Coulomb(MU))
fallen = st.solve(falls, method, (0.0, 0.6), save=601)
print(fallen)

# %%
# Reading the result
# ------------------
# Left: slope against friction. Middle: slip of the thrown rod. Right: nodes of the falling rod,
# open (white), rolling (blue), slipping (red).
fig, axes = plt.subplots(1, 3, figsize=(8.5, 3.0), layout="constrained")
fine = np.linspace(0.0, 0.2, 201)
axes[0].plot(fine, [incline_acceleration(SLOPE, mu) for mu in fine], "k", lw=1, label="rigid")
axes[0].plot(bounds, found, "o", label="rod")
axes[0].set(xlabel="mu [1]", ylabel="acceleration [m/s²]")
axes[0].legend()
axes[1].plot(thrown.time, thrown.data["slip_speed"][:, 6], label="slip")
axes[1].plot(thrown.time, thrown.data["momentum"][:, 0] / section.line_density / 0.5, label="speed")
axes[1].axvline(slide_time(SPEED, MU), color="k", lw=1, ls=":")
axes[1].set(xlabel="time [s]", ylabel="[m/s]")
axes[1].legend()
modes = fallen.data["contact_mode"].values
colours = ListedColormap(["white", "tab:blue", "tab:red"])
axes[2].pcolormesh(fallen.time, np.arange(1, 14), modes.T, cmap=colours, vmin=0, vmax=2)
axes[2].set(xlabel="time [s]", ylabel="node")

# %%
# The results agree with the rigid ones to rounding, because a straight rod stays straight. The
# elastic rod has no closed form; its energy is accounted for.
exact = [incline_acceleration(SLOPE, mu) for mu in bounds]
print(f"acceleration: {np.abs(np.array(found) - exact).max():.1e} m/s2 from the closed form")
heat = thrown.energy.total_friction_heat[-1].item()
lost = slip_heat(section.line_density * 0.5, SPEED)
print(f"thrown: {heat:.6f} J of heat, closed form {lost:.6f} J")
print(f"fallen: {len(fallen.events)} events, ledger closes to {fallen.energy.imbalance_rel:.1e}")
assert np.abs(np.array(found) - exact).max() < 1e-9
assert abs(heat / lost - 1.0) < 1e-5
assert fallen.energy.imbalance_rel < 1e-3
assert (np.diff(fallen.energy.friction_heat, axis=0) >= 0.0).all()
