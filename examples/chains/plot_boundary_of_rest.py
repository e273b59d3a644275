r"""
The boundary of the stick set: one-sided stability and the vertex of simultaneous slip
======================================================================================

**Physics.** In an equilibrium on the boundary of the stick set one mass has reached its friction
bound. A mass displaced into the set stays there. The Axioms paper calls such a state "stable and
attracting" from the outside. It is stable, but it attracts only with strong dampers. Otherwise a
mass 3 displaced outwards oscillates about the *boundary point* and stops at its first turning
point, inside the set,

.. math:: \delta \;\to\; -\delta\, e^{-\pi\zeta/\sqrt{1-\zeta^2}}, \qquad
          \zeta = \frac{c}{2\sqrt{k m}},

and with :math:`\zeta \ge 1` it creeps towards the boundary without reaching it.

The paper also says that at the *right* ends of the three intervals any increase of the force moves
all masses at once. With :math:`R = b f - K x` the right ends have :math:`R_i = -\mu N_i`, so an
increase moves every mass *away* from its bound. The statement holds at the lower vertex.

Source: Axioms 14(4) 299, section 3 (stability) and section 5 (slip initiation).
"""

# %%
# The model
# ---------
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

import stiction as st

MU, G, FORCE, SPRING = 0.05, 9.81, 10.0, 20.0

# %%
# The law
# -------
law = st.Coulomb(mu=MU)
chain = st.Chain(mass=np.ones(3), stiffness=SPRING, load=st.Constant(FORCE), law=law)

# %%
# Method and solve
# ----------------
# A boundary state: every spring carries :math:`f + \mu N`, so mass 3 is at its bound and the other
# two carry no friction. Mass 3 is displaced by 1 mm in both directions.
edge = np.cumsum(np.full(3, (FORCE + MU * G) / SPRING))
shift, ends = 1e-3, {}
for damping in (0.0, 1.0, 20.0):
    for delta in (shift, -shift):
        start = edge + np.array([0.0, 0.0, delta])
        run = st.solve(replace(chain, damping=damping, x0=start), t_span=(0.0, 6.0))
        ends[damping, delta] = run.final["x"] - edge
        side = "outside" if delta > 0.0 else "inside"
        print(f"c = {damping:4.1f}: {1e3 * delta:+.1f} mm ({side}) ends at", end=" ")
        print(f"{1e3 * ends[damping, delta][2]:+.6f} mm, events {len(run.events)}")

# %%
# Reading the result
# ------------------
fig, ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")
for damping in (0.0, 1.0, 20.0):
    start = edge + np.array([0.0, 0.0, shift])
    run = st.solve(replace(chain, damping=damping, x0=start), t_span=(0.0, 6.0))
    ax.plot(run.time, 1e3 * (run.data["x"][:, 2] - edge[2]), label=f"c = {damping:g} N s/m")
ax.axhspan(-1.2, 0.0, color="#eeeeee")
ax.text(5.9, -0.15, "stick set", ha="right", va="top")
ax.set(xlabel="time [s]", ylabel="mass 3 from the boundary [mm]", ylim=(-1.2, 1.2))
ax.legend(loc="upper right")

# %%
# Checks: displaced inwards the mass stays; displaced outwards it ends at the position of the
# closed form.
zeta = 1.0 / (2.0 * np.sqrt(SPRING * 1.0))
overshoot = np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2))
assert all(np.allclose(ends[c, -shift], [0.0, 0.0, -shift], atol=1e-15) for c in (0.0, 1.0, 20.0))
assert abs(ends[0.0, shift][2] + shift) < 1e-12
assert abs(ends[1.0, shift][2] + shift * overshoot) < 1e-12
assert 0.0 < ends[20.0, shift][2] < 2e-3 * shift

# %%
# Now the vertices. Start at the lower and at the upper end of all three intervals and raise the
# load by 0.05 N/s.
centre = FORCE * np.cumsum(np.full(3, 1.0 / SPRING))
half = MU * G * np.cumsum(np.array([3.0, 2.0, 1.0]) / SPRING)
rise = {}
for name, vertex in (("lower", centre - half), ("upper", centre + half)):
    pulled = replace(chain, x0=vertex, load=st.Ramp(rate=0.05, start=FORCE))
    run = st.solve(pulled, t_span=(0.0, 62.0))
    rise[name] = np.array(run.quantities["onset_force"].value) - FORCE
    print(f"{name} vertex: masses 1, 2, 3 slip after an increase of", rise[name], "N")
    slow = pulled.critical_force()
    assert slow is not None  # known in closed form for a chain on a wall
    print("   slowly rising load, closed form:", slow - FORCE, "N")

# %%
# :meth:`StickSet.launch <stiction.chains.stick_set.StickSet.launch>` gives the same vertex, and
# :meth:`StickSet.stability <stiction.chains.stick_set.StickSet.stability>` the response to a
# displacement.
stick = st.StickSet(chain)
print("launch vertex for a rising load:", stick.launch().vertex)
print("pushed to the right, masses 1, 2, 3:", *stick.stability(edge).right, sep="; ")
assert stick.launch().vertex == "lower"
assert stick.stability(edge).right[2] == "slips back"

# %%
# From the lower vertex all three masses slip at the first increase. From the upper one no mass
# slips until the load has grown by :math:`2 \mu g m_3`, and mass 1 needs three times that.
assert np.all(rise["lower"] == 0.0)
assert abs(rise["upper"][2] - 2.0 * MU * G) < 1e-12
assert np.allclose(rise["upper"], 2.0 * MU * G * np.array([3.0, 2.0, 1.0]), rtol=6e-3)
