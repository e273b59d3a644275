"""The wheel on a turntable: its field, its energy, its two-folds and its line h = g = 0."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.exact import switching as exact
from stiction.laws.tyre import SimplifiedTyre, StretchedString
from stiction.switching.wheel import folds as wheel_folds
from stiction.switching.wheel.kernels import tyre_contact, wheel_smooth_field
from stiction.switching.wheel.line_kernels import MOST_RAYS, sector_rays
from stiction.switching.wheel.model import WheelOnTurntable
from stiction.switching.wheel.parameters import LineRates, Ray

OTHER = {
    "d": 0.8,
    "m": 1.7,
    "c1": 0.02,
    "c2": 0.05,
    "beta": 0.11,
    "r0": 0.07,
    "omega0": -1.3,
    "mu": 0.6,
    "gamma": -2.1,
    "kappa": 0.35,
    "k2": 1.9,
}
FORMS = [(False, False), (False, True), (True, False), (True, True)]


def wheels():
    """Return the paper's wheel and another, in both times and with both dampers."""
    return [
        WheelOnTurntable(**given, physical_time=physical, c1_between_disks=between)
        for given in ({}, OTHER)
        for physical, between in FORMS
    ]


def table_of(wheel):
    names = ("d", "m", "c1", "c2", "beta", "r0", "omega0", "mu", "gamma")
    return exact.Turntable(**{name: getattr(wheel, name) for name in names})


def random_states(count, seed=0):
    rng = np.random.default_rng(seed)
    r = rng.choice([-1.0, 1.0], count) * rng.uniform(0.02, 0.6, count)
    return np.stack([r, rng.normal(size=count), rng.normal(size=count)], axis=1)


def on_surface(wheel, r, omega):
    """Return the state on h = 0 at r and omega, from (4)."""
    slip = omega - wheel.omega0
    return np.array([r, slip * (wheel.d - r / math.tan(wheel.gamma)), omega])


def power_of(wheel, x, s):
    from stiction.numerics.callback import call_arrays

    out, c = np.empty(3), wheel.compiled
    call_arrays(c.power, np.array(x), np.array([s]), c.params, out)
    return out


def forced_field(wheel, x, force, moment):
    from stiction.switching.wheel.kernels import wheel_forced

    out = np.empty(3)
    wheel_forced(np.array(x), force, moment, wheel.params, out)
    return out


def energy_rate(wheel, x, velocity):
    """Return dE/dt and the size of its terms, from the gradient of the energies."""
    r, v, w = x
    d, m = wheel.d, wheel.m
    gradient = [
        m * r * w**2 + wheel.k2 * (r - wheel.r0),
        m * (v - d * w),
        -d * m * (v - d * w) + m * (r**2 + wheel.beta**2) * w,
    ]
    terms = np.array(gradient) * velocity
    return terms.sum(), np.abs(terms).sum()


def test_energy_balance():
    for wheel in wheels():
        for x in random_states(40):
            for s in (1.0, -1.0):
                work, friction, viscous = power_of(wheel, x, s)
                rate, size = energy_rate(wheel, x, wheel.field(x, s))
                assert abs(rate - (work - friction - viscous)) <= 1e-13 * size
                assert viscous >= 0.0
                if s == np.sign(wheel.surfaces_at(x)[0]):
                    assert friction > 0.0


def test_the_smooth_field():
    # with the sign and the modulus themselves it is the field, and it is even in a smooth g
    for wheel in wheels():
        for x in random_states(20):
            g = wheel.kinks_at(x)[0]
            for side in (1.0, -1.0):
                s, out = np.array([side, np.sign(g), abs(g)]), np.empty(3)
                wheel_smooth_field(x, s, wheel.params, out)
                assert_allclose(out, wheel.field(x, side), rtol=1e-13, atol=1e-14)
                s[1] = 0.0
                wheel_smooth_field(x, s, wheel.params, out)
                both = [wheel_field_with(wheel, x, side, turn, abs(g)) for turn in (1.0, -1.0)]
                assert_allclose(out, 0.5 * (both[0] + both[1]), rtol=1e-12, atol=1e-13)


def wheel_field_with(wheel, x, side, turned, rolling):
    out = np.empty(3)
    wheel_smooth_field(x, np.array([side, turned, rolling]), wheel.params, out)
    return out


