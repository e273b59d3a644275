"""Quasistatic motion under weakening friction: all branches, the one taken, the one lost."""

import dataclasses

import numpy as np
import pytest

from stiction import (
    Chain,
    Constant,
    Coulomb,
    ExponentialWeakening,
    ModelError,
    Ramp,
    SolveError,
    StaticKinetic,
    Status,
    UserFriction,
    UserLoad,
    solve,
)
from stiction.chains import PiecewiseLinear, Sine
from stiction.chains.branching import BranchSet, SlideFrom, StayStuck, branches
from stiction.chains.methods import EventDriven, Quasistatic
from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.exact import chains as exact
from stiction.io.scenario import read_scenario

LAW = ExponentialWeakening(0.3, 0.1, 0.1)
ONE = Chain(mass=[1.0], stiffness=1.0, damping=0.2, normal_force=1.0, load=Constant(0.25), law=LAW)
# the independent reference results, case Q_quasistatic_nonunique
V_SLIDE, H_MIN, V_MIN, X_END = (
    0.7494438309759148,
    0.1660517018598809,
    0.2302585092994046,
    0.08394829814011909,
)
HYPERBOLA = UserFriction(
    lambda v: 0.1 + 0.2 / (1.0 + 10.0 * v), lambda v: -2.0 / (1.0 + 10.0 * v) ** 2
)


def losses(run, kind="quasistatic_branches"):
    return [loss for loss in run.determinism.losses if loss.kind == kind]


# ---- the set of branches


def test_branches_of_the_reference():
    found = branches(ONE, 0.25, [0.0])
    assert [branch.kind for branch in found.branches] == ["stick", "unstable", "sliding"]
    speeds = [branch.velocity[0] for branch in found.branches]
    assert speeds == pytest.approx([0.0, 0.0333113817, V_SLIDE], abs=1e-10)
    assert speeds[2] == pytest.approx(V_SLIDE, rel=1e-14)
    assert not found.always_unique
    assert found.certified
    end = found.slide_end
    assert end.force == pytest.approx(H_MIN, rel=1e-13)
    assert end.speed == pytest.approx(V_MIN, rel=1e-13)
    assert end.x == pytest.approx(X_END, rel=1e-12)
    closed = exact.weakening_slide(0.25, 1.0, 0.2, 1.0, (0.3, 0.1, 0.1))
    assert end.duration == pytest.approx(closed.duration, rel=1e-12)


def test_branches_mirror():
    found, mirrored = branches(ONE, 0.25, [0.0]), branches(ONE, -0.25, [0.0])
    speeds = [-branch.velocity[0] for branch in mirrored.branches]
    assert speeds == [branch.velocity[0] for branch in found.branches]
    assert mirrored.slide_end.x == -found.slide_end.x


def test_a_strong_damper_leaves_one_branch():
    damped = dataclasses.replace(ONE, damping=2.0)
    found = branches(damped, 0.5, [0.0])
    assert found.always_unique
    assert [branch.kind for branch in found.branches] == ["sliding"]
    assert found.slide_end.duration == np.inf
    assert [branch.kind for branch in branches(damped, 0.29, [0.0]).branches] == ["stick"]
    # exactly at the limit of the sheet, C = L N
    assert branches(dataclasses.replace(ONE, damping=2.0), 0.3, [0.0]).always_unique
    assert not branches(dataclasses.replace(ONE, damping=1.99), 0.3, [0.0]).always_unique


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("law", [LAW, HYPERBOLA, StaticKinetic(0.3, 0.15)])
def test_every_branch_solves_the_inclusion(n, law):
    chain = Chain(mass=1.0, n=n, stiffness=20.0, damping=1.0, law=law)
    weak = FrictionCurve.of(chain)
    rng = np.random.default_rng(n)
    counts = set()
    for _ in range(12):
        x = rng.normal(0.0, 0.15, n)
        found = branches(chain, 3.0, x)
        counts.add(len(found.branches))
        drive = 3.0 * chain.load_weights - chain.stiffness_matrix() @ x
        np.testing.assert_allclose(found.drive, drive, atol=1e-12)
        for branch in found.branches:
            v, mode = branch.velocity, branch.mode
            rest = drive - chain.damping_matrix() @ v
            np.testing.assert_array_equal(np.sign(v), mode)
            slips = mode != 0
            np.testing.assert_allclose(rest[slips], (mode * weak.force(v))[slips], atol=1e-9)
            assert (np.abs(rest) <= chain.stick_bound + 1e-9)[~slips].all()
    assert max(counts) > 1
    assert min(counts) >= 1


