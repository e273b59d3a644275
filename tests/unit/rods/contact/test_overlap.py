"""The deepest overlap of any two curves, against samples of all of them."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    Curve,
    CylinderPartner,
    Free,
    PlanePartner,
    SpherePartner,
    Straight,
)
from stiction.rods.assembly import assemble
from stiction.rods.contact.overlap import deepest


def random_rods(rng, count, fitted=False):
    """Return free rods through a box of half a metre, and their curves, densely sampled."""
    rods, curves = [], []
    for _ in range(count):
        x = np.linspace(-0.5, 0.5, 17)[:, None]
        way = rng.normal(size=3)
        nodes = rng.uniform(-0.2, 0.2, 3) + x * 0.6 * way / np.linalg.norm(way)
        nodes += 0.05 * rng.normal(size=3) * np.sin(np.pi * x)
        section = CircularSection(rng.uniform(0.01, 0.05), 1e6)
        ends = {"left": Free(), "right": Free()}
        rods.append(CosseratRod(section, Curve(nodes), elements=16, **ends))
        if fitted:
            nodes = np.vstack(
                [nodes[:1], nodes[1:-1] - np.diff(nodes, 2, axis=0) / 6.0, nodes[-1:]]
            )
        wide = [2.0 * nodes[0] - nodes[1], *nodes, 2.0 * nodes[-1] - nodes[-2]]
        curve = BSpline(np.arange(-3.0, 20.0), np.array(wide), 3)
        curves.append(curve(np.linspace(0.0, 16.0, 641)))
    return rods, curves


@pytest.mark.parametrize("curve", ["spline", "fitted"])
@pytest.mark.parametrize("seed", range(12))
def test_random_rods_against_samples(seed, curve):
    rng = np.random.default_rng(seed)
    rods, curves = random_rods(rng, 5, curve == "fitted")
    depth, a, b = deepest(assemble(st.Rods(rods, contact_curve=curve)))
    found = {}
    for i in range(5):
        for j in range(i):
            far = np.linalg.norm(curves[i][:, None] - curves[j][None], axis=2).min()
            radii = rods[i].section.radius, rods[j].section.radius
            found[j, i] = (sum(radii) - far) / min(radii)
    worst = max(found, key=found.get)
    # samples are a millimetre apart, which counts where curves nearly meet
    missed = 2e-3 if found[worst] < 1.0 else 0.1
    assert -1e-9 <= depth - max(found[worst], 0.0) <= missed
    if found[worst] > 0.01:
        assert found[tuple(sorted((a, b)))] >= found[worst] - missed


@pytest.mark.parametrize("curve", ["spline", "fitted"])
@pytest.mark.parametrize("seed", range(4))
def test_partners_are_looked_at(seed, curve):
    rng = np.random.default_rng(100 + seed)
    rods, curves = random_rods(rng, 1, curve == "fitted")
    radius = rods[0].section.radius
    ball = SpherePartner(curves[0][200] + rng.normal(size=3) * 0.02, 0.03)
    floor = PlanePartner((0.0, 0.0, curves[0][:, 2].min() + 0.3 * radius))
    expected = (radius + 0.03 - np.linalg.norm(curves[0] - ball.centre, axis=1).min()) / radius
    found = deepest(assemble(st.Rods(rods, partners=[ball], contact_curve=curve)))[0]
    # samples are a millimetre apart, here and there
    assert abs(found - expected) * radius < 1e-3
    depth, _, number = deepest(assemble(st.Rods(rods, partners=[floor], contact_curve=curve)))
    assert number == 1
    assert depth == pytest.approx(1.3, abs=1e-2)


def test_the_smaller_radius_may_be_that_of_the_partner():
    line = Straight([-0.5, 0.0, 0.10095], [0.5, 0.0, 0.10095])
    rod = CosseratRod(CircularSection(0.1, 1e6), line, elements=10)
    for partner in (
        SpherePartner([0, 0, 0], 0.001),
        CylinderPartner([0, -0.1, 0], [0, 0.1, 0], 0.001),
    ):
        depth, _, _ = deepest(assemble(st.Rods([rod], partners=[partner])))
        assert depth == pytest.approx(0.05, rel=1e-6)