def test_energy_balance_in_stick():
    for wheel in wheels():
        for r, omega, lam in zip(
            np.linspace(0.05, 0.5, 8), np.linspace(-2.0, 0.9, 8), np.linspace(-0.9, 0.9, 8),
            strict=True,
        ):  # fmt: skip
            x = on_surface(wheel, r, omega)
            sign = float(np.sign(wheel.kinks_at(x)[0]))
            force = wheel.mu * lam
            velocity = forced_field(wheel, x, force, sign * wheel.kappa * force)
            # the same as Filippov's combination of both sides
            mixed = 0.5 * (1.0 + lam) * wheel.field(x, 1.0) + 0.5 * (1.0 - lam) * wheel.field(
                x, -1.0
            )
            assert_allclose(velocity, mixed, rtol=1e-11, atol=1e-13 * np.abs(mixed).max())
            work, friction, viscous = power_of(wheel, x, lam)
            rate, size = energy_rate(wheel, x, velocity)
            assert friction == 0.0
            assert abs(rate - (work - viscous)) <= 1e-13 * size


def test_energies_are_those_of_the_parts():
    wheel = WheelOnTurntable(**OTHER)
    x, step = random_states(5, seed=3), 1e-6
    for state in x:
        gradient = [
            (np.sum(wheel.energies((state + step * e)[None])) - np.sum(
                wheel.energies((state - step * e)[None]))) / (2.0 * step)
            for e in np.eye(3)
        ]  # fmt: skip
        velocity = np.array([0.3, -0.7, 1.1])
        rate, size = energy_rate(wheel, state, velocity)
        assert abs(np.dot(gradient, velocity) - rate) <= 1e-8 * size
    kinetic, stored = wheel.energies(np.array([[wheel.r0, 0.0, 2.0]]))
    wanted = 0.5 * wheel.m * (wheel.d**2 + wheel.r0**2 + wheel.beta**2) * 4.0
    assert_allclose([kinetic[0], stored[0]], [wanted, 0.0], rtol=1e-15)


def test_surface_and_gradient():
    for wheel in wheels():
        sin, cos = math.sin(wheel.gamma), math.cos(wheel.gamma)
        for x in random_states(10, seed=1):
            slip = x[2] - wheel.omega0
            along = x[1] - wheel.d * slip
            assert_allclose(wheel.surfaces_at(x), -along * sin - x[0] * slip * cos, rtol=1e-13)
            assert_allclose(wheel.kinks_at(x), -along * cos + x[0] * slip * sin, rtol=1e-13)
            step = 1e-6 * np.eye(3)
            central = [
                (wheel.surfaces_at(x + e)[0] - wheel.surfaces_at(x - e)[0]) / 2e-6 for e in step
            ]
            assert_allclose(wheel.gradient(x)[0], central, rtol=1e-8, atol=1e-9)


def test_field_on_the_surface_is_the_closed_form():
    for given in ({}, OTHER):
        wheel = WheelOnTurntable(**given)
        physical = WheelOnTurntable(**given, physical_time=True)
        for r, omega in ((0.2, -1.4), (0.31, -0.4), (-0.15, -1.7)):
            x = on_surface(wheel, r, omega)
            sign = np.sign(wheel.kinks_at(x)[0])
            f0, f_lam = exact.field_parts(table_of(wheel), wheel.kappa, wheel.k2, sign, x)
            a, b = exact.lie_parts(table_of(wheel), wheel.kappa, wheel.k2, sign, x)
            for side in (1.0, -1.0):
                field = wheel.field(x, side)
                wanted = f0 + side * wheel.mu * f_lam
                assert_allclose(field, wanted, rtol=1e-10, atol=1e-12)
                rate = float(wheel.gradient(x)[0] @ field)
                assert_allclose(rate, b + side * wheel.mu * a, rtol=1e-9, atol=1e-12)
                inertia = wheel.m * (wheel.beta**2 + r**2)
                assert_allclose(physical.field(x, side) * inertia, field, rtol=1e-13)


def test_plain_functions_are_the_compiled_ones():
    from stiction.numerics.callback import call_arrays
    from stiction.numerics.jit import py_function
    from stiction.switching.wheel import kernels

    wheel = WheelOnTurntable(**OTHER)

    for x in random_states(4, seed=2):
        for function, at, count in (
            (kernels.wheel_field, wheel.compiled.field, 3),
            (kernels.wheel_surface, wheel.compiled.surface, 2),
            (kernels.wheel_gradient, wheel.compiled.gradient, 3),
            (kernels.wheel_power, wheel.compiled.power, 3),
        ):
            plain, compiled = np.empty(count), np.empty(count)
            py_function(function)(x.copy(), np.array([-1.0]), wheel.params, plain)
            call_arrays(at, x.copy(), np.array([-1.0]), wheel.compiled.params, compiled)
            assert_allclose(plain, compiled, rtol=1e-13, atol=1e-15)


