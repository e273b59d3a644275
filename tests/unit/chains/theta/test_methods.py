"""The theta methods: input, steps, rest, events, audit, checkpoints."""

import dataclasses
import math
import signal

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.chains.theta import exact_kernels as exact
from stiction.chains.theta import integrator as integrator
from stiction.chains.theta import setup as theta_setup
from stiction.chains.theta import smooth_kernels as smooth
from stiction.core.run import Request
from stiction.laws import SmoothSign

CHAIN = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05))
ONE = st.Chain(mass=[2.0], stiffness=30.0, load=st.Ramp(1.0), law=st.StaticKinetic(0.5, 0.3))


def check(run, name):
    """Return the line `name` of the audit."""
    (line,) = [line for line in run.audit if line.check == name]
    return line


# ---- input


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: st.ThetaStepper(1e-3, 0.49), "ThetaStepper.theta"),
        (lambda: st.ThetaStepper(1e-3, 1.01), "ThetaStepper.theta"),
        (lambda: st.ThetaStepper(1e-3, math.nan), "ThetaStepper.theta"),
        (lambda: st.ThetaStepper(0.0), "ThetaStepper.step"),
        (lambda: st.ThetaStepper(math.inf), "ThetaStepper.step"),
        (lambda: st.ThetaStepper(1e-3, max_solves=0), "ThetaStepper.max_solves"),
        (lambda: st.ThetaStepper(1e-3, max_events=1.5), "ThetaStepper.max_events"),
        (lambda: st.chains.RegularizedTheta(1e-3, -0.1, 1e-3), "RegularizedTheta.theta"),
        (lambda: st.chains.RegularizedTheta(1e-3, 1.1, 1e-3), "RegularizedTheta.theta"),
        (lambda: st.chains.RegularizedTheta(1e-3, 0.5, 0.0), "RegularizedTheta.smoothing"),
        (lambda: st.chains.RegularizedTheta(1e-3, 0.5, 1e-3, tolerance=-1.0), "tolerance"),
        (lambda: st.chains.RegularizedTheta(1e-3, 0.5, 1e-3, onset_at=0.0), "onset_at"),
        (
            lambda: st.chains.RegularizedTheta(1e-3, 0.5, 1e-3, shape="tanh"),
            "RegularizedTheta.shape",
        ),
    ],
)
def test_bad_input_is_refused(make, field):
    with pytest.raises(st.ModelError, match=field) as caught:
        make()
    assert all(word in str(caught.value) for word in ("got", "needs", "Why:", "Try:"))


def test_too_many_steps_are_refused():
    with pytest.raises(st.ModelError, match="max_steps"):
        st.solve(CHAIN, st.ThetaStepper(1e-300), (0.0, 1.0))
    with pytest.raises(st.ModelError, match="max_steps"):
        st.solve(CHAIN, st.ThetaStepper(1e-3, max_steps=999), (0.0, 1.0))


@pytest.mark.parametrize(
    "method", [st.ThetaStepper(0.1), st.chains.RegularizedTheta(0.1, 0.5, 0.1)]
)
def test_other_systems_are_refused(method):
    with pytest.raises(st.ModelError, match=r"BeltOscillator is solved by switching\.EventDriven"):
        st.solve(st.BeltOscillator(), method)


# ---- steps and states


def test_last_step_ends_at_the_end():
    run = st.solve(CHAIN, st.ThetaStepper(0.3), (0.5, 1.5), save=2)
    assert run.stats["steps"] == 4
    assert run.stats["step"] == 0.25
    assert run.t_end == 1.5
    assert run.time.tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("start", "count"), [(0.0, 3), (1e6, 3), (-1e6, 3), (1e7, 1)], ids=lambda given: f"{given:g}"
)
def test_a_whole_number_of_steps_stays_one(start, count):
    span = (start, start + 0.1 * count)
    assert st.solve(CHAIN, st.ThetaStepper(0.1), span, save=2).stats["steps"] == count


