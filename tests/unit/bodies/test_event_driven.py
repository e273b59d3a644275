"""Event-driven rigid bodies: kinematics, steps, impacts, invariance, resumption, stops."""

import numpy as np
import pytest

import stiction as st
from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.event_driven.events import STOPS, _conditions
from stiction.bodies.event_driven.impacts import impact
from stiction.bodies.event_driven.modes import (
    Answer,
    admissible,
    admissible_on_line,
    find_modes,
    losses_of,
)
from stiction.bodies.event_driven.motion import Phase, step_of
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.record import FORWARD, STICK
from stiction.io.checkpoint_file import FileCheckpoint

B = st.bodies
EVENTS = B.EventDriven()


def closed_contacts(system, within=1e-6):
    """Return the mechanics, places, and the contacts that touch at the start."""
    m = Mechanics(system)
    q, _ = system.start()
    pose = m.pose(0.0, q)
    found = m.surfaces.contacts(pose, within)
    closed = kin.Closed.table(len(found))
    for k, contact in enumerate(found):
        closed[k] = kin.closed_contact(m.surfaces, contact, pose)
    return m, q, closed, found


def touching_pairs():
    """Return pairs of shapes of all kinds that touch."""
    box, disc = B.Box(1.0, 1.0), B.Disc(0.3)
    beside = [0.7 + 0.3 * np.cos(0.5), 0.3 * np.sin(0.5)]
    return {
        "disc on plane": ([(disc, [0.0, 0.3], 0.0)], True),
        "corner on plane": ([(box, [0.0, np.sqrt(0.5)], np.pi / 4)], True),
        "discs": ([(disc, [0.0, 0.3], 0.0), (B.Disc(0.2), [0.5, 0.3], 0.0)], False),
        "disc on edge": ([(disc, [0.0, 0.3], 0.0), (box, [0.2, -0.5], 0.0)], False),
        "edge under disc": ([(box, [0.2, -0.5], 0.0), (disc, [0.0, 0.3], 0.0)], False),
        "disc at corner": ([(disc, beside, 0.0), (box, [0.2, -0.5], 0.0)], False),
        "corner at disc": ([(box, [0.2, -0.5], 0.0), (disc, beside, 0.0)], False),
        "boxes": ([(box, [0.2, -0.5], 0.0), (B.Box(2.0, 1.0), [0.5, 0.5], 0.0)], False),
        "corner on edge": (
            [(box, [0.2, np.sqrt(0.5)], np.pi / 4), (box, [0.0, -0.5], 0.0)],
            False,
        ),
        "edge under corner": (
            [(box, [0.0, -0.5], 0.0), (box, [0.2, np.sqrt(0.5)], np.pi / 4)],
            False,
        ),
    }


@pytest.mark.parametrize("name", touching_pairs())
def test_derivatives_of_contact_velocities(name):
    """Gaps and velocities of contacts have the derivatives that J and the bias give."""
    parts, floor = touching_pairs()[name]
    bodies = [B.RigidBody(shape, position=x, angle=a) for shape, x, a in parts]
    supports = [B.Support(velocity=[0.3, 0.2])] if floor else []
    m, q, closed, found = closed_contacts(B.RigidBodies(bodies, supports))
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=(2, *q.shape))

    def at(t):
        pose = m.pose(t, q + t * v + 0.5 * t * t * a)
        return pose, kin.kinematics(closed, pose, m.velocity(v + t * a))

    pose, k = at(0.0)
    np.testing.assert_allclose(k.gap, found["gap"], atol=1e-15)
    np.testing.assert_allclose(k.normal, found["normal"], atol=1e-15)
    np.testing.assert_allclose(k.arm_first, found["arm_first"], atol=1e-15)
    h = 1e-4
    # a central difference of fourth order
    (_, p2), (_, p1), (_, m1), (_, m2) = (at(s * h) for s in (2.0, 1.0, -1.0, -2.0))
    slope = (8.0 * (p1.gap - m1.gap) - (p2.gap - m2.gap)) / (12.0 * h)
    np.testing.assert_allclose(slope, k.u[:, 0], atol=1e-9)
    slope = (8.0 * (p1.u - m1.u) - (p2.u - m2.u)) / (12.0 * h)
    rows = kin.rows(closed, k, m.n)
    expected = rows @ a.ravel() + k.bias.ravel()
    # reason: a corner in a disc of 0.3 m has derivatives of some thousands
    np.testing.assert_allclose(slope.ravel(), expected, atol=1e-8)
    assert (kin.limits(closed, k, pose) > 0.0).all()