def test_parameters_stand_where_their_names_say():
    string = StretchedString(3.0, 5.0, 0.7, 0.02, 0.04)
    plain = WheelOnTurntable(**OTHER, physical_time=True)
    strung = WheelOnTurntable(**OTHER, c1_between_disks=True, tyre=string)
    for wheel, flags, own in ((plain, (1.0, 0.0), [0.0] * 5), (strung, (0.0, 1.0), None)):
        p = wheel.params[0]
        assert wheel.compiled.params.tolist() == list(p.item())
        for name in ("d", "m", "c1", "c2", "beta", "r0", "omega0", "mu", "kappa", "k2"):
            assert p[name] == OTHER[name]
        assert (p.sin, p.cos) == (math.sin(OTHER["gamma"]), math.cos(OTHER["gamma"]))
        assert (p.physical_time, p.c1_between_disks) == flags
        assert p.psi0 == pytest.approx(math.atan(1.0 / (6.0 * OTHER["kappa"])))
        assert p.share == pytest.approx(1.0 - 2.0 * p.psi0 / math.pi)
        names = ("stiffness", "max_pressure", "kinetic_ratio", "relaxation", "half_length")
        given = own if own is not None else [getattr(string, name) for name in names]
        assert [p[name] for name in names] == given


def test_outputs():
    for given in ({}, OTHER):
        for between in (False, True):
            wheel = WheelOnTurntable(**given, physical_time=True, c1_between_disks=between)
            x = random_states(30, seed=4)
            s = np.sign([wheel.surfaces_at(row) for row in x])
            found = {name: row[0] for name, row in wheel.outputs(x, s).items()}
            h, g = found["slip_velocity"], found["rolling_velocity"]
            law = SimplifiedTyre(wheel.kappa, wheel.mu)
            assert_allclose(found["friction_force"], law.force(h, g), rtol=1e-12)
            assert_allclose(found["friction_moment"], law.moment(h, g), rtol=1e-12)
            # appendix A with the corrected signs, in physical time
            for left in appendix_residual(wheel, x, s, found, between):
                assert_allclose(left, 0.0, atol=1e-12 * np.abs(found["wall_force"]).max())
    stuck = wheel.outputs(x[:1], np.array([[0.4]]))
    sign = np.sign(stuck["rolling_velocity"][0][0])
    assert_allclose(stuck["friction_force"][0], 0.4 * wheel.mu, rtol=1e-15)
    assert_allclose(stuck["friction_moment"][0], sign * 0.4 * wheel.mu * wheel.kappa, rtol=1e-15)
    assert all(len(row) == 3 and row[1] and row[2] for row in stuck.values())


def appendix_residual(wheel, x, s, found, between):
    """Return what is left of (A1'), (A2') and (A3) for the field of the wheel."""
    r, v, w = x.T
    rates = np.array([wheel.field(row, float(side[0])) for row, side in zip(x, s, strict=True)])
    _, push, turn = rates.T
    sin, cos, d, m = math.sin(wheel.gamma), math.cos(wheel.gamma), wheel.d, wheel.m
    force, moment = found["friction_force"], found["friction_moment"]
    wall, spring = found["wall_force"], found["spring_force"]
    damping = wheel.c1 * (w - wheel.omega0 if between else w)
    across = m * (-r * turn + d * w**2 - 2.0 * v * w) - wall + force * cos
    along = m * (push - d * turn - r * w**2) - spring - force * sin
    disk = m * wheel.beta**2 * turn + damping - d * spring - r * wall - moment
    return across, along, disk


# ---- two-folds


@pytest.mark.parametrize("module", [exact, wheel_folds])
def test_a_double_root_counts_once(module):
    assert module._real_roots(1.0, -2.0, 1.0) == [1.0]
    assert sorted(module._real_roots(1.0, -3.0, 2.0)) == [1.0, 2.0]


def test_all_two_folds():
    rng = np.random.default_rng(5)
    most = 0
    for _ in range(150):
        given = dict(OTHER, kappa=float(rng.uniform(0.1, 1.5)), k2=float(rng.uniform(0.1, 4.0)))
        given |= {"gamma": float(rng.uniform(-np.pi, np.pi)), "r0": float(rng.uniform(-0.5, 0.5))}
        wheel = WheelOnTurntable(**given)
        folds = wheel.two_fold_state()
        wanted = exact.two_folds_of(table_of(wheel), wheel.kappa, wheel.k2)
        wanted = wanted[np.lexsort((wanted[:, 1], wanted[:, 0]))]
        assert_allclose(folds.states, wanted, rtol=1e-7, atol=1e-9)
        most = max(most, len(folds.r))
        for x, g in zip(folds.states, folds.g, strict=True):
            # by the field itself: on the surface, with dh/dt = 0 on both sides
            size = np.abs(wheel.gradient(x)[0]) @ np.abs(wheel.field(x, 1.0)) + 1.0
            assert abs(wheel.surfaces_at(x)[0]) <= 1e-12 * (1.0 + np.abs(x).max())
            assert_allclose(wheel.kinks_at(x)[0], g, rtol=1e-9)
            forces = [(s * wheel.mu, np.sign(g) * s * wheel.mu * wheel.kappa) for s in (1.0, -1.0)]
            for force, moment in forces:
                rate = float(wheel.gradient(x)[0] @ forced_field(wheel, x, force, moment))
                assert abs(rate) <= 1e-11 * size
    assert most >= 4


