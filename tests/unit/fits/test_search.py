import dataclasses

import numpy as np
import pytest
from fit_cases import cases

from stiction.fits.problem import Problem
from stiction.fits.search import best, polished
from stiction.laws import StaticKinetic


def problem(name, rows=120, seed=0):
    case = cases(rows)[name]
    return Problem(type(case.law), case.rig, [case.drawn(seed)], None, {}), case


@pytest.mark.parametrize("name", ["Stribeck", "Dahl", "BoucWen", "AgeingLaw", "pulled Coulomb"])
def test_a_search_ends_where_the_gradient_vanishes(name):
    asked, case = problem(name)
    values = np.array([case.truth[q.name] for q in asked.parameters])
    found = polished(asked, asked.coordinates.coordinates(values))
    jac = asked.jacobian(found.y) * asked.spread(found.y)
    r = asked.residuals(found.y)
    steepest = np.abs(jac.T @ r) / (np.linalg.norm(jac, axis=0) * np.linalg.norm(r))
    assert steepest.max() < 1e-4


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_derivatives_are_those_of_wider_differences(name):
    asked, case = problem(name, 90)
    values = 1.01 * np.array([case.truth[q.name] for q in asked.parameters])
    y = asked.coordinates.coordinates(values)
    made = asked.jacobian(y)
    size = asked.spread(y)
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


def stick_slip():
    """Return a slider whose misfit ends in cliffs, where all local searches stop beside it."""
    case = cases(300)["pulled StaticKinetic"]
    case = dataclasses.replace(case, law=StaticKinetic(0.392252, 0.249443))
    asked = Problem(StaticKinetic, case.rig, [case.drawn(27)], None, {})
    values = np.array([case.truth[q.name] for q in asked.parameters])
    return asked, polished(asked, asked.coordinates.coordinates(values))


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


def test_searches_that_agree_on_noise_are_followed_by_nothing():
    asked, _ = problem("pulled Coulomb")
    assert asked.has_events
    assert len(best(asked, 1)[2]) <= asked.followed + 1


def test_imposed_slip_has_no_events_to_find():
    asked, _ = problem("LuGre")
    assert not asked.has_events
