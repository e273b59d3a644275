r"""
A net of rods with slipping crossings
=====================================

**Physics.** Rods woven over and under each other press at every crossing. The net gets an initial
velocity like a drum. All contacts are coupled, because a force at one crossing accelerates the
rods at the next. The state of each, rolling, slipping or open, depends on all others. The example
shows where a net slips, and compares declared contacts with those found by a search.

Source: formulas sheet of the rods paper, section 4 (several contacts, beyond the paper).
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

NUMBER = 4


def net(mu, found=False):
    """Return a woven net, 10 % stretched, whose middle starts at 1 m/s."""
    law = None if mu is None else st.Coulomb(mu)
    return st.rods.RodNet(NUMBER, NUMBER, throw=1.0, friction=law, found=found)


# %%
# The law
# -------
# Without a law contacts roll under any force; 0.3 is rubber on steel, 0.05 is greased.
laws = (None, 0.3, 0.05)

# %%
# Method and solve
# ----------------
runs = {mu: st.solve(net(mu), t_span=(0.0, 0.2), save=201) for mu in laws}
searched = st.solve(net(0.3, found=True), t_span=(0.0, 0.2), save=201)

# %%
# Reading the result
# ------------------
greased = runs[0.05]
slips = (greased.data.contact_mode.values == 2).mean(axis=0).reshape(NUMBER, NUMBER)
fig, axes = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained")
position, rod = greased.data.position.values[-1], greased.data.rod_of_node.values
for b in np.unique(rod):
    axes[0].plot(*position[rod == b][:, :2].T, color="C0" if b <= NUMBER else "C1", lw=1.5)
axes[0].set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
image = axes[1].imshow(slips, origin="lower", vmin=0.0)
axes[1].set(title="part of the time in slip", xlabel="column", ylabel="row")
fig.colorbar(image, ax=axes[1])
for mu, run in runs.items():
    heat = run.energy.friction_heat.sum(axis=1)
    axes[2].plot(run.time, 1e3 * heat, label="rolls" if mu is None else f"mu = {mu}")
    press = -run.data.lambda_n.values
    print(f"mu = {mu}: {run.stats['events']} events, heat {1e3 * heat[-1]:.4f} mJ, ", end="")
    print(f"normal forces {press.min():.2f} to {press.max():.2f} N")
axes[2].set(xlabel="time [s]", ylabel="friction heat [mJ]")
axes[2].legend(fontsize="small")

# %%
# Checks: rolling dissipates nothing, less friction dissipates more; found contacts give the same
# motion as declared ones.
apart = np.abs(searched.data.position.values - runs[0.3].data.position.values).max()
moved = np.ptp(runs[0.3].data.position.values[:, :, 2], axis=0).max()
print(f"found and declared: positions differ by {apart:.1e} m, the net moves by {moved:.3f} m")
heats = [run.energy.friction_heat[-1].sum() for run in runs.values()]
for run in (*runs.values(), searched):
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-3
assert abs(heats[0]) < 1e-12
assert heats[2] > heats[1] + 1e-3 > 1e-3 - 1e-12
assert apart < 1e-3 * moved
assert np.isfinite(searched.data.gap.values[1:]).sum(axis=1).max() == NUMBER**2
