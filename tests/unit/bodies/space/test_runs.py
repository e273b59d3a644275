"""Runs of bodies in space: what should not matter, the plane, resumption, audit, impacts."""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction.bodies.space import rotation as rot
from stiction.bodies.space.mechanics import SpatialMechanics
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario import read_scenario

B = st.bodies
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
TURNED = np.array([0.5, -0.3, 0.7, 0.4])
TURNED = TURNED / np.linalg.norm(TURNED)


def pile(scale=1.0, mass=1.0, frame=IDENTITY, order=None, shift=(0.0, 0.0, 0.0), wind=0.0):
    """Return bodies that fall on a slope, in a turned frame and other units."""
    turn = rot.matrices(frame)
    hull = np.array([[0, 0, 0], [0.4, 0, 0], [0, 0.4, 0], [0.1, 0.1, 0.4]])
    parts = [
        (B.Cuboid(0.5 * scale, 0.4 * scale, 0.3 * scale), 1.0, [0, 0, 0.4], [1, 0.1, 0.2, 0], 1.0),
        (B.Sphere(0.2 * scale), 0.7, [0.6, 0.1, 0.35], [1, 0, 0, 0], -1.0),
        (B.ConvexHull(scale * hull), 0.5, [0.1, 0.0, 1.0], [0.3, 0.2, 1, 0.5], 0.0),
    ]
    along = wind * (turn @ np.array([3.0, -1.0, 0.3]))
    bodies = [
        B.SpatialBody(
            shape, mass=mass * m, position=scale * (turn @ np.array(x)) + shift,
            orientation=rot.product(frame, np.array(q, dtype=float)),
            velocity=scale * (turn @ np.array([v, 0.5 * v, -1.0])) + along,
            spin=turn @ np.array([0.0, v, 2.0]),
        )
        for shape, m, x, q, v in parts
    ]  # fmt: skip
    bodies = bodies if order is None else [bodies[k] for k in order]
    normal = turn @ np.array([0.1, 0.0, 1.0])
    floor = B.SpatialSupport(B.HalfSpace(normal), position=np.asarray(shift), velocity=along)
    gravity = scale * (turn @ np.array([0.0, 0.0, -9.81]))
    return B.SpatialBodies(bodies, [floor], gravity=gravity, law=st.Coulomb(0.4))


def states(system, save=9):
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.16), save=save)
    assert run.audit.ok, run.audit
    return run.variables["position"].values, run.variables["velocity"].values, run


def test_units_frames_order_and_saved_samples_change_nothing():
    """The pile hits the floor and itself: velocities agree to 50 times 1e-12, in 160 steps."""
    place, speed, run = states(pile())
    assert run.quantities["impacts"].value > 2
    far = 1e-12 * 50.0 * np.abs(speed).max()
    for scale, mass, frame in ((1e-6, 1e3, IDENTITY), (1e3, 1e-3, TURNED)):
        other, moved, _ = states(pile(scale, mass, frame))
        back = rot.matrices(frame) / scale
        np.testing.assert_allclose(other @ back, place, atol=far)
        np.testing.assert_allclose(moved @ back, speed, atol=far)
    other, moved, _ = states(pile(order=[2, 0, 1], shift=(3.0, -2.0, 1.0), wind=1.0), save=33)
    wind = np.array([3.0, -1.0, 0.3])
    shift = [3.0, -2.0, 1.0] + run.time[:, None, None] * wind
    np.testing.assert_allclose(other[::4] - shift, place[:, [2, 0, 1]], atol=far)
    np.testing.assert_allclose(moved[::4] - wind, speed[:, [2, 0, 1]], atol=far)


