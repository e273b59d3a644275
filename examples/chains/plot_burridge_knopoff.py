r"""
A line of blocks behind a moving plate: slip events of all sizes
================================================================

**Physics.** Burridge and Knopoff's model of a fault consists of blocks on the ground, connected by
springs. A slowly moving plate pulls each of them through its own spring. Friction weakens with
slip speed. The load on a block grows until it slips, and its slip may trigger that of none, some
or all of the others.

Source: Burridge and Knopoff, Bull. Seism. Soc. Am. 57 (1967) 341.
"""

# %%
# The model
# ---------
# There is no wall; only the plate holds the blocks. Unequal initial positions break the symmetry.
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import stiction as st

# %%
# The law
# -------
# Exponential weakening from 0.1 to 0.05 over 0.1 m/s. The plate is slower than in the built-in
# scenario, so that the events do not overlap.
scenario = st.read_scenario("burridge-knopoff", plate_speed=0.005)
train, method = scenario.system, scenario.method

# %%
# Method and solve
# ----------------
run = st.solve(train, method, t_span=(0.0, 160.0), save=8001)

# %%
# Reading the result
# ------------------
# Grey is stick; every coloured area is one slip event.
run.plot.onset()

# %%
# An event lasts from the first slip until all blocks stick again. Its size is the sum of the slips.
moving = 0
sizes, blocks, total = [], set(), 0.0
before: dict[Any, Any] = {}
for row in run.events.itertuples():
    if row.kind == "slip":
        moving += 1
        blocks.add(row.contact)
        before.setdefault(row.contact, row.x)
    elif row.kind == "stick":
        moving -= 1
        slip = row.x - before.pop(row.contact)
        total += slip
    if moving == 0 and blocks:
        sizes.append((len(blocks), total))
        blocks, total, before = set(), 0.0, {}
count, slip = np.array(sizes).T
print(f"{count.size} slip events; {np.sum(count == 1)} of one block, {np.sum(count == 10)} of all")
print(f"smallest {slip.min():.2e} m, largest {slip.max():.2e} m (sum over the blocks)")

fig, ax = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
ax.hist(count, bins=np.arange(0.5, 11.0).tolist(), color="#0072B2")
ax.set(xlabel="blocks in an event", ylabel="number of events")

# %%
# Second method: in the frame of the plate the ground is a belt that moves backwards. The same
# blocks on a belt must give the same events, although every number in the computation differs. The
# agreement is limited in time, because weakening friction separates neighbouring motions
# exponentially.
speed = train.plate_speed
belt = replace(train, plate_speed=0.0, belt_speed=-speed, v0=-speed)
seen = st.solve(belt, method, t_span=(0.0, 50.0)).events
still = run.events.iloc[: len(seen)]
time, apart = seen["time"].to_numpy(), np.abs(still["time"].to_numpy() - seen["time"].to_numpy())
grown = (apart > 1e-13) & (apart < 1e-3)
rate = np.polyfit(time[grown], np.log10(apart[grown]), 1)[0]
early = time < 30.0
print(f"{early.sum()} mode changes in 30 s; ground and plate agree to {apart[early].max():.1e} s")
print(f"after that rounding grows tenfold every {1.0 / rate:.1f} s")
assert list(still["contact"][early]) == list(seen["contact"][early])
assert list(still["kind"][early]) == list(seen["kind"][early])
assert apart[early].max() < 1e-8
assert run.energy.imbalance_rel < 1e-11
