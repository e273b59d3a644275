r"""
A half hitch locks
==================

**Physics.** A rope makes one turn around a post, and its loaded end crosses over its slack end. So
the load presses the slack end on the post. On the post the tension changes as on a capstan, with
the exponent :math:`\lambda` per angle. With the tension :math:`T_c` beside the crossing, the rope
above presses the one beneath with :math:`N = 2 T_c \sin\varphi`, where it turns by
:math:`2 \varphi`. At slip the load :math:`T_1` and the slack tension :math:`T_0` obey

.. math::
    T_0 = \Big[ T_c e^{-\lambda (2 \pi - \varphi)} - \mu N \frac{R}{R + r} \Big]
    e^{-\lambda \pi / 2}, \qquad T_c = T_1 e^{-\lambda (\pi / 2 - \varphi)} ,

if both ends leave the post a quarter of a turn from the crossing. Where :math:`T_0` is negative,
friction holds every load without a force on the slack end.

Source: Bayman (1977), Am. J. Phys. 45, 185; decision record 41 for the thick rope.
"""

# %%
# The model
# ---------
# Lengths are in radii :math:`R` of the post, forces in units of the load. The slack end moves
# towards the post, so that its tension falls until the rope slips.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.rods import capstan_exponent

RADIUS, BENDING = 0.1, 0.08
post = st.rods.CylinderPartner([0.0, 0.0, -1.0], [0.0, 0.0, 1.0], 1.0)
section = st.rods.GivenSection(2e3, 2e3, bending=BENDING, twist=BENDING, outer_radius=RADIUS)
rope = st.rods.hitch(section, post, load=1.0, slack=0.15, tail=0.5, elements=100)

# %%
# The law
# -------
# Coulomb's law, exactly, between the rope and the post, and between the rope and itself.
MU = 0.3

# %%
# Method and solve
# ----------------
# Friction acts from the given curve on (`settle=False`); without it the hitch would turn around
# the post.
search = st.rods.ContactSearch(st.Coulomb(MU), self_contact=True)
system = st.rods.Rods([rope], search=search, partners=[post])
run = st.solve(system, st.rods.Quasistatic(steps=2, settle=False), save=2)
assert run.audit.ok

# %%
# Reading the result
# ------------------
# Left: the hitch from its front, with its nodes in contact with the rope. Right: the slack tension
# at slip, the equation with the angle of a flexible rope,
# :math:`\cos\varphi = (R + r) / (R + 3 r)`, and the capstan with the same turning. The rope here is
# stiff, so that it turns by more at the crossing.
TURN = 2.0 * np.pi


def slack_tension(mu: float) -> tuple[float, float]:
    """Return T_0 / T_1 of a half hitch of a flexible rope, and of a capstan with its turning."""
    exponent = capstan_exponent(mu, RADIUS / (1.0 + RADIUS))
    phi = np.arccos((1.0 + RADIUS) / (1.0 + 3.0 * RADIUS))
    pinch = 2.0 * mu * np.sin(phi) / (1.0 + RADIUS)
    beside = np.exp(-exponent * (TURN / 4.0 - phi))
    inner = beside * (np.exp(-exponent * (TURN - phi)) - pinch)
    return inner * np.exp(-exponent * TURN / 4.0), np.exp(-exponent * 1.5 * TURN)


fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
x, y, z = run.data["position"].values[-1].T
in_front = np.where(x > 0.0, y, np.nan)
left.axvspan(-1.0, 1.0, color="0.92")
left.plot(in_front, z, color="0.5", lw=3.0)
closed = run.data["contact_mode"].values[-1] > 0
# body 1 is the rope, body 2 the post
touches = run.data["node_of_contact"].values[closed & (run.data["second_body"].values == 1)] - 1
left.plot(y[touches], z[touches], "o", color="C3", ms=4.0)
left.set(xlabel="y / R", ylabel="z / R (axis of the post)", ylim=(-0.6, 0.6))
mus = np.linspace(0.02, 0.32, 40)
law, capstan = np.array([slack_tension(mu) for mu in mus]).T
right.plot(mus, law, color="C0", label="half hitch, flexible rope")
right.plot(mus, capstan, color="0.5", ls="--", label="capstan")
computed = float(run.data["tension"].values[-1, 1])
right.plot(MU, computed, "o", color="C3", label="computed")
right.axhline(0.0, color="k", lw=0.5)
right.set(xlabel="coefficient of friction", ylabel="slack tension / load")
right.legend()

print(f"slack tension / load: {computed:.3f}")
assert abs(computed - slack_tension(MU)[0]) < 0.04
# the slack end must be pushed: the hitch is locked, and a capstan is not
assert computed < 0.0 < capstan[-1]