def test_motion_in_a_plane_is_that_of_the_plane():
    """A box tumbles about an axis; a sphere has the inertia of its disc."""
    half, inertia = 0.35, 0.4 * 0.7 * 0.2**2
    flat = [
        B.RigidBody(B.Box(0.5, 0.3), 1.0, [0.0, 0.5], half, [1.0, 0.0], -3.0),
        B.RigidBody(B.Disc(0.2), 0.7, [0.9, 0.25], 0.0, [-1.0, 0.0], 5.0, inertia),
    ]
    solid = [
        B.SpatialBody(
            B.Cuboid(0.5, 0.4, 0.3), position=[0.0, 0.0, 0.5], velocity=[1.0, 0.0, 0.0],
            orientation=[np.cos(0.5 * half), 0.0, -np.sin(0.5 * half), 0.0], spin=[0.0, 3.0, 0.0],
            inertia=np.diag([1.0, flat[0].moment_of_inertia, 1.0]),
        ),
        B.SpatialBody(
            B.Sphere(0.2), 0.7, [0.9, 0.0, 0.25], velocity=[-1.0, 0.0, 0.0], spin=[0.0, -5.0, 0.0]
        ),
    ]  # fmt: skip
    law = st.Coulomb(0.4)
    plane = B.RigidBodies(flat, [B.Support()], law=law, restitution=0.4)
    space = B.SpatialBodies(solid, [B.SpatialSupport()], law=law, restitution=0.4)
    runs = [st.solve(system, B.TimeStepper(2e-3), (0.0, 0.4), save=9) for system in (plane, space)]
    for name in ("position", "velocity"):
        one, other = (run.variables[name].values for run in runs)
        np.testing.assert_allclose(other[..., [0, 2]], one, atol=1e-9)
        np.testing.assert_allclose(other[..., 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(
        runs[1].variables["spin"].values[..., 1], -runs[0].variables["spin"].values, atol=1e-8
    )
    assert runs[0].events["kind"].tolist() == runs[1].events["kind"].tolist()
    assert runs[1].quantities["impacts"].value > 3
    np.testing.assert_allclose(runs[1].energy.impact_loss, runs[0].energy.impact_loss, atol=1e-9)


def test_a_run_resumes_to_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    system, method = pile(), B.TimeStepper(1e-3)
    whole = st.solve(system, method, (0.0, 0.16), save=30)

    def stop(done, note):
        if done > 0.5:
            raise Stop

    keep = FileCheckpoint(tmp_path / "state", "pile", every=0.0)
    with pytest.raises(Stop):
        st.solve(system, method, (0.0, 0.16), save=30, progress=stop, checkpoint=keep)
    again = FileCheckpoint(tmp_path / "state", "pile", resume=True)
    resumed = st.solve(system, method, (0.0, 0.16), save=30, checkpoint=again)
    for name, variable in whole.variables.items():
        np.testing.assert_array_equal(resumed.variables[name].values, variable.values)
    assert resumed.events.equals(whole.events)
    np.testing.assert_array_equal(resumed.energy.imbalance, whole.energy.imbalance)


def test_a_saved_run_is_read_back(tmp_path):
    run = st.solve(pile(), B.TimeStepper(1e-3), (0.0, 0.02), save=3)
    run.save(tmp_path / "run")
    again = read_scenario(tmp_path / "run" / "scenario.toml").solve()
    for other in (st.load(tmp_path / "run"), again):
        assert list(other.final) == list(run.final)
        for name, values in run.final.items():
            np.testing.assert_array_equal(other.final[name], values)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_impacts_lose_energy_by_newtons_law(e):
    """Two balls, of which one hits the other in the line of centres; then a cradle of three."""
    balls = [
        B.SpatialBody(B.Sphere(0.1), position=[x, 0.0, 0.0], velocity=[v, 0.0, 0.0])
        for x, v in ((-0.4, 1.0), (0.0, 0.0), (0.2, 0.0))
    ]
    free = {"gravity": [0.0, 0.0, 0.0], "restitution": e}
    run = st.solve(B.SpatialBodies(balls[:2], **free), B.TimeStepper(1e-2), (0.0, 1.0), save=2)
    v = run.variables["velocity"].values[-1, :, 0]
    np.testing.assert_allclose(v, [0.5 * (1.0 - e), 0.5 * (1.0 + e)], atol=1e-14)
    assert run.energy.impact_loss[-1] == pytest.approx(0.25 * (1.0 - e * e), abs=1e-13)
    assert run.determinism.status == "deterministic"
    if e == 1.0:
        run = st.solve(B.SpatialBodies(balls, **free), B.TimeStepper(1e-2), (0.0, 1.0), save=2)
        v = run.variables["velocity"].values[-1, :, 0]
        np.testing.assert_allclose(v, [-1 / 3, 2 / 3, 2 / 3], rtol=1e-12)
        assert run.determinism.losses[0].kind == "simultaneous_impacts"


def test_a_prism_rolls_on_a_cuboid_as_on_a_half_space():
    """Contacts with a half space are vertices, which last; on a cuboid features change by face."""
    angle = (np.arange(6) + 0.5) * np.pi / 3.0
    circle = 0.2 / np.cos(np.pi / 6.0) * np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    prism = B.SpatialBody(
        B.ConvexHull([[x, y, z] for y in (-0.15, 0.15) for x, z in circle]),
        position=[0.0, 0.0, 0.2], velocity=[1.0, 0.0, 0.0], spin=[0.0, 5.0, 0.0],
    )  # fmt: skip
    runs = []
    for floor in (
        B.SpatialSupport(),
        B.SpatialSupport(B.Cuboid(4.0, 4.0, 1.0), position=[0, 0, -0.5]),
    ):
        system = B.SpatialBodies([prism], [floor], law=st.Coulomb(0.6), restitution=0.5)
        runs.append(st.solve(system, B.TimeStepper(2e-3), (0.0, 0.3), save=4))
    for name in ("position", "velocity"):
        one, other = (run.variables[name].values for run in runs)
        np.testing.assert_allclose(other, one, atol=1e-11)
    assert runs[0].events["kind"].tolist() == runs[1].events["kind"].tolist()
    assert runs[0].quantities["impacts"].value > 2


def test_friction_of_pairs_is_a_vector():
    """A cube that slides: mu m g against its velocity, and the energy that is lost is heat."""
    speed = np.array([0.6, 0.8, 0.0])
    cube = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), 2.0, [0.0, 0.0, 0.5], velocity=3.0 * speed)
    run = st.solve(
        B.SpatialBodies([cube], [B.SpatialSupport()], law=st.Coulomb(0.3)), B.TimeStepper(1e-3),
        (0.0, 0.05), save=3,
    )  # fmt: skip
    force = run.variables["friction_force"].values[1:, 0]
    np.testing.assert_allclose(force, [-0.3 * 2.0 * 9.81 * speed] * 2, atol=1e-12)
    np.testing.assert_allclose(run.variables["normal_force"].values[1:, 0], 2.0 * 9.81, rtol=1e-13)
    lost = run.energy.kinetic[0] - run.energy.kinetic[-1]
    assert run.energy.total_friction_heat[-1] == pytest.approx(lost, rel=1e-12)


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ({"spin": [300.0, 0.0, 0.0]}, "rotation_resolved"),
        ({"velocity": [30.0, 0.0, 0.0]}, "motion_resolved"),
        ({"velocity": [0.0, 0.0, -80.0]}, "no_overlap"),
    ],
)
@pytest.mark.fails_audit("bodies", "rotation_resolved")
@pytest.mark.fails_audit("bodies", "motion_resolved")
@pytest.mark.fails_audit("bodies", "no_overlap")
def test_checks_fail_in_a_case(body, failed):
    box = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.75], **body)
    plate = B.SpatialBody(B.Cuboid(1.0, 1.0, 0.05), position=[20.0, 0.0, 0.025])
    run = st.solve(
        B.SpatialBodies([box, plate], [B.SpatialSupport()]), B.TimeStepper(1e-3), (0.0, 0.02),
        throw=False,
    )  # fmt: skip
    assert {c.check: c.ok for c in run.audit.checks}[failed] is False


