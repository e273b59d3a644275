"""Quasistatic motion under constant friction: play operator, damped rise, general modes."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import brentq

from stiction import (
    Chain,
    Constant,
    Coulomb,
    EventDriven,
    ModelError,
    Ramp,
    SolveError,
    Status,
    StickSet,
    UserFriction,
    UserLoad,
    solve,
)
from stiction.chains import Load, PiecewiseLinear, Sine, SumOf
from stiction.chains.loads import LoadSegments
from stiction.chains.methods import Quasistatic
from stiction.chains.polynomials import first_fall
from stiction.chains.quasistatic import play
from stiction.chains.quasistatic.linear_slip import LinearSlip
from stiction.chains.quasistatic.load_path import LoadPath, slope
from stiction.chains.quasistatic.slip_frame import Frame
from stiction.chains.quasistatic.stepper import Stepper
from stiction.core.run import Request
from stiction.exact import chains as exact
from stiction.laws import RandomCoulomb

LOADS = {
    "ramp": (Ramp(1.0), 10.0),
    "turns": (PiecewiseLinear([0.0, 10.0, 30.0, 45.0], [0.0, 10.0, -10.0, 5.0]), 45.0),
    "hold": (PiecewiseLinear([0.0, 2.0, 3.0, 6.0], [0.0, 8.0, 8.0, -8.0]), 8.0),
    "sine": (Sine(10.0, 1.0), 15.0),
    "sines": (SumOf([Sine(6.0, 1.0), Sine(3.0, 2.7), Ramp(0.2)]), 20.0),
    "own": (UserLoad(lambda t: 10.0 * np.sin(t) * np.exp(-t / 20.0)), 15.0),
}


def request(t_end, rows=201, t_start=0.0):
    return Request(t_start, t_end, np.linspace(t_start, t_end, rows))


def by_play(chain, t_end, rows=201):
    path = LoadPath.of(chain.load, 0.0, t_end, 2000, 10**6)
    history = play.play_history(chain, request(t_end, rows), path, 10**6)
    assert history.time.size == rows
    return history


def by_modes(chain, t_end, rows=201):
    frame = Frame(chain)
    slip = LinearSlip(frame, may_slip=True)
    history = Stepper(Quasistatic(), chain, request(t_end, rows), frame, slip).run()
    assert history.time.size == rows
    return history


def check_inclusion(chain, history, tolerance=1e-9):
    """Every saved state solves the inclusion, and the energies close: then it is the solution.

    Forces come from the dense matrices, not from the code under test.
    """
    k, c, bound = chain.stiffness_matrix(), chain.damping_matrix(), chain.stick_bound
    t, x, v, mode = history.time, history.x, history.v, history.mode
    drive = np.multiply.outer(chain.load.at(t), chain.load_weights) - x @ k - v @ c
    drive += np.multiply.outer(chain.plate_speed * t, chain.plate_springs)
    size = np.abs(drive).max() + bound.max()
    slip = v - chain.belt_speed
    speed = np.abs(slip).max() + 1e-300
    held = bound > 0.0
    assert history.status is Status.SOLVED
    np.testing.assert_allclose(history.friction, -drive, rtol=0, atol=tolerance * size)
    assert (np.abs(drive) <= bound + tolerance * size).all()
    np.testing.assert_allclose(
        np.where(mode != 0, drive, 0.0),
        np.where(mode != 0, mode * bound, 0.0),
        rtol=0,
        atol=tolerance * size,
    )
    assert (slip * mode >= -tolerance * speed)[:, held].all()
    assert (np.abs(slip) <= tolerance * speed)[:, held][(mode == 0)[:, held]].all()
    assert history.energy.imbalance_rel < 1e-11
    assert (np.diff(history.energy.friction_heat, axis=0) >= -1e-12 * size).all()


# ---- pieces


@given(some.lists(some.integers(-24, 24), min_size=2, max_size=7), some.integers(1, 16))
def test_first_fall_against_numpy_roots(tail, first):
    """Against all roots of the polynomial; near-double roots are left out of the comparison."""
    rows = np.array([[first, *tail]]) / 8.0
    roots = np.roots(rows[0][::-1])
    real = np.sort(roots[(np.abs(roots.imag) < 1e-7) & (roots.real > 0.0)].real)
    near_double = np.any(np.diff(real) < 1e-3) or np.any(
        (np.abs(roots.imag) < 1e-2) & (np.abs(roots.imag) > 0.0)
    )
    turn, found = first_fall(rows)
    inside = real[real < 1.0 - 1e-6]
    if near_double or np.any(np.abs(real - 1.0) < 1e-5):
        assert turn >= 0.0
    elif inside.size:
        assert turn == pytest.approx(inside[0], rel=1e-6)
        assert found == [0]
    else:
        assert turn > 1.0 - 1e-6


def test_all_extrema_of_the_load_are_isolated():
    load = SumOf([Sine(6.0, 1.0, 0.3), Sine(3.0, 2.7), Sine(0.5, 11.0), Ramp(0.2)])
    path = LoadPath.of(load, 0.5, 30.0, 100, 10**6)
    t = np.linspace(0.5, 30.0, 200_001)
    rate = slope(path.segments, t, 0.0)
    cells = np.flatnonzero(rate[1:] * rate[:-1] < 0.0)
    found = [brentq(lambda s: float(slope(path.segments, s, 0.0)), t[j], t[j + 1]) for j in cells]
    np.testing.assert_allclose(path.time[1:-1], found, rtol=1e-12)
    for j in range(path.first.size):
        level = np.linspace(path.first[j], path.last[j], 7)[1:-1]
        np.testing.assert_allclose(load.at(path.inverse(j, level)), level, atol=1e-12)


def test_a_double_root_of_the_rate_is_no_extremum():
    # cos(t) - 1 <= 0 touches zero: one falling stretch
    load = SumOf([Sine(1.0, 1.0), Ramp(-1.0)])
    assert LoadPath.of(load, 0.0, 20.0, 100, 100).first.size == 1


# ---- the play operator


def test_slow_ramp_starts_each_mass_at_its_critical_force():
    chain = Chain(
        mass=[1.0, 2.0, 4.0], stiffness=[20.0, 35.0, 15.0], law=Coulomb(0.1), load=Ramp(1.0)
    )
    run = solve(chain, Quasistatic(), (0.0, 10.0))
    critical = exact.critical_force([1.0, 2.0, 4.0], 0.1)
    np.testing.assert_allclose(run.quantities["onset_force"].value, critical, rtol=1e-14)
    for t, x in zip(run.time, run.variables["x"].values, strict=True):
        at_rest = exact.quasistatic_rising(t, chain.masses, chain.stiffness, 0.1)
        np.testing.assert_allclose(x, at_rest, atol=1e-14)
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-14
    assert not run.energy.kinetic.any()


def test_second_reversal_follows_play_not_masing():
    load, t_end = LOADS["turns"]
    chain = Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, law=Coulomb(0.25), load=load)
    run = solve(chain, Quasistatic(), (0.0, t_end), save=[0.0, 10.0, 30.0, 45.0])
    tension = 20.0 * np.diff(run.variables["x"].values, prepend=0.0, axis=1)
    width = exact.critical_force([1.0] * 3, 0.25)
    np.testing.assert_allclose(tension, exact.play(load.value, width), atol=1e-13)
    masing = tension[1] - np.maximum(0.0, 10.0 - 5.0 - 2.0 * width)
    assert np.abs(tension[3] - masing).max() > 1.0
    np.testing.assert_allclose(
        tension[2], tension[1] - np.maximum(0.0, 10.0 - (-10.0) - 2.0 * width), atol=1e-13
    )


@pytest.mark.parametrize("name", LOADS)
def test_sweeping_equals_play(name):
    """Two methods without common ground: operators link by link, modes by linear algebra."""
    load, t_end = LOADS[name]
    chain = Chain(
        mass=[1.0, 2.0, 1.0, 0.5], stiffness=[20.0, 30.0, 10.0, 5.0], law=Coulomb(0.15), load=load
    )
    a, b = by_play(chain, t_end), by_modes(chain, t_end)
    rough = 1e-10 if name == "own" else 1e-12
    np.testing.assert_allclose(a.x, b.x, atol=rough)
    np.testing.assert_array_equal(a.mode, b.mode)
    np.testing.assert_allclose(a.v, b.v, atol=1e-7 if name == "own" else 1e-12)
    np.testing.assert_allclose(a.events.time, b.events.time, atol=rough)
    for column in ("mass", "before", "after"):
        np.testing.assert_array_equal(getattr(a.events, column), getattr(b.events, column))
    np.testing.assert_allclose(a.events.friction_left, b.events.friction_left, atol=1e-11)
    for column in ("external_work", "friction_heat"):
        np.testing.assert_allclose(
            getattr(a.energy, column), getattr(b.energy, column), rtol=1e-9, atol=1e-9
        )
    if name != "own":
        check_inclusion(chain, a, 1e-12)
    check_inclusion(chain, b)


def test_play_of_long_chains_is_the_closed_form():
    n = 100_000
    chain = Chain(mass=1e-3, n=n, stiffness=1e6, law=Coulomb(0.3), load=Ramp(1.0))
    run = solve(chain, Quasistatic(), (0.0, 200.0), save=[0.0, 100.0, 200.0], throw=False)
    # a rise of 1 N/s is fast for a chain so long: the formula knows no inertia either
    assert {check.check for check in run.audit.failed} == {"inertia_negligible"}
    for t, x in zip(run.time, run.variables["x"].values, strict=True):
        at_rest = exact.quasistatic_rising(t, chain.masses, 1e6, 0.3)
        np.testing.assert_allclose(x, at_rest, rtol=1e-9, atol=1e-12)
    slipped = np.count_nonzero(exact.critical_force(chain.masses, 0.3) < 200.0)
    assert len(run.event_log) == slipped


@pytest.mark.parametrize("method", [by_play, by_modes])
def test_mirror_and_sign_symmetry(method):
    load, t_end = LOADS["sines"]
    left = Chain(
        mass=[1.0, 2.0, 4.0], stiffness=[20.0, 35.0, 15.0], law=Coulomb([0.1, 0.2, 0.05]), load=load
    )
    right = Chain(
        mass=[4.0, 2.0, 1.0],
        stiffness=[15.0, 35.0, 20.0],
        law=Coulomb([0.05, 0.2, 0.1]),
        supports="right",
        load_vector=[1.0, 0.0, 0.0],
        load=load,
    )
    negative = dataclasses.replace(left, load_vector=[0.0, 0.0, -1.0])
    here, there, turned = (method(chain, t_end) for chain in (left, right, negative))
    np.testing.assert_allclose(there.x[:, ::-1], here.x, atol=1e-13)
    np.testing.assert_allclose(turned.x, -here.x, atol=1e-13)
    np.testing.assert_array_equal(turned.mode, -here.mode)
    np.testing.assert_allclose(
        there.energy.friction_heat[:, ::-1], here.energy.friction_heat, atol=1e-11
    )


def test_stored_stress_shifts_the_onsets():
    chain = Chain(
        mass=[1.0, 1.0, 1.0], stiffness=20.0, law=Coulomb(0.25), x0=[0.02, 0.1, 0.1], load=Ramp(1.0)
    )
    run = solve(chain, Quasistatic(), (0.0, 12.0))
    np.testing.assert_allclose(
        run.quantities["onset_force"].value, chain.critical_force(), rtol=1e-13
    )


def test_hold_sticks_and_stops():
    load, t_end = LOADS["hold"]
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.25), load=load)
    run = solve(chain, Quasistatic(), (0.0, t_end))
    table = run.event_log
    at_hold = [
        (c, k) for t, c, k in zip(table.time, table.contact, table.kind, strict=True) if t == 2.0
    ]
    assert sorted(at_hold) == [(1, "stick"), (2, "stick")]
    assert run.quantities["stop_time"].value == 6.0
    assert run.final["v"].tolist() == [0.0, 0.0]


# ---- dampers


def test_damped_rise_is_the_closed_form():
    chain = Chain(
        mass=[1.0, 2.0, 1.0, 0.5],
        stiffness=[20.0, 30.0, 10.0, 5.0],
        damping=[1.0, 0.5, 2.0, 0.1],
        law=Coulomb(0.15),
        load=Ramp(1.5),
    )
    assert play.is_play(chain, request(15.0))
    run = solve(chain, Quasistatic(), (0.0, 15.0))
    critical = exact.critical_force(chain.masses, 0.15)
    x, v = exact.damped_ramp(run.time, 1.5, critical, chain.stiffness, chain.damping)
    np.testing.assert_allclose(run.variables["x"].values, x, atol=1e-13)
    np.testing.assert_allclose(run.variables["v"].values, v, atol=1e-13)
    assert run.energy.imbalance_rel < 1e-13
    assert run.energy.viscous_heat[-1] > 0.0


@pytest.mark.parametrize("supports", ["left", "right"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_damped_rise_equals_modes(supports, sign):
    load = PiecewiseLinear([0.0, 5.0, 8.0, 12.0], [0.5 * sign, 8.0 * sign, 8.0 * sign, 15.0 * sign])
    k, c = [20.0, 30.0, 10.0, 5.0], [1.0, 0.5, 2.0, 0.1]
    end = [0.0, 0.0, 0.0, 1.0]
    way = slice(None) if supports == "left" else slice(None, None, -1)
    chain = Chain(
        mass=[1.0, 2.0, 1.0, 0.5],
        stiffness=k[way],
        damping=c[way],
        law=Coulomb(0.1),
        load=load,
        supports=supports,
        load_vector=end[way],
    )
    assert play.is_play(chain, request(15.0))
    a, b = by_play(chain, 15.0), by_modes(chain, 15.0)
    np.testing.assert_allclose(a.x, b.x, atol=1e-12)
    np.testing.assert_allclose(a.v, b.v, atol=1e-12)
    np.testing.assert_array_equal(a.mode, b.mode)
    np.testing.assert_allclose(a.events.time, b.events.time, atol=1e-12)
    for name in ("external_work", "viscous_heat", "friction_heat"):
        np.testing.assert_allclose(getattr(a.energy, name), getattr(b.energy, name), atol=1e-11)
    check_inclusion(chain, a, 1e-12)


def test_damped_load_that_is_there_at_once():
    """A step on a damped chain: all masses slip at t = 0 and relax, each link on its own."""
    chain = Chain(
        mass=[1.0, 1.0], stiffness=20.0, damping=3.0, law=Coulomb(0.1), load=Constant(5.0)
    )
    run = solve(chain, Quasistatic(), (0.0, 3.0))
    final = exact.quasistatic_rising(5.0, [1.0, 1.0], [20.0, 20.0], 0.1)
    fade = -np.expm1(-20.0 / 3.0 * run.time)
    np.testing.assert_allclose(run.variables["x"].values, np.outer(fade, final), atol=1e-14)
    assert run.quantities["onset_time"].value == [0.0, 0.0]
    assert run.event_log.time.tolist() == [0.0, 0.0]
    assert run.quantities["stop_time"].value is None


def test_long_damped_chain_in_order_n():
    n = 20_000
    chain = Chain(mass=1e-3, n=n, stiffness=1e6, damping=1e4, law=Coulomb(0.3), load=Ramp(1.0))
    run = solve(chain, Quasistatic(), (0.0, 30.0), save=[0.0, 15.0, 30.0], throw=False)
    # a rise of 1 N/s is fast for a chain so long: the formula knows no inertia either
    assert {check.check for check in run.audit.failed} == {"inertia_negligible"}
    critical = exact.critical_force(chain.masses, 0.3)
    full = (np.full(n, 1e6), np.full(n, 1e4))
    x, _ = exact.damped_ramp(run.time, 1.0, critical, *full)
    np.testing.assert_allclose(run.variables["x"].values, x, rtol=1e-11, atol=1e-15)
    assert run.energy.imbalance_rel < 1e-12
    with pytest.raises(ModelError, match="600"):
        solve(dataclasses.replace(chain, load=Sine(1.0, 1.0)), Quasistatic(), (0.0, 1.0))


# ---- any chain


def random_chain(seed):
    """Any supports, any load vector, dampers everywhere, somewhere or nowhere, belt, plate."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    supports = str(rng.choice(["left", "right", "both", "none"])) if n > 1 else "left"
    springs = {"left": n, "right": n, "both": n + 1, "none": n - 1}[supports]
    plate = rng.uniform(1.0, 10.0, n) * rng.integers(0, 2, n)
    if supports == "none":
        plate[0] = 3.0
    elif rng.random() < 0.5:
        plate[:] = 0.0
    full = rng.uniform(0.1, 3.0, springs)
    damping = [0.0 * full, full, full * rng.integers(0, 2, springs)][seed % 3]
    loads = [*(load for load, _ in LOADS.values())]
    return Chain(
        mass=rng.uniform(0.3, 3.0, n),
        stiffness=rng.uniform(3.0, 50.0, springs),
        damping=damping,
        law=Coulomb(rng.uniform(0.05, 0.3, n)),
        load=loads[int(rng.integers(len(loads)))],
        load_vector=rng.normal(size=n) if rng.random() < 0.5 else None,
        supports=supports,
        plate_stiffness=plate,
        plate_speed=0.5 if plate.any() else 0.0,
        belt_speed=float(rng.choice([0.0, 0.0, 0.3])),
    )


