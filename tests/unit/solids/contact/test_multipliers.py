"""Hard contact by multipliers: tangents, patches, closed forms, and a method of other code."""

import numpy as np
import pytest

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.multipliers import duals_of
from stiction.solids.equilibria.problem import Problem

s = st.solids
HARD, ROUGH, SMOOTH = s.Signorini(), s.Coulomb(0.4), st.laws.Frictionless()


def block(y=0.0, width=1.0, cells=(3, 2), x=0.0, element=None, law=None):
    mesh = s.rectangle(width, 0.5, cells, (x, y))
    return s.Body(mesh, element=element or s.Q1(), material=law or s.NeoHookean(1.0, 0.3))


def brick(cells, layers, y=0.0):
    mesh = s.rectangle(1.0, 0.5, cells, (0.0, y))
    breaks = np.linspace(0.0, 1.0, layers + 1)
    return s.SweptBody(mesh, breaks, s.Q1(contact_points=2), s.NeoHookean(1.0, 0.3))


def pair(bodies, partner, friction, components=(0, 1)):
    contact = s.Contact(s.Boundary(0, "bottom"), partner, HARD, friction)
    return s.Solid(bodies, [contact], [s.Fixed(s.Boundary(0, "top"), components)])


PLANE = s.RigidPlane((0.0, 0.0), (0.0, 1.0))


def test_duals():
    rng = np.random.default_rng(2)
    at, part = np.polynomial.legendre.leggauss(4)
    shapes = np.stack([0.5 * at * (at - 1.0), 1.0 - at * at, 0.5 * at * (at + 1.0)], axis=1)
    functions, element = np.tile(shapes, (3, 1)), np.repeat(np.arange(3), at.size)
    weight = np.tile(part, 3) * rng.uniform(0.5, 2.0, 3)[element]
    duals = duals_of(functions, weight, element)
    for e in range(3):
        mine = element == e
        products = np.einsum("p,pa,pb->ab", weight[mine], functions[mine], duals[mine])
        means = np.einsum("p,pa->a", weight[mine], functions[mine])
        assert products == pytest.approx(np.diag(means), abs=1e-14)
    # for linear functions of one length: 2 N_1 - N_2
    line = np.stack([0.5 * (1.0 - at), 0.5 * (1.0 + at)], axis=1)
    found = duals_of(line, part, np.zeros(at.size, dtype=np.int64))
    assert found[:, 0] == pytest.approx(2.0 * line[:, 0] - line[:, 1], abs=1e-14)


CASES = {
    "plane": lambda f: pair([block()], PLANE, f),
    "circle": lambda f: pair([block()], s.RigidCircle((0.4, -3.0), 3.0), f),
    "bodies": lambda f: pair([block(), block(-0.5, 1.4, (4, 2), -0.2)], s.Boundary(1, "top"), f),
    "splines": lambda f: pair(
        [block(element=s.Q1N2()), block(-0.5, 1.4, (4, 2), -0.2, s.Q1N2())], s.Boundary(1, "top"), f
    ),
    "brick on plane": lambda f: pair(
        [brick((2, 1), 1)], s.RigidPlane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), f, (0, 1, 2)
    ),
    "bricks": lambda f: pair(
        [brick((2, 1), 1), brick((1, 1), 2, -0.5)], s.Boundary(1, "top"), f, (0, 1, 2)
    ),
}


