"""Masses against closed forms: totals, momenta, and what lumping keeps."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.solids import (
    Q1,
    Q1H,
    Q1N2,
    Q2,
    Q2N2,
    Body,
    BodyShape,
    Dome,
    Membrane,
    MovingSolid,
    Solid,
    SweptBody,
    half_disc,
    rectangle,
)
from stiction.solids.dynamics.masses import body_mass, swept_mass
from stiction.solids.elements.kinds import kinds_of
from stiction.solids.mesh.model import Mesh


def triangles():
    """A rectangle 2 x 1 in four triangles."""
    points = np.array([[0, 0], [2, 0], [2, 1], [0, 1], [1, 0.5]], dtype=float)
    cells = np.array([[0, 1, 4, -1], [1, 2, 4, -1], [2, 3, 4, -1], [3, 0, 4, -1]])
    return Mesh(points, cells, {"bottom": np.array([[0, 0]])})


@pytest.mark.parametrize("lumped", [False, True])
@pytest.mark.parametrize(
    ("mesh", "area"),
    [
        (rectangle(2.0, 1.0, (5, 3)), 2.0),
        (triangles(), 2.0),
        (half_disc(1.0, (6, 4), 3), None),
    ],
    ids=["rectangle", "triangles", "disc"],
)
@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2(), Q2N2(), Q1H()], ids=lambda e: repr(e)[:5])
def test_mass_of_a_body(element, mesh, area, lumped):
    if type(element) in (Q1N2, Q2N2, Q1H) and area is None:
        contact = ("arc",)
    else:
        contact = ()
    mass = body_mass(mesh, element, contact, 3.0, lumped)
    if area is not None:
        assert mass.sum() == pytest.approx(3.0 * area, rel=1e-13)
    assert (mass.diagonal() > 0.0).all()
    if lumped:
        assert mass.nnz == mass.shape[0]
    else:
        dense = mass.toarray()
        assert np.allclose(dense, dense.T, rtol=0.0, atol=1e-15 * dense.max())
        assert np.linalg.eigvalsh(dense).min() > 0.0


@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2(), Q2N2(), Q1H()], ids=lambda e: repr(e)[:5])
def test_consistent_mass_of_linear_fields(element):
    """x^T M y is the integral of the product of two linear fields, on a skew mesh as well."""
    mesh = rectangle(2.0, 1.0, (4, 2), grading_x=np.array([0.0, 0.2, 0.3, 0.7, 1.0]))
    mass = body_mass(mesh, element, ("bottom",), 1.0, False)
    _, points = kinds_of(mesh, element, ("bottom",))
    x, y = points.T
    assert x @ mass @ x == pytest.approx(8.0 / 3.0, rel=1e-12)
    assert x @ mass @ y == pytest.approx(1.0, rel=1e-12)
    assert y @ mass @ np.ones_like(y) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("lumped", [False, True])
@pytest.mark.parametrize("element", [Q1(), Q2(), Q1N2(), Q2N2(), Q1H()], ids=lambda e: repr(e)[:5])
def test_mass_of_a_body_in_space(element, lumped):
    """Total, and moments of inertia of the consistent mass about the axes of a block."""
    sides = np.array([2.0, 1.0, 1.5])
    body = SweptBody(rectangle(2.0, 1.0, (4, 3)), (0.0, 0.4, 1.5), element)
    mass = swept_mass(body, ("bottom",), 3.0, lumped)
    whole = 3.0 * sides.prod()
    assert mass.sum() == pytest.approx(whole, rel=1e-13)
    assert (mass.diagonal() > 0.0).all()
    if lumped:
        assert mass.nnz == mass.shape[0]
        return
    x = body.discretised(("bottom",)).points
    found = np.array([[x[:, i] @ (mass @ x[:, j]) for j in range(3)] for i in range(3)])
    exact = whole * np.outer(sides, sides) / np.where(np.eye(3) == 1.0, 3.0, 4.0)
    np.testing.assert_allclose(found, exact, rtol=1e-12)


class Saved(BodyShape):
    """Leaves places where they are."""

    def moved(self, places):
        return places.copy()


@pytest.mark.parametrize("lumped", [False, True])
@pytest.mark.parametrize("element", [Q1(), Q1N2(), Q2N2(), Q1H()], ids=lambda e: repr(e)[:5])
def test_mass_by_elements_is_that_by_products(element, lumped):
    section = rectangle(2.0, 1.0, (4, 3))
    one, other = (
        swept_mass(SweptBody(section, (0.0, 0.4, 1.5), element, shape=s), ("top",), 3.0, lumped)
        for s in (None, Saved())
    )
    if lumped and element.SPLINE > 1:
        # fractions of an element are not products of shares
        assert other.sum() == pytest.approx(one.sum(), rel=1e-12)
        assert (other.diagonal() > 0.0).all()
        return
    np.testing.assert_allclose(other.toarray(), one.toarray(), rtol=0.0, atol=1e-13)


def test_mass_of_a_dome():
    """The volume under a sphere over a square, by the divergence of a paraboloid's series."""
    side, high, radius = 1.0, 2.0, 4.0
    # drop of a sphere, integrated over the square by many points
    x, w = np.polynomial.legendre.leggauss(40)
    square = (side * x)[:, None] ** 2 + (side * x)[None] ** 2
    drop = square / (radius + np.sqrt(radius**2 - square))
    volume = 4.0 * side**2 * high - side**2 * float(w @ drop @ w)
    errors = []
    for n in (4, 8):
        section = rectangle(2.0 * side, high, (n, 2), (-side, 0.0))
        dome = Dome((0.0, high, 0.0), radius)
        body = SweptBody(section, np.linspace(-side, side, n + 1), Q1N2(), shape=dome)
        mass = swept_mass(body, ("top",), 3.0, False)
        errors.append(abs(float(mass.sum()) / (3.0 * volume) - 1.0))
        # moments about the middle vanish
        points = body.discretised(("top",)).points
        assert abs(float(points[:, 0] @ (mass @ np.ones(mass.shape[0])))) < 1e-12
    assert errors[1] < 1e-5
    # sides of elements inside go straight between nodes; the face is of third order
    assert errors[1] < 0.3 * errors[0]


