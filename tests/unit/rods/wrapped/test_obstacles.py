"""Distance, normal and curvature of rigid bodies, and where they are."""

import numpy as np
import pytest

from stiction.rods import CylinderPartner, PlanePartner, SpherePartner
from stiction.rods.wrapped.obstacles import placement_at, surface_at

BODIES = {
    "cylinder": CylinderPartner(
        [0.1, 0.2, -0.3], [0.4, 0.1, 0.9], 0.2, velocity=[0.1, 0.0, 0.2], angular_velocity=[1, 2, 3]
    ),
    "end": CylinderPartner([0.0, 0.0, 0.0], [0.0, 0.0, -1.0], 0.2),
    "sphere": SpherePartner([0.1, 0.0, 0.2], 0.3, velocity=[0.0, 0.3, 0.0]),
    "plane": PlanePartner([0.0, 0.0, -1.0], [0.1, 0.2, 1.0], angular_velocity=[0.3, 0.0, 0.0]),
}
POINTS = np.array([[0.6, 0.5, 0.4], [-0.3, 0.7, 0.6], [0.2, -0.5, 0.5]])


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_curvature_is_the_derivative(body):
    place, step = placement_at(body, 0.4), 1e-6
    surface = surface_at(body, place, POINTS)
    for axis in range(3):
        move = step * np.eye(3)[axis]
        plus, minus = (surface_at(body, place, POINTS + sign * move) for sign in (1.0, -1.0))
        slope = (plus.distance - minus.distance) / (2.0 * step)
        assert np.allclose(slope, surface.normal[:, axis], atol=1e-9)
        rate = (plus.normal - minus.normal) / (2.0 * step)
        assert np.allclose(rate, surface.curvature[:, :, axis], atol=1e-8)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_points_that_move_with_a_body_keep_their_distance(body):
    before, after = placement_at(body, 0.0), placement_at(body, 0.7)
    moved = after.pivot + (POINTS - before.pivot) @ after.turn.T
    first, second = surface_at(body, before, POINTS), surface_at(body, after, moved)
    assert np.allclose(first.distance, second.distance, atol=1e-12)
    assert np.allclose(first.normal @ after.turn.T, second.normal, atol=1e-12)


def test_a_body_starts_gently():
    drum = CylinderPartner([0, 0, 0], [0, 0, 1], 0.1, velocity=[2.0, 0, 0], rise=0.5)
    assert placement_at(drum, 0.25).pivot[0] == pytest.approx(2.0 * 0.25**2, rel=1e-12)
    assert placement_at(drum, 1.0).pivot[0] == pytest.approx(2.0 * 0.75, rel=1e-12)
