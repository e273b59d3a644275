"""Rods at rest against methods that share no code, and against published loads.

The differential equation of the rod is solved by shooting: a force at the tip makes the moment
known once the tip is, so three unknowns remain.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation
from scipy.special import ellipe, ellipk, ellipkm1

from stiction.exact import rods as exact
from stiction.rods.centreline import Arc, Straight
from stiction.rods.rod import Clamped, CosseratRod, Free, Pinned, PointForce
from stiction.rods.section import CircularSection, GivenSection
from stiction.rods.statics import equilibrium, follow_path

LOADS = (300.0, 450.0, 600.0)

# the 45-degree bend: unit square section, E = 1e7, G = E / 2, shear factor 5/6, polar moment 1/6
SHEAR, AXIAL, BENDING, TWIST = 5e6 * 5 / 6, 1e7, 1e7 / 12, 5e6 / 6
STIFF = np.array([SHEAR, SHEAR, AXIAL])
BEND = np.array([BENDING, BENDING, TWIST])
RADIUS = 100.0
# columns: first director across the bend, second towards its centre, third along the clamp
CLAMP = np.column_stack([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
SIDE = np.array([1.0, 0.0, 0.0])


def extrapolated(coarse, fine):
    """Remove the error of second order from results on n and 2 n elements."""
    return (4.0 * fine - coarse) / 3.0


@functools.cache
def bend_tip(force, elements):
    """Return the tip that the package finds."""
    rod = CosseratRod(
        GivenSection(shear=SHEAR, axial=AXIAL, bending=BENDING, twist=TWIST),
        Arc([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], RADIUS, np.pi / 4),
        elements=elements,
        right=Free(),
        natural_curvature=None,
        loads=[PointForce([0.0, 0.0, force])],
    )
    return equilibrium(rod).position[-1]


def by_differential_equation(force):
    """Return the tip by shooting with the differential equation of the rod."""
    pull = np.array([0.0, 0.0, force])

    def rate(_, y, tip):
        frame = y[3:].reshape(3, 3)
        strain = np.array([0.0, 0.0, 1.0]) + frame.T @ pull / STIFF
        k = SIDE / RADIUS + frame.T @ np.cross(tip - y[:3], pull) / BEND
        turn = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
        return np.concatenate([frame @ strain, (frame @ turn).ravel()])

    def miss(tip):
        begin = np.concatenate([np.zeros(3), CLAMP.ravel()])
        span = (0.0, RADIUS * np.pi / 4)
        run = solve_ivp(rate, span, begin, args=(tip,), rtol=1e-10, atol=1e-10)
        return run.y[:3, -1] - tip

    return fsolve(miss, [47.0, 16.0, 53.0], xtol=1e-11)


def by_eight_elements(force):
    """Return the tip by eight straight elements with frames at their ends and one strain each."""
    count, pull = 8, np.array([0.0, 0.0, force])
    angle = np.pi / 4 / count
    ds = 2.0 * RADIUS * np.sin(0.5 * angle)

    def miss(tip):
        r, frame = np.zeros(3), CLAMP
        for _ in range(count):
            turn = angle * SIDE
            for _ in range(40):
                middle = frame @ Rotation.from_rotvec(0.5 * turn).as_matrix()
                step = ds * (middle @ (np.array([0.0, 0.0, 1.0]) + middle.T @ pull / STIFF))
                moment = np.cross(tip - r - 0.5 * step, pull)
                turn = angle * SIDE + ds * middle.T @ moment / BEND
            r, frame = r + step, frame @ Rotation.from_rotvec(turn).as_matrix()
        return r - tip

    return fsolve(miss, [47.0, 16.0, 53.0], xtol=1e-11)


@pytest.mark.parametrize("force", LOADS)
def test_bend_against_the_differential_equation(force):
    tip = extrapolated(bend_tip(force, 32), bend_tip(force, 64))
    assert tip == pytest.approx(by_differential_equation(force), abs=5e-5)


def test_bend_converges_with_order_two():
    want = by_differential_equation(600.0)
    errors = [np.linalg.norm(bend_tip(600.0, n) - want) for n in (16, 32, 64)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    # the part of second order is small beside that of a plain joint: .089 of it on 16 elements
    assert errors[0] < 0.089 / 5.0
    assert np.all(orders > 1.9)
    assert np.all(orders < 2.03)


@pytest.mark.parametrize("force", LOADS)
def test_published_tips_are_those_of_eight_elements(force):
    """Of the 0.1 between the rod and the published tips, the coarse mesh explains most."""
    published = np.array(exact.BEND_45_PUBLISHED[force])
    coarse = np.abs(by_eight_elements(force) - published).max()
    converged = np.abs(by_differential_equation(force) - published).max()
    assert coarse < 0.035
    assert converged < 0.12
    assert coarse < 0.4 * converged


def test_complete_elliptic_integrals():
    for k in (0.0, 0.3, 0.9, 0.999):
        found = exact.complete_elliptic(k)
        assert found == pytest.approx((ellipk(k * k), ellipe(k * k)), rel=1e-13)
    k = 1.0 - 1e-9
    assert exact.complete_elliptic(k)[0] == pytest.approx(
        ellipkm1((1.0 - k) * (1.0 + k)), rel=1e-13
    )


def test_elastica_under_any_load():
    """With k = E = 1 to rounding the tip is (2 / K - 1, 2 / K) with K = l sqrt(P / B)."""
    for load in (400.0, 2500.0, 1e8):
        wanted = 2.0 / np.sqrt(load)
        tip = exact.elastica_tip(1.0, 1.0, load)
        assert tip == pytest.approx([wanted - 1.0, wanted], rel=1e-12)
    np.testing.assert_allclose(exact.bent_to_a_circle(2.0, 1.0, 0.0), [2.0, 0.0])


@pytest.mark.parametrize("radius", [0.02, 0.1])
def test_shear_and_shortening_change_the_euler_load(radius):
    """P (1 - P/EA + P/kGA) is Euler's load: the straight column shortens, its sections shear."""
    section = CircularSection(radius, 1.0 / radius**4, 0.3)

    def load(elements):
        low, high = 0.8 * euler, 1.05 * euler
        while high - low > 1e-10 * euler:
            middle = 0.5 * (low + high)
            rod = CosseratRod(
                section,
                Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
                elements=elements,
                right=Free(),
                loads=[PointForce([-middle, 0.0, 0.0])],
            )
            stiff = equilibrium(rod, steps=1).softest > 0.0
            low, high = (middle, high) if stiff else (low, middle)
        return low

    euler = exact.euler_load(1.0, section.bending_stiffness)
    slope = 1.0 / section.shear_stiffness - 1.0 / section.axial_stiffness
    want = 2.0 * euler / (1.0 + np.sqrt(1.0 + 4.0 * slope * euler))
    assert extrapolated(load(20), load(40)) == pytest.approx(want, rel=1e-6)
    assert want < euler * (1.0 - 0.3 * radius**2)


