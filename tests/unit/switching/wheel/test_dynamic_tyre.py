"""The tyre with a memory: its steady state, its energy, its order, and how its futures part."""

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError, Status
from stiction.exact.switching import Turntable, wheel_two_fold
from stiction.laws.tyre import SimplifiedTyre
from stiction.switching.wheel import dynamic_tyre_kernels as kernels
from stiction.switching.wheel.dynamic_tyre import (
    DynamicTyreWheel,
    Tread,
    lyapunov_exponent,
    sensitivity,
)

TABLE = Turntable(1.0, 1.0, 0.001, 0.001, 0.05, 0.1, -1.0, 1.0, -0.75 * np.pi)
FOLD = wheel_two_fold(TABLE, 0.1859, -1.037)
KAPPA = float(FOLD.kappa)
AT_FOLD = (float(FOLD.r), float(FOLD.v), float(FOLD.omega))
OWN_ANGLE = SimplifiedTyre(KAPPA).onset_angle
WHEEL = DynamicTyreWheel(**dataclasses.asdict(TABLE), kappa=KAPPA, k2=float(FOLD.k2), nodes=24)
SHORT = dataclasses.replace(WHEEL, relaxation=3e-5, kinetic_ratio=0.8)
STRETCHED = dataclasses.replace(WHEEL, string_angle=OWN_ANGLE, onset_angle=0.1)
LONG = dataclasses.replace(WHEEL, half_length=0.5, onset_angle=0.5, turn_slip=True)


def state_at(r, h, g):
    """Return (r, v, omega) with given lateral and rolling velocity."""
    sin, cos = np.sin(TABLE.gamma), np.cos(TABLE.gamma)
    turn = (-h * cos + g * sin) / r
    return r, -h * sin - g * cos + TABLE.d * turn, turn + TABLE.omega0


def settled(wheel, g, share):
    """Return the motion of a held wheel at `share` of the slip angle where slip begins."""
    h = abs(g) * np.tan(min(share * wheel.onset_angle, 1.4))
    length = 2.0 * wheel.half_length + 5.0 * wheel.relaxation
    times = np.array([0.0, 3.0 * length / abs(g)])
    return wheel.integrate(state_at(0.19, h, g), times, held=True), wheel.steady(h, g)


@pytest.mark.parametrize("g", [1.0, -0.7])
@pytest.mark.parametrize("speed", [0.002, -0.003])
def test_the_edge_relaxes_over_the_length_of_the_string_outside(g, speed):
    # q' = V - |g| q / sigma at the leading edge: q = V sigma / |g| (1 - exp(-|g| t / sigma))
    sigma, count = 0.04, 4000
    wheel = dataclasses.replace(WHEEL, relaxation=sigma)
    p, q = wheel._parameters(1.0, 0.4), np.linspace(1e-4, 2e-4, 9)
    patch = kernels.Patch.table()
    lead, trail = ("front", "rear") if g > 0.0 else ("rear", "front")
    dt = 2.0 * sigma / abs(g) / count
    for _ in range(count):
        kernels._edges(p, patch, q, g, speed, dt)
    reached = speed * sigma / abs(g) * (1.0 - np.exp(-2.0))
    assert abs(reached) < p[0].break_at
    # reason: the scheme is of first order, and 2 / count is its step
    assert patch[lead][0] == pytest.approx(reached, rel=2.0 / count)
    # the trailing edge is that of the last element
    assert patch[trail][0] == (q[0] if g > 0.0 else q[-1])


@pytest.mark.parametrize("wheel", [WHEEL, SHORT, STRETCHED])
@pytest.mark.parametrize("g", [1.0, -0.7])
def test_steady_is_the_static_law(wheel, g):
    for share, order in ((0.5, 2), (1.5, 1), (4.0, 1)):
        for nodes in (24, 96):
            finer = dataclasses.replace(wheel, nodes=nodes)
            motion, (force, moment) = settled(finer, g, share)
            miss = abs(motion.force[-1] - force), abs(motion.moment[-1] - moment) / KAPPA
            # one element more or less in slip is all that the grid may cost
            allowed = 0.4 / nodes if order == 1 else 0.3 / nodes**2
            assert max(miss) < 2.0 * allowed
            assert force > 0.0
            assert np.sign(moment) in (0.0, np.sign(g)) or wheel.relaxation > 0.0


