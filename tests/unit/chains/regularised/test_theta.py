"""Fixed steps of chains without stick, beside Radau's method."""

import signal

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.chains.regularised import theta as theta_scheme
from stiction.laws import AgeingLaw, BoucWen, Dahl, ElastoPlastic, LuGre, RateAndStateFriction

LAWS = [
    LuGre(1e3, 10.0, 0.1, 0.5, 0.3, 0.1),
    Dahl(1e3, 0.3),
    ElastoPlastic(1e3, 10.0, 0.1, 0.4, 0.3, 0.1),
    BoucWen(1e3, 1.0, 7.4e6, 3.7e6, 2),
]


def chain_of(law, **more):
    given = {"mass": [1.0, 2.0], "stiffness": 20.0, "damping": 0.3, "load": st.Ramp(rate=16.0)}
    return st.Chain(law=law, **(given | more))


def failed(run, name):
    return not next(c for c in run.audit.checks if c.check == name).ok


@pytest.mark.parametrize(("theta", "order", "spread"), [(0.5, 2.0, 0.2), (1.0, 1.0, 0.2)])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_order_against_radau(law, theta, order, spread):
    chain, span = chain_of(law), (0.0, 0.5)
    exact = st.solve(chain, st.EventDriven(rtol=1e-10), span, save=5).data.x.values
    errors = []
    for step in (1e-3, 5e-4) if theta == 1.0 else (2e-3, 1e-3):
        run = st.solve(chain, st.ThetaStepper(step=step, theta=theta), span, save=5)
        errors.append(np.abs(run.data.x.values - exact).max())
        assert run.audit.ok, run.audit
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(order, abs=spread)
    assert errors[-1] < (2e-6 if theta == 0.5 else 1e-3)


