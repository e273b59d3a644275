"""Hinges of rigid bodies, beside equations of motion, statics and conservation laws."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario.reader import read_scenario

B = st.bodies
MASS, ARM = 2.0, 0.5
# moment of inertia of a bar of 1 m by .1 m about its centre
OWN = MASS * 1.01 / 12.0


def pendulum(angle=0.0, radius=0.0, mu=None):
    """Return a bar of 1 m on a pin at its end, and the wall."""
    along = np.array([math.cos(angle), math.sin(angle)])
    bar = B.RigidBody(B.Box(1.0, 0.1), mass=MASS, position=ARM * along, angle=angle)
    law = None if mu is None else st.Coulomb(mu)
    hinge = B.Hinge(1, 2, radius=radius, law=law)
    return B.RigidBodies([bar], [B.Support(B.Disc(0.1))], hinges=[hinge])


def force(angle, spin, rate):
    """Return the force of the pin on the bar [N]."""
    e, n = (
        np.array([math.cos(angle), math.sin(angle)]),
        np.array([-math.sin(angle), math.cos(angle)]),
    )
    return MASS * (ARM * rate * n - ARM * spin**2 * e + np.array([0.0, 9.81]))


def test_a_pendulum():
    """Angles and forces of the pin converge with the square of the step."""
    inertia = OWN + MASS * ARM**2
    rate = lambda angle: -MASS * 9.81 * ARM * math.cos(angle) / inertia  # noqa: E731
    exact = solve_ivp(
        lambda _, y: [y[1], rate(y[0])], (0.0, 1.0), [0.0, 0.0], rtol=1e-11, atol=1e-12
    ).y[:, -1]
    errors = []
    for step in (8e-3, 4e-3):
        run = st.solve(pendulum(), B.TimeStepper(step), (0.0, 1.0), save=[0.0, 1.0])
        assert run.audit.ok, run.audit
        assert run.energy.imbalance_rel < 1e-12
        errors.append(abs(run.final["angle"][0] - exact[0]))
    assert errors[0] < 3e-4
    assert errors[0] / errors[1] > 3.8
    # the force is a mean over the step
    expected = force(*exact, rate(exact[0]))
    off = run.variables["hinge_force"].values[-1, 0] - expected
    assert np.linalg.norm(off) < 0.01 * np.linalg.norm(expected)
    np.testing.assert_allclose(run.variables["hinge_place"].values[-1, 0], 0.0, atol=1e-5)


def test_friction_of_a_pin():
    """A swing ends where the equations of motion say; inside the friction circle a bar rests."""
    radius, mu = 0.05, 0.4
    lever = radius * math.sin(math.atan(mu))

    def rate(angle, spin):
        def rest(a):
            friction = lever * np.hypot(*force(angle, spin, a)) * np.sign(spin)
            return (OWN + MASS * ARM**2) * a + MASS * 9.81 * ARM * math.cos(angle) + friction

        return brentq(rest, -100.0, 100.0, xtol=1e-12)

    stops = lambda _, y: y[1]  # noqa: E731
    stops.terminal, stops.direction = True, 1.0
    swing = solve_ivp(
        lambda _, y: [y[1], rate(*y)], (0.0, 2.0), [0.0, -1e-9], rtol=1e-8, atol=1e-9, events=stops
    )
    span = (0.0, float(swing.t[-1]))
    run = st.solve(pendulum(0.0, radius, mu), B.TimeStepper(4e-3), span, save=2)
    assert run.audit.ok, run.audit
    assert run.final["angle"][0] == pytest.approx(swing.y[0, -1], abs=3e-5)
    fallen = MASS * 9.81 * ARM * -math.sin(run.final["angle"][0])
    assert run.energy.total_friction_heat[-1] == pytest.approx(fallen, rel=1e-4)
    for part, rests in ((0.999999, True), (1.000001, False)):
        angle = -math.acos(part * lever / ARM)
        run = st.solve(pendulum(angle, radius, mu), B.TimeStepper(1e-3), (0.0, 0.02), save=2)
        assert (run.final["angle"][0] == angle) == rests
        moment = float(run.variables["hinge_moment"].values[-1, 0])
        assert moment == pytest.approx(lever * MASS * 9.81, rel=1e-5)


def test_order_of_parts_start_and_saved_times_do_not_matter():
    system = pendulum(0.3, 0.05, 0.4)
    flipped = dataclasses.replace(
        system, hinges=[dataclasses.replace(system.hinges[0], first=2, second=1)]
    )
    method = B.TimeStepper(4e-3)
    one = st.solve(system, method, (0.0, 0.4), save=2)
    other = st.solve(flipped, method, (-3.7, -3.3), save=[-3.7, -3.61, -3.3])
    assert other.audit.ok, other.audit
    assert other.final["angle"][0] == pytest.approx(one.final["angle"][0], abs=1e-13)
    for name in ("hinge_force", "hinge_moment"):
        # the force on the second part, which is the first of the other system
        mine, its = (run.variables[name].values[-1, 0] for run in (one, other))
        np.testing.assert_allclose(its, -mine, rtol=1e-9)
    heat = [run.energy.total_friction_heat[-1] for run in (one, other)]
    assert heat[1] == pytest.approx(heat[0], rel=1e-11)


def free_chain(scale=1.0, frame=0.0, order=(0, 1, 2)):
    """Return three bars on pins with friction, in free flight."""
    turn = np.array([[math.cos(frame), -math.sin(frame)], [math.sin(frame), math.cos(frame)]])
    end, speed, bars, pins = np.zeros(2), np.array([0.3, 0.2]), [], []
    for k, (angle, spin) in enumerate(((0.3, 1.0), (-0.5, -2.0), (1.1, 0.5))):
        half = 0.5 * np.array([math.cos(angle), math.sin(angle)])
        moves = spin * np.array([-half[1], half[0]])
        bars.append(
            B.RigidBody(
                B.Box(scale, 0.1 * scale), mass=1.0 + k, position=scale * (turn @ (end + half)),
                angle=angle + frame, velocity=scale * (turn @ (speed + moves)), spin=spin,
            )
        )  # fmt: skip
        end, speed = end + 2.0 * half, speed + 2.0 * moves
        pins.append(scale * (turn @ end))
    number = {k: 1 + order.index(k) for k in range(3)}
    hinges = [
        B.Hinge(number[k], number[k + 1], pins[k], 0.02 * scale, st.Coulomb(0.3)) for k in range(2)
    ]
    return B.RigidBodies([bars[k] for k in order], gravity=[0.0, 0.0], hinges=hinges)


def test_momenta_are_conserved_and_units_frames_and_order_do_not_matter():
    def angles(system):
        run = st.solve(system, B.TimeStepper(4e-3), (0.0, 0.2), save=2)
        assert run.audit.ok, run.audit
        mass = np.array([body.mass for body in system.bodies])
        inertia = np.array([body.moment_of_inertia for body in system.bodies])
        x, v = run.variables["position"].values, run.variables["velocity"].values
        orbit = x[..., 0] * v[..., 1] - x[..., 1] * v[..., 0]
        angular = orbit @ mass + run.variables["spin"].values @ inertia
        np.testing.assert_allclose(mass @ v[1], mass @ v[0], rtol=1e-12)
        assert angular[1] == pytest.approx(angular[0], rel=1e-11)
        assert run.energy.total_friction_heat[-1] > 0.0
        return run.final["angle"]

    first = angles(free_chain())
    np.testing.assert_allclose(angles(free_chain(frame=0.7)) - 0.7, first, atol=1e-12)
    np.testing.assert_allclose(angles(free_chain(scale=1e-3)), first, atol=1e-12)
    order = (2, 0, 1)
    np.testing.assert_allclose(angles(free_chain(order=order)), first[list(order)], atol=1e-12)


def ladder(mu, lean=0.4):
    """Return two bars that lean on each other, on a pin, with their feet on a floor."""
    top = np.array([0.0, math.cos(lean)])
    bars = [
        B.RigidBody(
            B.Box(1.0, 1e-3), mass=2.0, angle=math.atan2(math.cos(lean), -side * math.sin(lean)),
            position=[0.5 * side * math.sin(lean), 0.5 * math.cos(lean)],
        )
        for side in (-1.0, 1.0)
    ]  # fmt: skip
    # the corner that touches the floor, from the middle of the foot
    corner = 5e-4 * np.array([math.cos(lean), -math.sin(lean)])
    hinge = B.Hinge(1, 2, at=top)
    floor = B.Support(position=[0.0, float(corner[1])])
    system = B.RigidBodies(bars, [floor], law=st.Coulomb(mu), hinges=[hinge])
    # moments about the pin of the weight, and of normal force and friction at the foot
    arm = math.sin(lean) - corner[0]
    return system, (arm - 0.5 * math.sin(lean)) / (top[1] - corner[1])


def test_a_ladder_stands_by_friction_of_its_feet():
    _, least = ladder(0.5)
    for part, stands in ((1.0 - 1e-9, False), (1.0 + 1e-9, True)):
        assert B.rests(ladder(part * least)[0]).may == stands
    for part, stands in ((0.99, False), (1.01, True)):
        system, _ = ladder(part * least)
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05), save=2)
        assert run.audit.ok, run.audit
        moved = np.abs(np.diff(run.variables["position"].values, axis=0)).max()
        assert (moved == 0.0) == stands
    # the pin carries the friction of the feet
    (sideways, up), *_ = run.variables["hinge_force"].values[-1]
    assert abs(sideways) == pytest.approx(least * 2.0 * 9.81, rel=1e-6)
    assert up == pytest.approx(0.0, abs=1e-9)


def test_a_slider_crank_without_friction_conserves_energy():
    system = read_scenario("slider-crank").system
    hinges = [dataclasses.replace(hinge, law=None) for hinge in system.hinges]
    guide = [
        dataclasses.replace(one, position=[0.4, math.copysign(0.05, one.position[1])])
        for one in system.supports[1:]
    ]
    supports = [system.supports[0], *guide]
    system = dataclasses.replace(system, hinges=hinges, law=st.Coulomb(0.0), supports=supports)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.15), save=2)
    assert run.audit.ok, run.audit
    crank_mass, rod, block = system.bodies
    inertia = crank_mass.moment_of_inertia + crank_mass.mass * 0.05**2

    def energy(angle):
        """Return kinetic energies at unit spin of the crank: of crank, rod and slider."""
        lean = math.asin(0.25 * math.sin(angle))
        turn = -0.25 * math.cos(angle) / math.cos(lean)
        # the pin of the rod, its middle, and the slider
        pin = 0.1 * np.array([-math.sin(angle), math.cos(angle)])
        middle = pin + 0.2 * turn * np.array([math.sin(lean), math.cos(lean)])
        slides = pin[0] + 0.4 * turn * math.sin(lean)
        moves = rod.mass * middle @ middle + rod.moment_of_inertia * turn**2
        return 0.5 * (inertia + moves + block.mass * slides**2)

    angle, spin = float(run.final["angle"][0]), float(run.final["spin"][0])
    fallen = -0.05 * math.sin(angle) * 9.81 * (crank_mass.mass + rod.mass)
    assert spin == pytest.approx(-math.sqrt(fallen / energy(angle)), rel=1e-4)
    assert run.final["y"][2] == pytest.approx(0.0, abs=1e-12)
    reach = 0.1 * math.cos(angle) + 0.4 * math.cos(math.asin(0.25 * math.sin(angle)))
    assert run.final["x"][2] == pytest.approx(reach, abs=1e-5)


def test_a_slider_crank_comes_to_rest():
    run = read_scenario("slider-crank").solve()
    assert run.audit.ok, run.audit
    assert run.quantities["bodies_at_rest"].value == 3
    assert run.final["angle"][1] != 0.0
    assert run.energy.imbalance_rel < 1e-13


def hung_chain(count):
    """Return bars in a horizontal line on a wall, joined by pins."""
    bars = [B.RigidBody(B.Box(1.0, 0.1), position=[k + 0.5, 0.0]) for k in range(count)]
    hinges = [B.Hinge(count + 1, 1)] + [B.Hinge(k, k + 1, [k, 0.0]) for k in range(1, count)]
    return B.RigidBodies(bars, [B.Support(B.Disc(0.1))], hinges=hinges)


def test_a_chain_of_bars_swings():
    """The first bar turns at once by the statics of a chain whose bars all begin to fall."""
    system = hung_chain(12)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05), save=2)
    assert run.audit.ok, run.audit
    assert run.energy.imbalance_rel < 1e-12
    # accelerations of a hanging line: constraint forces by a second elimination
    rows = np.zeros((24, 36))
    for k in range(12):
        at = 3 * k
        rows[2 * k, at], rows[2 * k + 1, at + 1], rows[2 * k + 1, at + 2] = 1.0, 1.0, -0.5
        if k:
            rows[2 * k, at - 3], rows[2 * k + 1, at - 2 : at] = -1.0, [-1.0, -0.5]
    inertia = np.tile([1.0, 1.0, 1.01 / 12.0], 12)
    matrix = np.block([[np.diag(inertia), rows.T], [rows, np.zeros((24, 24))]])
    load = np.append(np.tile([0.0, -9.81, 0.0], 12), np.zeros(24))
    start = np.linalg.solve(matrix, load)[:36].reshape(12, 3)
    first = st.solve(system, B.TimeStepper(1e-6), (0.0, 1e-6), save=2).final["spin"]
    np.testing.assert_allclose(first / 1e-6, start[:, 2], atol=1e-6 * np.abs(start[:, 2]).max())


@pytest.mark.parametrize("off", [1e-6, 1e-8])
def test_a_parallelogram_passes_its_flat_position(off):
    spin, step = -3.0, 1e-3
    angle = -20.5 * step * spin + off
    end = np.array([math.cos(angle), math.sin(angle)])
    moves = spin * np.array([-end[1], end[0]])
    cranks = [
        B.RigidBody(
            B.Box(1.0, 0.02), position=0.5 * end + [x, 0.0], angle=angle, velocity=0.5 * moves,
            spin=spin,
        )
        for x in (0.0, 2.0)
    ]  # fmt: skip
    middle, far = np.add(end, [1.0, 0.0]), np.add(end, [2.0, 0.0])
    bar = B.RigidBody(B.Box(2.0, 0.02), position=middle, velocity=moves)
    walls = [B.Support(B.Disc(0.02), position=[x, 0.0]) for x in (0.0, 2.0)]
    hinges = [
        B.Hinge(1, 4), B.Hinge(2, 5, [2.0, 0.0]), B.Hinge(1, 3, end), B.Hinge(2, 3, far),
    ]  # fmt: skip
    pairs = [B.ContactPair(*p, contact=False) for p in ((1, 2), (3, 4), (3, 5), (1, 5), (2, 4))]
    system = B.RigidBodies([*cranks, bar], walls, gravity=[0.0, 0.0], hinges=hinges, pairs=pairs)
    run = st.solve(system, B.TimeStepper(step), (0.0, 0.04), save=2)
    assert run.audit.ok, run.audit
    assert run.energy.kinetic[-1] == pytest.approx(run.energy.kinetic[0], rel=1e-6)
    np.testing.assert_allclose(run.final["spin"], [spin, spin, 0.0], atol=1e-5)


@pytest.mark.parametrize("radius", [0.8, 0.9])
def test_a_thick_pin_stops_a_bar(radius):
    """The force of the pin depends much on its friction: Broyden's method finds it."""
    bar = B.RigidBody(B.Box(1.0, 0.1), position=[0.5, 0.0], spin=5.0, velocity=[0.0, 2.5])
    pin = B.Hinge(1, 2, radius=radius, law=st.Coulomb(1.0))
    supports = [B.Support(B.Disc(0.05))]
    system = B.RigidBodies([bar], supports, gravity=[0.0, 0.0], hinges=[pin])
    run = st.solve(system, B.TimeStepper(2e-3), (0.0, 0.02), save=2)
    assert run.audit.ok, run.audit
    # I w' = -k |F| with |F| = m a sqrt(w^4 + w'^2), a = .5 m from the pin
    inertia, k = 1.01 / 12.0 + 0.25, radius * math.sin(math.pi / 4.0)
    rate = -k * 0.5 / math.sqrt(inertia**2 - (k * 0.5) ** 2)
    # w' = rate w^2
    assert run.final["spin"][0] == pytest.approx(5.0 / (1.0 - rate * 5.0 * 0.02), rel=2e-3)


