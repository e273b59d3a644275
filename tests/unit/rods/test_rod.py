"""Rods: elastic forces against differences of the energy, unbent starts, and what is refused."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from crossed import ALONG, SECTION, UP
from numpy.testing import assert_allclose

import stiction as st
from stiction.errors import ModelError
from stiction.rods.assembly import assemble
from stiction.rods.centreline import Arc, Centreline, Curve, Helix, Straight
from stiction.rods.driving_kernels import internal_damping, spatial_spin
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import (
    CosseratRod,
    Free,
    GivenMotion,
    LineForce,
    PointForce,
    SineSpin,
    SineVelocity,
)
from stiction.rods.rod_kernels import elastic, stored_energy

LINE = Straight(-0.5 * ALONG, 0.5 * ALONG)


def test_internal_damping_resists_strain_and_no_rigid_motion():
    random = np.random.default_rng(4)
    flat = assemble(Rods([CosseratRod(SECTION, LINE, elements=6, internal_damping=1e-3)]))
    flat.r[:] += 0.02 * random.standard_normal(flat.r.shape)
    flat.q[:] += 0.3 * random.standard_normal(flat.q.shape)
    flat.q[:] /= np.linalg.norm(flat.q, axis=0)
    spin, speed = random.standard_normal(3), random.standard_normal(3)
    flat.v[:] = speed[:, None] + np.cross(spin, flat.r.T).T
    slots = range(flat.r.shape[1])
    axes = np.array([spatial_spin(flat.q, flat.p, i)[3:] for i in slots])
    # p counts what is along the axis twice
    flat.p[:] = (spin + (axes @ spin)[:, None] * axes).T
    force, torque = np.zeros_like(flat.r), np.zeros_like(flat.r)
    given = (flat.r, flat.q, flat.v, flat.p, flat.mat, flat.drags.retardation, force, torque)
    internal_damping(*given)
    rigid = np.abs(force).max(), np.abs(torque).max()
    flat.v[:] += random.standard_normal(flat.v.shape)
    internal_damping(*given)
    assert rigid[0] < 1e-12 * np.abs(force).max()
    assert rigid[1] < 1e-12 * np.abs(torque).max()
    # what acts inside has no resultant
    assert_allclose(force.sum(axis=1), 0.0, atol=1e-12 * np.abs(force).max())
    turning = np.cross(flat.r.T, force.T).sum(axis=0) + torque.sum(axis=1)
    assert_allclose(turning, 0.0, atol=1e-12 * np.abs(torque).max())


@pytest.mark.parametrize("bend", [0.02, 0.6])
def test_forces_and_torques_are_slopes_of_the_energy(bend):
    """At small joint angles and at large ones, which the kernels treat apart."""
    random = np.random.default_rng(2)
    flat = assemble(Rods([CosseratRod(SECTION, LINE, elements=6, natural_curvature=(1, 2, 3))]))
    flat.r[:] += 0.02 * random.standard_normal(flat.r.shape)
    flat.q[:] += bend * random.standard_normal(flat.q.shape)
    flat.q[:] /= np.linalg.norm(flat.q, axis=0)
    n, m, force, torque = (np.zeros_like(flat.r) for _ in range(4))
    elastic(flat.r, flat.q, flat.mat, n, m, force, torque)
    eps = 1e-6
    slope, turned = np.zeros_like(force), np.zeros_like(torque)
    for a in range(3):
        # a clamp has a frame of its own before the rod, and behind it
        for i in range(flat.r.shape[1]):
            energy = []
            for sign in (1.0, -1.0):
                r, q = flat.r.copy(), flat.q.copy()
                r[a, i] += sign * eps
                energy.append(stored_energy(r, q, flat.mat))
                # a small turn in space multiplies the quaternion from the left
                r, half = flat.r, np.zeros(3)
                half[a] = 0.5 * sign * eps
                w, u = flat.q[0, i], flat.q[1:, i]
                q[0, i] = w - half @ u
                q[1:, i] = u + w * half + np.cross(half, u)
                q[:, i] /= np.linalg.norm(q[:, i])
                energy.append(stored_energy(r, q, flat.mat))
            slope[a, i] = -(energy[0] - energy[2]) / (2.0 * eps)
            turned[a, i] = -(energy[1] - energy[3]) / (2.0 * eps)
    assert_allclose(force, slope, rtol=0, atol=1e-7 * np.abs(force).max())
    assert_allclose(torque[:, :-1], turned[:, :-1], rtol=0, atol=1e-6 * np.abs(torque).max())


@pytest.mark.parametrize(
    "line",
    [
        Arc([0, 0, 0], [1, 0, 0], [0, 1, 0], 0.5, 1.5),
        Helix([0, 0, 0], [0, 0, 1], 0.2, 0.1, 2.0),
    ],
)
def test_a_rod_without_given_curvature_starts_unbent(line):
    rod = CosseratRod(SECTION, line, natural_curvature=None, left=Free(), right=Free())
    run = st.solve(Rods([rod]), RollingLeapfrog(fraction=0.5), (0.0, 0.01), save=3)
    assert run.energy.stored[0] <= 1e-20
    assert_allclose(run.data.position.values[-1], run.data.position.values[0], atol=1e-12)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Given(Centreline):
    """A curve of a user, whose points need not be right."""

    given: Any

    def points(self, count):
        return self.given


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"section": 3}, "a Section"),
        ({"centreline": 3}, "a Centreline"),
        ({"elements": 3}, "elements"),
        ({"length": -1.0}, "length"),
        ({"drag": -1.0}, "drag"),
        ({"internal_damping": np.nan}, "internal_damping"),
        ({"natural_curvature": (0.0, np.nan, 0.0)}, "natural_curvature"),
        ({"left": 1}, "a RodEnd"),
        ({"first_director": (0.0, 0.0, 0.0)}, "first_director"),
        ({"first_director": (2.0, 0.0, 0.0)}, "along the axis"),
        ({"centreline": Curve([[0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 0, 0], [0, 0, 0]])}, "back"),
        ({"centreline": Given(np.ones((4, 3)))}, r"Given\.points of shape \(4, 3\)"),
        ({"centreline": Given(np.ones((5, 2)))}, r"shape \(5, 3\)"),
        ({"motion": [3]}, "a RodMotion"),
        ({"loads": [3]}, "a RodLoad"),
    ],
)
def test_bad_rods_are_refused(change, message):
    with pytest.raises(ModelError, match=message):
        CosseratRod(**{"section": SECTION, "centreline": LINE, "elements": 4, **change})


def test_a_centreline_may_give_lists():
    points = [[0.0, 0.0, 0.25 * k] for k in range(5)]
    assert CosseratRod(SECTION, Given(points), elements=4).rest_length == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: LineForce([0.0, np.nan, 0.0]),
        lambda: LineForce(UP, times=(0.0, 1.0), factors=(1.0,)),
        lambda: LineForce(UP, times=(1.0, 0.0), factors=(1.0, 1.0)),
        lambda: PointForce(UP, at=1.5),
        lambda: SineVelocity(0, UP),
        lambda: SineSpin(1, np.inf),
        lambda: GivenMotion([np.nan, 0.0, 0.0]),
        lambda: GivenMotion([[1, 2, 3], [1, 2]]),
    ],
)
def test_bad_parts_are_refused(make):
    with pytest.raises(ModelError, match=r"Why"):
        make()


def test_motion_of_the_wrong_length_is_refused():
    rod = CosseratRod(SECTION, LINE, motion=[GivenMotion(np.zeros((5, 3)))])
    with pytest.raises(ModelError, match="41 rows of three"):
        st.solve(Rods([rod]), RollingLeapfrog(1e-4), (0.0, 1e-3))


@pytest.mark.parametrize("field", ["motion", "loads"])
def test_parts_that_are_none_are_refused(field):
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    with pytest.raises(st.ModelError, match=rf"CosseratRod\.{field}"):
        CosseratRod(SECTION, line, **{field: 3})


def test_a_number_is_no_vector():
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    rod = CosseratRod(SECTION, line)
    with pytest.raises(st.ModelError, match=r"Rods\.gravity: got 9\.81"):
        Rods([rod], gravity=9.81)
    with pytest.raises(st.ModelError, match=r"Rods\.rods"):
        Rods(None)