@pytest.mark.parametrize("seed", range(45))
def test_random_chains_solve_the_inclusion(seed):
    chain = random_chain(seed)
    history = by_modes(chain, 9.0, rows=901)
    check_inclusion(chain, history)
    # places and velocities belong together
    steps = np.diff(history.time)[:, None] * 0.5 * (history.v[1:] + history.v[:-1])
    drift = np.abs(np.cumsum(np.diff(history.x, axis=0) - steps, axis=0)).max()
    assert drift <= 2e-2 * (np.abs(history.x).max() + 1e-3)


def test_dampers_small_and_large_fade_into_the_limits():
    """With c -> 0 the damped solution tends to the play; error of order c."""
    load, t_end = LOADS["turns"]
    chain = Chain(mass=[1.0, 2.0, 1.0], stiffness=20.0, law=Coulomb(0.15), load=load)
    rigid = by_play(chain, t_end)
    errors = []
    for c in (1e-2, 1e-4, 1e-8):
        damped = by_modes(dataclasses.replace(chain, damping=c), t_end)
        errors.append(np.abs(damped.x - rigid.x).max())
    assert errors[1] == pytest.approx(1e-2 * errors[0], rel=1e-2)
    assert errors[2] < 1e-8


def test_dynamic_solution_tends_to_the_quasistatic_one():
    """A slower and slower ramp with inertia: the error falls with the rate, order one."""
    chain = Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, damping=2.0, law=Coulomb(0.25))
    errors = []
    for rate in (0.1, 0.025):
        slow = dataclasses.replace(chain, load=Ramp(rate))
        span = (0.0, 10.0 / rate)
        moving = solve(slow, EventDriven(), span).final["x"]
        still = solve(dataclasses.replace(slow, damping=0.0), Quasistatic(), span).final["x"]
        errors.append(np.abs(moving - still).max())
    assert 0.22 * errors[0] < errors[1] < 0.28 * errors[0]


