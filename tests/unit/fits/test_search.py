import dataclasses

import numpy as np
import pytest
from fit_cases import cases

from stiction.fits import Free, ImposedSlip, search
from stiction.fits.problem import Problem
from stiction.fits.search import Minimum, best, minimised
from stiction.laws import StaticKinetic


def problem(name, rows=120, seed=0):
    case = cases(rows)[name]
    return Problem(type(case.law), case.rig, [case.drawn(seed)], None, {}), case


@pytest.mark.parametrize("name", ["Stribeck", "Dahl", "BoucWen", "AgeingLaw", "pulled Coulomb"])
def test_a_search_ends_where_the_gradient_vanishes(name):
    asked, case = problem(name)
    values = np.array([case.truth[q.name] for q in asked.parameters])
    found = minimised(asked, asked.coordinates.coordinates(values))
    jac = asked.jacobian(found.y) * asked.typical_sizes(found.y)
    r = asked.residuals(found.y)
    steepest = np.abs(jac.T @ r) / (np.linalg.norm(jac, axis=0) * np.linalg.norm(r))
    assert steepest.max() < 1e-4


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_derivatives_are_those_of_wider_differences(name):
    asked, case = problem(name, 90)
    values = 1.01 * np.array([case.truth[q.name] for q in asked.parameters])
    y = asked.coordinates.coordinates(values)
    made = asked.jacobian(y)
    size = asked.typical_sizes(y)
    for i in range(y.size):
        h = 2e-4 * size[i]
        up, down = y.copy(), y.copy()
        up[i] += h
        down[i] -= h
        wide = (asked.residuals(up) - asked.residuals(down)) / (2.0 * h)
        # the middle of sorted differences: single rows lie beside an event
        off = np.abs(made[:, i] - wide) / np.abs(wide).max()
        assert np.quantile(off, 0.95) < 1e-4, asked.parameters[i].name


def test_many_starts_find_the_same():
    asked, _ = problem("LuGre", 100)
    one, agree, _ = best(asked, 1)
    two, _, _ = best(asked, 2)
    assert agree >= 2
    assert one.rss == pytest.approx(two.rss, rel=1e-8)


@pytest.mark.parametrize(("draws", "searches", "agree"), [(0, 2, 1), (1, 6, 2), (2, 6, 2)])
def test_searches_go_on_until_two_agree(monkeypatch, draws, searches, agree):
    """Only where the problem has further draws, and from other points each time."""
    asked, _ = problem("Dahl", 60)
    asked.n_candidates, asked.n_searches, asked.further_draws = 4, 2, draws
    asked.generations, asked.tolerance = 0, 1e-6
    starts = []

    def fake(asked, y, **limits):
        starts.append(tuple(y))
        return Minimum(y, [5.0, 9.0, 7.0, 1.0, 3.0, 1.0][len(starts) - 1], True)

    monkeypatch.setattr(search, "minimised", fake)
    top, found, ends = best(asked, 1)
    assert (len(ends), found) == (searches, agree)
    assert top.rss == min(end.rss for end in ends)
    assert len(set(starts)) == len(starts)


def stick_slip(unit=1.0):
    """Return a slider whose misfit ends in cliffs, where all local searches stop beside it.

    unit : of force and mass [N], [kg]
    """
    case = cases(300)["pulled StaticKinetic"]
    case = dataclasses.replace(case, law=StaticKinetic(0.392252, 0.249443))
    drawn = case.drawn(27)
    curve = dataclasses.replace(
        drawn, force=drawn.force / unit, normal_force=drawn.normal_force / unit
    )
    free = {"stiffness": Free(start=1e3 / unit), "mass": Free(start=1.0 / unit)}
    asked = Problem(StaticKinetic, dataclasses.replace(case.rig, **free), [curve], None, {})
    per = [1.0 if q.owner == "law" else unit for q in asked.parameters]
    values = np.array([case.truth[q.name] for q in asked.parameters]) / per
    return asked, minimised(asked, asked.coordinates.coordinates(values))


def test_evolution_finds_the_valley_of_the_truth():
    asked, near_truth = stick_slip()
    found, agree, ends = best(asked, 2)
    assert found.rss <= near_truth.rss
    assert agree >= 2
    # local searches alone end far from it: what follows was needed
    asked.generations = 0
    local, _, fewer = best(asked, 2)
    assert local.rss > 10.0 * found.rss
    assert len(fewer) < len(ends)


def test_evolution_finds_the_same_valley_in_other_units_of_force():
    unit = 1e3
    asked, near_truth = stick_slip(unit)
    found, agree, _ = best(asked, 2)
    assert found.rss <= near_truth.rss
    assert agree >= 2
    # kilonewtons and tonnes: the same law, a softer spring and a lighter mass by the unit
    _, usual = stick_slip()
    law = asked.coordinates.physical(found.y)[:2]
    assert law == pytest.approx(asked.coordinates.physical(usual.y)[:2], rel=1e-3)


def test_a_search_ends_at_the_same_law_in_nanonewtons():
    case = cases(120)["Stribeck"]
    law = case.law
    rig = ImposedSlip(offset=0.0, drift=0.0)
    ends = []
    for unit in (1.0, 1e-9):
        curve = case.drawn(0)
        force, normal = unit * (curve.force - curve.force.mean()), unit * curve.normal_force
        curve = dataclasses.replace(curve, force=force, normal_force=normal)
        asked = Problem(type(law), rig, [curve], None, {})
        start = [1.1 * case.truth[q.name] for q in asked.parameters]
        end = minimised(asked, asked.coordinates.coordinates(np.array(start)))
        ends.append(asked.coordinates.physical(end.y))
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


def test_searches_that_agree_on_noise_are_followed_by_nothing():
    asked, _ = problem("pulled Coulomb")
    assert asked.has_events
    assert len(best(asked, 1)[2]) <= asked.n_searches + 1


def test_imposed_slip_has_no_events_to_find():
    asked, _ = problem("LuGre")
    assert not asked.has_events


def test_a_search_ends_at_the_same_law_without_a_normal_force_in_nanonewtons():
    case = cases(120)["Stribeck"]
    ends = []
    for unit in (1.0, 1e-9):
        curve = case.drawn(0)
        curve = dataclasses.replace(curve, force=unit * curve.force)
        asked = Problem(type(case.law), ImposedSlip(offset=0.0, drift=0.0), [curve], None, {})
        # without the normal force coefficients are forces
        size = np.array([1.0 if q.name == "v_scale" else unit for q in asked.parameters])
        start = size * [1.1 * case.truth[q.name] for q in asked.parameters]
        end = minimised(asked, asked.coordinates.coordinates(start))
        ends.append(asked.coordinates.physical(end.y) / size)
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)
