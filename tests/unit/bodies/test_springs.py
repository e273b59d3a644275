"""Springs and dampers of rigid bodies, beside closed forms."""

import dataclasses
import math

import numpy as np
import pytest

import stiction as st
from stiction.bodies.joints.springs import springs_of
from stiction.io.checkpoint_file import FileCheckpoint

B = st.bodies


def oscillator(stiffness=50.0, damping=0.0):
    """Return a disc of 2 kg on a spring to a support, 0.2 m beyond its length."""
    disc = B.RigidBody(B.Disc(0.1), mass=2.0, position=[1.0, 0.5])
    spring = B.Spring(1, 2, stiffness=stiffness, damping=damping, length=0.8)
    wall = B.Support(B.Disc(0.1), position=[0.0, 0.5])
    return B.RigidBodies([disc], [wall], gravity=[0.0, 0.0], springs=[spring])


def test_errors_are_of_second_order_without_contact():
    errors = []
    for step in (0.02, 0.01):
        run = st.solve(oscillator(), B.TimeStepper(step), (0.0, 1.0), save=11)
        assert run.audit.ok, run.audit
        exact = 0.8 + 0.2 * np.cos(5.0 * run.time)
        errors.append(np.abs(run.variables["position"].values[:, 0, 0] - exact).max())
        np.testing.assert_allclose(
            run.variables["spring_force"].values[:, 0],
            50.0 * (run.variables["position"].values[:, 0, 0] - 0.8),
            atol=1e-13,
        )
    assert errors[0] < 4e-4
    assert 3.8 < errors[0] / errors[1] < 4.2


def test_a_block_sticks_until_the_spring_pulls_as_hard_as_friction():
    """m x'' = k (V t - x) - mu m g from k V t = mu m g on; before it nothing moves."""
    mass, k, speed, mu = 1.5, 40.0, 0.3, 0.4
    block = B.RigidBody(B.Box(0.2, 0.2), mass=mass, position=[0.0, 0.1])
    puller = B.Support(B.Disc(0.05), position=[1.0, 0.1], velocity=[speed, 0.0])
    system = B.RigidBodies(
        [block], [B.Support(), puller], law=st.Coulomb(mu), springs=[B.Spring(1, 3, stiffness=k)]
    )
    onset, omega = mu * mass * 9.81 / (k * speed), math.sqrt(k / mass)
    end = onset + 1.5 * math.pi / omega
    run = st.solve(system, B.TimeStepper(8e-3), (0.0, end), save=[0.0, 0.99 * onset, end])
    assert run.audit.ok, run.audit
    x = run.variables["position"].values[:, 0, 0]
    assert x[1] == 0.0
    slid = speed * (1.5 * math.pi + 1.0) / omega
    assert x[2] == pytest.approx(slid, abs=4e-5)
    assert 0.0 <= run.events["time"].to_numpy()[-1] - onset < 2.0 * 8e-3  # two steps
    # the support works against the spring
    stored = 0.5 * k * (speed * end - x[2]) ** 2
    assert run.energy.stored[-1] == pytest.approx(stored, rel=1e-12)
    assert run.energy.imbalance_rel < 1e-13


def test_a_disc_rolls_on_a_spring_with_a_damper():
    """It oscillates with 3/2 of its mass; friction does no work."""
    k, c, place = 30.0, 0.5, 0.05
    disc = B.RigidBody(B.Disc(0.2), position=[place, 0.2])
    spring = B.Spring(1, 2, on_second=[1.0, 0.2], stiffness=k, damping=c, length=1.0)
    system = B.RigidBodies([disc], [B.Support()], law=st.Coulomb(0.6), springs=[spring])
    decay = c / 3.0
    omega = math.sqrt(k / 1.5 - decay**2)
    errors = []
    for step in (8e-3, 4e-3):
        run = st.solve(system, B.TimeStepper(step), (0.0, 0.8), save=[0.0, 0.8])
        assert run.audit.ok, run.audit
        t = run.time[-1]
        exact = np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
        errors.append(abs(run.final["x"][0] - place * exact))
        assert run.energy.viscous_heat[-1] > 0.0
        assert abs(run.energy.total_friction_heat[-1]) < 1e-15
    # the damper takes the velocity before the step
    assert errors[0] < 3e-4
    assert 1.8 < errors[0] / errors[1] < 2.2