def test_two_masses_against_a_grid_of_starts():
    """Newton from many starts finds no branch that the search misses."""
    chain = Chain(
        mass=[1.0, 1.0], stiffness=20.0, damping=0.5, law=ExponentialWeakening(0.3, 0.1, 0.5)
    )
    weak, c = FrictionCurve.of(chain), chain.damping_matrix()
    x = np.linalg.solve(chain.stiffness_matrix(), np.array([0.0, 9.0]) - np.array([2.5, 2.8]))
    found = branches(chain, 9.0, x)
    known = np.array([branch.velocity for branch in found.branches])
    assert found.certified
    seen = 0
    for start in np.stack(np.meshgrid(*[np.geomspace(1e-3, 10.0, 12)] * 2), -1).reshape(-1, 2):
        v = start.copy()
        for _ in range(60):
            h = c + np.diag(weak.slope(v))
            v = v - np.linalg.solve(h, c @ v + weak.force(v) - found.drive)
            if (v <= 0.0).any():
                break
        else:
            residual = np.abs(c @ v + weak.force(v) - found.drive).max()
            if residual < 1e-10:
                assert np.abs(known - v).max(axis=1).min() < 1e-6
                seen += 1
    assert seen > 0


def test_what_branches_refuses():
    with pytest.raises(ModelError, match="at most 3"):
        branches(Chain(mass=1.0, n=4, stiffness=1.0, law=LAW), 0.0, np.zeros(4))
    with pytest.raises(ModelError, match="rate of the load"):
        branches(Chain(mass=[1.0], stiffness=1.0, law=Coulomb(0.1)), 0.0, [0.0])
    with pytest.raises(ModelError, match="finite"):
        branches(ONE, np.inf, [0.0])
    with pytest.raises(ModelError, match="SlideFrom"):
        SlideFrom(np.nan)


# ---- runs of one mass


def test_default_stays_stuck_and_says_so():
    run = solve(ONE, Quasistatic(), (0.0, 1.0))
    assert run.final["x"][0] == 0.0
    assert run.determinism.status == "lost"
    (loss,) = losses(run)
    assert loss.time == 0.0
    assert loss.where["velocities"][2][0] == pytest.approx(V_SLIDE, rel=1e-12)
    assert loss.choice == "continued to stick"


def test_sliding_branch_ends_where_the_reference_says():
    run = solve(ONE, Quasistatic(choice=SlideFrom(0.0)), (0.0, 1.0))
    assert run.final["x"][0] == pytest.approx(X_END, rel=1e-12)
    closed = exact.weakening_slide(0.25, 1.0, 0.2, 1.0, (0.3, 0.1, 0.1))
    assert run.event_log.time[1] == pytest.approx(closed.duration, rel=1e-11)
    assert run.event_log.columns["v"][1] == pytest.approx(V_MIN, rel=1e-9)
    assert run.quantities["stop_time"].value == pytest.approx(closed.duration, rel=1e-11)
    assert run.variables["v"].values[0, 0] == pytest.approx(V_SLIDE, rel=1e-12)
    assert run.energy.imbalance_rel < 1e-12


def test_interior_state_is_reached_from_moving_data():
    """Started at w = .35 it must slip, and it stops inside the stick set at t = .2736."""
    run = solve(dataclasses.replace(ONE, load=Constant(0.35)), Quasistatic(), (0.0, 1.0))
    assert 0.35 - run.final["x"][0] == pytest.approx(H_MIN, rel=1e-12)
    closed = exact.weakening_slide(0.35, 1.0, 0.2, 1.0, (0.3, 0.1, 0.1))
    assert run.event_log.time[1] == pytest.approx(closed.duration, rel=1e-11)
    assert run.event_log.time[1] == pytest.approx(0.2736, abs=5e-5)
    # at first slip is forced; rest becomes admissible on the way, where w = mu_s N
    (loss,) = losses(run)
    x = np.interp(loss.time, run.time, run.variables["x"].values[:, 0])
    assert 0.35 - x == pytest.approx(0.3, abs=1e-6)
    assert loss.choice == "continued to slip"


