"""Event-driven rigid bodies with springs and dampers, against closed forms and time steps."""

import math

import numpy as np
import pytest

import stiction as st

B = st.bodies
G, MASS, K = 9.81, 1.5, 40.0
OMEGA = math.sqrt(K / MASS)


def solve(system, end, **others):
    run = st.solve(system, B.EventDriven(), (0.0, end), **{"save": 3, **others})
    assert run.audit.ok, run.audit
    assert run.energy.imbalance_rel < 1e-12
    return run


def times(run, kind):
    return run.events["time"][run.events["kind"] == kind].to_numpy()


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_an_oscillator(damping):
    disc = B.RigidBody(B.Disc(0.1), mass=MASS, position=[1.0, 0.5])
    spring = B.Spring(2, 1, stiffness=K, damping=damping, length=0.8)
    wall = B.Support(B.Disc(0.1), position=[0.0, 0.5])
    system = B.RigidBodies([disc], [wall], gravity=[0.0, 0.0], springs=[spring])
    run = solve(system, 0.5, save=11)
    decay = 0.5 * damping / MASS
    w, t = math.sqrt(OMEGA**2 - decay**2), run.time
    x = 0.2 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    v = -0.2 * OMEGA**2 / w * np.exp(-decay * t) * np.sin(w * t)
    np.testing.assert_allclose(run.variables["position"].values[:, 0, 0] - 0.8, x, atol=1e-12)
    np.testing.assert_allclose(run.variables["velocity"].values[:, 0, 0], v, atol=1e-12)
    np.testing.assert_allclose(run.energy.stored, 0.5 * K * x * x, atol=1e-12)
    lost = 0.5 * K * (0.04 - x * x) - 0.5 * MASS * v * v
    np.testing.assert_allclose(run.energy.viscous_heat, lost, atol=1e-12)


def test_a_box_hung_by_a_damper():
    """m v' = m g - c v."""
    box = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 1.0])
    damper = B.Spring(1, 2, on_first=[0.0, 0.1], stiffness=0.0, damping=4.0)
    beam = B.Support(B.Disc(0.05), position=[0.0, 2.0])
    run = solve(B.RigidBodies([box], [beam], springs=[damper]), 1.0)
    tau = MASS / 4.0
    fall = G * tau * (1.0 - tau * (1.0 - math.exp(-1.0 / tau)))
    assert run.final["y"] == pytest.approx([1.0 - fall], rel=1e-12)


def test_a_block_on_a_belt():
    """It slips until it has the velocity of the belt, sticks, and slips from k x = mu m g on."""
    speed, mu = 0.3, 0.4
    block = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 0.1])
    supports = [B.Support(velocity=[speed, 0.0]), B.Support(B.Disc(0.05), position=[-1.0, 0.1])]
    system = B.RigidBodies(
        [block], supports, law=st.Coulomb(mu), springs=[B.Spring(1, 3, stiffness=K)]
    )
    most = mu * MASS * G / K
    stop = math.asin(speed / (most * OMEGA)) / OMEGA
    onset = stop + (most - most * (1.0 - math.cos(OMEGA * stop))) / speed
    run = solve(system, onset + 1.5 * math.pi / OMEGA)
    assert times(run, "stop") == pytest.approx([stop], rel=1e-12)
    assert times(run, "onset") == pytest.approx([onset], rel=1e-12)
    # then about k x = mu m g, with the amplitude V / omega
    assert run.final["x"] == pytest.approx([most - speed / OMEGA], rel=1e-12)
    assert abs(run.final["angle"][0]) < 1e-14


def test_a_support_pulls_a_block():
    """The support works; slip begins at k V t = mu m g, and x = V (t - sin(w t) / w) from then."""
    speed, mu = 1e-3, 0.4
    block = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 0.1])
    puller = B.Support(B.Disc(0.05), position=[9.0, 0.1], velocity=[speed, 0.0])
    system = B.RigidBodies(
        [block], [B.Support(), puller], law=st.Coulomb(mu), springs=[B.Spring(3, 1, stiffness=K)]
    )
    onset = mu * MASS * G / (K * speed)
    end = onset + 1.5 * math.pi / OMEGA
    run = solve(system, end, save=[0.0, 0.99 * onset, end])
    assert not run.variables["position"].values[1, 0, 0]
    assert times(run, "onset") == pytest.approx([onset], rel=1e-12)
    assert run.final["x"] == pytest.approx([speed * (1.5 * math.pi + 1.0) / OMEGA], rel=1e-8)