def test_a_moving_support_does_work_through_a_hinge():
    system = pendulum(-0.5 * math.pi)
    support = dataclasses.replace(system.supports[0], velocity=[0.8, 0.0])
    still = dataclasses.replace(system, supports=[support], bodies=[
        dataclasses.replace(system.bodies[0], velocity=[0.8, 0.0])
    ])  # fmt: skip
    run = st.solve(still, B.TimeStepper(1e-3), (0.0, 0.5), save=2)
    assert run.final["angle"][0] == -0.5 * math.pi
    assert run.final["velocity_x"][0] == 0.8
    begins = dataclasses.replace(still, bodies=[
        dataclasses.replace(system.bodies[0], velocity=[0.4, 0.0], spin=-0.8)
    ])  # fmt: skip
    run = st.solve(begins, B.TimeStepper(1e-3), (0.0, 0.5), save=2)
    assert run.audit.ok, run.audit
    assert abs(run.energy.external_work[-1]) > 0.1
    assert run.energy.imbalance_rel < 1e-13


def test_a_run_with_hinges_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    def stop(done, note):
        if done > 0.5:
            raise Stop

    system, method = pendulum(0.0, 0.05, 0.4), B.TimeStepper(2e-3)
    whole = st.solve(system, method, (0.0, 0.4), save=5)
    saved = FileCheckpoint(tmp_path / "state", "pendulum", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, method, (0.0, 0.4), save=5, progress=stop, checkpoint=saved)
    again = FileCheckpoint(tmp_path / "state", "pendulum", resume=True)
    resumed = st.solve(system, method, (0.0, 0.4), save=5, checkpoint=again)
    for name in ("angle", "hinge_force", "hinge_moment"):
        np.testing.assert_array_equal(resumed.variables[name].values, whole.variables[name].values)
    for name in ("friction_heat", "algorithmic", "imbalance"):
        np.testing.assert_array_equal(getattr(resumed.energy, name), getattr(whole.energy, name))