def test_states_between_steps_lie_on_a_line():
    coarse = st.solve(CHAIN, st.ThetaStepper(0.1, 1.0), (0.0, 0.2), save=[0.0, 0.1, 0.125, 0.2])
    x, v = (coarse.variables[name].values for name in ("x", "v"))
    np.testing.assert_allclose(x[2], 0.75 * x[1] + 0.25 * x[3], rtol=1e-14)
    np.testing.assert_allclose(v[2], 0.75 * v[1] + 0.25 * v[3], rtol=1e-14)
    ledger = coarse.energy
    np.testing.assert_allclose(
        ledger.kinetic[2], 0.75 * ledger.kinetic[1] + 0.25 * ledger.kinetic[3], rtol=1e-14
    )
    assert np.max(np.abs(ledger.imbalance)) < 1e-15


def test_two_methods_agree_on_one_step():
    """A smoothed law far out on its arm is the exact one."""
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, law=st.Coulomb(0.2), belt_speed=9.0)
    exact_run = st.solve(chain, st.ThetaStepper(1e-2, 0.7), (0.0, 0.5), save=2)
    method = st.chains.RegularizedTheta(1e-2, 0.7, 1e-6, shape=st.laws.TanhSign())
    smooth_run = st.solve(chain, method, (0.0, 0.5), save=2)
    np.testing.assert_allclose(smooth_run.final["x"], exact_run.final["x"], rtol=1e-12)


@pytest.mark.parametrize("theta", [0.5, 0.6, 1.0])
def test_stuck_masses_ride_on_the_belt(theta):
    chain = dataclasses.replace(CHAIN, belt_speed=0.3, law=st.Coulomb(0.4))
    run = st.solve(chain, st.ThetaStepper(1e-3, theta), (0.0, 3.0), save=301)
    v, mode = run.variables["v"].values, run.variables["mode"].values
    assert (mode == 0).any()
    assert np.all(v[mode == 0] == 0.3)


def test_theta_one_half_does_not_ring():
    run = st.solve(CHAIN, st.ThetaStepper(1e-3, 0.5), (0.0, 10.0))
    assert not run.final["v"].any()
    assert run.energy.kinetic[-1] == 0.0
    assert run.energy.algorithmic[-1] > 0.0
    assert run.energy.imbalance_rel < 1e-12


def test_release_at_the_start_is_an_event_at_the_start():
    run = st.solve(CHAIN, st.ThetaStepper(1e-2), (0.0, 1.0))
    first = run.events.iloc[0]
    assert (first["time"], first["contact"], first["kind"]) == (0.0, 3, "slip")
    assert run.quantities["onset_time"].value[2] == 0.0
    assert run.variables["mode"].values[0].tolist() == [0, 0, 1]


def test_static_friction_holds_as_long_as_it_can():
    run = st.solve(ONE, st.ThetaStepper(1e-3), (0.0, 12.0))
    onset = 0.5 * 2.0 * 9.81
    first = run.events.iloc[0]
    assert onset <= first["time"] < onset + 2e-3
    assert abs(first["friction_left"]) == pytest.approx(onset, abs=2e-3)
    assert first["friction_right"] == pytest.approx(-0.3 * 2.0 * 9.81)


# ---- rest


def test_a_chain_at_rest_is_not_stepped_further():
    run = st.solve(CHAIN, st.ThetaStepper(1e-3), (0.0, 1000.0), save=[8.5, 500.0])
    assert run.status.ok
    assert run.stats["steps"] == round(run.quantities["stop_time"].value / 1e-3)
    assert run.events.iloc[-1][["contact", "kind"]].tolist() == [0, "stop"]
    x = run.variables["x"].values
    assert np.array_equal(x[1], x[3])
    friction = run.variables["friction"].values[-1]
    np.testing.assert_allclose(friction, -CHAIN.drive(9.0, x[-1], np.zeros(3)), rtol=1e-12)


def test_no_stop_under_a_ramp():
    chain = dataclasses.replace(CHAIN, load=st.Ramp(1e-3), law=st.Coulomb(1.0))
    run = st.solve(chain, st.ThetaStepper(0.1), (0.0, 5.0))
    assert run.quantities["stop_time"].value is None
    assert run.stats["steps"] == 50