def test_curvatures_are_second_derivatives():
    for wheel in wheels():
        kpp = wheel.two_folds_at(0.23, wheel.omega0 - 0.05)
        placed = WheelOnTurntable.at_two_fold(
            0.23,
            wheel.omega0 - 0.05,
            **{
                name: getattr(wheel, name)
                for name in ("d", "m", "c1", "c2", "beta", "r0", "omega0", "mu", "gamma")
            },
            physical_time=wheel.physical_time,
            c1_between_disks=wheel.c1_between_disks,
        )
        folds = placed.two_fold_state()
        i = int(np.argmin(np.abs(folds.r - 0.23)))
        x = folds.states[i]

        def rate(y, s, wheel=placed):
            # L_s: dh/dt on one side by the real law, friction not held constant
            return float(wheel.gradient(y)[0] @ wheel.field(y, s))

        step = 1e-6
        for a, b, k in (
            (1.0, 1.0, folds.kpp[i]),
            (1.0, -1.0, folds.kpm[i]),
            (-1.0, 1.0, folds.kmp[i]),
            (-1.0, -1.0, folds.kmm[i]),
        ):
            f = placed.field(x, b)
            size = step / np.abs(f).max()
            found = (rate(x + size * f, a) - rate(x - size * f, a)) / (2.0 * size)
            assert_allclose(found, k, rtol=1e-6)
        assert_allclose(folds.kpp[i], kpp.kpp, rtol=1e-9)


def test_at_two_fold():
    wheel = WheelOnTurntable.at_two_fold(0.21, -1.05, c1_between_disks=True)
    assert np.min(np.abs(wheel.two_fold_state().states - [0.21, 0.0, -1.05])[:, [0, 2]]) < 1e-12
    with pytest.raises(ModelError, match="kappa"):
        WheelOnTurntable.at_two_fold(0.1859, -0.963)  # g* < 0 with r* > 0
    with pytest.raises(ModelError, match="k2"):
        WheelOnTurntable.at_two_fold(0.1, -1.037)  # at the rest place of the spring
    with pytest.raises(ModelError, match=r"at_two_fold\.kappa"):
        WheelOnTurntable.at_two_fold(0.1859, -1.037, kappa=0.3)
    for gamma in (0.0, 0.5 * np.pi):
        with pytest.raises(ModelError, match="fig4_flags"):
            WheelOnTurntable.at_two_fold(0.1859, -1.037, gamma=gamma)


def test_gamma_zero():
    # both fields agree at the two-fold; v* as printed, with the masses it lacks
    values = {**OTHER, "gamma": 0.0, "k2": 6.0, "c1": 0.01, "c2": 0.3}
    for omega0 in (-1.3, 0.6, 1.9):
        wheel = WheelOnTurntable(**{**values, "omega0": omega0})
        d, m, kappa = wheel.d, wheel.m, wheel.kappa
        folds = wheel.two_fold_state()
        for r in (-kappa, kappa):
            top = d * (wheel.k2 * (wheel.r0 - r) + m * r * omega0**2) - wheel.c1 * omega0
            v = top / (d * wheel.c2 + 2.0 * m * r * omega0)
            if r == -kappa:
                printed = d * (wheel.k2 * (kappa + wheel.r0) - m * kappa * omega0**2)
                printed -= wheel.c1 * omega0
                assert_allclose(v, printed / (d * wheel.c2 - 2.0 * m * kappa * omega0), rtol=1e-13)
            # g* = -v*, and r* = -sgn(g*) kappa keeps one of the two
            hit = np.abs(folds.r - r) < 1e-12
            assert hit.any() == (r == -np.sign(-v) * kappa)
            if hit.any():
                x = folds.states[hit][0]
                assert_allclose(x, [r, v, omega0], rtol=1e-12)
                sign = np.sign(-v)
                lateral = forced_field(wheel, x, wheel.mu, sign * kappa * wheel.mu)
                opposite = forced_field(wheel, x, -wheel.mu, -sign * kappa * wheel.mu)
                assert_allclose(lateral, opposite, rtol=1e-12, atol=1e-13)
        assert np.all(np.abs(folds.omega - omega0) < 1e-13)