def test_friction_of_a_pin_in_an_impact_is_a_loss_of_the_impact():
    bar = B.RigidBody(B.Box(1.0, 0.1), position=[0.5, 0.0], velocity=[0.0, -1.0], spin=-2.0)
    supports = [B.Support(B.Disc(0.05)), B.Support(B.Disc(0.05), position=[0.9, -0.1001])]
    pin = B.Hinge(1, 2, radius=0.2, law=st.Coulomb(1.0))
    system = B.RigidBodies([bar], supports, gravity=[0.0, 0.0], restitution=0.5, hinges=[pin])
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.1))
    assert run.audit.ok, run.audit
    assert (run.events["kind"] == "impact").any()
    assert np.diff(run.energy.total_friction_heat).min() >= 0.0
    assert 0.0 < run.energy.impact_loss[-1] < run.energy.kinetic[0] - run.energy.kinetic[-1]


def test_impacts_of_one_mechanism_at_once_are_reported():
    system, _ = ladder(0.0, 0.6)
    bars = [
        dataclasses.replace(bar, position=np.add(bar.position, [0.0, 0.1])) for bar in system.bodies
    ]
    hinges = [dataclasses.replace(system.hinges[0], at=[0.0, math.cos(0.6) + 0.1])]
    falls = dataclasses.replace(system, bodies=bars, hinges=hinges, restitution=0.5)
    run = st.solve(falls, B.TimeStepper(1e-3), (0.0, 0.2))
    assert "simultaneous_impacts" in [loss.kind for loss in run.determinism.losses]


