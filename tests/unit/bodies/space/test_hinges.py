"""Hinges of bodies in space: the plane, equations of motion, conservation laws, friction."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stiction as st
from stiction.bodies.space import rotation as rot
from stiction.bodies.space.mechanics import SpatialMechanics
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario.reader import read_scenario

B = st.bodies
POST = B.SpatialSupport(B.Sphere(0.1))


def about_y(angle):
    """Return the quaternion that turns x towards z by an angle."""
    return [math.cos(angle / 2.0), 0.0, -math.sin(angle / 2.0), 0.0]


def two_bars(in_space):
    """Return two bars on pins with friction; in space the second pin has given bearings."""
    at, angles, law = np.array([0.0, 0.0]), (0.3, -0.7), st.Coulomb(0.4)
    bodies, hinges = [], []
    for k, (angle, parts) in enumerate(zip(angles, ((1, 3), (2, 1)), strict=True)):
        half, mass = 0.5 * np.array([math.cos(angle), math.sin(angle)]), 1.0 + k
        place, inertia = at + half, mass * 1.01 / 12.0
        if in_space:
            shape, place = B.Cuboid(1.0, 0.1, 0.1), (place[0], 0.0, place[1])
            bodies.append(B.SpatialBody(shape, mass, place, about_y(angle)))
            span = 0.1 if k else None
            pin = B.SpatialHinge(*parts, (at[0], 0.0, at[1]), 0.04, law, [0.0, -2.0, 0.0], span)
        else:
            bodies.append(B.RigidBody(B.Box(1.0, 0.1), mass, place, angle, inertia=inertia))
            pin = B.Hinge(*parts, at, 0.04, law)
        hinges.append(pin)
        at = at + 2.0 * half
    if in_space:
        return B.SpatialBodies(bodies, [POST], hinges=hinges)
    return B.RigidBodies(bodies, [B.Support(B.Disc(0.1))], hinges=hinges)


def test_motion_in_a_plane():
    """Places, forces, moments and heat of pins with friction are those of the plane."""
    plane, space = (
        st.solve(two_bars(which), B.TimeStepper(4e-3), (-1.0, -0.7), save=4)
        for which in (False, True)
    )
    assert space.audit.ok, space.audit
    values = space.variables
    for name, atol in (("position", 1e-12), ("hinge_place", 1e-12), ("hinge_force", 1e-8)):
        of_plane = plane.variables[name].values
        np.testing.assert_allclose(values[name].values[..., [0, 2]], of_plane, atol=atol)
        np.testing.assert_allclose(values[name].values[..., 1], 0.0, atol=1e-12)
    moment = -plane.variables["hinge_moment"].values
    np.testing.assert_allclose(values["hinge_moment"].values[..., 1], moment, atol=1e-10)
    heat = plane.energy.total_friction_heat
    np.testing.assert_allclose(space.energy.total_friction_heat, heat, rtol=1e-10)
    assert heat[-1] > 0.01
    assert space.energy.imbalance_rel < 1e-13


def chain(frame=(1.0, 0.0, 0.0, 0.0), scale=1.0, order=(0, 1, 2), flip=False, mu=0.3, slides=False):
    """Return three bodies in free flight, on a pin with friction and a ball joint or slider."""
    rng, turn = np.random.default_rng(5), rot.matrices(np.array(frame))
    quaternions, spin = rng.normal(size=(3, 4)), rng.normal(size=3)
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    arms, axis, law = 0.5 * rng.normal(size=(3, 2, 3)), rng.normal(size=3), None
    spins = [spin, spin + 1.5 * axis, spin + 1.5 * axis if slides else rng.normal(size=3)]
    at, moves, bodies, hinges = np.zeros(3), rng.normal(size=3), [], []
    number, along = {k: 1 + order.index(k) for k in range(3)}, np.array([0.3, 0.2, -0.5])
    moments = ([0.3, 0.4, 0.5], [0.2, 0.25, 0.3], [0.1, 0.3, 0.35])
    for k, (begin, end) in enumerate(arms):
        if k:
            law = st.Coulomb(mu) if mu and (slides or k == 1) else None
            kind = {"radius": 0.05 * scale, "axis": turn @ axis, "span": 0.3 * scale, "law": law}
            if k == 2:
                kind = {"axis": turn @ along, "slides": True, "law": law} if slides else {}
                moves = moves + slides * along
            parts = (number[k], number[k - 1]) if flip else (number[k - 1], number[k])
            hinges.append(B.SpatialHinge(*parts, at=scale * turn @ at, **kind))
        place, speed = at - begin, moves - np.cross(spins[k], begin)
        bodies.append(
            B.SpatialBody(
                B.Sphere(0.05 * scale), 1.0 + k, scale * turn @ place,
                rot.product(np.array(frame), quaternions[k]), scale * turn @ speed,
                turn @ spins[k], inertia=scale**2 * np.diag(moments[k]),
            )
        )  # fmt: skip
        at, moves = place + end, speed + np.cross(spins[k], end)
    pairs = [B.ContactPair(*p, contact=False) for p in ((1, 2), (1, 3), (2, 3))]
    none = [0.0, 0.0, 0.0]
    return B.SpatialBodies([bodies[k] for k in order], gravity=none, hinges=hinges, pairs=pairs)


@pytest.mark.parametrize("slides", [False, True])
def test_accelerations_of_the_conditions(slides):
    """Velocities and gaps of the conditions, and their derivatives in free motion."""
    m = SpatialMechanics(chain(slides=slides))
    q, v = m.start()
    hinges, basis = m.hinges, m.hinges._basis(m.pose(0.0, q))

    def moved_by(t, speed):
        moved, moving = q.copy(), speed.copy()
        moved[:, :3] += t * speed[:, :3]
        rot.turn_freely(m.inertia, moved, moving, t)
        return moved, moving

    def conditions(t):
        """Return relative velocities of places and axes, in fixed directions."""
        moved, moving = moved_by(t, v)
        spin = (rot.matrices(moved[:, 3:]) @ moving[:, 3:, None])[..., 0][hinges.ends]
        places = moving[hinges.ends, :3] + np.cross(spin, hinges._arms_halfway(moved))
        e, out = hinges._basis(moved)[:, 2], []
        for each in (places, spin):
            between = each[:, 0] - each[:, 1]
            across = between - (between * e).sum(axis=1, keepdims=True) * e
            free = hinges._slides if each is places else ~hinges._slides
            out.append((basis @ np.where(free[:, None], across, between)[..., None])[..., 0])
        out[1] *= hinges._length[:, None]
        return hinges._zero * np.concatenate(out, axis=1)

    np.testing.assert_allclose(conditions(0.0), 0.0, atol=1e-13)
    np.testing.assert_allclose(hinges.gaps(q), 0.0, atol=1e-13)
    bias = hinges.bias(m.pose(0.0, q), v)
    np.testing.assert_allclose((conditions(1e-4) - conditions(-1e-4)) / 2e-4, bias, atol=1e-6)
    assert np.abs(bias[1]).max() > 0.1
    # the rows give the rates of gaps
    other = np.random.default_rng(1).normal(size=v.shape)
    after, before = (hinges.gaps(moved_by(t, other)[0]) for t in (1e-5, -1e-5))
    rates = hinges.along(q, (after - before) / 2e-5)
    np.testing.assert_allclose(hinges.rows(q) @ other.ravel(), rates.ravel(), atol=1e-6)


def test_momenta_are_conserved_and_units_frames_and_order_do_not_matter():
    def states(system, turn=None, scale=1.0, order=(0, 1, 2)):
        run = st.solve(system, B.TimeStepper(4e-3), (0.0, 0.1), save=2)
        assert run.audit.ok, run.audit
        mass = np.array([body.mass for body in system.bodies])
        inertia = np.array([body.moments_of_inertia for body in system.bodies])
        x, v, spin = (run.variables[name].values for name in ("position", "velocity", "spin"))
        turned = rot.matrices(run.variables["orientation"].values)
        own = turned @ inertia @ np.swapaxes(turned, -1, -2) @ spin[..., None]
        angular = (mass[:, None] * np.cross(x, v) + own[..., 0]).sum(axis=1)
        momentum = (mass[:, None] * v).sum(axis=1)
        size = np.abs(angular).max()
        np.testing.assert_allclose(angular[1], angular[0], atol=1e-13 * size)
        np.testing.assert_allclose(momentum[1], momentum[0], atol=1e-13 * np.abs(momentum).max())
        assert run.energy.imbalance_rel < 1e-13
        back = x[1] if turn is None else x[1] @ turn
        return (back / scale)[np.argsort(order)], run

    _, run = states(chain())
    assert run.energy.total_friction_heat[-1] > 1e-3
    frame = np.array([0.3, 0.5, -0.2, 0.7]) / np.linalg.norm([0.3, 0.5, -0.2, 0.7])
    for slides in (False, True):
        kind = {"slides": slides}
        first, _ = states(chain(**kind))
        moved, _ = states(chain(frame, **kind), rot.matrices(frame))
        np.testing.assert_allclose(moved, first, atol=1e-13)
        moved, _ = states(chain(scale=1e-3, **kind), scale=1e-3)
        np.testing.assert_allclose(moved, first, atol=1e-13)
        moved, _ = states(chain(order=(2, 0, 1), flip=not slides, **kind), order=(2, 0, 1))
        np.testing.assert_allclose(moved, first, atol=1e-13)


def test_a_spherical_pendulum():
    """A bar on a ball joint goes around on a cone: W^2 cos(a) (I - I_a) = m g l."""
    lean, mass, arm = 0.6, 2.0, 0.5
    own, axial = mass * 1.01 / 12.0, mass * 0.02 / 12.0
    rate = math.sqrt(mass * 9.81 * arm / (math.cos(lean) * (own + mass * arm**2 - axial)))
    along = np.array([math.sin(lean), 0.0, -math.cos(lean)])
    spin = np.array([0.0, 0.0, rate])
    bar = B.SpatialBody(
        B.Cuboid(1.0, 0.1, 0.1), mass, arm * along, about_y(lean - 0.5 * math.pi),
        np.cross(spin, arm * along), spin,
    )  # fmt: skip
    system = B.SpatialBodies([bar], [POST], hinges=[B.SpatialHinge(1, 2)])
    errors = []
    for step in (4e-3, 2e-3):
        run = st.solve(system, B.TimeStepper(step), (0.0, 0.4), save=2)
        assert run.audit.ok, run.audit
        assert run.energy.imbalance_rel < 1e-13
        place = run.variables["position"].values[-1, 0]
        exact, middle = (
            arm * np.array([along[0] * math.cos(t), along[0] * math.sin(t), along[2]])
            for t in (0.4 * rate, (0.4 - 0.5 * step) * rate)
        )
        errors.append(np.linalg.norm(place - exact))
        # centripetal force and weight, mean of the last step
        expected = np.array([0.0, 0.0, mass * 9.81]) - mass * rate**2 * middle * [1.0, 1.0, 0.0]
        force = run.variables["hinge_force"].values[-1, 0]
        np.testing.assert_allclose(force, expected, atol=5e-3)
    assert errors[0] < 5e-5
    assert errors[0] / errors[1] > 3.8


ARM, ROD = 0.6, 0.8


def rotary_pendulum():
    """Return an arm on a vertical pin, and a rod that swings about the arm."""
    arm = B.SpatialBody(
        B.Cuboid(ARM, 0.1, 0.1), 1.5, [0.5 * ARM, 0.0, 0.0], velocity=[0.0, 0.5 * ARM, 0.0],
        spin=[0.0, 0.0, 1.0],
    )  # fmt: skip
    # at 1 rad from the vertical about the arm, at rest relative to it
    hangs = 0.5 * ROD * np.array([0.0, math.sin(1.0), -math.cos(1.0)])
    place = np.add(hangs, [ARM, 0.0, 0.0])
    rod = B.SpatialBody(
        B.Cuboid(0.1, 0.2, ROD), 0.7, place, [math.cos(0.5), math.sin(0.5), 0.0, 0.0],
        np.cross([0.0, 0.0, 1.0], place), [0.0, 0.0, 1.0],
    )  # fmt: skip
    hinges = [
        B.SpatialHinge(1, 3, axis=[0.0, 0.0, 1.0]),
        B.SpatialHinge(2, 1, [ARM, 0.0, 0.0], axis=[1.0, 0.0, 0.0]),
    ]
    pairs = [B.ContactPair(2, 3, contact=False)]
    return B.SpatialBodies([arm, rod], [POST], hinges=hinges, pairs=pairs)


def test_a_rotary_pendulum():
    """Angles converge with the square of the step to those of Lagrange's equations."""
    system = rotary_pendulum()
    arm, rod = system.bodies
    of_arm = arm.moments_of_inertia[2, 2] + arm.mass * 0.25 * ARM**2

    def inertia(b):
        """Return the mass matrix of the angles of arm and rod; it depends on that of the rod."""
        c, s = np.cos(b), np.sin(b)
        # velocities of the centre and spins of the rod, in the axes of the arm, by unit rates
        moves = np.array([[-0.5 * ROD * s, 0.0], [ARM, 0.5 * ROD * c], [0.0, 0.5 * ROD * s]])
        spins = np.array([[0.0, 1.0], [s, 0.0], [c, 0.0]])
        own = rod.mass * moves.T @ moves + spins.T @ rod.moments_of_inertia @ spins
        return own + np.diag([of_arm, 0.0])

    def rates(_, y):
        a_b = np.linalg.solve(inertia(y[1]), y[2:])
        change = (inertia(y[1] + 1e-6) - inertia(y[1] - 1e-6)) / 2e-6
        pull = 0.5 * a_b @ change @ a_b - rod.mass * 9.81 * 0.5 * ROD * np.sin(y[1])
        return [*a_b, 0.0, pull]

    start = [0.0, 1.0, *inertia(1.0) @ [1.0, 0.0]]
    exact = solve_ivp(rates, (0.0, 0.4), start, rtol=1e-10, atol=1e-11).y[:, -1]
    errors = []
    for step in (8e-3, 4e-3):
        run = st.solve(system, B.TimeStepper(step), (0.0, 0.4), save=2)
        assert run.audit.ok, run.audit
        assert run.energy.imbalance_rel < 1e-13
        x, y, z = run.variables["position"].values[-1, 1]
        turned = math.atan2(*run.variables["position"].values[-1, 0, [1, 0]])
        across = y * math.cos(turned) - x * math.sin(turned)
        errors.append(np.hypot(turned - exact[0], math.atan2(across, -z) - exact[1]))
    assert errors[0] < 2e-4
    assert errors[0] / errors[1] > 3.8


