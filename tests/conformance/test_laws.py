"""Every friction law and smoothed sign of the catalogue: add one, and it is tested.

A law brings its own examples (`Friction.examples`), so that nothing is entered here by hand. The
toy law with a memory stands beside those of the catalogue: it must pass as they do.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slip_memory import SlipMemory

import stiction
from stiction.catalogue import CATALOGUE, attribute
from stiction.errors import ModelError
from stiction.laws.compiled import CompiledLaw
from stiction.laws.friction import filled
from stiction.laws.law_kernels import law_value, share_term
from stiction.laws.presliding import ElastoPlastic

ALL = [attribute(module, name) for name, module in CATALOGUE["Friction"].names.items()]
# laws without stick have other formulas, which stand below
LAWS = [law for law in ALL if law.sticks] + [SlipMemory]
EXAMPLES = [
    pytest.param(law, id=f"{cls.__name__}-{i}")
    for cls in LAWS
    for i, law in enumerate(cls.examples())
]
SIGNS = [attribute(module, name) for name, module in CATALOGUE["SmoothSign"].names.items()]

# contacts of the examples that give a number for each
N = 3
SPEEDS = np.array([0.0, 1e-9, 3e-4, 0.02, 0.1, 0.7, 3.0, 40.0])
each_law = pytest.mark.parametrize("law", EXAMPLES)
each_law_with_states = pytest.mark.parametrize(
    "law", [example for example in EXAMPLES if example.values[0].states]
)


def states_of(law, rows=7):
    """Return (rows, N, n_state) states within the range of the law, its ends among them."""
    draws = np.random.default_rng(5).random((rows, N, law.n_state))
    draws[0], draws[1] = 0.0, 1.0
    for j, state in enumerate(law.states):
        low = state.low if np.isfinite(state.low) else -2.0
        high = state.high if np.isfinite(state.high) else 3.0
        draws[..., j] = low + (high - low) * draws[..., j]
    return draws


def functions_of(law, z):
    """Return (name, Python value) of mu and slope at all speeds and contacts, (speeds, N)."""
    v = np.repeat(SPEEDS[:, None], N, axis=1)
    p, formulas = law.parameters(N), law.formulas
    return {
        "mu": np.broadcast_to(formulas.mu(v, z.T, p), v.shape),
        "slope": np.broadcast_to(formulas.slope(v, z.T, p), v.shape),
    }


# ---- every law


@pytest.mark.parametrize("cls", LAWS)
def test_has_examples(cls):
    assert len(cls.examples()) >= 1
    for law in cls.examples():
        assert type(law) is cls
        assert not (law.constant and (law.states or law.convex))
        assert all(p.shape == (N,) for p in law.parameters(N))


@each_law
def test_is_pure(law):
    """The same question has the same answer, and asking changes nothing."""
    v, before = SPEEDS.copy(), type(law)(**{name: getattr(law, name) for name in fields(law)})
    z = states_of(law)[:, :1, :].repeat(N, axis=1)[2]
    saved = z.copy()
    one = [law.coefficient(v[:N], z), law.slope(v[:N], z), law.state_rate(v[:N], z)]
    law.table(N), law.static(), law.coefficient(7.0)
    two = [law.coefficient(v[:N], z), law.slope(v[:N], z), law.state_rate(v[:N], z)]
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert np.array_equal(v, SPEEDS)
    assert np.array_equal(z, saved)
    assert law == before
    assert law != stiction.Coulomb(0.999)


def fields(law):
    return [f.name for f in dataclasses.fields(law)]


@each_law
def test_is_a_frozen_description(law):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(law, fields(law)[0], 0.1)


@each_law
def test_dissipates_and_is_even(law):
    for z in (None, *states_of(law)):
        v = np.repeat(SPEEDS[:, None], N, axis=1)
        mu = law.coefficient(v, z)
        assert (mu >= 0.0).all()
        assert np.isfinite(mu).all()
        assert np.array_equal(mu, law.coefficient(-v, z))
        assert np.array_equal(law.slope(v, z), law.slope(-v, z))


@each_law
@given(v=st.floats(0.0, 50.0))
def test_slope_is_the_derivative(law, v):
    v, h = v + 1e-3, 1e-5 * (v + 1e-3)
    for z in states_of(law, 3):
        w = np.full(N, v)
        difference = (law.coefficient(w + h, z) - law.coefficient(w - h, z)) / (2.0 * h)
        assert law.slope(w, z) == pytest.approx(difference, abs=2e-7)


@each_law
def test_arrays_and_numbers_agree(law):
    many = law.coefficient(SPEEDS[:N])
    for i in range(N):
        if not any(np.ndim(getattr(law, name)) for name in fields(law)):
            assert float(law.coefficient(SPEEDS[i])) == pytest.approx(many[i], rel=1e-15)
    table = law.table(N)
    grid = np.repeat(SPEEDS[None, :], N, axis=0)
    for i in range(N):
        assert np.allclose(table.mu_of(i, SPEEDS), table.mu(grid)[i], rtol=1e-15, atol=0.0)
    mu, slope = table.probed(SPEEDS)
    if type(law) is not stiction.laws.RandomCoulomb:
        assert np.allclose(np.broadcast_to(mu, grid.shape), table.mu(grid), rtol=1e-15, atol=0.0)
        assert np.allclose(
            np.broadcast_to(slope, grid.shape), table.slope(grid), rtol=1e-15, atol=0.0
        )


@each_law
def test_stick_carries_what_slip_does_or_more(law):
    table = law.table(N)
    at_rest = table.mu(np.zeros(N))
    assert table.mu_static.shape == table.mu_kinetic.shape == table.v_scale.shape == (N,)
    assert (table.mu_static >= at_rest - 1e-15).all()
    assert (table.v_scale > 0.0).all()
    if not law.has_jump:
        assert np.allclose(table.mu_static, at_rest, rtol=1e-15, atol=0.0)
    if law.constant:
        assert np.array_equal(table.mu(np.full(N, 7.0)), table.mu_kinetic)
        assert not table.slope(np.full(N, 7.0)).any()
    assert table.may_weaken == (law.has_jump or not law.constant)


@each_law
def test_a_convex_law_says_where_it_is_less_steep(law):
    if not law.convex:
        with pytest.raises(NotImplementedError):
            law.slowed(2.0)
        return
    table = law.table(N)
    steepest = (table.mu_static - table.mu_kinetic) / table.v_scale
    assert table.slope(np.zeros(N)) == pytest.approx(-steepest, rel=1e-14)
    for times in (1.0, 3.0, 1e6):
        there = law.slowed(times) * table.v_scale
        assert table.slope(there) == pytest.approx(-steepest / times, rel=1e-12)


@each_law
def test_refuses_lists_of_another_length(law):
    if any(np.ndim(getattr(law, name)) for name in fields(law)):
        with pytest.raises(ModelError, match="needs 5 values"):
            law.table(5).parameters  # noqa: B018


# ---- as kernels read it


@each_law
def test_kernels_agree_with_python(law):
    if law.states:
        return
    compiled = CompiledLaw(law.table(N), ("mu", "slope", "static"))
    wanted = functions_of(law, np.zeros((N, 0)))
    for name, values in wanted.items():
        got = [
            [
                law_value(getattr(compiled, name), v, compiled.start + i * compiled.step)
                for i in range(N)
            ]
            for v in SPEEDS
        ]
        assert np.allclose(got, values, rtol=1e-15, atol=0.0)
    static = [law_value(compiled.static, 0.0, compiled.start + i * compiled.step) for i in range(N)]
    assert np.allclose(static, law.table(N).mu_static, rtol=1e-15, atol=0.0)
    compiled.check()


@each_law
def test_series_in_time_sum_to_the_law(law):
    """With v(t) = 0.3 + 0.2 t - 0.1 t^2 the terms of its share sum to the share at v(t)."""
    compiled = CompiledLaw(law.table(N), ("mu", "share") if not law.constant else ())
    if compiled.share == 0:
        assert law.formulas.share is None
        return
    order, table = 20, law.table(N)
    x, e = np.zeros((order + 1, N + 2)), np.zeros((N, order + 1))
    x[1:4, 1:-1] = [[0.3], [0.1], [-0.1 / 3.0]]
    tau = 0.02
    for i in range(N):
        for k in range(order):
            e[i, k] = share_term(
                compiled.share, k, 0.3, 1.0, x, e, i, compiled.start + i * compiled.step
            )
    if law.formulas.shares is not None:
        many = np.zeros((order + 1, N))
        for k in range(order):
            speed, one = np.full(N, 0.3), np.ones(N)
            many[k] = law.formulas.shares(k, speed, one, x[1:, 1:-1], many, law.parameters(N))
        assert np.allclose(many.T, e, rtol=1e-13, atol=0.0)
    share = e @ tau ** np.arange(order + 1)
    mu = table.mu_kinetic + (table.mu_static - table.mu_kinetic) * share
    assert mu == pytest.approx(table.mu(np.full(N, 0.3 + 0.2 * tau - 0.1 * tau**2)), rel=1e-14)


# ---- laws with states


@each_law_with_states
def test_states_are_named_and_start_in_their_range(law):
    start = law.state_start(N)
    assert start.shape == (law.n_state, N)
    for state, values in zip(law.states, start, strict=True):
        assert state.name.isidentifier()
        assert state.unit
        assert state.label
        assert state.low < state.high
        assert ((values >= state.low) & (values <= state.high)).all()


@each_law_with_states
def test_rates_are_finite_and_keep_the_range(law):
    for z in states_of(law):
        for v in SPEEDS:
            rates = law.state_rate(np.full(N, v), z)
            assert rates.shape == z.shape
            assert np.isfinite(rates).all()
            for j, state in enumerate(law.states):
                assert (rates[z[:, j] <= state.low, j] >= 0.0).all()
                assert (rates[z[:, j] >= state.high, j] <= 0.0).all()


@each_law_with_states
def test_derivatives_of_the_state_are_derivatives(law):
    formulas, p, s = law.formulas, law.parameters(N), law.n_state
    for z in states_of(law)[2:]:
        for speed in (1e-3, 0.1, 3.0):
            v, h = np.full(N, speed), 1e-6 * speed

            def rates(v, z):
                return np.array([np.broadcast_to(r, N) for r in filled(formulas.rate, v, z, p, s)])

            got = np.array(filled(formulas.rate_by_speed, v, z.T, p, s)) + np.zeros((s, N))
            wanted = (rates(v + h, z.T) - rates(v - h, z.T)) / (2.0 * h)
            assert got == pytest.approx(wanted, rel=1e-6, abs=1e-7)
            by_state = np.array(filled(formulas.by_state, v, z.T, p, s)) + np.zeros((s, N))
            matrix = np.array(filled(formulas.rate_by_state, v, z.T, p, s * s)) + np.zeros(
                (s * s, N)
            )
            for k in range(s):
                dz = np.zeros((s, N))
                dz[k] = 1e-6
                wanted = (rates(v, z.T + dz) - rates(v, z.T - dz)) / 2e-6
                assert matrix.reshape(s, s, N)[:, k] == pytest.approx(wanted, rel=1e-6, abs=1e-7)
                high, low = (formulas.mu(v, z.T + sign * dz, p) for sign in (1, -1))
                assert by_state[k] == pytest.approx((high - low) / 2e-6, rel=1e-6, abs=1e-7)


@each_law_with_states
@pytest.mark.parametrize(("theta", "h"), [(0.5, 1e-2), (1.0, 0.3)])
def test_a_trial_finds_the_state_and_commits_nothing(law, theta, h):
    """The trial state solves z_theta = z + theta h z'(v, z_theta); only `commit` moves z."""
    compiled = CompiledLaw(law.table(N), ("mu", "slope", "static"), theta=theta, h=h)
    z = states_of(law)[3]
    compiled.states[:] = z
    rows = compiled.start + compiled.step * np.arange(N)
    block = compiled.first_state + law.n_state
    for speed in SPEEDS:
        mu = np.array([law_value(compiled.mu, speed, row) for row in rows])
        trial = compiled.rows[:, block : block + law.n_state].copy()
        step = theta * h * law.state_rate(np.full(N, speed), trial)
        assert np.allclose(trial, z + step, rtol=1e-14, atol=1e-15)
        assert np.allclose(mu, law.coefficient(np.full(N, speed), trial), rtol=1e-15, atol=0.0)
        slope = np.array([law_value(compiled.slope, speed, row) for row in rows])
        d = 1e-5 * max(speed, 1e-3)
        high, low = (
            np.array([law_value(compiled.mu, max(w, 0.0), row) for row in rows])
            for w in (speed + d, speed - d)
        )
        if speed > d:
            assert slope == pytest.approx((high - low) / (2.0 * d), rel=1e-5, abs=1e-8)
        assert np.array_equal(compiled.states, z)
    # a state may rest in slip
    moving = 0.7 if law.state_rate(np.full(N, 0.7), z).any() else 0.0
    for row in rows:
        law_value(compiled.commit, moving, row)
    trial = compiled.rows[:, block : block + law.n_state]
    assert np.allclose(compiled.states, z + (trial - z) / theta, rtol=1e-15, atol=1e-16)
    assert not np.array_equal(compiled.states, z)