def test_gamma_right_angle():
    # A = -(beta^2 + r^2) < 0: L+ < L- everywhere, so that the folds never meet
    wheel = WheelOnTurntable(**{**OTHER, "gamma": 0.5 * np.pi})
    assert wheel.two_fold_state().r.size == 0
    rng = np.random.default_rng(6)
    for r, w in zip(rng.uniform(-1.0, 1.0, 50), rng.normal(size=50), strict=True):
        slip = w - wheel.omega0
        x = np.array([r, wheel.d * slip, w])
        rates = [
            float(wheel.gradient(x)[0] @ forced_field(wheel, x, f, m * f))
            for m in (wheel.kappa, -wheel.kappa)
            for f in (wheel.mu, -wheel.mu)
        ]
        pull = wheel.k2 * (wheel.r0 - r) - wheel.c2 * x[1] + wheel.m * r * w**2
        inertia = wheel.beta**2 + r**2
        wanted = [-inertia * (pull + wheel.mu), -inertia * (pull - wheel.mu)] * 2
        assert_allclose(rates, wanted, rtol=1e-11, atol=1e-12)


def random_wheel(rng):
    def spread(low, high):
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return WheelOnTurntable(
        d=spread(0.1, 3.0),
        m=spread(0.1, 3.0),
        c1=spread(1e-4, 0.3),
        c2=spread(1e-4, 0.3),
        beta=spread(0.02, 1.0),
        r0=float(rng.uniform(-0.5, 0.5)),
        omega0=float(rng.uniform(-3.0, 3.0)),
        mu=spread(0.1, 3.0),
        gamma=float(rng.uniform(-np.pi, np.pi)),
        kappa=spread(0.02, 2.0),
        k2=spread(0.1, 20.0),
    )


def test_statements_of_the_paper():
    # "at most four singularities", "only one creates nondeterminism": true of g > 0, where
    # the paper's relation M = kappa F holds; with both signs of g there are more of both kinds
    rng = np.random.default_rng(1)
    both, forward, lost, lost_forward = 0, 0, 0, 0
    for _ in range(2500):
        folds = random_wheel(rng).two_fold_state()
        ahead = folds.g > 0.0
        both, forward = max(both, ahead.size), max(forward, int(ahead.sum()))
        lost = max(lost, int((folds.case == 1).sum()))
        lost_forward = max(lost_forward, int(((folds.case == 1) & ahead).sum()))
        # only a Teixeira singularity of case 1 takes in an open set of sliding orbits
        assert np.array_equal(folds.funnels, folds.case == 1)
    assert forward <= 4
    assert 4 < both <= 8
    assert lost_forward == 1
    assert lost == 2
    paper = WheelOnTurntable().two_fold_state()
    assert paper.r.size == 2
    assert paper.case.tolist() == [0, 1]


def test_funnels_decide_by_the_flow():
    # orbits of the linear sliding field itself, from inside the sliding region
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(400):
        folds = random_wheel(rng).two_fold_state()
        for i in range(folds.r.size):
            matrix = np.array([[-folds.kpm[i], -folds.kpp[i]], [folds.kmm[i], folds.kmp[i]]])
            values, vectors = np.linalg.eig(matrix)
            if np.iscomplex(values).any() or values.real.max() >= 0.0:
                arrives = False
            else:
                a, b = vectors[:, int(np.argmax(values.real))].real
                arrives = a * b > 0.0
            assert bool(folds.funnels[i]) == arrives
            seen.add(arrives)
    assert seen == {True, False}


def test_degenerate_places():
    wheel = WheelOnTurntable()
    r, omega = np.linspace(0.15, 0.5, 12), np.linspace(-2.0, -1e-4, 300)
    places = wheel.degenerate_places(r, omega)
    alone = wheel.degenerate_places(float(r[0]), omega)
    for name, rows in places.items():
        np.testing.assert_array_equal(alone[name], rows[rows[:, 0] == r[0]])
    assert len(places["product"]) > 5
    assert len(places["sum"]) > 5
    product = wheel.two_folds_at(*places["product"].T)
    assert_allclose(product.j1 * product.j2, 1.0, rtol=1e-7)
    assert_allclose(np.max(np.abs(product.eigenvalues), axis=0) > 1.0, True)
    total = wheel.two_folds_at(*places["sum"].T)
    assert_allclose(total.j1, -total.j2, rtol=1e-7)
    assert_allclose(total.eigenvalues[0], -total.eigenvalues[1], rtol=1e-7)
    # none of them comes near the paper's region
    window = wheel.degenerate_places(np.linspace(0.1059, 0.3059, 40), np.linspace(-1.1, -1.0, 200))
    assert window["product"].size == 0
    assert window["sum"].size == 0


# ---- the line h = g = 0


def displaced(wheel, x, angle, size):
    """Return the state close to the line with (h, g) = size (sin, cos), at the same r."""
    sin, cos = math.sin(wheel.gamma), math.cos(wheel.gamma)
    map_ = [[-sin, wheel.d * sin - x[0] * cos], [-cos, wheel.d * cos + x[0] * sin]]
    shift = np.linalg.solve(map_, size * np.array([math.sin(angle), math.cos(angle)]))
    return x + np.array([0.0, *shift])