def network(scale=1.0, frame=0.0, order=(0, 1, 2)):
    """Return three bodies between springs that hold them off their centres, in free flight."""
    c, s = np.cos(frame), np.sin(frame)
    turn = np.array([[c, -s], [s, c]])
    box = B.Box(0.3 * scale, 0.2 * scale)
    made = [
        B.RigidBody(
            box, mass=1.0 + k, position=scale * (turn @ np.array([k, 0.4 * k * k])),
            angle=frame + 0.3 * k, velocity=scale * (turn @ np.array([0.2, 0.5 - k])), spin=1.0 - k,
        )
        for k in range(3)
    ]  # fmt: skip
    number = {k: 1 + order.index(k) for k in range(3)}
    springs = [
        B.Spring(
            number[a], number[b], on_first=[0.1 * scale, 0.05 * scale],
            on_second=[-0.1 * scale, 0.0], stiffness=40.0, damping=0.7, length=0.9 * scale,
        )
        for a, b in ((0, 1), (1, 2))
    ]  # fmt: skip
    return B.RigidBodies([made[k] for k in order], gravity=[0.0, 0.0], springs=springs)


def test_momentum_is_conserved_and_units_frames_and_order_do_not_matter():
    def places(system):
        run = st.solve(system, B.TimeStepper(2e-3), (0.0, 0.4), save=2)
        assert run.audit.ok, run.audit
        mass = np.array([body.mass for body in system.bodies])
        arm, v = run.variables["position"].values, run.variables["velocity"].values
        inertia = np.array([body.moment_of_inertia for body in system.bodies])
        spin = (inertia * run.variables["spin"].values).sum(axis=1)
        turning = arm[..., 0] * v[..., 1] - arm[..., 1] * v[..., 0]
        angular = (mass * turning).sum(axis=1) + spin
        linear = np.einsum("b,tbc->tc", mass, v)
        np.testing.assert_allclose(linear[1], linear[0], atol=1e-12 * np.abs(mass @ v).max())
        return arm[-1], angular

    place, angular = places(network())
    # the torques of a step act at its middle, where the arms are known to second order
    assert angular[1] == pytest.approx(angular[0], rel=1e-4)
    np.testing.assert_allclose(places(network(1e3))[0], 1e3 * place, rtol=1e-11)
    c, s = np.cos(0.8), np.sin(0.8)
    back = np.array([[c, s], [-s, c]])
    np.testing.assert_allclose(places(network(frame=0.8))[0] @ back.T, place, atol=1e-12)
    np.testing.assert_allclose(places(network(order=(2, 0, 1)))[0], place[[2, 0, 1]], atol=1e-12)


def test_a_run_with_springs_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    def stop(done, note):
        if done > 0.5:
            raise Stop

    system, method = network(), B.TimeStepper(2e-3)
    whole = st.solve(system, method, (0.0, 0.4), save=9)
    keep = FileCheckpoint(tmp_path / "state", "network", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, method, (0.0, 0.4), save=9, progress=stop, checkpoint=keep)
    again = FileCheckpoint(tmp_path / "state", "network", resume=True)
    resumed = st.solve(system, method, (0.0, 0.4), save=9, checkpoint=again)
    for name in ("position", "spring_force"):
        np.testing.assert_array_equal(resumed.variables[name].values, whole.variables[name].values)
    for name in ("stored", "viscous_heat", "algorithmic", "imbalance"):
        np.testing.assert_array_equal(getattr(resumed.energy, name), getattr(whole.energy, name))


