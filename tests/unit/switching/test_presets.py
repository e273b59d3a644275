"""The preset systems: fields against formulas by hand, powers against energies, bad input."""

import dataclasses

import numpy as np
import pytest
from references import reference
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

import stiction
from stiction.errors import ModelError
from stiction.numerics.callback import call_arrays
from stiction.switching.presets import (
    BeltOscillator,
    NormalForm,
    RelayFeedback,
    StaticJumpOscillator,
    TwoBlockStickSlip,
)

MECHANICAL = [
    BeltOscillator(mu0=1.3, alpha=0.2, belt_speed=0.4),
    TwoBlockStickSlip(mass=(1.0, 2.0), stiffness=(1.5, 0.5), coupling=0.7),
    StaticJumpOscillator(damping=0.3, mass=2.0, normal_force=1.5, v_scale=0.5),
]


def test_belt_cycle_by_quadrature():
    known = reference("switching.json")["belt"]
    system = BeltOscillator()
    assert np.array_equal(system.x0, [0.0, 0.5])

    def field(t, x):
        return system.field(x, -1.0)

    def meets(t, x):
        return system.surfaces_at(x)[0]

    meets.terminal, meets.direction = True, 1.0
    # the slip starts where stick can bear no more: on a visible fold, a little past it
    first = 1e-3
    start = solve_ivp(field, (0.0, first), [1.0, 0.5], rtol=1e-12, atol=1e-15)
    run = solve_ivp(
        field, (first, 9.0), start.y[:, -1], method="DOP853", events=meets, rtol=1e-12, atol=1e-14
    )
    slip = run.t_events[0][0]
    stick = (1.0 - run.y_events[0][0, 0]) / system.belt_speed
    assert slip == pytest.approx(float(known["slip_time"]), abs=1e-9)
    assert slip + stick == pytest.approx(float(known["period"]), abs=1e-9)


def test_belt_cycle_by_the_solver():
    period = float(reference("switching.json")["belt"]["period"])
    system = BeltOscillator()
    run = stiction.solve(system, None, (0.0, 16.0))
    # stick ends at x = mu0 = belt_speed t, then once per period
    leaves = np.asarray(run.events["time"])[::2]
    assert np.allclose(leaves, 2.0 + period * np.arange(3), atol=1e-8)


def test_steep_drop_tends_to_a_jump():
    """With a true jump slip lasts 2 pi - 2 atan(A / vb) and stick 2 A / vb, A = 0.2."""
    limit = 2.0 * np.pi - 2.0 * np.arctan(0.2 / 0.2) + 2.0
    gaps = []
    for width in (1e-2, 1e-3, 1e-4):
        system = StaticJumpOscillator(v_scale=width)
        run = stiction.solve(system, None, (0.0, 17.0))
        times = np.asarray(run.events["time"])
        gaps.append(times[4] - times[2] - limit)
    assert gaps[0] > 4.0 * gaps[1] > 16.0 * gaps[2] > 0.0
    assert gaps[2] < 5e-3


def test_two_blocks_balance_their_energy():
    system = TwoBlockStickSlip()
    run = stiction.solve(system, None, (0.0, 30.0))
    assert run.status.ok
    assert len(run.events["time"]) > 10
    assert float(abs(run.ledger.imbalance).max()) <= 1e-9


def test_relay_half_period():
    known = float(reference("switching.json")["relay_1_over_s+1_cubed"]["half_period"])
    system = RelayFeedback()
    a = np.column_stack([system.field(e, 1.0) - system.field(np.zeros(3), 1.0) for e in np.eye(3)])
    push = system.field(np.zeros(3), 1.0)

    def start_of_half(half):
        # x' = a x + push turns x into -x after half a period
        grown = expm(a * half)
        return -np.linalg.solve(np.eye(3) + grown, np.linalg.solve(a, (grown - np.eye(3)) @ push))

    half = brentq(lambda t: system.surfaces_at(start_of_half(t))[0], 1.0, 3.0, xtol=1e-15)
    assert half == pytest.approx(known, abs=1e-13)


