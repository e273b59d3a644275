"""Solids without a compiler: the same bits as with one."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from solid_cases import ELEMENTS, MATERIALS, bound, curve, distorted

import stiction as st
from stiction.laws import DI, EA, UserThreshold
from stiction.numerics import elementwise, jit
from stiction.solids.contact.curve_kernels import closest_point_kernel
from stiction.solids.elements.kinds import discretise
from stiction.solids.mesh.model import rectangle


def in_both(action):
    """Return what an action gives with compiled and with plain kernels."""
    found = []
    for mode in ("compiled", "plain"):
        with jit.running(mode):
            found.append(action())
    return found


@pytest.mark.parametrize("name", sorted(MATERIALS))
@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("reduced", [False, True])
def test_bodies_have_the_same_bits(element, name, reduced):
    """Forces and tangent, also where elements are inside out."""
    parts = discretise(distorted(cells=(3, 2)), ELEMENTS[element](reduced=reduced), ("bottom",))
    for plane_stress in (False,) if parts.blocks[0].volume_weights.size else (False, True):
        bulk, pattern = bound(parts, MATERIALS[name].table(plane_stress))
        for size in (0.02, 2.0):
            u = size * np.random.default_rng(5).standard_normal(parts.points.shape)

            def added(u=u, bulk=bulk, pattern=pattern):
                residual, data = np.zeros_like(u), np.zeros(pattern.entries)
                without = np.zeros_like(u)
                bad = bulk.add(u, residual, data)
                assert bulk.add(u, without, None) == bad
                return bad, residual, data, without

            compiled, plain = in_both(added)
            assert compiled[0] == plain[0]
            assert (compiled[0] > 0) == (size > 1.0 and name != "LinearElastic")
            for one, other in zip(compiled[1:], plain[1:], strict=True):
                assert_array_equal(one, other)
            assert_array_equal(plain[1], plain[3])


@pytest.mark.parametrize(("degree", "count"), [(1, 7), (2, 8), (3, 14)])
def test_closest_points_have_the_same_bits(degree, count):
    """Points inside, beyond the ends, and so far away that they are nearest to corners."""
    random = np.random.default_rng(degree)
    x = np.stack([np.linspace(0.0, 6.0, count), 0.25 * random.standard_normal(count)], axis=1)
    surface = curve(x, degree, weights=1.0 + 0.4 * random.random(count) if degree == 2 else None)
    points = np.stack([random.uniform(-0.5, 6.5, 200), random.uniform(-2.0, 2.0, 200)], axis=1)
    first = random.integers(0, surface.nodes.shape[0], 200)

    def found():
        element, xi, normal = first.copy(), np.zeros((200, 1)), np.zeros(200, dtype=bool)
        own = (surface.nodes, surface.extraction, surface.weights, surface.neighbours)
        closest_point_kernel(1)(points, element, xi, normal, *own, np.array([degree]), x)
        return element, xi, normal

    compiled, plain = in_both(found)
    assert 0 < compiled[2].sum() < 200
    for one, other in zip(compiled, plain, strict=True):
        assert_array_equal(one, other)


SMALL = {"length": 30.0, "adhering": 20.0, "height": 4.0, "cells": (20, 2), "u_end": 8.0}
SAMPLED = UserThreshold(
    lambda g: 0.01 / (1.0 + g * g), lambda g: -0.02 * g / (1.0 + g * g) ** 2, (-2.0, 9.0)
)
RUNS = {
    "strip": lambda: (st.StripPeeling(model=EA(0.01), **SMALL), st.solids.Quasistatic(steps=8)),
    "strip, path": lambda: (st.StripPeeling(model=DI(0.01), **SMALL), st.Continuation(steps=8)),
    "strip, own threshold": lambda: (
        st.StripPeeling(model=SAMPLED, **SMALL),
        st.solids.Quasistatic(steps=4),
    ),
    "cylinders": lambda: (
        st.solids.TwoCylinders(model=EA(0.5), stretch=True, u_end=0.2),
        st.solids.Quasistatic(steps=3),
    ),
    "cap": lambda: (st.CapSliding(cells=(40, 4), u_end=0.3), st.solids.Quasistatic(steps=4)),
}


@pytest.mark.parametrize("name", sorted(RUNS))
def test_runs_have_the_same_bits(name):
    compiled, plain = in_both(lambda: st.solve(*RUNS[name](), throw=False))
    assert compiled.status is plain.status
    assert compiled.reason == plain.reason
    assert_array_equal(compiled.time, plain.time)
    assert set(compiled.variables) == set(plain.variables)
    for key, variable in compiled.variables.items():
        assert_array_equal(variable.values, plain.variables[key].values, err_msg=key)
    for key in compiled.ledger.data_vars:
        assert_array_equal(compiled.ledger[key].values, plain.ledger[key].values, err_msg=key)
    assert compiled.events.equals(plain.events)
    assert compiled.stats["newton_iterations"] == plain.stats["newton_iterations"]


def test_a_plain_run_needs_no_compiler():
    """Neither Numba nor what it is made of is imported by a run of two bodies."""
    script = """
import sys
import stiction as st
run = st.solve(st.solids.TwoCylinders(u_end=0.1), st.solids.Quasistatic(steps=1))
assert run.status.ok
print(sorted(name for name in ("numba", "llvmlite", "matplotlib", "pandas") if name in sys.modules))
"""
    environment = {**os.environ, "STICTION_KERNELS": "plain"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_numbers_that_have_no_function():
    """As in compiled code: infinite or NaN, and no exception."""
    inf, nan = np.inf, np.nan
    x = np.array([-1.0, 0.0, 1.0, inf, nan])
    assert_array_equal(elementwise.log(x), [nan, -inf, 0.0, inf, nan])
    assert_array_equal(
        elementwise.exp(np.array([-inf, 0.0, 800.0, inf, nan])), [0, 1, inf, inf, nan]
    )
    assert_array_equal(elementwise.power(np.array([-1.0, 4.0, inf, nan]), -0.5), [nan, 0.5, 0, nan])
    assert_array_equal(
        elementwise.power(np.array([-1.0, 2.0, 1e200, inf]), 2.0), [nan, 4, inf, inf]
    )
    assert_array_equal(elementwise.power([1e-200], -2.0), [inf])
    angles = elementwise.arctan2(0.5, np.array([[0.5], [-0.5]]))
    assert_array_equal(angles, np.arctan2([[0.5], [0.5]], [[0.5], [-0.5]]))
    circle = elementwise.cos(np.array([0.0, inf])), elementwise.sin(np.array([0.0, nan]))
    assert_array_equal(circle, [[1.0, nan], [0.0, nan]])


def test_a_flat_body_meets_no_warning():
    """Points at rest, gaps of zero and elements without stress: no warning of arithmetic."""
    with jit.running("plain"), np.errstate(all="raise"):
        parts = discretise(rectangle(1.0, 1.0, (2, 2)), ELEMENTS["Q1"](), ())
        for material in MATERIALS.values():
            for plane_stress in (False, True):
                bulk, pattern = bound(parts, material.table(plane_stress))
                still = np.zeros_like(parts.points)
                assert bulk.add(still, still.copy(), np.zeros(pattern.entries)) == 0