# ---- every law in every method of chains that suits it

METHODS = [
    stiction.EventDriven(),
    stiction.ThetaStepper(2e-3),
    stiction.chains.RegularizedTheta(2e-3, 0.5, 1e-2),
    stiction.Quasistatic(),
]


@each_law
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_runs_it_or_says_why_not(law, method):
    slow = isinstance(method, stiction.Quasistatic)
    chain = stiction.Chain(
        mass=3 * [1e-6 if slow else 1.0],
        stiffness=20.0,
        damping=4.0,
        normal_force=3.0,
        law=law,
        load=stiction.Ramp(2.0),
    )
    fixed_step = type(method).__name__ in ("ThetaStepper", "RegularizedTheta")
    if law.states and not fixed_step:
        with pytest.raises(ModelError, match=f"{law.states[0].name}.*\n?.*memory"):
            stiction.solve(chain, method, (0.0, 2.0))
        return
    run = stiction.solve(chain, method, (0.0, 2.0))
    failed = {check.check for check in run.audit.failed}
    # a smoothed law has no static friction to keep; without inertia weakening has branches
    allowed = {"static_friction_represented"} if law.has_jump else set()
    allowed |= {"velocity_unique"} if slow and chain.friction.may_weaken else set()
    assert failed <= allowed
    assert run.energy.imbalance_rel < 1e-9
    assert (np.diff(run.energy.friction_heat, axis=0) >= -1e-12).all()
    for state in law.states:
        values = run.variables[state.name].values
        assert values.shape == (run.time.size, 3)
        assert ((values >= state.low) & (values <= state.high)).all()
        assert run.variables[state.name].unit == state.unit
        assert np.array_equal(run.final[state.name], values[-1])