def door(spin=0.0, push=0.0):
    """Return a door of 20 kg on a vertical pin with friction, whose bearings carry its weight."""
    body = B.SpatialBody(
        B.Cuboid(0.8, 0.04, 2.0), 20.0, [0.4, 0.0, 0.0], velocity=[0.0, 0.4 * spin, 0.0],
        spin=[0.0, 0.0, spin], force=[0.0, push, 0.0],
    )  # fmt: skip
    hinge = B.SpatialHinge(1, 2, axis=[0, 0, 1], radius=0.02, law=st.Coulomb(0.3), span=1.5)
    return B.SpatialBodies([body], [B.SpatialSupport(B.Cuboid(0.1, 0.1, 2.0))], hinges=[hinge])


def moment_of_door(outwards, across):
    """Return the largest moment of friction by the horizontal force of the pin [N], [N m]."""
    pair, weight = 20.0 * 9.81 * 0.4 / 1.5, 20.0 * 9.81
    forces = [[0.5 * outwards + side * pair, 0.5 * across, 0.5 * weight] for side in (1.0, -1.0)]
    return 0.02 * math.sin(math.atan(0.3)) * np.linalg.norm(forces, axis=1).sum()


def test_a_door_stops_by_friction():
    """It stops where the equation of motion says, and then rests to the last bit."""
    inertia = 20.0 * ((0.64 + 0.0016) / 12.0 + 0.16)

    def rate(spin):
        def rest(a):
            return inertia * a + moment_of_door(-20.0 * 0.4 * spin**2, 20.0 * 0.4 * a)

        return brentq(rest, -10.0, 10.0, xtol=1e-13)

    stops = lambda _, y: y[1]  # noqa: E731
    stops.terminal = True
    exact = solve_ivp(
        lambda _, y: [y[1], rate(y[1])], (0.0, 9.0), [0.0, 0.3], rtol=1e-9, atol=1e-11, events=stops
    )
    end = float(exact.t[-1])
    run = st.solve(
        door(0.3), B.TimeStepper(8e-3), (0.0, end + 0.1), save=[0.0, end + 0.02, end + 0.1]
    )
    assert run.audit.ok, run.audit
    turned = 2.0 * np.arctan2(*run.variables["orientation"].values[1:, 0, [3, 0]].T)
    assert turned[0] == pytest.approx(exact.y[0, -1], abs=1e-5)
    assert not np.diff(run.variables["position"].values[1:], axis=0).any()
    assert not run.final["spin_z"].any()
    lost = 0.5 * inertia * 0.3**2
    assert run.energy.total_friction_heat[-1] == pytest.approx(lost, rel=1e-4)
    push = brentq(lambda f: 0.4 * f - moment_of_door(0.0, -f), 0.0, 100.0, xtol=1e-14)
    for part, rests in ((0.999999, True), (1.000001, False)):
        run = st.solve(door(push=part * push), B.TimeStepper(1e-3), (0.0, 0.02), save=2)
        assert (not np.diff(run.variables["position"].values, axis=0).any()) == rests
        moment = run.variables["hinge_moment"].values[-1, 0]
        np.testing.assert_allclose(moment[1:], [-20.0 * 9.81 * 0.4, -0.4 * push], rtol=2e-6)


