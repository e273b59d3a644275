"""Event-driven rigid bodies against closed forms and references of 30 digits."""

import math
from decimal import Decimal as D
from decimal import localcontext

import numpy as np
import pytest

import stiction as st
from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.event_driven.modes import find_modes
from stiction.bodies.event_driven.outcome import build_run
from stiction.bodies.event_driven.run import Integrator
from stiction.bodies.mechanics import Mechanics
from stiction.core.driver import run_to_end
from stiction.core.run import Request

B = st.bodies
G = 9.81


def solve(system, end, **others):
    return st.solve(system, B.EventDriven(), (0.0, end), throw=False, **others)


def times(run, kind):
    return run.events["time"][run.events["kind"] == kind].to_numpy()


@pytest.mark.parametrize("e", [0.3, 0.5, 0.9])
def test_bounces_accumulate(e):
    """A ball that falls from rest rests after sqrt(2 h / g) (1 + e) / (1 - e)."""
    height = 1.0
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.1 + height])
    end = math.sqrt(2.0 * height / G) * (1.0 + e) / (1.0 - e)
    run = solve(B.RigidBodies([ball], [B.Support()], restitution=e), 1.2 * end)
    assert times(run, "accumulation") == pytest.approx([end], rel=1e-10)
    # impacts up to a hop of 1e-12 of the diameter, whose height falls by e^2
    hops = math.log(0.2e-12 / height) / (2.0 * math.log(e))
    # reason: a count, rounded to whole hops
    assert len(times(run, "impact")) == pytest.approx(hops, abs=1.0)
    first = math.sqrt(2.0 * height / G) * np.cumsum([1.0, 2.0 * e, 2.0 * e * e])
    np.testing.assert_allclose(times(run, "impact")[:3], first, rtol=1e-13)
    assert run.energy.imbalance_rel < 1e-12
    assert not run.final["velocity_y"].any()
    assert run.energy.impact_loss[-1] == pytest.approx(G * height, rel=1e-12)


def test_a_thrown_disc_rolls():
    """From 2 v0 / (7 mu g) on at 5/7 v0, with I = 2/5 m r^2."""
    v0, mu, r, m = 3.0, 0.3, 0.1, 2.0
    disc = B.RigidBody(
        B.Disc(r), mass=m, position=[0.0, r], velocity=[v0, 0.0], inertia=0.4 * m * r * r
    )
    run = solve(B.RigidBodies([disc], [B.Support()], law=st.Coulomb(mu)), 1.0)
    rolls = 2.0 * v0 / (7.0 * mu * G)
    place = v0 * rolls - 0.5 * mu * G * rolls**2 + 5.0 / 7.0 * v0 * (1.0 - rolls)
    assert times(run, "stop") == pytest.approx([rolls], rel=1e-12)
    assert run.final["velocity_x"] == pytest.approx([5.0 / 7.0 * v0], rel=1e-12)
    assert run.final["angle"] == pytest.approx(
        [-(2.5 * mu * G / r) * rolls**2 / 2.0 - 5.0 / 7.0 * v0 / r * (1.0 - rolls)], rel=1e-12
    )
    assert run.final["x"] == pytest.approx([place], rel=1e-12)
    heat = 0.5 * m * v0**2 * (1.0 - 5.0 / 7.0)
    assert run.energy.total_friction_heat[-1] == pytest.approx(heat, rel=1e-12)
    assert run.determinism.status == "deterministic"


