r"""
A rod that rolls off the end of another
=======================================

**Physics.** A rod lies across another one that is clamped at one end and slopes down towards its
free end. It rolls down to the end of the lower rod, a half sphere of its radius. The contact
continues over that half sphere, and opens when the rod falls off. Events record this: ``end`` when
the contact reaches the half sphere, ``fall`` when it opens there.

A rigid cylinder on a rigid one rolls with :math:`\tfrac23 g\sin\beta`, for any radii. A light and
stiff rod does the same until it is near the end.

Source: formulas for unequal radii derived in the theory of rods of this package; the equations of
rolling are those of Gay-Balmaz and Putkaradze, Phys. Rev. Lett. (2012).
"""

# %%
# The model
# ---------
# A thin rod of 30 cm lies across a rigid cylinder that slopes by 0.2 rad.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    CylinderPartner,
    Free,
    Rods,
    RollingContact,
    RollingLeapfrog,
    Straight,
)

SLOPE, LENGTH, THIN, THICK = 0.2, 0.3, 0.01, 0.02
down = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
up = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
low = CylinderPartner([0.0, 0.0, 0.0], (LENGTH * down).tolist(), THICK)
middle = 0.2 * down + (THIN + THICK) * up
side = np.array([0.0, 0.15, 0.0])
section = CircularSection(radius=THIN, young=1e7, density=1000.0)
high = CosseratRod(
    section,
    Straight((middle - side).tolist(), (middle + side).tolist()),
    elements=16,
    left=Free(),
    right=Free(),
)

# %%
# The law
# -------
# Coulomb with a large coefficient: the rod rolls as long as the contact is compressive, and the
# contact can open.
touch = RollingContact(0.15, 0.2, friction=st.Coulomb(0.8))

# %%
# Method and solve
# ----------------
# The leapfrog, with closest-point projection on curves that end in half spheres.
system = Rods([high], contacts=[touch], gravity=[0.0, 0.0, -9.81], partners=[low])
run = st.solve(system, RollingLeapfrog(), (0.0, 0.5), save=501)
print(run)
print(run.events.to_string(max_rows=12))

# %%
# Reading the result
# ------------------
# Left: the position of the contact along the cylinder, with the closed form. Right: the two bodies
# as the rod falls.
rolled = 0.2 + 0.5 * (2.0 / 3.0) * 9.81 * np.sin(SLOPE) * run.time**2
place = run.data["s2"].values
kinds = list(run.event_log.kind)
when = {kind: float(run.event_log.time[kinds.index(kind)]) for kind in ("end", "fall")}
fig, ax = plt.subplots(figsize=(4.5, 3.0), layout="constrained")
ax.plot(run.time, rolled, "k:", lw=1, label="2/3 g sin(slope)")
ax.plot(run.time, place, label="contact")
for (kind, moment), align in zip(when.items(), ("right", "left"), strict=True):
    ax.axvline(moment, color="0.6", lw=1)
    ax.text(moment, 0.205, f" {kind} ", ha=align, fontsize=8)
ax.set(xlabel="time [s]", ylabel="place along the cylinder [m]", ylim=(0.195, 0.31))
ax.legend()
run.plot.scene(time=when["fall"] + 0.02, tubes=False, view=(15.0, -70.0))

# %%
# It rolls as in the closed form up to the end, moves onto the half sphere without an impact, and
# records the fall.
rolls = run.time < 0.95 * when["end"]
error = np.abs(place - rolled)[rolls].max()
print(f"rolling: {error:.1e} m from the closed form over {LENGTH - 0.2:.1f} m")
print(f"at the end at {when['end']:.4f} s, falls at {when['fall']:.4f} s")
print(f"ledger closes to {run.energy.imbalance_rel:.1e}")
assert run.audit.ok
assert error < 1e-3
assert when["end"] < when["fall"]
