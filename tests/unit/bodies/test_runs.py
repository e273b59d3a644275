"""Runs of rigid bodies: what should not matter, resumption, audit, bad input, figures."""

import numpy as np
import pytest

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario import read_scenario

B = st.bodies


def pile(scale=1.0, mass=1.0, frame=0.0, order=None, shift=(0.0, 0.0)):
    """Return a small pile that falls on a slope, in a turned frame and other units."""
    c, s = np.cos(frame), np.sin(frame)
    turn = np.array([[c, -s], [s, c]])
    parts = [
        (B.Box(0.5 * scale, 0.3 * scale), 1.0, [0.0, 0.4], 0.2, [0.5, 0.0], 1.0),
        (B.Disc(0.2 * scale), 0.7, [0.6, 0.35], 0.0, [-1.0, 0.0], 0.0),
        (
            B.Polygon(scale * np.array([[0, 0], [0.4, 0], [0.2, 0.4]])),
            0.5,
            [0.1, 1.0],
            0.3,
            [0, 0],
            0.0,
        ),
    ]
    bodies = [
        B.RigidBody(
            shape, mass=mass * m, position=scale * (turn @ np.array(x)) + shift,
            angle=a + frame, velocity=scale * (turn @ np.array(v)), spin=w,
        )
        for shape, m, x, a, v, w in parts
    ]  # fmt: skip
    bodies = bodies if order is None else [bodies[k] for k in order]
    floor = B.Support(B.HalfPlane(turn @ np.array([0.1, 1.0])), position=np.asarray(shift))
    gravity = scale * (turn @ np.array([0.0, -9.81]))
    return B.RigidBodies(bodies, [floor], gravity=gravity, law=st.Coulomb(0.4))


def final(system, save=3, t=(0.0, 0.4), h=4e-4):
    run = st.solve(system, B.TimeStepper(h), t, save=save)
    assert run.audit.ok, run.audit
    assert run.stats["restitution_reduced"] == 0  # there is none
    return np.stack([run.final["x"], run.final["y"]], axis=1), run.final["angle"], run


def test_units_frames_order_start_and_saved_samples_change_nothing():
    place, angle, _ = final(pile())
    for scale, mass in ((1e-3, 1e3), (1e3, 1e-3)):
        other, turned, _ = final(pile(scale, mass))
        np.testing.assert_allclose(other, scale * place, atol=1e-9 * scale)
        np.testing.assert_allclose(turned, angle, atol=1e-9)
    frame = 0.7
    back = np.array([[np.cos(frame), np.sin(frame)], [-np.sin(frame), np.cos(frame)]])
    other, turned, _ = final(pile(frame=frame))
    np.testing.assert_allclose(other @ back.T, place, atol=1e-9)
    np.testing.assert_allclose(turned - frame, angle, atol=1e-9)
    other, turned, _ = final(pile(order=[2, 0, 1]))
    np.testing.assert_allclose(other, place[[2, 0, 1]], atol=1e-9)
    other, _, _ = final(pile(shift=(3.0, -2.0)))
    np.testing.assert_allclose(other - [3.0, -2.0], place, atol=1e-9)
    other, _, _ = final(pile(), save=77)
    np.testing.assert_array_equal(other, place)
    other, _, _ = final(pile(), t=(2.0, 2.4))
    np.testing.assert_allclose(other, place, atol=1e-9)