def test_refuses_negative_and_not_finite():
    for bad in (-0.1, np.nan, np.inf, "0.3", True, [0.1, -0.2], [[0.1]]):
        with pytest.raises(ModelError):
            stiction.laws.Coulomb(bad)
        with pytest.raises(ModelError):
            stiction.laws.StaticKinetic(bad, 0.1)
        with pytest.raises(ModelError):
            stiction.laws.ExponentialWeakening(0.4, bad, 0.1)


# ---- smoothed signs


@given(v=st.floats(-5.0, 5.0), width=st.floats(1e-3, 1.0))
def test_smooth_sign_slope(v, width):
    assert SIGNS
    for kind in SIGNS:
        shape, h = kind(), 1e-4 * width
        difference = float(shape.sign(v + h, width) - shape.sign(v - h, width)) / (2.0 * h)
        assert float(shape.slope(v, width)) == pytest.approx(difference, abs=1e-6 / width)
        assert abs(float(shape.sign(v, width))) <= 1.0
        assert float(shape.sign(v, width)) * v >= 0.0


# ---- laws without stick


FORCES = [
    pytest.param(law, id=f"{cls.__name__}-{i}")
    for cls in ALL
    if not cls.sticks
    for i, law in enumerate(cls.examples())
]
each_force = pytest.mark.parametrize("law", FORCES)


