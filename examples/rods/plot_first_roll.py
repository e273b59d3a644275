r"""
Two strings in rolling contact
==============================

**Physics.** Two stretched strings cross with one contact point. The first is released from the
shape :math:`\sin x`, the second is undeformed. At the contact they roll without slip: their
velocities agree there, and the contact point moves along both. The contact force does no work, so
energy is conserved, but it is transferred from one string to the other.

The contact force has no potential. It follows from the rolling condition alone, with the velocity
at a point force defined as the mean of its one-sided values.

Source: Gay-Balmaz and Putkaradze, "Dynamics of elastic rods in perfect friction contact", Phys.
Rev. Lett. (2012), equations (16) to (19), as corrected on the theory page.
"""

# %%
# The model
# ---------
# Both strings have length :math:`2\pi`, fixed ends and wave speed 1; sin x is their second mode.
# In the first pair the contact starts at the same position of both, in the second it does not.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.strings import first_harmonics_sum, symmetric_contact
from stiction.rods import Sine

same = st.RollingStrings(G1=1.0, G2=1.0, s1=2.0, s2=2.0, u0=Sine(2, 1.0))
apart = st.RollingStrings(G1=0.5, G2=0.5, s1=2.0, s2=2.5, u0=Sine(2, 1.0))

# %%
# The law
# -------
# Rolling: :math:`\langle u_t\rangle = F \langle v_t\rangle` with F = 1, and the contact moves at
# :math:`G \langle u_t\rangle` along u.
print(f"F = {same.F}, contact moves at {same.G1} and {apart.G1} times the velocity of the strings")

# %%
# Method and solve
# ----------------
# The method integrates waves along their characteristics, without a mesh. A second method, strands
# coupled by a bump of finite width, shares no code with it.
exact = st.Characteristics(step=1e-3, check=False)
TIMES = np.linspace(0.0, 20.0, 401)
run = st.solve(same, exact, (0.0, 20.0), save=TIMES)
other = st.solve(apart, exact, (0.0, 20.0), save=TIMES)
bump = st.solve(apart, st.rods.BumpStrands(bump_width=0.03), (0.0, 20.0), save=TIMES)
print(run)

# %%
# Reading the result
# ------------------
# The motion of the first string, with the contact in red, where the waves have a kink.
fig, axes = plt.subplots(1, 3, figsize=(8.0, 3.0), layout="constrained")
field = axes[0].pcolormesh(
    run.data["x"], TIMES, run.data["u"], cmap="RdBu", vmin=-1.0, vmax=1.0, rasterized=True
)
axes[0].plot(run.data["s1"], TIMES, color="tab:red", lw=1.5)
axes[0].set(xlabel="x [1]", ylabel="time [1]", title="u, same place")
fig.colorbar(field, ax=axes[0])
axes[1].plot(TIMES, run.data["s1"], label="same place")
axes[1].plot(TIMES, other.data["s1"], label="apart")
axes[1].plot(TIMES, bump.data["s1"], "k:", label="apart, bump")
axes[1].set(xlabel="time [1]", ylabel="contact on u [1]")
axes[1].legend(fontsize="x-small")
axes[2].plot(TIMES, run.data["energy_u"], label="u")
axes[2].plot(TIMES, run.data["energy_v"], label="v")
axes[2].plot(TIMES, run.data["energy_u"] + run.data["energy_v"], "k", label="both")
axes[2].set(xlabel="time [1]", ylabel="energy [1]")
axes[2].legend(fontsize="x-small")

# %%
# If the contact starts at the same position of both strings, its path has a closed form: it is
# periodic. The sum of the strings does not depend on the contact.
error = np.abs(run.data["s1"] - symmetric_contact(TIMES, 2.0, 1.0)).max().item()
drift = np.abs(run.data["u1"] + run.data["v1"] - first_harmonics_sum(TIMES)).max().item()
print(f"contact against its closed form: {error:.1e}; u1 + v1 against cos t: {drift:.1e}")
assert error < 1e-9
assert drift < 1e-8

# %%
# Energy is transferred between the strings and none is lost.
closed = run.energy.imbalance_rel, other.energy.imbalance_rel
print(f"ledger closes to {closed[0]:.1e} and {closed[1]:.1e} of its size")
assert max(closed) < 1e-7
assert run.data["energy_v"].max() > 0.3 * run.data["energy_u"][0]

# %%
# The bump has a delay of its width over the wave speed relative to the point contact: an error of
# first order.
far = np.abs(bump.data["s1"] - other.data["s1"]).max().item()
print(f"a bump of width 0.03 changes the path by {far:.1e}")
assert 1e-3 < far < 1e-2
