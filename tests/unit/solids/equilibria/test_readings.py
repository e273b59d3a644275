"""Lengths of contact and of stick, on boundaries whose edges are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import ELEMENTS

import stiction as st
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids import (
    Q1,
    ContactAmong,
    Driven,
    Fixed,
    Linear,
    LinearElastic,
    Loaded,
    MovingSolid,
    Nearest,
    Program,
    Readings,
    Rigid,
    Term,
)
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import knots_of
from stiction.solids.contact.edges import _roots, crossings, gaps_at
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.equilibria.problem import Problem
from stiction.solids.equilibria.readings import force_on, lengths
from stiction.solids.mesh.model import block, rectangle
from stiction.solids.model import Assembled, Body

LAW = LennardJones(1.0, 0.3)
BEND, CELLS = 0.05, 12


def parabola(element, gap=0.15, shift=0.0):
    """Return a body whose lower side is y = gap + BEND x^2, on the plane y = 0."""

    def mapping(s, t):
        x = 4.0 * s - 2.0
        return x + shift, gap + BEND * x * x + t * (1.0 - 0.5 * BEND * x * x)

    return Body(block(mapping, (CELLS, 2)), ELEMENTS[element]())


def at_rest(bodies, partner, friction=None):
    """Return a problem and what it reports about the undeformed state."""
    contact = Contact(Boundary(0, "bottom"), partner, LAW, friction or Frictionless())
    problem = Problem(Assembled(bodies, [contact]))
    state = problem.start(0.0)
    return problem, problem.evaluate(state, state.u, 0.0, None, data=False)[0]


def arc_length(x):
    """Return the length of the parabola from its middle to x."""
    slope = 2.0 * BEND * x
    return 0.5 * x * np.sqrt(1.0 + slope**2) + np.arcsinh(slope) / (4.0 * BEND)


@pytest.mark.parametrize("element", ["Q2", "Q2N2", "Q1N2"])
@pytest.mark.parametrize("partner", ["plane", "body"])
def test_edges_of_a_parabola(element, partner):
    """On a plane and on a body; Q2 holds a parabola exactly, splines in arc length nearly."""
    bodies, against = [parabola(element)], RigidPlane()
    if partner == "body":
        bodies.append(Body(rectangle(5.0, 1.0, (7, 2), (-2.4, -1.0)), ELEMENTS[element]()))
        against = Boundary(1, "top")
    problem, trial = at_rest(bodies, against)
    p, out, found = problem.passes[0], trial.point_values[0], trial.closest_points[0]
    (knots,) = knots_of(p.own)
    edge = np.sqrt((LAW.gap_max - 0.15) / BEND)
    x = problem.points
    marks, places = crossings(p, LAW.gap_max, p.coordinate[0], out[:, k.GAP], found, x)
    assert marks.size == 2
    assert_allclose(places[:, 0], [-edge, edge], atol=1e-12 if element == "Q2" else 1e-5)
    assert_allclose(places[:, 1], LAW.gap_max, rtol=1e-12)
    # from any guess, the same to the last digits
    far = type(found)(*(values[[0, 0]] for values in found))
    assert_allclose(gaps_at(p, marks[None], far, x)[0], LAW.gap_max, rtol=1e-12)
    # the coordinate is the arc length, but for its change inside one element
    result = lengths(p, out, found, x)
    exact = 2.0 * arc_length(edge)
    assert_allclose(result.nominal, exact, rtol=1e-4)
    assert_allclose(result.current, exact, rtol=1e-3)
    assert_allclose(result.right - result.left, result.nominal, rtol=1e-14)
    assert_allclose(0.5 * (result.left + result.right), 0.5 * knots[-1], rtol=1e-12)


def test_a_flat_body_touches_everywhere_or_nowhere():
    for gap, wanted in ((0.18, 2.0), (0.4, 0.0)):
        body = Body(rectangle(2.0, 0.5, (4, 2), (0.3, gap)), ELEMENTS["Q1N2"]())
        problem, trial = at_rest([body], RigidPlane())
        result = lengths(
            problem.passes[0], trial.point_values[0], trial.closest_points[0], problem.points
        )
        assert_allclose([result.nominal, result.current], wanted, atol=1e-13)
        assert np.isnan(result.left) == (wanted == 0.0)


def test_stretching_changes_the_current_length_alone():
    body = Body(rectangle(2.0, 0.5, (4, 2), (0.0, 0.18)), ELEMENTS["Q2N2"]())
    problem, trial = at_rest([body], RigidPlane())
    x = problem.points * np.array([1.25, 1.0])
    result = lengths(problem.passes[0], trial.point_values[0], trial.closest_points[0], x)
    assert_allclose([result.nominal, result.current], [2.0, 2.5], rtol=1e-13)


def test_stick_ends_where_the_traction_meets_the_threshold():
    body = Body(rectangle(2.0, 0.5, (4, 2), (0.0, 0.18)), ELEMENTS["Q1N2"]())
    problem, trial = at_rest([body], RigidPlane(), EA(0.5))
    p, out = problem.passes[0], trial.point_values[0].copy()
    for low, high in ((0.37, 1.42), (-1.0, 0.61), (0.8, 3.0), (-1.0, 3.0)):
        z = p.coordinate
        inside = (z > low) & (z < high)
        middle = 0.5 * (low + high)
        # a straight excess beside each end
        out[:, k.EXCESS] = np.where(z < middle, low - z, z - high)
        out[:, k.STATE] = np.where(inside, k.STICKS, k.SLIDES)
        result = lengths(p, out, trial.closest_points[0], problem.points)
        assert_allclose(result.sticking, min(high, 2.0) - max(low, 0.0), rtol=1e-13)
    out[:, k.EXCESS], out[:, k.STATE] = 1.0, k.SLIDES
    assert lengths(p, out, trial.closest_points[0], problem.points).sticking == 0.0


def test_the_force_of_a_contact():
    bodies = [
        Body(rectangle(2.0, 0.5, (4, 2), (0.0, 0.2)), ELEMENTS["Q1"]()),
        Body(rectangle(2.0, 0.5, (3, 2), (0.0, -0.5)), ELEMENTS["Q1"]()),
    ]
    problem, trial = at_rest(bodies, Boundary(1, "top"))
    exact = 2.0 * float(LAW.traction(0.2))
    assert_allclose(force_on(problem, trial, 0, 0), [0.0, exact], atol=1e-12)
    assert_allclose(force_on(problem, trial, 0, 1), [0.0, -exact], atol=1e-12)


def test_roots_by_chandrupatla_agree_with_bisection():
    """Steep, flat, and infinite beyond a point; each root by itself or among others: same bits."""
    shift = np.random.default_rng(3).uniform(-0.9, 0.9, 40)

    def f(x, which):
        y = x - shift[which]
        with np.errstate(over="ignore"):
            curved = np.where(which % 2, y**3, np.expm1(30.0 * y))
        return np.where((which % 4 == 3) & (y > 0.3), np.inf, curved)

    number = np.arange(shift.size)
    left, right = np.full(shift.size, -1.0), np.full(shift.size, 1.0)
    ends = (left, f(left, number)), (right, f(right, number))
    found = _roots(f, *ends, 1e-15)
    assert_allclose(found, shift, rtol=0.0, atol=1e-14)
    for i in (0, 3, 17):
        one = [(x[i : i + 1], y[i : i + 1]) for x, y in ends]
        assert _roots(lambda x, which, i=i: f(x, which + i), *one, 1e-15)[0] == found[i]


@pytest.mark.parametrize("pieces", [4, 8])
def test_contact_between_two_samples_is_read(pieces):
    """By virtual work points of segments touch where the middles of cells do not."""
    law = st.LennardJones.from_strength(0.2, 2e-4, adhesive=False)

    def place(s, t):
        x = -1.5 + 3.0 * s
        low = 5.0 - np.sqrt(25.0 - x * x) + 1.5 * law.gap_eq
        return x, low + (1.5 - low) * t

    lower = rectangle(3.0, 1.5, (pieces, 2), (-1.5, -1.5))
    bodies = [Body(m, Q1(), LinearElastic(1.0, 0.3)) for m in (lower, block(place, (pieces, 2)))]
    sides = Boundary(1, "bottom"), Boundary(0, "top")
    top = Boundary(1, "top")
    solid = st.Solid(
        bodies,
        [Contact(*sides, law, passes="mortar")],
        [
            Driven(top, 1, Program((0, 1), (0, -0.01))),
            Fixed(top, (0,)),
            Fixed(Boundary(0, "bottom")),
        ],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=4))
    pressed = np.abs(run.data["force_y"].values) > 1e-9
    assert pressed[-1]
    assert np.array_equal(run.data["contact_length"].values > 0.0, pressed)
    assert run.data["contact_length"].values[-1] < 0.1
    assert list(run.event_log.kind) == ["close"]


@pytest.mark.parametrize(
    ("start", "slides"), [(0.0, True), (0.5, False), (5.0, None)], ids=["all", "late", "never"]
)
def test_quantities_belong_to_the_results_and_to_their_contact(start, slides):
    """A block slides fully before t = 0.5 and rests later; a second contact has another law."""
    law, strong = (LennardJones.from_strength(t, w) for t, w in ((0.05, 0.01), (0.1, 0.03)))
    body, left = Body(rectangle(2.0, 1.0, (2, 1)), Q1()), Boundary(0, "left")
    planes = RigidPlane((0.0, -law.gap_eq)), RigidPlane((0.0, 1.2 + strong.gap_eq), (0.0, -1.0))
    contacts = [
        Contact(Boundary(0, name), *rest)
        for name, *rest in (("top", planes[1], strong), ("bottom", planes[0], law, DI(mu=1.0)))
    ]
    along = Driven(left, 0, Program((0.0, 0.2, 0.4), (0.0, 0.6, 0.5)))
    # a force on a node prescribes no force of a contact
    none = Loaded(Nearest(0, (2.0, 1.0)), 1, Program((0.0,), (0.0,)))
    readings = Readings(displacement=0, start=start, contact=1)
    solid = st.Solid([body], contacts, [along, Fixed(left, (1,)), none], readings=readings)
    run = st.solve(solid, st.solids.Quasistatic(steps=20))
    if slides is None:
        assert not run.quantities
        return
    value = {name: quantity.value for name, quantity in run.quantities.items()}
    assert value["work_of_adhesion"] == pytest.approx(0.01)
    assert (value["full_sliding_at"] is not None) == slides
    assert value["peak_force_y"] is not None


def test_times_of_a_motion_have_its_unit():
    body = Body(rectangle(1.0, 1.0, (1, 1)), Q1(), LinearElastic(1e6, 0.3))
    pull = Loaded(Nearest(0, (1.0, 1.0)), 1, Program((0.0, 1e-2), (0.0, 1e3)))
    moving = MovingSolid(st.Solid([body], (), [Fixed(Boundary(0, "bottom")), pull]), density=1e3)
    run = st.solve(moving, st.solids.GeneralisedAlpha(steps=2), (0.0, 1e-2))
    for name in ("snapshot_time", "displacement"):
        assert run.data[name].attrs["units"] == "s"
    assert run.quantities["peak_force_y_at"].unit == "s"


def test_readings_are_those_of_their_contact():
    """Two blocks, each below a plane; the second plane presses."""
    bodies = [Body(rectangle(w, 1.0, (2, 1)), Q1()) for w in (2.0, 3.0)]
    plane = RigidPlane((0.0, 1.0 + LAW.gap_eq), (0.0, -1.0))
    contacts = [Contact(Boundary(i, "top"), plane, LAW) for i in (0, 1)]
    held = [Fixed(Boundary(i, "bottom")) for i in (0, 1)]
    held.append(Driven(Rigid(1), 1, Program((0.0, 1.0), (0.0, -0.1))))

    def read(**readings):
        solid = st.Solid(bodies, contacts, held, readings=Readings(contact=1, **readings))
        run = st.solve(solid, st.solids.Quasistatic(steps=2))
        names = ("force_y", "contact_length", "normal_displacement")
        return [run.data[name].values[-1] for name in names]

    force, length, down = read()
    assert (force < -0.01, length > 3.0, down) == (True, True, -0.1)
    assert read(body=1) == [force, length, down]
    # named contacts have their numbers whatever pairs are found
    among = ContactAmong([Boundary(0, "left"), Boundary(1, "right")], LAW)
    for more in ([], [among]):
        readings = Readings(contact=1, body=0)
        with pytest.raises(st.ModelError, match=r"bodies of the reported contact: 1\."):
            st.Solid(bodies, [*contacts, *more], held, readings=readings)


def test_forces_that_cancel_are_no_reading():
    ends = [Term(Boundary(0, name), 0, c) for name, c in (("left", -0.3), ("right", 0.3))]
    up = [Term(Boundary(0, "top"), 1, 0.1)]
    for more, support in (([], True), ([], False), (up, True), (up, False)):
        readings = Readings(displacement=0, support=support)
        parts = ([Body()], [], [Linear([*ends, *more])])
        if more:
            st.Solid(*parts, readings=readings)
            continue
        with pytest.raises(st.ModelError, match=r"Readings\.(supp|displ).*factors cancel"):
            st.Solid(*parts, readings=readings)


def test_results_begin_with_the_run():
    """A program before time zero is that after it: results, and a path beyond limit points."""
    law = LennardJones.from_strength(0.06, 0.015)
    body = Body(rectangle(1.0, 10.0, (1, 2), (0.0, law.gap_eq)), Q1(), LinearElastic(1.0, 0.3))
    sides = [Fixed(Boundary(0, name), (0,)) for name in ("left", "right")]

    def followed(begin):
        pull = Driven(Boundary(0, "top"), 1, Program((begin, begin + 1.0), (0.0, 0.6)))
        contact = Contact(Boundary(0, "bottom"), RigidPlane(), law)
        solid = st.Solid([body], [contact], [pull, *sides], dimensionless=True)
        run = st.solve(solid, st.Continuation(steps=20, longest=1.0), (begin, begin + 1.0))
        return [loss.kind for loss in run.determinism.losses], sorted(run.quantities)

    assert followed(-2.0) == followed(0.0)
    assert followed(-2.0)[0] == ["limit_point", "limit_point"]