def test_temporary_stick_is_no_stop():
    """Held until the load grows, then moved, then held by a load that falls."""
    load = st.chains.PiecewiseLinear([0.0, 5.0, 5.5, 6.0], [0.0, 0.0, 9.0, 0.1])
    chain = st.Chain(mass=[1.0], stiffness=30.0, damping=2.0, load=load, law=st.Coulomb(0.5))
    run = st.solve(chain, st.ThetaStepper(1e-3), (0.0, 20.0))
    stop = run.quantities["stop_time"].value
    assert stop is not None
    assert stop > 5.0
    assert 5.0 < run.quantities["onset_time"].value[0] < 5.5
    assert run.stats["steps"] < 8000


def test_a_stop_at_a_breakpoint_of_the_load():
    """All masses stick while the load still swings too far; its last piece does not."""
    load = st.chains.PiecewiseLinear([0.0, 1.0, 2.0], [0.0, 4.0, 0.0])
    chain = st.Chain(mass=[1.0], stiffness=30.0, load=load, law=st.Coulomb(0.5))
    run = st.solve(chain, st.ThetaStepper(1e-3), (0.0, 9.0))
    assert run.quantities["stop_time"].value == 0.0
    assert run.stats["steps"] == 0
    both = st.chains.SumOf([load, st.chains.Sine(0.2, 3.0)])
    run = st.solve(dataclasses.replace(chain, load=both), st.ThetaStepper(1e-3), (0.0, 9.0))
    assert run.quantities["stop_time"].value == 0.0


def test_a_free_chain_sticks_to_a_belt():
    chain = st.Chain(
        mass=[1.0, 2.0], stiffness=50.0, supports="none", law=st.Coulomb(0.3), belt_speed=0.5
    )
    run = st.solve(chain, st.ThetaStepper(1e-3), (0.0, 2.0), save=3)
    assert run.quantities["stop_time"].value < 1.0
    x = run.variables["x"].values
    np.testing.assert_allclose(x[2] - x[1], 0.5, rtol=1e-12)
    assert run.energy.imbalance_rel < 1e-12


# ---- user functions


def test_user_functions_give_what_built_in_ones_give():
    law = st.ExponentialWeakening(0.3, 0.2, 0.1)
    own = st.UserFriction(
        lambda v: 0.2 + 0.1 * math.exp(-v / 0.1), lambda v: -1.0 * math.exp(-v / 0.1)
    )
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, load=st.chains.Sine(15.0, 3.0), law=law)
    user = dataclasses.replace(chain, law=own, load=st.UserLoad(lambda t: 15.0 * math.sin(3.0 * t)))
    for method in (st.ThetaStepper(1e-3), st.chains.RegularizedTheta(1e-3, 0.5, 1e-3)):
        runs = [st.solve(c, method, (0.0, 3.0), save=2) for c in (chain, user)]
        np.testing.assert_allclose(runs[0].final["x"], runs[1].final["x"], rtol=1e-9)
        assert len(runs[0].event_log) == len(runs[1].event_log)


def test_functions_that_cannot_be_compiled_are_called():
    table = {"slope": 4.0}
    chain = dataclasses.replace(CHAIN, load=st.UserLoad(lambda t: table["slope"] * t))
    ramp = dataclasses.replace(CHAIN, load=st.Ramp(4.0))
    runs = [st.solve(c, st.ThetaStepper(1e-3), (0.0, 2.0), save=2) for c in (chain, ramp)]
    np.testing.assert_allclose(runs[0].final["x"], runs[1].final["x"], rtol=1e-12)


def test_functions_that_fail_are_named():
    def broken(t):
        if t > 0.5:
            raise RuntimeError("no more data")
        return str(t) and 1.0

    chain = dataclasses.replace(CHAIN, load=st.UserLoad(broken))
    with pytest.raises(st.ModelError, match="no more data"):
        st.solve(chain, st.ThetaStepper(1e-2), (0.0, 1.0))


class OwnTanh(SmoothSign):
    """The hyperbolic tangent as a user would write it."""

    def sign(self, v, width):
        return np.tanh(np.asarray(v) / width)

    def slope(self, v, width):
        return (1.0 - np.tanh(np.asarray(v) / width) ** 2) / width


def test_a_shape_of_the_users_own():
    runs = [
        st.solve(
            CHAIN, st.chains.RegularizedTheta(1e-2, 0.5, 1e-2, shape=shape), (0.0, 1.0), save=2
        )
        for shape in (OwnTanh(), st.laws.TanhSign())
    ]
    np.testing.assert_allclose(runs[0].final["x"], runs[1].final["x"], rtol=1e-12)


