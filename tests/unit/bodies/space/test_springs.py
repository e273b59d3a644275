"""Springs, pairs and Poisson's law in space: the plane, equations of motion, frames, refusals."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.bodies.space import rotation as rot
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.io.scenario import read_scenario

B = st.bodies
SPRINGS = ((1, 2, 50.0, 1.0), (1, 3, 30.0, 0.5), (2, 3, 20.0, 0.0))


def in_space(pair):
    return (pair[0], 0.0, pair[1])


def scenes(seed, impact_law):
    """Return two boxes on springs above a moving slope, in the plane and in space."""
    rng = np.random.default_rng(seed)
    sizes, place = rng.uniform(0.2, 0.5, (2, 2)), np.array([[0.0, 0.6], [0.7, 0.7]])
    place = place + 0.05 * rng.normal(size=(2, 2))
    angle, speed, spin = rng.uniform(-0.6, 0.6, 2), rng.normal(size=(2, 2)), rng.normal(size=2)
    at = 0.1 * rng.normal(size=(3, 2, 2))
    ends = [(i, j, at[k], s, c) for k, (i, j, s, c) in enumerate(SPRINGS)]
    given = {
        "law": st.Coulomb(0.4),
        "restitution": 0.5,
        "impact_law": impact_law,
        "pairs": [B.ContactPair(1, 3, st.Coulomb(0.2), 0.3), B.ContactPair(1, 2, contact=False)],
    }
    plane = B.RigidBodies(
        [
            B.RigidBody(
                B.Box(*sizes[k]), 1.0 + k, place[k], angle[k], speed[k], spin[k],
                inertia=(1.0 + k) * (sizes[k] ** 2).sum() / 12.0,
            )
            for k in range(2)
        ],
        [B.Support(B.HalfPlane((0.1, 1.0)), velocity=(1.0, -0.1))],
        springs=[B.Spring(i, j, p[0], p[1], s, c) for i, j, p, s, c in ends],
        **given,
    )  # fmt: skip
    space = B.SpatialBodies(
        [
            B.SpatialBody(
                B.Cuboid(sizes[k, 0], 0.4, sizes[k, 1]), 1.0 + k, in_space(place[k]),
                [np.cos(angle[k] / 2.0), 0.0, -np.sin(angle[k] / 2.0), 0.0],
                in_space(speed[k]), (0.0, -spin[k], 0.0),
            )
            for k in range(2)
        ],
        [B.SpatialSupport(B.HalfSpace((0.1, 0.0, 1.0)), velocity=(1.0, 0.0, -0.1))],
        springs=[
            B.SpatialSpring(i, j, in_space(p[0]), in_space(p[1]), s, c) for i, j, p, s, c in ends
        ],
        **given,
    )  # fmt: skip
    return plane, space


@pytest.mark.parametrize(("seed", "impact_law"), [(0, "newton"), (2, "poisson"), (3, "poisson")])
def test_motion_in_a_plane(seed, impact_law):
    """Springs with dampers, pairs, impacts: places, forces of springs and events of the plane."""
    plane, space = (
        st.solve(system, B.TimeStepper(1e-3), (-2.0, -1.5), save=11)
        for system in scenes(seed, impact_law)
    )
    values = space.variables
    np.testing.assert_allclose(
        values["position"].values[..., [0, 2]], plane.variables["position"].values, atol=1e-11
    )
    tension = plane.variables["spring_force"].values
    np.testing.assert_allclose(values["spring_force"].values, tension, atol=1e-8)
    ends = plane.variables["spring_ends"].values
    np.testing.assert_allclose(values["spring_ends"].values[..., [0, 2]], ends, atol=1e-10)
    assert list(space.events["kind"]).count("impact") == list(plane.events["kind"]).count("impact")
    assert space.energy.imbalance_rel < 1e-13
    assert values["pair"].values.tolist() == plane.variables["pair"].values.tolist()


# ---- two bodies that tumble on springs between them and a moving support

MASS = (1.3, 0.7)
START = np.array([[0.0, 0.0, 0.0], [3.0, 0.5, -0.3], [-3.0, 1.0, 1.0]])
DRIFT = np.array([0.1, -0.2, 0.0])


def tumbling(damping, frame=(1.0, 0.0, 0.0, 0.0), scale=1.0):
    """Return the system, and the inertia matrices, quaternions and velocities of its bodies."""
    rng = np.random.default_rng(3)
    turn = rot.matrices(np.array(frame))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inertia = [np.diag([0.3, 0.4, 0.5]), axes @ np.diag([0.2, 0.25, 0.3]) @ axes.T]
    quaternions = rng.normal(size=(3, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    speed, spin, ends = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(3, 2, 3))
    turned = [rot.product(np.array(frame), q) for q in quaternions]
    bodies = [
        B.SpatialBody(
            B.Sphere(0.1 * scale), MASS[k], scale * turn @ START[k], turned[k],
            scale * turn @ speed[k], turn @ spin[k], inertia=scale**2 * inertia[k],
        )
        for k in range(2)
    ]  # fmt: skip
    wall = B.SpatialSupport(
        B.Sphere(0.1 * scale), scale * turn @ START[2], turned[2], scale * turn @ DRIFT
    )
    springs = [
        B.SpatialSpring(
            i, j, 0.3 * scale * ends[k, 0], 0.3 * scale * ends[k, 1], 25.0, damping, 2.0 * scale
        )
        for k, (i, j) in enumerate(((1, 2), (2, 3), (1, 3)))
    ]
    system = B.SpatialBodies(bodies, [wall], gravity=(0.0, 0.0, 0.0), springs=springs)
    return system, (inertia, quaternions, speed, spin, 0.3 * ends, damping)


def rates(t, y, given):
    """Return the rates of places, quaternions, velocities and spins, by Newton and Euler."""
    inertia, quaternions, _, _, ends, damping = given
    y = y.reshape(2, 13)
    place = [y[0, :3], y[1, :3], START[2] + t * DRIFT]
    turns = [
        Rotation.from_quat(q, scalar_first=True).as_matrix()
        for q in (y[0, 3:7], y[1, 3:7], quaternions[2])
    ]
    speed, spin = [y[0, 7:10], y[1, 7:10], DRIFT], [y[0, 10:], y[1, 10:], np.zeros(3)]
    force, moment, out = np.zeros((3, 3)), np.zeros((3, 3)), np.empty_like(y)
    for k, (i, j) in enumerate(((0, 1), (1, 2), (0, 2))):
        a, b = turns[i] @ ends[k, 0], turns[j] @ ends[k, 1]
        apart = place[j] + b - place[i] - a
        length = np.linalg.norm(apart)
        along = apart / length
        rate = (speed[j] + np.cross(spin[j], b) - speed[i] - np.cross(spin[i], a)) @ along
        pull = (25.0 * (length - 2.0) + damping * rate) * along
        force[i] += pull
        moment[i] += np.cross(a, pull)
        force[j] -= pull
        moment[j] -= np.cross(b, pull)
    for k in range(2):
        matrix, w, q = turns[k] @ inertia[k] @ turns[k].T, spin[k], y[k, 3:7]
        out[k, :3], out[k, 7:10] = speed[k], force[k] / MASS[k]
        out[k, 3], out[k, 4:7] = -0.5 * w @ q[1:], 0.5 * (q[0] * w + np.cross(w, q[1:]))
        out[k, 10:] = np.linalg.solve(matrix, moment[k] - np.cross(w, matrix @ w))
    return out.ravel()


@pytest.mark.parametrize(("damping", "order"), [(0.0, 2), (2.0, 1)])
def test_order_beside_the_equations_of_motion(damping, order):
    """Second order; with dampers, whose forces are those of the start of a step, first order."""
    system, given = tumbling(damping)
    _, quaternions, speed, spin, *_ = given
    start = np.concatenate([START[:2], quaternions[:2], speed, spin], axis=1)
    exact = solve_ivp(
        rates, (0.0, 0.4), start.ravel(), "DOP853", args=(given,), rtol=1e-11, atol=1e-12
    ).y[:, -1].reshape(2, 13)  # fmt: skip
    errors = []
    for step in (4e-3, 2e-3):
        run = st.solve(system, B.TimeStepper(step), (7.0, 7.4), save=2)
        assert run.audit.ok
        assert run.energy.imbalance_rel < 1e-13
        values = run.variables
        places = np.abs(values["position"].values[-1] - exact[:, :3]).max()
        errors.append(max(places, np.abs(values["spin"].values[-1] - exact[:, 10:]).max()))
    assert abs(errors[0] / errors[1] - 2.0**order) < 0.05 * 2.0**order
    assert errors[1] < (0.05 if damping else 1e-3)


def test_frames_and_units_of_springs():
    """In another frame and another unit of length the same motion."""
    run = st.solve(tumbling(2.0)[0], B.TimeStepper(2e-3), (0.0, 0.2), save=3)
    frame = np.array([0.5, -0.3, 0.7, 0.4])
    frame = frame / np.linalg.norm(frame)
    system, _ = tumbling(2.0, frame, 1e3)
    other = st.solve(system, B.TimeStepper(2e-3), (0.0, 0.2), save=3)
    back = other.variables["position"].values @ rot.matrices(frame) / 1e3
    np.testing.assert_allclose(back, run.variables["position"].values, atol=1e-12)
    np.testing.assert_allclose(
        other.energy.viscous_heat, 1e6 * run.energy.viscous_heat, rtol=1e-10, atol=0.0
    )


@pytest.mark.fails_audit("bodies", "springs_resolved")
def test_springs_too_stiff_for_the_step_are_reported():
    """A step near the limit of stability of the leapfrog fails the check."""
    ball = B.SpatialBody(B.Sphere(0.1), position=[0.0, 0.0, 1.0])
    spring = B.SpatialSpring(1, 2, stiffness=1e5, length=0.9)
    system = B.SpatialBodies(
        [ball], [B.SpatialSupport(B.Sphere(0.1), [0.0, 0.0, 0.0])], springs=[spring]
    )
    run = st.solve(system, B.TimeStepper(4e-3), (0.0, 0.2), save=2, throw=False)
    assert {c.check: c.ok for c in run.audit.checks}["springs_resolved"] is False


def test_a_spring_holds_a_cube_on_a_slope():
    """`rests` counts springs: the cube slides at tan = .6 with mu = .5 unless one carries .2 W."""
    gravity = 10.0 * np.array([0.6, 0.0, -1.0])
    cube = B.SpatialBody(B.Cuboid(), 2.0, [0.0, 0.0, 0.5])
    wall = B.SpatialSupport(B.Sphere(0.1), [-3.0, 0.0, 0.5])
    for pull, may in ((1.99, False), (2.01, True)):
        spring = B.SpatialSpring(1, 3, stiffness=pull, length=2.0)
        system = B.SpatialBodies(
            [cube], [B.SpatialSupport(), wall], gravity, st.Coulomb(0.5), springs=[spring]
        )
        assert B.rests(system).may is may
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.05), save=2)
        assert (np.ptp(run.variables["position"].values, axis=0) == 0.0).all() == may


def test_an_oblique_impact_of_a_sphere_by_poissons_law():
    """Compression P = m v_n, expansion e P; slip opposes friction in any direction."""
    e, mu, speed, mass = 0.5, 0.1, np.array([3.0, -2.0, -1.0]), 2.0
    ball = B.SpatialBody(B.Sphere(0.1), mass, [0.0, 0.0, 0.1005], velocity=speed)
    system = B.SpatialBodies(
        [ball], [B.SpatialSupport()], (0.0, 0.0, 0.0), st.Coulomb(mu), e, impact_law="poisson"
    )
    run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.01), save=2)
    after = run.variables["velocity"].values[-1, 0]
    slip = speed[:2] / np.linalg.norm(speed[:2])
    np.testing.assert_allclose(after[:2], speed[:2] - mu * (1.0 + e) * slip, atol=1e-12)
    np.testing.assert_allclose(after[2], e, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"second": 4}, "numbers up to 2"),
        ({"second": 1}, "the number of a body and the number of another"),
        ({"on_first": [0.0, 0.0]}, "3"),
        ({"on_second": [0.0, 0.0, 0.5], "length": 1.0}, "ends at different points"),
    ],
)
def test_springs_without_sense_are_refused(changes, message):
    """Parts that do not exist, one part, points of the plane, and a spring without direction."""
    cube = B.SpatialBody(B.Cuboid(), position=[0.0, 0.0, 0.5])

    def build():
        spring = B.SpatialSpring(**{"first": 1, "second": 2} | changes)
        return B.SpatialBodies([cube], [B.SpatialSupport()], springs=[spring])

    with pytest.raises(st.ModelError, match=message):
        build()


def test_springs_in_space_are_refused_in_the_plane():
    """Their third components would have no effect."""
    spring = B.SpatialSpring(1, 2, on_first=[0.0, 0.1, 5.0])
    with pytest.raises(st.ModelError, match="got SpatialSpring; needs a Spring"):
        B.RigidBodies([B.RigidBody(B.Box())], [B.Support(position=[0.0, -2.0])], springs=[spring])


def test_pairs_in_space_are_checked():
    """A pair listed twice, and a law of parts that never touch, are refused by the name of both."""
    cube = B.SpatialBody(B.Cuboid(), position=[0.0, 0.0, 0.5])
    for pairs, message in (
        ([B.ContactPair(1, 2), B.ContactPair(2, 1)], "each pair once"),
        ([B.ContactPair(1, 2, st.Coulomb(0.1), contact=False)], "parts that touch"),
        ([B.ContactPair(1, 2, st.Coulomb([0.1, 0.2]))], "one mu for all contacts"),
    ):
        with pytest.raises(st.ModelError, match=message) as found:
            B.SpatialBodies([cube], [B.SpatialSupport()], pairs=pairs)
        assert "SpatialBodies.pairs" in str(found.value)


class StoppedError(Exception):
    pass


def test_resumed_and_saved_runs_have_the_same_bits(tmp_path):
    """A run that was stopped and resumed, and one from its saved scenario, with springs."""
    _, space = scenes(3, "poisson")
    method, span = B.TimeStepper(1e-3), (-2.0, -1.8)

    def stop(fraction, note):
        if fraction > 0.5:
            raise StoppedError

    whole = st.solve(space, method, span, save=9)
    state = FileCheckpoint(tmp_path / "state", "springs", every=0.0)
    with pytest.raises(StoppedError):
        st.solve(space, method, span, save=9, progress=stop, checkpoint=state)
    again = FileCheckpoint(tmp_path / "state", "springs", resume=True)
    resumed = st.solve(space, method, span, save=9, checkpoint=again)
    whole.save(tmp_path / "run")
    loaded = read_scenario(tmp_path / "run" / "scenario.toml").solve()
    for other in (resumed, loaded):
        for name, variable in whole.variables.items():
            np.testing.assert_array_equal(other.variables[name].values, variable.values)
        np.testing.assert_array_equal(other.energy.viscous_heat, whole.energy.viscous_heat)