def met(law, rng, bent=0.6):
    """Return w, z, the sides and p of contacts as they are met, bent up to a fraction of slip."""
    p = law.parameters(N)
    w = rng.normal(size=N) * law.speed_scale(N) * 10.0 ** rng.uniform(-2, 1, N)
    start = law.state_start(N)
    z = start + rng.uniform(-bent, bent, start.shape) * np.broadcast_to(
        law.state_scale(p), start.shape
    )
    sides = np.sign(law.switches(w, z, p))
    return w, z, sides, p


@each_force
def test_derivatives_of_the_response(law):
    rng, regimes = np.random.default_rng(3), set()
    for _ in range(60):
        # also beyond the deflection of steady slip, where elasto-plastic contacts flow
        w, z, sides, p = met(law, rng, bent=1.2)
        regimes |= set(map(tuple, sides.T))
        answer = law.response(w, z, sides, p)
        dw = 1e-6 * np.abs(w)
        high, low = (law.response(w + d, z, sides, p) for d in (dw, -dw))
        by_speed = (high.coefficient - low.coefficient) / (2 * dw)
        size = np.abs(answer.coefficient) / np.abs(w) + np.abs(answer.by_speed) + 1e-12
        assert np.all(np.abs(by_speed - answer.by_speed) <= 1e-6 * size)
        rate = (high.rate - low.rate) / (2 * dw)
        size = np.abs(answer.rate) / np.abs(w) + np.abs(answer.rate_by_speed) + 1e-12
        assert np.all(np.abs(rate - answer.rate_by_speed) <= 1e-6 * size)
        dz = 1e-6 * np.broadcast_to(law.state_scale(p), z.shape)
        high, low = (law.response(w, z + d, sides, p) for d in (dz, -dz))
        by_state = (high.coefficient - low.coefficient) / (2 * dz[0])
        size = np.abs(answer.coefficient) / dz[0] * 1e-6 + np.abs(answer.by_state)
        assert np.all(np.abs(by_state - answer.by_state) <= 1e-6 * size + 1e-12)
        rate = (high.rate - low.rate) / (2 * dz[0])
        size = np.abs(answer.rate) / dz[0] * 1e-6 + np.abs(answer.rate_by_state)
        assert np.all(np.abs(rate - answer.rate_by_state) <= 1e-6 * size + 1e-9)
    # both directions, and of an elasto-plastic law elastic, mixed and full flow either way
    assert len(regimes) >= (12 if type(law) is ElastoPlastic else 2)


