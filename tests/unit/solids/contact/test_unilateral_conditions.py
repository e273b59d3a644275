"""Conditions of hard contact at nodes: derivatives, roots, and what each state asks for."""

import numpy as np
import pytest

from stiction.solids.contact.unilateral_conditions import Weighted, conditions


def drawn(seed, m):
    rng = np.random.default_rng(seed)
    count = 12
    root = rng.normal(0.0, 0.2, (count, m, m)) + np.eye(m)
    metric = np.einsum("nab,ncb->nac", root, root)
    at = Weighted(
        rng.uniform(0.5, 2.0, count),
        rng.normal(0.0, 0.3, count),
        rng.normal(0.0, 0.3, (count, m)),
        metric,
        np.ones(count, dtype=bool),
        np.ones(count, dtype=bool),
    )
    return rng.normal(0.3, 1.0, (count, 1 + m)), at


STEP = 1e-6


def slope(values, at, mu, field, step):
    """Return the central difference of all conditions along a step of one argument."""
    found = []
    for sign in (STEP, -STEP):
        if field == "values":
            found.append(conditions(values + sign * step, at, 1.7, 1e-13, mu).residual)
        else:
            moved = at._replace(**{field: getattr(at, field) + sign * step})
            found.append(conditions(values, moved, 1.7, 1e-13, mu).residual)
    return (found[0] - found[1]) / (2.0 * STEP)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("mu", [None, 0.6])
def test_derivatives(m, mu):
    states = set()
    for seed in range(20):
        values, at = drawn(seed, m)
        here = conditions(values, at, 1.7, 1e-13, mu)
        states |= {(bool(c), bool(s)) for c, s in zip(here.closed, here.sticks, strict=True)}
        for j in range(1 + m):
            step = np.zeros_like(values)
            step[:, j] = 1.0
            expected = here.by_own[:, :, j] * at.area[:, None]
            assert slope(values, at, mu, "values", step) == pytest.approx(expected, abs=2e-6)
        found = slope(values, at, mu, "gap", np.ones(values.shape[0]))
        assert found == pytest.approx(here.by_gap, abs=2e-6)
        for j in range(m):
            step = np.zeros_like(at.slip)
            step[:, j] = 1.0
            found = slope(values, at, mu, "slip", step)[:, 1:]
            assert found == pytest.approx(here.by_slip[:, :, j], abs=2e-6)
            for i in range(m):
                # a metric is symmetric
                step = np.zeros_like(at.metric)
                step[:, i, j] += 0.5
                step[:, j, i] += 0.5
                both = here.by_metric[:, :, i, j] + here.by_metric[:, :, j, i]
                found = slope(values, at, mu, "metric", step)[:, 1:]
                assert found == pytest.approx(0.5 * both * at.area[:, None], abs=2e-6)
    known = {(False, False), (True, False)} | (set() if mu is None else {(True, True)})
    assert states == known


@pytest.mark.parametrize("c", [0.1, 1.0, 1e3])
def test_roots_do_not_depend_on_the_stiffness(c):
    # open; pressed and stuck; pressed and sliding with slip along its traction
    eye = np.tile(np.eye(2), (3, 1, 1))
    yes = np.ones(3, dtype=bool)
    gap, slip = np.array([0.2, 0.0, 0.0]), np.array([[0.0, 0.0], [0.0, 0.0], [0.3, 0.4]])
    values = np.array([[0.0, 0.0, 0.0], [2.0, 0.3, -0.4], [2.0, 0.6, 0.8]])
    at = Weighted(np.array([1.0, 2.0, 0.5]), gap, slip, eye, yes, yes)
    found = conditions(values, at, c, 1e-13, 0.5)
    # but for the compliance, 1e-8 of that of an element
    assert found.residual == pytest.approx(np.zeros((3, 3)), abs=1e-7)
    assert list(found.closed) == [False, True, True]
    assert list(found.sticks) == [False, True, False]
    assert list(found.slides) == [False, False, True]


def test_slip_against_its_traction_passes_through_stick():
    yes = np.ones(1, dtype=bool)
    one = Weighted(np.ones(1), np.zeros(1), np.array([[-5.0]]), np.ones((1, 1, 1)), yes, yes)
    assert conditions(np.array([[1.0, 0.5]]), one, 1.0, 0.0, 0.5).sticks[0]
    along = one._replace(slip=np.array([[5.0]]))
    assert conditions(np.array([[1.0, 0.5]]), along, 1.0, 0.0, 0.5).slides[0]


def test_a_node_without_known_slip_has_no_friction():
    yes, no = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
    one = Weighted(np.ones(1), np.zeros(1), np.ones((1, 1)), np.ones((1, 1, 1)), yes, no)
    found = conditions(np.array([[1.0, 0.5]]), one, 1.0, 0.0, 0.5)
    assert not found.sticks[0]
    assert not found.slides[0]
    assert found.residual[0, 1] == 0.5