def test_steps_are_of_high_order():
    """A block on its corner: nine points give an error of order nine, from both sides."""
    block = B.RigidBody(B.Box(0.4, 1.0), position=[0.0, np.hypot(0.2, 0.5)], angle=np.arctan(0.4))
    system = B.RigidBodies([block], [B.Support()], law=st.Coulomb(5.0))
    m, q, closed, _ = closed_contacts(system)
    closed["mode"] = STICK
    corner = q[0, :2] - [0.0, np.hypot(0.2, 0.5)]
    arm = q[0, :2] - corner
    v = np.array([[-1.5 * arm[1], 1.5 * arm[0], 1.5]])
    phase = Phase(m, closed, 0.0, q, v)
    fine, count = [q, v], 32
    for _ in range(count):
        step = step_of(phase, 0.0, *fine, 0.4 / count)
        fine = [part[0] for part in step.at(np.ones(1))[1:]]
    errors = []
    for count in (1, 2):
        now = [q, v]
        for _ in range(count):
            step = step_of(phase, 0.0, *now, 0.4 / count)
            now = [part[0] for part in step.at(np.ones(1))[1:]]
        errors.append(np.abs(now[0] - fine[0]).max())
    assert 2.0**8 < errors[0] / errors[1] < 2.0**10
    # the tail of a step bounds its error
    assert step_of(phase, 0.0, q, v, 0.4).error > errors[0]


def test_slip_has_one_scale_in_any_order():
    """The body that becomes fastest in a step sets the scale of slip of all contacts."""
    slow = B.RigidBody(B.Box(0.4, 1.0), position=[0.0, 0.5], velocity=[0.1, 0.0])
    fast = B.RigidBody(B.Box(0.4, 1.0), position=[3.0, 0.5], velocity=[0.1, 0.0], force=[90.0, 0.0])
    for bodies in ([slow, fast], [fast, slow]):
        system = B.RigidBodies(bodies, [B.Support()], law=st.Coulomb(0.1))
        m, q, closed, _ = closed_contacts(system)
        closed["mode"] = FORWARD
        step = step_of(Phase(m, closed, 0.0, q, system.start()[1]), 0.0, *system.start(), 0.01)
        _, labels, sizes = _conditions(step, np.array([0.0, 1.0]))
        scales = {size for (kind, _, _), size in zip(labels, sizes, strict=True) if kind == STOPS}
        assert len(scales) == 1
        assert scales.pop() > 0.5


def test_forces_of_redundant_contacts():
    """A box on a slope: both corners stick, and friction is divided as the normal forces are."""
    r = np.array([[6.0, 2.0], [2.0, 2.0]])
    free = np.array([[0.0], [1.0], [0.0], [-1.0]])
    margin, forces = admissible(r, free, np.full(2, 0.6), np.array([STICK, STICK]))
    # with t and 4 - t at both corners the smaller of 3.6 - t and 1.2 - 4 + t is largest at 3.2
    assert margin == pytest.approx(0.4, abs=1e-9)
    np.testing.assert_allclose(forces, [[6.0, 3.2], [2.0, 0.8]], atol=1e-8)
    assert admissible(r, free, np.full(2, 0.4), np.array([STICK, STICK]))[0] < 0.0
    rng = np.random.default_rng(4)
    r = r + rng.normal(size=(6, 2, 2))
    line = admissible_on_line(r, free, np.array([0.6, 0.3]), np.array([STICK, STICK]))
    assert line is not None
    for one, *found in zip(r, *line, strict=True):
        exact = admissible(one, free, np.array([0.6, 0.3]), np.array([STICK, STICK]))
        assert found[0] == pytest.approx(exact[0], abs=1e-9)
        np.testing.assert_allclose(found[1], exact[1], atol=1e-8)