def test_a_slow_pull_in_short_steps():
    """The force of a step changes by less than what the modes are tested with."""
    speed, mu, onset = 1e-4, 0.4, 0.025
    block = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 0.1])
    puller = B.Support(B.Disc(0.05), position=[9.0, 0.1], velocity=[speed, 0.0])
    length = 9.0 - mu * MASS * G / K + onset * speed
    system = B.RigidBodies(
        [block], [B.Support(), puller], law=st.Coulomb(mu),
        springs=[B.Spring(3, 1, stiffness=K, length=length)],
    )  # fmt: skip
    run = st.solve(system, B.EventDriven(max_step=1e-2), (0.0, 0.04), save=2)
    # the force at the onset, 6 N, is rounded by 1e-15 N; it changes by 4e-3 N/s
    assert times(run, "onset") == pytest.approx([onset], abs=1e-10)


def test_a_light_box_on_a_stiff_spring_leaves_other_errors():
    """It rests; an oscillator beside it keeps its accuracy."""
    box = B.RigidBody(B.Box(0.2, 0.2), mass=1e-6, position=[-2.0, 0.1])
    disc = B.RigidBody(B.Disc(0.1), position=[1.001, 1.0], force=[0.0, G])
    springs = [
        B.Spring(2, 4, stiffness=1.0, length=1.0),
        B.Spring(1, 4, on_second=[-2.9, -0.9], stiffness=1e4),
    ]
    supports = [B.Support(), B.Support(B.Disc(0.1), position=[0.0, 1.0])]
    run = solve(B.RigidBodies([box, disc], supports, springs=springs), 3.0)
    x = run.variables["position"].values[:, 1, 0] - 1.0
    np.testing.assert_allclose(x, 1e-3 * np.cos(run.time), atol=1e-14)


def test_friction_ends_an_oscillation():
    """Each half period takes 2 mu m g / k from the amplitude."""
    mu, x = 0.2, 0.25
    step, count = 2.0 * mu * MASS * G / K, 0
    block = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 0.1])
    wall, at = B.Support(B.Disc(0.05), position=[-3.0, 0.1]), x
    system = B.RigidBodies(
        [block], [B.Support(), wall], law=st.Coulomb(mu),
        springs=[B.Spring(1, 3, stiffness=K, length=3.0 - x)],
    )  # fmt: skip
    while abs(at) > 0.5 * step:
        at, count = -at + math.copysign(step, at), count + 1
    run = solve(system, (count + 0.5) * math.pi / OMEGA)
    assert count == 2
    turns = np.append(times(run, "reversal"), times(run, "stop"))
    np.testing.assert_allclose(turns, np.pi / OMEGA * np.arange(1, count + 1), rtol=1e-12)
    assert run.final["x"] == pytest.approx([at - x], abs=1e-13)
    heat = 0.5 * K * (x * x - at * at)
    assert run.energy.total_friction_heat[-1] == pytest.approx(heat, rel=1e-12)


def test_a_spring_presses_a_box_until_it_lifts():
    """k (l - l0) = m g; then y = V t - V sin(w t) / w."""
    speed = 0.2
    box = B.RigidBody(B.Box(0.2, 0.2), mass=MASS, position=[0.0, 0.1])
    hook = B.Support(B.Disc(0.05), position=[0.0, 1.0], velocity=[0.0, speed])
    spring = B.Spring(1, 3, on_first=[0.0, 0.1], stiffness=K, length=1.0)
    lifts = (MASS * G / K + 0.2) / speed
    run = solve(
        B.RigidBodies([box], [B.Support(), hook], springs=[spring]), lifts + 0.7,
        save=[0.0, 0.5 * lifts, lifts + 0.7],
    )  # fmt: skip
    assert times(run, "separation") == pytest.approx([lifts], rel=1e-12)
    force = MASS * G + K * (0.2 - speed * 0.5 * lifts)
    assert run.variables["normal_force"].values[1] == pytest.approx([force], rel=1e-12)
    y = 0.1 + speed * (0.7 - math.sin(0.7 * OMEGA) / OMEGA)
    assert run.final["y"] == pytest.approx([y], rel=1e-12)


