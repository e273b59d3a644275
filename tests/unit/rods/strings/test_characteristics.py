"""The method Characteristics: what it refuses, and what it says of itself."""

from types import SimpleNamespace

import numpy as np
import pytest
from audit_lines import solved

import stiction as st
from stiction.rods import Bump, Pluck, RollingStrings, Sine, Sum
from stiction.rods.methods import Characteristics
from stiction.rods.strings.characteristics import _agreement
from stiction.rods.strings.initial_waves import harmonic_start

WEAK = RollingStrings(u0=Sine(2, 1.0), G1=0.5, G2=0.5, nodes=5)


@pytest.mark.parametrize(
    "fields",
    [
        {"step": 0.0},
        {"step": float("nan")},
        {"corners": -1},
        {"max_steps": 0},
        {"check": 1},
        {"tolerance": -1.0},
        {"end_margin": "small"},
    ],
)
def test_bad_fields_are_refused(fields):
    with pytest.raises(st.ModelError, match="Why:"):
        Characteristics(**fields)


def test_other_systems_and_drag_are_refused():
    with pytest.raises(st.ModelError, match=r"needs a RollingStrings"):
        st.solve(st.Chain(mass=[1.0], stiffness=1.0), Characteristics())
    with pytest.raises(st.ModelError, match="scatters waves everywhere"):
        st.solve(RollingStrings(u0=Sine(2, 1.0), drag=0.1), Characteristics())


def test_step_too_short_for_the_work_is_refused():
    with pytest.raises(st.ModelError, match="before a wave has returned"):
        st.solve(WEAK, Characteristics(step=1e-9))


def test_work_limit_is_a_status():
    run = st.solve(
        WEAK, Characteristics(step=0.2, max_steps=100, check=False), (0.0, 50.0), throw=False
    )
    assert run.status is st.Status.WORK_LIMIT
    assert run.stats["steps"] == 100
    assert run.t_end == run.time[-1] < 50.0


def test_contact_that_comes_to_an_end_is_an_event():
    method = Characteristics(step=1e-2, end_margin=0.29, check=False)
    run = st.solve(WEAK, method, (0.0, 10.0), save=101, throw=False)
    check = {c.check: c for c in run.audit}["contact_inside"]
    assert run.status is st.Status.NO_CONTINUATION
    assert not check.ok
    assert list(run.events.kind) == ["end"]
    assert run.data.s1.values[-1] / (2.0 * np.pi) == pytest.approx(0.29, abs=1e-9)
    assert run.quantities["end_time"].value == run.t_end


def test_steps_land_on_corners():
    system = RollingStrings(u0=Pluck(1.0, 0.3), G1=0.5, G2=0.5, nodes=5)
    many = st.solve(system, Characteristics(step=0.02, check=False), (0.0, 8.0), save=9)
    none = solved(
        system,
        Characteristics(step=0.02, corners=0, tolerance=1e9, check=False),
        (0.0, 8.0),
        save=9,
    )
    fine = st.solve(system, Characteristics(step=5e-4, check=False), (0.0, 8.0), save=9)
    # the two kinks pass u's contact at t = 1 and 3; what they made comes back from 5 on
    assert many.stats["corners_met"] >= 5
    assert none.stats["corners_met"] == 0
    error = [np.abs(run.data.s1.values - fine.data.s1.values).max() for run in (many, none)]
    assert error[0] < 1e-3 * error[1]


def test_saved_times_do_not_matter():
    one = st.solve(WEAK, Characteristics(check=False), (0.0, 4.0), save=3)
    two = st.solve(WEAK, Characteristics(check=False), (0.0, 4.0), save=81)
    assert np.abs(one.data.u.values[-1] - two.data.u.values[-1]).max() <= 1e-11


def test_no_unit_of_time_is_special():
    one, other = (
        st.solve(
            RollingStrings(speed=k, u_t0=Sine(2, 0.2 * k), nodes=3),
            Characteristics(step=1e-2 / k, check=False),
            (0.0, 2.0 / k),
            save=3,
        ).data.s1.values
        for k in (1.0, 1e14)
    )
    assert other == pytest.approx(one, rel=1e-9)


def test_a_limit_of_the_work_is_no_breakdown():
    method = Characteristics(step=1e-2, max_steps=1500)
    run = st.solve(WEAK, method, (0.0, 20.0), save=41, throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert {c.check: c for c in run.audit}["converged"].ok


def test_an_early_breakdown_beside_a_limit_of_the_work_is_not_converged():
    def path(end, flag):
        samples = np.zeros(2, dtype=[("time", float), ("s1", float), ("s2", float)])
        samples["time"] = 0.0, end
        return SimpleNamespace(
            now=SimpleNamespace(done=1, flag=flag),
            kernels=SimpleNamespace(LIMIT=3),
            saved_samples=samples,
            system=WEAK,
            request=SimpleNamespace(t_start=0.0),
        )

    assert not _agreement(path(5.0, 3), path(2.0, 1)).ok
    assert _agreement(path(2.0, 3), path(5.0, 1)).ok


def test_the_delay_on_a_circle_is_one_turn():
    circle = RollingStrings(u0=Sine(2, 1.0), G1=0.5, G2=0.5, nodes=5, ends="periodic")
    method = Characteristics(step=0.01, max_steps=1000)
    assert st.solve(circle, method, (0.0, 1.0), save=2).status is st.Status.SOLVED


def test_a_bump_between_two_steps_is_refused():
    small = RollingStrings(u0=Sum([Sine(2, 0.1), Bump(1.0, 1e-3, 1e-5)]), speed=2.0)
    with pytest.raises(st.ModelError, match=r"at most 0\.00025"):
        Characteristics(step=3e-4).check_step(small)
    Characteristics(step=3e-4, check=False).check_step(small)
    odd = RollingStrings(u0=Bump(1.0, 0.001337, 1e-5))
    with pytest.raises(st.ModelError, match=r"at most 0\.0006685.*\n.*width 0\.001337"):
        Characteristics(step=1e-3).check_step(odd)
    Characteristics(step=0.0006685).check_step(odd)


def test_the_harmonic_of_a_narrow_bump():
    width, length = 0.01, 2.0 * np.pi
    small = RollingStrings(u0=Bump(1.0, width, 1.0))
    z = np.linspace(-1.0, 1.0, 100_001)[1:-1]
    weight = np.exp(1.0 - 1.0 / (1.0 - z * z)) * np.sin(1.0 + width * z)
    wanted = 2.0 / length * width * weight.sum() * 2e-5
    assert harmonic_start(small, 0, 1e-3)[0] == pytest.approx(wanted, rel=1e-6)