@pytest.mark.parametrize("theta", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_energy_of_every_step(law, theta):
    """With a belt, a plate and rows within the steps."""
    plate = {"plate_stiffness": [3.0, 0.0], "plate_speed": 0.1, "belt_speed": 0.05}
    chain = chain_of(law, v0=[0.1, -0.2], **plate)
    run = st.solve(chain, st.ThetaStepper(step=1.7e-3, theta=theta), (0.0, 0.3), save=31)
    assert run.energy.step_imbalance_rel < 1e-14
    assert run.energy.imbalance_rel < 1e-13
    taken = np.diff(run.energy.algorithmic)
    assert (taken > 1e-16).any() == (theta > 0.5)


def test_what_the_scheme_takes_out_is_of_its_order():
    chain, lost = chain_of(LAWS[0], v0=[1.0, -1.0]), []
    for step in (2e-3, 1e-3):
        run = st.solve(chain, st.ThetaStepper(step=step, theta=1.0), (0.0, 0.4), save=2)
        lost.append(run.energy.algorithmic[-1])
    # reason: steps of a thirtieth of the contacts' period
    assert lost[0] / lost[1] == pytest.approx(2.0, abs=0.15)


def test_rate_and_state_at_rest_and_in_slip():
    """A state that heals for long is stiff: theta = 1 holds it, and slip meets Radau's."""
    law = RateAndStateFriction(AgeingLaw(0.01, 0.015, 1e-3, 0.3, 1e-3))
    chain = st.Chain(mass=[1.0], stiffness=50.0, load=st.Ramp(rate=3.0), law=law)
    exact = st.solve(chain, st.EventDriven(rtol=1e-9), (0.0, 2.0), save=9)
    run = st.solve(chain, st.ThetaStepper(step=2e-3, theta=1.0), (0.0, 2.0), save=9)
    assert run.audit.ok, run.audit
    assert np.abs(run.data.x.values - exact.data.x.values).max() < 5e-3
    assert run.energy.imbalance_rel < 1e-12


def test_reversals_are_reported_at_the_end_of_their_step():
    chain, span = chain_of(LAWS[1]), (0.0, 0.5)
    exact = st.solve(chain, st.EventDriven(rtol=1e-10), span, save=2).event_log
    run = st.solve(chain, st.ThetaStepper(step=2.5e-4), span, save=2).event_log
    assert list(run.kind) == list(exact.kind)
    assert list(run.contact) == list(exact.contact)
    assert np.abs(np.asarray(run.time) - np.asarray(exact.time)).max() < 5e-4


def test_unconverged_steps_are_reported():
    chain = chain_of(LAWS[0])
    method = st.ThetaStepper(step=0.1, max_solves=1)
    run = st.solve(chain, method, (0.0, 1.0), throw=False)
    assert run.stats["unconverged_steps"] > 0
    assert failed(run, "steps_converged")


def test_a_wrong_balance_is_reported(monkeypatch):
    real = theta_scheme.ThetaIntegrator._balance

    def wrong(self, *given):
        lost, off = real(self, *given)
        return lost, off + 1e-9

    monkeypatch.setattr(theta_scheme.ThetaIntegrator, "_balance", wrong)
    run = st.solve(chain_of(LAWS[0]), st.ThetaStepper(step=1e-2), (0.0, 1.0), throw=False)
    assert failed(run, "energy_of_each_step")


def test_bounds_of_steps():
    with pytest.raises(st.ModelError, match="at most max_steps = 10"):
        st.solve(chain_of(LAWS[0]), st.ThetaStepper(step=1e-3, max_steps=10), (0.0, 1.0))
    chain = st.Chain(mass=[1.0] * 2001, stiffness=20.0, law=LAWS[1])
    with pytest.raises(st.ModelError, match="2001 masses"):
        st.solve(chain, st.ThetaStepper(step=1e-3), (0.0, 1.0))
    many = st.ThetaStepper(step=5e-4, max_events=1)
    run = st.solve(chain_of(LAWS[1]), many, (0.0, 0.5), throw=False)
    assert run.status is st.Status.WORK_LIMIT


@pytest.mark.parametrize("within", [False, True])
def test_going_on_gives_the_same_bits(monkeypatch, within):
    """After an interrupt at a pause, or within a step whose heat is added already."""
    chain, method, span = chain_of(LAWS[1]), st.ThetaStepper(step=2e-3), (0.0, 0.4)
    whole = st.solve(chain, method, span, save=11)
    memory = Memory(turn=2, last=None if within else 1)
    real, steps = theta_scheme.creep, iter(range(45))

    def stopped(*given):
        if within and next(steps, None) is None:
            signal.raise_signal(signal.SIGINT)
        real(*given)

    monkeypatch.setattr(theta_scheme, "creep", stopped)
    short = st.solve(chain, method, span, save=11, checkpoint=memory, throw=False)
    monkeypatch.undo()
    assert short.status is st.Status.INTERRUPTED
    assert len(memory.pages) > 0
    again = st.solve(chain, method, span, save=11, checkpoint=Memory(memory.state, turn=-1))
    for name, value in whole.data.items():
        assert np.array_equal(value.values, again.data[name].values), name
    assert np.array_equal(whole.event_log.time, again.event_log.time)
    assert np.array_equal(whole.energy.imbalance, again.energy.imbalance)
    assert np.array_equal(whole.energy.friction_heat, again.energy.friction_heat)
    assert whole.stats["steps"] == again.stats["steps"]


def test_band_and_full_matrices_give_the_same_steps(monkeypatch):
    chain = chain_of(LAWS[0], mass=np.linspace(0.5, 2.0, 25).tolist(), v0=[0.3, -0.2] * 12 + [0.1])
    method, span = st.ThetaStepper(step=2e-3), (0.0, 0.1)
    band = st.solve(chain, method, span, save=3)

    def newton(self, y, part, off):
        whole = np.zeros((75, 81))
        for i, block in enumerate(self.equations.derivative(y)):
            whole[3 * i : 3 * i + 3, 3 * i : 3 * i + 9] = block
        return np.linalg.solve(np.eye(75) - part * whole[:, 3:-3], -off)

    monkeypatch.setattr(theta_scheme.ThetaIntegrator, "_newton", newton)
    full = st.solve(chain, method, span, save=3)
    assert band.stats["newton_iterations"] == full.stats["newton_iterations"]
    assert np.abs(band.data.x.values - full.data.x.values).max() < 1e-14


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_units_do_not_matter(theta):
    """In millimetres and tonnes, forces as they are, every step is the same."""
    here = chain_of(LuGre(1e3, 10.0, 0.1, 0.5, 0.3, 0.1), belt_speed=0.05, v0=[0.1, -0.2])
    there = st.Chain(
        mass=[1e-3, 2e-3],
        gravity=9.81e3,
        stiffness=20.0e-3,
        damping=0.3e-3,
        load=st.Ramp(rate=16.0),
        law=LuGre(1.0, 0.01, 1e-4, 0.5, 0.3, 100.0),
        belt_speed=50.0,
        v0=[100.0, -200.0],
    )
    method = st.ThetaStepper(step=2e-3, theta=theta)
    one, two = (st.solve(chain, method, (0.0, 0.3), save=4) for chain in (here, there))
    assert one.stats == two.stats
    assert np.abs(1e3 * one.data.x.values - two.data.x.values).max() < 1e-9
    assert list(one.event_log.contact) == list(two.event_log.contact)