def test_order_in_the_grid_in_stick_is_two():
    misses = []
    for nodes in (12, 24, 48):
        motion, (force, _) = settled(dataclasses.replace(SHORT, nodes=nodes), 1.0, 0.5)
        misses.append(abs(motion.force[-1] - force))
    orders = np.log2(np.array(misses[:-1]) / misses[1:])
    assert np.all(orders > 1.8)
    assert np.all(orders < 2.2)


def test_slip_begins_at_mu_and_mu_kappa():
    for wheel in (WHEEL, SHORT, STRETCHED):
        force, moment = wheel.steady(np.tan(wheel.onset_angle), 1.0)
        assert_allclose([force, moment], [1.0, KAPPA], rtol=1e-12)
        force, moment = wheel.steady(-1.0, 0.0)
        assert_allclose(force, -2.0 * wheel.kinetic_ratio * _full(wheel), rtol=1e-9)
        assert abs(moment) < 1e-9


def _full(wheel):
    """Return force in full slip over the one at onset, for rho = 1 and half of it."""
    a, sigma = wheel.half_length, wheel.relaxation
    return 0.5 * (2.0 * a + sigma) / (a + sigma)


def test_stiff_stretched_tyre_is_the_simplified_law():
    law = SimplifiedTyre(KAPPA)
    misses = []
    for onset in (1e-2, 1e-3, 1e-4):
        wheel = dataclasses.replace(STRETCHED, onset_angle=onset)
        pairs = [(h, g) for h in (0.02, -0.3) for g in (0.1, -0.4)]
        force = [wheel.steady(h, g)[0] - law.force(h, g) for h, g in pairs]
        moment = [wheel.steady(h, g)[1] - law.moment(h, g) for h, g in pairs]
        misses.append(np.max(np.abs(force + moment)))
    orders = np.log10(np.array(misses[:-1]) / misses[1:])
    assert np.all(np.abs(orders - 1.0) < 0.1)


@pytest.mark.parametrize("wheel", [WHEEL, SHORT, LONG])
def test_energy_of_the_tread_closes(wheel):
    for share in (0.5, 1.5, 4.0):
        for g in (1.0, -0.7):
            motion, _ = settled(wheel, g, share)
            off = motion.work - motion.heat - motion.shed - motion.stored
            # what varies within an element is not counted: an error of second order
            assert abs(off) < 5.0 / wheel.nodes**2 * motion.work
            assert motion.heat >= 0.0
            assert motion.heat > 0.0 or share < 1.0


@pytest.mark.parametrize("wheel", [WHEEL, SHORT, LONG])
@pytest.mark.parametrize("g", [1.0, -0.7])
def test_a_tread_that_sticks_stores_what_it_takes(wheel, g):
    # before the patch is filled most of the work lies in the tread, so that what is stored counts
    fine = dataclasses.replace(wheel, nodes=96)
    speed = abs(g) * np.tan(0.2 * wheel.onset_angle)
    times = np.array([0.0, 0.6 * wheel.half_length / abs(g)])
    motion = fine.integrate(state_at(0.19, speed, g), times, held=True)
    assert motion.stored > 0.7 * motion.work
    off = motion.work - motion.heat - motion.shed - motion.stored
    assert abs(off) < 2.5 / 96**2 * motion.work


def random_tyre(rng, nodes):
    """Return a tyre of any length, string outside, kinetic ratio and onset, and a start."""
    half = 10.0 ** rng.uniform(-4.0, -2.7)
    onset = 10.0 ** rng.uniform(-2.2, -1.0)
    wheel = dataclasses.replace(
        WHEEL,
        half_length=half,
        relaxation=float(rng.choice([0.0, half * rng.uniform(0.1, 3.0)])),
        kinetic_ratio=float(rng.choice([1.0, rng.uniform(0.3, 1.0)])),
        onset_angle=onset,
        string_angle=float(rng.uniform(onset, 1.0)) if rng.random() < 0.4 else None,
        turn_slip=bool(rng.integers(2)),
        nodes=nodes,
    )
    return wheel, AT_FOLD + rng.normal(size=3) * (0.02, 0.05, 0.05)


