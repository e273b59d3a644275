"""Rigid bodies against closed forms of mechanics textbooks."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.bodies.equilibrium import is_balanced

B = st.bodies
G = 9.81


def on_slope(factor, mu, angle_of_frame=0.0):
    """Return a box on a slope of tan = factor mu, and the slope's direction downhill."""
    slope = math.atan(factor * mu)
    total = slope + angle_of_frame
    normal = np.array([-math.sin(total), math.cos(total)])
    box = B.RigidBody(B.Box(1.0, 0.6), position=0.3 * normal, angle=total)
    gravity = G * np.array([math.sin(angle_of_frame), -math.cos(angle_of_frame)])
    system = B.RigidBodies(
        [box], [B.Support(B.HalfPlane(normal))], gravity=gravity, law=st.Coulomb(mu)
    )
    return system, slope, -np.array([math.cos(total), math.sin(total)])


@pytest.mark.parametrize("frame", [0.0, 0.4, 2.0])
def test_a_box_on_a_slope(frame):
    """At rest below the angle of friction; above it slides with g (sin - mu cos)."""
    for mu in (0.2, 0.7):
        system, *_ = on_slope(0.999, mu, frame)
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1.0), save=3)
        assert not np.ptp(run.variables["position"].values, axis=0).any()
        assert not np.ptp(run.variables["angle"].values)
        system, slope, downhill = on_slope(1.001, mu, frame)
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1.0), save=3)
        exact = G * (math.sin(slope) - mu * math.cos(slope))
        v = run.variables["velocity"].values[-1, 0]
        np.testing.assert_allclose(v, exact * downhill, atol=1e-12 * G)
        moved = np.diff(run.variables["position"].values[[0, -1], 0], axis=0)[0]
        np.testing.assert_allclose(moved, 0.5 * exact * downhill, atol=1e-12 * G)


def test_a_box_rests_for_a_million_steps():
    system, *_ = on_slope(0.999, 0.5)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1000.0), save=3)
    assert not np.ptp(run.variables["position"].values, axis=0).any()


def test_a_thrown_disc_rolls():
    """From 2 v0 / (7 mu g) on at 5/7 v0, with I = 2/5 m r^2; the place is of second order."""
    v0, mu, r, m = 3.0, 0.3, 0.1, 2.0
    disc = B.RigidBody(
        B.Disc(r), mass=m, position=[0.0, r], velocity=[v0, 0.0], inertia=0.4 * m * r * r
    )
    system = B.RigidBodies([disc], [B.Support()], law=st.Coulomb(mu))
    rolls = 2.0 * v0 / (7.0 * mu * G)
    place = v0 * rolls - 0.5 * mu * G * rolls**2 + 5.0 / 7.0 * v0 * (1.0 - rolls)
    for h in (1e-2, 1e-3):
        run = st.solve(system, B.TimeStepper(h), (0.0, 1.0))
        assert run.variables["velocity"].values[-1, 0, 0] == pytest.approx(5 / 7 * v0, rel=1e-12)
        assert run.variables["spin"].values[-1, 0] == pytest.approx(-5 / 7 * v0 / r, rel=1e-12)
        # reason: the step in which rolling begins has an error of second order
        assert run.variables["position"].values[-1, 0, 0] == pytest.approx(place, abs=3.0 * h * h)
        (stop,) = run.events["time"][run.events["kind"] == "stop"]
        assert 0.0 <= stop - rolls <= h


def test_a_cube_slides_to_its_stop():
    """After v / (mu g), and v^2 / (2 mu g) on its way, with all energy in friction."""
    cube = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5], velocity=[6.0, 0.0])
    system = B.RigidBodies([cube], [B.Support()], law=st.Coulomb(0.5))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 2.0))
    (stop,) = run.events["time"][run.events["kind"] == "stop"]
    assert 0.0 <= stop - 6.0 / (0.5 * G) <= 1e-3
    assert run.variables["position"].values[-1, 0, 0] == pytest.approx(18.0 / (0.5 * G), abs=1e-5)
    assert run.energy.total_friction_heat[-1] == pytest.approx(18.0, rel=1e-12)


def test_a_box_tips_or_slides():
    """A box of width w and height h may rest up to the smaller of atan(mu) and atan(w / h)."""
    for mu in (0.2, 0.5, 2.0):
        for width, height in ((1.0, 1.0), (0.3, 1.0), (1.0, 0.2)):
            box = B.RigidBody(B.Box(width, height), position=[0.0, 0.5 * height])
            system = B.RigidBodies([box], [B.Support()], law=st.Coulomb(mu))
            exact = min(math.atan(mu), math.atan(width / height))
            assert B.steepest_rest(system) == pytest.approx(exact, abs=1e-9)


