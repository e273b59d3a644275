"""Frequencies of small vibrations of the rod that runs take, against Timoshenko's beam."""

import numpy as np
import pytest
from scipy.linalg import eigh, expm
from scipy.optimize import brentq

import stiction as st
from stiction.rods import CircularSection, Clamped, CosseratRod, Free, Pinned, Straight
from stiction.rods import rod_kernels as rk
from stiction.rods.assembly import assemble

SECTION = CircularSection(0.01, 1e6, 0.5, 1000.0)
LENGTH = 0.5
ENDS = {"clamped": Clamped(), "pinned": Pinned(), "free": Free()}
# roots of the characteristic equations of Euler's beam, over the length
WAVES = {
    ("clamped", "free"): np.array([1.8751, 4.6941, 7.8548]),
    ("clamped", "clamped"): np.array([4.7300, 7.8532, 10.9956]),
    ("pinned", "pinned"): np.pi * np.arange(1.0, 4.0),
    ("pinned", "free"): np.array([3.9266, 7.0686, 10.2102]),
}
# it turns about its pin without any force
TURNS_FREELY = [("pinned", "free")]


def timoshenko(ends):
    """Return the first three frequencies from the four equations of first order [rad/s]."""
    shear, bend = SECTION.shear_stiffness, SECTION.bending_stiffness
    line, turn = SECTION.line_density, SECTION.line_inertia
    # deflection, rotation, moment, shear force, each over its scale
    scale = np.array([LENGTH, 1.0, bend / LENGTH, bend / LENGTH**2])
    held = {"clamped": [0, 1], "pinned": [0, 2], "free": [2, 3]}
    given = {"clamped": [2, 3], "pinned": [1, 3], "free": [0, 1]}

    def determinant(w):
        rate = np.zeros((4, 4))
        rate[0, 1], rate[0, 3], rate[1, 2] = 1.0, 1.0 / shear, 1.0 / bend
        rate[2, 1], rate[2, 3], rate[3, 0] = -turn * w * w, -1.0, -line * w * w
        over = expm(rate * scale[None, :] / scale[:, None] * LENGTH)
        return np.linalg.det(over[np.ix_(held[ends[1]], given[ends[0]])])

    guess = WAVES[ends] ** 2 * np.sqrt(bend / line) / LENGTH**2
    w = np.concatenate([np.linspace(0.8 * g, 1.02 * g, 12) for g in guess])
    d = np.array([determinant(x) for x in w])
    at = [i for i in range(len(w) - 1) if d[i] * d[i + 1] < 0.0 and w[i + 1] < 1.1 * w[i]]
    return np.array([brentq(determinant, w[i], w[i + 1], xtol=1e-12) for i in at])[:3]


def frequencies(ends, elements, correction=None):
    """Return the first three of the assembled rod, across it, by differences of its forces."""
    line = Straight((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0))
    left, right = (ENDS[e] if isinstance(e, str) else e for e in ends)
    more = {"left": left, "right": right, "end_correction": correction}
    rod = CosseratRod(SECTION, line, elements=elements, **more)
    flat = assemble(st.Rods([rod]))
    slots = flat.r.shape[1]
    scratch = [np.zeros((3, slots)) for _ in range(4)]

    def force(u):
        r, half = flat.r.copy(), 0.5 * u[slots:]
        r[2] += u[:slots]
        c, s = np.cos(half), np.sin(half)
        w, x, y, z = flat.q
        # turned about y
        q = np.array([c * w - s * y, c * x + s * z, c * y + s * w, c * z - s * x])
        rk.elastic(r, q, flat.mat, *scratch)
        return np.concatenate([scratch[2][2], scratch[3][1]])

    free = np.concatenate([flat.material.free, flat.material.turns])
    live = np.flatnonzero(free > 0.0)
    nudge = 1e-6
    columns = []
    for i in live:
        u = np.zeros(2 * slots)
        u[i] = nudge
        columns.append(-(force(u) - force(-u))[live] / (2.0 * nudge))
    stiffness = np.array(columns)
    weight = np.sqrt(free[live])
    matrix = 0.5 * (stiffness + stiffness.T) * np.outer(weight, weight)
    first = int(ends in TURNS_FREELY)
    return np.sqrt(eigh(matrix, eigvals_only=True, subset_by_index=[first, first + 2]))


@pytest.mark.parametrize("correction", [None, 1.0 / 12.0, 0.1])
@pytest.mark.parametrize("ends", WAVES)
def test_frequencies_against_timoshenko(ends, correction):
    exact = timoshenko(ends)
    assert len(exact) == 3
    coarse, middle, fine = (frequencies(ends, n, correction) for n in (20, 40, 80))
    half = 0.5 * WAVES[ends] / 20.0
    dispersion = 1.0 - (np.sin(half) / half) ** 2
    assert np.all(np.abs(coarse / exact - 1.0) <= 1.1 * dispersion + 5e-4)
    order = np.log2((coarse - exact) / (middle - exact))
    assert np.all(order >= 1.9)
    extrapolated = (4.0 * fine - middle) / 3.0
    assert np.all(np.abs(extrapolated / exact - 1.0) <= 2e-4)


def test_a_held_element_shortens_the_rod_by_half_of_it():
    exact = timoshenko(("clamped", "free"))[0]
    held = [frequencies((Clamped(hold="element"), "free"), n)[0] for n in (20, 40)]
    # the square of the length: 2 / 40 of it for 20 elements
    # reason: first order, as the convention of the reference case has it
    assert held[0] / exact - 1.0 == pytest.approx(0.05, abs=5e-3)
    order = np.log2((held[0] - exact) / (held[1] - exact))
    assert 0.9 < order < 1.1