def test_random_friction_and_constant_user_law():
    load, t_end = LOADS["sine"]
    same = UserFriction(lambda v: 0.2, lambda v: 0.0)
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=same, load=load)
    constant = dataclasses.replace(chain, law=Coulomb(0.2))
    a, b = (solve(c, Quasistatic(), (0.0, t_end)) for c in (chain, constant))
    np.testing.assert_array_equal(a.final["x"], b.final["x"])
    drawn = dataclasses.replace(chain, law=RandomCoulomb(0.2, 0.1, 3))
    assert solve(drawn, Quasistatic(), (0.0, t_end)).energy.imbalance_rel < 1e-13


def test_masses_without_friction_follow():
    chain = Chain(
        mass=[1.0, 1.0, 1.0], stiffness=20.0, law=Coulomb([0.2, 0.0, 0.2]), load=Sine(6.0, 1.0)
    )
    a, b = by_play(chain, 9.0), by_modes(chain, 9.0)
    np.testing.assert_allclose(a.x, b.x, atol=1e-13)
    assert not Chain(mass=[1.0], stiffness=20.0, load=Sine(6.0, 1.0)).stick_bound.any()
    bare = solve(Chain(mass=[1.0], stiffness=20.0, load=Sine(6.0, 1.0)), Quasistatic(), (0.0, 9.0))
    np.testing.assert_allclose(
        bare.variables["x"].values[:, 0], 0.3 * np.sin(bare.time), atol=1e-14
    )


