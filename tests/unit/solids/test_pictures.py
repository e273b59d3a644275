"""What is drawn of a body does not depend on how its cells are numbered."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.plot.player.movie import Lines
from stiction.solids import (
    Q1,
    Q1N2,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Mesh,
    NearlyIncompressible,
    Program,
    RigidCircle,
    RigidPlane,
    rectangle,
)
from stiction.solids.figures.data import SolidData
from stiction.solids.figures.player import movie_of


def numbered(mesh, roll):
    """The same mesh with every cell numbered from another corner."""
    cells = mesh.cells.copy()
    cells[:, :4] = np.roll(cells[:, :4], -roll, axis=1)
    cells[:, 4:8] = np.roll(cells[:, 4:8], -roll, axis=1)
    turned = {
        name: np.stack([edges[:, 0], (edges[:, 1] - roll) % 4], axis=1)
        for name, edges in mesh.boundaries.items()
    }
    return Mesh(mesh.points, cells, turned)


def pulled(mesh, element):
    right = Boundary(0, "right")
    held = [
        Driven(right, 0, Program((0, 1), (0, 0.1))),
        Fixed(Boundary(0, "left")),
        Fixed(right, (1,)),
    ]
    body = Body(mesh, element, NearlyIncompressible(1.0, 0.49))
    return st.solve(st.Solid([body], [], held), st.solids.Quasistatic(steps=2))


def drawn(run, mirrored=False):
    """Return the drawn fields, ordered by place."""
    place = run.data["drawn_position"].values[0]
    if mirrored:
        place = place * [1.0, -1.0] + [0.0, 1.0]
    order = np.lexsort(place.round(9).T)
    names = ("drawn_position", "stress_xx", "stress_yy", "stress_xy", "stress_trace")
    return {name: run.data[name].values[-1][order] for name in names}


@pytest.mark.parametrize("element", [Q2(reduced=True), Q2(), Q1(reduced=True)])
def test_numbering_of_cells_does_not_matter(element):
    mesh = rectangle(4.0, 1.0, (8, 2))
    one = drawn(pulled(mesh, element))
    for roll in (1, 2, 3):
        other = drawn(pulled(numbered(mesh, roll), element))
        for name, values in one.items():
            size = np.abs(values).max()
            np.testing.assert_allclose(other[name], values, atol=1e-12 * size, rtol=0.0)


def test_stress_is_as_symmetric_as_the_body():
    run = pulled(rectangle(4.0, 1.0, (8, 2)), Q2(reduced=True))
    one, other = drawn(run), drawn(run, mirrored=True)
    for name in ("stress_xx", "stress_yy", "stress_trace"):
        size = np.abs(one[name]).max()
        np.testing.assert_allclose(other[name], one[name], atol=1e-11 * size, rtol=0.0)


def test_linear_triangles_are_refused_where_integration_is_reduced():
    mesh = Mesh([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], [(0, 1, 2), (2, 3, 0)])
    soft = NearlyIncompressible(1.0, 0.49)
    for element in (Q1(reduced=True), Q1N2(reduced=True)):
        with pytest.raises(ModelError, match=r"Body.element: got .*\(reduced=True\) on linear tri"):
            Body(mesh, element, soft)
    for element in (Q1(), Q2(reduced=True)):
        assert Body(mesh, element, soft).element is element


def test_every_rigid_partner_is_drawn():
    law = st.LennardJones.from_strength(0.05, 0.01)
    gap = law.gap_eq
    below = RigidPlane((0.0, -gap)), RigidCircle((0.5, 2.0 + gap), 1.0)
    contacts = [
        Contact(Boundary(0, name), shape, law)
        for name, shape in zip(("bottom", "top"), below, strict=True)
    ]
    body = Body(rectangle(1.0, 1.0, (1, 1)), Q1())
    run = st.solve(
        st.Solid([body], contacts, [Fixed(Boundary(0, "left"))]), st.solids.Quasistatic(steps=1)
    )
    x, y = (run.data[f"rigid_{axis}"].values[-1] for axis in "xy")
    # a line, a gap, a circle
    assert np.flatnonzero(np.isnan(x)).tolist() == [2]
    np.testing.assert_allclose(y[:2], -gap)
    np.testing.assert_allclose(np.hypot(x[3:] - 0.5, y[3:] - 2.0 - gap), 1.0)
    data = SolidData(run)
    lines = next(p for p in movie_of(data, data.time).views[0].layers if isinstance(p, Lines))
    assert lines.starts == (0, 2)
    assert np.isfinite(lines.points).all()