def heap(scale=1.0, frame=0.0):
    """Return eight bodies that fall into a bin, in a turned frame and other units."""
    rng = np.random.default_rng(3)
    c, s = np.cos(frame), np.sin(frame)
    turn = scale * np.array([[c, -s], [s, c]])
    shapes = [
        B.Disc(0.1 * scale),
        B.Box(0.3 * scale, 0.2 * scale),
        B.Polygon(scale * np.array([[0.0, 0.0], [0.3, 0.0], [0.1, 0.25]])),
    ]
    bodies = []
    for k in range(8):
        place = np.array([0.35 * (k % 3) + 0.05 * rng.uniform(), 0.25 + 0.4 * (k // 3)])
        velocity, angle, spin = 0.5 * rng.normal(size=2), rng.uniform(0.0, 6.0), rng.normal()
        bodies.append(
            B.RigidBody(
                shapes[k % 3], mass=1.0 + k, position=turn @ place, angle=frame + angle,
                velocity=turn @ velocity, spin=spin,
            )
        )  # fmt: skip
    walls = [
        B.Support(B.HalfPlane(turn @ np.array(n)), position=turn @ np.array(x))
        for n, x in (([0, 1], [0, 0]), ([1, 0], [-0.5, 0]), ([-1, 0], [1.5, 0]))
    ]
    gravity = turn @ np.array([0.0, -9.81])
    return B.RigidBodies(bodies, walls, gravity=gravity, law=st.Coulomb(0.4), restitution=0.3)


def test_events_do_not_depend_on_forces_that_are_not_unique():
    """A heap has more contact forces than motion determines: rounding selects them."""
    place = events = None
    for scale, frame in ((1.0, 0.0), (1.0, 0.3), (1e-3, 2.0)):
        run = st.solve(heap(scale, frame), B.TimeStepper(1e-3), (0.0, 0.8), save=2)
        c, s = np.cos(frame), np.sin(frame)
        back = np.array([[c, s], [-s, c]]) / scale
        found = back @ np.stack([run.final["x"], run.final["y"]])
        changes = run.events[["first", "second", "kind"]].values.tolist()
        if place is None:
            place, events = found, changes
        np.testing.assert_allclose(found, place, atol=1e-10)
        assert changes == events
    assert len(events) > 100


def test_a_run_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    system, method = pile(), B.TimeStepper(1e-3)
    whole = st.solve(system, method, (0.0, 0.6), save=30)

    def stop(done, note):
        if done > 0.5:
            raise Stop

    keep = FileCheckpoint(tmp_path / "state", "pile", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, method, (0.0, 0.6), save=30, progress=stop, checkpoint=keep)
    again = FileCheckpoint(tmp_path / "state", "pile", resume=True)
    resumed = st.solve(system, method, (0.0, 0.6), save=30, checkpoint=again)
    for name, variable in whole.variables.items():
        np.testing.assert_array_equal(resumed.variables[name].values, variable.values)
    assert resumed.events.equals(whole.events)
    np.testing.assert_array_equal(resumed.energy.imbalance, whole.energy.imbalance)


def test_a_contact_that_drifts_stays_closed():
    """A block that rocks about its corner leaves the floor by the scheme's error, in no event."""
    slenderness, angle = 0.1, 0.05
    half = np.array([np.sin(slenderness), np.cos(slenderness)])
    c, s = np.cos(angle), np.sin(angle)
    place = [-half[0] + c * half[0] - s * half[1], s * half[0] + c * half[1]]
    block = B.RigidBody(B.Box(2.0 * half[0], 2.0 * half[1]), position=place, angle=angle)
    system = B.RigidBodies([block], [B.Support()], law=st.Coulomb(5.0))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.45))
    assert run.events["kind"].tolist() == ["contact"]
    gap = run.variables["position"].values[:, 0, 1] - half[1]
    assert gap[-1] != 0.0


def test_a_contact_that_closes_its_drift_without_a_force_stays_closed():
    """Two wedges tumble on a table, without restitution: none leaves it for one step."""
    shape = B.Polygon([[0, 0], [0.3, 0], [0.1, 0.25]])
    wedges = [
        B.RigidBody(shape, position=[0.32 * k, 0.25], angle=a, velocity=[1.0 - 2.0 * k, 0], spin=w)
        for k, (a, w) in enumerate(
            ((5.680517657156548, 2.2247652638654483), (1.0757484625086455, 4.856328670002229))
        )
    ]
    table = B.Support(B.Box(4.0, 1.0), position=[0.0, -0.5])
    run = st.solve(
        B.RigidBodies(wedges, [table], law=st.Coulomb(0.3)), B.TimeStepper(1e-3), (0.0, 0.5)
    )
    assert "separation" in run.events["kind"].tolist()
    for _, pair in run.events.groupby(["first", "second"]):
        parts = pair["kind"].to_numpy() == "separation"
        assert (np.diff(pair["time"])[parts[:-1]] > 1.5e-3).all()


def test_a_body_may_turn_about_its_contact_from_the_start():
    """The lower end of a rod slides from the first step on, however fast the rod turns."""
    half, angle, spin = 0.5, 0.6, 4.0
    arm = -half * np.array([np.cos(angle), np.sin(angle)])
    body = B.RigidBody(
        B.Polygon([[half, 0.0], [0.0, 0.02], [-half, 0.0], [0.0, -0.02]]), position=[0.0, -arm[1]],
        angle=angle, spin=-spin, velocity=[spin * -arm[1], spin * arm[0]],
    )  # fmt: skip
    run = st.solve(B.RigidBodies([body], [B.Support()]), B.TimeStepper(1e-3), (0.0, 2e-3))
    assert run.events[["time", "kind"]].values.tolist()[0] == [1e-3, "contact"]


def test_a_box_trips_with_high_friction():
    """Its corners stick but for rounding, which friction multiplies in the residual."""
    rng = np.random.default_rng(4)
    a = rng.uniform(0.0, 1.5)
    box = B.RigidBody(
        B.Box(1.0, 0.6), position=[0.0, 0.5 * (np.sin(a) + 0.6 * np.cos(a)) + 0.05], angle=a,
        velocity=[rng.uniform(2.0, 8.0), -1.0], spin=rng.uniform(-3.0, 3.0),
    )  # fmt: skip
    system = B.RigidBodies([box], [B.Support()], law=st.Coulomb(100.0))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.8))
    assert run.audit.ok, run.audit


