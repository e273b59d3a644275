"""Sections: stiffness and inertia against integrals over the circle, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.rods.centreline import Straight
from stiction.rods.rod import CosseratRod
from stiction.rods.section import CircularSection, GivenSection


def over_the_circle(radius, f):
    """Return the integral of f(x, y) over a disk: exact for polynomials of low degree."""
    nodes, weight = np.polynomial.legendre.leggauss(6)
    rho, part = 0.5 * radius * (nodes + 1.0), 0.5 * radius * weight
    phi = 2.0 * np.pi * np.arange(16) / 16
    x, y = np.outer(rho, np.cos(phi)), np.outer(rho, np.sin(phi))
    return float((f(x, y) * (part * rho)[:, None]).sum() * 2.0 * np.pi / 16)


def test_stiffness_and_inertia():
    section = CircularSection(0.03, 2e6, 0.3, 1200.0, shear_factor=0.9)
    shear = 2e6 / 2.6
    area = over_the_circle(0.03, lambda x, _: np.ones_like(x))
    across = over_the_circle(0.03, lambda _, y: y**2)
    polar = over_the_circle(0.03, lambda x, y: x**2 + y**2)
    assert_allclose(section.axial_stiffness, 2e6 * area, rtol=1e-13)
    assert_allclose(section.shear_stiffness, 0.9 * shear * area, rtol=1e-13)
    assert_allclose(section.bending_stiffness, 2e6 * across, rtol=1e-13)
    assert_allclose(section.twist_stiffness, shear * polar, rtol=1e-13)
    assert_allclose(section.line_density, 1200.0 * area, rtol=1e-13)
    assert_allclose(section.line_inertia, 1200.0 * across, rtol=1e-13)


@pytest.mark.parametrize("field", ["radius", "young", "density", "shear_factor"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_sections_without_substance_are_refused(field, value):
    with pytest.raises(ModelError, match=f"CircularSection.{field}.*\n*.*Why"):
        CircularSection(**{"radius": 0.02, "young": 1e6, field: value})


@pytest.mark.parametrize("value", [-1.0, 0.51, np.nan])
def test_unstable_materials_are_refused(value):
    with pytest.raises(ModelError, match=r"CircularSection\.poisson"):
        CircularSection(0.02, 1e6, poisson=value)


@pytest.mark.parametrize("field", ["shear", "axial", "bending", "twist", "mass", "inertia"])
def test_given_sections_without_substance_are_refused(field):
    with pytest.raises(ModelError, match=f"GivenSection.{field}"):
        GivenSection(**{"shear": 1.0, "axial": 1.0, "bending": 1.0, "twist": 1.0, field: 0.0})


@pytest.mark.parametrize("value", [lambda s: 0.02, [0.02, 0.03], np.array([0.02, 0.03])])
@pytest.mark.parametrize("field", ["radius", "young", "density"])
def test_tapered_rods_are_refused(field, value):
    match = f"CircularSection.{field}: got .*one positive number.*\n.*tapered rods are not supp"
    with pytest.raises(ModelError, match=match):
        CircularSection(**{"radius": 0.02, "young": 1e6, field: value})
    given = {"shear": 1.0, "axial": 1.0, "bending": 1.0, "twist": 1.0}
    for name in (*given, "mass", "outer_radius", "second_bending"):
        with pytest.raises(ModelError, match=f"GivenSection.{name}: (.|\n)*tapered rods are not"):
            GivenSection(**{**given, name: value})


def test_jointed_rods_are_refused():
    one, line = CircularSection(0.02, 1e6), Straight([0, 0, 0], [1, 0, 0])
    for section in ([one, CircularSection(0.03, 1e6)], lambda s: one):
        with pytest.raises(ModelError, match=r"CosseratRod.section: (.|\n)*tapered and jointed"):
            CosseratRod(section, line)


@pytest.mark.parametrize(
    ("radius", "young"), [(1e300, 1e6), (1e-300, 1e6), (1e-80, 1.0), (1.0, 1e308)]
)
def test_sections_beyond_floating_point_are_refused(radius, young):
    with pytest.raises(ModelError, match=r"CircularSection: got \w+ = .* floating point"):
        CircularSection(radius, young)