def rates_close_to_line(wheel, x, angle, side=None):
    """Return h' and g' at 1e-7 from the line by the field, not by its limit."""
    y = displaced(wheel, x, angle, 1e-7)
    sign = math.copysign(1.0, math.sin(angle)) if side is None else side
    field = wheel.field(y, sign)
    step = 1e-4
    moved = [wheel._all_functions(y + step * k * field) for k in (1.0, -1.0)]
    return (moved[0] - moved[1]) / (2.0 * step)


def test_rays_follow_the_field():
    # points close to the line, from the compiled field: every ray, its growth, and no other
    seen = set()
    for wheel in (WheelOnTurntable(), WheelOnTurntable(**OTHER), WheelOnTurntable(
        **OTHER, physical_time=True, c1_between_disks=True)):  # fmt: skip
        for r in (0.12, 0.155, 0.18, 0.3, 0.7, -0.2):
            x = np.array([r, 0.0, wheel.omega0])
            rays = [ray for ray in wheel.line_rays(r) if ray.kind == "slip"]
            for ray in rays:
                seen.add(ray.label)
                rates = rates_close_to_line(wheel, x, ray.angle)
                along = [math.sin(ray.angle), math.cos(ray.angle)]
                size = np.abs(wheel.field(displaced(wheel, x, ray.angle, 1e-7), 1.0)).max()
                assert_allclose(rates, ray.growth * np.array(along), atol=1e-5 * size)
            angles = np.concatenate(
                [begin + np.linspace(1e-5, 0.5 * np.pi - 1e-5, 60)
                 for begin in 0.5 * np.pi * np.arange(-2, 2)]
            )  # fmt: skip
            turn = []
            for angle in angles:
                h_rate, g_rate = rates_close_to_line(wheel, x, angle)
                turn.append(h_rate * math.cos(angle) - g_rate * math.sin(angle))
            turn = np.array(turn).reshape(4, -1)
            changes = int(np.sum(turn[:, 1:] * turn[:, :-1] < 0.0))
            apart = [a for ray in rays if (a := abs(math.remainder(ray.angle, 0.5 * np.pi))) > 1e-4]
            assert changes == len(apart)
    assert len(seen) >= 4


@pytest.mark.parametrize(
    "roots", [(0.004, 0.006), (0.3, 0.301), (0.5 * np.pi - 0.006, 0.5 * np.pi - 0.004)]
)
def test_close_rays_are_found_at_both_ends_of_a_sector(roots):
    # rates h' = a + b F(th), g' = c with two close roots of rho th' = h' cos th - g' sin th
    wheel, rates, rays = WheelOnTurntable(), LineRates.table(), Ray.table(MOST_RAYS)
    at = np.array([*roots, 0.1])
    force = [tyre_contact(1.0, math.sin(a), math.cos(a), wheel.params)[0] for a in at]
    matrix = np.stack([np.cos(at), force * np.cos(at), -np.sin(at)], axis=1)
    rates[0].h, rates[0].h_by_force, rates[0].g = np.linalg.solve(matrix, [0.0, 0.0, 1.0])
    count = sector_rays(0, rates, wheel.params, np.empty(64), rays)
    assert_allclose([ray.angle for ray in rays[:count]], roots, atol=1e-9)


def test_labels_of_rays_name_the_sides_they_run_on():
    # the signs of h and g a little along the ray; h = 0 on a surface that it slides on
    seen = set()
    for r in (0.05, 0.12, 0.15, 0.2, 0.3, -0.1, -0.3):
        wheel = WheelOnTurntable()
        x = np.array([r, 0.0, wheel.omega0])
        for ray in wheel.line_rays(r):
            if ray.kind == "rest":
                assert ray.label == "rest"
                continue
            way = 1.0 if ray.outgoing else -1.0
            along = np.array(ray.velocity) / np.linalg.norm(ray.velocity)
            there = x + 1e-6 * way * along
            h, g = wheel.surfaces_at(there)[0], wheel.kinks_at(there)[0]
            side = "0" if ray.mode == "slide" else "+-"[int(h < 0.0)]
            reported = f"{ray.kind} {side}{'+-'[int(g < 0.0)]} {'out' if ray.outgoing else 'in'}"
            assert ray.label == reported
            seen.add(reported)
    assert len(seen) >= 5


