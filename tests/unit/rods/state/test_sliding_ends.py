"""What contacts near an end that slides push along its axis, and the clamp takes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    CylinderPartner,
    LineForce,
    Rods,
    RollingContact,
    Straight,
    Turned,
)
from stiction.rods.contact.curve.kernels import axis_point

SECTION = CircularSection(0.02, 1e7, density=1000.0)
STILL = ((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 0.0))


def end_weights(places, elements, curve):
    """Return the weights of the last node in a contact at distances `places` from it [elements]."""
    node = np.eye(1, elements + 1)[0]
    if curve == "fitted":
        node[1:-1] -= np.diff(node, 2) / 6.0
    points = np.concatenate([[2.0 * node[0] - node[1]], node, [2.0 * node[-1] - node[-2]]])
    return BSpline(np.arange(-3.0, elements + 4.0), points, 3)(np.clip(places, 0.0, elements))


@pytest.mark.parametrize(("rule", "curve"), [(0, "spline"), (1, "fitted")])
def test_weights_are_those_of_the_curve(rule, curve):
    node = np.zeros((3, 9))
    node[:, 0] = 1.0
    places = np.array([0.0, 0.2, 0.5, 1.0, 1.7, 2.0, 2.4, 3.1, 6.0, 8.0])
    found = [axis_point(node, 0, 8, s, 0, rule)[0] for s in places]
    assert_allclose(end_weights(places, 8, curve), found, atol=1e-15)
    assert end_weights(np.array([0.0]), 8, curve) == pytest.approx(1.0, abs=1e-15)


def dragged(beside, mu=0.5, slides=True, at_start=False):
    """Return a run of a rod that a moving cylinder drags along, so many elements from its end."""
    ends = [st.rods.Clamped(), Turned(*STILL, slides=slides)]
    ends = ends[::-1] if at_start else ends
    place = beside / 10.0 if at_start else 1.0 - beside / 10.0
    line = Straight((0.0, 0.0, 0.04), (1.0, 0.0, 0.04))
    given = {"elements": 10, "loads": [LineForce((0.0, 0.0, -20.0))]}
    rod = CosseratRod(SECTION, line, left=ends[0], right=ends[1], **given)
    belt = CylinderPartner((place, -0.5, 0.0), (place, 0.5, 0.0), 0.02, velocity=(0.5, 0.0, 0.0))
    touch = RollingContact(place, 0.5, first=1, second=2, friction=st.Coulomb(mu))
    system = Rods([rod], [touch], partners=[belt])
    steps = int(st.solve(system, t_span=(0.0, 2e-3), save=2).stats["steps"])
    return st.solve(system, t_span=(0.0, 2e-3), save=steps + 1)


@pytest.mark.parametrize("at_start", [False, True])
def test_the_ignored_force_is_reported(at_start):
    run = dragged(1.0, at_start=at_start)
    (reported,) = [check for check in run.audit if check.check == "no_axial_force_ignored"]
    k = int(np.argmin(np.abs(run.time - reported.time)))
    assert run.time[k] == pytest.approx(reported.time, rel=1e-12)
    force = run.data.contact_force.values[k]
    place = run.data.s1.values[k]
    place = 10.0 * place if at_start else 10.0 * (1.0 - place)
    weight = (2.0 - place) ** 3 / 6.0
    if place < 1.0:
        # what the node beyond the end would carry counts twice
        weight = 2.0 / 3.0 - place**2 + 0.5 * place**3 + (1.0 - place) ** 3 / 3.0
    assert reported.value == pytest.approx(weight * abs(force[0]) / np.linalg.norm(force), rel=1e-9)
    assert not reported.ok
    assert reported.note.endswith("contact 1 on rod 1")


def test_nothing_is_lost_far_away_without_friction_or_where_nothing_slides():
    for run in (dragged(3.5), dragged(1.0, mu=0.0)):
        (reported,) = [check for check in run.audit if check.check == "no_axial_force_ignored"]
        assert reported.ok
        assert reported.value < 1e-3
    names = [check.check for check in dragged(1.0, slides=False).audit]
    assert "no_axial_force_ignored" not in names
