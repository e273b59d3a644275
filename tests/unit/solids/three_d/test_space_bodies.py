"""Bodies in space in whole runs: closed forms, plane problems swept, units, files, bad input."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from space_cases import BREAKS, on_plane, section, small_cap, two_blocks

import stiction as st
from stiction.errors import ModelError
from stiction.laws import DI, EA
from stiction.solids import (
    Q1,
    Q1N2,
    Boundary,
    Dome,
    Driven,
    Fixed,
    NeoHookean,
    Pressure,
    Program,
    Readings,
    Solid,
    SweptBody,
    rectangle,
)
from stiction.solids.contact.curves import RationalBoundary
from stiction.solids.three_d import model as space_model

FRICTION = {"DI": DI(0.5, 1.0, 20.0), "EA": EA(0.5, 1.0)}


def test_a_block_in_tension():
    """One stretch: the stress of the law with free sides, in every sample of the run."""
    body = SweptBody(rectangle(1.0, 0.5, (3, 2)), BREAKS, Q1(), NeoHookean(1.0, 0.3))
    held = [Fixed(Boundary(0, name), (k,)) for k, name in enumerate(("left", "bottom", "back"))]
    pull = Driven(Boundary(0, "right"), 0, Program((0, 1), (0.0, 0.4)))
    solid = Solid([body], [], [*held, pull], readings=Readings(displacement=3), dimensionless=True)
    run = st.solve(solid, st.solids.Quasistatic(steps=4), t_span=(0.0, 1.0))
    mu, lam = 1.0 / 2.6, 0.3 / (1.3 * 0.4)
    for u, force in zip(*(run.data[n].values for n in ("displacement", "force_x")), strict=True):

        def across(b, a=1.0 + u):
            return mu * (b - 1.0 / b) + lam * np.log(a * b * b) / b

        b = brentq(across, 0.5, 1.5, xtol=1e-15)
        a = 1.0 + u
        assert_allclose(
            abs(force), 0.5 * (mu * (a - 1.0 / a) + lam * np.log(a * b * b) / a), atol=1e-12
        )
    assert run.audit.ok


@pytest.mark.parametrize("case", [on_plane, two_blocks])
@pytest.mark.parametrize("name", sorted(FRICTION))
def test_extruded_runs_are_the_plane_ones(name, case):
    """Forces, energies and heat of whole runs with stick and slip, per thickness one."""
    flat, deep = (
        st.solve(case(space, FRICTION[name]), st.solids.Quasistatic(steps=10), t_span=(0.0, 2.0))
        for space in (False, True)
    )
    for curve in ("force_x", "force_y"):
        assert_allclose(deep.data[curve].values, flat.data[curve].values, atol=1e-10)
    for energy in ("stored", "adhesive", "external_work", "friction_heat"):
        assert_allclose(deep.ledger[energy].values, flat.ledger[energy].values, atol=1e-10)
    assert flat.ledger["friction_heat"].values.max() > 1e-5
    assert_allclose(
        deep.data["nominal_area"].values, flat.data["nominal_contact"].values, rtol=1e-9
    )


@functools.cache
def capped(steps=6, **given):
    return st.solve(small_cap(**given), st.solids.Quasistatic(steps=steps), t_span=(0.0, 2.0))


def test_two_axes_are_alike():
    """A square cap is sheared along the section, or along the sweep."""
    one, other = capped(), capped(along=2)
    assert_allclose(other.data["force_z"].values, one.data["force_x"].values, atol=1e-9)
    assert_allclose(other.data["force_y"].values, one.data["force_y"].values, atol=1e-9)
    for name in ("contact_area", "sticking_area"):
        assert_allclose(other.data[name].values, one.data[name].values, atol=1e-8)
    assert np.abs(one.data["force_x"].values[-1]) > 1e-2


def test_other_units_are_the_same_run():
    """Lengths times 2e-3, stresses times 5e5."""
    length, stress = 2e-3, 5e5
    one, other = capped(), capped(length=length, stress=stress)
    for name, unit in (
        ("force_x", stress * length**2),
        ("force_y", stress * length**2),
        ("contact_area", length**2),
        ("displacement", length),
    ):
        values = one.data[name].values
        assert_allclose(other.data[name].values / unit, values, atol=1e-7 * np.abs(values).max())
    heat = one.ledger["friction_heat"].values
    assert_allclose(other.ledger["friction_heat"].values / (stress * length**3), heat, atol=1e-9)


def test_forces_balance_and_heat_is_work():
    """The ledger of a cap that is pressed and sheared, and its audit."""
    run = capped(steps=12)
    assert run.status.name == "SOLVED"
    assert run.energy.imbalance_rel < 1e-2
    result = {check.check: check.ok for check in run.audit.checks}
    assert result["no_interpenetration"]
    assert result["friction_dissipates"]
    assert result["steps_converged"]
    # what is symmetric stays so
    assert np.abs(run.data["force_z"].values).max() < 1e-9


# ---------------------------------------------------------------- shapes and pictures


def off_the_sphere(cells, places):
    """Return how far points of the face lie off the sphere."""
    mesh = rectangle(1.6, 0.7, (cells, 2), (-0.8, 0.0))
    dome = Dome((0.0, 0.7, 0.0), 2.5)
    body = SweptBody(mesh, np.linspace(-0.8, 0.8, cells + 1), Q1N2(), shape=dome)
    parts = body.discretised(("top",))
    face = parts.surfaces["top"]
    xis = np.stack([g.ravel() for g in np.meshgrid(places, places)])
    every = np.repeat(np.arange(face.nodes.shape[0]), xis.shape[1])
    at = RationalBoundary(face).points(every, np.tile(xis, face.nodes.shape[0]), parts.points)[1][0]
    centre = np.array([0.0, 0.7 - 2.5, 0.0])
    return np.abs(np.linalg.norm(at.T - centre, axis=1) - 2.5).max()


def test_faces_go_through_the_sphere():
    """At the middles of patches to rounding; between them the error falls as h^3 or faster."""
    assert off_the_sphere(4, np.zeros(1)) < 1e-13
    coarse, fine = (off_the_sphere(n, np.linspace(-1.0, 1.0, 5)) for n in (4, 8))
    assert coarse < 2e-3
    assert fine < coarse / 7.0


def test_the_other_way_up():
    """A dome below its base is the mirror image."""
    points = np.random.default_rng(1).uniform(-0.4, 0.4, (20, 3)) + np.array([0.0, 0.5, 0.0])
    up = Dome((0.0, 1.0, 0.0), 3.0).moved(points)
    down = Dome((0.0, -1.0, 0.0), 3.0).moved(points * np.array([1.0, -1.0, 1.0]))
    assert_allclose(down * np.array([1.0, -1.0, 1.0]), up, atol=1e-15)


@pytest.mark.parametrize("element", [Q1(), Q1N2(), st.solids.Q2()])
def test_pictures_close_around_the_body(element):
    """Every edge belongs to two cells that run along it in opposite directions; volume inside.

    Where cells are drawn in four beside others that are not, edges fit because they are straight.
    """
    body = SweptBody(section(), BREAKS, element)
    parts = body.discretised(("bottom",))
    drawn = parts.picture
    cells = drawn.quads
    ends = np.stack([cells, np.roll(cells, -1, axis=1)], axis=-1).reshape(-1, 2)
    there = {tuple(e) for e in ends.tolist()}
    assert len(there) == len(ends)
    assert element.SPLINE or all((b, a) in there for a, b in there)
    x = (drawn.matrix @ parts.points)[cells]
    volume = np.zeros(len(cells))
    for a, b, c in ((0, 1, 2), (0, 2, 3)):
        volume += np.einsum("ci,ci->c", x[:, a], np.cross(x[:, b], x[:, c])) / 6.0
    assert_allclose(volume.sum(), 1.5 * 0.6, rtol=1e-12)
    # the owner of a drawn cell lies beside it
    for (block, e), corners in zip(drawn.owner, x, strict=True):
        own = parts.points[parts.blocks[block].nodes[e]]
        assert (corners > own.min(axis=0) - 1e-9).all()
        assert (corners < own.max(axis=0) + 1e-9).all()


def test_stresses_in_pictures():
    run = capped()
    saved = run.variables
    assert saved["stress_zz"].values.shape == saved["drawn_position"].values.shape[:2]
    trace = sum(saved[f"stress_{k}"].values for k in ("xx", "yy", "zz"))
    assert_allclose(saved["stress_trace"].values, trace, atol=1e-13)
    assert saved["stress_yy"].values[-1].min() < -0.02


# ---------------------------------------------------------------- bad input

BAD = [
    ({"breaks": (0.0, 0.0, 1.0)}, "increase strictly"),
    ({"breaks": (1.0,)}, "increase strictly"),
    ({"shape": 3.0}, "BodyShape"),
    ({"mesh": 1}, "Mesh"),
    ({"breaks": np.linspace(0.0, 1.0, 2_000_000)}, "GiB"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_bodies_are_refused(given, words):
    with pytest.raises(ModelError, match=words):
        SweptBody(**given)


def test_a_mesh_beyond_the_memory_of_the_machine_is_refused(monkeypatch):
    breaks = np.linspace(0.0, 1.0, 601)
    assert SweptBody(breaks=breaks).layers == 600
    monkeypatch.setattr(space_model, "memory_of_machine", lambda: 1 << 30)
    with pytest.raises(ModelError, match=r"about 1\.22 GiB.*\n.*1 GiB is the limit"):
        SweptBody(breaks=breaks)


def test_bad_shapes_are_refused():
    for given, words in (({"radius": -1.0}, "radius"), ({"base": 1.0}, "base")):
        with pytest.raises(ModelError, match=words):
            Dome(**given)
    mesh = rectangle(1.5, 0.7, (5, 3))
    wide = SweptBody(mesh, BREAKS, shape=Dome((0.0, 0.7, 0.0), 1.2))
    with pytest.raises(ModelError, match="radius"):
        wide.discretised(("bottom",))
    for dome in (Dome((0.0, 0.6, 0.0), 2.5), Dome((0.0, 0.7, 0.0), 2.5, 0.1)):
        with pytest.raises(ModelError, match=r"needs 0 and 0\.7"):
            SweptBody(mesh, BREAKS, shape=dome)


@pytest.mark.parametrize(
    "moved", [lambda x: x[:, :2], lambda x: x + 0j, lambda x: np.nan * x, lambda x: None]
)
def test_shapes_that_give_no_places_are_refused(moved):
    class Strange(st.solids.BodyShape):
        def moved(self, places):
            return moved(places)

    with pytest.raises(ModelError, match=r"SweptBody\.shape.*from `moved`"):
        SweptBody(section(), (0.0, 1.0), shape=Strange()).discretised(())


def test_loads_on_faces_are_refused():
    body = SweptBody(section(), BREAKS)
    solid = Solid([body], [], [Pressure(Boundary(0, "top"), Program())], dimensionless=True)
    with pytest.raises(ModelError, match="body in space"):
        st.solve(solid, st.solids.Quasistatic(steps=1), t_span=(0.0, 1.0))