def on_rail(mu, at=(0.0, 0.0, 0.0), **kind):
    """Return a block of 2 kg on a rail along an axis, and a direction normal to it."""
    axis = np.array([0.6, 0.0, -0.8])
    block = B.SpatialBody(B.Cuboid(0.3, 0.2, 0.1), 2.0, [0.0, 0.1, 0.0])
    slider = B.SpatialHinge(1, 2, at, axis=axis, slides=True, law=st.Coulomb(mu), **kind)
    support = B.SpatialSupport(B.Sphere(0.1), [0.0, 0.5, 0.0])
    return B.SpatialBodies([block], [support], hinges=[slider])


def test_a_block_on_a_rail():
    """It slides with g (sin a - mu cos a), or rests to the last bit; its place is the slider's."""
    run = st.solve(on_rail(0.5), B.TimeStepper(4e-3), (0.0, 0.2), save=2)
    assert run.audit.ok, run.audit
    moved = 0.5 * 9.81 * (0.8 - 0.5 * 0.6) * 0.04
    places = run.variables["position"].values[-1, 0], run.variables["hinge_place"].values[-1, 0]
    for place, start in zip(places, ([0.0, 0.1, 0.0], [0.0, 0.0, 0.0]), strict=True):
        np.testing.assert_allclose(place, start + moved * np.array([0.6, 0.0, -0.8]), atol=1e-12)
    across, along = 2.0 * 9.81 * 0.6 * np.array([0.8, 0.0, 0.6]), np.array([0.6, 0.0, -0.8])
    force = run.variables["hinge_force"].values[-1, 0]
    np.testing.assert_allclose(force, across - 0.5 * 2.0 * 9.81 * 0.6 * along, atol=1e-10)
    assert run.energy.total_friction_heat[-1] == pytest.approx(0.5 * 2.0 * 9.81 * 0.6 * moved)
    assert not run.final["spin_x"].any()
    for mu, rests in ((4.0 / 3.0 + 1e-6, True), (4.0 / 3.0 - 1e-6, False)):
        run = st.solve(on_rail(mu), B.TimeStepper(1e-3), (0.0, 0.02), save=2)
        assert (not np.diff(run.variables["position"].values, axis=0).any()) == rests


