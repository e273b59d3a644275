r"""
The slip wave: onset loads of three masses
==========================================

**Physics.** A slowly rising force pulls mass 3. It slips first, elongates its spring, and then
starts mass 2 and mass 1. In the limit of an infinitely slow load, mass :math:`i` starts to slip at
the critical force

.. math:: F_i = \mu g\,(m_i + m_{i+1} + \dots + m_n),

for any springs. Inertia changes this: mass 3 overshoots and pulls mass 2 *earlier*.

Source: Axioms 14(4) 299, section 5, Fig. 5 and Table 2. The load rate and the numbers of Table 2
are missing in the available text. The paper counts masses from the loaded end.
"""

# %%
# The model
# ---------
# The same chain under a ramp :math:`f = r t`. Masses are those of the paper (equal), then two
# other choices.
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact


def onset(mass, rate=1.0, damping=0.0, **other):
    """Return the run until 1.3 times the last critical force."""
    chain = st.Chain(mass=mass, stiffness=20.0, damping=damping, load=st.Ramp(rate), law=law)
    slow = chain.critical_force()
    assert slow is not None
    until = 1.3 * slow[0] / rate
    return st.solve(chain, st.EventDriven(**other), t_span=(0.0, until))


# %%
# The law
# -------
# Coulomb friction. Only the static coefficient determines the onset of slip.
law = st.Coulomb(mu=0.25)

# %%
# Method and solve
# ----------------
# Mass 1 is printed last, because the wave reaches it last.
for mass in ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [4.0, 2.0, 1.0]):
    run = onset(mass)
    names = ("onset_time", "onset_force", "critical_force")
    time, force, critical = (run.quantities[name].value for name in names)
    print(f"masses {mass} kg")
    for i in (2, 1, 0):
        print(
            f"  mass {i + 1}: first slip at {time[i]:9.6f} s, "
            f"load {force[i]:9.6f} N, critical {critical[i]:9.6f} N"
        )

# %%
# Reading the result
# ------------------
# Colour is slip rate, circles are onsets, and the line connects the critical forces.
onset([1.0, 1.0, 1.0]).plot.onset()

# %%
# Inertia causes the difference between onset and critical force, which has either sign. Without
# dampers the chain vibrates between two onsets, and the difference decreases slowly with the rate
# of the load. With dampers the vibration decays. Once it has decayed before the next onset, the
# chain follows the load without acceleration, and the onset equals the critical force to the last
# digit.
rates = np.array([1.0, 0.3, 0.1, 0.03, 0.01])
fig, ax = plt.subplots(figsize=(7.0, 3.2), layout="constrained")
for damping, style in ((0.0, "o--"), (2.0, "s-")):
    gaps = []
    for rate in rates:
        done = onset([1.0, 1.0, 1.0], rate, damping)
        force = np.array(done.quantities["onset_force"].value)
        gaps.append(force - np.array(done.quantities["critical_force"].value))
    gap = np.array(gaps)
    for i, colour in ((1, "#D55E00"), (0, "#0072B2")):
        name = f"mass {i + 1}, damping {damping:g} N s/m"
        ax.loglog(rates, np.abs(gap[:, i]) + 1e-16, style, color=colour, label=name)
ax.set(xlabel="rate of the load [N/s]", ylabel="|onset force - critical force| [N]")
ax.legend()
ax.set_ylim(1e-17, 1.0)
print("damped, slowest load: largest |onset - critical| =", np.abs(gap[-1]).max(), "N")

# %%
# The check: mass 3 slips exactly at its critical force, and with dampers and the slowest load all
# three masses agree with the closed form.
run = onset([1.0, 1.0, 1.0])
assert np.allclose(run.quantities["critical_force"].value, exact.critical_force(np.ones(3), 0.25))
assert abs(run.quantities["onset_force"].value[2] - 0.25 * 9.81) < 1e-12
assert np.all(np.abs(gap[-1]) < 1e-12)
assert run.quantities["onset_force"].value[1] < run.quantities["critical_force"].value[1]