def arch(n, thickness, mu, radius=1.0):
    """Return a semicircular arch of n blocks with radial joints and the weights of sectors.

    Blocks have straight edges, so that a moment puts each weight where that of the sector acts.
    """
    half, inner, outer = 0.5 * np.pi / n, radius - 0.5 * thickness, radius + 0.5 * thickness
    mass = half * (outer**2 - inner**2)
    centre = 2.0 / 3.0 * np.sin(half) / half * (outer**3 - inner**3) / (outer**2 - inner**2)
    blocks = []
    for k in range(n):
        ends = [k * np.pi / n, (k + 1) * np.pi / n]
        corners = np.array(
            [
                [r * np.cos(a), r * np.sin(a)]
                for r, a in zip([inner, outer, outer, inner], np.repeat(ends, 2), strict=True)
            ]
        )
        shape, after = B.Polygon(corners), np.roll(corners, -1, axis=0)
        cross = corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0]
        place = (cross[:, None] * (corners + after)).sum(axis=0) / (3.0 * cross.sum())
        moment = -(centre * np.cos(0.5 * sum(ends)) - place[0]) * mass * G
        blocks.append(B.RigidBody(shape, mass=mass, position=place, moment=moment))
    return B.RigidBodies(blocks, [B.Support()], law=st.Coulomb(mu))


def thinnest(n, mu, low, high):
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_balanced(arch(n, middle, mu)) else (middle, high)
    return high


@pytest.mark.parametrize(
    ("n", "exact"),
    [
        (8, 0.1008610),
        (16, 0.1072369),
        (17, 0.1055923),
        (32, 0.1072369),
        (64, 0.1073940),
        (128, 0.1074677),
    ],
)
def test_arches_of_least_thickness(n, exact):
    """Thickness over mean radius at which a semicircular arch may rest, for mu >= .4."""
    assert thinnest(n, 0.4, 0.09, 0.12) == pytest.approx(exact, abs=1e-6)
    assert thinnest(n, 1.0, 0.09, 0.12) == pytest.approx(exact, abs=1e-6)


def test_an_arch_that_slides():
    """With little friction the thickness grows, here at mu = .35."""
    assert thinnest(512, 0.35, 0.1518, 0.1520) == pytest.approx(0.15186, abs=1e-5)


def test_what_may_and_must_rest():
    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5])
    rest = B.rests(B.RigidBodies([box], [B.Support()], law=st.Coulomb(0.1)))
    assert rest.may
    assert rest.must == "yes"
    assert rest.forces.sum(axis=0) == pytest.approx([G, 0.0], abs=1e-9)
    assert rest.pairs == ("body 1 on support 1",) * 2
    # a rod between two walls may hang by friction, and may fall
    rod = B.RigidBody(B.Box(1.0, 0.1))
    walls = [
        B.Support(B.HalfPlane([1.0, 0.0]), position=[-0.5, 0.0]),
        B.Support(B.HalfPlane([-1.0, 0.0]), position=[0.5, 0.0]),
    ]
    rest = B.rests(B.RigidBodies([rod], walls, law=st.Coulomb(0.5)))
    assert rest.may
    assert rest.must == "not decided"
    # without friction it falls
    rest = B.rests(B.RigidBodies([rod], walls, law=st.Coulomb(1e-9)))
    assert not rest.may
    assert "no admissible forces" in repr(rest)


