"""Ready systems of rods: where they start, what they do, what they refuse, and their files."""

import dataclasses
import math

import numpy as np
import pytest
from references import reference

import stiction as st
from stiction.io.scenario import read_scenario
from stiction.io.scenario.scenario import Scenario
from stiction.io.scenario.writer import write_scenario
from stiction.rods import (
    Arc,
    Clamped,
    Curve,
    Driven,
    Free,
    GivenMotion,
    Helix,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    RigidMotion,
    SineSpin,
    SineVelocity,
    Straight,
    presets,
)
from stiction.rods.assembly import assemble
from stiction.rods.contact.curve.kernels import FITTED, SPLINE, axis_point
from stiction.rods.contact.curve.nodes import curve_nodes

GRAVITY = 9.81


def curve(nodes, per_piece=20):
    """Return points of the cubic B-spline of `nodes`, written out, without its ends."""
    s = np.arange(1.0, len(nodes) - 2.0, 1.0 / per_piece)
    away = np.abs(s[:, None] - np.arange(len(nodes)))
    inner = 2.0 / 3.0 - away**2 + 0.5 * away**3
    outer = np.maximum(2.0 - away, 0.0) ** 3 / 6.0
    return np.where(away < 1.0, inner, outer) @ nodes


def nearest(first, second):
    return min(np.linalg.norm(second - point, axis=1).min() for point in first)


@pytest.mark.parametrize(("name", "rule"), [("spline", SPLINE), ("fitted", FITTED)])
def test_nodes_bring_the_curve_to_the_points(name, rule):
    turn = np.linspace(0.0, 5.0, 31)
    points = np.column_stack([np.cos(turn), np.sin(turn), 0.1 * turn])
    nodes = curve_nodes(points, name)
    through = [[axis_point(nodes.T, 0, 30, s, a, rule)[0] for a in range(3)] for s in range(31)]
    assert np.array(through) == pytest.approx(points, abs=1e-14)
    if name == "spline":
        assert curve(nodes, per_piece=1) == pytest.approx(points[1:-2], abs=1e-14)
        assert np.abs(curve(points, per_piece=1) - points[1:-2]).max() > 1e-3


FITTED_PRESETS = [
    (st.CrossedRods, {}),
    (st.rods.RodOnFixedRod, {"friction": st.Coulomb(1.0)}),
    (st.rods.RodNet, {"rows": 2, "columns": 2}),
    (st.rods.RodNet, {"rows": 2, "columns": 2, "woven": False, "found": True}),
    (st.rods.Braid, {"elements": 40}),
    (st.rods.TighteningKnot, {"elements": 80}),
]


@pytest.mark.parametrize(("preset", "fields"), FITTED_PRESETS)
def test_ready_systems_take_the_fitted_curve(preset, fields):
    systems = [preset(contact_curve=rule, **fields) for rule in ("spline", "fitted")]
    assert [x.assembled().contact_curve for x in systems] == ["spline", "fitted"]
    for system in systems:
        # declared contacts touch at the start, whatever the curve; braids and knots do not
        run = st.solve(system, t_span=(0.0, 1e-2), save=2)
        assert run.audit.ok, run.audit
    with pytest.raises(st.ModelError, match=rf"{preset.__name__}\.contact_curve"):
        preset(contact_curve="nodes", **fields)


def test_a_scenario_takes_the_fitted_curve_by_its_name():
    for name in ("rods-crossed", "rods-on-rod", "rods-net", "rods-braid", "rods-knot"):
        changed = read_scenario(name, ["system.contact_curve=fitted"]).system
        assert changed.assembled().contact_curve == "fitted"


def test_crossed_rods_are_the_reference_case():
    case = reference("rods.json")["G_two_crossed_rods_3d"]
    runs = [
        st.solve(st.CrossedRods(), st.RollingLeapfrog(h), (0.0, 0.2), save=case["t"])
        for h in (5e-5, 2.5e-5)
    ]
    for name in ("s1", "s2"):
        coarse, fine = (run.data[name].values for run in runs)
        assert fine == pytest.approx(np.array(case[name]), abs=1e-6)
        assert np.abs(fine - case[name]).max() < np.abs(coarse - case[name]).max()


def test_a_pluck_moves_the_contact_along_both_rods():
    system = st.CrossedRods(pluck=0.05, spin=0.0, half_wave=(0, 0, 0), whole_wave=(0, 0, 0))
    run = st.solve(system, t_span=(0.0, 0.01), save=2)
    # seen from above: y = 0.05 (1 - x') / 0.75 on rod 1 meets y = tan(60 degrees) x
    part = np.linspace(0.0, 1.0, 100001)
    x, y = 1.02 * (part - 0.5), 0.05 * np.minimum(part / 0.25, (1.0 - part) / 0.75)
    meets = np.argmin(np.abs(y - math.tan(math.pi / 3.0) * x))
    assert run.data.s1.values[0] == pytest.approx(part[meets], abs=1e-4)
    assert run.data.s2.values[0] == pytest.approx(0.5 + math.hypot(x[meets], y[meets]) / 1.02,
                                                  abs=1e-4)  # fmt: skip
    assert abs(run.data.gap.values[0]) < 1e-15
    assert run.energy.kinetic[0] == 0.0