@pytest.mark.parametrize("part", [0.999, 1.001])
def test_a_drawer_that_is_pulled_beside_its_middle_jams(part):
    """Both bearings have the force P d / span: it sticks if 2 mu d > span, whatever P is."""
    pull = 50.0 * np.array([0.6, 0.0, -0.8])
    pair = np.cross([0.0, 0.3, 0.0], pull)
    system = on_rail(0.4, [0.0, 0.1, 0.0], span=part * 2.0 * 0.4 * 0.3)
    drawer = dataclasses.replace(system.bodies[0], force=pull, moment=pair)
    system = dataclasses.replace(system, gravity=[0.0, 0.0, 0.0], bodies=[drawer])
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.02), save=2)
    assert run.audit.ok, run.audit
    assert (not np.diff(run.variables["position"].values, axis=0).any()) == (part < 1.0)
    np.testing.assert_allclose(run.variables["hinge_moment"].values[-1, 0], -pair, atol=1e-9)


def test_a_bead_on_a_rod_that_turns():
    """r'' = r W^2, and the angular momentum is constant: pin and slider in one mechanism."""
    rod = B.SpatialBody(B.Cuboid(1.0, 0.1, 0.1), 3.0, spin=[0.0, 0.0, 2.0])
    start = [0.3, 0.0, 0.0]
    bead = B.SpatialBody(
        B.Cuboid(0.2, 0.2, 0.2), 0.5, start, velocity=[0.0, 0.6, 0.0], spin=[0.0, 0.0, 2.0]
    )
    hinges = [
        B.SpatialHinge(3, 1, axis=[0.0, 0.0, 1.0]),
        B.SpatialHinge(2, 1, start, axis=[1.0, 0.0, 0.0], slides=True),
    ]
    pairs = [B.ContactPair(2, 3, contact=False)]
    none = [0.0, 0.0, 0.0]
    system = B.SpatialBodies([rod, bead], [POST], gravity=none, hinges=hinges, pairs=pairs)
    inertia = rod.moments_of_inertia[2, 2] + bead.moments_of_inertia[2, 2]
    momentum = 2.0 * (inertia + 0.5 * 0.09)

    def rates(_, y):
        turning = momentum / (inertia + 0.5 * y[0] ** 2)
        return [y[1], y[0] * turning**2, turning]

    exact = solve_ivp(rates, (0.0, 0.4), [0.3, 0.0, 0.0], rtol=1e-10, atol=1e-11).y[:, -1]
    errors = []
    for step in (8e-3, 4e-3):
        run = st.solve(system, B.TimeStepper(step), (0.0, 0.4), save=2)
        assert run.audit.ok, run.audit
        assert run.energy.imbalance_rel < 1e-13
        place = run.variables["position"].values[-1, 1]
        np.testing.assert_allclose(run.variables["hinge_place"].values[-1, 1], place, atol=1e-12)
        expected = exact[0] * np.array([math.cos(exact[2]), math.sin(exact[2]), 0.0])
        errors.append(np.linalg.norm(place - expected))
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] > 3.8