def test_a_wedge_tips_over_its_nearer_toe():
    """Gravity turned to the right tips it over the right toe, to the left over the left one."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for mirror, toe in ((1.0, 2.0), (-1.0, 1.0)):
        wedge = B.RigidBody(B.Polygon(corners * [mirror, 1.0]), position=[0.0, 1.0 / 3.0])
        system = B.RigidBodies([wedge], [B.Support()], law=st.Coulomb(5.0))
        assert B.steepest_rest(system) == pytest.approx(math.atan(toe), abs=1e-9)
        for angle, rests in ((0.99, True), (1.01, False)):
            tilt = angle * math.atan(toe)
            gravity = [G * math.sin(tilt), -G * math.cos(tilt)]
            turned = B.RigidBodies([wedge], [B.Support()], gravity=gravity, law=st.Coulomb(5.0))
            assert B.rests(turned).may is rests


def test_what_touches_nothing_may_not_rest():
    box = B.RigidBody(position=[0.0, 2.0])
    assert not B.rests(B.RigidBodies([box], [B.Support()])).may
    held = B.RigidBody(position=[0.0, 2.0], mass=2.0, force=[0.0, 2.0 * G])
    for system in (B.RigidBodies([box], gravity=[0.0, 0.0]), B.RigidBodies([held])):
        assert "must rest: the loads on each body cancel" in repr(B.rests(system))


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e12, 1e14])
def test_light_bodies_beside_heavy_ones(ratio):
    """Forces balance each body by itself, and a light one may carry a heavy one."""
    one, other = 1e-6 * ratio, 1e-6
    # masses, heights and places of boxes of side 1
    for may, *boxes in (
        (False, (one, 0.0, 0.5), (other, 5.0, 3.0)),
        (False, (one, 0.0, 0.5), (other, 1.0, 0.8)),
        (False, (one, 0.0, 0.5), (other, 0.9, 1.5)),
        (True, (one, 0.0, 0.5), (other, 0.0, 1.5)),
        (True, (other, 0.0, 0.5), (one, 0.0, 1.5)),
        (True, (other, 0.0, 0.5), (one, 0.0, 1.5), (one, 0.0, 2.5), (other, 0.0, 3.5)),
    ):
        bodies = [B.RigidBody(B.Box(1.0, 1.0), mass=m, position=[x, y]) for m, x, y in boxes]
        assert B.rests(B.RigidBodies(bodies, [B.Support()])).may is may
    # the moment of one body hides no load of another
    bodies = [
        B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5], moment=ratio, mass=ratio),
        B.RigidBody(B.Box(1.0, 1.0), position=[5.0, 3.0]),
    ]
    assert not B.rests(B.RigidBodies(bodies, [B.Support()])).may


def test_places_with_six_digits_touch():
    """On both sides of the surface, as far as the model accepts them."""
    angle = math.radians(20.0)
    along, normal = [math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]
    sides = set()
    for s in np.arange(0.0, 3.0, 0.3):
        place = np.round(s * np.array(along) + 0.5 * np.array(normal), 6)
        sides.add(place @ normal > 0.5)
        box = B.RigidBody(B.Box(1.0, 1.0), position=place, angle=angle)
        assert B.rests(B.RigidBodies([box], [B.Support(B.HalfPlane(normal))])).may
    assert sides == {True, False}
    for gap in (1e-8, 1e-5):
        box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5 + gap])
        assert B.rests(B.RigidBodies([box], [B.Support()])).may is (gap < 1e-6)


def test_a_programme_without_an_answer_proves_nothing(monkeypatch):
    import scipy.optimize

    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5])
    answer = scipy.optimize.OptimizeResult(status=4, message="numerical difficulties", x=None)
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: answer)
    for asked in (B.rests, B.steepest_rest):
        with pytest.raises(st.SolveError, match="no answer of the linear programme"):
            asked(B.RigidBodies([box], [B.Support()]))


def test_tilts_are_of_weights_alone():
    box = B.RigidBody(position=[0.0, 0.5], moment=1.0)
    with pytest.raises(st.ModelError, match="gravity alone"):
        B.steepest_rest(B.RigidBodies([box], [B.Support()]))
    # without weight no tilt moves anything
    for supports in ([], [B.Support()]):
        floating = B.RigidBodies([B.RigidBody(position=[0.0, 0.5])], supports, gravity=[0.0, 0.0])
        assert B.steepest_rest(floating) == 0.5 * math.pi


@pytest.mark.parametrize(("slenderness", "period"), [(0.1, 1.3173442006), (0.2, 1.3185043976)])
def test_a_rocking_block(slenderness, period):
    """Quarter period from half the angle, in units of 1 / p, and 1 - 1.5 sin^2 at the impact."""
    half = np.array([math.sin(slenderness), math.cos(slenderness)])
    p, angle = math.sqrt(0.75 * G), 0.5 * slenderness
    # turned about its lower left corner, which stays where it is
    c, s = math.cos(angle), math.sin(angle)
    place = [-half[0] + c * half[0] - s * half[1], s * half[0] + c * half[1]]
    block = B.RigidBody(B.Box(2.0 * half[0], 2.0 * half[1]), position=place, angle=angle)
    system = B.RigidBodies([block], [B.Support()], law=st.Coulomb(5.0))
    for h in (4e-4, 1e-4):
        run = st.solve(system, B.TimeStepper(h), (0.0, 1.2 * period / p))
        (impact,) = run.events["time"][run.events["kind"] == "impact"]
        assert abs(impact - period / p) < 2.0 * h
        spin, t = run.variables["spin"].values[:, 0], run.time
        # extrapolated to the impact from both sides, where gravity turns it evenly
        before, after = (
            np.polyval(np.polyfit(t[near] - impact, spin[near], 2), 0.0)
            for near in ((t > impact - 0.02) & (t < impact - h), (t > impact) & (t < impact + 0.02))
        )
        ratio = 1.0 - 1.5 * math.sin(slenderness) ** 2
        # reason: the impact is that of a step
        assert after / before == pytest.approx(ratio, abs=10.0 * h)
        assert run.audit.ok


def test_painleves_rod_in_time_steps():
    """What has no acceleration or several by p and b is reported, and that alone."""
    half, mu, slip = 0.5, 2.0, 3.0
    rng = np.random.default_rng(2)
    counts = {"": 0, "no_acceleration": 0, "several_accelerations": 0}
    for _ in range(24):
        a, spin = rng.uniform(0.05, 1.5), rng.normal(scale=6.0)
        arm = -half * np.array([math.cos(a), math.sin(a)])
        rod = B.RigidBody(
            B.Polygon([[half, 0.0], [0.0, 0.02], [-half, 0.0], [0.0, -0.02]]), angle=a, spin=spin,
            position=[0.0, -arm[1]], velocity=[-slip + spin * arm[1], -spin * arm[0]],
            inertia=half**2 / 3.0,
        )  # fmt: skip
        system = B.RigidBodies([rod], [B.Support()], law=st.Coulomb(mu))
        run = st.solve(system, B.TimeStepper(1e-6), (5.0, 5.0 + 2e-6))
        p = 1.0 + 3.0 * math.cos(a) * (math.cos(a) - mu * math.sin(a))
        b = half * spin**2 * math.sin(a) / G - 1.0
        expected = "" if p > 0.0 else "no_acceleration" if b < 0.0 else "several_accelerations"
        counts[expected] += 1
        found = {loss.kind: loss for loss in run.determinism.losses if loss.time == 5.0}
        assert set(found) == {expected} - {""}
        if expected == "no_acceleration":
            where = {"contact_of": "body 1 and support 1", "solutions": 0}
            assert found[expected].where == where
            assert "impulses of the step" in found[expected].choice
            # the slip of the contact stops at once
            angle = run.final["angle"][0]
            speed = run.final["velocity_x"][0] + run.final["spin"][0] * half * math.sin(angle)
            assert abs(speed) < 1e-3 * slip
    assert min(counts.values()) >= 4


def test_a_rod_that_slides_into_the_paradox_in_time_steps():
    """It starts with one acceleration; where p < 0 that is reported once."""
    half, mu, a, spin, slip = 0.5, 3.0, 0.43, 6.65, 8.0
    arm = -half * np.array([math.cos(a), math.sin(a)])
    rod = B.RigidBody(
        B.Polygon([[half, 0.0], [0.0, 0.02], [-half, 0.0], [0.0, -0.02]]), angle=a, spin=spin,
        position=[0.0, -arm[1]], velocity=[-slip + spin * arm[1], -spin * arm[0]],
        inertia=half**2 / 3.0,
    )  # fmt: skip
    system = B.RigidBodies([rod], [B.Support()], law=st.Coulomb(mu))
    run = st.solve(system, B.TimeStepper(1e-4), (0.0, 0.01), save=101)
    first = run.determinism.losses[0]
    at = np.interp(first.time, run.time, run.variables["angle"].values[:, 0])
    p = 1.0 + 3.0 * np.cos(at) * (np.cos(at) - mu * np.sin(at))
    assert first.time > 0.0
    assert -1e-2 < p < 1e-9


def test_large_groups_are_said_to_be_undecided():
    """The rod slides on one of three boxes that touch: all their contacts are one problem."""
    half, a = 0.5, 0.9
    boxes = [B.RigidBody(B.Box(0.4, 0.2), 1e3, [0.4 * k, 0.1]) for k in range(3)]
    arm = -half * np.array([math.cos(a), math.sin(a)])
    rod = B.RigidBody(
        B.Polygon([[half, 0.0], [0.0, 0.02], [-half, 0.0], [0.0, -0.02]]), angle=a,
        position=[-arm[0], 0.2 - arm[1]], velocity=[-1.0, 0.0], inertia=half**2 / 3.0,
    )  # fmt: skip
    system = B.RigidBodies([*boxes, rod], [B.Support()], law=st.Coulomb(2.0))
    run = st.solve(system, B.TimeStepper(1e-4), (0.0, 1e-3))
    assert "more than four contacts" in run.determinism.unseen
    box = B.RigidBodies([boxes[0]], [B.Support()], law=st.Coulomb(2.0))
    run = st.solve(box, B.TimeStepper(1e-4), (0.0, 1e-3))
    assert "more than four contacts" not in run.determinism.unseen
