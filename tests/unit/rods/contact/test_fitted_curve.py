"""Contacts that see the curve fitted to the nodes: orders, a second method, varied settings."""

from dataclasses import replace

import numpy as np
import pytest
from audit_lines import line
from crossed import crossed_rods
from memories import Memory
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline

import stiction as st
from stiction.errors import ModelError
from stiction.rods import (
    CircularSection,
    ContactSearch,
    CosseratRod,
    Free,
    PlanePartner,
    RigidMotion,
    RollingContact,
    RollingMidpoint,
    SineSpin,
    SineVelocity,
    Straight,
)
from stiction.rods.contact.curve.kernels import FITTED, SPLINE, axis_point

A = 0.02


def spread(count, s):
    """Return (t, count) values of the cubic B-splines at 0, 1 ... at places s (t,)."""
    cubic = BSpline.basis_element(np.arange(-2.0, 3.0), extrapolate=False)
    return np.nan_to_num(cubic(s[:, None] - np.arange(count)))


def off(n, rule):
    """Return how far the middle of the contact curve of n chords of half a circle is off."""
    angle = np.linspace(0.0, np.pi, n + 1)
    r = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    s = 0.5 * n + 0.3
    return abs(np.hypot(*(axis_point(r, 0, n, s, a, rule)[0] for a in (0, 1))) - 1.0)


def test_the_spline_is_of_order_two_and_the_fitted_curve_of_order_four():
    for rule, order in ((SPLINE, 2.0), (FITTED, 4.0)):
        errors = [off(n, rule) for n in (20, 40, 80)]
        assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), order, atol=5e-3)
    # inside the nodes by ds^2 kappa / 6
    assert off(80, SPLINE) == pytest.approx((np.pi / 80.0) ** 2 / 6.0, rel=1e-3)
    assert off(20, FITTED) < 0.01 * off(20, SPLINE)


def test_cubics_are_reproduced_exactly():
    x = np.arange(9.0)
    for power in range(4):
        r = np.stack([x**power, x, 0.0 * x])
        for s in (3.0, 3.4, 4.9):
            assert axis_point(r, 0, 8, s, 0, FITTED)[0] == pytest.approx(s**power, rel=1e-13)


def thrown(curve, unit=1.0, turn=None, swap=False, save=5, part=0.05, floor=False):
    """Return the run of a rod that falls across another one, with friction.

    Parameters
    ----------
    unit : of length; mass and time stay
    turn : (3, 3) rotation of everything
    swap : the order of the rods
    """
    turn = np.eye(3) if turn is None else turn
    # E in N/m^2 has one length below the line, the density three
    section = CircularSection(A * unit, 1e6 / unit, density=1000.0 / unit**3)
    ends = {"left": Free(), "right": Free(), "elements": 12}

    def rod(start, end, velocity, spin):
        start, end, velocity = (unit * turn @ x for x in (start, end, velocity))
        motion = [RigidMotion(velocity, turn @ spin)]
        return CosseratRod(section, Straight(start, end), motion=motion, **ends)

    rods = [
        rod((-0.3, 0.0, 0.0), (0.3, 0.02, 0.0), (0.0, 0.1, 0.0), (3.0, 0.0, 0.0)),
        rod((0.03, -0.3, 0.045), (0.1, 0.3, 0.045), (0.2, 0.0, -1.0), (0.0, 4.0, 1.0)),
    ]
    search = ContactSearch(friction=st.Coulomb(0.3), restitution=0.2)
    partners = [PlanePartner(unit * turn @ (0.0, 0.0, -0.0215), turn @ (0.0, 0.0, 1.0))]
    system = st.Rods(
        rods[::-1] if swap else rods,
        search=search,
        partners=partners if floor else [],
        contact_curve=curve,
    )
    return st.solve(system, st.RollingLeapfrog(fraction=part), (0.0, 0.02), save=save)


@pytest.mark.parametrize("floor", [False, True])
def test_the_ledger_closes_and_free_rods_keep_their_momenta(floor):
    run = thrown("fitted", floor=floor)
    assert {"close", "slip"} <= set(run.events.kind)
    coarse = line(thrown("fitted", part=0.1, floor=floor), "ledger_closes").value
    fine = line(run, "ledger_closes").value
    assert fine < 6e-6
    assert 3.0 < coarse / fine < 5.0
    if not floor:
        assert line(run, "no_overlap").ok
        for name in ("momentum", "angular_momentum"):
            values = run.data[name].values
            assert_allclose(values, values[[0]].repeat(5, 0), atol=1e-13, err_msg=name)