def test_states_between_steps_lie_on_a_line():
    ball = B.RigidBody(B.Disc(0.1), velocity=[1.0, 0.0])
    run = st.solve(B.RigidBodies([ball]), B.TimeStepper(0.1), (0.0, 0.2), save=[0.0, 0.025, 0.2])
    v = run.variables["velocity"].values[:, 0, 1]
    np.testing.assert_allclose(v, [0.0, -9.81 * 0.025, -9.81 * 0.2], rtol=1e-13)
    assert run.variables["position"].values[-1, 0, 1] == pytest.approx(-0.5 * 9.81 * 0.04)


@pytest.mark.parametrize(
    ("body", "step", "failed"),
    [
        ({"spin": 300.0}, 1e-3, "rotation_resolved"),
        ({"velocity": [30.0, 0.0]}, 1e-3, "motion_resolved"),
        ({"spin": 60.0}, 1e-3, "motion_resolved"),
        ({"velocity": [0.0, -80.0]}, 1e-3, "no_overlap"),
    ],
)
@pytest.mark.fails_audit("bodies", "rotation_resolved")
@pytest.mark.fails_audit("bodies", "motion_resolved")
@pytest.mark.fails_audit("bodies", "no_overlap")
def test_every_check_fails_in_a_case(body, step, failed):
    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.75], **body)
    # a thin plate far away, which a body that moves so fast could pass
    plate = B.RigidBody(B.Box(1.0, 0.05), position=[20.0, 0.025])
    run = st.solve(
        B.RigidBodies([box, plate], [B.Support()]), B.TimeStepper(step), (0.0, 0.05), throw=False
    )
    assert {c.check: c.ok for c in run.audit.checks}[failed] is False


@pytest.mark.parametrize("mass", [1e9, 1e12])
def test_a_light_box_beside_a_heavy_one(mass):
    boxes = [
        B.RigidBody(B.Box(1.0, 1.0), mass=m, position=[x, 0.5], velocity=[1.0, 0.0])
        for m, x in ((1.0, 0.0), (mass, 1.0))
    ]
    run = st.solve(B.RigidBodies(boxes, [B.Support()]), B.TimeStepper(1e-3), (0.0, 0.02))
    # both slide with a deceleration of mu g
    mu = run.system.law.mu
    expected = [1.0 - 0.02 * 9.81 * mu] * 2
    np.testing.assert_allclose(run.final["velocity_x"], expected, rtol=1e-9)