def tricycle(slope, mu):
    """Return a frame on three wheels; the pin of the first has friction, as has its floor."""
    at = [[0.4, 0.0, 0.2], [-0.4, -0.3, 0.2], [-0.4, 0.3, 0.2]]
    frame = B.SpatialBody(B.Cuboid(1.0, 0.4, 0.1), 4.0, [0.0, 0.0, 0.2])
    wheels = [B.SpatialBody(B.Sphere(0.2), position=place) for place in at]
    hinges = [B.SpatialHinge(1, 2 + k, place, axis=[0, 1, 0]) for k, place in enumerate(at)]
    hinges[0] = dataclasses.replace(hinges[0], radius=0.05, law=st.Coulomb(mu))
    ice = [B.ContactPair(k, 5, law=st.Coulomb(0.0)) for k in (3, 4)]
    return B.SpatialBodies(
        [frame, *wheels], [B.SpatialSupport(B.HalfSpace([0.0, 0.0, 1.0]))], hinges=hinges,
        gravity=9.81 * np.array([math.sin(slope), 0.0, -math.cos(slope)]), law=st.Coulomb(0.9),
        pairs=ice,
    )  # fmt: skip


def test_a_wheel_that_sticks_on_its_pin_holds_a_tricycle():
    """Contacts and a pin with friction in one problem; without friction the wheel rolls."""
    bound = 0.05 * math.sin(math.atan(0.5))

    def excess(slope):
        # on the pin: weights of the other parts, and the pair of forces of slope and floor
        along, pair = 6.0 * math.sin(slope), 7.0 * math.sin(slope) * 0.2 / 0.8
        return 7.0 * math.sin(slope) * 0.2 - bound * math.hypot(along, 2.0 * math.cos(slope) + pair)

    largest = brentq(excess, 0.0, 1.0, xtol=1e-14)
    for part, rests in ((0.999, True), (1.001, False)):
        run = st.solve(tricycle(part * largest, 0.5), B.TimeStepper(1e-3), (0.0, 0.01), save=2)
        assert run.audit.ok, run.audit
        # nothing but symmetry excludes rotation about the point where the first wheel touches
        moved = np.abs(np.diff(run.variables["position"].values[:, :2], axis=0)).max()
        assert (moved < 1e-15) == rests
    grips = dataclasses.replace(tricycle(0.9 * largest, 0.5), pairs=())
    run = st.solve(grips, B.TimeStepper(1e-3), (0.0, 0.01), save=2)
    assert run.quantities["bodies_at_rest"].value == 4
    run = st.solve(tricycle(0.1, 0.0), B.TimeStepper(4e-3), (0.0, 0.1), save=2)
    speed = 7.0 * 9.81 * math.sin(0.1) * 0.1 / (7.0 + 0.4)
    np.testing.assert_allclose(run.final["velocity_x"], speed, rtol=1e-12)