@pytest.mark.parametrize("pole", [1e2, 1e4])
def test_the_relay_of_a_fast_plant_is_that_of_a_slow_one(pole):
    runs = [
        stiction.solve(RelayFeedback(pole=p, x0=[p**-3, 0.0, 0.0]), t_span=(0.0, 20.0 / p), save=2)
        for p in (1.0, pole)
    ]
    slow, fast = (run.events["time"].to_numpy() for run in runs)
    assert pole * fast == pytest.approx(slow, rel=1e-9)
    assert abs(runs[1].stats["steps"] - runs[0].stats["steps"]) <= 3


def test_relay_by_matrix_is_relay_by_order():
    one = RelayFeedback(order=2, pole=2.0, gain=3.0)
    other = RelayFeedback(matrix=[0.0, 1.0, -4.0, -4.0], input=[0.0, 1.0], output=[3.0, 0.0])
    x = np.array([0.3, -0.7])
    for side in (1.0, -1.0):
        assert np.array_equal(one.field(x, side), other.field(x, side))
        assert np.allclose(one.field(x, side), [-0.7, -1.2 + 2.8 - side], rtol=1e-15)
    assert np.array_equal(one.surfaces_at(x), other.surfaces_at(x))
    assert one.surfaces_at(x)[0] == pytest.approx(0.9, rel=1e-15)


def test_normal_form_fields():
    system = NormalForm(-1.2, -1.5)
    x = np.array([0.1, 0.3, 0.7])
    assert np.array_equal(system.field(x, 1.0), [-0.3, 1.0, -1.2])
    assert np.array_equal(system.field(x, -1.0), [0.7, -1.5, 1.0])
    assert system.surfaces_at(x)[0] == 0.1
    assert np.allclose(system.gradient(x), [[1.0, 0.0, 0.0]], atol=1e-15)


def test_fields_by_hand():
    x = np.array([0.3, -0.2, 0.5, 0.1])
    blocks = TwoBlockStickSlip()
    first, second = 0.6 + 0.4 * np.exp(-0.3 / 0.5), 0.8 + 0.5 * np.exp(-0.1 / 0.5)
    expected = [0.5, 0.1, -0.3 - 0.6 - first, 0.2 + 0.6 + second]
    assert np.allclose(blocks.field(x, [1.0, -1.0]), expected, rtol=1e-14)
    assert np.allclose(blocks.surfaces_at(x), [0.3, -0.1], rtol=1e-14)

    drop = StaticJumpOscillator(damping=0.25, mass=2.0, normal_force=3.0, v_scale=0.1)
    force = 3.0 * (0.4 + 0.2 * np.exp(-1.0))
    expected = [0.1, (-0.3 - 0.025 + force) / 2.0]
    assert np.allclose(drop.field(np.array([0.3, 0.1]), -1.0), expected, rtol=1e-14)
    # at the surface the static level bounds stick
    at_rest = drop.field(np.array([0.0, 0.2]), 1.0)[1]
    assert at_rest == pytest.approx((-0.05 - 1.8) / 2.0, rel=1e-14)


