r"""
Three masses that come to rest in finite time
=============================================

**Physics.** Three masses on a rail, joined by springs, are pulled by a constant force. They
swing, and every swing loses energy to dry friction until all of them stick for good. Unlike
viscous damping, friction does this in finite time.

Source: Axioms 14(4) 299, Table 1 and Figs. 3 and 4. The numbers of Table 1 are lost in the text
of the paper; the values here are our own.
"""

# %%
# The model
# ---------
# Mass 1 hangs on the wall and mass 3 carries the load.
import numpy as np

import stiction as st
from stiction.exact import chains as exact

MU, FORCE, SPRING = 0.05, 10.0, 20.0

# %%
# The law
# -------
# Coulomb friction with one coefficient, taken as a set: a mass at rest feels *any* force up to
# :math:`\mu N`, whatever is needed to keep it there.
law = st.Coulomb(mu=MU)
chain = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=SPRING, load=st.Constant(FORCE), law=law)

# %%
# Method and solve
# ----------------
# :class:`~stiction.methods.EventDriven` finds every change between stick and slip as
# the root of a power series. There is no step to choose and no smoothing.
run = st.solve(chain, st.EventDriven(), t_span=(0.0, 10.0))
print(run)

# %%
# Reading the result
# ------------------
# The grey bars show who sticks. From the stop on, all three do, and the state no longer changes.
run.plot.motion()

# %%
# The phase planes end on a segment of the axis, not in a point: this is the continuum of rest
# states.
run.plot.phase()

# %%
# The ledger: the load puts work in, friction turns it into heat, and nothing is left over.
run.plot.energy()

# %%
# Three checks that use nothing of the method. At rest no drive exceeds its bound. The heat is
# the friction force times the path. Under a constant load the energies at rest follow from the
# final displacements alone.
stop = run.quantities["stop_time"].value
x_end = run.final["x"]
drive = FORCE * np.array([0.0, 0.0, 1.0]) - chain.stiffness_matrix() @ x_end
print(f"all masses stick from t = {stop:.9f} s; drive / bound =", drive / (MU * 9.81))
assert np.all(np.abs(drive) <= MU * 9.81)
assert np.all(run.final["v"] == 0.0)

# turning points of x lie at the events, so the path follows from the event table alone
events = run.events
for mass in (1, 2, 3):
    visited = events.loc[events["contact"] == mass, "x"].to_numpy()
    path = np.abs(np.diff(visited, prepend=0.0)).sum()
    heat = float(run.ledger["friction_heat_each"].sel(contact=mass)[-1])
    print(f"mass {mass}: path {path:.6f} m, heat {heat:.9f} J, mu N path {MU * 9.81 * path:.9f} J")
    assert abs(heat - MU * 9.81 * path) < 1e-12 * heat

stored, work, heat = exact.energies_at_rest(x_end, np.full(3, SPRING), FORCE)
last = run.ledger.isel(time=-1)
for name, value in (("stored", stored), ("external_work", work), ("friction_heat", heat)):
    print(f"{name:14s} ledger {float(last[name]):.12f} J, closed form {value:.12f} J")
    assert abs(float(last[name]) - value) < 1e-12 * work