@pytest.mark.fails_audit("bodies", "contact_problems_solved")
@pytest.mark.fails_audit("bodies", "ledger_closes")
def test_unsolved_contact_problems_and_open_ledgers_fail(monkeypatch):
    import stiction.bodies.run as steps

    real = steps.solve_local

    def wrong(local, start, tol):
        found, work = real(local, start, tol)
        r = 1.01 * found.r
        return found._replace(r=r, u=local.velocities(r)), work

    monkeypatch.setattr(steps, "solve_local", wrong)
    box = B.RigidBody(B.Box(1.0, 1.0), position=[0.0, 0.5])
    run = st.solve(
        B.RigidBodies([box], [B.Support()]), B.TimeStepper(1e-2), (0.0, 0.1), throw=False
    )
    assert run.status is st.Status.UNCONVERGED
    assert run.t_end < 0.1
    assert {c.check: c.ok for c in run.audit.checks}["contact_problems_solved"] is False
    monkeypatch.setattr(steps, "solve_local", real)
    monkeypatch.setattr(steps.Mechanics, "kinetic", lambda self, v: 1.1 * float((v * v).sum()))
    run = st.solve(B.RigidBodies([box]), B.TimeStepper(1e-2), (0.0, 0.1), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["ledger_closes"] is False


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"step": 0.0}, "step"),
        ({"step": 2.0}, "no longer than the time span"),
        ({"step": 1e-3, "max_steps": 10}, "at most max_steps = 10 steps"),
    ],
)
def test_steps_that_are_refused(method, words):
    with pytest.raises(st.ModelError, match=words):
        st.solve(B.RigidBodies(), B.TimeStepper(**method), (0.0, 1.0))


