"""A user's load that becomes NaN or infinite: never solved, never a NaN in what is saved."""

import numpy as np
import pytest

import stiction as st

METHODS = {
    "EventDriven": st.EventDriven(),
    "Quasistatic": st.chains.Quasistatic(load_samples=500),
    "ThetaStepper": st.ThetaStepper(step=5e-3),
    "RegularizedTheta": st.chains.RegularizedTheta(step=5e-3, theta=0.5, smoothing=1e-2),
}
LAWS = {
    "constant": st.Coulomb(0.1),
    "weakening": st.ExponentialWeakening(0.2, 0.1, 0.1),
    "jump": st.StaticKinetic(0.2, 0.1),
}


def run_of(method, value, lost, breakpoints=(), law="constant", span=(0.0, 4.0)):
    def load(t):
        return value if t > lost else 0.3 * t

    user = st.UserLoad(load, breakpoints)
    chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, load=user, law=LAWS[law])
    return st.solve(chain, METHODS[method], span, save=41, throw=False)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", METHODS)
def test_a_load_that_is_lost_ends_the_run(method, value, law):
    for lost, breakpoints in ((1.0, ()), (1.0, (1.0,)), (2.7182, ())):
        run = run_of(method, value, lost, breakpoints, law)
        assert run.status is st.Status.NOT_FINITE
        assert "not finite" in run.reason or "the load is" in run.reason
        # one step of a scheme with steps, and the look ahead of a rate
        assert lost - 6e-3 <= run.t_end <= lost
        for name in ("x", "v", "friction"):
            assert np.isfinite(run.variables[name].values).all()
        assert np.isfinite(run.energy.imbalance_rel)


@pytest.mark.parametrize("method", METHODS)
def test_a_load_that_is_lost_from_the_start_is_refused(method):
    with pytest.raises(st.ModelError, match=r"UserLoad: got nan N at the start, t = 2 s"):
        run_of(method, np.nan, 1.0, span=(2.0, 4.0))


def test_a_load_that_is_lost_just_after_the_start_is_refused():
    with pytest.raises(st.ModelError, match=r"not finite just after the start, t = 1 s"):
        run_of("Quasistatic", np.inf, 1.0, span=(1.0, 4.0))


@pytest.mark.parametrize("method", METHODS)
def test_the_motion_before_is_that_of_a_finite_load(method):
    lost = run_of(method, np.nan, 2.0)
    whole = run_of(method, np.nan, 9.0)
    rows = int((lost.time < 1.9).sum())
    assert rows > 15
    for name in ("x", "v"):
        ours, theirs = lost.variables[name].values[:rows], whole.variables[name].values[:rows]
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_energies_that_are_not_finite_are_no_solution(monkeypatch):
    """Whatever a method claims, a run is not solved whose energies are NaN."""
    from stiction.core.ledger import Ledger

    monkeypatch.setattr(Ledger, "imbalance_rel", np.nan)
    run = run_of("EventDriven", np.nan, 9.0)
    assert run.status is st.Status.NOT_FINITE
    assert "energy" in run.reason