@pytest.mark.parametrize("time", [0.0, 0.2, 0.41])
def test_a_continuum_of_solutions(time):
    """Each time of departure is another solution with the same start and the same load."""
    run = solve(ONE, Quasistatic(choice=SlideFrom(time)), (0.0, 1.0))
    closed = exact.weakening_slide(0.25, 1.0, 0.2, 1.0, (0.3, 0.1, 0.1))
    assert run.event_log.time[0] == pytest.approx(time)
    assert run.event_log.time[1] == pytest.approx(time + closed.duration, rel=1e-10)
    assert run.final["x"][0] == pytest.approx(X_END, rel=1e-11)


def test_branches_open_and_close_under_a_ramp():
    ramp = dataclasses.replace(ONE, load=PiecewiseLinear([0.0, 1.0, 2.0], [0.0, 0.28, 0.0]))
    run = solve(ramp, Quasistatic(), (0.0, 4.0))
    opened = [loss.time for loss in losses(run)]
    assert opened == pytest.approx([H_MIN / 0.28], rel=1e-10)
    twice = dataclasses.replace(
        ONE, load=PiecewiseLinear([0.0, 1.0, 2.0, 3.0], [0.0, 0.28, 0.0, 0.28])
    )
    opened = [loss.time for loss in losses(solve(twice, Quasistatic(), (0.0, 3.0)))]
    assert opened == pytest.approx([H_MIN / 0.28, 2.0 + H_MIN / 0.28], rel=1e-10)


@pytest.mark.parametrize("own", [False, True])
def test_branches_open_on_the_other_side_within_one_segment(own):
    """The load turns round while the mass sticks: |f - k x| = h_min on the other side."""
    wave = UserLoad(lambda t: 0.4 * np.sin(t)) if own else Sine(0.4, 1.0)
    run = solve(dataclasses.replace(ONE, load=wave), Quasistatic(), (0.0, 8.0))
    # slip ends where it carries h_min at least, so that x is known from the time
    first, second = 0.4 * np.sin(run.event_log.time[[1, 3]]) - np.array([H_MIN, -H_MIN])
    expected = [
        np.arcsin(H_MIN / 0.4),
        np.pi - np.arcsin((first - H_MIN) / 0.4),
        2.0 * np.pi + np.arcsin((second + H_MIN) / 0.4),
    ]
    assert [loss.time for loss in losses(run)] == pytest.approx(expected, rel=1e-9)


def test_onset_under_a_ramp_jumps_to_the_stable_branch():
    """At w = mu_s N rest ends; v jumps to the far root of h(v) = mu_s N and relaxes to r/k."""
    run = solve(dataclasses.replace(ONE, load=Ramp(0.5)), Quasistatic(), (0.0, 8.0))
    assert run.quantities["onset_force"].value[0] == pytest.approx(0.3, rel=1e-13)
    after = np.searchsorted(run.time, 0.6, side="right")
    far = exact.weakening_roots(0.3, 0.2, 1.0, 0.3, 0.1, 0.1)[-1]
    assert run.variables["v"].values[after, 0] == pytest.approx(far, rel=2e-2)  # reason: just after
    assert run.final["v"][0] == pytest.approx(0.5, rel=1e-9)
    assert run.energy.imbalance_rel < 1e-12


def test_stick_slip_of_a_slow_ramp():
    """Slower than the end of the branch: slip ends, rests, and starts again, for ever."""
    slow = dataclasses.replace(ONE, load=Ramp(0.05))
    run = solve(slow, Quasistatic(), (0.0, 20.0))
    slips = run.event_log.time[[kind == "slip" for kind in run.event_log.kind]]
    assert slips.size >= 4
    # from h_min back to mu_s N at the rate of the load, and the slide between
    rest = (0.3 - H_MIN) / 0.05
    stops = run.event_log.time[[kind == "stick" for kind in run.event_log.kind]]
    np.testing.assert_allclose(slips[1:] - stops[: slips.size - 1], rest, rtol=1e-9)
    assert run.energy.imbalance_rel < 1e-11


