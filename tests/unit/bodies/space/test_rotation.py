"""Rotation in space: quaternions, free bodies."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.bodies.space import rotation as rot

B = st.bodies


def test_quaternions_are_those_of_scipy():
    rng = np.random.default_rng(1)
    a, b = (one / np.linalg.norm(one, axis=-1, keepdims=True) for one in rng.normal(size=(2, 9, 4)))
    of_a, of_b = (Rotation.from_quat(one[:, [1, 2, 3, 0]]) for one in (a, b))
    np.testing.assert_allclose(rot.matrices(a), of_a.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(
        rot.matrices(rot.product(a, b)), (of_a * of_b).as_matrix(), atol=1e-15
    )
    np.testing.assert_allclose(rot.matrices(rot.conjugate(a)), of_a.inv().as_matrix(), atol=1e-15)
    for one in a:
        back = rot.quaternion(rot.matrices(one))
        np.testing.assert_allclose(back * np.sign(back @ one), one, atol=1e-15)


def test_a_free_body_conserves():
    """Angular momentum and energy to rounding; the motion converges in second order."""
    inertia = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, 0.3], [0.0, 0.3, 2.5]])
    start = np.array([0.3, 5.0, 0.2])
    turned = np.array([0.3, 0.4, -0.5, 0.7])
    body = B.SpatialBody(B.Cuboid(0.3, 0.2, 0.1), inertia=inertia, spin=start, orientation=turned)
    system = B.SpatialBodies([body], gravity=[0.0, 0.0, 0.0])
    r = rot.matrices(turned / np.linalg.norm(turned))
    momentum = r @ inertia @ r.T @ start

    def rate(t, y):
        # the columns of the matrix turn with the body
        now = y.reshape(3, 3)
        spin = now @ np.linalg.solve(inertia, now.T @ momentum)
        return np.cross(spin, now.T).T.ravel()

    exact = solve_ivp(rate, (0.0, 2.0), r.ravel(), rtol=1e-12, atol=1e-12, method="DOP853")
    errors = []
    for h in (1e-2, 5e-3):
        run = st.solve(system, B.TimeStepper(h), (0.0, 2.0), save=21)
        now = rot.matrices(run.variables["orientation"].values[:, 0])
        spin = run.variables["spin"].values[:, 0]
        carried = (now @ inertia @ now.transpose(0, 2, 1) @ spin[..., None])[..., 0]
        np.testing.assert_allclose(carried, np.tile(momentum, (21, 1)), atol=2e-13)
        energy = 0.5 * (carried * spin).sum(axis=1)
        np.testing.assert_allclose(energy, energy[0], rtol=2e-13)
        assert run.energy.imbalance_rel < 1e-12
        errors.append(np.abs(now[-1].ravel() - exact.y[:, -1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.01)


def test_a_moment_turns_a_body():
    """A constant moment about a principal axis; a sphere turns about any."""
    moment = np.array([0.3, -0.2, 0.6])
    ball = B.SpatialBody(B.Sphere(0.5), moment=moment, orientation=[1.0, 2.0, 3.0, 4.0])
    system = B.SpatialBodies([ball], gravity=[0.0, 0.0, 0.0])
    run = st.solve(system, B.TimeStepper(1e-2), (0.0, 1.0), save=2)
    np.testing.assert_allclose(run.variables["spin"].values[-1, 0], moment / 0.1, rtol=1e-13)
    work = 0.5 * moment @ moment / 0.1
    assert run.energy.external_work[-1] == pytest.approx(work, rel=1e-13)