def test_the_ledger_closes_with_the_square_of_the_nodes():
    # with a string outside and slip from the leading edge on, what enters brings energy of its own
    missing = np.empty((30, 2))
    for k in range(len(missing)):
        for column, nodes in enumerate((16, 64)):
            wheel, start = random_tyre(np.random.default_rng(k), nodes)
            motion = wheel.integrate(start, np.linspace(0.0, 0.01, 4), max_steps=60_000)
            assert motion.status is Status.SOLVED
            assert motion.audit.ok, motion.audit
            ledger = motion.ledger
            missing[k, column] = ledger.imbalance_rel
            put_in = ledger.external_work[-1] + motion.shed
            assert put_in == pytest.approx(motion.work, rel=1e-12)
            assert ledger.stored[-1] == pytest.approx(motion.stored, rel=1e-9, abs=1e-30)
    assert missing[:, 1].max() < 2e-3
    # reason: the order, on the median over tyres that differ in all they have
    assert np.log2(np.median(missing[:, 0] / missing[:, 1])) / 2.0 > 1.5


@pytest.mark.fails_audit("switching", "ledger_closes")
def test_a_coarse_tread_is_reported():
    wheel = dataclasses.replace(WHEEL, nodes=4, half_length=1e-3, onset_angle=0.03)
    motion = wheel.integrate((0.1859, -0.03, -1.05), np.linspace(0.0, 0.05, 6))
    assert [check.check for check in motion.audit.failed] == ["ledger_closes"]


def test_friction_heat_is_positive_in_motion():
    motion = WHEEL.integrate((0.2, 0.1, -0.95), np.linspace(0.0, 0.3, 31))
    assert motion.status is Status.SOLVED
    assert motion.heat > 0.0
    off = motion.work - motion.heat - motion.shed - motion.stored
    assert abs(off) < 1e-2 * motion.work
    # no moment about the patch without turning: the wheel loses what the tread takes
    assert np.all(np.abs(motion.force) <= 2.0 + 1e-9)


def test_order_in_time():
    # stick alone: the tread is a spring, and Verlet is of second order
    wheel = dataclasses.replace(WHEEL, half_length=0.5, onset_angle=0.5)
    times = np.array([0.0, 0.2])
    ends = [wheel.integrate(AT_FOLD, times, longest_step=0.01 / 2**j).states[-1] for j in range(5)]
    gaps = [np.max(np.abs(a - b)) for a, b in itertools.pairwise(ends)]
    orders = np.log2(np.array(gaps[:-1]) / gaps[1:])
    assert np.all(orders > 1.8)
    assert np.all(orders < 2.2)


def test_order_in_time_where_material_breaks_loose():
    # each half kick of an element that breaks loose within the step counts its part of it
    wheel = dataclasses.replace(WHEEL, half_length=1e-2, onset_angle=0.03)
    times, steps = np.array([0.0, 0.6]), [0.01 / 2**j for j in range(2, 7)]
    runs = [wheel.integrate((0.2, 0.1, -0.95), times, longest_step=step) for step in steps]
    assert np.max(runs[-1].heat) > 0.0
    gaps = [np.max(np.abs(a.states[-1] - b.states[-1])) for a, b in itertools.pairwise(runs)]
    assert 1.8 < np.log2(gaps[0] / gaps[-1]) / 3.0 < 2.2


def test_free_wheel_conserves_energy():
    # without friction and dampers, in physical time, seen from the ground
    wheel = dataclasses.replace(WHEEL, mu=1e-12, c1=0.0, c2=0.0)
    motion = wheel.integrate((0.2, 0.1, -0.95), np.linspace(0.0, 1.0, 11), longest_step=1e-4)
    r, v, w = motion.states.T
    speed2 = (v - w * wheel.d) ** 2 + (r * w) ** 2
    kinetic = 0.5 * wheel.m * (speed2 + (wheel.beta * w) ** 2)
    energy = kinetic + 0.5 * wheel.k2 * (r - wheel.r0) ** 2
    assert_allclose(energy, energy[0], rtol=2e-6)


