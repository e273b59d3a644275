r"""
Hertz contact of two deformable cylinders
=========================================

**Physics.** Two elastic cylinders touch along a strip. Hertz found its half width and the pressure
in it for half spaces: $a^2 = 4 P R / (\pi E^*)$ and $p = p_0 \sqrt{1 - x^2 / a^2}$ with
$p_0^2 = P E^* / (\pi R)$. The two moduli and the two radii enter only through $E^*$ and $R$. Here
one body is four times as stiff as the other and has five times its radius, and the meshes do not
match.

Source: Johnson, Contact Mechanics (1985), section 4.2; the method, Puso and Laursen, Comput.
Methods Appl. Mech. Eng. 193 (2004) 601.
"""

# %%
# The model
# ---------
# The right halves of both bodies. Lengths are in units of about the half width: bodies extend over
# 16 half widths. Faces are parabolas, as in the closed form.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction import solids as so

NU, YOUNG, RADII, SIZE = 0.3, (4.0, 1.0), (3000.0, 600.0), 16.0
both = 1.0 / ((1.0 - NU**2) * sum(1.0 / e for e in YOUNG))
radius = 1.0 / sum(1.0 / r for r in RADII)


def half(up, curved, fine, lift=0.0):
    """Return half a cylinder, fine where it touches."""
    inner = np.linspace(0.0, 1.6, fine + 1)
    x = np.concatenate([inner, 1.6 * (SIZE / 1.6) ** np.linspace(0.0, 1.0, 13)[1:]])
    y = np.concatenate([inner, 1.6 * (SIZE / 1.6) ** np.linspace(0.0, 1.0, 11)[1:]])

    def mapping(s, t):
        across = np.interp(s, np.linspace(0.0, 1.0, x.size), x)
        deep = np.interp(t if up else 1.0 - t, np.linspace(0.0, 1.0, y.size), y)
        face = (1.0 - deep / SIZE) * across**2 / (2.0 * curved)
        return across, lift + deep + face if up else -deep - face

    return so.block(mapping, (x.size - 1, y.size - 1))


# %%
# The law
# -------
# Stiff contact without tension and without friction: a wall, stiff enough to limit penetration,
# but compliant enough that nonmatching meshes do not lock.
peak = both / (2.0 * radius)
trial = st.LennardJones.from_strength(10.0 * peak, 1e-3 * peak, adhesive=False)
steep = abs(float(trial.stiffness(0.99999 * trial.gap_eq))) / (100.0 * both)
law = st.LennardJones.from_strength(10.0 * peak, 1e-3 * peak * steep, adhesive=False)

# %%
# Method and solve
# ----------------
# `passes="mortar"`: one energy, integrated over segments of both meshes. The prescribed approach
# is that of two half planes, for a half width of about one.
bodies = [
    so.Body(half(True, RADII[0], 16, law.gap_eq), so.Q1N2(), so.LinearElastic(YOUNG[0], NU)),
    so.Body(half(False, RADII[1], 20), so.Q1N2(), so.LinearElastic(YOUNG[1], NU)),
]
faces = so.Boundary(0, "bottom"), so.Boundary(1, "top")
axes = [so.Fixed(so.Boundary(i, "left"), (0,)) for i in (0, 1)]
deep = (2.0 * np.log(2.0 * SIZE) - NU / (1.0 - NU)) / (4.0 * radius)
system = so.Solid(
    bodies,
    [so.Contact(*faces, law, st.laws.Frictionless(), passes="mortar")],
    [
        so.Driven(so.Boundary(0, "top"), 1, so.Program((0, 1), (0, -deep))),
        so.Fixed(so.Boundary(1, "bottom"), (1,)),
        *axes,
    ],
    dimensionless=True,
)
run = st.solve(system, st.solids.Quasistatic(steps=2), (0.0, 1.0))
print(run)

# %%
# Reading the result
# ------------------
# The force gives the half width and pressure of Hertz. The computed half width is that of the
# second moment, a^2 / 4; the remaining error comes from the finite size of the bodies and from the
# finite stiffness of the wall.
force = 2.0 * run.data["force_y"].values[-1]
a = np.sqrt(4.0 * abs(force) * radius / (np.pi * both))
p0 = np.sqrt(abs(force) * both / (np.pi * radius))
x, p = (run.data[name].values[-1] for name in ("surface_x", "normal_traction"))
width = 2.0 * np.sqrt(np.sum(p * x**2) / np.sum(p))
fig, ax = plt.subplots(figsize=(5.0, 3.2), layout="constrained")
line = np.linspace(0.0, a, 400)
ax.plot(line / a, np.sqrt(1.0 - (line / a) ** 2), "k-", lw=0.8, label="Hertz")
ax.plot(x / a, p / p0, ".", ms=4, label="two bodies, means of cells")
ax.set(xlim=(0.0, 1.3), xlabel="place [half width]", ylabel="pressure [peak of Hertz]")
ax.legend(fontsize="small")

centre = p[x < 0.2 * a].mean() / p0 / np.sqrt(1.0 - (x[x < 0.2 * a] / a) ** 2).mean()
print(f"half width {width / a:.5f} and peak {centre:.5f} of Hertz's, a = {a:.3f}")
balance = {check.check: check.value for check in run.audit.checks}["two_half_pass_balance"]
assert abs(width / a - 1.0) < 5e-3
assert abs(centre - 1.0) < 5e-3
assert balance == 0.0
