"""Two-folds against closed forms, reference numbers and changes of coordinates."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from references import reference
from scipy.linalg import expm

from stiction.errors import ModelError, SolveError
from stiction.exact import switching as exact
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.presets import BeltOscillator, NormalForm, TwoBlockStickSlip
from stiction.switching.two_folds.finding import all_two_folds, two_fold
from stiction.switching.two_folds.local_flow import TwoFold
from stiction.switching.two_folds.newton import Probe
from stiction.switching.wheel.model import WheelOnTurntable

PAPER = exact.Turntable(1.0, 1.0, 1e-3, 1e-3, 0.05, 0.1, -1.0, 1.0, -0.75 * np.pi)


def plain(f_plus, f_minus, h=lambda x: x[0], h_gradient=lambda x: (1.0, 0.0, 0.0)):
    """Return a system whose functions stay in Python: no compilation for each of many."""

    def stays(function):
        def called(x):
            if x is None:
                raise ValueError
            return function(x)

        return called

    parts = [stays(part) for part in (h, f_plus, f_minus)]
    return PiecewiseSmooth(*parts, h_gradient=stays(h_gradient), x0=(0.0, 0.3, 0.1))


def linear_two_fold(a, b, c1, c2, plus=1.0, minus=1.0):
    """L+ = plus a y and L- = minus b z at the origin."""
    return plain(
        lambda x: (plus * a * x[1], plus, plus * c1),
        lambda x: (minus * b * x[2], minus * c2, minus),
    )


def test_wheel_reference():
    known = reference("switching.json")
    found = two_fold(WheelOnTurntable(), (0.19, -0.03, -1.03))
    assert np.allclose(found.x, [0.1859, float(known["v_star"]), -1.037], rtol=0.0, atol=1e-14)
    for name in ("Kpp", "Kpm", "Kmp", "Kmm"):
        assert getattr(found, name) == pytest.approx(float(known[name]), rel=2e-12)
    # made of differences of fields as the K are: the last digits hang on the machine's sine
    for name in ("J1", "J2"):
        assert getattr(found, name) == pytest.approx(float(known[name]), rel=2e-12)
    expected = [float(known["lambda1"]), float(known["lambda2"])]
    assert np.allclose(found.eigenvalues, expected, rtol=3e-12)
    assert np.allclose(found.rates, np.array(known["desing_eigs"], dtype=float), rtol=3e-12)
    assert found.case == known["case"]
    assert found.kind == "invisible-invisible"
    assert not found.deterministic
    # the doubt covers what is wrong
    truth = np.array([[float(known[f"K{a}{b}"]) for b in "pm"] for a in "pm"])
    assert (np.abs(found.K - truth) <= 5.0 * found.K_doubt).all()


def test_directions_span_the_folds():
    found = two_fold(WheelOnTurntable(), (0.19, -0.03, -1.03))
    probe = Probe(found.system, 0, np.ones(1))
    grad_h, grad_plus, grad_minus = probe.gradients(found.x)
    for v, grad in ((found.v_plus, grad_plus), (found.v_minus, grad_minus)):
        size = np.linalg.norm(v)
        assert abs(grad_h @ v) <= 1e-11 * size * np.linalg.norm(grad_h)
        assert abs(grad @ v) <= 1e-9 * size * np.linalg.norm(grad)
    # L+ = eta D / 2, L- = -xi D / 2
    assert grad_plus @ found.v_minus == pytest.approx(0.5 * found.D, rel=1e-8)
    assert grad_minus @ found.v_plus == pytest.approx(-0.5 * found.D, rel=1e-8)
    # the weak direction points into the sliding region, L+ < 0 < L-
    weak = found.weak_direction
    assert grad_plus @ weak < 0.0 < grad_minus @ weak
    assert np.linalg.norm(weak) == pytest.approx(1.0, rel=1e-14)


def test_all_two_folds_of_the_wheel():
    wheel = WheelOnTurntable()
    known = exact.two_folds_of(PAPER, wheel.kappa, wheel.k2)
    found = all_two_folds(wheel, (-1.0, -3.0, -3.0), (1.0, 3.0, 3.0), n=80, seed=1)
    points = np.array([point.x for point in found])
    assert points.shape == known.shape
    assert np.allclose(points, known[np.argsort(known[:, 0])], atol=1e-11)
    assert [point.deterministic for point in found] == [True, False]
    assert found[0].kind == "visible-visible"
    again = all_two_folds(wheel, (-1.0, -3.0, -3.0), (1.0, 3.0, 3.0), n=80, seed=1)
    assert all(np.array_equal(a.x, b.x) for a, b in zip(found, again, strict=True))


@pytest.mark.parametrize(
    ("j1", "j2", "case"),
    [
        (-1.2, -1.5, 1),
        (1.2, 1.5, 2),
        (-0.5, -0.5, 3),
        (0.5, -2.0, 3),
        (-2.0, 2.0, 3),
        (0.0, 0.0, 3),
    ],
)
def test_normal_form_finds_itself(j1, j2, case):
    found = two_fold(NormalForm(j1, j2), (0.1, -0.2, 0.3))
    assert np.allclose(found.x, 0.0, atol=1e-15)
    assert np.allclose([found.J1, found.J2], [j1, j2], rtol=0.0, atol=1e-12)
    assert found.case == case
    assert found.deterministic == (case != 1)
    assert np.allclose(found.eigenvalues, exact.sliding_eigenvalues(j1, j2), atol=1e-12)
    form = found.normal_form()
    assert np.allclose(form.matrix, [[j1, 1.0], [1.0, j2]], atol=1e-12)
    assert np.allclose([form.scaling, form.time_scale, form.plus, form.minus], [1, 2, 1, 1])
    points = np.array([[0.0, 0.3, 0.1], [0.2, -0.1, 0.4]])
    assert np.allclose(found.to_normal_form(points), points, atol=1e-12)
    assert np.allclose(found.spiral_multipliers, exact.crossing_multipliers(j1, j2), atol=1e-12)


def test_arrival_time():
    known = reference("switching.json")["normal_form"]
    found = two_fold(NormalForm(known["J1"], known["J2"]), (0.1, 0.1, 0.1))
    assert found.arrival_time(known["slide_start"]) == pytest.approx(
        known["arrival_time_exact"], rel=1e-13
    )
    # sides of different pace: (z, y)' = A (z, y) and dt/ds = (plus y + minus z) / (plus minus)
    plus, minus, start = 2.0, 0.5, np.array([0.1, 0.3])
    uneven = linear_two_fold(-1.0, 1.0, -1.2, -1.5, plus, minus)
    a = np.array([[-1.2, 1.0], [1.0, -1.5]])
    s = np.linspace(0.0, 400.0, 4001)
    orbit = np.array([expm(a * t) @ start for t in s[:2]])
    step, values, time = expm(a * 0.1), start.copy(), 0.0
    nodes, weights = np.polynomial.legendre.leggauss(6)
    inner = [expm(a * 0.05 * (1.0 + node)) for node in nodes]
    for _ in s:
        rates = [np.array([minus, plus]) @ m @ values / (plus * minus) for m in inner]
        time += 0.05 * float(weights @ rates)
        values = step @ values
    assert np.allclose(orbit[0], start)
    arrival = two_fold(uneven, (0.05, 0.05, 0.05)).arrival_time((0.0, 0.3, 0.1))
    assert arrival == pytest.approx(time, rel=1e-11)


def test_arrival_time_of_the_wheel_is_of_first_order():
    wheel = WheelOnTurntable()
    found = two_fold(wheel, (0.19, -0.03, -1.03))
    weak = found.directions[0]
    slip = -found.directions[0][2]

    def arrival(distance):
        x = found.x + distance * weak
        # back onto h = 0 along v
        x[1] -= wheel.surfaces_at(x)[0] / wheel.gradient(x)[0, 1]
        return found.arrival_time(x) / distance

    coarse, fine, finest = arrival(4e-4), arrival(2e-4), arrival(1e-4)
    assert slip > 0.0
    assert finest > 0.0
    assert (coarse - fine) / (fine - finest) == pytest.approx(2.0, rel=0.01)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000))
def test_coordinates_do_not_matter(seed):
    """J1, J2 are the same after a rotation, a shear, other paces and another h."""
    rng = np.random.default_rng(seed)
    j1, j2 = rng.uniform(-2.0, 2.0, size=2)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] * rng.uniform(0.5, 2.0)
    back = np.linalg.inv(turn)
    p, q, r = rng.uniform(-0.5, 0.5, size=3)
    plus, minus, steep = rng.uniform(0.5, 2.0, size=3)

    def old(u):
        x, y, w = back @ u
        y = y - p * x * x
        return x, y, w - q * x * y - r * y * y

    def moved(u, field):
        x, y, w = old(u)
        fx, fy, fz = field(x, y, w)
        gy = fy + 2.0 * p * x * fx
        gz = fz + q * (fx * y + x * fy) + 2.0 * r * y * fy
        return turn @ np.array([fx, gy, gz])

    def h(u):
        x, y, _ = old(u)
        return steep * x * np.exp(0.3 * x + 0.2 * y)

    def h_gradient(u):
        x, y, _ = old(u)
        e = steep * np.exp(0.3 * x + 0.2 * y)
        along_x, along_y = e * (1.0 + 0.3 * x) - 0.4 * p * x * x * e, 0.2 * x * e
        return back.T @ np.array([along_x, along_y, 0.0])

    system = plain(
        lambda u: plus * moved(u, lambda x, y, z: np.array([-y, 1.0, j1])),
        lambda u: minus * moved(u, lambda x, y, z: np.array([z, j2, 1.0])),
        h,
        h_gradient,
    )
    found = two_fold(system, turn @ np.array([0.05, -0.05, 0.05]))
    assert np.allclose(found.x, 0.0, atol=1e-11)
    assert np.allclose([found.J1, found.J2], [j1, j2], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_determinism_is_what_the_sliding_orbits_do(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.choice([-1.0, 1.0], size=2)
    c1, c2 = rng.uniform(-4.0, 4.0, size=2)
    if seed == 0:
        # visible on one side, and still a whole wedge of orbits arrives
        a, b, c1, c2 = 1.0, 1.0, -3.0, 0.1
    found = two_fold(linear_two_fold(a, b, c1, c2), (0.05, 0.05, 0.05))
    assert found.visible == (a > 0.0, b < 0.0)
    # (y, z)' = L- f+ - L+ f- with L+ = a y, L- = b z, followed from all of L+ < 0 < L-
    flow = np.array([[-a * c2, b], [-a, b * c1]])
    angles = np.linspace(0.01, 0.49, 200) * np.pi
    starts = np.array([-a * np.cos(angles), b * np.sin(angles)])
    reach = 12.0 / max(1e-3, float(np.abs(np.linalg.eigvals(flow).real).min()))
    arrived = np.ones(angles.size, dtype=bool)
    for s in np.linspace(0.0, min(reach, 200.0), 400):
        y, z = expm(flow * s) @ starts
        arrived &= (a * y < 0.0) & (b * z > 0.0)
    arrived &= np.hypot(y, z) < 1e-3
    assert found.deterministic == (not arrived.any())


def _as_complex(numbers):
    """As NumPy 2.5 returns them: complex whatever they are."""
    return np.asarray(numbers).astype(np.complex128)


def _as_real(numbers):
    """As NumPy up to 2.4 returns them: real where no imaginary part is."""
    numbers = np.asarray(numbers)
    return numbers.real if not np.imag(numbers).any() else numbers


@pytest.mark.parametrize("given_as", [_as_complex, _as_real])
def test_types_of_a_library_do_not_decide(monkeypatch, given_as):
    eig, eigvals = np.linalg.eig, np.linalg.eigvals
    monkeypatch.setattr(np.linalg, "eig", lambda a: tuple(map(given_as, eig(a))))
    monkeypatch.setattr(np.linalg, "eigvals", lambda a: given_as(eigvals(a)))
    found = two_fold(WheelOnTurntable(), (0.19, -0.03, -1.03))
    assert not found.deterministic
    assert "Determinism is lost" in found.why
    assert all(type(rate) is float for rate in found.rates)
    assert np.isfinite(found.weak_direction).all()
    focus = two_fold(linear_two_fold(1.0, 1.0, 0.1, 0.2), (0.05, 0.05, 0.05))
    assert all(type(rate) is complex for rate in focus.rates)


@settings(max_examples=200)
@given(st.tuples(*[st.floats(-1e3, 1e3)] * 4), st.sampled_from([(-1, 1), (1, 1), (1, -1)]))
def test_rates_solve_the_eigenproblem(entries, signs):
    pp, pm, mp, mm = entries
    K = np.array([[signs[0] * (1e-3 + abs(pp)), pm], [mp, signs[1] * (1e-3 + abs(mm))]])
    nothing = np.zeros(3)
    found = TwoFold(None, 0, np.ones(1), nothing, nothing, nothing, K, 0.0 * K, nothing)
    matrix, size = found.matrix, np.abs(found.matrix).max()
    first, second = found.rates
    # trace, determinant and order are those of the matrix, whatever the kind
    assert first + second == pytest.approx(np.trace(matrix), abs=1e-13 * size)
    assert first * second == pytest.approx(np.linalg.det(matrix), abs=1e-13 * size**2)
    if isinstance(first, complex):
        assert first == second.conjugate()
        assert first.imag > 0.0
        assert np.isnan(found.eigenvectors).all()
        return
    assert first >= second
    vectors = found.eigenvectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, rel=1e-14)
    for rate, vector in zip(found.rates, vectors, strict=True):
        assert matrix @ vector == pytest.approx(rate * vector, abs=1e-12 * size)
        # one between both axes points into the sliding region: D > 0 has it where both are < 0
        if vector[0] * vector[1] > 0.0 and found.D != 0.0:
            assert np.sign(vector[1]) == -np.sign(found.D)


def test_words_fit_the_kind():
    found = two_fold(NormalForm(-1.2, -1.5), (0.1, 0.1, 0.1))
    assert found.spiral_multipliers == pytest.approx((5.0, 0.2), rel=1e-11)
    assert any("funnel" in words for words in found.local_futures)
    assert any("5 (out) and 0.2 (in)" in words for words in found.local_futures)
    assert "lost" in found.why
    assert found.model() == NormalForm(found.J1, found.J2)
    saved = two_fold(NormalForm(1.2, 1.5), (0.1, 0.1, 0.1))
    assert "holds" in saved.why
    assert saved.weak_direction is None
    with pytest.raises(ModelError, match="two-fold that sliding orbits reach"):
        saved.arrival_time((0.0, 0.3, 0.1))
    with pytest.raises(ModelError, match="sliding point"):
        found.arrival_time((0.0, -0.3, 0.1))
    with pytest.raises(ModelError, match="sliding point"):
        found.arrival_time((0.1, 0.3, 0.1))


def beginnings(K, escaping):
    """Return "open", "one" or "" for orbits that begin at the point in one of both regions.

    The sliding flow of (L+, L-) in polar coordinates, over a grid of directions in the region.
    """
    turn = np.linspace(1e-6, 0.5 * np.pi - 1e-6, 4001)
    angle = turn + (1.5 * np.pi if escaping else 0.5 * np.pi)
    y, z = np.cos(angle), np.sin(angle)
    dy, dz = (K[:, 0, None] * z - K[:, 1, None] * y) / (z - y)
    outwards, turning = y * dy + z * dz, y * dz - z * dy
    at = np.flatnonzero(turning[1:] * turning[:-1] < 0.0)
    begins = [k for k in at if outwards[k] > 0.0]
    # backwards in time neighbours come to a direction from which they turn away
    if any(turning[k + 1] > turning[k] for k in begins):
        return "open"
    return "one" if begins else ""


def test_all_futures_are_listed():
    """Orbits that begin at random two-folds of all kinds, by their flow in polar coordinates."""
    rng = np.random.default_rng(2)
    none = np.zeros(3)
    known = [[[0.5, -1.0], [1.0, -0.5]], [[1.0, -1.0], [-3.0, 1.0]], [[0.5, 1.0], [-1.0, -0.5]]]
    seen = set()
    for K in np.array([*known, *rng.normal(size=(400, 2, 2))]):
        words = " ".join(TwoFold(None, 0, none, none, none, none, K, K, none).local_futures)
        kind = K[0, 0] > 0.0, K[1, 1] < 0.0
        here, there = beginnings(K, False), beginnings(K, True)
        assert ("an open set that begins" in words) == (here == "open"), K
        assert ("the one sliding orbit that begins" in words) == (here == "one"), K
        assert ("a funnel" in words) == (there == "open"), K
        assert ("the one orbit of the escaping region" in words) == (there == "one"), K
        assert words.count("along the visible fold") == sum(kind)
        seen.add((kind, here, there))
    # no open set begins at two invisible folds, and no single orbit at two visible ones
    assert len({(sum(kind), here) for kind, here, _ in seen}) == 7


def test_other_kinds_have_no_normal_form():
    found = two_fold(linear_two_fold(1.0, -1.0, 0.5, 0.5), (0.05, 0.05, 0.05))
    assert found.kind == "visible-visible"
    assert found.J1 is None
    assert found.J2 is None
    assert found.case is None
    assert found.spiral_multipliers is None
    assert sum("visible fold" in words for words in found.local_futures) == 2
    with pytest.raises(ModelError, match="visible-visible"):
        found.normal_form()
    focus = two_fold(linear_two_fold(1.0, 1.0, 0.1, 0.2), (0.05, 0.05, 0.05))
    assert focus.kind == "visible-invisible"
    assert isinstance(focus.rates[0], complex)
    assert np.isnan(focus.eigenvectors).all()
    assert focus.deterministic


def test_slopes_to_rounding():
    system = plain(
        lambda x: (np.sin(3.0 * x[1]), 1.0, 0.0), lambda x: (np.exp(2.0 * x[2]), 0.0, 1.0)
    )
    probe = Probe(system, 0, np.ones(1))
    x = np.array([0.0, 0.4, -0.3])
    slope, doubt = probe.slope(x, np.array([0.0, 2.0, 1.0]))
    expected = np.array([0.0, 6.0 * np.cos(1.2), 2.0 * np.exp(-0.6)])
    assert np.allclose(slope, expected, atol=1e-13)
    assert (np.abs(slope - expected) <= 5.0 * doubt + 1e-15).all()
    assert (doubt <= 1e-12).all()


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), st.integers(-6, 6))
def test_any_quadratic_flow_gets_an_answer(seed, power):
    """A search ends with a two-fold of consistent kind, or says that there is none."""
    rng = np.random.default_rng(seed)
    c = 10.0**power * rng.normal(size=(2, 3, 10))

    def side(which):
        def field(x):
            pairs = [x[i] * x[j] for i in range(3) for j in range(i, 3)]
            return c[which] @ np.array([1.0, *x, *pairs])

        return field

    found, message = None, ""
    try:
        found = two_fold(plain(side(0), side(1)), rng.normal(size=3))
    except SolveError as error:
        message = str(error)
    assert (found is None) == ("Try:" in message)
    if found is None:
        return
    assert np.abs(found.residual).max() <= 1e-8
    assert (found.case is None) == (found.kind != "invisible-invisible")
    assert found.deterministic or found.weak_direction is not None
    if found.case is not None:
        assert found.deterministic == (found.case != 1)


def test_a_fold_alone_is_named():
    system = plain(lambda x: (-x[1], 1.0, 0.0), lambda x: (1.0, 0.0, 0.0))
    with pytest.raises(SolveError, match=r"a fold of f\+ alone"):
        two_fold(system, (0.1, 0.2, 0.3))


def test_a_slow_flow_has_the_same_two_fold():
    slow = PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: [-1e-12 * x[1], 1e-12, -1.2e-12],
        f_minus=lambda x: [1e-9 * x[2], -1.5e-9, 1e-9],
        x0=[0.1, 0.1, 0.1],
    )
    found = two_fold(slow, slow.x0)
    assert np.allclose([found.J1, found.J2], [-1.2, -1.5], rtol=0.0, atol=1e-12)
    assert found.case == 1


def test_equilibria_and_kinks_are_no_two_folds():
    along = plain(lambda x: (-x[0], -x[1], -x[2]), lambda x: (-x[0], -x[1], -x[2]))
    with pytest.raises(SolveError, match="tangent"):
        two_fold(along, (0.1, 0.2, 0.3))
    still = plain(lambda x: (x[1], x[2], x[0]), lambda x: (x[2], x[1], -x[0]))
    with pytest.raises(SolveError, match="vanish"):
        two_fold(still, (0.0, 0.2, 0.3))
    kinked = plain(lambda x: (-abs(x[1]), 1.0, 0.3), lambda x: (x[2], 0.2, 1.0))
    with pytest.raises(SolveError):
        two_fold(kinked, (0.01, 0.0, 0.01))


def test_more_states_give_the_nearest():
    system = PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (-x[1], 1.0, -1.2, 0.3),
        f_minus=lambda x: (x[2], -1.5, 1.0, -0.2),
        x0=(0.0, 0.3, 0.1, 0.0),
    )
    found = two_fold(system, (0.1, 0.2, 0.3, 0.7))
    assert np.allclose(found.x, [0.0, 0.0, 0.0, 0.7], atol=1e-14)
    assert np.allclose([found.J1, found.J2], [-1.2, -1.5], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: two_fold("wheel", (0.0, 0.0, 0.0)), "switching system"),
        (lambda: two_fold(BeltOscillator(), (0.0, 0.0)), "at least 3 states"),
        (lambda: two_fold(NormalForm(1.0, 1.0), (0.0, 0.0)), "guess"),
        (lambda: two_fold(NormalForm(1.0, 1.0), (0.0, np.nan, 0.0)), "guess"),
        (lambda: two_fold(NormalForm(1.0, 1.0), (0.0, 0.0, 0.0), surface=1), "surface"),
        (lambda: two_fold(TwoBlockStickSlip(), np.zeros(4), surface=2), "surface"),
        (lambda: all_two_folds(NormalForm(1.0, 1.0), (0.0,) * 3, (0.0,) * 3), "lower < upper"),
        (lambda: all_two_folds(NormalForm(1.0, 1.0), (0.0,) * 3, (1.0,) * 3, n=0), "each search"),
    ],
)
def test_bad_input_is_refused(call, word):
    with pytest.raises(ModelError, match=word):
        call()