def test_rolling_back_sheds_and_renews():
    forward = WHEEL.integrate(state_at(0.19, 0.005, 1.0), np.array([0.0, 1e-3]), held=True)
    back = WHEEL.integrate(
        state_at(0.19, 0.005, -1.0), np.array([0.0, 1e-3]), tread=forward.tread, held=True
    )
    assert_allclose(back.force[-1], forward.force[-1], rtol=1e-3)
    assert_allclose(back.moment[-1], -forward.moment[-1], rtol=1e-3)


def test_linear_at_first():
    times = np.linspace(0.0, 0.1, 101)
    result = sensitivity(STRETCHED, AT_FOLD, times, displacements=(1e-6, 1e-9), copies=3)
    growth = result.separation / result.displacements[:, None, None]
    # reason: the larger displacement is not small against what breaks loose when
    assert_allclose(growth[0], growth[1], rtol=0.2)
    assert result.exponent.shape == result.growth.shape == (2,)
    assert result.exit_time.shape == (2, 3)
    assert np.all(growth[:, :, 0] <= 1.0 + 1e-6)


def test_a_motion_that_starts_off_the_surface_has_left_it():
    result = sensitivity(WHEEL, (0.2, 0.1, -0.95), [0.0, 0.001], copies=1, exit_speed=1e-9)
    assert (result.exit_time == 0.0).all()


def test_a_stiffer_tyre_is_more_sensitive_and_the_papers_patch_is_not():
    times = np.linspace(0.0, 0.5, 251)
    exponents = []
    for half_length, onset in ((3.0 * KAPPA, OWN_ANGLE), (1e-4, 0.1), (1e-5, 0.03)):
        wheel = dataclasses.replace(STRETCHED, half_length=half_length, onset_angle=onset)
        result = sensitivity(wheel, AT_FOLD, times, displacements=(1e-10,), copies=4)
        exponents.append(float(result.exponent[0]))
    assert exponents[0] < 1.0
    assert 8.0 < exponents[1] < 25.0
    assert 25.0 < exponents[2] < 70.0


def test_bounded_work_and_lost_motion():
    times = np.linspace(0.0, 1.0, 11)
    motion = WHEEL.integrate((0.2, 0.1, -0.95), times, max_steps=100)
    assert motion.status is Status.WORK_LIMIT
    assert motion.steps == 100
    assert motion.t.size == motion.h.size < times.size
    away = dataclasses.replace(WHEEL, k2=-1e6)
    runaway = away.integrate((0.2, 0.1, -0.95), times, longest_step=1e-2, max_steps=5000)
    assert runaway.status is Status.WORK_LIMIT
    broken = WHEEL.integrate((1e13, 0.1, -0.95), times)
    assert broken.status is Status.NOT_FINITE


def test_bad_input():
    with pytest.raises(ModelError, match=r"DynamicTyreWheel\.half_length"):
        dataclasses.replace(WHEEL, half_length=0.0)
    with pytest.raises(ModelError, match=r"DynamicTyreWheel\.kinetic_ratio: got 1\.1"):
        dataclasses.replace(WHEEL, kinetic_ratio=1.1)
    with pytest.raises(ModelError, match=r"DynamicTyreWheel\.nodes"):
        dataclasses.replace(WHEEL, nodes=2)
    with pytest.raises(ModelError, match="rising"):
        WHEEL.integrate(AT_FOLD, [0.0, 1.0, 1.0])
    with pytest.raises(ModelError, match=r"integrate\.start"):
        WHEEL.integrate((0.1, np.nan, 0.0), [0.0, 1.0])
    with pytest.raises(ModelError, match=r"integrate\.tread\.displacement"):
        WHEEL.integrate(AT_FOLD, [0.0, 1.0], tread=Tread(np.zeros(3), np.zeros(3)))
    none = np.zeros(WHEEL.nodes + 1)
    for tread in (
        Tread(none, none, offset=5.0),
        Tread(none, none, front=np.nan),
        Tread(none, none + 7.0),
        Tread(none + 1.0, none),
        3,
    ):
        with pytest.raises(ModelError, match=r"integrate\.tread"):
            WHEEL.integrate(AT_FOLD, [0.0, 1.0], tread=tread)
    with pytest.raises(ModelError, match=r"sensitivity\.times"):
        sensitivity(WHEEL, AT_FOLD, [0.0])
    with pytest.raises(ModelError, match=r"sensitivity\.apart"):
        sensitivity(WHEEL, AT_FOLD, [0.0, 0.01], apart=np.nan)
    for wrong in ({"displacement": 0.0}, {"window": 0.0}):
        with pytest.raises(ModelError, match=r"lyapunov_exponent"):
            lyapunov_exponent(WHEEL, AT_FOLD, windows=1, **wrong)
    with pytest.raises(ModelError, match=r"steady\.h"):
        WHEEL.steady("a", 1.0)
    with pytest.raises(ModelError, match=r"sensitivity\.displacements"):
        sensitivity(WHEEL, AT_FOLD, [0.0, 0.01], displacements=(0.0,))


