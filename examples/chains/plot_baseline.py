r"""
Three masses that stop in finite time
=====================================

**Physics.** A constant force pulls three masses on a rail, connected by springs. They oscillate,
and dry friction dissipates energy until all of them stick for good. Unlike viscous damping,
friction does this in finite time.

Source: Axioms 14(4) 299, Table 1 and Figs. 3 and 4. The numbers of Table 1 are missing in the
available text of the paper; we chose these values.
"""

# %%
# The model
# ---------
# Mass 1 is connected to the wall, and the load acts on mass 3.
import numpy as np

import stiction as st
from stiction.exact import chains as exact

MU, FORCE, SPRING = 0.05, 10.0, 20.0

# %%
# The law
# -------
# Set-valued Coulomb friction with one coefficient: the friction force on a mass in stick is *any*
# force up to :math:`\mu N`, as required by equilibrium.
law = st.Coulomb(mu=MU)
chain = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=SPRING, load=st.Constant(FORCE), law=law)

# %%
# Method and solve
# ----------------
# :class:`~stiction.methods.EventDriven` locates every change between stick and slip as the root of
# a power series. There is no step size to choose and no smoothing.
run = st.solve(chain, st.EventDriven(), t_span=(0.0, 10.0))
print(run)

# %%
# Reading the result
# ------------------
# The grey bars show which masses stick. From the stop on, all three stick, and the state is
# constant.
run.plot.motion()

# %%
# The phase planes end on a segment of the axis, not at a point: equilibria form a continuum.
run.plot.phase()

# %%
# The ledger: friction dissipates the work of the load, and nothing remains.
run.plot.energy()

# %%
# Three checks are independent of the method. In equilibrium no drive exceeds its bound. The heat
# is the friction force times the path. Under a constant load the final energies follow from the
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
