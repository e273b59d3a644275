r"""
Peeling of a strip with friction under tension
==============================================

**Physics.** A strip adheres to a rigid plane by van der Waals forces; its right end is lifted.
Without friction every unit of peeled length needs the work of adhesion :math:`W`, for any shape of
the strip: :math:`d(W_{ext} - U)/da = W`. Once the strip peels at a right angle the force per width
approaches :math:`W`. With friction the surfaces also slide, under tension, before they separate.
The threshold of model EA depends on the normal traction, that of model DI is constant; with
matched parameters peeling needs nearly twice as much energy in both, and more force.

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, section 4.1, on a shorter
strip; :math:`F = W` at a right angle from Kendall 1975.
"""

# %%
# The model
# ---------
# Lengths are in units of L0, stresses in Young's modulus E. The paper's strip adheres over 150 L0.
# This one, 60 x 4 with 45 of it in adhesion, peels in the same manner and takes seconds.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st


def strip(model):
    """Return the strip with one law of friction."""
    return st.StripPeeling(
        model=model, length=60.0, height=4.0, adhering=45.0, cells=(60, 2), u_end=40.0
    )


# %%
# The law
# -------
# Lennard-Jones attraction between two half-spaces, and three friction laws. The matched parameter
# of DI gives the same threshold as EA at the equilibrium gap.
adhesion = st.LennardJones.from_strength(max_tension=0.0617849, work_of_adhesion=0.0153324)
extended = st.EA(mu=0.02)
models = {"none": st.laws.Frictionless(), "EA": extended, "DI": extended.matching_di(adhesion)}
for name, model in models.items():
    print(f"{name}: threshold at g_eq {model.threshold(adhesion.gap_eq, adhesion):.5f} E")

# %%
# Method and solve
# ----------------
# Load steps and Newton's method; states at the saved times are computed beside the path.
method = st.solids.Quasistatic(steps=80)
save = np.linspace(0.0, 1.0, 41)
runs = {name: st.solve(strip(model), method, save=save) for name, model in models.items()}
print(runs["EA"])

# %%
# Reading the result
# ------------------
# Left: the force. Middle: energy against peeled length; the slope is the fracture energy. Right:
# the strip, lifted by 40.
fig, axes = plt.subplots(1, 3, figsize=(8.5, 3.0), layout="constrained")
spent, slope = {}, {}
for name, run in runs.items():
    peeled = run.data["peeling_length"].values
    spent[name] = (run.ledger["external_work"] - run.ledger["stored"]).values
    steady = (peeled > 13.0) & (peeled < 36.0)
    slope[name] = np.polyfit(peeled[steady], spent[name][steady], 1)[0]
    axes[0].plot(run.data["displacement"], run.data["force_y"], label=name)
    axes[1].plot(peeled, spent[name], label=name)
axes[0].axhline(adhesion.work_of_adhesion, color="k", lw=1, ls=":")
axes[0].set(xlabel="displacement [L0]", ylabel="vertical force [E L0]")
axes[0].legend()
peeled = np.linspace(0.0, 40.0, 2)
axes[1].plot(peeled, adhesion.work_of_adhesion * peeled, "k:", lw=1)
axes[1].set(xlabel="peeled length [L0]", ylabel="energy spent [E L0²]")
last = runs["EA"].data.isel(snapshot=-1)
x, y = last["drawn_position"].values.T
for piece in last["drawn_outline"].values:
    axes[2].plot(x[piece], y[piece], "k", lw=1)
axes[2].set(xlabel="x [L0]", ylabel="y [L0]", aspect="equal")

# %%
# Without friction the slope is W. With friction heat adds to it, and the ledger closes.
work = adhesion.work_of_adhesion
for name, run in runs.items():
    peak = run.quantities["peak_force_y"].value
    print(f"{name}: {slope[name] / work:.4f} W per length, peak force {peak:.5f} E L0")
force = runs["none"].data["force_y"].values[-1]
print(f"without friction: {force / work:.3f} W at the end, Kendall 1 at a right angle")
assert abs(slope["none"] / work - 1.0) < 1e-3
assert abs(force / work - 1.0) < 0.05
peaks = {name: run.quantities["peak_force_y"].value for name, run in runs.items()}
assert abs(peaks["EA"] / peaks["DI"] - 1.0) < 0.01
assert slope["EA"] > 1.9 * work
assert all(run.audit.ok and run.energy.imbalance_rel < 2e-3 for run in runs.values())