@pytest.mark.parametrize(("e", "law"), [(0.0, "newton"), (0.7, "newton"), (0.7, "poisson")])
def test_impulses_of_both_methods_agree(e, law):
    """The velocities after one short step of TimeStepper are those after the impact."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        box = B.RigidBody(B.Box(1.0, 0.6), position=[0.0, 0.3], velocity=[*rng.normal(size=2)],
                          spin=float(rng.normal()))  # fmt: skip
        disc = B.RigidBody(B.Disc(0.3), position=[0.1, 0.9], velocity=[0.3, -2.0], spin=1.0)
        system = B.RigidBodies(
            [box, disc], [B.Support()], gravity=[0.0, 0.0], law=st.Coulomb(0.4), restitution=e,
            impact_law=law,
        )  # fmt: skip
        m, q, closed, _ = closed_contacts(system)
        v = system.start()[1]
        contacts = kin.as_contacts(closed, kin.kinematics(closed, m.pose(0.0, q), m.velocity(v)))
        found, after = impact(m, contacts, v, np.ones(len(contacts), dtype=bool))
        assert found.error < 1e-12
        run = st.solve(system, B.TimeStepper(1e-12), (0.0, 1e-12), save=2, throw=False)
        final = np.stack([run.final[n] for n in ("velocity_x", "velocity_y", "spin")], axis=1)
        np.testing.assert_allclose(after, final, atol=1e-9)


def scene(scale=1.0, mass=1.0, frame=0.0, order=(0, 1, 2), shift=(0.0, 0.0)):
    """Return bodies that fall on a slope and slide, in a turned frame and other units."""
    c, s = np.cos(frame), np.sin(frame)
    turn = np.array([[c, -s], [s, c]])
    parts = [
        (B.Box(0.5 * scale, 0.3 * scale), 1.0, [0.0, 0.4], 0.2, [0.5, 0.0], 1.0),
        (B.Disc(0.2 * scale), 0.7, [0.6, 0.35], 0.0, [-1.0, 0.0], 0.0),
        (B.Polygon(scale * np.array([[0, 0], [0.4, 0], [0.2, 0.4]])), 0.5, [0.1, 1.0], 0.3,
         [0.0, 0.0], 0.0),
    ]  # fmt: skip
    bodies = [
        B.RigidBody(
            shape, mass=mass * m, position=scale * (turn @ np.array(x) + shift),
            angle=a + frame, velocity=scale * (turn @ np.array(v)), spin=w,
        )
        for shape, m, x, a, v, w in (parts[k] for k in order)
    ]  # fmt: skip
    floor = B.Support(B.HalfPlane(turn @ np.array([0.1, 1.0])), position=scale * np.array(shift))
    gravity = scale * (turn @ np.array([0.0, -9.81]))
    return B.RigidBodies(bodies, [floor], gravity=gravity, law=st.Coulomb(0.4), restitution=0.3)


def final(system, save=3, t=(0.0, 0.4)):
    run = st.solve(system, EVENTS, t, save=save)
    assert run.audit.ok, run.audit
    assert run.energy.imbalance_rel < 1e-12
    place = np.stack([run.final["x"], run.final["y"]], axis=1)
    return place, run.events["time"].to_numpy() - t[0], run


def test_units_frames_order_start_and_saved_samples_change_nothing():
    place, times, _ = final(scene())
    assert len(times) >= 8
    for scale, mass in ((1e-6, 1e3), (1e3, 1e-6)):
        other, at, _ = final(scene(scale, mass))
        np.testing.assert_allclose(other, scale * place, atol=1e-9 * scale)
        np.testing.assert_allclose(at, times, atol=1e-9)
    frame = 0.7
    back = np.array([[np.cos(frame), np.sin(frame)], [-np.sin(frame), np.cos(frame)]])
    other, at, _ = final(scene(frame=frame))
    np.testing.assert_allclose(other @ back.T, place, atol=1e-9)
    np.testing.assert_allclose(at, times, atol=1e-9)
    other, at, _ = final(scene(order=(2, 0, 1)))
    np.testing.assert_allclose(other, place[[2, 0, 1]], atol=1e-9)
    other, at, _ = final(scene(shift=(3.0, -2.0)))
    np.testing.assert_allclose(other - [3.0, -2.0], place, atol=1e-9)
    other, at, _ = final(scene(), save=77)
    np.testing.assert_array_equal(other, place)
    other, at, _ = final(scene(), t=(2.0, 2.4))
    np.testing.assert_allclose(other, place, atol=1e-9)
    np.testing.assert_allclose(at, times, atol=1e-9)


def test_a_run_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    system = scene()
    whole = st.solve(system, EVENTS, (0.0, 0.5), save=30)

    def stop(done, note):
        if done > 0.6:
            raise Stop

    saved = FileCheckpoint(tmp_path / "state", "scene", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, EVENTS, (0.0, 0.5), save=30, progress=stop, checkpoint=saved)
    again = FileCheckpoint(tmp_path / "state", "scene", resume=True)
    resumed = st.solve(system, EVENTS, (0.0, 0.5), save=30, checkpoint=again)
    for name, variable in whole.variables.items():
        np.testing.assert_array_equal(resumed.variables[name].values, variable.values)
    assert resumed.events.equals(whole.events)
    np.testing.assert_array_equal(resumed.energy.imbalance, whole.energy.imbalance)


def test_both_methods_agree():
    """TimeStepper converges to the event-driven run, with the first order of its step."""
    system = scene()
    place, _, _ = final(system, t=(0.0, 0.3))
    errors = []
    for h in (1e-3, 1e-4):
        run = st.solve(system, B.TimeStepper(h), (0.0, 0.3), save=2)
        other = np.stack([run.final["x"], run.final["y"]], axis=1)
        errors.append(np.abs(other - place).max())
    # reason: errors of first order vary with the place of impacts within a step
    assert errors[1] < 0.3 * errors[0]
    assert errors[0] < 1e-2


def test_a_disc_rolls_off_a_disc():
    """It leaves at cos = 4/7 cos of the start when it rolls all the way, with I = m r^2 / 2."""
    start = 0.2
    disc = B.RigidBody(B.Disc(0.1), position=[1.1 * np.sin(start), 1.1 * np.cos(start)])
    system = B.RigidBodies([disc], [B.Support(B.Disc(1.0))], law=st.Coulomb(50.0))
    run = st.solve(system, EVENTS, (0.0, 1.0), save=2001)
    (at,) = run.events["time"][run.events["kind"] == "separation"]
    near = run.time <= at
    place = run.variables["position"].values[near, 0]
    assert np.ptp(np.hypot(*place.T)) < 1e-14
    cut = st.solve(system, EVENTS, (0.0, float(at)), save=2)
    angle = np.arctan2(cut.final["x"][0], cut.final["y"][0])
    # with mu = 50 it slips when the normal force is a fiftieth of the friction
    assert np.cos(angle) == pytest.approx(4.0 / 7.0 * np.cos(start), abs=1e-3)
    assert run.energy.imbalance_rel < 1e-12


def test_a_box_slides_off_a_table():
    """Its corner passes the end of the edge; then the table's corner carries it until it tips."""
    table = B.Support(B.Box(2.0, 0.2), position=[0.0, -0.1])
    box = B.RigidBody(B.Box(1.0, 0.2), position=[0.2, 0.1], velocity=[2.5, 0.0])
    run = st.solve(B.RigidBodies([box], [table], law=st.Coulomb(0.1)), EVENTS, (0.0, 0.8))
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-12
    spin, x = run.variables["spin"].values[:, 0], run.variables["position"].values[:, 0, 0]
    # friction moves the normal force ahead by mu times half the height: it tips at x = 0.99
    assert np.abs(spin[x < 0.989]).max() < 1e-12
    assert spin[-1] < -0.1
    exact = (2.5 - np.sqrt(2.5**2 - 2.0 * 0.1 * 9.81 * 0.79)) / (0.1 * 9.81)
    first = float(run.time[np.argmax(spin < -1e-9)])
    # reason: states are saved every 0.8 ms
    assert first == pytest.approx(exact, abs=1e-3)