# ---- runs that end early


def test_a_state_that_is_not_finite_ends_the_run():
    chain = dataclasses.replace(CHAIN, load=st.UserLoad(lambda t: 1.0 / (1.0 - (t > 0.5))))
    for method in (st.ThetaStepper(1e-2), st.chains.RegularizedTheta(1e-2, 1.0, 1e-3)):
        run = st.solve(chain, method, (0.0, 1.0), throw=False)
        assert run.status is st.Status.NOT_FINITE
        assert run.t_end == pytest.approx(0.5)
        assert np.isfinite(run.final["x"]).all()
        assert "0.5" in run.reason


def test_an_unstable_explicit_scheme_is_reported():
    chain = dataclasses.replace(CHAIN, stiffness=1e6)
    run = st.solve(chain, st.chains.RegularizedTheta(0.1, 0.0, 1.0), (0.0, 100.0), throw=False)
    assert run.status is st.Status.NOT_FINITE
    assert run.time[-1] == run.t_end < 100.0
    assert not check(run, "scheme_creates_no_energy").ok


def test_more_events_than_allowed_end_the_run():
    run = st.solve(CHAIN, st.ThetaStepper(1e-3, max_events=5), (0.0, 10.0), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert "max_events = 5" in run.reason
    assert 5 < len(run.event_log) <= 8
    whole = st.solve(CHAIN, st.ThetaStepper(1e-3), (0.0, 10.0))
    early = whole.event_log.time <= run.t_end
    assert run.event_log.time.tolist() == whole.event_log.time[early].tolist()


def test_an_interrupt_gives_what_there_is(monkeypatch):
    monkeypatch.setattr(integrator, "_MOST_STEPS", 100)

    def stop(fraction, note):
        if fraction > 0.5:
            raise KeyboardInterrupt

    run = st.solve(CHAIN, st.ThetaStepper(1e-3), (0.0, 4.0), throw=False, progress=stop)
    assert run.status is st.Status.INTERRUPTED
    assert 2.0 < run.t_end < 4.0
    assert run.time[-1] == run.t_end


# ---- the audit


def test_steps_beyond_the_weakening_limit_are_reported():
    law = st.ExponentialWeakening(0.3, 0.1, 1e-3)
    chain = dataclasses.replace(CHAIN, law=law)
    limit = 1.0 / (0.5 * 9.81 * 0.2 / 1e-3)
    for step, ok in ((0.9 * limit, True), (1.1 * limit, False)):
        line = check(
            st.solve(chain, st.ThetaStepper(step), (0.0, 0.5)), "step_below_weakening_limit"
        )
        assert line.ok is ok
        assert line.limit == pytest.approx(limit)
        smooth_run = st.solve(chain, st.chains.RegularizedTheta(step, 0.5, 1e-2), (0.0, 0.1))
        assert check(smooth_run, "step_below_weakening_limit").ok is ok
    own = st.UserFriction(
        lambda v: 0.1 + 0.2 / (1.0 + 100.0 * v), lambda v: -20.0 / (1.0 + 100.0 * v) ** 2
    )
    run = st.solve(dataclasses.replace(CHAIN, law=own), st.ThetaStepper(0.1, 1.0), (0.0, 0.5))
    line = check(run, "step_below_weakening_limit")
    assert line.limit == pytest.approx(1.0 / (9.81 * 20.0))
    assert not line.ok


def test_plain_newton_fails_where_the_sheet_says():
    """Source: formulas sheet, trap 4: 7 % of the steps at eps = 1e-3, up to 39 % below."""
    shares = {}
    for width in (1e-2, 1e-3, 1e-4, 1e-6):
        method = st.chains.RegularizedTheta(1e-2, 1.0, width, line_search=False)
        run = st.solve(CHAIN, method, (0.0, 10.0), throw=False)
        shares[width] = run.stats["unconverged_steps"] / run.stats["steps"]
        line = check(run, "steps_converged")
        assert line.ok == (shares[width] == 0.0)
        assert line.value == run.stats["unconverged_steps"]
        assert (line.time is None) == line.ok
        run = st.solve(CHAIN, dataclasses.replace(method, line_search=True), (0.0, 10.0))
        assert run.stats["unconverged_steps"] == 0
        assert run.audit.ok
    assert shares[1e-2] == 0.0
    assert 0.05 < shares[1e-3] < 0.10
    assert 0.12 < shares[1e-4] < 0.40
    assert 0.12 < shares[1e-6] < 0.40


def test_iterations_are_counted():
    run = st.solve(CHAIN, st.chains.RegularizedTheta(1e-2, 1.0, 1e-3), (0.0, 1.0))
    stats = run.stats
    assert stats["newton_iterations"] == stats["solves"] > stats["steps"]
    assert stats["mean_iterations"] == stats["solves"] / stats["steps"]
    assert 2 <= stats["most_iterations"] <= 50
    one = st.chains.RegularizedTheta(1e-2, 1.0, 1e-3, max_iterations=1)
    few = st.solve(CHAIN, one, (0.0, 1.0), throw=False)
    assert few.stats["most_iterations"] == 1
    assert few.stats["unconverged_steps"] > 0


def test_work_per_step_is_bounded():
    cycle = st.Chain(
        mass=[0.17, 0.12, 4.89],
        stiffness=[3.9, 98.4, 55.8],
        normal_force=[18.9, 31.0, 2.5],
        law=st.StaticKinetic(0.6, 0.3),
        x0=[0.6, 0.3, -0.8],
        v0=[-1.9, -1.5, -2.4],
        load=st.Constant(10.0),
    )
    run = st.solve(cycle, st.ThetaStepper(1.0, 1.0), (0.0, 8.0))
    assert run.stats["rescued_steps"] > 0
    assert run.stats["unconverged_steps"] == 0
    run = st.solve(cycle, st.ThetaStepper(1.0, 1.0, max_solves=1), (0.0, 8.0), throw=False)
    assert run.stats["unconverged_steps"] > 0
    assert run.stats["most_iterations"] <= 34
    assert not check(run, "steps_converged").ok


@pytest.mark.usefixtures("plain_kernels")
def test_a_step_off_the_law_or_its_modes_is_not_converged():
    """A secant at its limit changes no more; undecided modes leave a residual under any law."""
    chain = st.Chain(
        mass=[0.229, 0.119, 0.727],
        stiffness=[7.76, 2.97, 41.69],
        normal_force=[1.49, 6.25, 7.01],
        law=st.laws.Stribeck(0.6, 0.3, 0.744, 1.0),
        x0=[-0.98, 0.62, -0.28],
        v0=[-0.25, -2.04, -0.61],
        load=st.Constant(10.0),
    )
    method = st.ThetaStepper(1.0, 1.0, max_solves=50)
    run = st.solve(chain, method, (0.0, 3.0), save=4, throw=False)
    speed, force, mode = (run.variables[name].values for name in ("v", "friction", "mode"))
    law = 0.3 + 0.3 * np.exp(-np.abs(speed) / 0.744)
    off = np.where(mode != 0, np.abs(force) / np.array(chain.normal_force) - law, 0.0)
    steps = np.flatnonzero(np.any(np.abs(off) > 1e-9, axis=1)).tolist()
    assert steps == [1]
    assert run.stats["unconverged_steps"] == len(steps)
    assert check(run, "steps_converged").time == 1.0
    flat = dataclasses.replace(
        chain,
        mass=[0.17, 0.12, 4.89],
        stiffness=[3.9, 98.4, 55.8],
        normal_force=[18.9, 31.0, 2.5],
        law=st.laws.Stribeck(0.5, 0.5, 1.0),
        x0=[0.6, 0.3, -0.8],
        v0=[-1.9, -1.5, -2.4],
    )
    run = st.solve(flat, st.ThetaStepper(1.0, 1.0, max_solves=1), (0.0, 6.0), throw=False)
    assert run.stats["unconverged_steps"] > 0
    assert "worst residual 1" in check(run, "steps_converged").note


@pytest.mark.usefixtures("plain_kernels")
def test_the_rounding_of_a_step_knows_the_plate_before_time_zero():
    scheme = theta_setup.Scheme("ThetaStepper", 1e-2, 0.5, 1000, 1e-13, 10**6, 10**6)
    chain = dataclasses.replace(CHAIN, plate_stiffness=5.0, plate_speed=-2.0)
    slacks = []
    for start, end in ((0.0, 3.0), (-3.0, 0.0), (-1.0, 0.0)):
        stepper = integrator.ThetaIntegrator(scheme, chain, Request(start, end, np.array([end])))
        exact.slack(stepper.problem, stepper.work.f, 0.0)
        slacks.append(stepper.work.trial.slack[0])
    assert slacks[1] == slacks[0]
    assert slacks[0] - slacks[2] == pytest.approx(1e-14 * 5.0 * 2.0 * 2.0)


def test_a_wave_takes_hardly_more_than_one_solve_a_step():
    n = 2000
    chain = st.Chain(
        mass=1.0 / n, stiffness=100.0 * n, load=st.Constant(4.0), law=st.Coulomb(0.3), n=n
    )
    run = st.solve(chain, st.ThetaStepper(1e-5), (0.0, 0.01), save=2)
    assert run.stats["mean_iterations"] < 1.5
    assert run.stats["most_iterations"] < 10


def test_schemes_below_one_half_say_that_they_create_energy():
    run = st.solve(CHAIN, st.chains.RegularizedTheta(1e-3, 0.0, 1e-2), (0.0, 3.0))
    line = check(run, "scheme_creates_no_energy")
    assert not line.ok
    assert line.value == pytest.approx(-run.energy.algorithmic.min())
    assert check(run, "step_resolves_smoothing").ok
    run = st.solve(CHAIN, st.chains.RegularizedTheta(1e-3, 0.0, 1e-4), (0.0, 3.0))
    assert not check(run, "step_resolves_smoothing").ok


def test_the_step_that_chatters_follows_from_kinetic_friction():
    # slip is damped at the rate mu_k g / width: explicit steps reverse it from twice its inverse on
    chain = st.Chain(1.0, 1e-3, law=st.StaticKinetic(0.8, 0.2), v0=0.1, n=1)
    limit = 2.0 * 1e-3 / (0.2 * 9.81)
    for share in (0.9, 1.2):
        method = st.chains.RegularizedTheta(share * limit, 0.0, 1e-3)
        run = st.solve(chain, method, (0.0, 0.5))
        assert check(run, "step_resolves_smoothing").limit == pytest.approx(limit, rel=1e-12)
        chatter = np.abs(run.data["v"].values[-9:]).max()
        assert check(run, "step_resolves_smoothing").ok == (chatter < 1e-8)


def test_a_smoothed_law_has_no_static_friction():
    run = st.solve(ONE, st.chains.RegularizedTheta(1e-3, 1.0, 1e-4), (0.0, 8.0))
    assert not check(run, "static_friction_represented").ok
    # creep ends a little before: friction has reached 0.995 of its full value there
    kinetic_onset = 0.3 * 2.0 * 9.81
    assert 0.99 * kinetic_onset < run.quantities["onset_time"].value[0] < 1.01 * kinetic_onset


def test_a_smoothed_law_reports_no_stick():
    run = st.solve(CHAIN, st.chains.RegularizedTheta(1e-3, 0.5, 1e-4), (0.0, 10.0))
    assert set(run.event_log.kind) == {"slip", "reverse"}
    assert sorted(run.event_log.contact[np.array(run.event_log.kind) == "slip"]) == [1, 2, 3]
    assert run.quantities["stop_time"].value is None


@pytest.mark.parametrize("shape", [st.laws.SquareRootSign(), st.laws.TanhSign()])
def test_tiny_smoothing_does_not_overflow(shape):
    method = st.chains.RegularizedTheta(1e-2, 1.0, 1e-200, shape=shape)
    run = st.solve(CHAIN, method, (0.0, 1.0), throw=False)
    # no speed that floating point knows lies within such a width: Newton's method says so
    assert run.status is st.Status.UNTRUSTED
    assert {check.check for check in run.audit.failed} == {"steps_converged"}
    assert np.isfinite(run.final["x"]).all()


# ---- Newton's matrix


def test_newtons_matrix_is_the_derivative_of_the_residual():
    law = st.ExponentialWeakening(0.5, 0.3, 0.2)
    chain = st.Chain(
        mass=[1.0, 2.0, 0.5, 1.5],
        stiffness=[20.0, 30.0, 10.0, 5.0],
        damping=0.3,
        plate_stiffness=2.0,
        belt_speed=0.2,
        law=law,
    )
    request = Request(0.0, 1.0, np.array([0.0, 1.0]))
    for shape in (st.laws.SquareRootSign(), st.laws.TanhSign(), OwnTanh()):
        scheme = theta_setup.Scheme(
            "RegularizedTheta", 0.05, 0.7, 50, 1e-13, 10**6, 10**6, shape=shape, smoothing=0.1
        )
        stepper = integrator.ThetaIntegrator(scheme, chain, request)
        p, work = stepper.problem, stepper.work
        n, w = 4, np.array([0.05, -0.2, 0.11, -0.01])

        def residual(w, p=p, work=work):
            work.system.solution[:4] = w
            smooth.residual.py_func(p, work.f)
            return work.system.rhs[:4].copy()

        jacobian = np.empty((n, n))
        for j in range(n):
            nudge = 1e-6 * np.eye(n)[j]
            jacobian[:, j] = (residual(w + nudge) - residual(w - nudge)) / 2e-6
        pivot = [
            work.masses.pivot[i] + smooth.friction_slope.py_func(p, work.f, i, w[i])
            for i in range(n)
        ]
        coupling = work.system.coupling[: n + 1]
        matrix = np.diag(pivot + coupling[:-1] + coupling[1:])
        matrix -= np.diag(coupling[1:-1], 1) + np.diag(coupling[1:-1], -1)
        np.testing.assert_allclose(jacobian, matrix, rtol=1e-6, atol=1e-6)


# ---- checkpoints


def assert_same_run(one, two):
    for name, variable in one.variables.items():
        assert variable.values.tobytes() == two.variables[name].values.tobytes(), name
    for name, column in one.energy.columns().items():
        assert column.tobytes() == two.energy.columns()[name].tobytes(), name
    assert one.event_log.time.tobytes() == two.event_log.time.tobytes()
    assert one.energy.step_imbalance_rel == two.energy.step_imbalance_rel
    assert dict(one.stats) == dict(two.stats)
    assert [c.value for c in one.audit] == [c.value for c in two.audit]


@pytest.mark.parametrize(
    "method",
    [
        st.ThetaStepper(1e-3, 0.5),
        st.ThetaStepper(0.3, 1.0),
        st.chains.RegularizedTheta(1e-3, 0.5, 1e-3),
        st.chains.RegularizedTheta(1e-3, 0.0, 1e-2),
    ],
)
@pytest.mark.parametrize(
    "law",
    [
        st.Coulomb(0.05),
        st.StaticKinetic(0.08, 0.05),
        st.ExponentialWeakening(0.08, 0.05, 0.2),
        st.UserFriction(lambda v: 0.08 - 0.03 * v / (v + 0.2), lambda v: -0.006 / (v + 0.2) ** 2),
    ],
)
def test_a_resumed_run_is_the_same_to_the_last_bit(method, law, monkeypatch):
    chain = dataclasses.replace(
        CHAIN,
        law=law,
        load=st.chains.Sine(12.0, 2.0),
        belt_speed=0.1,
        plate_stiffness=1.0,
        plate_speed=0.2,
    )
    whole = st.solve(chain, method, (0.0, 6.0), save=77)
    monkeypatch.setattr(integrator, "_MOST_STEPS", max(1, int(1.1 / method.step)))
    notebook = Memory()
    segments = st.solve(chain, method, (0.0, 6.0), save=77, checkpoint=notebook)
    assert_same_run(whole, segments)
    assert len(notebook.pages) >= 4
    for page in notebook.pages[:: max(1, len(notebook.pages) // 3)]:
        resumed = st.solve(chain, method, (0.0, 6.0), save=77, checkpoint=Memory(page))
        assert_same_run(whole, resumed)


def test_an_interrupted_run_resumes(monkeypatch):
    monkeypatch.setattr(integrator, "_MOST_STEPS", 100)
    notebook = Memory()
    notebook.due = lambda: False

    def stop(fraction, note):
        if fraction > 0.3:
            raise KeyboardInterrupt

    method = st.ThetaStepper(1e-3, 0.6)
    st.solve(CHAIN, method, (0.0, 10.0), throw=False, progress=stop, checkpoint=notebook)
    (page,) = notebook.pages
    resumed = st.solve(CHAIN, method, (0.0, 10.0), checkpoint=Memory(page))
    assert_same_run(st.solve(CHAIN, method, (0.0, 10.0)), resumed)


def test_ctrl_c_waits_for_the_end_of_a_step():
    """The signal comes in a user's load; the run that goes on has the same bits."""
    times = []

    def force(t):
        times.append(t)
        if len(times) == 2500:
            signal.raise_signal(signal.SIGINT)
        return 12.0 * t

    chain = dataclasses.replace(CHAIN, load=st.UserLoad(force))
    method = st.ThetaStepper(1e-3, 0.6)
    notebook = Memory()
    notebook.due = lambda: False
    short = st.solve(chain, method, (0.0, 4.0), throw=False, checkpoint=notebook)
    assert short.status is st.Status.INTERRUPTED
    (page,) = notebook.pages
    resumed = st.solve(chain, method, (0.0, 4.0), checkpoint=Memory(page))
    assert_same_run(st.solve(chain, method, (0.0, 4.0)), resumed)


def test_progress_rises_to_the_end():
    seen = []
    chain = dataclasses.replace(CHAIN, load=st.chains.Sine(10.0, 2.0))
    method = st.ThetaStepper(1e-5)
    st.solve(chain, method, (0.0, 10.0), save=2, progress=lambda f, note: seen.append((f, note)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert 0.0 < fractions[0] < 1.0
    assert all(note.endswith("events") for _, note in seen)


def test_kernels_are_the_same_in_python():
    """The hot kernel of the active set, run by the interpreter on the same tables."""
    request = Request(0.0, 1.0, np.array([0.0, 1.0]))
    scheme = theta_setup.Scheme("ThetaStepper", 1e-2, 0.5, 1000, 1e-13, 10**6, 10**6)
    steppers = [integrator.ThetaIntegrator(scheme, CHAIN, request) for _ in range(2)]
    for stepper, solve in zip(
        steppers, (exact.solve_modes, exact.solve_modes.py_func), strict=True
    ):
        w = stepper.work
        w.trial.force[:3] = [0.3, -0.2, 4.0]
        w.modes.now[:3] = [0, 0, 1]
        exact.prepare(stepper.problem, w.f, w.m)
        assert solve(stepper.problem, w.f, w.m, w.progress[0]) in (True, False)
    assert np.array_equal(steppers[0].work.f, steppers[1].work.f)


@pytest.mark.parametrize("scheme", [st.ThetaStepper, st.chains.RegularizedTheta])
def test_a_step_longer_than_the_run_is_refused(scheme):
    smoothed = {"theta": 0.5, "smoothing": 1e-3} if scheme is st.chains.RegularizedTheta else {}
    chain = st.Chain(mass=[1.0], stiffness=4.0, v0=[1.0])
    with pytest.raises(st.ModelError, match=r"step: got 10 s for a span of 1 s.*\n.*\nTry: 0.001"):
        st.solve(chain, scheme(step=10.0, **smoothed), (0.0, 1.0))
    # as long as the run, it is one step
    assert st.solve(chain, scheme(step=1.0, **smoothed), (0.0, 1.0)).stats["steps"] == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_load_that_is_not_finite_is_named_with_its_time(value):
    load = st.UserLoad(lambda t: value if t > 0.5 else 1.0)
    chain = st.Chain(mass=[1.0], stiffness=4.0, load=load)
    run = st.solve(chain, st.ThetaStepper(1e-2), (0.0, 1.0), throw=False)
    assert run.status is st.Status.NOT_FINITE
    assert run.reason == f"the load is {value} N at t = 0.51 s, the end of a step"
    # what helps there is neither another scheme nor another method
    assert "theta" not in run.status.advice
    assert run.t_end == pytest.approx(0.5, abs=1e-12)


def test_a_scheme_that_is_not_stable_says_so():
    chain = st.Chain(mass=[1.0], stiffness=4e4, v0=[1.0])
    method = st.chains.RegularizedTheta(step=0.1, theta=0.0, smoothing=1e-3)
    run = st.solve(chain, method, (0.0, 100.0), throw=False)
    assert run.status is st.Status.NOT_FINITE
    assert run.reason.endswith("a step this long is not stable with theta < 1/2")
