r"""
Thousands of masses converge to a rod
=====================================

**Physics.** Divide a rod with dry friction into more and more masses and pull its end with a
sudden force. The rod has a closed form: behind the front at :math:`s = c t` all points move with
*one* velocity, which friction reduces linearly,

.. math:: u_t = \frac{f c}{EA} - \frac{\mu g t}{2}, \qquad
          u = \frac{f}{EA}(ct - s) - \frac{\mu g}{4c^2}\left(c^2t^2 - s^2\right), \quad s < ct .

How many masses are needed? The theta scheme with exact friction costs O(n) per step, for any
number of events, so thousands of masses are feasible.

Source: Axioms 14(4) 299, section 10, names the rod as future work; the solution is derived in
:func:`stiction.exact.chains.rod_step`.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact

TIME, SPEED = 0.08, 10.0

# %%
# The law
# -------
# Coulomb friction, 0.3, on a rod of 1 kg, 1 m and 100 N/m in total, pulled by 4 N.


def rod(s):
    """Return displacement and velocity of the rod at the end of the runs."""
    return exact.rod_step(TIME, s, 4.0, 0.3, weight=9.81, line_mass=1.0, wave_speed=SPEED)


# %%
# Method and solve
# ----------------
# Two steps per link and wave; theta = 0.6 damps the vibration of single masses behind the front,
# which the rod does not have.
counts = (62, 250, 1000, 4000)
runs = {
    n: st.solve(
        st.read_scenario(
            "detachment-wave", n=n, mass=1.0 / n, stiffness=100.0 * n, spacing=1.0 / n
        ).system,
        st.ThetaStepper(step=0.5 / (n * SPEED), theta=0.6),
        t_span=(0.0, TIME),
        save=2,
    )
    for n in counts
}

# %%
# Reading the result
# ------------------
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
errors = []
for n, run in runs.items():
    s = (n - np.arange(1, n + 1)) / n
    u, v = rod(s)
    errors.append(np.abs(run.final["x"] - u).max())
    axes[0].plot(s, run.final["v"], lw=1, label=f"n = {n}")
    slips = int((run.final["v"] != 0.0).sum())
    print(f"n = {n:5d}: {run.stats['steps']:5d} steps, {run.stats['events']:6d} events, ", end="")
    print(f"{slips} masses slip, error of u {errors[-1]:.2e} m of {u.max():.3f} m")
s = np.linspace(0.0, 1.0, 201)
axes[0].plot(s, rod(s)[1], "k--", lw=1, label="rod")
axes[0].set(xlabel="distance from the load [m]", ylabel="velocity [m/s]")
axes[0].legend(fontsize="small")
axes[1].loglog(counts, errors, "o-")
axes[1].set(xlabel="number of masses", ylabel="largest error of u [m]")

# %%
# Checks: the displacement converges to that of the rod, and energy closes in every run.
order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
print(f"the error falls like n^-{order:.2f}")
for run in runs.values():
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-12
assert 0.5 < order < 1.1
assert errors[-1] < 1e-4