def test_a_disc_rolls_along_an_edge_and_around_its_end():
    table = B.Support(B.Box(2.0, 0.2), position=[0.0, -0.1])
    disc = B.RigidBody(B.Disc(0.3), position=[0.8, 0.3], velocity=[0.3, 0.0], spin=-1.0)
    run = st.solve(B.RigidBodies([disc], [table], law=st.Coulomb(0.8)), EVENTS, (0.0, 1.2))
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-12
    x, y = run.variables["position"].values[:, 0].T
    around = (x > 1.0) & (y > 0.2)
    assert around.sum() > 20
    np.testing.assert_allclose(np.hypot(x[around] - 1.0, y[around]), 0.3, atol=1e-12)


@pytest.mark.fails_audit("bodies", "closed_gaps_constant")
def test_drift_of_closed_gaps_fails():
    disc = B.RigidBody(B.Disc(0.1), position=[1.1 * np.sin(0.2), 1.1 * np.cos(0.2)])
    system = B.RigidBodies([disc], [B.Support(B.Disc(1.0))], law=st.Coulomb(50.0))
    run = st.solve(system, B.EventDriven(rtol=1e-2), (0.0, 0.5), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["closed_gaps_constant"] is False


def test_bounds_on_the_work_end_a_run():
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.3])
    system = B.RigidBodies([ball], [B.Support()], restitution=0.9)
    for method in (B.EventDriven(max_events=3), B.EventDriven(max_steps=3)):
        run = st.solve(system, method, (0.0, 3.0), throw=False)
        assert run.status is st.Status.WORK_LIMIT
        assert run.t_end < 3.0


