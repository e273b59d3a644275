"""Spheres on a block in space, pressed and drawn off, beside closed forms and a second method."""

import numpy as np
import pytest
from axisymmetric_oracle import pull_off as self_consistent
from axisymmetric_oracle import under_a_disc
from sphere_cases import hertz, mindlin, pull_off


def test_the_second_method_bends_a_half_space_as_hertz_does():
    edges = np.linspace(0.0, 1.0, 201)
    middle = 0.5 * (edges[1:] + edges[:-1])
    bends = np.diff(under_a_disc(middle[:, None], edges[None, :]), axis=1)
    found = bends @ np.sqrt(1.0 - middle**2)
    # reason: rings of uniform pressure are of second order, and less at the edge
    np.testing.assert_allclose(found, np.pi / 4.0 * (2.0 - middle**2), rtol=5e-4)


@pytest.mark.parametrize("work", [1e-6, 1e-3])
def test_the_second_method_knows_no_unit(work):
    assert self_consistent(1.0, work, 60) == pytest.approx(self_consistent(1.0, 1e-5, 60), rel=1e-6)


def test_the_second_method_goes_from_bradley_to_jkr():
    rings = {0.1: 80, 0.5: 80, 1.0: 80, 2.0: 220}
    found = [self_consistent(tabor, rings=count) for tabor, count in rings.items()]
    assert 1.95 < found[0] < 2.0
    assert (np.diff(found) < 0.0).all()
    assert 1.5 < found[-1] < 1.6


def test_force_for_a_radius_comes_to_that_of_hertz():
    coarse, fine = hertz(3), hertz(4)
    assert fine["audit_failed"] == []
    # reason: four cells on the radius; nine leave 0.5 %, see docs/theory/bodies-in-space
    assert 0.0 < fine["force_error"] < min(0.05, coarse["force_error"])
    assert abs(fine["peak_pressure_error"]) < 0.5 * abs(coarse["peak_pressure_error"])


def test_a_sphere_is_released_as_in_the_second_method():
    found = pull_off(0.5, 2)
    assert found["inside"]
    assert found["audit_failed"] == []
    # reason: two cells on the radius
    assert found["pull_off"] == pytest.approx(self_consistent(0.5), rel=5e-3)


def test_equal_spheres_slip_as_cattaneo_and_mindlin_have_it():
    found = mindlin(2, steps=3)
    assert found["audit_failed"] == []
    assert found["press_changes"] < 1e-3
    # reason: two cells on the radius; four leave 0.7 %, see docs/theory/bodies-in-space
    assert found["stuck"][0] == pytest.approx(found["stuck_of_mindlin"][0], rel=0.03)
    went = found["displacement_over_mindlin"][0]
    # reason: the same two cells
    assert went == pytest.approx(1.0, rel=0.03)