@pytest.mark.parametrize("frame", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_a_box_on_a_slope(frame, mu):
    """At rest below the angle of friction; above it slides with g (sin - mu cos)."""
    for factor in (0.999, 1.001):
        slope = math.atan(factor * mu)
        total = slope + frame
        normal = np.array([-math.sin(total), math.cos(total)])
        box = B.RigidBody(B.Box(1.0, 0.6), position=0.3 * normal, angle=total)
        gravity = G * np.array([math.sin(frame), -math.cos(frame)])
        floor = B.Support(B.HalfPlane(normal))
        run = solve(B.RigidBodies([box], [floor], gravity=gravity, law=st.Coulomb(mu)), 1.0)
        place = run.variables["position"].values[:, 0]
        if factor < 1.0:
            assert not np.ptp(place, axis=0).any()
            assert not np.ptp(run.variables["angle"].values)
            continue
        exact = G * (math.sin(slope) - mu * math.cos(slope))
        downhill = -np.array([math.cos(total), math.sin(total)])
        v = run.variables["velocity"].values[-1, 0]
        np.testing.assert_allclose(v, exact * downhill, atol=1e-12 * exact)
        np.testing.assert_allclose(place[-1] - place[0], 0.5 * exact * downhill, atol=1e-15)
        assert run.energy.imbalance_rel < 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_a_sliding_block_stops(seed):
    """It slides v |T| / 2 far and neither lifts nor turns; seed 0 is a cube at 6 m/s, mu = 0.5.

    What is left of the velocity at the stop is rounding, and must not open a contact.
    """
    rng = np.random.default_rng(seed)
    width, height = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    mu = rng.uniform(0.05, 0.98) * min(width / height, 1.0)
    speed, turn = 10.0 ** rng.uniform(-2.0, 2.0), rng.uniform(-1.2, 1.2)
    tilt = rng.uniform(-0.9, 0.9) * math.atan(mu)
    if seed == 0:
        width, height, mu, speed, turn, tilt = 1.0, 1.0, 0.5, 6.0, 0.0, 0.0
    along = np.array([math.cos(turn), math.sin(turn)])
    normal = np.array([-along[1], along[0]])
    block = B.RigidBody(
        B.Box(width, height), position=0.5 * height * normal, angle=turn, velocity=speed * along
    )
    floor = B.Support(B.HalfPlane(normal))
    gravity = G * (math.sin(tilt) * along - math.cos(tilt) * normal)
    system = B.RigidBodies([block], [floor], law=st.Coulomb(mu), gravity=gravity)
    end = speed / (G * (mu * math.cos(tilt) - math.sin(tilt)))
    run = solve(system, 2.0 * end, save=21)
    assert run.status.ok
    place = run.variables["position"].values[:, 0]
    assert place[-1] @ along == pytest.approx(0.5 * speed * end, rel=1e-12)
    np.testing.assert_allclose(
        place @ normal, 0.5 * height, rtol=0.0, atol=1e-14 * (speed * end + height)
    )
    np.testing.assert_allclose(run.variables["angle"].values, turn, atol=1e-14)


def rocking(slenderness, velocity=(0.0, 0.0)):
    """Return a block of R = 1 at half its slenderness, on a floor that moves with it."""
    half = np.array([math.sin(slenderness), math.cos(slenderness)])
    angle = 0.5 * slenderness
    # turned about its lower left corner, which stays where it is
    c, s = math.cos(angle), math.sin(angle)
    place = [-half[0] + c * half[0] - s * half[1], s * half[0] + c * half[1]]
    shape = B.Box(2.0 * half[0], 2.0 * half[1])
    block = B.RigidBody(shape, position=place, angle=angle, velocity=velocity)
    floor = B.Support(velocity=velocity)
    return B.RigidBodies([block], [floor], law=st.Coulomb(5.0))


def cosine_and_sine(x):
    """Return both of a Decimal by their Taylor series."""
    sums, term, k = [D(0), D(0)], D(1), 0
    while abs(term) > D("1e-40") or k < 4:
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = term * x / k
    return sums


def root(function, low, high):
    """Return the root of a function between two Decimals, by the secant method in a bracket."""
    below, at_low = function(low) < 0, function(low)
    at_high = function(high)
    for _ in range(200):
        x = low - at_low * (high - low) / (at_high - at_low)
        value = function(x)
        if abs(high - low) < D("1e-32") or value == 0:
            break
        if (value < 0) == below:
            low, at_low, at_high = x, value, at_high / 2
        else:
            high, at_high, at_low = x, value, at_low / 2
    return x


def turned(angle, rate, t):
    """Return the angle after a time t, for angle'' = sin(angle), by its Taylor series."""
    c, s = cosine_and_sine(angle)
    a, cosine, sine = [angle, rate], [c], [s]
    for k in range(100):
        a.append(sine[k] / ((k + 1) * (k + 2)))
        slopes = [(j + 1) * a[j + 1] for j in range(k + 1)]
        sine.append(sum(slopes[j] * cosine[k - j] for j in range(k + 1)) / (k + 1))
        cosine.append(-sum(slopes[j] * sine[k - j] for j in range(k + 1)) / (k + 1))
    return sum(x * t**k for k, x in enumerate(a) if t or not k)


def quarter_period(slenderness):
    """Return the time from rest at half the slenderness to the impact, in units of 1 / p.

    The angle of the diagonal with the vertical grows from a half of the slenderness to all of it.
    """
    with localcontext() as context:
        context.prec = 34
        alpha, end = D(slenderness), D("1.5")
        return root(lambda t: turned(alpha / 2, D(0), t) - alpha, D(1), end)


@pytest.mark.parametrize(("slenderness", "period"), [(0.1, 1.3173442006), (0.2, 1.3185043976)])
@pytest.mark.parametrize("velocity", [(0.0, 0.0), (0.2, 0.3)])
def test_a_rocking_block(slenderness, period, velocity):
    """Quarter period from half the angle, and 1 - 1.5 sin^2 at the impact; the table may move."""
    p = math.sqrt(0.75 * G)
    exact = float(quarter_period(str(slenderness)))
    assert exact == pytest.approx(period, abs=1e-10)
    run = solve(rocking(slenderness, velocity), 1.2 * period / p)
    (impact,) = times(run, "impact")
    assert impact * p == pytest.approx(exact, abs=1e-12)
    # energy of rotation about the corner before and after, in units of m g
    fall = math.cos(0.5 * slenderness) - math.cos(slenderness)
    ratio = 1.0 - 1.5 * math.sin(slenderness) ** 2
    assert run.energy.impact_loss[-1] == pytest.approx(G * fall * (1.0 - ratio**2), rel=1e-11)
    assert run.energy.total_friction_heat[-1] == 0.0
    assert run.audit.ok


def test_a_rocking_block_comes_to_rest():
    """Impacts of two corners accumulate, and the block rests."""
    run = solve(rocking(0.5), 6.0)
    (end,) = times(run, "accumulation")
    impacts = times(run, "impact")
    assert impacts[-1] < end < impacts[-1] + 2.0 * np.diff(impacts)[-1]
    ratio = np.diff(impacts)[-20:] / np.diff(impacts)[-21:-1]
    # intervals between the last impacts shrink as the velocities do
    np.testing.assert_allclose(ratio, 1.0 - 1.5 * math.sin(0.5) ** 2, rtol=1e-3)
    assert not run.final["spin"].any()


def bounces_on_a_turning_table(count, spin, e, start):
    """Return times of impacts of a ball on an edge that turns about the origin, to 30 digits."""
    w, e, g, found = D(spin), D(e), D("9.81"), []
    with localcontext() as context:
        context.prec = 34
        x, v, t = [D(c) for c in start], [D(0), D(0)], D(0)
        for _ in range(count):

            def place(s, x=x, v=v):
                return x[0] + v[0] * s, x[1] + v[1] * s - g * s * s / 2

            def gap(s, place=place, t=t):
                c, sine = cosine_and_sine(w * (t + s))
                px, py = place(s)
                return -sine * px + c * py - D("0.2")

            low, step = D("1e-3"), D("1e-3")
            while gap(low + step) > 0:
                low += step
            hit = root(gap, low, low + step)
            c, sine = cosine_and_sine(w * (t + hit))
            n, x, v = (-sine, c), list(place(hit)), [v[0], v[1] - g * hit]
            # the velocity of the table at the point of contact, 0.1 below the centre
            px, py = x[0] - n[0] / 10, x[1] - n[1] / 10
            u = n[0] * (v[0] + w * py) + n[1] * (v[1] - w * px)
            v = [v[k] - (1 + e) * u * n[k] for k in range(2)]
            t += hit
            found.append(float(t))
    return np.array(found)


def test_a_ball_on_a_turning_table():
    """The table is a heavy body, whose weight a force carries."""
    mass = 1e12
    table = B.RigidBody(B.Box(8.0, 0.2), mass=mass, spin=0.3, force=[0.0, mass * G])
    ball = B.RigidBody(B.Disc(0.1), position=[0.5, 0.8])
    system = B.RigidBodies([ball, table], law=st.Coulomb(0.0), restitution=0.8)
    run = solve(system, 1.6)
    found = times(run, "impact")
    assert len(found) == 3
    exact = bounces_on_a_turning_table(len(found), "0.3", "0.8", ("0.5", "0.8"))
    np.testing.assert_allclose(found, exact, atol=1e-10)


# ---- Painleve's rod


HALF = 0.5


def rod(angle, spin, slip, mu):
    """Return a uniform rod whose left end touches the floor and slides to the left."""
    shape = B.Polygon([[HALF, 0.0], [0.0, 0.02], [-HALF, 0.0], [0.0, -0.02]])
    arm = -HALF * np.array([math.cos(angle), math.sin(angle)])
    body = B.RigidBody(
        shape, position=[0.0, -arm[1]], angle=angle, spin=spin, inertia=HALF**2 / 3.0,
        velocity=[-slip + spin * arm[1], -spin * arm[0]],
    )  # fmt: skip
    return B.RigidBodies([body], [B.Support()], law=st.Coulomb(mu))


def numbers_of_accelerations(angle, spin, mu):
    """Return how many accelerations each state has, and whether it is near a boundary."""
    m, count = Mechanics(rod(0.3, 0.0, 1.0, mu)), len(angle)
    q, v = np.zeros((2, count, 1, 3))
    arm = -HALF * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    q[:, 0, 1], q[:, 0, 2] = -arm[:, 1], angle
    v[:, 0, 0], v[:, 0, 1], v[:, 0, 2] = spin * arm[:, 1] - 1.0, -spin * arm[:, 0], spin
    pose = m.pose(0.0, q[0])
    closed = kin.Closed.table(1)
    closed[0] = kin.closed_contact(m.surfaces, m.surfaces.contacts(pose, 1e-9)[0], pose)
    k = kin.kinematics(closed, m.pose(np.zeros(count), q), m.velocity(v))
    rows, inverse, load = kin.rows(closed, k, 1), 1.0 / m.mass.ravel(), m.force.ravel()
    found = []
    for j, bias in zip(rows, k.bias.reshape(count, 2), strict=True):
        size = float((np.abs(j) @ np.abs(inverse * load) + np.abs(bias)).max())
        w, b = j * inverse @ j.T, j @ (inverse * load) + bias
        found.append(find_modes(w, b, size, np.array([-1]), np.array([mu])))
    return np.array([f.number for f in found]), np.array([f.near for f in found])


def p_and_b(angle, spin, mu):
    p = 1.0 + 3.0 * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))
    return p, HALF * spin**2 * np.sin(angle) / G - 1.0