@pytest.mark.parametrize("friction", [ROUGH, SMOOTH], ids=["rough", "smooth"])
@pytest.mark.parametrize("case", CASES)
def test_tangents_against_differences(case, friction):
    problem, seen = Problem(CASES[case](friction).assembled()), set()
    start = problem.start(0.0)
    trial, _ = problem.evaluate(start, start.u, 0.0, None, data=True)
    state, size = problem.accepted(start, trial, 0.0), np.ptp(problem.points, axis=0).max()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        u = state.u + 1e-3 * size * rng.standard_normal(state.u.shape)
        trial, matrix = problem.evaluate(state, u, 0.3, None, data=True)
        seen |= set(trial.point_values[0][:, k.STATE])
        h, found = 1e-9 * size, np.zeros((u.size, u.size))
        for j in range(u.size):
            step = np.zeros(u.size)
            step[j] = h
            one, other = (
                problem.evaluate(state, u + sign * step.reshape(u.shape), 0.3, None, data=False)
                for sign in (1.0, -1.0)
            )
            found[:, j] = (one[0].residual - other[0].residual).ravel() / (2.0 * h)
        assert np.abs(found - matrix.toarray()).max() < 2e-7 * np.abs(found).max()
    assert friction is SMOOTH or case == "circle" or k.SLIDES in seen


@pytest.mark.parametrize("element", [s.Q1(), s.Q1N2(), s.Q2()], ids=["Q1", "Q1N2", "Q2"])
@pytest.mark.parametrize("cells", [(4, 4), (5, 4), (3, 8), (16, 17)])
def test_unlike_meshes_pass_even_pressure_on(cells, element):
    # without lateral contraction stress is even: E / (1 + e) ... of the exact state of two blocks
    law = s.NeoHookean(1e6, 0.0)
    upper = block(0.0, cells=(cells[0], 2), element=element, law=law)
    lower = block(-0.5, cells=(cells[1], 3), element=element, law=law)
    contact = s.Contact(s.Boundary(0, "bottom"), s.Boundary(1, "top"), HARD, s.Coulomb(0.3))
    top = s.Boundary(0, "top")
    conditions = [
        s.Driven(top, 1, s.Program((0.0, 1.0), (0.0, -1e-2))),
        s.Fixed(top, (0,)),
        s.Fixed(s.Boundary(1, "bottom")),
    ]
    solid = s.Solid([upper, lower], [contact], conditions)
    run = st.solve(solid, s.Quasistatic(steps=4), t_span=(0.0, 1.0))
    pressure = run.data["normal_traction"].values[-1]
    # one-dimensional neo-Hookean stress of the stretch .99, per reference area
    stretch = 0.99
    expected = 0.5e6 * (1.0 / stretch - stretch)
    assert pressure == pytest.approx(expected, rel=1e-7)
    assert run.audit.ok
    assert run.data["nominal_contact"].values[-1] == pytest.approx(1.0, rel=1e-12)


def rubbed():
    body = block(cells=(6, 3), law=s.NeoHookean(1e6, 0.3))
    contact = s.Contact(s.Boundary(0, "bottom"), PLANE, HARD, s.Coulomb(0.3))
    top = s.Boundary(0, "top")
    conditions = [
        s.Driven(top, 1, s.Program((0.0, 1.0), (0.0, -5e-3))),
        s.Driven(top, 0, s.Program((1.0, 2.0, 3.0), (0.0, 1e-2, -1e-2))),
    ]
    return s.Solid([body], [contact], conditions, readings=s.Readings(displacement=0))


def test_a_block_is_pressed():
    solid = rubbed()
    run = st.solve(solid, s.Quasistatic(steps=60), t_span=(0.0, 3.0))
    assert run.audit.ok, run.audit
    data = run.data
    normal, shear = data["normal_traction"].values, data["tangential_traction"].values
    assert normal.min() > -1e-9 * normal.max()
    # Coulomb's bound holds for the sums, and is met with either sign
    press, pull = data["force_y"].values, data["force_x"].values
    assert np.all(np.abs(pull) <= 0.3 * np.abs(press) * (1.0 + 1e-8) + 1e-6)
    ratio = pull[1:] / press[1:]
    assert ratio.min() == pytest.approx(-0.3, rel=1e-9)
    assert ratio.max() == pytest.approx(0.3, rel=1e-9)
    assert np.abs(shear).max() > 0.0
    heat = run.energy.total_friction_heat
    assert heat[-1] > 0.0
    assert np.all(np.diff(heat) >= 0.0)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    solid, method, times = rubbed(), s.Quasistatic(steps=30), (0.0, 3.0)
    whole = st.solve(solid, method, t_span=times)

    class Killed(Exception):
        pass

    def stop(part, _):
        if part > 0.55:
            raise Killed

    saved = FileCheckpoint(tmp_path / "checkpoint.npz", "block", every=0.0)
    with pytest.raises(Killed):
        st.solve(solid, method, times, progress=stop, checkpoint=saved)
    again = FileCheckpoint(tmp_path / "checkpoint.npz", "block", resume=True)
    rest = st.solve(solid, method, times, checkpoint=again)
    for name in ("force_x", "force_y", "nominal_contact", "normal_traction"):
        assert np.array_equal(rest.data[name].values[-1], whole.data[name].values[-1])


