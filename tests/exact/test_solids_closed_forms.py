"""Contacts of solids against closed forms: errors fall with mesh, block and law as they should.

Closed forms hold for a half plane, a law without extent and a mesh without end; every test
lets one of them go there. docs/theory/solids-convergence.md has the longer table.
"""

from __future__ import annotations

import functools

import contact_cases as cases
import numpy as np
import pytest

hertz = functools.cache(cases.hertz)
jkr = functools.cache(cases.jkr)
mindlin = functools.cache(cases.mindlin)
peel = functools.cache(cases.peel)


# the wall of the law stands for springs, far beyond its T_max: its audit says that it is no
# Lennard-Jones wall there
SPRINGS = "UNTRUSTED"


def orders(errors, ratio=2.0):
    """Return how errors fall per refinement by `ratio`."""
    e = np.abs(np.asarray(errors))
    return np.log(e[:-1] / e[1:]) / np.log(ratio)


# ---------------------------------------------------------------- Hertz


def test_hertz_with_a_stiffer_law():
    # unilateral springs of stiffness k instead of a wall: first order in E* / (k a)
    found = [hertz(k, 1 / 8, 40) for k in (12.5, 50, 200)]
    assert all(case.status == SPRINGS for case in found)
    for errors in ([case.width for case in found], [case.peak for case in found]):
        assert np.all((orders(errors, 4.0) > 0.8) & (orders(errors, 4.0) < 1.3)), errors
        assert abs(errors[-1]) < 2.5e-3


def test_hertz_in_a_deeper_block():
    # what the bottom of the block changes falls with the square of a / H
    found = [hertz(100, 1 / 16, depth) for depth in (5, 10, 20, 40)]
    for values in ([case.width for case in found], [case.peak for case in found]):
        fall = orders(np.diff(values))
        assert np.all((fall > 1.85) & (fall < 2.15)), fall


def test_hertz_on_a_finer_mesh():
    # against the finest mesh; the edge of contact, a square root, lies inside an element
    fine = hertz(100, 1 / 32, 20)
    found = [hertz(100, cell, 20) for cell in (1 / 2, 1 / 8)]
    for name in ("width", "peak"):
        errors = [getattr(case, name) - getattr(fine, name) for case in found]
        assert abs(errors[0]) > 4.0 * abs(errors[1]), errors
        assert abs(errors[1]) < 5e-4


# ---------------------------------------------------------------- Johnson, Kendall, Roberts


def test_jkr_pull_off_at_growing_tabor_number():
    found = [jkr(tabor, 4) for tabor in (1, 2)]
    assert all(case.status == "SOLVED" for case in found)
    # every element that the law pulls on resolves the cohesive zone, as the audit asks
    assert min(case.per_zone for case in found) > 3.95
    errors = [1.0 - case.pull_off for case in found]
    # a cohesive zone shorter than contact: the law's reach weakens the pull
    assert 0.0 < errors[1] < errors[0]
    assert 1.4 < orders(errors)[0] < 2.1, errors
    # reason: JKR is the limit of an infinite Tabor number; at 2 the law misses 1.9 %
    assert found[1].pull_off == pytest.approx(1.0, abs=0.02)


def test_jkr_contact_without_load():
    found = [jkr(tabor, 3, zero_load=True) for tabor in (1, 2)]
    errors = [1.0 - case.zero_load for case in found]
    assert 0.0 < errors[1] < errors[0]
    assert 0.6 < orders(errors)[0] < 1.4, errors
    # reason: the edge is counted at g_max, inside the zone that JKR shrinks to a point
    assert found[1].zero_load == pytest.approx(1.0, abs=0.05)


# ---------------------------------------------------------------- Cattaneo and Mindlin


def test_partial_slip_with_a_stiffer_law():
    # normal and tangential springs together, on a mesh that keeps pace with them: k h = 3.1
    found = [mindlin(k, cell) for k, cell in ((12.5, 1 / 4), (25.0, 1 / 8), (50.0, 1 / 16))]
    assert all(case.status == SPRINGS for case in found)
    assert all(case.part[0] < 0.12 and case.part[-1] > 0.82 for case in found)
    # shear traction in the wrong place, of the first order in the springs
    wrong = [case.misplaced for case in found]
    assert np.all((orders(wrong) > 0.8) & (orders(wrong) < 1.4)), wrong
    # c / a against sqrt(1 - Q / (mu P)), from almost all stuck to almost all sliding
    edge = [np.abs(case.stuck).mean() for case in found]
    assert np.all((orders(edge) > 0.4) & (orders(edge) < 1.2)), edge
    assert np.abs(found[-1].stuck).max() < 0.02


# ---------------------------------------------------------------- Kendall


def test_peeling_at_a_right_angle():
    coarse, fine = (peel(0.02, (cells, 2)) for cells in (60, 120))
    assert coarse.status == fine.status == "SOLVED"
    # the strip stretches: Kendall's force is 0.9 % below W, ten times the error allowed
    assert 1.0 - fine.kendall > 9e-3
    assert fine.mean == pytest.approx(1.0, abs=1e-3)
    assert coarse.mean == pytest.approx(1.0, abs=1e-3)
    # elements open one by one; what the force wavers by falls fast once they resolve the zone
    assert fine.spread < 1e-3
    assert coarse.spread > 8.0 * fine.spread


def test_peeling_of_a_strip_that_hardly_stretches():
    # Kendall's strip is linear; what finite strain adds falls with the square of W / (E' h)
    found = [peel(work, (120, 2)) for work in (0.04, 0.02)]
    fall = orders([case.mean - 1.0 for case in found])[0]
    assert 1.7 < fall < 2.3, fall


def test_peeling_becomes_steady():
    # a free length s leaves the angle off by exp(-s / bending length), the force by the square
    found = peel(0.02, (120, 2))
    early = (found.lift > 1.5) & (found.lift < 3.0)
    slope = np.polyfit(found.lift[early], np.log(found.force[early] - found.mean), 1)[0]
    assert -2.5 < slope < -1.7, slope