@each_force
def test_response_is_odd_and_heats(law):
    """Exchanging left and right changes no coefficient; bent by no more than slip, it heats."""
    rng = np.random.default_rng(4)
    odd = law.states[0].name == "deflection"
    for _ in range(100):
        w, z, sides, p = met(law, rng)
        answer = law.response(w, z, sides, p)
        flip = np.ones((len(sides), 1))
        flip[: 2 if odd else 1] = -1.0
        other = law.response(-w, -z if odd else z, flip * sides, p)
        assert np.allclose(other.coefficient, -answer.coefficient, rtol=1e-13, atol=0.0)
        heat = answer.coefficient * w - answer.storing
        if getattr(law, "passive_below", lambda: -1.0)() <= 0.0:
            assert np.all(heat >= -1e-12 * np.abs(answer.coefficient * w))


@each_force
def test_what_takes_a_law_without_stick(law):
    chain = stiction.Chain(mass=[1.0, 2.0, 1.0], stiffness=10.0, law=law, v0=0.1)
    span = (0.0, 0.01)
    for method in (
        stiction.Quasistatic(),
        stiction.chains.RegularizedTheta(1e-3, 1.0, 1e-3),
    ):
        with pytest.raises(ModelError, match=r"no stick|which has internal state"):
            stiction.solve(chain, method, span)
    with pytest.raises(ModelError, match=r"EventDriven\.replay"):
        stiction.solve(chain, stiction.chains.EventDriven(replay=True), span)
    with pytest.raises(ModelError, match="stick"):
        stiction.solve(stiction.Chain(mass=[1.0], stiffness=1.0), stiction.chains.Radau(), span)
    stepped = stiction.solve(chain, stiction.ThetaStepper(1e-4, theta=1.0), span, throw=False)
    assert stepped.energy.step_imbalance_rel < 1e-13