@pytest.mark.parametrize("system", MECHANICAL, ids=lambda s: type(s).__name__)
def test_power_is_the_change_of_energy(system):
    rng = np.random.default_rng(3)
    c = system.compiled
    speeds = slice(c.n // 2, c.n)
    for trial in range(20):
        x = rng.normal(size=c.n)
        sides = np.sign(system.surfaces_at(x))
        if trial % 2:
            # on the surfaces the friction is any mixture of both sides
            x[speeds] = system.belt_speed
            lam = rng.uniform(-1.0, 1.0, size=c.m)
            field = _mixture(system, x, lam)
            sides = lam
        else:
            field = system.field(x, sides)
        out = np.empty(3)
        call_arrays(c.power, x, sides, c.params, out)
        work, heat, viscous = out
        assert heat >= -1e-15
        assert viscous >= 0.0
        d = 1e-6
        there, back = x + d * field, x - d * field
        energy = [sum(part[0] for part in system.energies(y[None, :])) for y in (there, back)]
        rate = (energy[0] - energy[1]) / (2.0 * d)
        assert rate == pytest.approx(work - heat - viscous, abs=1e-8)


def test_a_block_that_slides_is_pulled_by_newtons():
    # from static towards kinetic friction under 3 N: at v_scale exp(-1) of the way is left
    drop = StaticJumpOscillator(normal_force=3.0, v_scale=0.1)
    slip = drop.belt_speed - 0.1
    ((force, unit, _),) = drop.outputs(np.array([[0.0, slip]]), np.array([[-1.0]])).values()
    kinetic, static = 3.0 * drop.mu_kinetic, 3.0 * drop.mu_static
    assert unit == "N"
    assert force == pytest.approx([kinetic + (static - kinetic) * np.exp(-1.0)], rel=1e-13)
    blocks = TwoBlockStickSlip()
    reported = blocks.outputs(np.array([[0.0, 0.0, 0.3, -0.1]]), np.array([[1.0, -1.0]]))
    assert {entry[1] for entry in reported.values()} == {"N"}


@pytest.mark.parametrize("system", MECHANICAL, ids=lambda s: type(s).__name__)
def test_outputs_are_the_force_on_the_blocks(system):
    n = system.compiled.n
    x = np.linspace(0.2, 0.9, n)[None, :]
    sides = np.sign(system.surfaces_at(x[0]))[None, :]
    values = [out[0][0] for out in system.outputs(x, sides).values()]
    full = system.field(x[0], sides[0])
    still = dataclasses.replace(system, **_without_friction(system))
    free = still.field(x[0], sides[0])
    mass = np.broadcast_to(getattr(system, "mass", 1.0), n // 2)
    assert np.allclose(values, mass * (full - free)[n // 2 :], rtol=1e-8, atol=1e-12)


def _without_friction(system):
    if isinstance(system, BeltOscillator):
        return {"mu0": 1e-300, "alpha": 0.0}
    if isinstance(system, TwoBlockStickSlip):
        return {"friction": 0.0, "kinetic": 0.0}
    return {"mu_static": 0.0, "mu_kinetic": 0.0}


def _mixture(system, x, lam):
    if lam.size == 1:
        share = 0.5 * (1.0 + lam[0])
        return share * system.field(x, 1.0) + (1.0 - share) * system.field(x, -1.0)
    total = np.zeros(x.size)
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            weight = 0.25 * (1.0 + a * lam[0]) * (1.0 + b * lam[1])
            total += weight * system.field(x, [a, b])
    return total


@pytest.mark.parametrize("system", [*MECHANICAL, RelayFeedback(), NormalForm(1.0, 2.0)])
def test_what_a_system_says_of_itself(system):
    c = system.compiled
    assert len(system.state_names) == len(system.state_units) == c.n == c.scale.size
    assert c.plane.shape == (c.m, c.n)
    assert np.allclose(system.gradient(np.ones(c.n)), c.plane, atol=1e-13)
    assert np.isfinite(system.field(np.asarray(system.x0), np.ones(c.m))).all()
    assert dataclasses.replace(system) == system


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: BeltOscillator(mu0=0.0), "mu0"),
        (lambda: BeltOscillator(belt_speed=np.inf), "belt_speed"),
        (lambda: BeltOscillator(x0=(1.0,)), "x0"),
        (lambda: BeltOscillator(mode="stick"), "mode"),
        (lambda: RelayFeedback(order=0), "order"),
        (lambda: RelayFeedback(order=13), "order"),
        (lambda: RelayFeedback(order=12, pole=1e300), "pole"),
        (lambda: RelayFeedback(gain=-1.0), "gain"),
        (lambda: RelayFeedback(matrix=[1.0]), "input"),
        (lambda: RelayFeedback(matrix=[1.0, 2.0], input=[1.0], output=[1.0]), "matrix"),
        (lambda: RelayFeedback(matrix=[1.0], input=[1.0], output=[0.0]), "output"),
        (lambda: RelayFeedback(order=2, matrix=[1.0], input=[1.0], output=[1.0]), "order"),
        (lambda: NormalForm(np.nan, 1.0), "J1"),
        (lambda: TwoBlockStickSlip(mass=(1.0, 0.0)), "mass"),
        (lambda: TwoBlockStickSlip(friction=(1.0, 2.0, 3.0)), "friction"),
        (lambda: TwoBlockStickSlip(v_scale=0.0), "v_scale"),
        (lambda: StaticJumpOscillator(v_scale=0.0), "StaticKinetic"),
        (lambda: StaticJumpOscillator(damping=-1.0), "damping"),
    ],
)
def test_bad_input_is_refused(make, word):
    with pytest.raises(ModelError, match=word):
        make()