def test_sliding_rays_follow_the_field():
    for wheel in (WheelOnTurntable(), WheelOnTurntable(**OTHER)):
        for r in (0.12, 0.155, 0.1825, 0.3, 0.7, -0.2):
            x = np.array([r, 0.0, wheel.omega0])
            rays = {ray.angle: ray for ray in wheel.line_rays(r) if ray.mode == "slide"}
            for angle, rolling in ((0.0, 1.0), (math.pi, -1.0)):
                plus = rates_close_to_line(wheel, x, angle, 1.0)
                minus = rates_close_to_line(wheel, x, angle, -1.0)
                sticks = plus[0] * minus[0] < 0.0
                assert sticks == (angle in rays)
                if sticks:
                    share = plus[0] / (plus[0] - minus[0])
                    growth = rolling * (plus[1] + share * (minus[1] - plus[1]))
                    ray = rays[angle]
                    assert_allclose(ray.growth, growth, atol=1e-5)
                    assert ray.kind == ("slide" if plus[0] < 0.0 else "escape")


def test_exits_at_the_paper_parameters():
    wheel = WheelOnTurntable()
    wanted = {
        0.12: ["escape slide", "rest slide", "slide slide", "slip -"],
        0.17: ["escape slide", "rest slide", "slide slide", "slip -"],
        0.183: ["rest slide", "slide slide", "slip -"],
        0.19: ["rest slide", "slip -"],
    }
    for r, labels in wanted.items():
        exits = wheel.line_exits(np.array([r, 1e-12, wheel.omega0 - 1e-12]))
        assert sorted(f"{e.kind} {e.mode}" for e in exits) == labels
        for exit_ in exits:
            if exit_.kind == "rest":
                assert exit_.speed == 0.0
                continue
            assert_allclose(np.linalg.norm(exit_.direction), 1.0, rtol=1e-14)
            x = np.array([r, 0.0, wheel.omega0]) + 1e-6 * np.array(exit_.direction)
            h, g = wheel._all_functions(x)
            assert abs(math.remainder(math.atan2(h, g) - exit_.angle, 2.0 * math.pi)) < 1e-9


def test_other_branch_of_the_line():
    # r = 0, v = d (omega - omega0): the line is crossed there, and exits still match
    wheel = WheelOnTurntable(**OTHER)
    for omega in (-0.9, 0.4, -2.2):
        x = np.array([0.0, wheel.d * (omega - wheel.omega0), omega])
        assert_allclose(wheel._all_functions(x), 0.0, atol=1e-15)
        exits = wheel.line_exits(x)
        assert exits
        assert all(exit_.kind != "rest" for exit_ in exits)
        for exit_ in exits:
            field = np.array(exit_.direction) * exit_.speed
            h, g = wheel._all_functions(x + 1e-7 * field)
            assert abs(math.remainder(math.atan2(h, g) - exit_.angle, 2.0 * math.pi)) < 1e-5
    assert wheel.line_exits(np.array([0.0, 0.0, wheel.omega0])) == ()
    level = WheelOnTurntable(d=0.0)
    assert [exit_.kind for exit_ in level.line_exits(np.array([0.0, 0.0, -1.2]))] == ["slide"]


def test_the_fastest_of_several_exits_of_one_mode_is_the_first():
    from stiction.switching.wheel.line import line_rays_at

    wheel = WheelOnTurntable(gamma=0.75)
    rays = [ray for ray in line_rays_at(wheel, (0.84, 0.0, -1.0)) if ray.outgoing]
    assert [ray.mode for ray in rays] == ["+", "+"]
    fastest = max(rays, key=lambda ray: ray.growth)
    assert wheel.line_exits([0.84, 0.0, -1.0])[0].angle == fastest.angle


def test_rest_within_the_hexagon():
    wheel = WheelOnTurntable()
    mu, kappa = wheel.mu, wheel.kappa
    vertices = [(4.0 * mu / 3.0, 0.0), (mu, kappa * mu), (-mu, kappa * mu)]
    vertices = np.array(vertices + [(-a, -b) for a, b in vertices])
    seen = set()
    for r in np.linspace(-1.5, 2.5, 81):
        if abs(r) < 1e-9:
            continue
        pull = wheel.k2 * (wheel.r0 - r) + wheel.m * r * wheel.omega0**2
        force = -pull / math.sin(wheel.gamma)
        moment = wheel.c1 * wheel.omega0 - wheel.d * pull - force * r * math.cos(wheel.gamma)
        still = forced_field(wheel, [r, 0.0, wheel.omega0], force, moment)
        assert_allclose(still, 0.0, atol=1e-13)
        edges = np.roll(vertices, -1, axis=0) - vertices
        to_point = np.array([force, moment]) - vertices
        inside = bool(np.all(edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0.0))
        rests = "rest" in [ray.kind for ray in wheel.line_rays(float(r))]
        assert rests == inside
        seen.add(inside)
    assert seen == {True, False}


# ---- what is refused


