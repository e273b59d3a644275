r"""
A gradient through stick
========================

**Physics.** A block on a spring swings :math:`n` times against Coulomb friction and sticks at
:math:`|x| = x_0 - 2 n \mu m g / k`. So the final position is a piecewise linear function of
:math:`\mu`. Exact derivatives pass through the stops, where the velocity is discontinuous in
time. With smoothed friction the block never sticks: it creeps to the equilibrium of the spring, and
the derivative of the final position by :math:`\mu` tends to zero.

Source: Coulomb's decrement; see also the how-to on derivatives.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

SPAN = (0.0, 20.0)


def block(mu: float) -> st.Chain:
    """Return a block of 2 kg on a spring of 8 N/m, displaced by 1 m."""
    return st.Chain(mass=[2.0], stiffness=[8.0], gravity=10.0, law=st.Coulomb(mu), x0=1.0)


# %%
# The law
# -------
# Coulomb's law, exactly and with the sign of the velocity smoothed over a width [m/s].
WIDTHS = [0.1, 0.01, 0.001]
mu = np.linspace(0.06, 0.3, 49)

# %%
# Method and solve
# ----------------
# The variational equation and saltation matrices give the derivatives of the exact motion.
# Differences of runs give those of the smoothed one.
found = [st.sensitivities(block(m), t_span=SPAN, of=["x"], to=["law.mu"]) for m in mu]
final = np.array([one.values[0] for one in found])
slope = np.array([one.by[0, 0] for one in found])


def smoothed(m: float, width: float) -> float:
    """Return the final position with smoothed friction."""
    method = st.chains.RegularizedTheta(step=2e-3, theta=0.5, smoothing=width)
    return float(st.solve(block(m), method, SPAN, save=2, throw=False).data.x.values[-1, 0])


creeping = {width: np.array([smoothed(m, width) for m in mu]) for width in WIDTHS}

# %%
# Reading the result
# ------------------
# Between two kinks the slope is -2 n m g / k or its opposite, from n = 1 on the right. At a kink
# the block stops where friction is at its bound: there is no derivative.
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained", sharex=True)
axes[0].plot(mu, final, "o", ms=3.0, color="k", label="exact")
axes[1].plot(mu, slope, "o", ms=3.0, color="k", label="exact derivative")
for color, (width, values) in zip(("C0", "C1", "C2"), creeping.items(), strict=True):
    axes[0].plot(mu, values, color=color, label=f"smoothed over {width:g} m/s")
    axes[1].plot(mu, np.gradient(values, mu), color=color)
axes[0].set(xlabel="coefficient of friction [1]", ylabel="final position [m]")
axes[1].set(xlabel="coefficient of friction [1]", ylabel="its derivative by the coefficient [m]")
axes[0].legend(fontsize="small")

swings = np.ceil((1.0 / (2.5 * mu) - 1.0) / 2.0)
exact = -2.0 * swings * 2.5 * (-1.0) ** swings
regular = np.isfinite(slope)
assert regular.sum() >= 45
assert np.allclose(slope[regular], exact[regular], atol=1e-9)
print(f"{regular.sum()} derivatives exact to {np.abs(slope - exact)[regular].max():.1e} m")
for width, values in creeping.items():
    off = np.abs(np.gradient(values, mu) - exact)[5:-5]
    print(f"smoothed over {width:g} m/s: median error {np.median(off):.2f} m")