def test_stick_passes_the_two_fold_and_forgets_the_start():
    # from the sliding region: the orbits of all copies meet at the two-fold
    wheel = dataclasses.replace(STRETCHED, half_length=1e-6, onset_angle=0.01)
    times = np.linspace(0.0, 0.35, 351)
    result = sensitivity(wheel, (0.22, -0.0624, -1.08), times, displacements=(1e-8,), copies=2)
    away = np.max(np.abs(result.base.states - np.array(AT_FOLD)), axis=1)
    passing = int(np.argmin(away))
    assert 0.3 < times[passing] < 0.345
    assert away[passing] < 5e-4
    assert np.all(result.separation[0, :, passing] < 3.0 * 1e-8)
    assert np.all(np.abs(result.base.h[:passing]) < 1e-3)


def test_a_motion_goes_on_from_its_tread():
    whole = WHEEL.integrate((0.2, 0.1, -0.95), [0.0, 0.05, 0.1])
    first = WHEEL.integrate((0.2, 0.1, -0.95), [0.0, 0.05])
    second = WHEEL.integrate(first.states[-1], [0.05, 0.1], tread=first.tread)
    assert_allclose(second.states[-1], whole.states[-1], rtol=1e-9)
    assert_allclose(second.tread.displacement, whole.tread.displacement, atol=1e-12)
    # what the tread stores at the start of a motion is no work in it
    assert_allclose(first.work + second.work, whole.work, rtol=1e-9)


def test_lyapunov_exponent_of_a_spiral():
    # without friction the slider swings and the disk turns: a linear system
    quiet = dataclasses.replace(WHEEL, mu=1e-12, c1=0.5, c2=0.5, omega0=0.0)
    rates, states = lyapunov_exponent(quiet, (0.1, 0.01, 0.0), window=1.0, windows=30)
    matrix = np.eye(3, k=1)
    # linear about rest at r0, with the disk's and the slit's forces put together
    r0, inertia = quiet.r0, quiet.beta**2 + quiet.r0**2
    pull = (inertia + quiet.d**2) / (quiet.m * inertia)
    matrix[1] = [-quiet.k2 * pull, -quiet.c2 * pull, -quiet.d * quiet.c1 / (quiet.m * inertia)]
    turn = quiet.d / (quiet.m * inertia)
    matrix[2] = [-quiet.k2 * turn, -quiet.c2 * turn, -quiet.c1 / (quiet.m * inertia)]
    largest = np.max(np.linalg.eigvals(matrix).real)
    assert abs(r0 - states[-1, 0]) < 1e-3
    assert_allclose(np.mean(rates[10:]), largest, atol=2e-3)


def test_long_motion_leaves_the_two_fold_and_stays_irregular():
    wheel = dataclasses.replace(STRETCHED, half_length=1e-4, onset_angle=0.1)
    rates, states = lyapunov_exponent(wheel, AT_FOLD, window=0.1, windows=200)
    assert rates.size == 200
    late = states[160:, 0]
    assert np.all((late > 0.08) & (late < 0.14))
    assert np.mean(rates[160:]) > 5.0