@pytest.mark.parametrize("pull", ["load", "plate"])
def test_inertia_without_friction_is_measured_by_the_load(pull):
    for speed in (0.1, 1.0, 10.0):
        # both pull the mass with 6 N within the time of a radian
        chain, span = Chain(mass=[1.0], stiffness=20.0, load=Sine(6.0, speed)), 9.0 / speed
        if pull == "plate":
            chain = Chain(mass=[1.0], stiffness=15.0, plate_stiffness=5.0, plate_speed=6.0 * speed)
            span = 256.0 / 255.0 / speed
        run = solve(chain, Quasistatic(), (0.0, span), throw=False)
        (line,) = [check for check in run.audit if check.check == "inertia_negligible"]
        assert line.value == pytest.approx(speed / np.sqrt(20.0), rel=1e-3)
        assert line.ok == (line.value <= line.limit)
        assert "there is no friction" in line.note


# ---- ends, limits, refusals


def test_start_outside_the_stick_set_is_refused():
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.1), x0=[0.5, 0.1], load=Ramp(1.0))
    with pytest.raises(ModelError, match=r"StickSet\(chain, f\)\.nearest"):
        solve(chain, Quasistatic(), (0.0, 1.0))
    near = StickSet(chain, 0.0).nearest([0.5, 0.1]).x
    run = solve(dataclasses.replace(chain, x0=near), Quasistatic(), (0.0, 1.0))
    assert run.status is Status.SOLVED
    solve(dataclasses.replace(chain, damping=1.0), Quasistatic(), (0.0, 1.0))