def test_supports_that_close_on_a_body_end_the_run():
    jaws = [
        B.Support(B.HalfPlane([1.0, 0.0]), position=[-0.6, 0.0], velocity=[1.0, 0.0]),
        B.Support(B.HalfPlane([-1.0, 0.0]), position=[0.6, 0.0], velocity=[-1.0, 0.0]),
    ]
    system = B.RigidBodies([B.RigidBody(B.Disc(0.5))], jaws, gravity=[0.0, 0.0])
    run = st.solve(system, EVENTS, (0.0, 1.0), throw=False)
    assert not run.status.ok


def test_there_are_no_policies():
    with pytest.raises(st.ModelError, match=r"EventDriven\.policy.*needs None"):
        B.EventDriven(policy=st.chains.SlipAtGrazing())


def test_a_pile_that_rests_stays():
    """Stacked boxes with equal edges: their contacts are redundant, and nothing moves."""
    boxes = [B.RigidBody(B.Box(0.5, 0.3), position=[0.0, 0.15 + 0.3 * k]) for k in range(3)]
    run = st.solve(B.RigidBodies(boxes, [B.Support()]), EVENTS, (0.0, 1000.0), save=3)
    assert not np.ptp(run.variables["position"].values, axis=0).any()
    weights = 9.81 * np.array([3.0, 2.0, 1.0])
    force = run.variables["normal_force"].values[-1]
    np.testing.assert_allclose(np.sort(force)[::-1], weights, rtol=1e-9)


def pile(rows, mu):
    """Return discs that touch, in rows of one disc less than the row below."""
    r = 0.1
    count = [(i, j) for j in range(rows) for i in range(rows - j)]
    places = [[2.0 * r * (i + 0.5 * j), r + j * r * 3.0**0.5] for i, j in count]
    bodies = [B.RigidBody(B.Disc(r), position=place) for place in places]
    return B.RigidBodies(bodies, [B.Support()], law=st.Coulomb(mu))


