"""Arc length around limit points: against a path in closed form, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from memories import Memory
from scipy.optimize import brentq

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.solids.conditions import Program
from stiction.solids.model import Readings

LAW = st.LennardJones.from_strength(0.06, 0.015)
HEIGHT = 10.0
MATERIAL = st.solids.LinearElastic(1.0, 0.3)


def bar(
    end: float = 1.2,
    program: Program | None = None,
    gap: float = LAW.gap_eq,
    more: Sequence[st.solids.Loaded] = (),
) -> st.Solid:
    """A bar that cannot move sideways, glued to a plane by its lower end, pulled at its upper."""
    mesh = st.solids.rectangle(1.0, HEIGHT, (1, 4), (0.0, gap))
    sides = [st.solids.Fixed(st.solids.Boundary(0, name), (0,)) for name in ("left", "right")]
    program = program or Program((0.0, 1.0), (0.0, end))
    pull = st.solids.Driven(st.solids.Boundary(0, "top"), 1, program)
    return st.Solid(
        [st.solids.Body(mesh, st.solids.Q1(), MATERIAL)],
        [st.solids.Contact(st.solids.Boundary(0, "bottom"), st.solids.RigidPlane(), LAW)],
        [pull, *sides, *more],
        readings=Readings(displacement=0, support=True),
        dimensionless=True,
    )


def modulus() -> float:
    """Return the stiffness of the bar, stress over strain without sideways strain."""
    g, k = MATERIAL.moduli()
    return k + 4.0 * g / 3.0


def pulled(gap: np.ndarray) -> np.ndarray:
    """Return the displacement of the upper end at which the lower one stands at this gap."""
    return gap - LAW.gap_eq - HEIGHT * LAW.traction(gap) / modulus()


@pytest.fixture(scope="module")
def path() -> st.Run:
    return st.solve(bar(), st.Continuation(steps=60, longest=1.0), throw=False)


def test_a_snapping_spring(path: st.Run) -> None:
    assert path.status is st.Status.SOLVED, path.reason
    gap = path.variables["gap"].values[:, 0]
    u, force = (path.variables[name].values for name in ("displacement", "force_y"))
    assert np.abs(u - pulled(gap)).max() < 1e-7
    assert np.abs(force + LAW.traction(gap)).max() < 1e-8
    # the path turns twice: where the bar snaps off, and where it would snap back
    losses = path.determinism.losses
    assert [loss.kind for loss in losses] == ["limit_point", "limit_point"]


def test_limit_points_are_where_the_slope_vanishes(path: st.Run) -> None:
    def slope(gap: float) -> float:
        return float(1.0 - HEIGHT * np.asarray(LAW.stiffness(gap)) / modulus())

    first = brentq(slope, LAW.gap_max, 1.3 * LAW.gap_max)
    second = brentq(slope, 1.5 * LAW.gap_max, 20.0 * LAW.gap_max)
    found = [float(str(loss.where["displacement"])) for loss in path.determinism.losses]
    known = [float(pulled(np.asarray(g))) for g in (first, second)]
    assert np.abs(np.array(found) - known).max() < 2e-3
    assert path.quantities["limit_point_at"].value == found[0]


def test_the_way_between_is_unstable(path: st.Run) -> None:
    sign = path.variables["sign_of_determinant"].values
    ways = path.variables["unstable_modes"].values
    rising = np.diff(path.variables["program_time"].values) > 0.0
    # a step may straddle a limit point
    inner = np.flatnonzero(np.isfinite(sign[1:]) & (np.roll(rising, 1) == rising))[1:-1]
    between = ~rising[inner]
    assert between.any()
    assert (sign[1:][inner][between] < 0.0).mean() > 0.8
    assert set(ways[1:][inner][between]) <= {0.0, 1.0}
    assert (sign[1:][inner][~between] > 0.0).mean() > 0.8


def test_the_ledger_closes_along_the_path(path: st.Run) -> None:
    assert path.energy.imbalance_rel < 5e-3
    assert path.audit.ok or {c.check for c in path.audit.failed} <= {"penalty_stiff_enough"}


def test_load_steps_jump_and_say_so() -> None:
    run = st.solve(bar(), st.solids.Quasistatic(steps=30), throw=False)
    reported = [loss.kind for loss in run.determinism.losses]
    assert not run.status.ok or "quasistatic_jump" in reported


@pytest.mark.parametrize("force", [0.0, 1e-12, 1e-3])
def test_a_jump_at_the_start_has_its_loads(force: float) -> None:
    """Adhesion snaps into contact whatever force acts; a force alone stretches without a jump."""
    place = st.solids.Nearest(0, (0.0, 5.0))
    load = st.solids.Loaded(place, 1, Program((0.0,), (force,)))
    method = st.solids.Quasistatic(steps=1)
    kinds = []
    for gap in (1.05 * LAW.gap_max, LAW.gap_eq, 0.9 * LAW.gap_eq):
        run = st.solve(bar(0.01, gap=gap, more=[load]), method, throw=False)
        kinds.append([loss.kind for loss in run.determinism.losses if loss.time == 0.0])
    assert kinds == [["quasistatic_jump"], [], []]


def test_a_driven_start_is_no_jump() -> None:
    """The first guess moves driven nodes alone: its distortion relaxes, with and without loads."""
    sides = {name: st.solids.Boundary(0, name) for name in ("left", "right", "bottom", "top")}
    body = st.solids.Body(st.solids.rectangle(2.0, 1.0, (2, 1), (0.0, LAW.gap_eq)), st.solids.Q1())
    for force in (0.0, 0.01):
        held = [
            st.solids.Fixed(sides["left"], (0,)),
            st.solids.Driven(sides["top"], 1, Program((0.0, 1.0), (0.0, -0.2))),
            st.solids.Traction(sides["right"], 0, Program((0.0,), (force,))),
        ]
        contact = st.solids.Contact(sides["bottom"], st.solids.RigidPlane(), LAW)
        solid = st.Solid([body], [contact], held, dimensionless=True)
        run = st.solve(solid, st.solids.Quasistatic(steps=1), (0.5, 0.6))
        assert not run.determinism.losses


def test_a_start_without_equilibrium_has_no_halvings() -> None:
    """A block that is free and pulled: no step was halved."""
    body = st.solids.Body(st.solids.rectangle(1.0, 1.0, (1, 1)))
    pull = st.solids.Traction(st.solids.Boundary(0, "top"), 1, Program((0.0,), (0.1,)))
    run = st.solve(st.Solid([body], [], [pull]), st.solids.Quasistatic(steps=1), throw=False)
    assert run.status is st.Status.UNCONVERGED
    assert "halvings" not in run.reason
    assert "check its boundary conditions" in run.reason


def test_a_killed_path_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    method = st.Continuation(steps=40, longest=1.0)
    whole = st.solve(bar(), method, throw=False)

    class Killed(Exception):
        pass

    count = 0

    def stop(_: float, __: str) -> None:
        nonlocal count
        count += 1
        if count == 30:
            raise Killed

    place = tmp_path / "checkpoint.npz"
    with pytest.raises(Killed):
        st.solve(bar(), method, progress=stop, checkpoint=FileCheckpoint(place, "bar", every=0.0))
    again = st.solve(
        bar(), method, throw=False, checkpoint=FileCheckpoint(place, "bar", resume=True)
    )
    for name, variable in whole.variables.items():
        same = np.array_equal(variable.values, again.variables[name].values, equal_nan=True)
        assert same, name
    for name, column in whole.energy.columns().items():
        assert np.array_equal(column, again.energy.columns()[name]), name


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("longest", -1.0),
        ("max_steps", 0),
        ("newton_tolerance", 1.0),
        ("max_iterations", 1),
        ("stability", "yes"),
        ("solver", "SuperLU"),
    ],
)
def test_wrong_numbers_are_refused(field: str, value: object) -> None:
    with pytest.raises(st.ModelError, match=f"Continuation.{field}"):
        st.Continuation(**{field: value})


def test_only_solids_are_followed() -> None:
    chain = st.Chain(mass=[1.0], stiffness=1.0)
    with pytest.raises(st.ModelError, match="Continuation"):
        st.solve(chain, st.Continuation())  # type: ignore[arg-type]


def test_a_path_goes_on_over_earlier_kinks() -> None:
    """A path returns to a kink before its checkpoint, and has its limit of steps in all."""
    corner = Program((0.0, 0.36, 1.0), (0.0, 0.44, 1.2))
    for limit, turn in ((100, 11), (7, 4)):
        method = st.Continuation(steps=20, max_steps=limit, longest=1.0)
        saved = Memory(turn=turn)
        whole = st.solve(bar(program=corner), method, checkpoint=saved, throw=False)
        given = Memory(saved.state, turn=0)
        again = st.solve(bar(program=corner), method, checkpoint=given, throw=False)
        np.testing.assert_array_equal(again.time, whole.time)
        assert (again.reason, again.stats["steps"]) == (whole.reason, whole.stats["steps"])


def test_a_path_has_any_unit_of_time() -> None:
    method, times = st.Continuation(steps=20, max_steps=12, longest=1.0), []
    for unit in (1.0, 1e-9, 1e3):
        program = Program((0.0, unit), (0.0, 1.2))
        run = st.solve(bar(program=program), method, (0.0, unit), throw=False)
        times.append(run.time / unit)
    np.testing.assert_allclose(times[1:], [times[0], times[0]], rtol=1e-9)


@pytest.mark.parametrize(("corner", "end"), [(0.9, 1.2), (1.3, 2.2)])
def test_results_may_begin_at_a_corner_of_the_program(corner: float, end: float) -> None:
    mesh, top = st.solids.rectangle(2.0, 1.0, (2, 2)), st.solids.Boundary(0, "top")
    held = [st.solids.Fixed(st.solids.Boundary(0, "bottom")), st.solids.Fixed(top, (0,))]
    drive = st.solids.Driven(top, 1, Program((0.0, corner, end), (0.0, 0.1, 0.3)))
    body, readings = st.solids.Body(mesh, st.solids.Q1()), Readings(start=corner)
    solid = st.Solid([body], [], [*held, drive], readings=readings)
    run = st.solve(solid, st.Continuation(steps=5), (0.0, end))
    assert corner in run.time
    assert run.time.size < 20


def test_no_path_goes_through_a_body() -> None:
    circle = st.solids.RigidCircle((1.0, 6.0), 0.3)
    top = st.solids.Boundary(0, "top")
    solid = st.Solid(
        [st.solids.Body(st.solids.rectangle(2.0, 1.0, (4, 1)), st.solids.Q1())],
        [st.solids.Contact(top, circle, LAW)],
        [
            st.solids.Fixed(st.solids.Boundary(0, "bottom")),
            st.solids.Driven(st.solids.Rigid(0), 1, Program((0.0, 1.0), (0.0, -11.0))),
        ],
        dimensionless=True,
    )
    method = st.Continuation(steps=1, longest=2.0, max_halvings=0)
    run = st.solve(solid, method, throw=False)
    assert run.time.size == 1
    assert run.reason.startswith("bodies pass through each other")
