"""Initial shapes: values, slopes, corners, and what they refuse."""

import numpy as np
import pytest

import stiction as st
from stiction.rods import Bump, Pluck, RollingStrings, Samples, Sine, Sum, UserShape
from stiction.rods.strings.model import _GOLDEN

LENGTH = 5.0
X = np.linspace(0.0, LENGTH, 101)[1:-1]


def test_sine_on_both_ends():
    wave = Sine(3, 0.5)
    assert np.allclose(wave.value(X, LENGTH, "fixed"), 0.5 * np.sin(3.0 * np.pi * X / LENGTH))
    around = Sine(3, 0.5, 0.2).value(X, LENGTH, "periodic")
    assert np.allclose(around, 0.5 * np.sin(6.0 * np.pi * X / LENGTH + 0.2))


@pytest.mark.parametrize("ends", ["fixed", "periodic"])
@pytest.mark.parametrize(
    "shape",
    [
        Sine(2, 0.7),
        Bump(2.0, 1.5, 0.4),
        Pluck(2.0123, 0.3),
        Samples(np.sin(np.pi * np.arange(12) / 11.0) * np.arange(12)),
        Sum([Sine(1, 1.0), Bump(3.0, 1.0, 0.2)]),
    ],
)
def test_slope_is_the_derivative(shape, ends):
    h = 1e-6
    difference = shape.value(X + h, LENGTH, ends) - shape.value(X - h, LENGTH, ends)
    assert np.allclose(shape.slope(X, LENGTH, ends), difference / (2.0 * h), rtol=0.0, atol=1e-7)


def test_bump_reaches_across_the_start_of_a_circle():
    bump = Bump(0.0, 1.0, 2.0)
    x = np.array([0.5, LENGTH - 0.5, 0.0, 2.0])
    y = bump.value(x, LENGTH, "periodic")
    assert y[0] == y[1] > 0.0
    assert y[2] == 2.0
    assert y[3] == 0.0
    with pytest.raises(st.ModelError, match="at most half the length"):
        Bump(0.0, 3.0, 1.0).value(x, LENGTH, "periodic")


def test_pluck_has_a_corner():
    pluck = Pluck(2.0, 0.3)
    assert pluck.corners(LENGTH, "fixed").tolist() == [2.0]
    assert pluck.corners(LENGTH, "periodic").tolist() == [2.0, 4.5]
    assert pluck.value(np.array([0.0, 2.0, 5.0]), LENGTH, "fixed").tolist() == [0.0, 0.3, 0.0]
    with pytest.raises(st.ModelError, match="between the ends"):
        pluck.value(X, 1.5, "fixed")


def test_samples_follow_a_smooth_function():
    x = np.linspace(0.0, LENGTH, 41)
    fine = Samples(np.sin(np.pi * x / LENGTH))
    assert np.allclose(fine.value(X, LENGTH, "fixed"), np.sin(np.pi * X / LENGTH), atol=1e-8)
    around = Samples(np.cos(2.0 * np.pi * x[:-1] / LENGTH))
    wave = np.cos(2.0 * np.pi * X / LENGTH)
    assert np.allclose(around.value(X, LENGTH, "periodic"), wave, atol=1e-6)
    with pytest.raises(st.ModelError, match="at least 6"):
        Samples([0.0, 1.0, 0.0])


def test_sum_adds_and_keeps_corners():
    both = Sum([Pluck(2.0, 0.3), Sine(1, 1.0)])
    assert both.corners(LENGTH, "fixed").tolist() == [2.0]
    y = Pluck(2.0, 0.3).value(X, LENGTH, "fixed") + Sine(1, 1.0).value(X, LENGTH, "fixed")
    assert np.array_equal(both.value(X, LENGTH, "fixed"), y)
    for bad in ([], None, [1.0]):
        with pytest.raises(st.ModelError, match="a list of shapes"):
            Sum(bad)


def test_user_shape_needs_a_derivative():
    only = UserShape(lambda x: x * (LENGTH - x))
    RollingStrings(length=LENGTH, u_t0=UserShape(lambda x: 0.01 * x * (LENGTH - x)))
    with pytest.raises(st.ModelError, match="derivative"):
        RollingStrings(length=LENGTH, u0=only)
    with pytest.raises(st.ModelError, match="a function"):
        UserShape(3.0)
    with pytest.raises(st.ModelError, match=r"UserShape\.derivative: got values that are not"):
        RollingStrings(length=LENGTH, u0=UserShape(lambda x: 0.0 * x, lambda x: np.nan * x))


def test_a_derivative_of_another_function_is_refused():
    def bow(x):
        return 0.1 * np.sin(np.pi * x / LENGTH)

    def slope(x):
        return 0.1 * np.pi / LENGTH * np.cos(np.pi * x / LENGTH)

    RollingStrings(length=LENGTH, u0=UserShape(bow, slope))
    got = r"u0: got the derivative (\S+) at x = \S+, where the shape has the slope (\S+);"
    for wrong in (lambda x: -slope(x), lambda x: 1.01 * slope(x), lambda x: slope(x) + 1e-3):
        with pytest.raises(st.ModelError, match=got):
            RollingStrings(length=LENGTH, u0=Sum([Sine(2, 0.1), UserShape(bow, wrong)]))

    # a narrow pulse at one of the points that are compared, and beside it
    for aside in (0.0, 0.3e-4, 0.9e-4):
        pulse = Bump(LENGTH * ((7.0 * _GOLDEN) % 1.0 + aside), LENGTH * 1e-4, 0.1)
        RollingStrings(length=LENGTH, u0=pulse)

    # a kink has no derivative, and two slopes next to it
    def corner(x):
        return np.abs(x - 1.0) * x * (LENGTH - x)

    def on_both_sides(x):
        return np.sign(x - 1.0) * (x * (LENGTH - x) + (x - 1.0) * (LENGTH - 2.0 * x))

    RollingStrings(length=LENGTH, v0=UserShape(corner, on_both_sides, kinks=[1.0]))
    torn = UserShape(lambda x: bow(x) + 0.3 * (x > 1.0) * (x < 2.0), slope, kinks=[1.0, 2.0])
    with pytest.raises(st.ModelError, match=r"a jump by 0\.3 at x = 1"):
        RollingStrings(length=LENGTH, v0=torn)


@pytest.mark.parametrize("at", [-1.0, LENGTH + 1.0, 40.0])
def test_a_bump_beside_the_string_is_refused(at):
    with pytest.raises(st.ModelError, match=r"Bump\.at"):
        RollingStrings(length=LENGTH, u_t0=Bump(at, 1.0, 0.1))
    RollingStrings(length=LENGTH, u_t0=Bump(at, 1.0, 0.1), ends="periodic")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sine(0, 1.0),
        lambda: Sine(1, float("nan")),
        lambda: Bump(1.0, 0.0, 1.0),
        lambda: Pluck("here", 1.0),
        lambda: Samples([0.0, np.inf, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_bad_shapes_are_refused(make):
    with pytest.raises(st.ModelError, match="Why:"):
        make()


def test_kinks_on_a_circle_are_taken_modulo_its_length():
    kinked = UserShape(np.cos, np.cos, kinks=[1.5 - LENGTH, 0.5])
    assert kinked.corners(LENGTH, "periodic") == pytest.approx([1.5, 0.5])


def test_a_function_that_looks_up_too_far_is_refused():
    with pytest.raises(st.ModelError, match="IndexError"):
        UserShape(lambda x: x[10_000]).value(np.zeros(3), LENGTH, "fixed")