def test_refusals():
    for name, value in (
        ("m", 0.0),
        ("beta", 0.0),
        ("mu", -1.0),
        ("kappa", 0.0),
        ("c1", -1e-3),
        ("gamma", math.nan),
        ("k2", -1.0),
        ("physical_time", 1),
        ("x0", [0.2, 0.1]),
        ("mode", "stick"),
    ):
        with pytest.raises(ModelError, match=rf"WheelOnTurntable\.{name}"):
            WheelOnTurntable(**{name: value})
    wheel = WheelOnTurntable()
    for call, match in (
        (lambda: wheel.line_rays(math.nan), "line_rays.r"),
        (lambda: wheel.line_rays("here"), "line_rays.r"),
        (lambda: wheel.line_changes(0.1, math.inf), "line_changes.r_high"),
        (lambda: wheel.line_exits([math.nan, 0.0, -1.0]), "line_exits.x"),
        (lambda: wheel.line_exits([0.17, 0.0]), "line_exits.x"),
    ):
        with pytest.raises(ModelError, match=rf"WheelOnTurntable\.{match}"):
            call()


def test_names_and_defaults():
    wheel = WheelOnTurntable()
    assert wheel.state_names == ("r", "v", "omega")
    assert wheel.state_units == ("m", "m/s", "rad/s")
    assert wheel.time_unit == "1"
    assert WheelOnTurntable(physical_time=True).time_unit == "s"
    assert wheel.x0 is not None
    assert wheel.surfaces_at(np.array(wheel.x0))[0] > 0.0
    assert wheel.kinks_at(np.array(wheel.x0))[0] > 0.0
    assert wheel == WheelOnTurntable()
    assert wheel != WheelOnTurntable(kappa=0.3)


STRING = StretchedString(1.3, 0.7, 0.6, 0.3, 0.9)


def test_string_field_is_the_law():
    # F and M enter the field as they enter the energy: by the friction outputs
    wheel = WheelOnTurntable(tyre=STRING)
    x = random_states(50)
    h, g = np.array([[wheel.surfaces_at(row)[0], wheel.kinks_at(row)[0]] for row in x]).T
    force, moment = STRING.contact(h, g)
    found = wheel.outputs(x, np.sign(h)[:, None])
    assert_allclose(found["friction_force"][0], force, atol=1e-13)
    assert_allclose(found["friction_moment"][0], moment, atol=1e-13)
    # with the friction taken out, both wheels have the same field
    bare = WheelOnTurntable()
    for row, f, m, side in zip(x, force, moment, np.sign(h), strict=True):
        other = bare.outputs(row[None, :], np.array([[side]]))
        change = np.array([f - other["friction_force"][0][0], m - other["friction_moment"][0][0]])
        inertia = wheel.beta**2 + row[0] ** 2
        sin, cos = math.sin(wheel.gamma), math.cos(wheel.gamma)
        lever = np.array([[wheel.d * row[0] * cos + inertia * sin, wheel.d], [row[0] * cos, 1.0]])
        expected = bare.field(row, side) + np.array([0.0, *(lever @ change)])
        assert_allclose(wheel.field(row, side), expected, rtol=1e-10, atol=1e-12)


def test_string_wheel_runs_and_closes_its_ledger():
    import stiction as st

    wheel = WheelOnTurntable(tyre=STRING, x0=[0.2, 0.1, -0.95])
    run = st.solve(wheel, t_span=(0.0, 5.0))
    assert run.energy.imbalance_rel < 1e-10
    assert "slide" not in set(run.events["kind"])
    assert run.audit.ok


def test_string_from_a_file_and_back():
    from stiction.io.scenario import read_scenario, write_scenario

    text = (
        '[system]\ntype = "WheelOnTurntable"\n[system.tyre]\ntype = "StretchedString"\n'
        "stiffness = 1.3\nmax_pressure = 0.7\nkinetic_ratio = 0.6\nrelaxation = 0.3\n"
        "half_length = 0.9\n[solve]\nt_end = 1.0\n"
    )
    scenario = read_scenario(text)
    assert scenario.system.tyre == STRING
    assert read_scenario(write_scenario(scenario)).system == scenario.system


def test_simplified_tyre_gives_mu_and_kappa():
    wheel = WheelOnTurntable(tyre=SimplifiedTyre(kappa=0.3, mu=0.8))
    assert (wheel.mu, wheel.kappa) == (0.8, 0.3)
    with pytest.raises(ModelError, match="mu"):
        WheelOnTurntable(mu=0.5, tyre=SimplifiedTyre(kappa=0.3, mu=0.8))
    with pytest.raises(ModelError, match="tyre"):
        WheelOnTurntable(tyre="string")


def test_formulas_of_the_paper_law_refuse_a_string():
    with pytest.raises(ModelError, match="stretched-string"):
        WheelOnTurntable(tyre=STRING).two_fold_state()
