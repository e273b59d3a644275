r"""
A twisted rod winds around itself
=================================

**Physics.** The ends of a straight rod are closer than its length, and one of them rotates. The rod
winds around itself: its two strands form a double helix, a plectoneme. If the helix is long, the
tension :math:`T` and the moment :math:`M` of the straight parts follow from its lay angle
:math:`\alpha` alone, because the energy is stationary with respect to the length and the angle of
the helix,

.. math::
    M = \frac{2 B \sin^3\alpha \cos\alpha}{a \cos 2\alpha}, \qquad
    T = \frac{B}{a^2} \sin^4\alpha \Big( \frac12 + \frac1{\cos 2\alpha} \Big) ,

with the bending stiffness :math:`B` and the radius :math:`a` of the rod, without friction.

Source: Clauvelin, Audoly and Neukirch (2008), Macromolecules 41, 4479.
"""

# %%
# The model
# ---------
# Lengths are in radii :math:`a` of the rod, moments in :math:`B / a`. The right end makes
# half a turn.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.rods import plectoneme_load

ROD = st.rods.GivenSection(100.0, 100.0, bending=1.0, twist=0.77, outer_radius=1.0)
rod = st.rods.plectoneme(ROD, turns=4.0, tail=20.0, elements=150, twist=np.pi)

# %%
# The law
# -------
# Contact is without friction; nothing holds the strands but their shape.
LAW = st.Coulomb(0.0)

# %%
# Method and solve
# ----------------
# The rod relaxes against drag to its first equilibrium. New contacts form where no equilibrium is
# near the last one: the rod then snaps, and the run lists a `limit_point`.
system = st.rods.Rods([rod], search=st.rods.ContactSearch(LAW))
run = st.solve(system, st.rods.Quasistatic(steps=4), save=3)
assert run.audit.ok
tension, moment = (run.data[name].values[:, 0] for name in ("end_force", "end_moment"))
print(f"{len(run.determinism.losses)} limit points")

# The tension of a long double helix with the computed moment:
angle = np.linspace(0.2, 0.33, 50)
law = np.array([plectoneme_load(a, radius=1.0, bending=1.0) for a in angle])
along = np.interp(moment, law[:, 1], law[:, 0])
print("tension / law:", (tension / along).round(3))
assert np.abs(tension / along - 1.0).max() < 0.06

# %%
# Reading the result
# ------------------
# Left: the rod at the end, with its nodes in contact. Right: tension and moment of the ends, and
# the law. The helix of four turns is so short that its ends change the results by some per cent.
fig, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.6), layout="constrained")
place, closed = run.data["position"].values[-1], run.data["contact_mode"].values[-1] > 0
touches = np.unique(run.data["node_of_contact"].values[closed]) - 1
# the double helix has turned about x by half the angle of the end
far = place[np.argmax(np.hypot(place[:, 1], place[:, 2])), 1:]
outwards = place[:, 1:] @ far / np.hypot(*far)
left.plot(outwards, place[:, 0], lw=3.0, color="0.7")
left.plot(outwards[touches], place[touches, 0], "o", color="C3", ms=3.0)
left.set(xlabel="distance from the ends' axis / a", ylabel="x / a", aspect="equal")
right.plot(law[:, 1], law[:, 0], color="0.5", label="long double helix")
right.plot(moment, tension, "o", color="C0", label="computed")
right.set(xlabel="moment M a / B", ylabel="tension T a$^2$ / B")
right.set(xlim=(0.0, None), ylim=(0.0, None))
right.legend()