def test_a_body_that_turns_freely_leaves_others_of_its_group_at_rest():
    system, _ = ladder(0.5)
    top = system.hinges[0].at
    disc = B.RigidBody(B.Disc(0.02), mass=0.1, position=top)
    bodies = [*system.bodies, disc]
    hinges = [*system.hinges, B.Hinge(1, 3, top)]
    pairs = [B.ContactPair(2, 3, contact=False)]
    loaded = dataclasses.replace(system, bodies=bodies, hinges=hinges, pairs=pairs)
    run = st.solve(loaded, B.TimeStepper(1e-3), (0.0, 0.05), save=2)
    assert run.audit.ok, run.audit
    assert not np.diff(run.variables["position"].values[:, :2], axis=0).any()
    assert not run.final["spin"][:2].any()


def test_wheels_that_stick_on_their_pins_hold_a_cart():
    """Their friction holds it on a slope up to R sin(arctan mu) over the radius of the wheels."""
    pin, mu, wheel = 0.05, 0.5, 0.2
    frame = B.RigidBody(B.Box(1.0, 0.1), mass=4.0, position=[0.0, wheel])
    discs = [B.RigidBody(B.Disc(wheel), position=[x, wheel]) for x in (-0.4, 0.4)]
    hinges = [B.Hinge(1, k, [x, wheel], pin, st.Coulomb(mu)) for k, x in ((2, -0.4), (3, 0.4))]
    # the weight of the frame alone acts on the pins, that of all on the slope
    bound = 4.0 / 6.0 * pin * math.sin(math.atan(mu)) / wheel
    for part, rests in ((0.99, True), (1.01, False)):
        slope = math.asin(part * bound)
        system = B.RigidBodies(
            [frame, *discs], [B.Support()], hinges=hinges, law=st.Coulomb(0.9),
            gravity=[9.81 * math.sin(slope), -9.81 * math.cos(slope)],
        )  # fmt: skip
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.03), save=2)
        assert run.audit.ok, run.audit
        assert (run.quantities["bodies_at_rest"].value == 3) == rests


