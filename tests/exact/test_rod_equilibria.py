"""Rods at rest: closed forms, published bends, limit points."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stiction as st
from stiction.exact import rods as exact
from stiction.rods import rod_kernels as rk
from stiction.rods.assembly import assemble
from stiction.rods.centreline import Arc, Straight
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Free,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
)
from stiction.rods.section import CircularSection, GivenSection
from stiction.rods.statics import equilibrium, follow_path

STIFF = GivenSection(shear=1e4, axial=1e4, bending=1.0, twist=1.0)


def cantilever(elements, loads, section=STIFF):
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    return CosseratRod(section, line, elements=elements, right=Free(), loads=loads)


def orders(errors):
    errors = np.abs(np.array(errors))
    return np.log2(errors[:-1] / errors[1:])


def test_cantilever_under_end_moment():
    """A moment bends a cantilever to three quarters of a circle; errors fall as 1 / n^2."""
    moment = 1.5 * np.pi
    wanted = exact.bent_to_a_circle(1.0, 1.0, moment)
    tips = [
        equilibrium(cantilever(n, [PointMoment([0.0, 0.0, moment])])).position[-1, :2]
        for n in (20, 40, 80)
    ]
    found = orders([np.linalg.norm(tip - wanted) for tip in tips])
    assert np.all(found > 1.98)
    assert np.all(found < 2.02)
    assert (4.0 * tips[2] - tips[1]) / 3.0 == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("right", [Free(), Clamped(), Pinned()])
def test_a_rest_is_a_rest_of_the_rod_that_moves(right):
    """Statics and dynamics have one joint at clamps, and one part of line loads at free ends."""
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    loads = [LineForce([0.0, -3.0, 1.0]), PointForce([0.5, 0.0, 0.0], at=0.4)]
    section = CircularSection(0.02, 1e6, 0.5, 1000.0)
    given = {"elements": 12, "right": right, "loads": loads}
    rest = equilibrium(CosseratRod(section, line, natural_curvature=(0.3, 0.1, 0.2), **given))
    flat = assemble(
        st.Rods([CosseratRod(section, line, natural_curvature=(0.3, 0.1, 0.2), **given)])
    )
    nodes = flat.nodes
    flat.r[:, nodes], flat.q[:, nodes[:-1]] = rest.position.T, rest.frame.T
    force, torque, *spare = (np.zeros_like(flat.r) for _ in range(4))
    rk.elastic(flat.r, flat.q, flat.mat, *spare, force, torque)
    size = np.abs(force).max()
    free, turns = flat.material.free > 0.0, flat.material.turns > 0.0
    assert np.abs(force + flat.constant)[:, free].max() <= 1e-7 * size
    assert np.abs(torque)[:, turns].max() <= 1e-7 * size


def test_euler_load():
    """The load at which the straight column turns soft is Euler's, to 1e-6 when extrapolated."""

    def load(elements):
        low, high = 2.2, 2.6
        for _ in range(30):
            middle = 0.5 * (low + high)
            column = cantilever(elements, [PointForce([-middle, 0.0, 0.0])])
            soft = equilibrium(column, steps=1).softest
            low, high = (middle, high) if soft > 0.0 else (low, middle)
        return 0.5 * (low + high)

    loads = [load(n) for n in (20, 40, 80)]
    wanted = exact.euler_load(1.0, 1.0)
    found = orders(np.array(loads) - wanted)
    assert np.all(found > 1.95)
    assert np.all(found < 2.05)
    assert (4.0 * loads[2] - loads[1]) / 3.0 == pytest.approx(wanted, abs=1e-6)


def test_post_buckling_elastica():
    """Beyond Euler's load the column stands bent as Euler's elastica, stable."""
    load = 3.0
    wanted = exact.elastica_tip(1.0, 1.0, load) - np.array([load / STIFF.axial, 0.0])
    tips = []
    for n in (20, 40, 80):
        press = PointForce([-load, 0.0, 0.0])
        pushed = equilibrium(cantilever(n, [press, PointForce([0.0, 1e-2, 0.0])]), steps=20)
        bent = equilibrium(cantilever(n, [press]), start=pushed)
        assert bent.stable
        tips.append(bent.position[-1, :2])
    found = orders([np.linalg.norm(tip - wanted) for tip in tips])
    assert np.all(found > 1.95)
    assert np.all(found < 2.05)
    assert (4.0 * tips[2] - tips[1]) / 3.0 == pytest.approx(wanted, abs=1e-6)


def bend(elements, force):
    section = GivenSection(shear=5e6, axial=1e7, bending=1e7 / 12.0, twist=5e6 / 6.0)
    arc = Arc([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], 100.0, np.pi / 4.0)
    return CosseratRod(
        section,
        arc,
        elements=elements,
        right=Free(),
        natural_curvature=None,
        loads=[PointForce([0.0, 0.0, force])],
    )