def test_a_run_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    def stop(done, note):
        if done > 0.5:
            raise Stop

    system, method = door(0.3), B.TimeStepper(1e-3)
    whole = st.solve(system, method, (0.0, 0.12), save=4)
    saved = FileCheckpoint(tmp_path / "state", "door", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, method, (0.0, 0.12), save=4, progress=stop, checkpoint=saved)
    again = FileCheckpoint(tmp_path / "state", "door", resume=True)
    resumed = st.solve(system, method, (0.0, 0.12), save=4, checkpoint=again)
    for name in ("orientation", "hinge_force", "hinge_moment"):
        np.testing.assert_array_equal(resumed.variables[name].values, whole.variables[name].values)
    np.testing.assert_array_equal(resumed.energy.friction_heat, whole.energy.friction_heat)


def test_a_table_may_rest_on_a_leg_and_a_hinge():
    """A board on a pin along y and on a floor; without the floor it does not rest."""
    board = B.SpatialBody(B.Cuboid(1.0, 0.4, 0.1), 2.0, [0.5, 0.0, 0.0])
    foot = B.SpatialSupport(B.Sphere(0.1), [0.9, 0.0, -0.15])
    pin = B.SpatialHinge(1, 2, axis=[0.0, 1.0, 0.0])
    for supports, may in (([POST, foot], True), ([POST], False)):
        system = B.SpatialBodies([board], supports, hinges=[pin])
        assert B.rests(system).may == may
    rest = B.rests(B.SpatialBodies([board], [POST, foot], law=st.Coulomb(0.0), hinges=[pin]))
    np.testing.assert_allclose(rest.forces[:, 2], 2.0 * 9.81 * 0.5 / 0.9, rtol=1e-9)
    with pytest.raises(st.ModelError, match="got hinges with friction"):
        B.rests(door())