@pytest.mark.parametrize("wall", ["left", "both"])
def test_a_jump_of_the_load_ends_an_undamped_run(wall):
    load = UserLoad(lambda t: 1.0 * t if t < 1.0 else 9.0 + t, breakpoints=[1.0])
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.1), load=load, supports=wall)
    with pytest.raises(SolveError, match="jump") as caught:
        solve(chain, Quasistatic(), (0.0, 2.0))
    run = caught.value.run
    assert run.status is Status.NO_CONTINUATION
    assert run.t_end == pytest.approx(1.0)
    (loss,) = run.determinism.losses
    assert loss.kind == "no_continuation"
    units = {name: loss.units[name] for name in ("drive", "bound", "load", "x")}
    assert units == {"drive": "N", "bound": "N", "load": "N", "x": "m"}
    damped = solve(dataclasses.replace(chain, damping=1.0), Quasistatic(), (0.0, 2.0))
    assert damped.status is Status.SOLVED
    assert damped.energy.imbalance_rel < 1e-11
    small = UserLoad(lambda t: 1.0 * t if t < 1.0 else t - 0.5, breakpoints=[1.0])
    back = solve(dataclasses.replace(chain, load=small), Quasistatic(), (0.0, 1.2))
    # the last mass slipped up to the jump; then the load is within its bound
    reached = (1.0 - 0.1 * 9.81) / (40.0 if wall == "both" else 20.0)
    after = back.time > 1.0
    np.testing.assert_allclose(back.data.x.values[after, 1], reached, rtol=1e-8)
    assert not back.data.mode.values[after].any()


