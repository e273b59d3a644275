r"""
Map of Lyapunov exponents of two strings
========================================

**Physics.** The paper of Gay-Balmaz and Putkaradze finds chaos "for all initial conditions we have
tried". This example maps the largest Lyapunov exponent over the mobility :math:`G` of the contact
and the distance :math:`s_2 - s_1` of its two positions. These are the only two parameters of equal
strings that start from :math:`u = \sin x, v = 0` and :math:`s_1 = 2`.

Source: Gay-Balmaz and Putkaradze, "Dynamics of elastic rods in perfect friction contact", Phys.
Rev. Lett. (2012), section on contact chaos, with the corrections of the theory page.
"""

# %%
# The model
# ---------
import numpy as np

import stiction as st
from stiction.rods import Sine, breakdown, chaos_map, exponent

strings = st.RollingStrings(s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=5)

# %%
# The law
# -------
# In a regular motion differences grow in proportion to time, and the exponent of a finite run is
# small but not zero. Growth is called exponential if its exponent exceeds twice that of a regular
# motion by three standard errors. `benchmarks/chaos_map.py` computes the large map of the theory
# page.
#
# Method and solve
# ----------------
# Each cell is one run with a neighbouring run that is rescaled repeatedly.
method = st.Characteristics(step=1e-2, check=False)
mobility, apart = np.linspace(0.2, 1.2, 6), np.linspace(0.0, 2.0, 5)
found = chaos_map(strings, list(mobility), list(apart), 150.0, method=method)
print(found)

# %%
# Reading the result
# ------------------
# Colours are exponents, signs are verdicts. Both kinds occur: the claim holds only in a part of
# the map.
assert found.share("regular") > 0.3
assert found.share("exponential") > 0.1
assert (found.verdict[:2] == "regular").all()
found.plot()

# %%
# A section through a regular motion: contacts and their speeds whenever the leading harmonic
# increases through zero. The state is infinite-dimensional, so the section may fill an area too.
weak = st.RollingStrings(G1=0.5, G2=0.5, s1=2.0, s2=2.5, u0=Sine(2, 1.0), nodes=5)
# Its ledger closes to 3e-6 instead of the requested 1e-9, which is enough for a picture.
run = st.solve(weak, method, (0.0, 400.0), save=8001, throw=False)
assert run.energy.imbalance_rel < 1e-5
print(exponent(weak, 150.0, method=method))
run.plot.section()

# %%
# The time of a breakdown depends on rounding and on the steps. An ensemble of runs gives its
# reliable digits.
strong = st.RollingStrings(G1=1.5, G2=1.5, s1=1.0, s2=1.5, u0=Sine(2, 1.0), nodes=5)
when = breakdown(strong, 200.0, steps=(1e-2, 8e-3), perturbations=(0.0, 1e-8))
print(when)
assert when.spread > 1e-3