def fall(**given):
    system = st.rods.RodOnFixedRod(young=1e8, fixed_length=0.4, fixed_radius=0.02, **given)
    run = st.solve(system, t_span=(0.0, 0.2), save=101)
    assert run.audit.ok or given["friction"] is None
    x = run.data.position.values[:, 41:, 0].mean(axis=1)
    return 2.0 * np.polyfit(run.time, x, 2)[0]


def test_a_stiff_rod_rolls_and_slips_down_a_slope():
    # reason: the fixed rod bends by 0.3 mm under the free one, which steepens its slope by 1 %
    near = {"rel": 0.02}
    roll = 2.0 / 3.0 * GRAVITY
    assert fall(slope=0.3, friction=None) == pytest.approx(roll * math.sin(0.3), **near)
    # tan(0.6) = 0.684: rolls with mu = 0.24, slips with mu = 0.2
    assert fall(slope=0.6, friction=st.Coulomb(0.24)) == pytest.approx(roll * math.sin(0.6), **near)
    slides = GRAVITY * (math.sin(0.6) - 0.2 * math.cos(0.6))
    assert fall(slope=0.6, friction=st.Coulomb(0.2)) == pytest.approx(slides, **near)


@pytest.mark.parametrize("fixed_radius", [0.01, 0.02, 0.04])
def test_the_fall_on_an_elastic_rod_is_that_on_a_rigid_one_but_for_one_over_its_stiffness(
    fixed_radius,
):
    shape = {"radius": 0.02, "fixed_radius": fixed_radius, "length": 0.4, "fixed_length": 0.6}
    off = []
    for young in (6.4e9, 1.28e10):
        system = st.rods.RodOnFixedRod(
            slope=0.3, friction=st.Coulomb(1.0), young=young, at=0.3, **shape
        )
        run = st.solve(system, st.RollingLeapfrog(fraction=0.25), (0.0, 0.1), save=201)
        x = run.data.position.values[:, run.data.rod_of_node.values == 2, 0]
        middle = 0.5 * (x[:, 1:] + x[:, :-1]).mean(axis=1)
        rolls = 2.0 / 3.0 * GRAVITY * math.sin(0.3)
        off.append(2.0 * np.polyfit(run.time, middle, 2)[0] / rolls - 1.0)
    assert abs(2.0 * off[1] - off[0]) <= 1e-3
    if fixed_radius == 0.01:
        # a thin rod sags most
        assert off[1] > 1e-3
        assert 1.6 < off[0] / off[1] < 2.4


def mean_acceleration(time, x):
    """Return the mean acceleration under a smooth window, which fast ringing does not move."""
    part = time / time[-1]
    window = (part * (1.0 - part)) ** 4
    twice = np.zeros_like(window)
    twice[1:-1] = (window[2:] - 2.0 * window[1:-1] + window[:-2]) / part[1] ** 2
    return (twice * x).sum() / window.sum() / time[-1] ** 2


@pytest.mark.parametrize("fixed_radius", [0.01, 0.02, 0.04])
def test_rolling_on_an_elastic_rod_is_off_by_one_over_its_stiffness(fixed_radius):
    # with friction the rods bounce where they are set down, and what they lose there does not
    shape = {"radius": 0.02, "fixed_radius": fixed_radius, "length": 0.4, "fixed_length": 0.6}
    rolls, off = 2.0 / 3.0 * GRAVITY * math.sin(0.3), []
    for young in (4e8, 8e8):
        system = st.rods.RodOnFixedRod(slope=0.3, young=young, at=0.3, **shape)
        run = st.solve(system, st.RollingLeapfrog(fraction=0.25), (0.0, 0.2), save=501, throw=False)
        x = run.data.position.values[:, run.data.rod_of_node.values == 2, 0]
        middle = 0.5 * (x[:, 1:] + x[:, :-1]).mean(axis=1)
        off.append(mean_acceleration(run.time, middle) / rolls - 1.0)
    assert off[1] > 0.0
    # reason: a thin rod sags so far that its slope is no longer linear in the load
    assert off[0] / off[1] == pytest.approx(2.0, abs=0.03)
    assert abs(2.0 * off[1] - off[0]) <= 5e-4


