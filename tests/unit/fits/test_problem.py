"""Differences, sizes and neighbours of residuals, on problems that are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.fits import Curve, ImposedSlip, SpringDrive
from stiction.fits.problem import Problem


def parabola(events=lambda y: 0, bounds=(-9.0, 9.0)):
    """A problem whose residuals are y^2 and 3 y."""

    def residuals(y, profiled):
        return np.array([y[0] ** 2, 3.0 * y[0]]), events(y[0])

    return SimpleNamespace(_residuals=residuals)


def slope(problem, y, h, bounds, events=0):
    base = np.array([y**2, 3.0 * y])
    return Problem._difference(problem, np.array([y]), None, 0, h, bounds, base, events)


WIDE = (-9.0, 9.0)


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        # 2 y from both sides; (f(y + h) - f) / h = 2 y + h; (f - f(y - h)) / h = 2 y - h
        (lambda y: 0, 4.0),
        (lambda y: int(y > 2.0), 4.0 - 0.1),
        (lambda y: int(y < 2.0), 4.0 + 0.1),
        # neither side has as many events as the middle
        (lambda y: 1 + (y > 2.0), 4.0),
    ],
)
def test_differences_are_taken_between_like_orders_of_events(events, wanted):
    found = slope(parabola(events), 2.0, 0.1, WIDE)
    assert found == pytest.approx([wanted, 3.0])


@pytest.mark.parametrize("bounds", [(2.0, 9.0), (1.95, 9.0), (-9.0, 2.0), (-9.0, 2.05)])
def test_at_a_bound_differences_go_inside_and_are_of_second_order(bounds):
    assert slope(parabola(), 2.0, 0.1, bounds) == pytest.approx([4.0, 3.0])


@pytest.mark.parametrize("bounds", [(1.9, 9.0), (-9.0, 2.1), (1.9, 2.1)])
def test_a_step_to_the_bound_itself_is_taken(bounds):
    seen = []
    problem = SimpleNamespace(
        _residuals=lambda y, profiled: (seen.append(float(y[0])) or np.array([y[0], 0.0]), 0)
    )
    slope(problem, 2.0, 0.1, bounds)
    assert seen == pytest.approx([2.1, 1.9])


def test_neighbours_are_compared_within_a_curve():
    """sum of r_i r_(i+1) over sum of r_i^2, without the pair across two curves."""
    masks = [np.array([True, True, False, True]), np.array([True, True])]
    problem = SimpleNamespace(masks=masks)
    r = np.array([1.0, 2.0, 3.0, -1.0, 4.0])
    wanted = (1.0 * 2.0 + 2.0 * 3.0 - 1.0 * 4.0) / (1.0 + 4.0 + 9.0 + 1.0 + 16.0)
    assert Problem.autocorrelation(problem, r) == pytest.approx(wanted)
    assert Problem.autocorrelation(problem, np.zeros(5)) == 0.0


def test_derivatives_omit_the_profiled_parameter():
    problem = SimpleNamespace(
        relative_step=0.01,
        coordinates=SimpleNamespace(bounds=lambda profiled: (np.full(2, -9.0), np.full(2, 9.0))),
        typical_sizes=lambda y: np.array([2.0, 4.0]),
        _residuals=lambda y, profiled: (np.array([y[0] * y[1], y[1] ** 2]), 0),
    )
    steps = []

    def slope(y, profiled, i, h, bounds, base, events):
        steps.append((i, h))
        return Problem._difference(problem, y, profiled, i, h, bounds, base, events)

    problem._difference = slope
    found = Problem.jacobian(problem, np.array([3.0, 5.0]))
    assert found == pytest.approx(np.array([[5.0, 3.0], [0.0, 10.0]]))
    assert steps == [(0, 0.02), (1, 0.04)]
    found = Problem.jacobian(problem, np.array([3.0, 5.0]), (1, 5.0))
    assert found == pytest.approx(np.array([[5.0, 0.0], [0.0, 0.0]]))


def parameter(field, owner="law", *, logarithmic=False, signed=False, start=None):
    own = {"of_own_law": start is not None, "start": start}
    return SimpleNamespace(field=field, owner=owner, logarithmic=logarithmic, signed=signed, **own)


def test_sizes_of_coordinates():
    """Of a logarithm one; of offsets and drifts a fiftieth of the force; else of the ratio."""
    curve = SimpleNamespace(
        clock=np.array([1.0, 5.0]), speeds=lambda: np.array([0.1, -0.5, np.nan])
    )
    problem = SimpleNamespace(
        coordinates=SimpleNamespace(physical=lambda y: 10.0 * y),
        parameters=[
            parameter("mu", logarithmic=True),
            parameter("offset", "0", signed=True),
            parameter("drift", "0", signed=True),
            parameter("gamma"),
            parameter("viscous"),
            parameter("other"),
            parameter("stiffness", "rig"),
            parameter("slope", signed=True, start=-1e-7),
        ],
        data=[np.array([1.0, 3.0]), np.array([0.0, 4.0])],
        predictors=[SimpleNamespace(normal=2.0), SimpleNamespace(normal=5.0)],
        curves=[curve],
    )
    for name in ("_force_size", "_ratio_size", "_smallest_size"):
        setattr(problem, name, getattr(Problem, name).__get__(problem))
    # the largest span of a force is 4, the largest ratio 3 / 2
    small = Problem.typical_sizes(problem, np.array([-7.0, 0.0, 1e-9, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert small == pytest.approx([1.0, 0.08, 0.02, 0.1, 0.06, 0.03, 0.03, 1e-8])
    large = Problem.typical_sizes(
        problem, np.array([-7.0, -0.5, -3.0, -2.0, 4.0, -0.5, 0.25, -2.0])
    )
    assert large == pytest.approx([1.0, 5.0, 3.0, 2.0, 4.0, 0.5, 0.25, 2.0])


SPEED = np.linspace(-0.1, 0.1, 20)
FORCE = 0.3 * np.sign(SPEED)


@pytest.mark.parametrize(
    ("law", "rig"),
    [
        (st.laws.Dahl, ImposedSlip()),
        (st.laws.BoucWen, ImposedSlip()),
        (st.Coulomb, SpringDrive(10.0)),
        (st.laws.Dahl, SpringDrive(10.0)),
    ],
)
def test_velocities_are_not_integrated_over_row_numbers(law, rig):
    with pytest.raises(ModelError, match=r"Curve.time.*displacement"):
        Problem(law, rig, [Curve(force=FORCE, velocity=SPEED)], None, {})
    Problem(law, rig, [Curve(force=FORCE, displacement=SPEED)], None, {})


@pytest.mark.parametrize("power", ["a", 3.0])
def test_known_values_are_those_of_the_law(power):
    with pytest.raises(ModelError, match=r"Dahl\.power"):
        Problem(
            st.laws.Dahl,
            ImposedSlip(),
            [Curve(force=FORCE, displacement=SPEED)],
            None,
            {"power": power},
        )