def test_painleves_rod():
    """No acceleration where p < 0 and b < 0, two where p < 0 and b > 0, one elsewhere."""
    rng = np.random.default_rng(1)
    angle, spin = rng.uniform(0.05, 1.5, 10_000), rng.normal(scale=6.0, size=10_000)
    p, b = p_and_b(angle, spin, 2.0)
    count, near = numbers_of_accelerations(angle, spin, 2.0)
    expected = np.where(p > 0.0, 1, np.where(b < 0.0, 0, 2))
    np.testing.assert_array_equal(count[~near], expected[~near])
    assert near.sum() <= 1
    assert min((expected == k).sum() for k in range(3)) > 1000


def test_states_near_a_boundary_are_reported():
    # where p = 0: 5/2 + 3/2 cos(2 a) = 3 sin(2 a), the smaller root
    edge = 0.5 * (math.asin(2.5 / math.hypot(3.0, 1.5)) + math.atan2(1.5, 3.0))
    slope = (p_and_b(edge + 1e-4, 0.0, 2.0)[0] - p_and_b(edge - 1e-4, 0.0, 2.0)[0]) / 2e-4
    for distance, reported in ((0.5e-9, True), (-0.5e-9, True), (1e-7, False), (-1e-7, False)):
        angle = np.array([edge + distance / slope])
        assert numbers_of_accelerations(angle, np.array([2.0]), 2.0)[1].all() == reported
        angle = np.array([0.8])
        spin = np.sqrt(G / HALF / np.sin(angle) * (1.0 + distance))
        assert numbers_of_accelerations(angle, spin, 2.0)[1].all() == reported