@pytest.mark.parametrize("woven", [True, False])
def test_a_net_has_a_contact_at_every_crossing(woven):
    law = st.Coulomb(0.3)
    nets = [st.rods.RodNet(2, 3, woven=woven, friction=law, found=found) for found in (False, True)]
    declared, found = (st.solve(net, t_span=(0.0, 0.02), save=3) for net in nets)
    gap = declared.data.gap.values[0]
    assert gap.shape == (6,)
    assert np.abs(gap).max() < 1e-15
    assert declared.data.crossing_angle.values[0] == pytest.approx(np.full(6, np.pi / 2), abs=1e-7)
    monitored = np.isfinite(found.data.gap.values)
    assert monitored[1:].sum(axis=1).tolist() == [6, 6]
    # two ways to the same contacts; a contact that is found closes one step later
    off = np.abs(found.data.position.values - declared.data.position.values).max()
    assert off < 1e-5 * np.abs(np.diff(declared.data.position.values, axis=0)).max()


@pytest.mark.parametrize(("rows", "columns", "cell_elements"), [(1, 4, 10), (3, 2, 12)])
def test_a_net_is_refused_by_the_elements_that_it_has(rows, columns, cell_elements, monkeypatch):
    seen = []
    monkeypatch.setattr(presets, "fits", lambda where, count, *_: seen.append((where, count)))
    net = st.rods.RodNet(rows, columns, cell_elements=cell_elements)
    elements = sum(rod.elements for rod in net.assembled().rods)
    assert set(seen) == {("RodNet", elements)}


def test_woven_rods_press_and_laid_rods_need_not():
    woven, laid = (
        st.solve(st.rods.RodNet(2, 2, woven=woven, throw=0.0), t_span=(0.0, 0.01), save=3)
        for woven in (True, False)
    )
    assert woven.data.lambda_n.values.max() < -0.1
    assert np.abs(laid.data.lambda_n.values).max() < 1e-9


@pytest.mark.parametrize("strands", [2, 3])
def test_strands_of_a_braid_start_just_apart(strands):
    rods = st.rods.Braid(strands=strands).assembled().rods
    curves = [curve(rod.nodes()) for rod in rods]
    for i in range(strands):
        distance = nearest(curves[i], curves[(i + 1) % strands])
        assert distance == pytest.approx(2.02 * 0.01, rel=5e-3)
    assert all(rod.natural_curvature is None for rod in rods)


def test_a_knot_tightens_against_friction():
    system = st.rods.TighteningKnot(friction=st.Coulomb(0.2))
    run = st.solve(system, t_span=(0.0, 0.25), save=26)
    assert run.audit.ok, run
    ends = run.data.position.values[:, [0, -1]]
    apart = ends[:, 0, 1] - ends[:, 1, 1]
    # the pull grows for 0.05 s
    assert apart[-1] - apart[0] == pytest.approx(2.0 * 0.2 * (0.25 - 0.025), rel=1e-9)
    pressing = run.data.lambda_n.values < -1e-3
    assert not pressing[0].any()
    assert pressing[-1].sum() >= 2
    between = np.abs(run.data.s2.values - run.data.s1.values)[-1][pressing[-1]]
    assert between.min() > 0.2
    assert run.energy.friction_heat[-1].sum() > 1e-5
    # the knot is its own image in a half turn about x
    last = run.data.position.values[-1]
    assert last[::-1] * (1.0, -1.0, -1.0) == pytest.approx(last, abs=1e-6)


def test_rods_may_cross_between_10_and_170_degrees():
    for degrees in (10.01, 169.99):
        assert st.CrossedRods(angle=np.radians(degrees)).angle == np.radians(degrees)
    for degrees in (9.99, 170.01):
        with pytest.raises(st.ModelError, match=r"CrossedRods\.angle"):
            st.CrossedRods(angle=np.radians(degrees))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: st.CrossedRods(angle=0.1), "CrossedRods.angle"),
        (lambda: st.CrossedRods(elements=12), "CrossedRods.elements"),
        (lambda: st.CrossedRods(radius=0.0), "CrossedRods.radius"),
        (lambda: st.CrossedRods(half_wave=(0.0, 1.0)), "CrossedRods.half_wave"),
        (lambda: st.CrossedRods(pluck_at=1.0), "CrossedRods.pluck_at"),
        (lambda: st.CrossedRods(friction=0.3), "CrossedRods.friction"),
        (lambda: st.rods.RodOnFixedRod(slope=2.0), "RodOnFixedRod.slope"),
        (lambda: st.rods.RodOnFixedRod(restitution=2.0), "RodOnFixedRod.restitution"),
        (lambda: st.rods.RodNet(rows=0), "RodNet.rows"),
        (lambda: st.rods.RodNet(woven=1), "RodNet.woven"),
        (lambda: st.rods.RodNet(radius=0.05), "RodNet.radius"),
        (lambda: st.rods.RodNet(cell_elements=4), "RodNet.cell_elements"),
        (lambda: st.rods.Braid(strands=4), "Braid.strands"),
        (lambda: st.rods.Braid(clearance=0.0), "Braid.clearance"),
        (lambda: st.rods.Braid(pull=math.nan), "Braid.pull"),
        (lambda: st.rods.TighteningKnot(size=-1.0), "TighteningKnot.size"),
        (lambda: st.rods.TighteningKnot(elements=20), "TighteningKnot.elements"),
    ],
)
def test_bad_values_are_refused(make, what):
    with pytest.raises(st.ModelError) as caught:
        make()
    message = str(caught.value)
    assert message.startswith(what)
    assert "Why: " in message
    assert "Try: " in message