def test_units_frame_order_of_rods_and_saved_rows_do_not_matter():
    whole = thrown("fitted")
    nodes = whole.data.position.values[-1]
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    cases = {
        "units": (thrown("fitted", unit=1e3), lambda x: x / 1e3),
        "frame": (thrown("fitted", turn=turn), lambda x: x @ turn),
        "order": (thrown("fitted", swap=True), lambda x: np.vstack([x[13:], x[:13]])),
        "rows": (thrown("fitted", save=3), lambda x: x),
    }
    for name, (run, back) in cases.items():
        seen = back(run.data.position.values[-1])
        assert_allclose(seen, nodes, atol=1e-8, err_msg=name)
        assert list(run.events.kind) == list(whole.events.kind), name


def test_the_implicit_midpoint_rule_comes_to_the_same():
    system = replace(crossed_rods(elements=20, amplitude=0.3), contact_curve="fitted")
    runs = [
        st.solve(system, method, (0.0, 0.02), save=3)
        for method in (st.RollingLeapfrog(5e-5), RollingMidpoint(5e-5))
    ]
    one, two = (run.data.position.values[-1] for run in runs)
    moved = np.abs(one - runs[0].data.position.values[0]).max()
    assert np.abs(one - two).max() < 1e-4 * moved
    for run in runs:
        assert line(run, "ledger_closes").ok
        assert np.abs(run.data.gap.values).max() < 1e-8
    # the option does something
    other = st.solve(replace(system, contact_curve="spline"), runs[0].method, (0.0, 0.02), save=3)
    assert np.abs(other.data.position.values[-1] - one).max() > 1e-6


def unequal(friction=2.0):
    """Return rods of unequal radii that cross and roll on each other, the upper one spinning."""
    lines = [((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)), ((0.0, -0.5, 0.05), (0.2, 0.5, 0.05))]
    motion = [SineVelocity(1, (0.0, 0.3, 1.0)), SineSpin(1, 2.0)], [SineSpin(1, 3.0)]
    rods = [
        CosseratRod(CircularSection(a, 1e6, 0.5, 1000.0), Straight(*line), elements=20, motion=m)
        for a, line, m in zip((0.02, 0.03), lines, motion, strict=True)
    ]
    touch = RollingContact(0.5, 0.5, friction=st.Coulomb(friction))
    return st.Rods(rods, [touch], contact_curve="fitted")


def test_rolling_from_the_radius_and_the_state_of_each_rod_alone():
    # u = v2 - v1 - (a1 w1 + a2 w2) x n, at every step, by SciPy's splines
    run = st.solve(unequal(), st.RollingLeapfrog(5e-5), (0.0, 0.02), save=401)
    d, n, both = run.data, 20, []
    rod = d.rod_of_node.values
    for k, name in ((1, "s1"), (2, "s2")):
        long = np.linalg.norm(np.diff(d.position.values[0][rod == k], axis=0), axis=1).sum()
        s = d[name].values * n / long
        seen = []
        for x in (d.position.values[:, rod == k], d.velocity.values[:, rod == k]):
            points = x.copy()
            points[:, 1:-1] -= np.diff(x, 2, axis=1) / 6.0
            seen.append(np.einsum("tk,tka->ta", spread(n + 1, s), points))
        spin = d.angular_velocity.values[:, (k - 1) * n : k * n]
        both.append([*seen, np.einsum("tk,tka->ta", spread(n, s - 0.5), spin)])
    (r1, v1, w1), (r2, v2, w2) = both
    apart = np.linalg.norm(r2 - r1, axis=1)
    normal = (r2 - r1) / apart[:, None]
    slip = v2 - v1 - np.cross(0.02 * w1 + 0.03 * w2, normal)
    slip -= (slip * normal).sum(axis=1)[:, None] * normal
    # the first step leaves a small gap, which the second takes back
    rolls = (d.contact_mode.values == 1.0) & (run.time > 7e-5)
    assert rolls.sum() > 50
    assert np.abs(apart[rolls] - 0.05).max() <= 1e-10
    assert np.linalg.norm(slip, axis=1)[rolls].max() <= 1e-12
    assert np.linalg.norm(v2 - v1, axis=1)[rolls].max() > 0.01


def test_a_run_goes_on_to_the_same_bits():
    saved = Memory(turn=3)
    given = (unequal(0.5), st.RollingLeapfrog(5e-5), (0.0, 0.03))
    whole = st.solve(*given, save=9, checkpoint=saved)
    again = st.solve(*given, save=9, checkpoint=Memory(saved.state, turn=0))
    for name, variable in whole.variables.items():
        assert np.array_equal(variable.values, again.variables[name].values, equal_nan=True), name
    assert whole.events.equals(again.events)
    assert len(whole.events) > 2


def test_an_unknown_curve_is_refused():
    with pytest.raises(ModelError, match=r"Rods\.contact_curve"):
        replace(crossed_rods(), contact_curve="nodes")
