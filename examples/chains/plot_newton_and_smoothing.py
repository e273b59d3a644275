r"""
Newton iterations of smoothed friction
======================================

**Physics.** A narrow smoothing :math:`\varepsilon` approximates real friction well but makes
Newton's method difficult: the slope of the residual changes within :math:`\varepsilon` of zero
speed. Plain Newton iteration jumps across this range and can cycle without end. The Axioms paper
reports six to seven iterations per step on average, fewer for wider smoothing. It does not report
whether all steps converged.

Source: Axioms 14(4) 299, sections 7, 8 and 9.1; its smoothing parameter is missing in the
available text.
"""

# %%
# The model
# ---------
import matplotlib.pyplot as plt
import numpy as np

import stiction as st

# %%
# The law
# -------
law = st.Coulomb(mu=0.05)
chain = st.Chain(mass=np.ones(3), stiffness=20.0, load=st.Constant(10.0), law=law)

# %%
# Method and solve
# ----------------
# The implicit Euler scheme at two steps, with plain Newton and with a line search.
widths = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])


def effort(step, width, line_search):
    """Return Newton iterations per step and the fraction of steps that did not converge."""
    method = st.chains.RegularizedTheta(
        step=step, theta=1.0, smoothing=width, line_search=line_search
    )
    # a run whose steps did not converge is untrusted, and an error unless it is asked for
    run = st.solve(chain, method, t_span=(0.0, 10.0), save=2, throw=False)
    return run.stats["mean_iterations"], run.stats["unconverged_steps"] / run.stats["steps"]


table = {
    (step, search): np.array([effort(step, width, search) for width in widths])
    for step in (1e-2, 1e-3)
    for search in (False, True)
}

# %%
# Reading the result
# ------------------
fig, axes = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
for (step, search), values in table.items():
    style = {"ls": "-" if search else "--", "color": "#0072B2" if step == 1e-3 else "#D55E00"}
    name = f"step {step:g} s, {'line search' if search else 'plain'}"
    axes[0].semilogx(widths, values[:, 0], marker="o", label=name, **style)
    axes[1].semilogx(widths, 100.0 * values[:, 1], marker="o", **style)
axes[0].set(xlabel="smoothing [m/s]", ylabel="Newton iterations per step")
axes[1].set(xlabel="smoothing [m/s]", ylabel="steps not converged [%]")
axes[0].set_ylim(0.0, 36.0)
axes[0].legend(fontsize="x-small", loc="upper right")

for (step, search), values in table.items():
    print(f"step {step:g} s, {'line search' if search else 'plain Newton'}")
    for width, (mean, failed) in zip(widths, values, strict=True):
        print(f"  smoothing {width:5.0e} m/s: {mean:6.2f} iterations, {100 * failed:5.1f} % failed")

# %%
# Plain Newton iteration fails in a large fraction of the steps if the smoothing is narrow relative
# to the change of speed in one step, and its audit reports this; a line search makes all steps
# converge. An average of six iterations occurs here with seven per cent of failed steps;
# converging runs need about two.
narrow = st.chains.RegularizedTheta(step=1e-2, theta=1.0, smoothing=1e-5, line_search=False)
run = st.solve(chain, narrow, t_span=(0.0, 10.0), throw=False)
print(*(check for check in run.audit if check.ok is False), sep="\n")
assert run.status is st.Status.UNTRUSTED
assert table[1e-2, False][-1, 1] > 0.1
for step in (1e-2, 1e-3):
    assert np.all(table[step, True][:, 1] == 0.0)

# %%
# Set-valued friction has no smoothing to choose. Its active set starts from the modes of the last
# step, which are nearly always right.
exact_step = st.solve(chain, st.ThetaStepper(step=1e-3, theta=1.0), t_span=(0.0, 10.0), save=2)
solves = exact_step.stats["solves"] / exact_step.stats["steps"]
print(f"exact friction: {solves:.3f} linear solves per step, none failed")
assert solves < 1.2
assert exact_step.stats["unconverged_steps"] == 0
