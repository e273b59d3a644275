r"""
Snap-off in time: inertia and viscosity beyond a limit point
============================================================

**Physics.** A strip that is peeled off a plane reaches a limit point: beyond a displacement of its
end there is no equilibrium near the last one, and a quasistatic path ends or jumps. Continuation
follows the unstable equilibria and gives the released energy, :math:`\Pi_1 - \Pi_2`. With mass the
strip jumps in time,

.. math:: M \ddot u + C \dot u + f(u) = 0,

and the same energy becomes first kinetic energy, then heat of dampers. The paper of Mergel,
Scheibert and Sauer mentions this regularisation by inertia or viscosity without using it.

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, section 3.4.1; the
scheme is that of Chung and Hulbert 1993.
"""

# %%
# The model
# ---------
# A short strip without friction, lifted by `u_end` until time 1 and held there.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.solids import GeneralisedAlpha, MovingSolid


def strip(u_end):
    """Return the strip."""
    return st.StripPeeling(
        length=20.0,
        adhering=13.0,
        height=3.0,
        cells=(24, 2),
        u_end=u_end,
        model=st.laws.Frictionless(),
    )


# %%
# The law
# -------
# Between the first limit point and the second the displacement decreases along the path. The other
# branch at the same displacement has less energy; the difference is released.
path = st.solve(strip(15.0), st.Continuation(steps=60))
u = path.data["displacement"].values
total = (path.ledger["stored"] + path.ledger["adhesive"]).values
first = int(np.argmax(np.diff(u) < 0.0))
second = first + int(np.argmax(np.diff(u[first:]) > 0.0))
held = 1.004 * u[first]
force = path.data["force_y"].values[first]
far = np.interp(held, u[second:], total[second:])
free = total[first] + force * (held - u[first]) - far
print(f"limit point at {u[first]:.4f} L0; {free:.6f} E L0^2 are released at {held:.4f} L0")

# %%
# Method and solve
# ----------------
# Drag dissipates the motion of one strip; the other has viscosity of its interface as well.
dampers = {"drag": 0.0, "drag and interface": 2e-5}
runs = {}
for name, viscosity in dampers.items():
    moving = MovingSolid(strip(held), density=1e-9, drag=60.0, normal_viscosity=viscosity)
    method = GeneralisedAlpha(steps=50, tolerance=1e-2)
    runs[name] = st.solve(moving, method, (0.0, 1.3))
print(runs["drag"])

# %%
# Reading the result
# ------------------
# Left: energy of equilibria against displacement, with the jump. Middle: the contact recedes in a
# hundredth of the time of peeling. Right: the energies.
fig, axes = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained")
axes[0].plot(u, total, "k", lw=1)
axes[0].plot([held, held], [total[first], far], "C3", marker="o", ms=3)
axes[0].set(xlabel="displacement [L0]", ylabel="energy of balance [E L0²]", xlim=(4, 14))
for name, run in runs.items():
    axes[1].plot(run.time, run.data["nominal_contact"], label=name)
axes[1].set(xlabel="time", ylabel="length of contact [L0]", xlim=(0.97, 1.06))
axes[1].legend()
ledger = runs["drag"].ledger
at = ledger["time"].values
lost = (ledger["viscous_heat"] + ledger["algorithmic"]).values
begin = np.interp(0.99, at, lost)
axes[2].plot(at, ledger["kinetic"], label="motion")
axes[2].plot(at, lost - begin, label="heat, scheme")
axes[2].axhline(free, color="k", lw=1, ls=":")
axes[2].set(xlabel="time", ylabel="energy since the snap [E L0²]", xlim=(0.97, 1.2))
axes[2].legend()

# %%
# The dissipated energy equals the prediction of continuation, and the ledger closes.
for name, run in runs.items():
    e = run.energy
    gone = e.kinetic + e.viscous_heat + e.algorithmic
    released = gone[-1] - np.interp(0.99, e.time, gone)
    print(f"{name}: {released:.6f} E L0^2, {released / free:.4f} of the prediction")
    assert abs(released / free - 1.0) < 0.02
    assert e.imbalance_rel < 1e-6
    assert run.audit.ok, run.audit
