r"""
The stick set is a polytope, not a box
======================================

**Physics.** The chain can stick wherever friction can hold every mass:

.. math:: S(f) = \{x : |b f - K x|_i \le \mu N_i \text{ for all } i\}.

Proposition 1 of the Axioms paper gives one interval per mass, :math:`x_i^* - d_i \le x_i \le
x_i^* + d_i` with

.. math:: x_i^* = f \sum_{l \le i} \frac{1}{k_l}, \qquad
          d_i = \mu g \sum_{l \le i} \frac{1}{k_l} \sum_{j \ge l} m_j .

Each interval is sharp: it is the projection of :math:`S` on one axis. But the product of the three
intervals is a box, and :math:`S`, of volume :math:`\prod 2\mu N_i / \prod k_i`, fills only a small
part of it.

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
# Only the static coefficient matters, because no mass moves.
chain = st.Chain(mass=np.ones(3), stiffness=SPRING, load=st.Constant(FORCE), law=st.Coulomb(mu=MU))

# %%
# Method and solve
# ----------------
# :class:`~stiction.chains.stick_set.StickSet` represents the set.
stick = st.StickSet(chain)
print(stick.projections())
print(f"volume {stick.volume:.4e} m^3, {len(stick.vertices())} vertices")

# %%
# Reading the result
# ------------------
# The figure compares the box of the intervals with the set for the three pairs of masses, and
# shows the state in which a run from zero stops.
run = st.solve(chain, st.EventDriven(), t_span=(0.0, 10.0))
run.plot.stick_set()

# %%
# The box of (29) is too large, and so is the smaller set in which each interval is *conditional*
# on the previous mass, as in the derivation of (15)-(17). A random sample of the box with a seed
# is the second method.
draws = np.random.default_rng(3).uniform(*stick.bounds(), size=(40_000, 3))
inside = np.array([stick.contains(x) for x in draws]).mean()
for mass in ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0]):
    other = st.StickSet(replace(chain, mass=np.array(mass)))
    box = other.projections().box_ratio
    print(f"masses {mass}: box {box:.1f} times the set, ", end="")
    print(f"nested intervals {other.sequence_ratio:.1f} times")
print(f"fraction of the box that sticks: {inside:.5f}, closed form {1.0 / 90.0:.5f}")

centre = FORCE * np.cumsum(1.0 / SPRING)
half = MU * G * np.cumsum(np.array([3.0, 2.0, 1.0]) / SPRING)
assert np.allclose(np.array(stick.bounds()), [centre - half, centre + half], rtol=1e-14)
assert abs(stick.projections().box_ratio - 90.0) < 1e-9
assert abs(stick.sequence_ratio - 6.0) < 1e-12
assert abs(inside - 1.0 / 90.0) < 4.0 * np.sqrt(1.0 / 90.0 / 40_000)

# %%
# A state in all three intervals that is no equilibrium: masses 1 and 2 at the centre, mass 3 half
# way to the end of its interval. Mass 3 would need 3 times its friction bound.
x = centre + np.array([0.0, 0.0, 0.5 * half[2]])
print("margins over the bounds:", stick.margins(x).relative)
moved = st.solve(replace(chain, x0=x), st.EventDriven(), t_span=(0.0, 5.0))
print("it moves by", np.abs(moved.final["x"] - x).max(), "m before it rests")
assert stick.in_intervals(x)
assert not stick.contains(x)
assert np.abs(moved.final["x"] - x).max() > 0.01

# %%
# At every vertex all three masses are at their bounds, and the chain stays there.
for vertex in stick.vertices():
    assert np.allclose(np.abs(stick.drive(vertex)), MU * G, rtol=1e-12)
    rest = st.solve(replace(chain, x0=vertex), st.EventDriven(), t_span=(0.0, 1.0), save=2)
    assert np.abs(rest.final["x"] - vertex).max() < 1e-14