class Lines(Load):
    """A load of straight lines between `time`, which may jump there."""

    def __init__(self, time, offset, rate):
        self.lines = [np.array(values, dtype=float) for values in (time, offset, rate)]

    def segments(self):
        return LoadSegments(*self.lines, np.empty(0), np.empty(0), np.empty(0))


@pytest.mark.parametrize(
    ("load", "damping"),
    [
        # back within the play; up, down, and down at a constant load, each with dampers
        (UserLoad(lambda t: 5.0 * t if t < 1.0 else 5.0 * t - 0.8, [1.0]), 0.0),
        (Lines([0, 1, 2], [0, 4, 4], [1, 0, 2]), 2.0),
        (Lines([0, 1], [0, 3], [5, 0]), 2.0),
        (Lines([0, 1, 2], [0, 0.5, 1], [1, 1, 0]), 2.0),
    ],
)
def test_jumps_of_the_load(load, damping):
    chain = Chain(mass=[1.0, 1.0], stiffness=10.0, gravity=1.0, law=Coulomb(0.5), load=load)
    chain = dataclasses.replace(chain, damping=damping)
    run, modes = solve(chain, Quasistatic(), (0.0, 3.0), save=13), by_modes(chain, 3.0, 13)
    for name in ("x", "v", "mode", "friction"):
        np.testing.assert_array_equal(run.data[name].values, getattr(modes, name))


def test_partly_damped_chain_cannot_jump_either():
    chain = Chain(
        mass=[1.0, 1.0], stiffness=20.0, damping=[0.0, 1.0], law=Coulomb(0.1), load=Constant(5.0)
    )
    run = solve(chain, Quasistatic(), (0.0, 1.0), throw=False)
    assert run.status is Status.NO_CONTINUATION


@pytest.mark.parametrize(("t_start", "speed"), [(0.0, 1e5), (2e6 * np.pi, 1.0)])
def test_velocities_under_a_users_load(t_start, speed):
    """As under the same sine, on any scale of time and late in time."""
    span, runs = (t_start, t_start + 6.0 / speed), []
    for load in (UserLoad(lambda t: 5.0 * np.sin(speed * t)), Sine(5.0, speed)):
        chain = Chain(mass=[1.0], stiffness=10.0, normal_force=1.0, law=Coulomb(1.0), load=load)
        runs.append(solve(chain, Quasistatic(), span, save=7, throw=False))
    own, sine = (run.data.v.values for run in runs)
    assert np.count_nonzero(sine) == 4
    np.testing.assert_allclose(own, sine, rtol=0.0, atol=1e-6 * speed)
    own, sine = ({check.check: check.value for check in run.audit} for run in runs)
    assert own["inertia_negligible"] == pytest.approx(sine["inertia_negligible"])


