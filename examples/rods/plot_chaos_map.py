r"""
The map that judges the chaos of strings
========================================

**Physics.** The paper of Gay-Balmaz and Putkaradze finds chaos "for all initial conditions we
have tried". The answer is a map: the largest Lyapunov exponent over the mobility :math:`G` of the
contact and the distance :math:`s_2 - s_1` of its two places, the only two numbers that equal
strings started from :math:`u = \sin x, v = 0` and :math:`s_1 = 2` have.

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
# A regular motion lets differences grow in proportion to time. What grows at more than twice that
# rate, by three errors of the exponent, is called exponential.
# `benchmarks/chaos_map.py` makes the large map of the theory page.
#
# Method and solve
# ----------------
# Each cell is one run with a neighbour that is brought back to it again and again.
method = st.Characteristics(step=1e-2, check=False)
mobility, apart = np.linspace(0.2, 1.2, 6), np.linspace(0.0, 2.0, 5)
found = chaos_map(strings, list(mobility), list(apart), 150.0, method=method)
print(found)

# %%
# Reading the result
# ------------------
# Colours are exponents, signs are verdicts. Both kinds are there: the claim holds in one part of
# the map only.
assert found.share("regular") > 0.3
assert found.share("exponential") > 0.1
assert (found.verdict[:2] == "regular").all()
found.plot()

# %%
# A section through a regular motion: contacts and their speeds whenever the lead harmonic rises
# through zero. The state has infinitely many numbers, so that it may fill an area too.
weak = st.RollingStrings(G1=0.5, G2=0.5, s1=2.0, s2=2.5, u0=Sine(2, 1.0), nodes=5)
# Its ledger closes to 3e-6, far from the 1e-9 that is asked for, and is enough for a picture.
run = st.solve(weak, method, (0.0, 400.0), save=8001, throw=False)
assert run.energy.imbalance_rel < 1e-5
print(exponent(weak, 150.0, method=method))
run.plot.section()

# %%
# Close to a breakdown the time of it depends on rounding and on steps. An ensemble says what may
# be printed.
strong = st.RollingStrings(G1=1.5, G2=1.5, s1=1.0, s2=1.5, u0=Sine(2, 1.0), nodes=5)
when = breakdown(strong, 200.0, steps=(1e-2, 8e-3), nudges=(0.0, 1e-8))
print(when)
assert when.spread > 1e-3