def test_uniqueness_is_recognised():
    damped = dataclasses.replace(ONE, damping=2.5, load=Ramp(0.5))
    run = solve(damped, Quasistatic(), (0.0, 3.0))
    assert run.determinism.status == "deterministic"
    check = next(c for c in run.audit if c.check == "velocity_unique")
    assert check.ok
    assert check.value == pytest.approx(0.5, rel=1e-12)
    assert run.quantities["onset_time"].value[0] == pytest.approx(0.6, rel=1e-12)
    # here a small mass makes no difference
    dynamic = solve(dataclasses.replace(damped, mass=[1e-4]), EventDriven(), (0.0, 3.0))
    assert run.final["x"][0] == pytest.approx(dynamic.final["x"][0], abs=2e-5)
    assert run.t_end == 3.0


def test_a_little_inertia_takes_the_same_branches():
    """The dynamic problem with a small mass follows the branches this method chooses."""
    for load in (Constant(0.35), Ramp(0.5)):
        still = dataclasses.replace(ONE, load=load)
        light = dataclasses.replace(still, mass=[1e-5])
        a = solve(still, Quasistatic(), (0.0, 1.0)).final["x"][0]
        b = solve(light, EventDriven(), (0.0, 1.0)).final["x"][0]
        assert a == pytest.approx(b, abs=1e-3)


def test_no_continuation_without_dampers():
    rigid = dataclasses.replace(ONE, damping=0.0, load=Ramp(0.5))
    with pytest.raises(SolveError, match="weakens") as caught:
        solve(rigid, Quasistatic(), (0.0, 2.0))
    run = caught.value.run
    assert run.status is Status.NO_CONTINUATION
    assert run.t_end == pytest.approx(0.6, rel=1e-13)
    assert run.final["x"].tolist() == [0.0]
    (loss,) = losses(run, "no_continuation")
    assert loss.time == pytest.approx(0.6, rel=1e-13)
    assert loss.where["contact"] == 1
    units = {"drive": "N", "bound": "N", "load": "N", "x": "m", "velocities": "m/s"}
    assert loss.units == units
    # as long as nothing slips there is a solution
    held = solve(dataclasses.replace(rigid, load=Sine(0.29, 3.0)), Quasistatic(), (0.0, 9.0))
    assert held.status is Status.SOLVED
    chain = Chain(mass=[1.0] * 3, stiffness=20.0, law=StaticKinetic(0.3, 0.2), load=Ramp(1.0))
    run = solve(chain, Quasistatic(), (0.0, 9.0), throw=False)
    assert run.t_end == pytest.approx(0.3 * 9.81, rel=1e-13)


# ---- several masses


def check_inclusion(chain, run):
    """Every saved state solves the inclusion, from dense matrices; the energies close."""
    k, c, bound = chain.stiffness_matrix(), chain.damping_matrix(), chain.stick_bound
    weak = FrictionCurve.of(chain)
    t, x, v, mode = (run.time, *(run.variables[name].values for name in ("x", "v", "mode")))
    drive = np.multiply.outer(chain.load.at(t), chain.load_weights) - x @ k - v @ c
    drive += np.multiply.outer(chain.plate_speed * t, chain.plate_springs)
    slip = v - chain.belt_speed
    size = np.abs(drive).max() + bound.max()
    assert run.status is Status.SOLVED
    assert run.time.size == run.asked.size
    assert (np.abs(drive) <= bound + 1e-9 * size)[mode == 0].all()
    slid = mode * weak.force(slip.T).T
    np.testing.assert_allclose(drive[mode != 0], slid[mode != 0], rtol=0, atol=1e-9 * size)
    assert (slip * mode >= -1e-9 * np.abs(slip).max()).all()
    assert (np.abs(slip) <= 1e-9 * (np.abs(slip).max() + 1.0))[mode == 0].all()
    assert run.energy.imbalance_rel < 1e-9
    assert (np.diff(run.energy.friction_heat, axis=0) >= -1e-10 * size).all()


