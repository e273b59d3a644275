r"""
Rods falling into a heap
========================

**Physics.** Four rubber rods fall one over the other onto a rigid floor. They impact, slip, roll
and come to lie on each other. A contact search finds contacts during the motion: of sides with
sides, of ends with sides, and of rods with the floor. The final positions depend on every impact
before, so the heap is one of many. In each heap no rod penetrates another, friction only
dissipates, and the energy balance closes.

Source: contact laws of the formulas on slip, opening and impact in the theory of rods of this
package; rods as in Gay-Balmaz and Putkaradze, Phys. Rev. Lett. (2012).
"""

# %%
# The model
# ---------
# Rods of 11 cm in directions that differ by 35 degrees, a little above each other, and a floor.
# Contacts with the floor are at nodes. Elements are a little longer than a radius, so a rod bent
# by an impact penetrates the floor by at most a thousandth of its radius.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.rods import (
    CircularSection,
    ContactSearch,
    CosseratRod,
    Free,
    PlanePartner,
    Rods,
    RollingLeapfrog,
    Straight,
)

section = CircularSection(radius=0.012, young=5e5, density=1000.0)


def rod(k):
    """Return rod k, level, at its height."""
    angle = np.deg2rad(35.0 * k)
    half = 0.055 * np.array([np.cos(angle), np.sin(angle), 0.0])
    middle = np.array([0.005 * (-1) ** k, 0.008 * (k % 3 - 1), 0.014 + 0.027 * k])
    line = Straight((middle - half).tolist(), (middle + half).tolist())
    return CosseratRod(section, line, elements=7, internal_damping=1e-3, left=Free(), right=Free())


# %%
# The law
# -------
# Coulomb's law at every contact; impacts have restitution 0.
search = ContactSearch(friction=st.Coulomb(0.4), self_contact=False, max_contacts=64)

# %%
# Method and solve
# ----------------
# The leapfrog; contacts of one kick are solved together. Impacts excite the fastest waves of the
# elements. With a quarter of the step limit their energy has an error of a few per cent; a
# thirtieth closes the ledger to 1e-5, and damping in the rubber removes those waves before the
# next impact.
system = Rods(
    [rod(k) for k in range(4)],
    search=search,
    gravity=[0.0, 0.0, -9.81],
    partners=[PlanePartner()],
)
run = st.solve(system, RollingLeapfrog(fraction=0.03), (0.0, 0.25), save=126)
print(run)

# %%
# Reading the result
# ------------------
# Left: the energies. Right: the final heap.
fig, ax = plt.subplots(figsize=(4.5, 3.0), layout="constrained")
energy = run.energy
ax.plot(run.time, energy.external_work, label="work of weight")
ax.plot(run.time, energy.kinetic + energy.stored, label="kinetic and elastic")
ax.plot(run.time, energy.total_friction_heat, label="heat of friction")
ax.plot(run.time, energy.impact_loss, label="lost in impacts")
ax.plot(run.time, energy.viscous_heat, label="lost in the rods")
ax.set(xlabel="time [s]", ylabel="energy [J]")
ax.legend(fontsize=7)
run.plot.scene(tubes=False, view=(35.0, -60.0))

# %%
# Contacts per body, from the saved state alone: those that are compressive at the end. All audit
# checks hold: no overlap of two bodies beyond a thousandth of a radius, a closed ledger, and
# friction that only dissipates.
data = run.data
last = data.isel(time=-1)
pressing = last["contact_mode"].values > 0.0
pairs = np.column_stack([last["first_body"], last["second_body"]])[pressing].astype(int)
found = sorted({(int(a), int(b)) for a, b in pairs})
print(
    f"{pressing.sum()} contacts in compression at the end, between bodies {found}; 5 is the floor"
)
print(f"ledger closes to {energy.imbalance_rel:.1e} of {energy.scale:.3f} J")
assert run.audit.ok
audit = {line.check: line.value for line in run.audit if line.value is not None}
assert audit["contacts_solved"] == 0.0
assert audit["no_overlap"] < 1e-3
