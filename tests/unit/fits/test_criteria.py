"""Criteria of laws, blocks of rows and warnings, by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from stiction.fits import comparison
from stiction.fits.outcome import Fit, _at_bounds, criteria


def problem(n, p, scales=None):
    known = scales is not None
    rows = [np.arange(n) < n] if not known else [s > 0.0 for s in scales]
    return SimpleNamespace(
        rows=n, parameters=[0] * p, known_noise=known, scales=scales or [np.ones(n)], masks=rows
    )


@pytest.mark.parametrize(("n", "p", "rss"), [(20, 2, 3.0), (7, 3, 0.5), (100, 1, 250.0)])
def test_criteria_where_the_noise_is_found(n, p, rss):
    """Hurvich and Tsai 1989: the normal likelihood at its top, sigma^2 = rss / n."""
    k = p + 1
    deviance = n * (math.log(2.0 * math.pi * rss / n) + 1.0)
    aic = deviance + 2.0 * k + 2.0 * k * (k + 1) / (n - k - 1)
    assert criteria(problem(n, p), rss) == pytest.approx((aic, deviance + k * math.log(n)))


def test_criteria_of_as_many_numbers_as_rows_are_finite():
    # the correction divides by one where nothing is left
    deviance = 4 * (math.log(2.0 * math.pi * 2.0 / 4) + 1.0)
    assert criteria(problem(4, 2), 2.0)[0] == pytest.approx(deviance + 2 * 3 + 2 * 3 * 4)
    assert math.isfinite(criteria(problem(4, 2), 0.0)[0])


def test_criteria_where_the_noise_is_given():
    """-2 ln L = sum (r / s)^2 + n ln 2 pi + 2 sum ln s, over the rows that count."""
    scales = [np.array([0.1, 0.2, 0.0]), np.array([0.5, 0.0, 0.0])]
    n, p, rss = 3, 1, 4.0
    deviance = rss + n * math.log(2.0 * math.pi) + 2.0 * math.log(0.1 * 0.2 * 0.5)
    aic = deviance + 2.0 * p + 2.0 * p * (p + 1) / 1
    assert criteria(problem(n, p, scales), rss) == pytest.approx((aic, deviance + math.log(n)))


class Rows:
    """A problem whose fit is the mean of the rows that count."""

    def __init__(self, data, mask):
        self.data, self.masks = data, [mask]
        self.rows, self.parameters, self.known_noise = int(mask.sum()), [0], False
        self.scales = [np.ones(data.size)]

    def restricted_to(self, masks):
        return Rows(self.data, self.masks[0] & masks[0])

    def residuals(self, y):
        return self.data[self.masks[0]] - y[0]


def minimised(problem, start):
    y = np.array([problem.data[problem.masks[0]].mean()])
    r = problem.residuals(y)
    return SimpleNamespace(y=y, rss=float(r @ r))


@pytest.mark.parametrize("folds", [0, 1, 2, 3, 5])
def test_rows_that_are_left_out_are_predicted_by_the_others(monkeypatch, folds):
    monkeypatch.setattr(comparison, "minimised", minimised)
    data = np.random.default_rng(1).normal(size=40)
    found = comparison._left_out(Rows(data, np.ones(40, dtype=bool)), np.zeros(1), folds)
    if folds < 2:
        assert math.isnan(found)
        return
    # five blocks in each fold, in turn
    fold = (np.arange(40) * 5 * folds // 40) % folds
    squares = [(data[fold == k] - data[fold != k].mean()) ** 2 for k in range(folds)]
    assert found == pytest.approx(math.sqrt(np.concatenate(squares).mean()))


@pytest.mark.parametrize("free", [1, 4])
def test_the_noise_is_that_of_the_rows_less_the_parameters(monkeypatch, free):
    monkeypatch.setattr(comparison, "minimised", minimised)
    monkeypatch.setattr(comparison, "_coordinates", lambda one: np.zeros(1))
    data = np.random.default_rng(2).normal(size=10)
    estimates = [SimpleNamespace(value=0.0)] * free
    one = SimpleNamespace(
        problem=Rows(data, np.ones(10, dtype=bool)), estimates=estimates, unknown=("a", "b")
    )
    common = [np.arange(10) < 8]
    row = comparison._row(one, common, 2)
    rss = float(((data[:8] - data[:8].mean()) ** 2).sum())
    assert row["parameters"] == free
    assert row["noise"] == pytest.approx(math.sqrt(rss / (8 - free)))
    assert (row["aic"], row["bic"]) == pytest.approx(criteria(problem(8, 1), rss))
    assert row["left_out"] > 0.0
    assert row["undetermined"] == "a, b"


def estimate(name, value=0.5, low=0.4, high=0.6, error=0.05, message=""):
    return SimpleNamespace(name=name, value=value, low=low, high=high, error=error, message=message)


class Coordinates:
    """Coordinates between 0 and 1 that are the values themselves."""

    def coordinates(self, values):
        return values

    def bounds(self):
        return np.zeros(9), np.ones(9)


def fit_of(estimates, correlation=None):
    n = len(estimates)
    class_ = Coordinates()
    class_.bounds = lambda: (np.zeros(n), np.ones(n))
    made = SimpleNamespace(coordinates=class_, typical_sizes=lambda y: np.ones(y.size))
    correlation = np.eye(n) if correlation is None else np.array(correlation)
    return SimpleNamespace(problem=made, estimates=estimates, correlation=correlation)


@pytest.mark.parametrize(
    ("at", "edge"),
    [
        ({}, False),
        # within a thousandth of the smaller of the error and the interval
        ({"value": 0.40006}, False),
        ({"value": 0.40004}, True),
        ({"value": 0.59996}, True),
        ({"value": 0.59994}, False),
        ({"value": 0.40006, "error": 0.5}, True),
        ({"low": -np.inf, "high": np.inf, "error": np.inf}, False),
        # within a thousandth of the spread of what the law admits
        ({"value": 0.0009, "low": -1.0, "high": 1.0}, True),
        ({"value": 0.0011, "low": -1.0, "high": 1.0}, False),
        ({"value": 0.9991, "low": -1.0, "high": 2.0}, True),
        ({"value": 0.9989, "low": -1.0, "high": 2.0}, False),
    ],
)
def test_estimates_at_an_edge_are_named(at, edge):
    assert list(_at_bounds(fit_of([estimate("mu", **at)]))) == ["mu"] * edge


def test_warnings_say_what_is_unknown_and_what_goes_together():
    estimates = [
        estimate("a", message="no speed"),
        estimate("b", message="no speed"),
        estimate("c"),
    ]
    correlation = [[1.0, 0.5, -0.985], [0.5, 1.0, 0.979], [-0.985, 0.979, 1.0]]
    made = fit_of(estimates, correlation)
    assert Fit.warnings.fget(made) == ("no speed", "a and c are correlated: -0.985")
    assert Fit.unknown.fget(made) == ("a", "b")
    one = SimpleNamespace(
        problem=SimpleNamespace(data=[np.array([1.0, 2.0])]),
        forces=[np.array([0.25, 0.5])],
        used=[np.array([True, False])],
    )
    np.testing.assert_array_equal(Fit.residuals.fget(one)[0], [0.75, np.nan])