@pytest.mark.parametrize("seed", range(12))
def test_random_weakening_chains_solve_the_inclusion(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    laws = [
        ExponentialWeakening(rng.uniform(0.15, 0.3, n), rng.uniform(0.02, 0.15, n), 0.2),
        StaticKinetic(rng.uniform(0.15, 0.3, n), rng.uniform(0.02, 0.15, n)),
        HYPERBOLA,
        UserFriction(lambda v: 0.1 + 0.05 * v / (1.0 + v), lambda v: 0.05 / (1.0 + v) ** 2),
    ]
    loads = [Ramp(2.0), Sine(15.0, 1.3), PiecewiseLinear([0.0, 1.0, 3.0], [0.0, 9.0, -7.0])]
    chain = Chain(
        mass=rng.uniform(0.3, 3.0, n),
        stiffness=rng.uniform(3.0, 50.0, n),
        damping=rng.uniform(0.1, 3.0, n),
        law=laws[seed % 4],
        load=loads[seed % 3],
        belt_speed=0.3 if seed % 5 == 4 else 0.0,
    )
    run = solve(chain, Quasistatic(), (0.0, 2.5), save=501)
    check_inclusion(chain, run)
    searched = next(c for c in run.audit if c.check == "branches_searched")
    assert searched.ok == (n <= 3 or chain.law is laws[3])
    if n > 3 and not searched.ok:
        assert all("up to 3 masses" in str(loss.where) for loss in losses(run))


def test_users_load_under_weakening():
    own = UserLoad(lambda t: 0.4 * np.sin(t))
    run = solve(dataclasses.replace(ONE, load=own), Quasistatic(), (0.0, 6.0), save=301)
    same = solve(dataclasses.replace(ONE, load=Sine(0.4, 1.0)), Quasistatic(), (0.0, 6.0), save=301)
    check_inclusion(dataclasses.replace(ONE, load=own), run)
    np.testing.assert_allclose(run.event_log.time, same.event_log.time, atol=1e-9)
    np.testing.assert_allclose(run.final["x"], same.final["x"], atol=1e-10)


def test_strengthening_friction_needs_no_damper():
    """mu rising with speed regularises: v solves N mu(v) = w, and the motion is unique."""
    law = UserFriction(lambda v: 0.1 + 0.2 * v / (1.0 + v), lambda v: 0.2 / (1.0 + v) ** 2)
    chain = Chain(mass=[1.0], stiffness=1.0, normal_force=1.0, law=law, load=Ramp(0.1))
    run = solve(chain, Quasistatic(), (0.0, 6.0))
    check_inclusion(chain, run)
    assert run.determinism.status == "deterministic"
    # steady slip at the rate of the load over k
    assert run.final["v"][0] == pytest.approx(0.1, rel=1e-6)
    two = dataclasses.replace(chain, mass=[1.0, 1.0], normal_force=[1.0, 0.0])
    with pytest.raises(ModelError, match="do not resist every motion"):
        solve(two, Quasistatic(), (0.0, 6.0))


def test_partly_damped_weakening_is_refused():
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, damping=[0.0, 1.0], law=LAW, load=Ramp(1.0))
    with pytest.raises(ModelError, match="do not resist every motion"):
        solve(chain, Quasistatic(), (0.0, 1.0))
    long = Chain(mass=1.0, n=201, stiffness=20.0, damping=1.0, law=LAW, load=Ramp(1.0))
    with pytest.raises(ModelError, match="at most 200"):
        solve(long, Quasistatic(), (0.0, 1.0))


def test_choices_are_plain_records():
    assert SlideFrom(1.0) == SlideFrom(1.0)
    assert SlideFrom(1.0) != SlideFrom(2.0)
    assert Quasistatic().choice == StayStuck()
    assert not StayStuck().leaves(1e9)
    assert isinstance(branches(ONE, 0.0, [0.0]), BranchSet)


def test_forces_whose_squares_overflow_end_in_a_status_or_a_refusal():
    changes = ["system.belt_speed=1e300", "system.gravity=1e9"]
    run = read_scenario("quasistatic-branches", changes).solve(throw=False)
    assert run.status is Status.NOT_FINITE


def test_places_beyond_floating_point_are_refused():
    with pytest.raises(ModelError, match=r"unstressed positions .* beyond floating point"):
        Chain(mass=1.0, n=3, stiffness=1.0, spacing=1e308)
