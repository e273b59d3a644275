"""Rods end in half spheres: what hits them, rolls onto them, and falls off them."""

import math

import numpy as np
import pytest
from audit_lines import line
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    CylinderPartner,
    Free,
    RigidMotion,
    RollingContact,
    Straight,
)
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.curve.kernels import FITTED, SPLINE, axis_point

A = 0.02
SECTION = CircularSection(A, 1e6, density=1000.0)


def rod(start, end, velocity=(0.0, 0.0, 0.0), held=False, elements=16, section=SECTION):
    """Return a rod between two points, free or clamped."""
    end_ = Clamped if held else Free
    return CosseratRod(
        section,
        Straight(start, end),
        elements=elements,
        left=end_(),
        right=end_(),
        motion=[RigidMotion(velocity)],
    )


def thrown(*rods, t_end=0.02, part=0.5, **more):
    """Return the run of rods whose contacts are searched for."""
    search = ContactSearch(friction=st.Coulomb(0.3))
    return st.solve(
        st.Rods(rods, search=search, **more), st.RollingLeapfrog(fraction=part), (0, t_end), save=11
    )


@pytest.mark.parametrize("rule", [SPLINE, FITTED])
@pytest.mark.parametrize("s", [0.0, 0.3, 1.0, 1.2, 2.7, 5.4, 6.2, 7.0, 7.49, 7.9, 8.0])
def test_the_curve_reaches_the_end_nodes_and_its_weights_are_those_of_the_curve(s, rule):
    rng = np.random.default_rng(3)
    n, given = 8, rng.normal(size=(9, 3))
    nodes = given.copy()
    if rule == FITTED:
        nodes[1:-1] -= np.diff(given, 2, axis=0) / 6.0
    wide = [2.0 * nodes[0] - nodes[1], *nodes, 2.0 * nodes[-1] - nodes[-2]]
    curve = BSpline(np.arange(-3.0, n + 4.0), np.array(wide), 3)
    r = np.ascontiguousarray(given.T)
    found = np.array([axis_point(r, 0, n, s, a, rule) for a in range(3)])
    expected = [curve(s), curve.derivative()(s), curve.derivative(2)(s)]
    assert_allclose(found.T, expected, rtol=0.0, atol=1e-12)
    contact = ck.Contact.table()[0]
    contact.elements, contact.rule, contact.place = n, rule, s
    # weights of elements hold the lever
    contact.levers = 1.0
    ck.weigh(contact, int(rng.integers(2)))
    ck.weigh(contact, 0)
    weights, start = contact.node_weights[0], contact.nodes[0]
    seen = weights @ given[start : start + 4]
    for outer, node in zip(contact.outer_weights[0], (start - 1, start + 4), strict=True):
        assert 0 <= node <= n or outer == 0.0
        seen += outer * given[min(max(node, 0), n)]
    assert_allclose(seen, curve(s), rtol=0.0, atol=1e-12)
    # what turns evenly is seen without an error up to the ends
    weights, start = contact.frame_weights[0], contact.frames[0]
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert 0 <= start <= n - 4
    assert weights @ (start + np.arange(4) + 0.5) == pytest.approx(s, abs=1e-12)


def test_a_tip_hits_a_side():
    below = rod((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0), held=True)
    run = thrown(below, rod((0.0, 0.0, 0.05), (0.0, 0.0, 0.45), (0.0, 0.0, -1.0)))
    first = run.events.iloc[0]
    assert first.kind == "close"
    assert first.time == pytest.approx(0.01, abs=1e-9)
    assert [first.s1, first.s2] == pytest.approx([0.3, 0.0], abs=1e-9)
    assert run.data.at_end.values[-1][np.isfinite(run.data.at_end.values[-1])].tolist() == [2.0]
    assert line(run, "no_overlap").value <= 1e-3


def test_two_tips_meet():
    run = thrown(
        rod((-0.4, 0.0, 0.0), (0.0, 0.0, 0.0)),
        rod((0.05, 0.0, 0.0), (0.45, 0.0, 0.0), (-1.0, 0.0, 0.0)),
    )
    assert run.events.iloc[0].time == pytest.approx(0.01, abs=1e-9)
    assert np.nanmax(run.data.at_end.values) == 3.0
    # free rods keep their momenta to rounding
    assert_allclose(
        run.data.momentum.values, run.data.momentum.values[[0]].repeat(11, 0), atol=1e-14
    )
    assert_allclose(run.data.angular_momentum.values, 0.0, atol=1e-15)


def test_tips_that_meet_askew_keep_both_momenta():
    run = thrown(
        rod((-0.4, 0.0, 0.0), (0.0, 0.0, 0.0)),
        rod((0.03, 0.0, 0.03), (0.2, 0.1, 0.3), (-1.0, 0.2, -1.0)),
    )
    assert "close" in set(run.events.kind)
    for name in ("momentum", "angular_momentum"):
        values = run.data[name].values
        assert_allclose(values, values[[0]].repeat(11, 0), atol=1e-13, err_msg=name)
    assert run.energy.imbalance_rel < 1e-3


def test_a_rod_that_rolls_off_an_end_says_when():
    # at 0.5 m/s it comes to the end, 0.01 m away, after 0.02 s, and then leaves it
    section = CircularSection(A, 1e8, density=1000.0)
    speed = 0.5
    top = CosseratRod(
        section,
        Straight((-0.01, -0.15, 2 * A), (-0.01, 0.15, 2 * A)),
        elements=10,
        left=Free(),
        right=Free(),
        motion=[RigidMotion((speed, 0.0, 0.0), (0.0, speed / A, 0.0))],
    )
    touch = RollingContact(0.15, 0.19, friction=st.Coulomb(2.0))
    system = st.Rods(
        [top],
        [touch],
        gravity=(0.0, 0.0, -9.81),
        partners=[CylinderPartner((-0.2, 0.0, 0.0), (0.0, 0.0, 0.0), A)],
    )
    run = st.solve(system, st.RollingLeapfrog(fraction=0.25), (0.0, 0.08), save=11)
    when = run.events.set_index("kind").time
    assert when["end"] == pytest.approx(0.02, abs=5e-5)
    assert np.min(when["fall"]) > when["end"]
    assert run.data.contact_mode.values[-1] == 0.0
    # nothing is lost at the hand-over but what the law takes
    assert run.energy.imbalance_rel < 1e-4
    assert run.audit.ok


@pytest.mark.parametrize("degrees", [0.0, 8.0])
def test_rods_dropped_beside_each_other_do_not_overlap(degrees):
    angle = math.radians(degrees)
    along = 0.2 * np.array([math.cos(angle), math.sin(angle), 0.0])
    up = np.array([0.05, 0.0, 2.05 * A])
    below = rod((-0.2, 0.0, 0.0), (0.2, 0.0, 0.0), held=True, elements=32)
    above = rod(up - along, up + along, (0.0, 0.0, -0.5), elements=32)
    run = thrown(below, above, t_end=0.005, part=0.025)
    depth = line(run, "no_overlap").value
    assert depth <= 1e-3
    assert run.energy.imbalance_rel < 2e-3