def test_a_run_with_too_many_events_ends():
    ball = B.RigidBody(B.Disc(0.1), position=[0.0, 0.3])
    system = B.RigidBodies([ball], [B.Support()], restitution=0.9)
    run = st.solve(system, B.TimeStepper(1e-3, max_events=3), (0.0, 3.0), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert run.t_end < 3.0


def test_a_state_that_overflows_ends_the_run():
    ball = B.RigidBody(B.Disc(0.1), force=[1e308, 0.0], mass=1e-3)
    run = st.solve(B.RigidBodies([ball]), B.TimeStepper(0.1), (0.0, 1.0), throw=False)
    assert run.status is st.Status.NOT_FINITE


def test_supports_that_close_on_a_body_end_the_run():
    jaws = [
        B.Support(B.HalfPlane([1.0, 0.0]), position=[-0.6, 0.0], velocity=[1.0, 0.0]),
        B.Support(B.HalfPlane([-1.0, 0.0]), position=[0.6, 0.0], velocity=[-1.0, 0.0]),
    ]
    system = B.RigidBodies([B.RigidBody(B.Disc(0.5))], jaws, gravity=[0.0, 0.0])
    run = st.solve(system, B.TimeStepper(1e-2), (0.0, 1.0), throw=False)
    assert run.status is st.Status.UNCONVERGED
    # reason: the walls reach the disc within a step of 0.01 s
    assert run.t_end == pytest.approx(0.11, abs=0.02)
    assert "moving supports" in run.reason


def test_a_moving_frame_changes_nothing():
    place, angle, _ = final(pile(), t=(0.0, 0.3))
    system = pile()
    moved = [
        B.RigidBody(b.shape, b.mass, b.position, b.angle, np.add(b.velocity, [300.0, 0.0]), b.spin)
        for b in system.bodies
    ]
    floor = B.Support(B.HalfPlane([0.1, 1.0]), velocity=[300.0, 0.0])
    other, turned, _ = final(B.RigidBodies(moved, [floor], law=st.Coulomb(0.4)), t=(0.0, 0.3))
    np.testing.assert_allclose(other - [90.0, 0.0], place, atol=1e-9)
    np.testing.assert_allclose(turned, angle, atol=1e-9)


@pytest.mark.parametrize("h", [2e-3, 5e-4])
def test_contacts_that_roll_and_pivot_stay_closed(h):
    """A disc rolls off a disc at cos = 4/7 cos of the start; a ladder slides off its wall."""
    disc = B.RigidBody(B.Disc(0.1), position=[1.1 * np.sin(0.2), 1.1 * np.cos(0.2)])
    system = B.RigidBodies([disc], [B.Support(B.Disc(1.0))], law=st.Coulomb(50.0))
    run = st.solve(system, B.TimeStepper(h), (0.0, 1.0))
    kinds = run.events["kind"].tolist()
    assert kinds.count("separation") == 1
    assert "impact" not in kinds
    (at,) = run.events["time"][run.events["kind"] == "separation"]
    x, y = (np.interp(at, run.time, run.variables["position"].values[:, 0, i]) for i in (0, 1))
    # reason: the event is one of a step, and the last contact is weak
    assert np.arctan2(x, y) == pytest.approx(np.arccos(4.0 / 7.0 * np.cos(0.2)), abs=2e-2)
    assert run.energy.impact_loss[-1] == 0.0
    assert (np.diff(run.energy.total_friction_heat) >= -1e-9).all()


def test_moments_of_two_bodies_balance():
    """Free bodies with friction keep their angular momentum."""
    rng = np.random.default_rng(7)
    bodies = [
        B.RigidBody(
            B.Box(0.5, 0.3) if k % 2 else B.Disc(0.2), mass=float(rng.uniform(0.5, 2.0)),
            position=[0.8 * (k % 3), 0.8 * (k // 3)], velocity=rng.normal(size=2), spin=2.0,
        )
        for k in range(9)
    ]  # fmt: skip
    system = B.RigidBodies(bodies, gravity=[0.0, 0.0], law=st.Coulomb(0.5))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 1.0), save=11)
    assert run.quantities["impacts"].value >= 3
    m = np.array([b.mass for b in bodies])
    inertia = np.array([b.moment_of_inertia for b in bodies])
    x, v = run.variables["position"].values, run.variables["velocity"].values
    total = (m * (x[..., 0] * v[..., 1] - x[..., 1] * v[..., 0])).sum(axis=1)
    total += (inertia * run.variables["spin"].values).sum(axis=1)
    # contacts are those of the middle of a step, where the moment of momentum changes
    np.testing.assert_allclose(total, total[0], atol=1e-10)


def test_polygons_are_read_from_files(tmp_path):
    triangle = B.RigidBody(B.Polygon([[0, 0], [1, 0], [0.5, 0.8]]), position=[0.0, 1.0])
    run = st.solve(B.RigidBodies([triangle], [B.Support()]), B.TimeStepper(1e-2), (0.0, 0.2))
    run.save(tmp_path / "run")
    again = read_scenario(tmp_path / "run" / "scenario.toml").solve()
    np.testing.assert_array_equal(again.final["y"], run.final["y"])


@pytest.mark.parametrize("name", ["cube-slides", "newtons-cradle"])
def test_scenarios_run(name, tmp_path):
    scenario = read_scenario(name)
    run = scenario.solve()
    assert run.audit.ok
    run.save(tmp_path / "run")
    again = st.load(tmp_path / "run")
    np.testing.assert_array_equal(again.final["x"], run.final["x"])
    assert again.quantities["impacts"].value == run.quantities["impacts"].value
    figure = again.plot.scene()
    assert figure is not None


@pytest.mark.parametrize(("name", "low"), [("arch", 0.39), ("card-house", 0.27)])
def test_scenarios_stand_by_friction(name, low):
    run = read_scenario(name).solve()
    assert run.audit.ok
    assert not np.ptp(run.variables["position"].values, axis=0).any()
    assert not B.rests(read_scenario(name, [f"system.law.mu={low}"]).system).may