def test_a_frame_changes_nothing():
    # the same block turned by a quarter: pressed along x, rubbed along y
    solid = rubbed()
    plain = st.solve(solid, s.Quasistatic(steps=20), t_span=(0.0, 2.0))
    mesh = s.rectangle(0.5, 1.0, (3, 6))
    body = s.Body(mesh, material=s.NeoHookean(1e6, 0.3))
    contact = s.Contact(
        s.Boundary(0, "left"), s.RigidPlane((0.0, 0.0), (1.0, 0.0)), HARD, s.Coulomb(0.3)
    )
    right = s.Boundary(0, "right")
    conditions = [
        s.Driven(right, 0, s.Program((0.0, 1.0), (0.0, -5e-3))),
        s.Driven(right, 1, s.Program((1.0, 2.0, 3.0), (0.0, -1e-2, 1e-2))),
    ]
    turned = s.Solid([body], [contact], conditions, readings=s.Readings(displacement=0))
    other = st.solve(turned, s.Quasistatic(steps=20), t_span=(0.0, 2.0))
    assert other.data["force_x"].values == pytest.approx(
        plain.data["force_y"].values, rel=1e-7, abs=1e-3
    )
    assert other.data["force_y"].values == pytest.approx(
        -plain.data["force_x"].values, rel=1e-7, abs=1e-3
    )


def test_supports_that_hold_what_sticks():
    # the corner is held along the plane and sticks to it: said twice, it is still solved
    body = block(cells=(6, 2), law=s.NeoHookean(1e6, 0.25))
    conditions = [
        s.Pressure(s.Boundary(0, "top"), s.Program((0.0, 1.0), (0.0, 1e4))),
        s.Fixed(s.Boundary(0, "right"), (0,)),
    ]
    contact = s.Contact(s.Boundary(0, "bottom"), PLANE, HARD, s.Coulomb(0.4))
    run = st.solve(
        s.Solid([body], [contact], conditions), s.Quasistatic(steps=5), t_span=(0.0, 1.0)
    )
    assert run.audit.ok
    # what is pressed on from rest, touching, is held; the top grows under the pressure
    assert abs(run.data["force_y"].values[-1]) == pytest.approx(1e4, rel=5e-3)