def test_a_load_that_turns_between_samples_is_refused():
    load = UserLoad(lambda t: 2.0 * np.sin(200.0 * np.pi * t))
    chain = Chain(mass=[1.0], stiffness=10.0, normal_force=1.0, law=Coulomb(1.0), load=load)
    with pytest.raises(ModelError, match=r"between two of 100 samples.*\n.*\n.*load_samples"):
        solve(chain, Quasistatic(load_samples=100), (0.0, 1.0))


def test_work_is_bounded():
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.1), load=Sine(9.0, 1e9))
    run = solve(chain, Quasistatic(max_events=100), (0.0, 1.0), throw=False)
    assert run.status is Status.WORK_LIMIT
    assert 0.0 < run.t_end < 1e-5
    modes = dataclasses.replace(chain, supports="both")
    run = solve(modes, Quasistatic(max_steps=50), (0.0, 1.0), throw=False)
    assert run.status is Status.WORK_LIMIT
    assert "max_steps" in run.reason
    slow = dataclasses.replace(chain, load=SumOf([Sine(0.1, 1.0), Sine(0.0, 1e9)]))
    run = solve(slow, Quasistatic(max_events=10), (0.0, 100.0), throw=False)
    assert run.reason == "max_events = 10 reversals of the load were used up"
    assert run.t_end == pytest.approx(10.0 * np.pi)


def test_inertia_is_questioned_when_the_load_is_fast():
    chain = Chain(mass=[1.0], stiffness=20.0, law=Coulomb(0.2))
    notes = {}
    for rate in (1e-3, 10.0):
        run = solve(dataclasses.replace(chain, load=Ramp(rate)), Quasistatic(), (0.0, 1.0))
        check = next(c for c in run.audit if c.check == "inertia_negligible")
        assert check.value == pytest.approx(rate / np.sqrt(20.0) / (0.2 * 9.81), rel=1e-9)
        notes[rate] = check.ok
    assert notes == {1e-3: True, 10.0: False}


@pytest.mark.parametrize("supports", ["left", "none"])
def test_a_belt_strains_the_springs_of_stuck_masses(supports):
    chain = Chain(mass=[1.0, 1.0], stiffness=10.0, normal_force=1.0, law=Coulomb(1.0))
    chain = dataclasses.replace(chain, supports=supports, belt_speed=100.0, plate_speed=100.0)
    chain = dataclasses.replace(chain, plate_stiffness=1.0)
    run = solve(chain, Quasistatic(), (0.0, 1e-3), throw=False)
    (line,) = [check for check in run.audit if check.check == "inertia_negligible"]
    if supports == "none":
        # belt and plate move together
        assert (line.value, run.quantities["stop_time"].value) == (0.0, 0.0)
    else:
        slowest = np.sqrt(np.linalg.eigvalsh(chain.stiffness_matrix())[0])
        assert line.value == pytest.approx(1000.0 / slowest)


def test_a_load_without_weight_moves_nothing():
    chain = Chain(mass=[1.0], stiffness=10.0, law=Coulomb(0.1), load=Ramp(1.0), load_vector=[0.0])
    assert solve(chain, Quasistatic(), (0.0, 1.0)).quantities["stop_time"].value == 0.0


def test_initial_velocities_are_not_used():
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.1), load=Ramp(1.0), v0=[3.0, -3.0])
    run = solve(chain, Quasistatic(), (0.0, 5.0))
    still = solve(dataclasses.replace(chain, v0=0.0), Quasistatic(), (0.0, 5.0))
    np.testing.assert_array_equal(run.final["x"], still.final["x"])
    assert run.quantities["onset_time"].value == still.quantities["onset_time"].value
    belt = dataclasses.replace(chain, v0=0.0, belt_speed=0.1, load=Constant(0.0))
    onset = solve(belt, Quasistatic(), (0.0, 3.0)).quantities["onset_time"].value
    # the belt carries both masses until the spring at the wall alone pulls as hard as friction
    assert onset[0] == pytest.approx(0.981 / 20.0 / 0.1, rel=1e-12)
    assert onset[1] > onset[0]


def test_bad_fields_are_refused():
    for bad in (
        {"rtol": 0.0},
        {"rtol": 1.0},
        {"load_samples": 1},
        {"max_events": 0},
        {"choice": 3},
    ):
        with pytest.raises(ModelError, match="Quasistatic"):
            Quasistatic(**bad)
    chain = Chain(mass=[1.0, 1.0], stiffness=1.0, supports="none", law=Coulomb(0.1))
    with pytest.raises(ModelError, match="singular"):
        solve(chain, Quasistatic(), (0.0, 1.0))
    with pytest.raises(ModelError, match="a system, such as Chain"):
        solve("chain", Quasistatic(), (0.0, 1.0))


