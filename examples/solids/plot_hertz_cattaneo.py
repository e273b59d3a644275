r"""
Hertz and Cattaneo without a penalty: a cylinder pressed on rubber and sheared
==============================================================================

**Physics.** A rigid cylinder of radius :math:`R` is pressed by :math:`P` per length on an
incompressible block and then pulled sideways by :math:`Q < \mu P`. Contact is hard: surfaces do
not penetrate, and the pressure is a reaction. For a half space

.. math:: a = \sqrt{\frac{4 P R}{\pi E^\star}}, \quad p = p_0 \sqrt{1 - x^2/a^2}, \quad
          \frac{c}{a} = \sqrt{1 - \frac{Q}{\mu P}}

with half width :math:`a` of contact and :math:`c` of stick. Slip begins at the edges.

Source: Johnson, Contact Mechanics (1985), sections 4.2 and 7.2.
"""

# %%
# The model
# ---------
# Elements are finest in the middle, at the contact.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction import solids as so

R, MU, E, NU, DEPTH = 1.0, 0.3, 1.0, 0.49, 4e-3
even = np.linspace(-1.0, 1.0, 41)
across = 0.5 + 0.5 * np.sinh(5.0 * even) / np.sinh(5.0)
down = 1.0 - np.sinh(5.0 * np.linspace(1.0, 0.0, 17)) / np.sinh(5.0)
mesh = so.rectangle(2.0, 1.0, (40, 16), (-1.0, -1.0), grading_x=across, grading_y=down)
block = so.Body(mesh, so.Q2(), so.LinearElastic(E, NU))
glass = so.RigidCircle((0.0, R), R)

# %%
# The law
# -------
# Signorini's law has no stiffness and no length: the mesh needs to resolve the contact only.
# Cattaneo's cylinder is pressed without friction; friction acts from then on.
top, cylinder = so.Boundary(0, "top"), so.Rigid(0)
contact = so.Contact(top, glass, so.Signorini(), so.Coulomb(MU), friction_from=1.0)
system = so.Solid(
    [block],
    [contact],
    [
        so.Fixed(so.Boundary(0, "bottom")),
        so.Driven(cylinder, 1, so.Program((0, 1), (0, -DEPTH))),
        so.Driven(cylinder, 0, so.Program((1, 2), (0, 1.5e-3))),
    ],
    readings=so.Readings(displacement=2),
    dimensionless=True,
)

# %%
# Method and solve
# ----------------
# The first half of the program presses the cylinder, the second half shears it.
run = st.solve(system, so.Quasistatic(steps=24), (0.0, 2.0))
print(run)

# %%
# Reading the result
# ------------------
# The half-space solution for the computed forces is compared with the tractions.
data = run.data.isel(time=-1)
press, pull = (abs(float(data[name])) for name in ("force_y", "force_x"))
a = np.sqrt(4.0 * press * R * (1.0 - NU**2) / (np.pi * E))
c = a * np.sqrt(1.0 - pull / (MU * press))
order = np.argsort(data["surface_x"].values)
x, normal, shear = (
    data[name].values[order] for name in ("surface_x", "normal_traction", "tangential_traction")
)
p0 = 2.0 * press / (np.pi * a)


def ellipse(half):
    """Return sqrt(1 - x^2 / half^2), zero outside."""
    return np.sqrt(np.maximum(1.0 - (x / half) ** 2, 0.0))


fig, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
near = np.abs(x) < 1.5 * a
ax.plot(x[near] / a, normal[near] / p0, ".", label="pressure")
ax.plot(x[near] / a, np.abs(shear[near]) / (MU * p0), "x", ms=4, label="shear over friction")
ax.plot(x[near] / a, ellipse(a)[near], "k-", lw=0.8, label="Hertz")
theory = ellipse(a) - c / a * ellipse(c)
ax.plot(x[near] / a, theory[near], "k--", lw=0.8, label="Cattaneo")
ax.set(xlabel="$x / a$", ylabel="$p / p_0$,  $|q| / (\\mu p_0)$")
ax.legend(frameon=False)

stick = float(data["sticking_length"]) / (2.0 * a)
print(f"stick {stick:.3f} of the contact, {c / a:.3f} by theory")
print(f"largest pressure {normal.max() / p0:.4f} p0")

# %%
# Pressure and stick zone agree with the theory to the width of an element.
middle = np.abs(x) < 0.5 * a
assert np.abs(normal - p0 * ellipse(a))[middle].max() < 0.03 * p0
assert abs(stick - c / a) < 0.05
assert run.audit.ok