def small_strain_pressures(nodes, cells, young, poisson, radius, depth):
    """Return nodal pressures of a block under a rigid circle by other code: K, then NNLS.

    Bilinear elements of plane strain with two by two points, the bottom held, nodal multipliers on
    the top with the gap over the undeformed circle.
    """
    from scipy.optimize import nnls

    nx, ny = cells
    size = 2 * nodes.shape[0]
    lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    shear = young / (2 * (1 + poisson))
    law = np.array([[lame + 2 * shear, lame, 0], [lame, lame + 2 * shear, 0], [0, 0, shear]])
    g = 1 / np.sqrt(3)
    stiff = np.zeros((size, size))
    number = np.arange(nodes.shape[0]).reshape(ny + 1, nx + 1)
    for j in range(ny):
        for i in range(nx):
            e = [number[j, i], number[j, i + 1], number[j + 1, i + 1], number[j + 1, i]]
            for xi in (-g, g):
                for eta in (-g, g):
                    d = 0.25 * np.array(
                        [
                            [-(1 - eta), 1 - eta, 1 + eta, -(1 + eta)],
                            [-(1 - xi), -(1 + xi), 1 + xi, 1 - xi],
                        ]
                    )
                    jacobian = d @ nodes[e]
                    grad = np.linalg.solve(jacobian, d)
                    b = np.zeros((3, 8))
                    b[0, 0::2], b[1, 1::2], b[2, 0::2], b[2, 1::2] = (
                        grad[0],
                        grad[1],
                        grad[1],
                        grad[0],
                    )
                    dofs = np.ravel([[2 * n, 2 * n + 1] for n in e])
                    stiff[np.ix_(dofs, dofs)] += np.linalg.det(jacobian) * b.T @ law @ b
    free = np.setdiff1d(np.arange(size), [2 * n + c for n in number[0] for c in (0, 1)])
    top = number[-1]
    # weighted gaps G = G0 + C u with five points on each piece of the boundary
    at, part = np.polynomial.legendre.leggauss(5)
    gap0, couple = np.zeros(nx + 1), np.zeros((nx + 1, size))
    for i in range(nx):
        x0, x1 = nodes[top[i], 0], nodes[top[i + 1], 0]
        for t, w in zip(at, part, strict=True):
            shape = np.array([0.5 * (1 - t), 0.5 * (1 + t)])
            x, weight = shape @ [x0, x1], 0.5 * (x1 - x0) * w
            # the distance to the circle, and its normal
            away = np.array([x, 0.0]) - np.array([0.0, radius - depth])
            far = np.linalg.norm(away)
            gap, normal = far - radius, away / far
            dual = np.array([[2.0, -1.0], [-1.0, 2.0]]) @ shape
            for a in range(2):
                gap0[i + a] += weight * dual[a] * gap
                for c in range(2):
                    for b in range(2):
                        couple[i + a, 2 * top[i + b] + c] += weight * dual[a] * shape[b] * normal[c]
    inverse = np.linalg.inv(stiff[np.ix_(free, free)])
    c = couple[:, free]
    flexible = c @ inverse @ c.T
    # min 1/2 l D l + l G0 over l >= 0, as a least squares problem
    root = np.linalg.cholesky(flexible + 1e-14 * np.trace(flexible) * np.eye(nx + 1))
    return nnls(root.T, -np.linalg.solve(root, gap0), maxiter=10_000)[0]


@pytest.mark.parametrize("seed", range(6))
def test_pressures_of_other_code(seed):
    rng = np.random.default_rng(seed)
    cells, young = (int(rng.integers(6, 14)), 4), 10.0 ** rng.uniform(0, 6)
    # strains of 1e-5, and as many nodes in contact as there are
    poisson, radius, depth = rng.uniform(0, 0.4), 10.0 ** rng.uniform(3.5, 4.5), 2e-5
    body = s.Body(
        s.rectangle(2.0, 0.7, cells, (-1.0, -0.7)),
        element=s.Q1(),
        material=s.LinearElastic(young, poisson),
    )
    contact = s.Contact(s.Boundary(0, "top"), s.RigidCircle((0.0, radius), radius), HARD, SMOOTH)
    conditions = [
        s.Fixed(s.Boundary(0, "bottom")),
        s.Driven(s.Rigid(0), 1, s.Program((0.0, 1.0), (0.0, -depth))),
        s.Fixed(s.Rigid(0), (0,)),
    ]
    solid = s.Solid([body], [contact], conditions)
    run = st.solve(solid, s.Quasistatic(steps=1), t_span=(0.0, 1.0), throw=False)
    problem = Problem(solid.assembled())
    nodes = problem.points[: problem.first[-1]]
    expected = small_strain_pressures(nodes, cells, young, poisson, radius, depth)
    place, pressure = (run.data[n].values[-1] for n in ("surface_x", "normal_traction"))
    top = nodes[-cells[0] - 1 :, 0]
    assert expected.max() > 0.0
    scale = expected.max()
    assert pressure == pytest.approx(np.interp(place, top, expected), rel=1e-4, abs=1e-4 * scale)


