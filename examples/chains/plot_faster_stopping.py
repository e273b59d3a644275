r"""
Do heavier masses or stiffer springs stop sooner?
=================================================

**Physics.** The Axioms paper observes that "the masses can attain the steady states sooner if the
masses are heavier or the springs are stiffer". Scaling shows the limits of this statement. With
equal masses :math:`m` and springs :math:`k`, a start from zero, lengths in :math:`f/k` and times
in :math:`\sqrt{m/k}`, one number remains, :math:`\mu m g / f`. Hence

.. math:: t_\text{stop} = \sqrt{m/k}\;\Theta\!\left(\mu m g / f\right).

* **Stiffer springs** stop sooner, always: :math:`t_\text{stop} \propto k^{-1/2}` exactly.
* **Heavier masses** change two things: they oscillate more slowly, and their normal force is
  larger. :math:`\Theta` decreases roughly like :math:`f / \mu m g`, so on average
  :math:`t_\text{stop} \sim m^{-1/2}`. But the number of half oscillations until the stop is an
  integer, so the stop time increases with the mass in some intervals.
* At **constant normal force** heavier masses stop *later*: :math:`\propto m^{1/2}` exactly.

Source: Axioms 14(4) 299, section 9.2.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st
from stiction.exact import chains as exact

# %%
# The law
# -------
law = st.Coulomb(mu=0.05)


def stop_time(mass=1.0, stiffness=20.0, **other):
    """Return the time at which all masses stick for good [s]."""
    chain = st.Chain(
        mass=mass * np.ones(3), stiffness=stiffness, load=st.Constant(10.0), law=law, **other
    )
    run = st.solve(chain, st.EventDriven(), t_span=(0.0, 200.0), save=2)
    return run.quantities["stop_time"].value


# %%
# Method and solve
# ----------------
masses = np.geomspace(0.25, 4.0, 161)
springs = np.geomspace(5.0, 80.0, 9)
by_mass = np.array([stop_time(mass=m) for m in masses])
by_spring = np.array([stop_time(stiffness=k) for k in springs])
held = np.array([stop_time(mass=m, normal_force=9.81) for m in masses[::40]])

# %%
# Reading the result
# ------------------
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained", sharey=True)
axes[0].loglog(masses, by_mass, label="pressed by its weight")
axes[0].loglog(masses[::40], held, "s--", label="normal force held")
axes[0].set(xlabel="mass of each block [kg]", ylabel="stop time [s]")
axes[0].legend(loc="upper center", fontsize="small")
axes[1].loglog(springs, by_spring, "o-")
axes[1].set(xlabel="stiffness of each spring [N/m]")
for ax, ticks in ((axes[0], [0.25, 0.5, 1.0, 2.0, 4.0]), (axes[1], [5.0, 10.0, 20.0, 40.0, 80.0])):
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_yticks([3.0, 5.0, 10.0, 20.0], ["3", "5", "10", "20"])
    ax.minorticks_off()

# %%
# The numbers show that the statement is true for springs. For masses it is true on average, but
# not from one mass to a slightly heavier one.
slope = np.polyfit(np.log(masses), np.log(by_mass), 1)[0]
later = np.mean(np.diff(by_mass) > 0.0)
worst = np.max(by_mass[1:] / np.minimum.accumulate(by_mass)[:-1])
print(f"16 times the mass: stops {by_mass[0] / by_mass[-1]:.2f} times sooner, exponent {slope:.2f}")
print(f"but {100 * later:.0f} % of the steps to a mass heavier by 1.75 % stop later,")
print(f"and a heavier chain can take {worst:.2f} times as long as a lighter one")
print(f"sqrt(k) t_stop: {np.ptp(by_spring * np.sqrt(springs)):.1e} variation, expected 0")
assert np.ptp(by_spring * np.sqrt(springs)) < 1e-9
assert np.ptp(held / np.sqrt(masses[::40])) < 1e-9
assert by_mass[-1] < by_mass[0]
assert worst > 1.05
assert later > 0.0

# %%
# One block has a closed form: it starts from zero velocity with an unstretched spring, and every
# half oscillation of length :math:`\pi\sqrt{m/k}` reduces the amplitude by :math:`2\mu m g/k`,
# until a turning point is inside the stick set.
for m in (0.5, 1.0, 2.0):
    chain = st.Chain(mass=[m], stiffness=20.0, load=st.Constant(10.0), law=law)
    found = st.solve(chain, t_span=(0.0, 200.0), save=2).quantities["stop_time"].value
    _, _, stop = exact.step_response(0.0, m, 20.0, 10.0, 0.05 * m * 9.81)
    print(f"one block of {m} kg: {found:.9f} s, closed form {stop:.9f} s")
    assert abs(found - stop) < 1e-9
