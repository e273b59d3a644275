r"""
The stick set is a polytope, not a box
======================================

**Physics.** The chain can rest wherever friction holds every mass:

.. math:: S(f) = \{x : |b f - K x|_i \le \mu N_i \text{ for all } i\}.

Proposition 1 of the Axioms paper gives one interval per mass, :math:`x_i^* - d_i \le x_i \le
x_i^* + d_i` with

.. math:: x_i^* = f \sum_{l \le i} \frac{1}{k_l}, \qquad
          d_i = \mu g \sum_{l \le i} \frac{1}{k_l} \sum_{j \ge l} m_j .

Each interval is sharp: it is the shadow of :math:`S` on one axis. But the three intervals
together are a box, and :math:`S`, of volume :math:`\prod 2\mu N_i / \prod k_i`, fills only a
small part of it.

Source: Axioms 14(4) 299, Proposition 1, Fig. 2 and the intervals (29).
"""

# %%
# The model
# ---------
from dataclasses import replace

import numpy as np

import stiction as st

MU, G, FORCE = 0.05, 9.81, 10.0
SPRING = np.full(3, 20.0)

# %%
# The law
# -------
# Only the static coefficient matters: nobody moves.
chain = st.Chain(mass=np.ones(3), stiffness=SPRING, load=st.Constant(FORCE), law=st.Coulomb(mu=MU))

# %%
# Method and solve
# ----------------
# :class:`~stiction.chains.stick_set.StickSet` is the set as an object.
stick = st.StickSet(chain)
print(stick.projections())
print(f"volume {stick.volume:.4e} m^3, {len(stick.vertices())} vertices")

# %%
# Reading the result
# ------------------
# The box of the intervals against the set itself, for the three pairs of masses, and the state in
# which a run from zero comes to rest.
run = st.solve(chain, st.EventDriven(), t_span=(0.0, 10.0))
run.plot.stick_set()

# %%
# How much too large are the intervals? The box of (29), and the smaller set in which each interval
# is taken *given* the mass before, as in the derivation of (15)-(17). A seeded sample of the box is
# the second method.
draws = np.random.default_rng(3).uniform(*stick.corners(), size=(40_000, 3))
inside = np.array([stick.contains(x) for x in draws]).mean()
for mass in ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0]):
    other = st.StickSet(replace(chain, mass=np.array(mass)))
    box = other.projections().box_ratio
    print(f"masses {mass}: box {box:.1f} times the set, ", end="")
    print(f"nested intervals {other.sequence_ratio:.1f} times")
print(f"share of the box that sticks: {inside:.5f}, closed form {1.0 / 90.0:.5f}")

centre = FORCE * np.cumsum(1.0 / SPRING)
half = MU * G * np.cumsum(np.array([3.0, 2.0, 1.0]) / SPRING)
assert np.allclose(np.array(stick.corners()), [centre - half, centre + half], rtol=1e-14)
assert abs(stick.projections().box_ratio - 90.0) < 1e-9
assert abs(stick.sequence_ratio - 6.0) < 1e-12
assert abs(inside - 1.0 / 90.0) < 4.0 * np.sqrt(1.0 / 90.0 / 40_000)

# %%
# A state in all three intervals that does not rest: masses 1 and 2 at the centre, mass 3 half way
# to the end of its interval. Friction would have to hold mass 3 with 3 times what it can.
x = centre + np.array([0.0, 0.0, 0.5 * half[2]])
print("margins over the bounds:", stick.margins(x).relative)
moved = st.solve(replace(chain, x0=x), st.EventDriven(), t_span=(0.0, 5.0))
print("it moves by", np.abs(moved.final["x"] - x).max(), "m before it rests")
assert stick.in_intervals(x)
assert not stick.contains(x)
assert np.abs(moved.final["x"] - x).max() > 0.01

# %%
# And one vertex after the other: at every vertex all three masses are at their bounds, and the
# chain stays where it is put.
for vertex in stick.vertices():
    assert np.allclose(np.abs(stick.drive(vertex)), MU * G, rtol=1e-12)
    rest = st.solve(replace(chain, x0=vertex), st.EventDriven(), t_span=(0.0, 1.0), save=2)
    assert np.abs(rest.final["x"] - vertex).max() < 1e-14