BAD = {
    "friction": ({"friction": st.DI(1.0)}, "Coulomb or Frictionless"),
    "penalty": ({"friction": ROUGH, "penalty": 1.0}, "stick is exact"),
    "stick_ratio": ({"friction": ROUGH, "stick_ratio": 1.2}, "stick is exact"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_hard_contact_has_no_use_for(case):
    given, message = BAD[case]
    with pytest.raises(st.ModelError, match=message):
        s.Contact(s.Boundary(0, "bottom"), PLANE, HARD, **given)


def test_other_users_of_stiffness_are_reported():
    bottom = s.Boundary(0, "bottom")
    with pytest.raises(st.ModelError, match="multipliers belong to the nodes of one side"):
        s.Contact(bottom, bottom, HARD, SMOOTH)
    with pytest.raises(st.ModelError, match="name each pair in a Contact"):
        s.ContactAmong([bottom, s.Boundary(1, "top")], HARD)
    solid = pair([block()], PLANE, ROUGH)
    with pytest.raises(st.ModelError, match="solve it by Quasistatic"):
        st.solve(solid, s.Continuation(), t_span=(0.0, 1.0))
    moving = s.MovingSolid(solid, density=1.0)
    with pytest.raises(st.ModelError, match="solve it by Quasistatic"):
        st.solve(moving, s.GeneralisedAlpha(), t_span=(0.0, 1.0))


def test_a_mesh_too_coarse_for_its_partner_fails_the_audit():
    # the circle fits between two nodes
    body = block(cells=(2, 2), law=s.NeoHookean(1.0, 0.3))
    contact = s.Contact(s.Boundary(0, "bottom"), s.RigidCircle((0.25, -0.12), 0.12), HARD, SMOOTH)
    conditions = [
        s.Driven(s.Boundary(0, "top"), 1, s.Program((0.0, 1.0), (0.0, -0.15))),
        s.Fixed(s.Boundary(0, "top"), (0,)),
    ]
    run = st.solve(
        s.Solid([body], [contact], conditions),
        s.Quasistatic(steps=20),
        t_span=(0.0, 1.0),
        throw=False,
    )
    assert "no_interpenetration" in [check.check for check in run.audit.failed]


def stacked(swapped):
    """A short block on a wide one, pressed and pushed; either of them carries the pressures."""
    law = s.NeoHookean(1e6, 0.3)
    bodies = [block(cells=(8, 4), law=law), block(-0.5, 1.6, (13, 4), -0.3, law=law)]
    sides = s.Boundary(0, "bottom"), s.Boundary(1, "top")
    one, other = sides[::-1] if swapped else sides
    top = s.Boundary(0, "top")
    conditions = [
        s.Driven(top, 1, s.Program((0.0, 1.0), (0.0, -5e-3))),
        s.Driven(top, 0, s.Program((1.0, 2.0), (0.0, 2e-2))),
        s.Fixed(s.Boundary(1, "bottom")),
    ]
    solid = s.Solid([*bodies], [s.Contact(one, other, HARD, s.Coulomb(0.3))], conditions)
    return st.solve(solid, s.Quasistatic(steps=20), t_span=(0.0, 2.0), throw=False)


def test_the_side_within_the_other_carries_the_pressures():
    run = stacked(swapped=False)
    assert run.audit.ok
    ratio = abs(run.data["force_x"].values[-1] / run.data["force_y"].values[-1])
    assert ratio == pytest.approx(0.3, rel=2e-3)
    # nodes of the wide block have only part of their area on the short one: it is said
    other = stacked(swapped=True)
    assert "every_point_has_partner" in [check.check for check in other.audit.failed]


def test_a_partner_that_ends_within_contact_fails_the_audit():
    law = s.NeoHookean(1e6, 0.3)
    bodies = [block(cells=(6, 3), law=law), block(-0.5, 0.7, (5, 3), 0.0, law=law)]
    top = s.Boundary(0, "top")
    conditions = [
        s.Driven(top, 1, s.Program((0.0, 1.0), (0.0, -5e-3))),
        s.Fixed(top, (0,)),
        s.Fixed(s.Boundary(1, "bottom")),
    ]
    contact = s.Contact(s.Boundary(0, "bottom"), s.Boundary(1, "top"), HARD, SMOOTH)
    solid = s.Solid(bodies, [contact], conditions)
    run = st.solve(solid, s.Quasistatic(steps=5), t_span=(0.0, 1.0), throw=False)
    assert "every_point_has_partner" in [check.check for check in run.audit.failed]


def test_elements_much_longer_than_a_law_are_named():
    # a pad of the size of a hand, and a law that acts over less than a nanometre
    body = s.Body(s.rectangle(0.12, 0.012, (12, 2)), material=s.NeoHookean(2e8, 0.25))
    law = st.LennardJones(1e-19, 4e-10, adhesive=False)
    contact = s.Contact(s.Boundary(0, "bottom"), PLANE, law, st.EA(0.4, 0.0))
    conditions = [
        s.Pressure(s.Boundary(0, "top"), s.Program((0.0, 1.0), (0.0, 2e6))),
        s.Fixed(s.Boundary(0, "right"), (0,)),
    ]
    message = "elements of boundary 'bottom' are 0.01 m.*take a longer law, or Signorini"
    with pytest.raises((st.SolveError, st.ModelError), match=message):
        st.solve(s.Solid([body], [contact], conditions), s.Quasistatic(steps=5, max_halvings=3))


def pushed(two, size=1.0, young=1e6, start=0.0):
    """A block on a plane, or on a wider block, pressed and pushed forth and back."""
    law = s.NeoHookean(young, 0.3)
    bodies = [s.Body(s.rectangle(size, 0.5 * size, (6, 3)), material=law)]
    top = s.Boundary(0, "top")
    down = s.Program((start, start + 1.0), (0.0, -5e-3 * size))
    along = s.Program((start + 1.0, start + 2.0, start + 3.0), (0.0, 1e-2 * size, -1e-2 * size))
    conditions = [s.Driven(top, 1, down), s.Driven(top, 0, along)]
    partner = PLANE
    if two:
        mesh = s.rectangle(1.6 * size, 0.5 * size, (9, 3), (-0.3 * size, -0.5 * size))
        bodies.append(s.Body(mesh, material=law))
        partner = s.Boundary(1, "top")
        conditions.append(s.Fixed(s.Boundary(1, "bottom")))
    bottom = s.Boundary(0, "bottom")
    contact = s.Contact(bottom, partner, HARD, s.Coulomb(0.3), friction_from=start)
    return s.Solid(bodies, [contact], conditions, readings=s.Readings(displacement=0))


def last_forces(solid, start=0.0, **more):
    run = st.solve(solid, s.Quasistatic(steps=30), t_span=(start, start + 3.0), **more)
    assert run.audit.ok
    return np.array([run.final[name][-1] for name in ("force_x", "force_y")])


@pytest.mark.parametrize("two", [False, True], ids=["plane", "bodies"])
def test_start_samples_and_units_change_nothing(two):
    base = last_forces(pushed(two))
    same = {
        "start": last_forces(pushed(two, start=-7.25), start=-7.25),
        "few samples": last_forces(pushed(two), save=11),
        "samples between steps": last_forces(pushed(two), save=[0.05, 0.333, 1.777, 2.91, 3.0]),
        "millimetres": last_forces(pushed(two, size=1e-3)) / 1e-3,
        "steel": last_forces(pushed(two, young=2.1e11)) / 2.1e5,
    }
    for name, forces in same.items():
        assert forces == pytest.approx(base, rel=1e-11), name


def test_hard_contact_goes_on_in_another_stage():
    body, top = block(cells=(6, 3), law=s.NeoHookean(1e6, 0.3)), s.Boundary(0, "top")
    along = s.Driven(top, 0, s.Program((1.0, 2.0), (0.0, 1e-2)))
    stages = [
        s.Stage(1.0, [s.Driven(top, 1, s.Program((0.0, 1.0), (0.0, -5e-3))), s.Fixed(top, (0,))]),
        s.Stage(2.0, [s.Driven(top, 1, s.Program((1.0, 2.0), (0.0, -1e-3))), along]),
    ]
    contact = s.Contact(s.Boundary(0, "bottom"), PLANE, HARD, s.Coulomb(0.3))
    run = st.solve(s.Solid([body], [contact], stages=stages), s.Quasistatic(steps=20), (0.0, 2.0))
    assert run.audit.ok
    pull, press = (run.data[name].values[-1] for name in ("force_x", "force_y"))
    assert abs(pull) == pytest.approx(0.3 * abs(press), rel=1e-8)


def on_a_disc(side, rigid):
    """A block pressed on a disc from the right (0) or the left (1), then pushed along its rim."""
    x, near, far, sign = ((1.0, "left", "right", 1.0), (-1.3, "right", "left", -1.0))[side]
    bodies = [s.Body(s.rectangle(0.3, 0.6, (2, 5), (x, -0.3)), material=s.NeoHookean(1e6, 0.3))]
    # points of a block on a circle pass the place where its coordinate jumps
    back, along = s.Boundary(0, far), 0.09 if rigid else 0.03
    conditions = [
        s.Driven(back, 0, s.Program((0.0, 1.0), (0.0, -0.02 * sign))),
        s.Driven(back, 1, s.Program((1.0, 2.0), (0.0, along * sign))),
    ]
    partner = s.RigidCircle((0.0, 0.0), 1.0)
    if not rigid:
        partner = s.Boundary(1, "rim")
        bodies.append(s.Body(s.disc(1.0, (6, 6), 3), material=s.NeoHookean(1e6, 0.3)))
        conditions.append(s.Fixed(s.Nearest(1, (-0.5 * sign, 0.0))))
        conditions.append(s.Fixed(s.Nearest(1, (0.0, 0.0))))
    contact = s.Contact(s.Boundary(0, near), partner, HARD, s.Coulomb(0.3))
    solid = s.Solid(bodies, [contact], conditions, readings=s.Readings(displacement=0))
    # steps so long that the path is searched for contact that it passes through
    method = s.Quasistatic(steps=3 if rigid else 20)
    run = st.solve(solid, method, (0.0, 2.0), throw=False)
    assert run.status is st.Status.SOLVED
    return np.array([run.data[name].values[-1] for name in ("force_x", "force_y")])


@pytest.mark.parametrize("rigid", [False, True], ids=["body", "circle"])
def test_coordinates_of_a_closed_partner_may_begin_within_contact(rigid):
    # the rim begins on one of both sides; half a turn takes one case to the other
    # to what the tolerance of Newton's method leaves
    assert on_a_disc(1, rigid) == pytest.approx(-on_a_disc(0, rigid), rel=1e-6)


def test_contact_where_coordinates_of_a_sphere_are_singular_is_refused():
    body = brick((2, 1), 2)
    contact = s.Contact(s.Boundary(0, "right"), s.RigidSphere((3.0, 0.25, 0.5), 2.0), HARD)
    with pytest.raises(st.ModelError, match="nearest to the sphere at x = -2"):
        Problem(s.Solid([body], [contact], [s.Fixed(s.Boundary(0, "left"))]).assembled())
