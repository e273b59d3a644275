r"""
Peeling of a soft tape that slides ahead of its front
=====================================================

**Physics.** A stretched membrane adheres to a plane; its end moves away at 45 degrees. The film
stretches the tape ahead of the front until its tension there equals that of the film along the
plane. The tape slides, against friction that acts under tension. Friction dissipates
:math:`N (\lambda_x - 1) - \psi`, for any coefficient, and the steady peeling force follows in
closed form.

Source: Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194, section 4.3.
"""

# %%
# The model
# ---------
# One line of elements with constant width represents a very wide tape. Lengths are in L0, forces
# in E T L0 with the thickness T.
import math

import matplotlib.pyplot as plt

import stiction as st
from stiction.exact.membranes import pure_shear, steady_peel

# %%
# The law
# -------
# Friction also acts under tension, because a membrane is never pressed on its plane.
law = st.EA(mu=0.2)
tape = st.solids.TapePeeling(
    model=law, length=16.0, width=0.4, cells=(64, 1), u_end=10.0, held_sideways=True
)

# %%
# Method and solve
# ----------------
# Load steps, to an end displacement of 10 L0.
run = st.solve(tape, st.solids.Quasistatic(steps=50), t_span=(0.0, 1.0))
print(run)

# %%
# Reading the result
# ------------------
# The normal force is constant from the start; the tangential force approaches its limit like one
# over the detached length.
known = steady_peel(tape.work, math.radians(tape.angle), pure_shear)
half = 0.5 * tape.width
along, away = (run.data[name].values / half for name in ("force_x", "force_y"))
peeled = run.data["peeled_area"].values / half
print(f"away: {away[-5:].mean():.4f}, steady {known.away:.4f}")
print(f"along: {along[-5:].mean():.4f}, steady {known.along:.4f}")
assert abs(away[-5:].mean() / known.away - 1.0) < 0.02  # reason: a film of some L0
assert along[-1] < known.along
assert run.audit.ok

fig, ax = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
for values, steady, name in ((along, known.along, "along it"), (away, known.away, "away from it")):
    (line,) = ax.plot(peeled, values, label=name)
    ax.axhline(steady, color=line.get_color(), lw=0.8, ls="--")
ax.set(xlabel="detached length / $L_0$", ylabel="force per width / $ET$", ylim=(0.0, 0.7))
ax.legend()
plt.show()
