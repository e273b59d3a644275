"""Every check of laws that remember fails here, beside the run in which it holds."""

import pytest
from audit_lines import check_fails, check_holds, solved
from slip_memory import SlipMemory

import stiction as st


@pytest.mark.fails_audit("chains", "state_in_range")
def test_a_step_too_long_for_the_state_leaves_its_range():
    law = SlipMemory(mu_fresh=0.3, mu_worn=0.2, wear_length=1e-2, heal_time=100.0)
    chain = st.Chain(mass=[1.0], stiffness=1e-3, law=law, v0=10.0)
    # the trapezoidal rule turns z over when a step wears more than two lengths: |v| h / d = 10
    run = st.solve(chain, st.ThetaStepper(1e-2, 0.5), (0.0, 0.05), throw=False)
    found = check_fails(run, "state_in_range", beside=run_beside(run))
    # z becomes (1 - 5) / (1 + 5) of itself in the first step, and its range is 1 wide
    assert found.value == pytest.approx(2.0 / 3.0, rel=2e-2)  # reason: v falls a little
    check_holds(solved(chain, st.ThetaStepper(1e-4, 0.5), (0.0, 0.05)), "state_in_range")


def run_beside(run):
    """Return the other checks that such a step may fail."""
    return {c.check for c in run.audit.failed if c.check != "state_in_range"}


@pytest.mark.fails_audit("chains", "no_creep_in_stick")
def test_bristles_drift_under_a_load_that_shakes():
    """LuGre's contact drifts below break-away, by one formula a cycle; Dupont's stays."""
    numbers = (30.0, 3.0, 0.04, 0.15, 0.1, 0.1)
    load = st.chains.SumOf([st.Constant(0.5), st.chains.Sine(0.43, 3.0)])
    runs = [
        solved(
            st.Chain(mass=[1.0], stiffness=1e-6, law=law, load=load, damping=1.0),
            st.chains.Radau(rtol=1e-6),
            (0.0, 20.0),
            save=2,
        )
        for law in (st.laws.LuGre(*numbers), st.laws.ElastoPlastic(*numbers, elastic_share=0.97))
    ]
    found = check_fails(runs[0], "no_creep_in_stick")
    crept = runs[0].quantities["creep"].value[0]
    assert found.value == pytest.approx(abs(crept) / 5e-3, rel=1e-12)
    check_holds(runs[1], "no_creep_in_stick")
