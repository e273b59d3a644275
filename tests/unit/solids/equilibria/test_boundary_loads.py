"""Tractions and pressures on boundaries, against closed forms, differences and an ODE."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_bvp
from scipy.optimize import fsolve
from solid_cases import principal_stresses

import stiction as st
from stiction.laws import Frictionless, LennardJones
from stiction.solids import (
    Q1,
    Q1H,
    Q1N2,
    Q2,
    Q2N2,
    Body,
    Boundary,
    Contact,
    Fixed,
    LinearElastic,
    Nearest,
    NearlyIncompressible,
    NeoHookean,
    Pressure,
    Program,
    Reaction,
    RigidPlane,
    Symmetry,
    Traction,
    block,
    cap,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem
from stiction.solids.model import Readings

RAMP = Program((0.0, 1.0), (0.0, 1.0))
LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def to(value):
    return Program((0.0, 1.0), (0.0, value))


def drawn(run, place):
    """Return where the drawn point at a place of the start is at the end."""
    before, after = (run.data["drawn_position"].values[i] for i in (0, -1))
    return after[np.argmin(np.linalg.norm(before - place, axis=1))]


def ring(inner, outer, cells, angle=0.0):
    """Return a quarter of a ring between the directions `angle` and `angle` + 90 degrees."""

    def mapping(s, t):
        r, phi = inner + (outer - inner) * s, angle + 0.5 * np.pi * t
        return r * np.cos(phi), r * np.sin(phi)

    return block(mapping, cells)


def inflated(mesh, element, material, pressure, steps, load="left"):
    sides = [Symmetry(Boundary(0, "bottom")), Symmetry(Boundary(0, "top"))]
    held = [*sides, Pressure(Boundary(0, load), to(pressure))]
    solid = st.Solid([Body(mesh, element, material)], [], held, dimensionless=True)
    return st.solve(solid, st.solids.Quasistatic(steps=steps))


@pytest.mark.parametrize("nominal", [0.3, -0.2])
def test_a_bar_under_traction(nominal):
    """A dead traction is a nominal stress: the bar is in uniaxial tension, at any strain."""
    e, nu = 2.0, 0.3
    mu, lam = e / 2.0 / (1.0 + nu), e * nu / (1.0 + nu) / (1.0 - 2.0 * nu)

    def stress(stretch):
        x, y = stretch
        volume = np.log(x * y)
        return [mu * (x - 1 / x) + lam * volume / x - nominal, mu * (y - 1 / y) + lam * volume / y]

    x, y = fsolve(stress, (1.0, 1.0), xtol=1e-12)
    held = [
        Symmetry(Boundary(0, "left")),
        Symmetry(Boundary(0, "bottom")),
        Traction(Boundary(0, "right"), 0, to(nominal)),
    ]
    body = Body(rectangle(3.0, 1.0, (3, 2)), Q1(), NeoHookean(e, nu))
    solid = st.Solid([body], [], held, dimensionless=True)
    run = st.solve(solid, st.solids.Quasistatic(steps=8))
    np.testing.assert_allclose(drawn(run, (3.0, 1.0)), (3.0 * x, y), rtol=1e-9)
    work = run.data["condition_work"].values[-1]
    assert work[2] == pytest.approx(run.energy.external_work[-1], rel=1e-12)
    assert work[:2] == pytest.approx([0.0, 0.0], abs=1e-15)
    # the work goes into the bar, up to the trapezoidal rule
    assert run.energy.imbalance_rel < 1e-3


def lame(pressure, inner, outer, e, nu):
    """Return the radial displacement of the inner face of a thick ring in plane strain."""
    a, b = inner, outer
    k = (1.0 + nu) / e * pressure * a**2 / (b**2 - a**2)
    return k * ((1.0 - 2.0 * nu) * a + b**2 / a)


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_a_thick_ring(angle):
    """Small pressure in a quarter of a ring between planes of symmetry in any direction."""
    e, nu, p = 1.0, 0.3, 1e-6
    errors = []
    for cells in ((2, 4), (4, 8)):
        run = inflated(ring(1.0, 2.0, cells, angle), Q2(), LinearElastic(e, nu), p, 1)
        start = np.array([np.cos(angle), np.sin(angle)])
        out = np.linalg.norm(drawn(run, start)) - 1.0
        errors.append(abs(out / lame(p, 1.0, 2.0, e, nu) - 1.0))
    assert errors[1] < 2e-4
    assert errors[1] < errors[0] / 6.0


def test_a_cylinder_inflated_far():
    """Finite strain, against an ordinary differential equation solved by other means."""
    e, nu, p = 1.0, 0.3, 0.25
    mu, lam = e / 2.0 / (1.0 + nu), e * nu / (1.0 + nu) / (1.0 - 2.0 * nu)

    def radial(a, b):
        return mu * (a - 1.0 / a) + lam * np.log(a * b) / a

    def slope(big, y):
        # nominal stresses of r(R): d P_r / dR = (P_h - P_r) / R, P_r = radial(r', r / R)
        r, a = y
        b = r / big
        hoop = mu * (b - 1.0 / b) + lam * np.log(a * b) / b
        by_a = mu * (1.0 + 1.0 / a**2) + lam * (1.0 - np.log(a * b)) / a**2
        by_b = lam / (a * b)
        change = (hoop - radial(a, b)) / big - by_b * (a / big - r / big**2)
        return np.stack([a, change / by_a])

    def ends(y0, y1):
        return np.array([radial(y0[1], y0[0]) + p * y0[0], radial(y1[1], y1[0] / 2.0)])

    grid = np.linspace(1.0, 2.0, 60)
    guess = np.stack([grid + 0.4 / grid, 1.0 - 0.4 / grid**2])
    found = solve_bvp(slope, ends, grid, guess, tol=1e-9)
    assert found.success
    assert found.y[0, 0] > 1.4
    run = inflated(ring(1.0, 2.0, (6, 8)), Q2(), NeoHookean(e, nu), p, 8)
    assert drawn(run, (1.0, 0.0))[0] == pytest.approx(found.y[0, 0], rel=1e-4)
    assert drawn(run, (2.0, 0.0))[0] == pytest.approx(found.y[0, -1], rel=1e-4)
    assert run.determinism.status == "deterministic"


def test_a_pressure_in_plane_stress_is_per_initial_thickness():
    law, p, right, top = NeoHookean(1.0, 0.3), 0.1, Boundary(0, "right"), Boundary(0, "top")
    walls = [Symmetry(Boundary(0, side)) for side in ("left", "bottom")]
    body = Body(rectangle(1.0, 1.0, (1, 1)), Q1(), law, plane_stress=True)
    loads = [Pressure(right, to(p)), Pressure(top, to(p))]
    run = st.solve(st.Solid([body], [], [*walls, *loads]), st.solids.Quasistatic(steps=4))

    def balance(x):
        return principal_stresses(law, (x[0], x[0], x[1]))[1:] + np.array([p * x[0], 0.0])

    side, across = fsolve(balance, (1.0, 1.0))
    assert drawn(run, (1.0, 1.0)) == pytest.approx([side, side], rel=1e-9)
    stress = run.data["stress_xx"].values[-1]
    np.testing.assert_allclose(stress, -p / across, rtol=1e-9)


def test_a_cylinder_that_keeps_its_volume():
    """Incompressible: p = int (s_h - s_r) / r dr over the wall, a closed form of the radius."""
    nu, p = 0.4999, 0.1
    mu = 1.0 / 3.0

    def pressure(inner):
        outer = np.sqrt(inner**2 + 3.0)
        stretch = lambda r: r / np.sqrt(r**2 - inner**2 + 1.0)  # noqa: E731
        return quad(lambda r: mu * (stretch(r) ** 2 - stretch(r) ** -2) / r, inner, outer)[0]

    material = NearlyIncompressible(1.0, nu)
    run = inflated(ring(1.0, 2.0, (4, 8)), Q2(reduced=True), material, p, 5)
    assert pressure(drawn(run, (1.0, 0.0))[0]) == pytest.approx(p, rel=1e-3)


@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2(), Q2N2(), Q1H(), Q1N2(exact_arc=True)])
def test_faces_sum_to_the_length(element):
    """A uniform traction sums to its length, a pressure around a body to nothing."""
    mesh = cap(3.0, 1.0, 1.0, (8, 3))
    solid = st.Solid(
        [Body(mesh, element, NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), RigidPlane((0.0, 50.0), (0.0, -1.0)), LAW, Frictionless())],
        [
            Traction(Boundary(0, "top"), 0, to(1.0)),
            *(Pressure(Boundary(0, name), to(1.0)) for name in mesh.boundaries),
        ],
    )
    problem = Problem(solid.assembled())
    u = 0.05 * np.random.default_rng(1).standard_normal((problem.size, 2))
    force = problem.loads(1.0, u)
    # curves through the nodes are a little longer than the chords
    assert force[:, 0].sum() == pytest.approx(2.0 * 3.0 * np.arcsin(1.0 / 3.0), rel=2e-3)
    alone = force - problem.loads(1.0) + problem.conditions.distributed_forces(1.0, 0.0 * u)
    total = np.abs(force).sum()
    assert abs(force[:, 1].sum()) < 1e-13 * total
    x = problem.points + u
    around = x[:, 0] * alone[:, 1] - x[:, 1] * (
        alone[:, 0] - problem.conditions.dead_loads[0][1][:, 0]
    )
    assert abs(around.sum()) < 1e-12 * total


@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2(), Q2N2(), Q1H(), Q2N2(exact_arc=True)])
def test_tangents(element):
    """Pressures and springs against differences; the part of a pressure is not symmetric."""
    rng = np.random.default_rng(7)
    mesh = cap(3.0, 1.0, 1.0, (4, 2))
    solid = st.Solid(
        [Body(mesh, element, NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), RigidPlane((0.0, 50.0), (0.0, -1.0)), LAW, Frictionless())],
        [
            Pressure(Boundary(0, "top"), to(0.3)),
            Pressure(Boundary(0, "left"), to(-0.2)),
            st.solids.Spring(Boundary(0, "right"), 0, 0.7),
            st.solids.Spring(Nearest(0, (0.0, 1.0)), 1, 0.4),
        ],
    )
    problem = Problem(solid.assembled())
    u = 0.03 * rng.standard_normal((problem.size, 2))
    state = problem.start(0.0)
    _, matrix = problem.evaluate(state, u, 1.0, None, data=True)
    h = 1e-6
    for _ in range(6):
        direction = rng.standard_normal(u.shape)
        ahead, back = (
            problem.evaluate(state, u + s * h * direction, 1.0, None, data=False)[0].residual
            for s in (1.0, -1.0)
        )
        slope = ((ahead - back) / (2.0 * h)).ravel()
        exact = matrix @ direction.ravel()
        assert np.abs(slope - exact).max() < 1e-7 * np.abs(exact).max()
    free = problem.reduced(matrix)
    assert abs(free - free.T).max() > 1e-3


def test_a_pressure_turns_with_the_surface():
    """A bar bent far by a pressure: reactions balance p times the line between its ends."""
    mesh = rectangle(6.0, 0.5, (12, 2))
    held = [Fixed(Boundary(0, "left")), Pressure(Boundary(0, "top"), to(0.002))]
    readings = Readings(reactions=[Reaction(Boundary(0, "left"))])
    body = Body(mesh, Q2(), NeoHookean(1.0, 0.3))
    solid = st.Solid([body], [], held, readings=readings, dimensionless=True)
    run = st.solve(solid, st.solids.Quasistatic(steps=30))
    line = drawn(run, (6.0, 0.5)) - np.array([0.0, 0.5])
    pushed = 0.002 * np.array([line[1], -line[0]])
    got = [run.data[f"reaction_1_{name}"].values[-1] for name in "xy"]
    np.testing.assert_allclose(got, -pushed, rtol=1e-8, atol=1e-12)
    assert line[1] < -1.0
    assert run.energy.imbalance_rel < 1e-2


def test_which_pressures_have_a_potential():
    """One pressure around a body has one; different ones have none where they meet."""
    mesh = rectangle(2.0, 1.0, (3, 2))
    body = Body(mesh, Q1(), NeoHookean(1.0, 0.3))

    def conservative(*programs):
        loads = [
            Pressure(Boundary(0, n), q) for n, q in zip(mesh.boundaries, programs, strict=False)
        ]
        solid = st.Solid([body], [], [Fixed(Nearest(0, (1.0, 0.5))), *loads], dimensionless=True)
        return Problem(solid.assembled()).conditions.conservative_loads

    late = Program((0.0, 1.0, 2.0), (0.0, 0.1, 0.5))
    assert conservative()
    assert conservative(*[to(0.1)] * 4)
    assert conservative(late, *[Program((0.0, 1.0, 2.0), (0.0, 0.1, 0.5))] * 3)
    assert not conservative(to(0.2), *[to(0.1)] * 3)
    # the programs agree up to t = 1
    assert not conservative(late, *[to(0.1)] * 3)
    assert not conservative(to(0.1))
    assert conservative(to(0.0))
