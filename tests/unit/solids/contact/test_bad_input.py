"""Invalid boundaries and overlapping bodies are refused; messages name them and their places."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    ContactAmong,
    Fixed,
    Mesh,
    NeoHookean,
    SweptBody,
    disc,
    rectangle,
)

LAW = LennardJones.from_strength(0.05, 2e-3)


def solved(upper, lower, sides=("bottom", "top"), passes="mortar"):
    contact = Contact(Boundary(1, sides[0]), Boundary(0, sides[1]), LAW, passes=passes)
    held = [Fixed(Boundary(k, "bottom" if k == 0 else "top")) for k in (0, 1)]
    solid = st.Solid([Body(lower, Q1()), Body(upper, Q1())], [contact], held)
    return st.solve(solid, st.solids.Quasistatic(steps=1))


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_overlapping_bodies_are_refused(passes):
    lower = rectangle(4.0, 1.0, (8, 2), (0.0, -1.0))
    with pytest.raises(ModelError) as refused:
        solved(rectangle(2.0, 1.0, (4, 2), (1.0, -2.0 * LAW.r0)), lower, passes=passes)
    assert f"{2.0 * LAW.r0:.3g} deep inside its partner" in str(refused.value)
    assert "move the bodies apart" in str(refused.value)
    # they overlap by less than the equilibrium gap of the law
    assert solved(rectangle(2.0, 1.0, (4, 2), (1.0, LAW.gap_eq)), lower, passes=passes).status.ok


def test_a_body_beyond_the_end_of_its_partner_is_refused_too():
    """Points without a normal are tested against the outline of the body."""
    lower = rectangle(1.0, 2.0, (4, 8), (0.0, -2.0))
    with pytest.raises(ModelError, match=r"deep inside"):
        solved(rectangle(3.0, 1.0, (9, 2), (-1.0, -0.5)), lower, passes="two-half-pass")


def test_overlapping_discs_are_refused():
    bodies = [Body(disc(1.0, (4, 2), 2, (1.5 * k, 0.0)), Q1()) for k in range(2)]
    rims = [Boundary(k, "rim") for k in range(2)]
    solid = st.Solid(bodies, [ContactAmong(rims, LAW)], [Fixed(rim) for rim in rims])
    with pytest.raises(ModelError, match=r"boundary 'rim' .* deep inside"):
        st.solve(solid, st.solids.Quasistatic(steps=1))


def test_partners_without_length_are_refused():
    mesh = rectangle(1.0, 1.0, (2, 2))
    none = {**mesh.boundaries, "none": np.zeros((0, 2), dtype=np.int64)}
    with pytest.raises(ModelError, match="none"):
        Mesh(mesh.points, mesh.cells, none)
    points = mesh.points.copy()
    flat = np.flatnonzero(points[:, 1] == 1.0)
    points[flat, 0] = 0.5
    with pytest.raises(ModelError, match=r"Mesh"):
        Mesh(points, mesh.cells, mesh.boundaries)


def test_open_polygons_do_not_close():
    """A chain without one of its edges is none; without the last one it is open."""
    around = disc(1.0, (4, 2), 2)
    rim = around.boundaries["rim"]
    with pytest.raises(ModelError, match="does not begin where edge"):
        Mesh(around.points, around.cells, {"rim": np.delete(rim, 3, axis=0)}).chain("rim", True)
    opened = Mesh(around.points, around.cells, {"rim": rim[:-1]})
    assert around.closes("rim")
    assert not opened.closes("rim")
    with pytest.raises(ModelError, match="edges in order"):
        Mesh(around.points, around.cells, {"rim": rim[::-1]}).chain("rim", True)


def test_virtual_work_and_self_contact_in_space_are_refused():
    block = SweptBody(rectangle(1.0, 1.0, (2, 2)), [0.0, 1.0], Q1(), NeoHookean(1.0, 0.3))
    high = dataclasses.replace(block, mesh=block.mesh.moved((0.0, 1.0 + LAW.gap_eq)))
    sides = Boundary(1, "bottom"), Boundary(0, "top")
    with pytest.raises(ModelError, match=r"body 1, a SweptBody, in contact by 'mortar'"):
        st.Solid([block, high], [Contact(*sides, LAW, passes="mortar")])
    with pytest.raises(ModelError, match=r"a SweptBody, in self-contact"):
        st.Solid([block], [Contact(sides[1], sides[1], LAW)])
    assert st.Solid([block, high], [Contact(*sides, LAW)]).contacts