def test_a_scenario_with_a_hinge(tmp_path):
    path = tmp_path / "door.toml"
    path.write_text(
        """
        [system]
        type = "SpatialBodies"
        [[system.bodies]]
        type = "SpatialBody"
        position = [0.4, 0.0, 0.0]
        velocity = [0.0, 0.4, 0.0]
        spin = [0.0, 0.0, 1.0]
        shape = {type = "Cuboid", a = 0.8, b = 0.1, c = 2.0}
        [[system.supports]]
        type = "SpatialSupport"
        shape = {type = "Sphere", radius = 0.1}
        [[system.hinges]]
        type = "SpatialHinge"
        axis = [0.0, 0.0, 1.0]
        radius = 0.02
        law = {type = "Coulomb", mu = 0.3}
        [method]
        type = "TimeStepper"
        [solve]
        t_end = 0.02
        """
    )
    run = read_scenario(path).solve()
    assert run.audit.ok, run.audit
    assert 0.9 < run.final["spin_z"][0] < 1.0


BAR = B.SpatialBody(B.Cuboid(1.0, 0.1, 0.1), position=[0.5, 0.0, 0.0])
UP = [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("body", "hinges", "words"),
    [
        (
            dataclasses.replace(BAR, velocity=UP),
            [B.SpatialHinge(1, 2, axis=[1.0, 0.0, 0.0], slides=True)],
            r"a slider with the velocities \[0, 0, 1\] m/s on part 1",
        ),
        (
            dataclasses.replace(BAR, spin=[1.0, 0.0, 0.0]),
            [B.SpatialHinge(1, 2, axis=[1.0, 0.0, 0.0], slides=True)],
            r"a slider with the spins \[1, 0, 0\] rad/s on part 1",
        ),
        (BAR, [B.SpatialHinge(1, 2, axis=UP), B.SpatialHinge(1, 2, [0.0, 0.0, 0.3])], "lock"),
        (BAR, [B.SpatialHinge(1, 2), B.SpatialHinge(1, 2, [0.5, 0.0, 0.0])], "lock the bodies"),
        (BAR, [B.SpatialHinge(1, 2, axis=UP)] * 2, "ball joints in place of pins"),
        (
            BAR,
            [B.SpatialHinge(1, 2, [1e308, 0.0, 0.0], axis=UP)],
            "too far from the parts that it joins",
        ),
        (
            BAR,
            [B.SpatialHinge(1, 2, [1e200, 0.0, 0.0], axis=UP)],
            "too far from the parts that it joins",
        ),
        (BAR, [B.SpatialHinge(1, 3)], "numbers up to 2"),
        (BAR, [B.SpatialHinge(1, 2, axis=UP, law=st.Coulomb(0.2))], "a radius > 0"),
        (BAR, [B.Hinge(1, 2)], "needs SpatialHinge objects"),
        (
            dataclasses.replace(BAR, spin=UP),
            [B.SpatialHinge(1, 2)],
            r"\[0, -0.5, 0\] m/s on part 1",
        ),
        (
            dataclasses.replace(BAR, spin=[1.0, 0.0, 0.0]),
            [B.SpatialHinge(1, 2, axis=UP)],
            r"a pin with the spins \[1, 0, 0\] rad/s on part 1 and \[0, 0, 0\]",
        ),
    ],
)
def test_hinges_that_cannot_be_are_refused(body, hinges, words):
    with pytest.raises(st.ModelError, match=words):
        B.SpatialBodies([body], [POST], hinges=hinges)


