r"""
Test for chaos in the contact of two strings
============================================

**Physics.** The waves on two strings in rolling contact are linear; only the motion of their
contact is nonlinear. The paper of Gay-Balmaz and Putkaradze finds chaos for all tested initial
conditions. Chaos means that two motions with nearby starts separate exponentially, until their
distance has the size of the motion. A spectrum with many lines is no proof, because a
quasi-periodic motion has many lines too.

Three pairs of strings are compared. In the first pair the contact starts at the same position of
both strings. In the second it starts at two positions, with weak coupling of the contact to the
velocity, and in the third with strong coupling.

Source: Gay-Balmaz and Putkaradze, "Dynamics of elastic rods in perfect friction contact", Phys.
Rev. Lett. (2012), section on contact chaos and Fig. 2, with the corrections of the theory page.
"""

# %%
# The model
# ---------
# All three start from :math:`u = \sin x`, :math:`v = 0`, with fixed ends.
import dataclasses

import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact.strings import symmetric_contact
from stiction.rods import Sine
from stiction.rods.strings.growth import growth, spectrum

same = st.RollingStrings(G1=1.0, G2=1.0, s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=41)
weak = dataclasses.replace(same, G1=0.5, G2=0.5, s2=2.5)
strong = dataclasses.replace(same, s2=3.5)
cases = {"same place": same, "weak": weak, "strong": strong}

# %%
# The law
# -------
# For equal strings the distance of the contact points is constant. Any complicated motion depends
# on this distance.
print({name: round(strings.s2 - strings.s1, 3) for name, strings in cases.items()})

# %%
# Method and solve
# ----------------
# Each pair is solved twice, the second time with s2 changed by 1e-7.
END = 120.0
TIMES = np.linspace(0.0, END, 1201)
method = st.Characteristics(step=1e-3, check=False)
# The ledger of the chaotic pair closes to 3e-7 instead of the requested 1e-9.
runs = {name: st.solve(s, method, (0.0, END), save=TIMES, throw=False) for name, s in cases.items()}
assert all(run.energy.imbalance_rel < 1e-6 for run in runs.values())
parted = {name: growth(s, END, method=method, saves=241) for name, s in cases.items()}
for name, grown in parted.items():
    print(f"{name}: {grown}")

# %%
# Reading the result
# ------------------
# Left: the distance of the two motions of each pair. Right: the spectrum of the coefficient of sin
# x. The dotted line is that of a free string.
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for name, grown in parted.items():
    axes[0].semilogy(grown.time, grown.distance / grown.distance[0], label=name)
    found = spectrum(runs[name])
    axes[1].semilogy(found.omega, found.density, lw=0.8, label=name)
axes[0].set(xlabel="time [1]", ylabel="distance over the first [1]")
axes[1].axvline(1.0, color="k", ls=":", label="free string")
axes[1].set(xlabel="angular frequency [1]", ylabel="density of u1 [1]", xlim=(0.0, 8.0))
axes[1].set_ylim(1e-9, 1e2)
axes[0].legend(fontsize="x-small")
axes[1].legend(fontsize="x-small")

# %%
# Equal positions: periodic, by the closed form. There is no chaos for any coupling.
error = np.abs(runs["same place"].data["s1"] - symmetric_contact(TIMES, 2.0, 1.0)).max().item()
print(f"equal positions: the contact follows its closed form to {error:.1e}")
assert error < 1e-8

# %%
# Weak coupling: the distance grows in proportion to time, as in a quasi-periodic motion whose
# frequencies depend on the start.
grown = parted["weak"]
print(f"weak: distance ~ t^{grown.power:.2f}, a factor {grown.factor:.3g} until t = {END:g}")
assert 0.5 < grown.power < 1.5
assert grown.factor < 20.0

# %%
# Strong coupling: the distance grows by a factor of four to five in every forty units of time.
# This is exponential growth, an indication of chaos, although a high power of t fits this interval
# nearly as well. Later the contact becomes faster than the waves, and the model breaks down.
grown = parted["strong"]
ratio = [np.interp(t, grown.time, grown.distance) / grown.distance[0] for t in (40.0, 80.0, 120.0)]
print("strong: factors at t = 40, 80, 120:", [f"{value:.3g}" for value in ratio])
assert grown.rate > 0.02
assert ratio[2] > 50.0 > parted["weak"].factor

# %%
# Both have spectra with many lines next to the free one, so lines do not distinguish them.
fractions = {name: spectrum(run).share_of_line for name, run in runs.items()}
print("fraction of the power in the free line:", {k: round(v, 2) for k, v in fractions.items()})
assert fractions["weak"] < 0.9