@pytest.mark.parametrize("force", [300.0, 450.0, 600.0])
def test_bend_of_45_degrees(force):
    """Converged tips lie within 0.3 % of the arc length of those published for eight elements."""
    tips = [equilibrium(bend(n, force)).position[-1] for n in (16, 32, 64)]
    refined = [(4.0 * tips[k + 1] - tips[k]) / 3.0 for k in range(2)]
    assert refined[0] == pytest.approx(refined[1], abs=1e-3)
    published = np.array(exact.BEND_45_PUBLISHED[force])
    assert np.abs(refined[1] - published).max() < 0.003 * 100.0 * np.pi / 4.0


def test_path_through_a_limit_point():
    """A shallow arch snaps: the path turns back twice, and half steps find the same loads."""
    arch = CosseratRod(
        GivenSection(shear=1e4, axial=1e4, bending=1.0, twist=1.0),
        Arc(
            [0.0, 0.0, 0.0],
            [np.cos(0.4), np.sin(0.4), 0.0],
            [np.sin(0.4), -np.cos(0.4), 0.0],
            1.25,
            0.8,
        ),
        elements=40,
        left=Clamped(),
        right=Clamped(),
        natural_curvature=None,
        loads=[PointForce([0.0, -60.0, 0.0], at=0.5)],
    )
    loads = []
    for arc in (0.02, 0.01):
        path = follow_path(arch, arc=arc, max_points=400)
        assert [loss.kind for loss in path.losses] == ["limit_point"] * 2
        assert path.factor[-1] > 1.0
        loads.append([loss.time for loss in path.losses])
        # between the limit points no slow load can hold the arch
        turned = np.flatnonzero(np.diff(np.sign(np.diff(path.factor))) != 0) + 1
        between = path.states[(turned[0] + turned[1]) // 2]
        assert not between.stable
    assert loads[0] == pytest.approx(loads[1], rel=1e-8)
    assert loads[0][0] > loads[0][1]


def limits(unit=1.0, force=1.0, turn=(0.0, 0.0, 0.0), arc=0.04, side=1.0):
    """Return the limit loads of the shallow arch in other units, frames, and steps."""
    frame = Rotation.from_rotvec(turn).as_matrix()
    bending = force * unit**2
    section = GivenSection(1e4 * force, 1e4 * force, bending, bending)
    start = frame @ [np.cos(0.4), side * np.sin(0.4), 0.0]
    normal = frame @ [np.sin(0.4), -side * np.cos(0.4), 0.0]
    arch = CosseratRod(
        section,
        Arc([0.0, 0.0, 0.0], start, normal, 1.25 * unit, 0.8),
        elements=40,
        left=Clamped(),
        right=Clamped(),
        natural_curvature=None,
        loads=[PointForce(frame @ [0.0, -60.0 * side * force, 0.0], at=0.5)],
    )
    return [loss.time for loss in follow_path(arch, arc=arc, max_points=100).losses]


def test_limit_points_have_no_unit_frame_side_or_step():
    wanted = limits()
    assert len(wanted) == 2
    for given in (
        {"unit": 1e3},
        {"unit": 1e-6, "force": 1e6, "turn": (1.0, 1.0, 1.0)},
        {"force": 1e9},
        {"turn": (0.3, 1.0, 2.0)},
        {"side": -1.0},
        {"arc": 0.1},
        {"arc": 0.3},
    ):
        assert limits(**given) == pytest.approx(wanted, rel=1e-9), given


def test_halving_the_arch_load_halves_the_factor_scale():
    """Factors and loads count as one product."""
    one = equilibrium(cantilever(20, [PointForce([0.0, 0.8, 0.0])]))
    two = equilibrium(cantilever(20, [PointForce([0.0, 0.4, 0.0]), PointForce([0.0, 0.4, 0.0])]))
    assert one.position == pytest.approx(two.position, abs=1e-9)


def test_a_natural_shape_is_found_without_loads():
    """A given straight line with the natural curvature of an arc, or with another length."""
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    given = {"elements": 20, "right": Free()}
    bent = CosseratRod(STIFF, line, natural_curvature=(0.0, 1.0, 0.0), **given)
    exact_tip = [np.sin(1.0), 1.0 - np.cos(1.0), 0.0]
    for found in (equilibrium(bent), follow_path(bent, max_points=1).states[0]):
        # reason: twenty chords of an arc
        assert found.position[-1] == pytest.approx(exact_tip, abs=2e-4)
    short = equilibrium(CosseratRod(STIFF, line, length=0.9, **given))
    assert short.position[-1] == pytest.approx([0.9, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("factor", [np.nan, -1.0, "a"])
def test_bad_paths_and_starts_are_refused(factor):
    rod = cantilever(20, [PointForce([0.0, 0.8, 0.0])])
    with pytest.raises(st.ModelError, match="max_factor"):
        follow_path(rod, max_factor=factor)
    with pytest.raises(st.ModelError, match=r"equilibrium\.start: got 3"):
        equilibrium(rod, start=3)


def test_a_path_needs_no_largest_factor():
    rod = cantilever(6, [PointForce([0.0, 0.8, 0.0])])
    assert len(follow_path(rod, max_points=2, max_factor=np.inf).states) == 2


@pytest.mark.parametrize("unit", [1e-3, 1e5])
def test_moments_balance_in_any_unit_of_length(unit):
    def tip(unit):
        section = GivenSection(1e3, 1e3, bending=unit**2, twist=0.7 * unit**2)
        moment = PointMoment([1.0 * unit, 0.5 * unit, 2.0 * unit])
        line = Straight([0.0, 0.0, 0.0], [unit, 0.0, 0.0])
        rod = CosseratRod(section, line, right=Free(), loads=[moment])
        found, path = equilibrium(rod), follow_path(rod, arc=0.2, max_points=6)
        lengths = np.concatenate([found.position[-1], found.clamp_moment[0], path.tip.ravel()])
        return np.append(lengths / unit, path.factor)

    assert tip(unit) == pytest.approx(tip(1.0), rel=1e-10, abs=1e-10)


def test_unloaded_and_unheld_rods_are_refused():
    with pytest.raises(st.ModelError, match="without loads"):
        equilibrium(cantilever(20, []))
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    loose = CosseratRod(STIFF, line, left=Free(), right=Free(), loads=[LineForce([0.0, 1.0, 0.0])])
    with pytest.raises(st.ModelError, match="two free ends"):
        equilibrium(loose)


@pytest.mark.parametrize(
    ("turn", "slenderness"), [(2.0, 20.0), (2.0, 1000.0), (6.28, 200.0), (25.0, 200.0)]
)
def test_slender_rods_take_their_natural_curvature(turn, slenderness):
    """A rod given straight, naturally an arc of `turn` radians, under hardly any load."""
    section = st.rods.CircularSection(0.01, 1e7)
    length = 0.01 * slenderness
    small = 1e-6 * section.bending_stiffness / length**2
    rods = [
        CosseratRod(
            section,
            Straight([0, 0, 0], [length, 0, 0]),
            elements=elements,
            right=Free(),
            natural_curvature=(turn / length, 0.0, 0.0),
            loads=[PointForce([0, 0, small])],
        )
        for elements in (80, 160)
    ]
    radius = length / turn
    tip = np.array([np.sin(turn) * radius, (1.0 - np.cos(turn)) * radius])
    errors = []
    for rod in rods:
        found = equilibrium(rod)
        x, *across = found.position[-1]
        errors.append(np.hypot(x - tip[0], np.hypot(*across) - tip[1]) / radius)
        # whatever the number of load steps
        assert equilibrium(rod, steps=40).position == pytest.approx(
            found.position, abs=1e-8 * length
        )
    assert errors[1] < 0.02 * max(1.0, (turn / 25.0) ** 3)  # reason: 160 elements for 25 radians
    # nodes on chords: of second order
    assert 3.0 < errors[0] / errors[1] < 5.5
    path = follow_path(rods[0], arc=0.5, max_points=2)
    assert path.states[0].position[-1] == pytest.approx(
        equilibrium(rods[0]).position[-1], abs=1e-4 * length
    )


@pytest.mark.parametrize("natural", [(6.0, 0.0, 0.0), (0.0, 6.0, 0.0), (4.0, 3.0, 5.0)])
def test_natural_curvature_has_no_frame_unit_or_number_of_steps(natural):
    def tip(turn, unit, steps):
        frame, length = Rotation.from_rotvec(turn).as_matrix(), 2.0 * unit
        section = st.rods.CircularSection(0.01 * unit, 1e7)
        rod = CosseratRod(
            section,
            Straight([0, 0, 0], frame[:, 0] * length),
            elements=20,
            right=Free(),
            first_director=frame[:, 1],
            natural_curvature=np.array(natural) / length,
            loads=[PointForce(frame[:, 2] * 1e-6 * section.bending_stiffness / length**2)],
        )
        return equilibrium(rod, steps=steps).position[-1] @ frame / unit

    wanted = tip([0, 0, 0], 1.0, 10)
    for turn, unit, steps in (
        ([0.3, 1, 0.2], 1.0, 10),
        ([2, 0, 1], 1e3, 1),
        ([0, 0, 0], 1e-3, 100),
    ):
        assert tip(turn, unit, steps) == pytest.approx(wanted, abs=1e-9)