def deep_arch_limit(elements):
    """Return the first limit of a force on the crown of an arch of 215 degrees [E I / R^2].

    One end is clamped, the other pinned; the rod is so thin that it hardly stretches.
    """
    half, radius = np.deg2rad(215) / 2, 0.003
    arch = CosseratRod(
        CircularSection(radius, 4.0 / (np.pi * radius**4), 0.3),
        Arc(
            [0.0, 0.0, 0.0],
            [np.cos(half), np.sin(half), 0.0],
            [np.sin(half), -np.cos(half), 0.0],
            1.0,
            2.0 * half,
        ),
        elements=elements,
        left=Clamped(),
        right=Pinned(),
        natural_curvature=None,
        loads=[PointForce([0.0, -1.0, 0.0], at=0.5)],
    )
    path = follow_path(arch, arc=0.2, max_points=120, max_factor=14.0)
    return path.losses[0].time


def test_deep_arch_snaps_at_the_published_load():
    """DaDeppo and Schmidt 1975 give 8.97 for an arch that does not stretch."""
    coarse, fine = deep_arch_limit(20), deep_arch_limit(40)
    assert extrapolated(coarse, fine) == pytest.approx(8.97, rel=1e-3)
    # closer with twice the elements, and below: the order is that of the rod
    assert coarse < fine < 8.97