def test_a_swept_mass_is_the_plane_one():
    """With one layer and a field that is constant along the axis."""
    section = rectangle(2.0, 1.0, (4, 3))
    flat = body_mass(section, Q1(), (), 3.0, False)
    mass = swept_mass(SweptBody(section, (0.0, 0.5), Q1()), (), 3.0, False)
    n = flat.shape[0]
    folded = sum(mass[i * n : (i + 1) * n, j * n : (j + 1) * n] for i in (0, 1) for j in (0, 1))
    np.testing.assert_allclose(folded.toarray(), 0.5 * flat.toarray(), atol=1e-14)


def test_what_motions_in_space_refuse():
    block = rectangle(2.0, 1.0, (4, 3), (-1.0, 0.0))
    with pytest.raises(ModelError, match=r"normal_viscosity: got normal_viscosity in space"):
        MovingSolid(Solid([Membrane()]), normal_viscosity=1.0)
    with pytest.raises(ModelError, match=r"normal_viscosity: got normal_viscosity in space"):
        MovingSolid(Solid([SweptBody(block, (0.0, 0.5), Q1())]), normal_viscosity=1.0)
    with pytest.raises(ModelError, match=r"velocity.*1 times 3 finite numbers"):
        MovingSolid(Solid([SweptBody(block, (0.0, 0.5), Q1())]), velocity=[(1.0, 0.0)])
    assert MovingSolid(Solid([Body(block)]), velocity=[(1.0, 0.0)]).velocities.shape == (1, 2)
    # the array of the caller is copied
    given = np.array([[1.0, 0.0]])
    moving = MovingSolid(Solid([Body(block)]), velocity=given)
    given[0, 0] = np.nan
    assert moving.velocity.tolist() == [[1.0, 0.0]]