@pytest.mark.fails_audit("bodies", "contact_problems_solved")
@pytest.mark.fails_audit("bodies", "ledger_closes")
def test_unsolved_contact_problems_and_open_ledgers_fail(monkeypatch):
    """The jaws of the plane cost the solver all its methods; here the residual is given."""
    cube = B.SpatialBodies([B.SpatialBody(position=[0.0, 0.0, 0.5])], [B.SpatialSupport()])
    with monkeypatch.context() as patch:
        patch.setattr("stiction.bodies.run.residual", lambda *given: 1e-6)
        run = st.solve(cube, B.TimeStepper(1e-2), (0.0, 0.1), throw=False)
    assert run.status is st.Status.UNCONVERGED
    assert {c.check: c.ok for c in run.audit.checks}["contact_problems_solved"] is False
    monkeypatch.setattr(SpatialMechanics, "kinetic", lambda self, v: 1.1 * float((v * v).sum()))
    run = st.solve(B.SpatialBodies([B.SpatialBody()]), B.TimeStepper(1e-2), (0.0, 0.1), throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["ledger_closes"] is False


def test_momentum_of_free_bodies_is_conserved():
    """Bodies that collide with friction conserve momentum and angular momentum, in any scene."""
    rng = np.random.default_rng(7)
    bodies = [
        B.SpatialBody(
            B.Cuboid(0.5, 0.4, 0.3) if k % 2 else B.Sphere(0.25), mass=float(rng.uniform(0.5, 2.0)),
            position=0.4 * corner, velocity=rng.normal(size=3) - corner,
            spin=rng.normal(size=3), orientation=rng.normal(size=4),
        )
        for k, corner in enumerate(np.array(list(itertools.product((-1.0, 1.0), repeat=3))))
    ]  # fmt: skip
    system = B.SpatialBodies(bodies, gravity=[0.0, 0.0, 0.0], restitution=0.3)
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.3), save=31)
    assert run.quantities["impacts"].value > 3
    x, v, spin = (run.variables[name].values for name in ("position", "velocity", "spin"))
    turn = rot.matrices(run.variables["orientation"].values)
    mass = np.array([body.mass for body in bodies])[:, None]
    inertia = turn @ np.array([b.moments_of_inertia for b in bodies]) @ np.swapaxes(turn, -1, -2)
    whole = (mass * np.cross(x, v) + (inertia @ spin[..., None])[..., 0]).sum(axis=1)
    np.testing.assert_allclose(whole, [whole[0]] * 31, atol=1e-12)
    np.testing.assert_allclose((mass * v).sum(axis=1), [(mass * v[0]).sum(axis=0)] * 31, atol=1e-12)
    assert (np.diff(run.energy.kinetic) < 1e-12).all()
    assert run.energy.imbalance_rel < 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_random_scenes_close_their_ledgers(seed):
    """Bodies of all shapes fall into a bin: energy is lost in each step, and is accounted for."""
    rng = np.random.default_rng(seed)
    shapes = [
        B.Sphere(0.12),
        B.Cuboid(0.3, 0.2, 0.25),
        B.ConvexHull([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0.1, 0.1, 0.3]]),
    ]
    bodies = [
        B.SpatialBody(
            shapes[k % 3], mass=float(rng.uniform(0.5, 2.0)), orientation=rng.normal(size=4),
            position=[0.4 * (k % 2), 0.4 * (k // 2 % 2), 0.25 + 0.4 * (k // 4)],
            velocity=0.5 * rng.normal(size=3) - [0.0, 0.0, 0.5], spin=2.0 * rng.normal(size=3),
        )
        for k in range(6)
    ]  # fmt: skip
    walls = [
        B.SpatialSupport(B.HalfSpace(n), position=x, velocity=v)
        for n, x, v in (
            ([0, 0, 1], [0, 0, 0], [0.2, 0.1, 0.0]), ([1, 0, 0], [-0.3, 0, 0], [0.1, 0, 0]),
            ([-1, 0, 0], [0.7, 0, 0], [0, 0, 0]), ([0, 1, 0], [0, -0.3, 0], [0, 0, 0]),
            ([0, -1, 0], [0, 0.7, 0], [0, 0, 0]),
        )
    ]  # fmt: skip
    system = B.SpatialBodies(bodies, walls, law=st.Coulomb(0.4), restitution=0.3 * (seed % 2))
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.2), save=101)
    assert run.audit.ok, run.audit
    assert run.quantities["impacts"].value > 2
    assert run.energy.imbalance_rel < 1e-12
    loss = run.energy.impact_loss
    # reason: gaps that close, and contacts that pivot, do work of the order of the scheme
    assert (np.diff(loss) >= -1e-5 * loss[-1]).all()
    assert np.diff(run.energy.kinetic - run.energy.external_work).max() < 1e-5 * loss[-1]
    normal, friction = (run.variables[f"{name}_force"].values for name in ("normal", "friction"))
    assert (normal >= 0.0).all()
    # a pair of faces has several contacts, whose friction adds up to at most that of one
    size = np.linalg.norm(friction, axis=-1)
    assert (size <= 0.4 * normal * (1.0 + 1e-9) + 1e-9).all()
    assert size.max() > 1.0