# ---- files


def same(first, second):
    """Return whether two systems of rods start with the same numbers."""
    a, b = (dataclasses.asdict(assemble(system.assembled())) for system in (first, second))
    return all(np.array_equal(a[name], b[name]) for name in a)


def everything():
    rubber = st.rods.CircularSection(0.01, 1e6, 0.45, 1100.0, 0.9)
    spread = np.linspace(0.0, 0.5, 21)[:, None]
    wavy = np.hstack([spread, 0.01 * np.sin(20.0 * spread), 0.3 + 0.0 * spread])
    rods = [
        st.rods.CosseratRod(
            rubber, Straight((0, 0, 0), (1, 0, 0)), 0.98, motion=[SineVelocity(1, (0, 0, 1.0)),
                                                                 SineSpin(2, 3.0)],
            left=Pinned(), right=Driven((0.1, 0, 0), (0, 0, 2.0), 0.1), drag=0.1,
        ),
        st.rods.CosseratRod(
            rubber, Arc((0, 1, 0), (1, 0, 0), (0, 1, 0), 0.4, 1.5), elements=30,
            natural_curvature=None, left=Free(), right=Free(),
            motion=[RigidMotion((0, 0, 1.0), (1.0, 0, 0))], rotational_drag=1e-4,
            loads=[LineForce((0, 0, -1.0)), PointForce((1.0, 0, 0), 0.5, (0.0, 1.0), (0.0, 2.0)),
                   PointMoment((0, 0, 0.1))],
        ),
        st.rods.CosseratRod(
            rubber, Helix((0, -1, 0), (1, 0, 0), 0.1, 0.2, 2.0), elements=40,
            natural_curvature=(0.1, 0.2, 0.3), first_director=(0, 1, 0), internal_damping=1e-5,
        ),
        st.rods.CosseratRod(
            rubber, Curve(wavy), elements=20, left=Clamped(),
            motion=[GivenMotion(np.ones((21, 3)), np.full((20, 3), 0.1))],
        ),
    ]  # fmt: skip
    touch = st.rods.RollingContact(0.25, 0.2, 1, 2, st.Coulomb(0.3), None, 0.5, 0.1, True)
    search = st.rods.ContactSearch(st.Coulomb(0.4), max_contacts=9)
    return st.Rods(rods, [touch], search, (0, 0, -9.81), contact_curve="fitted")


@pytest.mark.parametrize(
    "system",
    [
        everything(),
        st.Rods(
            [
                st.rods.CosseratRod(
                    st.rods.CircularSection(0.01, 1e6), Straight((0, 0, 0), (1, 0, 0))
                )
            ]
        ),
        st.CrossedRods(pluck=0.1, friction=st.Coulomb(0.2)),
        st.rods.RodOnFixedRod(velocity=(0.0, 0.1, 1.0)),
        st.rods.RodNet(2, 3, woven=False, found=True),
        st.rods.Braid(strands=2, friction=st.Coulomb(0.1)),
        st.rods.TighteningKnot(elements=90),
    ],
    ids=lambda system: type(system).__name__,
)
def test_a_system_of_rods_survives_its_file(system):
    text = write_scenario(Scenario(system, st.RollingLeapfrog(fraction=0.25), t_end=1.0))
    read = read_scenario(text)
    assert type(read.system) is type(system)
    assert same(read.system, system)
    assert write_scenario(read) == text
    mine, theirs = system.assembled(), read.system.assembled()
    assert repr(theirs.contacts) == repr(mine.contacts)
    assert repr(theirs.search) == repr(mine.search)
    assert np.array_equal(theirs.gravity, mine.gravity)
    assert read.method.fraction == 0.25


def test_a_file_names_what_it_does_not_know():
    text = write_scenario(Scenario(everything(), st.RollingLeapfrog(fraction=0.5), t_end=1.0))
    with pytest.raises(st.ScenarioError) as caught:
        read_scenario(text.replace('"Pinned"', '"Pined"'))
    assert "Pinned" in str(caught.value)
    with pytest.raises(st.ScenarioError) as caught:
        read_scenario(text.replace('"Helix"', '"Pinned"'))
    assert "a support of an end, but this table describes a centreline" in str(caught.value)
