"""Every check in the audit of solids fails here, beside the run in which it holds.

Almost all fail in honest runs of a few elements: coarse meshes, long load steps, a soft
penalty, too much pressure, a partner that is too short. Newton's method keeps no step above
its tolerance, and no law of friction gives heat back: there a step is damaged before the
outcome reads it.
"""

import importlib

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, failing, line, solved

import stiction as st
from stiction.solids import (
    Q1,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    LinearElastic,
    Loaded,
    Mesh,
    Nearest,
    NearlyIncompressible,
    NeoHookean,
    Program,
    Readings,
    RigidPlane,
    SweptBody,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem
from stiction.solids.many.broad_phase import reach_of_law
from stiction.solids.outcome.element_audit import locking

# what is reached past the public names, to damage it
LOAD_STEPS = "stiction.solids.equilibria.load_steps"

TENSION, WORK = 0.06, 0.015
LAW = st.LennardJones.from_strength(TENSION, WORK)


def strip(method, **settings):
    """Return a run of a short strip that is peeled."""
    small = {"length": 30.0, "adhering": 20.0, "height": 4.0, "cells": (60, 2), "u_end": 8.0}
    system = st.StripPeeling(**{**small, "model": st.EA(0.01), **settings})
    return st.solve(system, method, throw=False)


def block(along, way, *, young=1.0, width=1.0, steps=4, **contact):
    """Return a run of a block of 2 x 2 elements on a plane, whose top is driven one way."""
    top = Boundary(0, "top")
    solid = st.Solid(
        [
            Body(
                rectangle(width, 1.0, (2, 2), (0.0, LAW.gap_eq)),
                Q1(),
                LinearElastic(young, 0.0),
            )
        ],
        [Contact(Boundary(0, "bottom"), RigidPlane(), LAW, **contact)],
        [Driven(top, along, Program((0.0, 1.0), (0.0, way))), Fixed(top, (1 - along,))],
        dimensionless=True,
    )
    return solved(solid, st.solids.Quasistatic(steps=steps))


def pair(low, high, lift, young=1.0, steps=6, **contact):
    """Return a run of two blocks, each from left to right, of which the upper is lifted."""
    bodies = []
    for (left, right), base in ((low, -1.0 - LAW.gap_eq), (high, 0.0)):
        width = right - left
        mesh = rectangle(width, 1.0, (round(4 * width), 2), (left, base))
        bodies.append(Body(mesh, Q1(), NeoHookean(young)))
    top = Boundary(1, "top")
    solid = st.Solid(
        bodies,
        [Contact(Boundary(1, "bottom"), Boundary(0, "top"), LAW, **contact)],
        [
            Driven(top, 1, Program((0.0, 1.0), (0.0, lift))),
            Fixed(top, (0,)),
            Fixed(Boundary(0, "bottom")),
        ],
        dimensionless=True,
    )
    return solved(solid, st.solids.Quasistatic(steps=steps))


# ---- energy and Newton's method


@pytest.mark.fails_audit("solids", "ledger_closes")
def test_long_load_steps_lose_energy():
    run = strip(st.solids.Quasistatic(steps=1), cells=(30, 2))
    check_fails(run, "ledger_closes", value=run.energy.imbalance_rel, limit=1e-2)
    check_holds(strip(st.solids.Quasistatic(steps=12), cells=(30, 2)), "ledger_closes")


@pytest.mark.fails_audit("solids", "steps_converged")
@pytest.mark.parametrize(
    "method",
    [
        st.solids.Quasistatic(steps=4, max_halvings=0, max_iterations=3),
        st.Continuation(steps=4, max_halvings=0, max_iterations=3),
    ],
    ids=["load steps", "arcs"],
)
def test_newtons_method_is_given_too_few_iterations(method):
    run = strip(method, u_end=4.0)
    found = line(run, "steps_converged")
    assert run.status is st.Status.UNCONVERGED
    assert failing(run) == {"steps_converged"}
    # the value is that of the step that was given up
    assert found.value > found.limit == method.newton_tolerance
    enough = type(method)(steps=12)
    assert check_holds(strip(enough, u_end=4.0), "steps_converged").value > 0.0


@pytest.mark.fails_audit("solids", "steps_converged")
@pytest.mark.parametrize(("residual", "ok"), [(1.1e-6, False), (0.9e-6, True)])
def test_a_step_is_accepted_with_a_residual_above_the_tolerance(monkeypatch, residual, ok):
    steps = importlib.import_module(LOAD_STEPS)
    solve_step, count = steps.solve_step, 0

    def careless(*given):
        nonlocal count
        outcome, count = solve_step(*given), count + 1
        if count != 3:
            return outcome
        return outcome._replace(residuals=(*outcome.residuals, residual))

    monkeypatch.setattr(steps, "solve_step", careless)
    run = strip(st.solids.Quasistatic(steps=12, newton_tolerance=1e-6))
    if ok:
        assert run.status is st.Status.SOLVED
        check_holds(run, "steps_converged", value=residual)
    else:
        assert run.status is st.Status.UNTRUSTED
        check_fails(run, "steps_converged", value=residual, limit=1e-6)


@pytest.mark.fails_audit("solids", "residual_above_roundoff")
@pytest.mark.parametrize(("load", "ok"), [(1e-15, False), (1e-6, True)])
def test_loads_below_the_floor_count_as_balanced(load, ok):
    """A load so small that rounding of strains hides it moves nothing, and this is reported."""
    pulled = st.Solid(
        [Body(rectangle(2.0, 1.0, (4, 2)), Q1(), NeoHookean(1.0, 0.3))],
        [],
        [
            Fixed(Boundary(0, "left")),
            Loaded(Nearest(0, (2.0, 0.5)), 0, Program((0.0, 1.0), (load, load))),
        ],
    )
    run = solved(pulled, st.solids.Quasistatic(steps=1))
    if ok:
        assert check_holds(run, "residual_above_roundoff").value < 1e-7
    else:
        check_fails(run, "residual_above_roundoff", value=1.0, limit=1e-6)


def bent(material, element, **given):
    """Return a run of a short cantilever."""
    right = Boundary(0, "right")
    held = [Fixed(Boundary(0, "left")), Driven(right, 1, Program((0.0, 1.0), (0.0, 0.05)))]
    body = Body(rectangle(4.0, 1.0, (16, 4)), element, material, **given)
    readings = Readings(displacement=1, support=True)
    solid = st.Solid([body], [], held, readings=readings)
    return solved(solid, st.solids.Quasistatic(steps=1))


@pytest.mark.fails_audit("solids", "volume_does_not_lock")
def test_linear_elements_lock_where_volume_is_conserved():
    stiff, soft = NearlyIncompressible(1.0, 0.49), NearlyIncompressible(1.0, 0.44)
    ratio = 2.0 * 1.49 / (3.0 * (1.0 - 2.0 * 0.49))
    locked = bent(stiff, Q1())
    # locked volume is seen from displacements too, where it makes bending stiff
    bends = ("bending_does_not_lock",)
    found = check_fails(locked, "volume_does_not_lock", limit=10.0, beside=bends)
    assert found.value == pytest.approx(ratio, rel=1e-9)
    check_holds(bent(soft, Q1()), "volume_does_not_lock", beside=bends)
    # triangles have no reduced integration
    corners, cells = [[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]]
    of_triangles = st.Solid([Body(Mesh(corners, cells), Q1(), stiff)])
    (check,) = locking(Problem(of_triangles.assembled()))
    assert "reduced" in found.note
    assert "take second order" in check.note
    # also of elements that bend, in space; one row with a spline has no cell of four nodes
    of_wedges = st.solids.SweptBody(Mesh(corners, cells), (0.0, 1.0), st.solids.QM6(), stiff)
    row = Body(rectangle(4.0, 1.0, (8, 1)), st.solids.Q1N2(), stiff)
    touch = Contact(Boundary(0, "bottom"), RigidPlane((0.0, -1.0)), st.solids.Signorini())
    for solid in (st.Solid([of_wedges]), st.Solid([row], [touch])):
        assert not locking(Problem(solid.assembled()))[0].ok
    free = bent(stiff, Q1(reduced=True))
    right = [bent(stiff, element) for element in (st.solids.Q2(), st.solids.QM6())]
    for run in (free, *right, bent(stiff, Q1(), plane_stress=True)):
        assert "volume_does_not_lock" not in [c.check for c in run.audit]
    # what the check warns of
    forces = [float(run.data["force_y"].values[-1]) for run in (locked, free)]
    assert forces[0] > 1.5 * forces[1]
    assert (
        abs(float(right[1].data["force_y"].values[-1]) / forces[1] - 1.0) < 0.05
    )  # reason: coarse


@pytest.mark.fails_audit("solids", "friction_dissipates")
@pytest.mark.fails_audit("solids", "ledger_closes")
def test_heat_of_sliding_comes_back(monkeypatch):
    def sheared():
        return block(0, 0.5, steps=20, friction=st.EA(0.5))

    run = sheared()
    check_holds(run, "friction_dissipates")
    steps = importlib.import_module(LOAD_STEPS)
    step_energies = steps.step_energies

    def cooling(problem, before, after, times, last):
        now = step_energies(problem, before, after, times, last)
        heat = tuple(2.0 * a - b for a, b in zip(last.heat, now.heat, strict=True))
        return now._replace(heat=heat)

    monkeypatch.setattr(steps, "step_energies", cooling)
    cold = sheared()
    heat = run.energy.total_friction_heat
    assert cold.energy.total_friction_heat == pytest.approx(-heat, rel=1e-12)
    found = check_fails(cold, "friction_dissipates", beside={"ledger_closes"})
    assert found.value == pytest.approx(np.diff(heat).max(), rel=1e-12)
    assert found.limit == pytest.approx(1e-12 * cold.energy.scale, rel=1e-12)


# ---- the normal law


@pytest.mark.fails_audit("solids", "pressure_within_law")
@pytest.mark.parametrize(("young", "ok"), [(1.0, False), (0.5, True)])
def test_a_block_is_pressed_harder_than_the_law_is_meant_for(young, ok):
    run = block(1, -0.5, young=young)
    pressure = run.data.normal_traction.values.max(axis=1)
    value = pressure.max() / LAW.max_tension
    # the wall gives way a little beside the block
    assert 0.7 * 0.5 * young < pressure.max() < 0.5 * young
    if ok:
        check_holds(run, "pressure_within_law", value=value)
    else:
        when = run.time[np.argmax(pressure)]
        check_fails(run, "pressure_within_law", value=value, limit=5.0, when=when)


@pytest.mark.fails_audit("solids", "no_interpenetration")
@pytest.mark.fails_audit("solids", "pressure_within_law")
@pytest.mark.parametrize(("way", "ok"), [(0.4, False), (0.2, True)])
def test_a_stiff_block_is_pushed_through_the_wall(way, ok):
    run = block(1, -way, young=100.0, penalty=1e3)
    gap = run.data.gap.values.min(axis=1)
    # the block hardly shortens, the wall takes the whole way
    assert 0.9 * way < LAW.gap_eq - gap.min() < way
    if ok:
        check_holds(run, "no_interpenetration", beside={"pressure_within_law"}, least=True)
    else:
        check_fails(
            run,
            "no_interpenetration",
            value=gap.min(),
            limit=0.0,
            when=run.time[np.argmin(gap)],
            beside={"pressure_within_law"},
            least=True,
        )


# ---- lengths and stiffnesses of the mesh


@pytest.mark.fails_audit("solids", "process_zone_resolved")
@pytest.mark.fails_audit("solids", "law_length_resolved")
@pytest.mark.parametrize(
    ("young", "width", "too_coarse"),
    [
        (10.0, 1.0, set()),
        (0.5, 4.0, {"process_zone_resolved"}),
        (100.0, 10.0, {"law_length_resolved"}),
        (1.0, 10.0, {"process_zone_resolved", "law_length_resolved"}),
    ],
)
def test_a_mesh_is_coarse_for_the_law_and_for_the_body(young, width, too_coarse):
    run = block(1, 0.05, young=young, width=width)
    assert run.data.normal_traction.values.min() < -0.2 * TENSION
    limits = {"process_zone_resolved": 1.0, "law_length_resolved": 10.0}
    size, zone = 0.5 * width, young * WORK / TENSION**2
    values = {"process_zone_resolved": 4.0 * size / zone, "law_length_resolved": size / LAW.length}
    for name, limit in limits.items():
        about = pytest.approx(values[name], rel=1e-9)
        if name in too_coarse:
            found = check_fails(run, name, limit=limit, beside=too_coarse)
        else:
            found = check_holds(run, name, beside=too_coarse)
        assert found.value == about


@pytest.mark.fails_audit("solids", "penalty_stiff_enough")
@pytest.mark.parametrize(("penalty", "ok"), [(0.59, False), (0.61, True)])
def test_a_penalty_is_softer_than_the_body(penalty, ok):
    run = block(0, 0.1, friction=st.EA(0.5), penalty=penalty)
    # stiffness of the interface over that of one element, half as long as the block
    stiff = pytest.approx(0.5 * penalty, rel=1e-12)
    if ok:
        assert check_holds(run, "penalty_stiff_enough", least=True).value == stiff
    else:
        assert check_fails(run, "penalty_stiff_enough", limit=0.3, least=True).value == stiff


# ---- two bodies


@pytest.mark.fails_audit("solids", "every_point_has_partner")
def test_a_wide_block_on_a_narrow_one():
    run = pair((0.5, 1.5), (0.0, 2.0), 0.001, steps=1)
    # five points in every element; those of the one beyond each end that are near enough
    inside = 0.25 * (1.0 - 0.5 * (1.0 + np.polynomial.legendre.leggauss(5)[0]))
    near = int((np.hypot(inside, LAW.gap_eq + 0.001) < LAW.gap_max).sum())
    check_fails(run, "every_point_has_partner", value=2 * near, limit=0.0, when=(0.0, 1.0))
    same = pair((0.0, 1.0), (0.0, 1.0), 0.001, steps=1)
    assert check_holds(same, "every_point_has_partner").value == 0.0


@pytest.mark.fails_audit("solids", "every_point_has_partner")
def test_points_are_near_where_the_bodies_have_come_to():
    # stiff blocks, so that the gap is the given one; pressed together, more points are near
    inside = 0.25 * (1.0 - 0.5 * (1.0 + np.polynomial.legendre.leggauss(5)[0]))
    at_rest, pressed, lifted = (
        int((np.hypot(inside, LAW.gap_eq + lift) < LAW.gap_max).sum())
        for lift in (0.0, -0.03, 0.03)
    )
    assert lifted < at_rest < pressed
    run = pair((0.5, 1.5), (0.0, 2.0), -0.03, young=1e3, steps=1)
    (found,) = [line for line in run.audit if line.check == "every_point_has_partner"]
    assert (found.value, found.time) == (2 * pressed, 1.0)
    run = pair((0.5, 1.5), (0.0, 2.0), 0.03, young=1e3, steps=1)
    (found,) = [line for line in run.audit if line.check == "every_point_has_partner"]
    assert (found.value, found.time) == (2 * at_rest, 0.0)


@pytest.mark.fails_audit("solids", "every_pair_found")
def test_bodies_that_are_no_pair_come_near():
    """A block comes near another one and feels nothing, as a reach ends before that of the law."""
    sides = [Boundary(k, "rim") for k in range(3)]
    places = [(0.0, 0.0), (3.0, 0.0), (0.0, -1.5)]
    meshes = [rectangle(1.0, 1.0, (2, 2), at).outlined("rim") for at in places]
    blocks = [Body(mesh, Q1()) for mesh in meshes]
    held = [Fixed(sides[0]), Fixed(sides[1], (1,)), Fixed(sides[2])]
    ways = []
    for far in (1.7, 0.2):
        # the other block is stretched a little while it goes
        ends = (("left", far), ("right", far - 0.02))
        way = [Driven(Boundary(1, end), 0, Program((0.0, 1.0), (0.0, -by))) for end, by in ends]
        ways.append([*held, *way])
    law = st.LennardJones.from_strength(0.05, 2e-3)
    touch = st.solids.ContactAmong(sides, law, reach=0.01)
    one = st.solids.Quasistatic(steps=1)
    runs = [solved(st.Solid(blocks, [touch], way), one, (0.0, 1.0)) for way in ways]
    found = check_fails(runs[0], "every_pair_found", limit=0.0, when=1.0)
    # two pieces are taken off the distance of nodes, and the reach of the law
    assert found.value == pytest.approx(1.0 - 0.3 + reach_of_law(law), rel=1e-6)
    assert "bodies 0 and 1 had no contact forces" in found.note
    check_holds(runs[1], "every_pair_found")


@pytest.mark.fails_audit("solids", "action_reaction_balance")
@pytest.mark.fails_audit("solids", "every_point_has_partner")
def test_two_passes_do_not_share_their_work():
    # blocks that overlap by half: both passes are alike, but for what sticks out
    run = pair((0.0, 1.0), (0.5, 1.5), 0.1)
    shared = np.abs(run.data.non_reciprocity.values).max() / run.energy.scale
    check_fails(
        run, "action_reaction_balance", value=shared, limit=0.05, beside={"every_point_has_partner"}
    )
    same = pair((0.0, 1.0), (0.0, 1.0), 0.1)
    check_holds(same, "action_reaction_balance")


@pytest.mark.fails_audit("solids", "balanced_between_steps")
def test_long_steps_pass_over_what_is_out_of_balance():
    # pulled off in one step: the whole adhesion is passed over, and reported; the ledger closes
    run = pair((0.0, 1.0), (0.0, 1.0), 1.0, steps=1, passes="mortar")
    released = np.abs(run.data.unbalanced_work.values).max() / run.energy.scale
    check_fails(run, "balanced_between_steps", value=released, limit=0.05)
    assert run.energy.imbalance_rel < 1e-6
    check_holds(pair((0.0, 1.0), (0.0, 1.0), 0.03, passes="mortar"), "balanced_between_steps")


@pytest.mark.fails_audit("solids", "two_half_pass_balance")
@pytest.mark.fails_audit("solids", "action_reaction_balance")
@pytest.mark.fails_audit("solids", "every_point_has_partner")
def test_two_passes_do_not_balance():
    run = pair((0.5, 1.5), (0.0, 2.0), 0.3, young=0.3)
    beside = {"action_reaction_balance", "every_point_has_partner"}
    found = check_fails(run, "two_half_pass_balance", limit=0.05, beside=beside)
    assert found.value < 1.0
    same = pair((0.0, 1.0), (0.0, 1.0), 0.3, young=0.3)
    check_holds(same, "two_half_pass_balance")


def cantilever(element, cells=(10, 1), *, pulled=False, depth=None):
    """A beam twenty times as long as high, bent or pulled at its end."""
    law = NeoHookean(1.0, 0.3)
    mesh = rectangle(20.0, 1.0, cells)
    body = Body(mesh, element, law) if depth is None else SweptBody(mesh, depth, element, law)
    axes = (0, 1) if depth is None else (0, 1, 2)
    way = Program((0.0, 1.0), (0.0, 0.2))
    held = [Fixed(Boundary(0, "left"), axes), Driven(Boundary(0, "right"), 0 if pulled else 1, way)]
    return st.solve(st.Solid([body], [], held, dimensionless=True), st.solids.Quasistatic(steps=2))


@pytest.mark.fails_audit("solids", "bending_does_not_lock")
@pytest.mark.parametrize(
    ("element", "cells", "depth", "stiffer"),
    [
        (Q1(), (10, 1), None, 2.62),
        (Q1(), (40, 2), None, 1.148),
        (st.solids.Q1N2(), (10, 1), None, 2.62),
        (Q1(reduced=True), (10, 1), None, 2.112),
        (Q1(), (10, 1), (0.0, 1.0), 2.6),
        (Q1(reduced=True), (10, 1), (0.0, 1.0), None),
    ],
)
def test_linear_elements_that_bend(element, cells, depth, stiffer):
    """The value says how much too stiff the beam is, as numbers of beam theory say."""
    run = cantilever(element, cells, depth=depth)
    check_fails(run, "bending_does_not_lock")
    (check,) = [c for c in run.audit.checks if c.check == "bending_does_not_lock"]
    if stiffer is not None:
        assert abs(1.0 / (1.0 - check.value) / stiffer - 1.0) < 0.03  # reason: clamps, and shear


@pytest.mark.parametrize(
    ("element", "cells", "depth", "pulled"),
    [
        (Q1(), (10, 1), None, True),
        (Q1(reduced=True), (10, 1), None, True),
        (Q1(), (10, 1), (0.0, 1.0), True),
        (Q1(), (80, 4), None, False),
        (st.solids.QM6(), (10, 1), None, False),
        (st.solids.QM6(), (10, 1), (0.0, 1.0), False),
        (Q2(), (10, 1), None, False),
    ],
)
def test_beams_that_are_right(element, cells, depth, pulled):
    """Pulled, with cells enough, or of elements that bend."""
    run = cantilever(element, cells, depth=depth, pulled=pulled)
    assert run.audit.ok
    if type(element) is Q1:
        check_holds(run, "bending_does_not_lock")


@pytest.mark.fails_audit("solids", "elements_unfolded")
@pytest.mark.parametrize(("way", "ok"), [(-0.2, True), (-0.6, False)])
def test_an_element_is_folded(way, ok):
    """A corner is pushed into its element: integration points stay right side out."""
    corner = Nearest(0, (1.0, 1.0))
    program = Program((0.0, 1.0), (0.0, way))
    solid = st.Solid(
        [Body(rectangle(1.0, 1.0, (3, 3)), Q1(), NearlyIncompressible(1.0, 0.45))],
        [],
        [Fixed(Boundary(0, "bottom")), *(Driven(corner, c, program) for c in (0, 1))],
        dimensionless=True,
    )
    run = solved(solid, st.solids.Quasistatic(steps=10))
    # so coarse a mesh is too stiff near the corner
    bends = ("bending_does_not_lock",)
    if ok:
        check_holds(run, "elements_unfolded", least=True, beside=bends)
    else:
        check_fails(run, "elements_unfolded", least=True, beside=bends)


@pytest.mark.fails_audit("solids", "elements_unfolded")
@pytest.mark.parametrize(("way", "ok"), [(0.05, True), (0.3, False)])
@pytest.mark.parametrize("deep", [False, True])
def test_a_curved_element_is_folded_between_its_points(way, ok, deep):
    """A node in the middle of an edge moves along it and back: no last state shows it."""
    mesh, law = rectangle(1.0, 1.0, (2, 2)), NeoHookean(1.0, 0.0)
    body = SweptBody(mesh, (0.0, 1.0), Q2(), law) if deep else Body(mesh, Q2(), law)
    place = (0.5, 0.25, 0.0) if deep else (0.5, 0.25)
    there = Program((0.0, 0.5, 1.0), (0.0, way, 0.0))
    other = Program((0.0, 1.0), (0.0, 0.0))
    axes = (0, 1, 2) if deep else (0, 1)
    conditions = [Fixed(Boundary(0, "bottom"), axes), Fixed(Boundary(0, "top"), axes)]
    conditions += [Driven(Nearest(0, place), c, there if c == 1 else other) for c in axes]
    run = solved(
        st.Solid([body], [], conditions, dimensionless=True), st.solids.Quasistatic(steps=6)
    )
    if ok:
        check_holds(run, "elements_unfolded", least=True)
    else:
        check_fails(run, "elements_unfolded", least=True)
        (check,) = [c for c in run.audit.checks if c.check == "elements_unfolded"]
        assert 0.2 < check.time < 0.8