@pytest.mark.fails_audit("bodies", "hinges_closed")
def test_a_step_too_long_for_a_hinge_fails():
    run = st.solve(pendulum(), B.TimeStepper(0.05), (0.0, 1.0), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["hinges_closed"] is False


BAR = B.RigidBody(B.Box(1.0, 0.1), position=[0.5, 0.0])
WALL = B.Support(B.Disc(0.1))


@pytest.mark.parametrize(
    ("bodies", "hinges", "words"),
    [
        ([BAR], [B.Hinge(1, 2), B.Hinge(1, 2, [0.5, 0.0])], "hinges that lock the bodies"),
        ([BAR], [B.Hinge(1, 3)], "numbers up to 2"),
        ([BAR], [B.Hinge(1, 1)], "another body or support"),
        ([BAR], [B.Hinge(1, 2, law=st.Coulomb(0.2))], "a radius > 0"),
        (
            [dataclasses.replace(BAR, spin=2.0)],
            [B.Hinge(1, 2)],
            r"\[0, -1\] m/s on part 1 and \[0, 0\]",
        ),
    ],
)
def test_hinges_that_cannot_be_are_refused(bodies, hinges, words):
    with pytest.raises(st.ModelError, match=words):
        B.RigidBodies(bodies, [WALL], hinges=hinges)


def test_what_has_no_hinges_refuses_them():
    pair = B.ContactPair(1, 2, law=st.Coulomb(0.1))
    with pytest.raises(st.ModelError, match="numbers up to 2"):
        dataclasses.replace(pendulum(), pairs=[pair, B.ContactPair(1, 99, contact=False)])
    with pytest.raises(st.ModelError, match="parts that touch"):
        dataclasses.replace(pendulum(), pairs=[pair])
    with pytest.raises(st.ModelError, match="use TimeStepper"):
        st.solve(pendulum(), B.EventDriven(), t_span=(0.0, 0.1))
    with pytest.raises(st.ModelError, match="Poisson's law of impact"):
        dataclasses.replace(pendulum(0.0, 0.05, 0.4), impact_law="poisson")
    with pytest.raises(st.ModelError, match="hinges without friction"):
        B.rests(pendulum(0.0, 0.05, 0.4))


def test_groups_with_pins_do_not_feel_each_other():
    one = pendulum(0.0, 0.05, 0.4)
    alone = st.solve(one, B.TimeStepper(4e-3), (0.0, 0.2), save=2)
    heavy = B.RigidBody(B.Box(1.0, 0.1), mass=1e6, position=[5.5, 0.0], spin=3.0, velocity=[0, 1.5])
    box = B.RigidBody(B.Box(0.2, 0.2), position=[10.0, -2.9], velocity=[1.0, 0.0])
    pins = [*one.hinges, B.Hinge(3, 5, [5.0, 0.0], 0.02, st.Coulomb(0.2))]
    supports = [B.Support(position=[0.0, -3.0]), B.Support(B.Disc(0.1), position=[5.0, 0.0])]
    first = dataclasses.replace(pins[0], second=6)
    system = B.RigidBodies(
        [*one.bodies, box, heavy], [*supports, *one.supports], hinges=[first, pins[1]]
    )
    run = st.solve(system, B.TimeStepper(4e-3), (0.0, 0.2), save=2)
    assert run.audit.ok, run.audit
    assert run.final["angle"][0] == pytest.approx(alone.final["angle"][0], abs=1e-14)
    assert run.final["velocity_x"][1] == pytest.approx(1.0 - 0.5 * 9.81 * 0.2, abs=1e-12)


def test_parts_that_lie_in_different_planes_do_not_touch():
    floor = B.Support()
    apart = B.ContactPair(1, 2, contact=False)
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.05])
    system = B.RigidBodies([ball], [floor], pairs=[apart])
    for method in (B.TimeStepper(1e-3), B.EventDriven()):
        run = st.solve(system, method, (0.0, 0.1), save=2)
        assert run.final["y"][0] == pytest.approx(0.05 - 0.5 * 9.81 * 0.01, rel=1e-12)