def test_a_rod_that_starts_in_the_paradox():
    run = solve(rod(0.9, 0.0, 3.0, 2.0), 0.5)
    assert run.status is st.Status.NO_CONTINUATION
    assert [loss.kind for loss in run.determinism.losses] == ["no_acceleration"]
    assert "Painleve" in run.reason
    run = solve(rod(0.9, 8.0, 3.0, 2.0), 0.2)
    assert run.status is st.Status.SOLVED
    (loss,) = run.determinism.losses
    assert loss.kind == "several_accelerations"
    assert loss.where == {"contact_of": "body 1 and support 1", "solutions": 2}
    # the one with the smallest forces: it separates, and falls freely
    fall = run.variables["position"].values[:, 0, 1]
    start = HALF * math.sin(0.9)
    free = start + 8.0 * HALF * math.cos(0.9) * run.time - 0.5 * G * run.time**2
    np.testing.assert_allclose(fall, free, atol=1e-13)


def test_a_rod_that_slides_into_the_paradox():
    """Friction turns it to p = b = 0, where its forces grow without bound."""
    angle, spin, mu = 0.43, 6.65, 3.0
    p, b = p_and_b(angle, spin, mu)
    assert p > 0.0 > b
    request = Request(0.0, 0.4, np.array([0.0, 0.4]))
    integrator = Integrator(rod(angle, spin, 8.0, mu), B.EventDriven(), request)
    status, reason = run_to_end(integrator.steps())
    assert status is st.Status.NO_CONTINUATION
    assert "without bound" in reason
    p, b = p_and_b(integrator.q[0, 2], integrator.v[0, 2], mu)
    # b vanishes with a small power of p
    assert 0.0 < p < 1e-7
    assert -1e-2 < b < 0.0
    run = build_run(integrator.system, B.EventDriven(), integrator.history(status, reason))
    assert [loss.kind for loss in run.determinism.losses] == ["painleve_boundary"]


# ---- Newton's cradle


def test_the_cradle_is_not_unique():
    balls = [
        B.RigidBody(B.Disc(0.1), position=[0.2 * k, 0.0], velocity=[float(k == 0), 0.0])
        for k in range(3)
    ]
    run = solve(B.RigidBodies(balls, gravity=[0.0, 0.0], restitution=1.0), 0.1)
    np.testing.assert_allclose(run.final["velocity_x"], [-1 / 3, 2 / 3, 2 / 3], rtol=1e-12)
    assert [loss.kind for loss in run.determinism.losses] == ["simultaneous_impacts"]
    apart = [
        B.RigidBody(B.Disc(0.1), position=[0.21 * k, 0.0], velocity=[float(k == 0), 0.0])
        for k in range(3)
    ]
    run = solve(B.RigidBodies(apart, gravity=[0.0, 0.0], restitution=1.0), 0.1)
    np.testing.assert_allclose(run.final["velocity_x"], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(times(run, "impact"), [0.01, 0.02], rtol=1e-12)
    assert run.determinism.status == "deterministic"
