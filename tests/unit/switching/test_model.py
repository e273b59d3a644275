"""Piecewise-smooth systems: fields, gradients, and what is refused at the door."""

import math
import sys

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError, PlainFunctionWarning
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.sizes import sizes_of


def flow(**changes):
    given = {
        "h": lambda x: x[0] - 0.5 * x[1] ** 2,
        "f_plus": lambda x: (x[1], -1.0),
        "f_minus": lambda x: (math.sin(x[0]), 1.0),
        "x0": [1.0, 0.5],
    }
    return PiecewiseSmooth(**{**given, **changes})


def test_fields_and_gradients():
    x = np.array([0.3, -0.8])
    system = flow()
    assert system.field(x, 1.0).tolist() == [-0.8, -1.0]
    assert system.field(x, -1.0).tolist() == [math.sin(0.3), 1.0]
    assert system.surfaces_at(x)[0] == pytest.approx(0.3 - 0.32, abs=1e-15)
    assert system.gradient(x)[0] == pytest.approx([1.0, 0.8], abs=1e-12)
    assert system.compiled.plane is None
    given = flow(h_gradient=lambda x: (1.0, -x[1]))
    assert given.gradient(x)[0] == pytest.approx([1.0, 0.8], abs=1e-15)


def test_the_gradient_of_a_surface_far_from_the_start_of_time():
    # sin(w t) has rounding errors of 3e-8 at t = 5e4: no distance of the differences reaches 1e-8
    rate, late = 2.0 * math.pi * 400.0, 5e4 + 0.3
    system = PiecewiseSmooth(
        h=lambda t, x: x[0] - np.sin(rate * t),
        f_plus=lambda t, x: [-1.0],
        f_minus=lambda t, x: [1.0],
        x0=[0.3],
    )
    slope = system.gradient(np.array([0.3, late]))[0, 1]
    assert slope == pytest.approx(-rate * math.cos(rate * late), abs=3e-6 * rate)


def test_a_plane_is_recognised():
    system = flow(h=lambda x: 2.0 * x[0] - x[1] + 3.0)
    assert system.compiled.plane[0] == pytest.approx([2.0, -1.0], abs=1e-15)


def test_several_surfaces_and_kinks():
    system = PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda x, s: (-s[0], -2.0 * s[1]),
        kinks=[lambda x: x[0] + x[1]],
        x0=[1.0, 2.0],
    )
    assert system.field(system.x0, [1.0, -1.0]).tolist() == [-1.0, 2.0]
    assert system.surfaces_at(system.x0).tolist() == [1.0, 2.0]
    assert system.kinks_at(system.x0).tolist() == [3.0]
    assert system.gradient(system.x0) == pytest.approx(np.eye(2), abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"f_minus": None}, "f_plus and f_minus"),
        ({"f": lambda x, s: (0.0, 0.0)}, "either"),
        ({"h": [lambda x: x[0], lambda x: x[1]]}, "one sign per surface"),
        ({"h": 3.0}, "function"),
        ({"x0": None}, "start"),
        ({"x0": [math.nan, 0.0]}, "x0"),
        ({"x0": [1.0, 2.0, 3.0]}, "3 finite numbers"),
        ({"f_plus": lambda x: (1.0, 2.0, 3.0)}, "2 finite numbers"),
        ({"f_plus": lambda x: (1.0, math.inf)}, "finite"),
        ({"h": lambda x: x[7]}, "h"),
        ({"h": lambda x: 1.0 / (x[0] - 1.0)}, "h"),
        ({"mode": "up"}, "one of"),
        ({"names": ["a"]}, "names"),
        ({"names": ["a", "a"]}, "differ from each other"),
        ({"names": ["a", "time"]}, "time"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_refused_at_the_door(changes, words):
    with pytest.raises(ModelError, match=words):
        flow(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "slide"}, "off the surface"),
        ({"h": lambda x: 0.0 * x[0]}, "gradient"),
        (
            {"x0": [0.125, 0.5], "mode": "-", "f_minus": lambda x: (2.0, 0.0)},
            "satisfy Filippov's conditions",
        ),
    ],
)
def test_refused_at_the_start(changes, words):
    with pytest.raises(ModelError, match=words):
        st.solve(flow(**changes), t_span=(0.0, 1.0))


def test_python_functions_are_excluded_from_nothing():
    # a function that reads a dictionary runs as it is and gives the same field
    table = {"k": -1.0}
    with pytest.warns(PlainFunctionWarning, match=r"f_plus, f_minus runs .* of 'table', a dict"):
        system = flow(f_plus=lambda x: (x[1], table["k"]))
    assert system.field([0.3, -0.8], 1.0).tolist() == [-0.8, -1.0]
    assert "numba" in sys.modules


def oscillator(size, rate):
    """Return x'' = -rate^2 x with friction, its start, and what its states come to."""

    def field(x, s):
        return np.array([x[1], -rate * rate * (x[0] + 0.2 * s[0] * size)])

    return field, np.array([size, 0.0]), np.array([size, size * rate])


@pytest.mark.parametrize("rate", [1e-9, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-4])
def test_sizes_follow_the_units(size, rate):
    field, start, states = oscillator(size, rate)
    found = sizes_of(field, start, 2, 1)
    # a guess takes no state past one
    assert np.all(found >= np.minimum(states, 1.0))
    assert np.all(found <= np.minimum(1.2 * states, 1.0))


def test_starts_of_ordinary_size_have_the_size_one():
    field, _, _ = oscillator(1.0, 1.0)
    for start in ([1.0, 0.0], [1e-3, 0.0], [0.0, 1e6], [0.0, 0.0], [1e-12, 0.5]):
        assert np.array_equal(sizes_of(field, np.array(start), 2, 1), [1.0, 1.0])
    assert np.array_equal(sizes_of(field, np.array([1e9, 0.0]), 2, 1) >= 1e9, [True, True])


def test_sizes_of_a_clock_and_of_fields_that_end_somewhere():
    def field(x, s):
        if x[0] < 0.0:
            raise ValueError("no root")
        return np.array([-1e-3 * s[0], 1.0])

    # nothing is known beyond the end of the field
    state, clock = sizes_of(field, np.array([1e-9, 0.0]), 1, 1)
    assert state == pytest.approx(1e-9, rel=1e-6, abs=0.0)
    assert clock == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("normals", "scale"),
    [([[1e14, 1.0]], [1e-14, 1.0]), ([[1e14, 0.0], [0.0, 1.0]], None), ([[1e5, 0], [0, np.pi]], 1)],
)
def test_each_plane_has_its_own_unit(normals, scale):
    rows = np.array(normals, dtype=float).tolist()
    flow = PiecewiseSmooth(
        h=[lambda x, a=a, b=b: a * x[0] + b * x[1] for a, b in rows],
        f=lambda x, s: [0.0 * x[0], -s[0]],
        x0=[0.0, 1.0],
        scale=scale,
    )
    assert flow.compiled.plane == pytest.approx(np.array(rows), rel=1e-12)
