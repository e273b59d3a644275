r"""
A sharp punch slides: two bodies with one energy
================================================

**Physics.** A soft block with sharp edges is pressed on a longer one of the same material and
moved along it over ten of its elements. The meshes do not match, and corners of the punch indent
the block. Mortar contact has one energy: action equals reaction, moments balance, and the work
equals stored energy plus heat, to the last digit. In full sliding the law gives the force.

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, for the laws; Puso and
Laursen, Comput. Methods Appl. Mech. Eng. 193 (2004) 601, for integrals over both meshes.
"""

# %%
# The model
# ---------
# Lengths are in units of a third of the punch, stresses in Young's modulus. The top of the punch
# moves down first, and then to the right.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction import solids as so

# %%
# The law
# -------
# Coulomb friction under pressure: model EA without adhesion.
MU, SLIDE = 0.3, 5.0
law = st.LennardJones.from_strength(0.05, 0.01, adhesive=False)
friction = st.EA(mu=MU, s_cut=0.0)
punch = so.rectangle(3.0, 1.5, (6, 2), (1.0, law.gap_eq))
long = so.rectangle(10.0, 2.0, (20, 4), (0.0, -2.0))
bodies = [so.Body(mesh, so.Q1N2(), so.NeoHookean(1.0, 0.3)) for mesh in (punch, long)]
face, floor, top = so.Boundary(0, "bottom"), so.Boundary(1, "top"), so.Boundary(0, "top")
system = so.Solid(
    bodies,
    [so.Contact(face, floor, law, friction, passes="mortar")],
    [
        so.Driven(top, 0, so.Program((0, 1, 2), (0, 0, SLIDE))),
        so.Driven(top, 1, so.Program((0, 1), (0, -0.03))),
        so.Fixed(so.Boundary(1, "bottom")),
    ],
    readings=so.Readings(displacement=0),
    dimensionless=True,
)

# %%
# Method and solve
# ----------------
# Most steps move by half an element or more.
run = st.solve(system, st.solids.Quasistatic(steps=20), (0.0, 2.0))
print(run)

# %%
# Reading the result
# ------------------
# The friction force reaches Coulomb's bound and stays there; the pressure is highest at the edges.
fx, fy = (run.data[name].values for name in ("force_x", "force_y"))
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
axes[0].plot(run.data["displacement"], -fx, "o-", ms=3, label="friction")
axes[0].plot(run.data["displacement"], MU * fy, "k--", lw=0.8, label="mu times pressing force")
axes[0].set(xlabel="way of the punch", ylabel="force [E L]")
axes[0].legend(fontsize="small")
axes[1].plot(run.data["surface_coordinate"], run.data["normal_traction"][-1], ".")
axes[1].set(xlabel="place on the punch", ylabel="pressure [E]")

values = {check.check: check.value for check in run.audit.checks}
heat, work = run.energy.total_friction_heat[-1], run.energy.external_work[-1]
print(f"work {work:.5f}, heat {heat:.5f}; imbalance {run.energy.imbalance_rel:.1e}")
print(f"released between steps: {values['balanced_between_steps']:.1e} of the energies")
slides = run.data["displacement"].values > 1.0
assert np.abs(-fx[slides] / (MU * fy[slides]) - 1.0).max() < 0.05
assert run.energy.imbalance_rel < 1e-6
assert values["two_half_pass_balance"] == 0.0
assert abs(heat - work) < 0.1 * work