def test_rates_bound_the_frequencies():
    """Of the Hessian of the energy, by differences, at springs without a force."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        n = int(rng.integers(1, 4))
        bodies = [
            B.RigidBody(B.Disc(0.1), mass=rng.uniform(0.2, 5.0), position=[k, rng.normal()])
            for k in range(n)
        ]
        wall = B.Support(B.Disc(0.1), position=[-3.0, 0.0])
        springs = []
        for _ in range(int(rng.integers(1, 7))):
            first, second = rng.choice(n + 1, 2, replace=False) + 1
            points = 0.1 * rng.normal(size=(2, 2))
            springs.append(
                B.Spring(
                    int(first), int(second), *points, stiffness=rng.uniform(1.0, 90.0),
                )
            )  # fmt: skip
        system = B.RigidBodies(bodies, [wall], springs=springs)
        found, pose, h = springs_of(system), system.places(), 1e-4
        scaled = np.array([[b.mass, b.mass, b.moment_of_inertia] for b in bodies]).ravel() ** -0.5

        def energy(x, found=found, pose=pose, scaled=scaled, n=n):
            moved = pose.copy()
            moved[:n] += (scaled * x).reshape(n, 3)
            return float(found.stored(moved))

        steps = h * np.eye(3 * n)
        hessian = [
            [
                energy(a + b) - energy(a - b) - energy(b - a) + energy(-a - b)
                for b in steps
            ]
            for a in steps
        ]  # fmt: skip
        largest = float(np.linalg.eigvalsh(np.array(hessian) / (4.0 * h * h))[-1])
        bound, _ = found.rates()
        assert largest**0.5 <= bound * (1.0 + 1e-5)
    alone = springs_of(oscillator(damping=3.0))
    assert alone.rates() == pytest.approx((5.0, 1.5))


@pytest.mark.fails_audit("bodies", "springs_resolved")
def test_a_step_too_long_for_the_springs_fails():
    run = st.solve(oscillator(), B.TimeStepper(0.1), (0.0, 1.0), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["springs_resolved"] is False
    run = st.solve(oscillator(0.0, 9.0), B.TimeStepper(0.1), (0.0, 1.0), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["springs_resolved"] is False


@pytest.mark.parametrize(
    ("spring", "words"),
    [
        (B.Spring(1, 4), "numbers up to 3"),
        (B.Spring(1, 1), "another body or support"),
        (B.Spring(2, 3), "another body or support"),
        (B.Spring(1, 2, on_second=[0.0, 1.0], length=0.5), "between ends at one point"),
    ],
)
def test_springs_without_an_effect_or_a_direction_are_refused(spring, words):
    body = B.RigidBody(B.Disc(0.1), position=[0.0, 1.0])
    supports = [B.Support(), B.Support(B.Disc(0.1), position=[0.0, 3.0])]
    with pytest.raises(st.ModelError, match=words):
        B.RigidBodies([body], supports, springs=[spring])


def test_what_needs_gravity_alone_refuses_springs():
    with pytest.raises(st.ModelError, match="remove `springs`"):
        B.steepest_rest(oscillator())


def test_a_block_may_rest_if_friction_holds_the_spring():
    block = B.RigidBody(B.Box(0.2, 0.2), position=[0.0, 0.1])
    for length, holds in ((0.93, True), (0.9, False)):
        spring = B.Spring(1, 2, on_second=[1.0, 0.1], stiffness=50.0, length=length)
        system = B.RigidBodies([block], [B.Support()], law=st.Coulomb(0.4), springs=[spring])
        assert B.rests(system).may == holds
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05))
        assert (run.final["x"][0] == 0.0) == holds


def test_random_chains_of_blocks_move_as_the_chains_system_has_it():
    """Two blocks between walls: `Chain` shares no code, and locates its events."""
    rng, length = np.random.default_rng(5), 2.0
    for _ in range(4):
        mass, k = rng.uniform(0.5, 3.0, 2), rng.uniform(10.0, 80.0, 3)
        x0, v0 = rng.uniform(-0.3, 0.3, 2), rng.uniform(-1.0, 1.0, 2)
        chain = st.Chain(
            mass=mass, stiffness=k, law=st.Coulomb(0.2), x0=x0, v0=v0, supports="both"
        )  # fmt: skip
        exact = st.solve(chain, st.EventDriven(), (0.0, 1.0)).final["x"]
        blocks = [
            B.RigidBody(
                B.Box(0.2, 0.2), mass=mass[i], position=[length * (i + 1) + x0[i], 0.1],
                velocity=[v0[i], 0.0],
            )
            for i in range(2)
        ]  # fmt: skip
        walls = [B.Support(B.Disc(0.05), position=[3.0 * length * i, 0.1]) for i in range(2)]
        springs = [
            B.Spring(first, second, stiffness=k[i], length=length)
            for i, (first, second) in enumerate(((1, 4), (1, 2), (2, 5)))
        ]
        system = B.RigidBodies(
            blocks, [B.Support(), *walls], law=st.Coulomb(0.2), springs=springs
        )  # fmt: skip
        run = st.solve(system, B.TimeStepper(4e-3), (0.0, 1.0), save=2)
        assert run.audit.ok, run.audit
        np.testing.assert_allclose(run.final["x"] - [length, 2.0 * length], exact, atol=2e-4)


def test_a_spring_may_start_without_length():
    """In one direction it is an oscillator about the point at which its ends meet."""
    disc = B.RigidBody(B.Disc(0.1), velocity=[1.0, 0.0])
    far = B.Support(B.Disc(0.1), position=[0.0, 2.0])
    spring = B.Spring(1, 2, on_second=[0.0, -2.0], stiffness=16.0)
    run = st.solve(
        B.RigidBodies([disc], [far], gravity=[0.0, 0.0], springs=[spring]),
        B.TimeStepper(5e-3), (0.0, 1.5), save=11,
    )  # fmt: skip
    exact = 0.25 * np.sin(4.0 * run.time)
    np.testing.assert_allclose(run.variables["position"].values[:, 0, 0], exact, atol=1e-4)


def test_the_start_time_does_not_matter_beside_a_moving_support():
    def solved(start):
        block = B.RigidBody(B.Box(0.2, 0.2), position=[0.0, 0.1])
        puller = B.Support(B.Disc(0.05), position=[1.0, 0.1], velocity=[0.3, 0.0])
        spring = B.Spring(1, 3, stiffness=40.0, damping=0.3)
        system = B.RigidBodies([block], [B.Support(), puller], springs=[spring])
        return st.solve(system, B.TimeStepper(5e-3), (start, start + 0.5), save=[start + 0.3])

    first, later = solved(0.0), solved(5.0)
    for name in ("position", "spring_force", "spring_ends"):
        np.testing.assert_allclose(
            later.variables[name].values, first.variables[name].values, atol=1e-13
        )
    assert first.variables["spring_force"].values[0, 0] == pytest.approx(0.3 * 0.3)


def test_figures_show_the_springs():
    run = st.solve(oscillator(), B.TimeStepper(0.01), (0.0, 0.1), save=3)
    (axes,) = run.plot.scene().axes
    ends = run.variables["spring_ends"].values[-1, 0]
    assert any(np.array_equal(line.get_xydata(), ends) for line in axes.lines)
    layers = run.plot.movie(5).views[0].layers
    assert any(type(layer).__name__ == "Springs" for layer in layers)
    without = dataclasses.replace(oscillator(), springs=())
    run = st.solve(without, B.TimeStepper(0.01), (0.0, 0.1), save=3)
    assert "spring_ends" not in run.variables