def test_times_that_do_not_start_at_zero():
    load = PiecewiseLinear([2.0, 4.0, 6.0], [0.0, 5.0, -5.0])
    chain = Chain(mass=[1.0, 1.0], stiffness=20.0, law=Coulomb(0.1), load=load)
    run = solve(chain, Quasistatic(), (2.0, 6.0))
    moved = dataclasses.replace(chain, load=PiecewiseLinear([0.0, 2.0, 4.0], [0.0, 5.0, -5.0]))
    shifted = solve(moved, Quasistatic(), (0.0, 4.0))
    np.testing.assert_allclose(run.final["x"], shifted.final["x"], atol=1e-14)
    np.testing.assert_allclose(run.event_log.time - 2.0, shifted.event_log.time, atol=1e-13)


def test_permutation_of_independent_histories():
    """Batches do not exist here: one run does not know of another, so order means nothing."""
    load, t_end = LOADS["sine"]
    chains = [
        Chain(mass=[1.0, 1.0], stiffness=k, law=Coulomb(0.1), load=load) for k in (10.0, 20.0, 30.0)
    ]
    for order in itertools.permutations(range(3)):
        ends = {i: solve(chains[i], Quasistatic(), (0.0, t_end)).final["x"] for i in order}
        assert ends[0][0] == pytest.approx(2.0 * ends[1][0], rel=1e-12)
        assert ends[0][0] == pytest.approx(3.0 * ends[2][0], rel=1e-12)


def bump(t):
    return 20.0 * np.exp(-(((t - 0.37) / 2e-3) ** 2))


@pytest.mark.parametrize(("samples", "seen"), [(2000, True), (4, False)])
def test_a_users_load_is_sampled_as_requested(samples, seen):
    chain = Chain(mass=1.0, stiffness=1.0, n=2, load=UserLoad(bump), law=Coulomb(0.25))
    run = solve(chain, Quasistatic(load_samples=samples), (0.0, 1.0), throw=False)
    # the bump is fast, whoever looks; what was not seen is above the bound
    assert run.status is Status.UNTRUSTED
    missed = set() if seen else {"stick_within_bound"}
    assert {check.check for check in run.audit.failed} == {"inertia_negligible"} | missed
    assert (run.data.x.values[-1] > 0.0).all() == seen
    assert bool(len(run.event_log.time)) == seen


def test_a_mass_at_its_bound_slips_from_the_start():
    # mass 2 holds 0.2 * 10 N, just the load at the start, which rises by 3 N/s: v = 3 / k_2;
    # mass 1 follows when the load is another 1 N higher
    load = PiecewiseLinear([0.0, 1.0, 3.0], [2.0, 5.0, 5.0])
    weights = {"stiffness": [20.0, 10.0], "normal_force": [5.0, 10.0]}
    chain = Chain(mass=[1.0, 1.0], law=Coulomb(0.2), load=load, **weights)
    run = solve(chain, Quasistatic(), (0.0, 2.0), save=9)
    v, mode = run.variables["v"].values, run.variables["mode"].values
    assert v[0] == pytest.approx([0.0, 0.3], abs=1e-15)
    assert mode[0].tolist() == [0, 1]
    np.testing.assert_allclose(v[3], [3.0 / 20.0, 3.0 / 20.0 + 0.3], rtol=1e-13)
    check_inclusion(chain, by_play(chain, 2.0, 9))


def test_few_saved_times_are_no_slip_against_friction():
    """At all saved times the slip rate is rounding of the load; in between it was not."""
    load = UserLoad(lambda t: 0.0 if t < 0.4 else 8.0, breakpoints=[0.4])
    chain = Chain(mass=[1.0], stiffness=10.0, damping=1.0, law=Coulomb(0.3), load=load)
    run = solve(chain, Quasistatic(), (0.0, 10.0), save=3)
    (check,) = (c for c in run.audit if c.check == "slip_against_friction")
    assert run.final["x"][0] == pytest.approx((8.0 - 0.3 * 9.81) / 10.0, rel=1e-12)
    assert check.limit == pytest.approx(1e-9 * run.final["x"][0] / 5.0, rel=1e-9)
    assert check.ok