@pytest.mark.parametrize("masses", [[1.0, 1.0, 1.0], [1.0, 100.0, 100.0], [1.0, 100.0, 100.0, 1.0]])
def test_bodies_that_rest_without_friction(masses):
    """Accelerations of bodies on each other without forces are equal: they do not slip."""
    boxes = [
        B.RigidBody(B.Box(0.2, 0.2), mass=mass, position=[0.0, 0.1 + 0.2 * k])
        for k, mass in enumerate(masses)
    ]
    system = B.RigidBodies(boxes, [B.Support()], law=st.Coulomb(0.0))
    run = st.solve(system, EVENTS, (0.0, 0.1), save=2)
    assert run.quantities["bodies_at_rest"].value == len(masses)
    assert run.determinism.losses == ()


def test_the_rounding_of_piles_that_rest_is_no_imbalance():
    run = st.solve(pile(2, 0.3), EVENTS, (0.0, 0.01), save=2)
    assert run.audit.ok
    # the ledger has nothing but rounding
    assert 0.0 < run.energy.scale < 1e-25


def test_a_pile_without_friction_parts():
    """Forces of both discs on the upper one vanish together; no paradox is reported."""
    run = st.solve(pile(2, 0.0), EVENTS, (0.0, 0.25), save=2)
    x = run.final["x"]
    assert x[1] - x[0] > 0.21
    assert x[0] + x[1] == pytest.approx(0.2, abs=1e-12)
    run = st.solve(pile(3, 0.0), EVENTS, (0.0, 1e-6), save=2, throw=False)
    assert "painleve_boundary" not in [loss.kind for loss in run.determinism.losses]


def test_the_last_step_of_a_run_is_within_its_bound():
    disc = B.RigidBodies([B.RigidBody(B.Disc(0.1))])
    method = B.EventDriven(max_step=0.25, max_steps=4)
    assert st.solve(disc, method, (0.0, 1.0), save=2).stats["steps"] == 4


def test_a_series_of_impacts_that_outlasts_the_run_has_no_end_in_it():
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.6])
    system = B.RigidBodies([ball], [B.Support()], restitution=0.5)
    end = 3.0 * np.sqrt(1.0 / 9.81)
    run = st.solve(system, EVENTS, (0.0, end - 3e-7), save=2)
    assert run.events["time"].max() <= run.time[-1]
    assert "accumulation" not in set(run.events["kind"])


@pytest.mark.parametrize(("far", "e"), [(20.0, 0.5), (20.0, 0.8), (200.0, 0.5), (200.0, 0.8)])
def test_a_support_far_away_makes_hops_end_early(far, e):
    """The last hops are above the rounding of gaps there."""
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.2])
    supports = [B.Support(), B.Support(B.Disc(0.1), position=[far, 0.1])]
    system = B.RigidBodies([ball], supports, restitution=e)
    run = st.solve(system, B.EventDriven(max_events=200), (0.0, 1.5), save=2)
    exact = np.sqrt(0.2 / 9.81) * (1.0 + e) / (1.0 - e)
    (end,) = run.events["time"][run.events["kind"] == "accumulation"]
    rounding = Mechanics(system).rounding(system.start()[0])
    assert abs(end - exact) < rounding / np.sqrt(2.0 * 9.81 * 16.0 * rounding)


def test_accelerations_that_are_not_found():
    """Nine slipping contacts, one in the paradox: a solver that fails proves no paradox."""
    one = np.array([[1.0, 0.9], [0.9, 1.0]])
    w, b = np.kron(np.eye(9), one), np.tile([-1.0, 0.0], 9)
    mu = np.where(np.arange(9) == 0, 2.0, 0.1)
    found = find_modes(w, b, 1.0, np.ones(9, dtype=np.int64), mu)
    assert found.answer is Answer.NOT_FOUND
    assert losses_of(found) == []
    alone = find_modes(w[:2, :2], b[:2], 1.0, np.ones(1, dtype=np.int64), mu[:1])
    assert alone.answer is Answer.NONE