def test_pins_that_cannot_be_are_refused():
    with pytest.raises(st.ModelError, match="vector of length 0; needs a direction"):
        B.SpatialHinge(1, 2, axis=[0.0, 0.0, 0.0])
    with pytest.raises(st.ModelError, match="friction of a ball joint; needs an axis"):
        B.SpatialHinge(1, 2, radius=0.1, law=st.Coulomb(0.2))
    with pytest.raises(st.ModelError, match="a slider without an axis; needs an axis"):
        B.SpatialHinge(1, 2, slides=True)
    with pytest.raises(st.ModelError, match="span"):
        B.SpatialHinge(1, 2, axis=UP, span=0.0)
    bar = B.RigidBody(B.Box(1.0, 0.1))
    with pytest.raises(st.ModelError, match="got SpatialHinge; needs a Hinge"):
        B.RigidBodies([bar], [B.Support(B.Disc(0.1))], hinges=[B.SpatialHinge(1, 2)])
    with pytest.raises(st.ModelError, match="Poisson's law of impact"):
        dataclasses.replace(door(), impact_law="poisson")


@pytest.mark.fails_audit("bodies", "hinges_closed")
def test_pins_open_in_steps_that_are_too_long():
    bar = B.SpatialBody(B.Cuboid(1.0, 0.1, 0.07), 1.0, [0.5, 0.0, 0.0])
    pin = B.SpatialHinge(1, 2, axis=[0.0, 1.0, 0.0])
    system = B.SpatialBodies([bar], [POST], hinges=[pin])
    for step, closed in ((2e-2, False), (2e-3, True)):
        run = st.solve(system, B.TimeStepper(step), (0.0, 0.4), save=2)
        assert {c.check: c.ok for c in run.audit.checks}["hinges_closed"] is closed