def test_bounces_on_a_spring_accumulate():
    """A far support makes coordinates coarser: hops end above their rounding."""
    e, down = 0.5, MASS * G / K
    disc = B.RigidBody(B.Disc(0.1), mass=MASS, position=[0.0, 0.4])
    supports = [B.Support(), B.Support(B.Disc(0.05), position=[0.0, 2.0])]
    spring = B.Spring(1, 3, stiffness=K, length=1.9)
    # about a place `down` below the floor: the first fall, and then hops of arcs of sines
    t = math.acos(down / (0.3 + down)) / OMEGA
    v, exact = (0.3 + down) * OMEGA * math.sin(OMEGA * t), [t]
    for _ in range(60):
        v *= e
        t += 2.0 * math.atan2(v / OMEGA, down) / OMEGA
        exact.append(t)
    run = solve(B.RigidBodies([disc], supports, restitution=e, springs=[spring]), 1.0)
    found = times(run, "impact")
    np.testing.assert_allclose(found, exact[: len(found)], rtol=1e-11)
    assert times(run, "accumulation") == pytest.approx([t], rel=1e-10)
    assert not run.final["velocity_y"].any()


def scene(scale=1.0, frame=0.0, order=(0, 1)):
    """Return two bodies on a floor, with springs between them and to a support that moves."""
    c, s = math.cos(frame), math.sin(frame)
    turn = np.array([[c, -s], [s, c]])
    parts = [
        (B.Box(0.3 * scale, 0.2 * scale), 1.0, [0.0, 0.1], [0.8, 0.0]),
        (B.Disc(0.15 * scale), 0.7, [0.6, 0.16], [-0.5, -0.5]),
    ]
    bodies = [
        B.RigidBody(
            shape, mass=m, position=scale * (turn @ x), angle=frame, velocity=scale * (turn @ v)
        )
        for shape, m, x, v in (parts[k] for k in order)
    ]
    supports = [
        B.Support(B.HalfPlane(turn @ [0.0, 1.0])),
        B.Support(
            B.Disc(0.05 * scale), position=scale * (turn @ [0.3, 1.0]),
            velocity=scale * (turn @ [0.4, 0.3]),
        ),
    ]  # fmt: skip
    box, disc = (1 + order.index(k) for k in (0, 1))
    springs = [
        B.Spring(box, disc, on_first=[0.1 * scale, 0.05 * scale], stiffness=60.0, damping=0.5),
        B.Spring(4, disc, stiffness=30.0, damping=0.3, length=0.7 * scale),
    ]
    return B.RigidBodies(
        bodies, supports, gravity=scale * (turn @ [0.0, -G]), law=st.Coulomb(0.3),
        restitution=0.4, springs=springs,
    )  # fmt: skip


def test_units_frames_order_and_time_steps_agree():
    def final(run):
        return np.stack([run.final["x"], run.final["y"]], axis=1)

    end = 0.1
    run = solve(scene(), end)
    assert len(run.events) == 2
    place = final(run)
    back = np.array([[math.cos(0.8), math.sin(0.8)], [-math.sin(0.8), math.cos(0.8)]])
    other = final(solve(scene(1e3, 0.8, (1, 0)), end)) @ back.T
    np.testing.assert_allclose(other[::-1], 1e3 * place, atol=1e-8)
    steps = st.solve(scene(), B.TimeStepper(2.5e-4), (0.0, end), save=2)
    np.testing.assert_allclose(final(steps), place, atol=1e-4)
