"""Every check in the audit of a flow fails here, beside the run in which it holds.

Most fail in an honest run: a dip that lies between the places where a step looks, a wrong
gradient, energies that do not belong to the forces. Elsewhere the test spoils what the
method hands over, never the check.
"""

import dataclasses
import math

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, damage, public, solved

import stiction as st

# the one module of the package that is reached past its public names
OUTCOME = "stiction.switching.outcome"
HISTORY = "FlowHistory"

StaticJumpOscillator = public("switching", "StaticJumpOscillator")
TwoBlockStickSlip = public("switching", "TwoBlockStickSlip")

WHEEL = st.WheelOnTurntable()
BLOCKS = TwoBlockStickSlip()
# the wheel meets its two-fold, where its future is open, a little later
CASES = [(WHEEL, 6.5), (st.BeltOscillator(), 12.0), (BLOCKS, 12.0)]
NAMES = ["wheel", "belt", "blocks"]

# ---- the ledger


class HeavyWheel(st.WheelOnTurntable):
    """A wheel that moves by other masses than those its energy counts."""

    def energies(self, x):
        kinetic, stored = super().energies(x)
        return 1.001 * kinetic, stored


@pytest.mark.fails_audit("switching", "ledger_closes")
def test_energies_that_do_not_belong_to_the_forces_leave_the_ledger_open():
    run = solved(HeavyWheel(), t_span=(0.0, 6.5))
    found = check_fails(run, "ledger_closes", limit=1e-9)
    kinetic = run.energy.kinetic / 1.001
    off = 1e-3 * np.max(np.abs(kinetic - kinetic[0])) / run.energy.scale
    assert found.value == pytest.approx(off, rel=1e-6)
    check_holds(solved(WHEEL, t_span=(0.0, 6.5)), "ledger_closes")


@pytest.mark.fails_audit("switching", "ledger_closes")
@pytest.mark.parametrize(("share", "ok"), [(1e-6, False), (1e-10, True)])
@pytest.mark.parametrize("column", ["external_work", "friction_heat", "viscous_heat"])
def test_a_ledger_misses_a_part_of_any_energy(monkeypatch, column, share, ok):
    system = StaticJumpOscillator(damping=0.3)
    whole = solved(system, t_span=(0.0, 12.0)).energy
    j = ["external_work", "friction_heat", "viscous_heat"].index(column)

    def lose(history):
        energy = history.energy.copy()
        energy[:, j] *= 1.0 - share
        return {"energy": energy}

    damage(monkeypatch, OUTCOME, HISTORY, lose)
    run = solved(system, t_span=(0.0, 12.0))
    found = (check_holds if ok else check_fails)(run, "ledger_closes")
    missing = share * np.max(np.abs(whole.columns()[column])) / whole.scale
    assert found.value == pytest.approx(missing, rel=1e-2)


# ---- friction


@pytest.mark.fails_audit("switching", "friction_dissipates")
def test_a_block_faster_than_its_friction_reaches_is_pushed_on():
    """Friction mu0 - alpha u vanishes at a slip of u = 2; the spring slows the block down."""
    belt = st.BeltOscillator(mu0=1.0, alpha=0.5, belt_speed=0.5)
    run = solved(belt, t_span=(0.0, 1.0), x0=[0.2, 0.5 + 2.02])
    gained = np.max(-np.diff(run.energy.friction_heat, axis=0))
    found = check_fails(run, "friction_dissipates", value=gained)
    assert found.limit == pytest.approx(1e-9 * run.energy.scale)
    # one saved interval at the start: the force 0.01 at the slip 2.02
    assert found.value == pytest.approx(0.01 * 2.02 * 1e-3, rel=1e-2)
    check_holds(solved(belt, t_span=(0.0, 1.0), x0=[0.2, 0.5 + 1.98]), "friction_dissipates")


@pytest.mark.fails_audit("switching", "friction_dissipates")
@pytest.mark.parametrize(("system", "t_end"), CASES, ids=NAMES)
def test_heat_with_the_wrong_sign_is_reported_as_such(monkeypatch, system, t_end):
    check_holds(solved(system, t_span=(0.0, t_end)), "friction_dissipates")
    damage(
        monkeypatch, OUTCOME, HISTORY, lambda h: {"energy": h.energy * np.array([1.0, -1.0, 1.0])}
    )
    run = solved(system, t_span=(0.0, t_end))
    gained = np.max(np.abs(np.diff(run.energy.friction_heat, axis=0)))
    check_fails(run, "friction_dissipates", value=gained, beside=["ledger_closes"])


# ---- saved states and the surface


@pytest.mark.fails_audit("switching", "stays_on_surface")
def test_a_wrong_gradient_lets_the_state_slide_off_a_curved_surface():
    """The gradient (0, 1) is right at the start alone: the surface x2 = x1^4 / 10 bends."""
    curve = st.PiecewiseSmooth(
        h=lambda x: x[1] - 0.1 * x[0] ** 4,
        f_plus=lambda x: (1.0, -3.0),
        f_minus=lambda x: (1.0, 3.0),
        x0=[0.0, 0.0],
    )
    wrong = dataclasses.replace(curve, h_gradient=lambda x: (0.0, 1.0))
    run = solved(wrong, t_span=(0.0, 1.5))
    x1, x2 = run.variables["x1"].values, run.variables["x2"].values
    found = check_fails(run, "stays_on_surface", limit=1e-9, when=1.5)
    assert found.value == pytest.approx(abs(x2[-1] - 0.1 * x1[-1] ** 4), rel=1e-12)
    assert found.value > 0.1
    check_holds(solved(curve, t_span=(0.0, 1.5)), "stays_on_surface")


@pytest.mark.fails_audit("switching", "stays_on_surface")
@pytest.mark.parametrize(("system", "t_end"), CASES, ids=NAMES)
@pytest.mark.parametrize(("size", "ok"), [(1.1e-9, False), (0.9e-9, True)])
def test_a_sliding_state_is_pushed_off_the_surface(monkeypatch, system, t_end, size, ok):
    scale = np.asarray(system.compiled.scale)
    pushed = []

    def push(history):
        x = history.x.copy()
        row = int(np.flatnonzero(history.sliding[:, 0])[-1])
        normal = system.gradient(x[row])[0]
        reach = np.abs(normal) @ np.maximum(np.abs(x[row]), scale)
        x[row] += size * reach * normal / (normal @ normal)
        pushed.append(history.time[row])
        return {"x": x}

    damage(monkeypatch, OUTCOME, HISTORY, push)
    run = solved(system, t_span=(0.0, t_end))
    # the kinetic energy of the fast wheel changes with it by more than the ledger allows
    beside = ["ledger_closes"] if system is WHEEL else []
    found = (check_holds if ok else check_fails)(run, "stays_on_surface", beside=beside)
    assert found.time == pushed[0]
    assert found.value == pytest.approx(size, rel=1e-3)


@pytest.mark.fails_audit("switching", "stays_on_its_side")
def test_a_dip_that_no_step_sees_hides_two_crossings():
    """x3 is the depth of the dip: at 1 the surface is touched."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[1] + 1.0 - x[2] * math.exp(-(((x[0] - 5.0) / 0.01) ** 2)),
        f_plus=lambda x: (1.0, 0.0, 0.0),
        f_minus=lambda x: (1.0, 0.0, 0.0),
        x0=[0.0, 0.0, 1.01],
    )
    run = solved(flow, t_span=(0.0, 10.0))
    assert len(run.event_log) == 0
    found = check_fails(run, "stays_on_its_side", limit=1e-9, when=5.0)
    # h = -0.01 there; its gradient is 1 along x2 and 1 along x3, which is 1.01
    assert found.value == pytest.approx(0.01 / 2.01, rel=1e-6)
    run = solved(flow, t_span=(0.0, 10.0), x0=[0.0, 0.0, 0.99])
    check_holds(run, "stays_on_its_side", value=0.0)
    run = solved(flow, st.EventDriven(max_step=0.01), (0.0, 10.0))
    check_holds(run, "stays_on_its_side")
    assert run.event_log.kind == ["cross", "cross"]


@pytest.mark.fails_audit("switching", "stays_on_its_side")
@pytest.mark.parametrize(("system", "t_end"), CASES, ids=NAMES)
def test_a_state_is_on_the_other_side_of_its_surface(monkeypatch, system, t_end):
    """The sign of one saved state is turned round: then h itself is how far it is off."""
    check_holds(solved(system, t_span=(0.0, t_end)), "stays_on_its_side", value=0.0)
    scale, turned = np.asarray(system.compiled.scale), []

    def turn(history):
        signs = history.signs.copy()
        row = int(np.flatnonzero(~history.sliding[:, 0])[-1])
        signs[row, 0] *= -1.0
        x = history.x[row]
        reach = np.abs(system.gradient(x)[0]) @ np.maximum(np.abs(x), scale)
        turned.append((history.time[row], abs(system.surfaces_at(x)[0]) / reach))
        return {"signs": signs}

    damage(monkeypatch, OUTCOME, HISTORY, turn)
    run = solved(system, t_span=(0.0, t_end))
    found = check_fails(run, "stays_on_its_side", when=turned[0][0])
    assert found.value == pytest.approx(turned[0][1], rel=1e-9)


@pytest.mark.fails_audit("switching", "multiplier_within_bound")
def test_a_push_that_no_step_sees_should_have_raised_the_state():
    """f+ pushes away from the surface by x3 - 1 for a moment, where it slides on regardless.

    The multiplier x3 / (2 - x3) is 1 where x3 = 1.
    """
    flow = st.PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=lambda x: (1.0, -1.0 + x[2] * math.exp(-(((x[0] - 5.0) / 0.01) ** 2)), 0.0),
        f_minus=lambda x: (1.0, 1.0, 0.0),
        x0=[0.0, 0.0, 1.2],
    )
    run = solved(flow, t_span=(0.0, 10.0))
    assert len(run.event_log) == 0
    found = check_fails(run, "multiplier_within_bound", limit=1.000001, when=5.0)
    assert found.value == pytest.approx(1.2 / 0.8, rel=1e-9)
    run = solved(flow, t_span=(0.0, 10.0), x0=[0.0, 0.0, 0.99])
    found = check_holds(run, "multiplier_within_bound")
    assert found.value == pytest.approx(0.99 / 1.01, rel=1e-9)
    assert found.time == 5.0
    run = solved(flow, st.EventDriven(max_step=0.01), (0.0, 10.0))
    check_holds(run, "multiplier_within_bound")
    assert run.event_log.kind == ["leave", "slide"]


@pytest.mark.fails_audit("switching", "multiplier_within_bound")
@pytest.mark.parametrize(("system", "t_end"), CASES, ids=NAMES)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_multiplier_out_of_its_bound_is_reported_on_both_sides(monkeypatch, system, t_end, side):
    check_holds(solved(system, t_span=(0.0, t_end)), "multiplier_within_bound")
    raised = []

    def lift(history):
        signs = history.signs.copy()
        row = int(np.flatnonzero(history.sliding[:, 0])[-1])
        signs[row, 0] = side * 1.00001
        raised.append(history.time[row])
        return {"signs": signs}

    damage(monkeypatch, OUTCOME, HISTORY, lift)
    run = solved(system, t_span=(0.0, t_end))
    check_fails(run, "multiplier_within_bound", value=1.00001, when=raised[0])


# ---- limits, numbers that are none, gradients that vanish


def spoil(monkeypatch, **rows):
    """Put these numbers into the last saved row of what the method hands over."""

    def change(history):
        found = {name: np.array(getattr(history, name)) for name in rows}
        for name, value in rows.items():
            found[name][-1] = value
        return found

    damage(monkeypatch, OUTCOME, HISTORY, change)


# the surface is where v has the speed of the belt
BELT = st.BeltOscillator(belt_speed=0.5)
LOOSE = st.EventDriven(rtol=1e-2)


@pytest.mark.fails_audit("switching", "ledger_closes")
def test_no_tolerance_lets_energy_go_missing(monkeypatch):
    system = StaticJumpOscillator(damping=0.3)
    damage(monkeypatch, OUTCOME, HISTORY, lambda h: {"energy": 0.5 * h.energy})
    check_fails(solved(system, LOOSE, (0.0, 12.0)), "ledger_closes", limit=1e-2)


@pytest.mark.fails_audit("switching", "stays_on_surface")
@pytest.mark.fails_audit("switching", "stays_on_its_side")
@pytest.mark.fails_audit("switching", "multiplier_within_bound")
@pytest.mark.parametrize(
    ("check", "limit", "rows"),
    [
        ("stays_on_surface", 1e-4, {"x": [0.0, 0.51], "signs": 0.5}),
        ("stays_on_its_side", 1e-4, {"x": [0.0, 0.51], "signs": -1.0}),
        ("multiplier_within_bound", 1.01, {"signs": 1.1}),
    ],
)
def test_no_tolerance_lets_a_state_be_anywhere(monkeypatch, check, limit, rows):
    check_holds(solved(BELT, LOOSE, (0.0, 1.0)), check)
    spoil(monkeypatch, **rows)
    beside = ["ledger_closes"] if "x" in rows else []
    run = solved(BELT, LOOSE, (0.0, 1.0))
    check_fails(run, check, limit=limit, when=1.0, beside=beside)


@pytest.mark.fails_audit("switching", "stays_on_surface")
@pytest.mark.fails_audit("switching", "stays_on_its_side")
@pytest.mark.fails_audit("switching", "multiplier_within_bound")
@pytest.mark.parametrize(
    ("check", "rows"),
    [
        ("stays_on_surface", {"x": math.nan, "signs": 0.5}),
        ("stays_on_its_side", {"x": math.nan, "signs": 1.0}),
        ("multiplier_within_bound", {"signs": math.nan}),
    ],
)
def test_what_is_no_number_holds_nowhere(monkeypatch, check, rows):
    spoil(monkeypatch, **rows)
    # energies of what is no number are none either
    beside = ["ledger_closes", "friction_dissipates"] if "x" in rows else []
    run = st.solve(BELT, t_span=(0.0, 1.0), throw=False)
    assert run.status.complete == ("x" not in rows)
    found = check_fails(run, check, value=math.inf, when=1.0, beside=beside)
    assert found.limit < 2.0


@pytest.mark.fails_audit("switching", "stays_on_its_side")
@pytest.mark.parametrize(("at", "ok"), [(1.0 + 1e-8, True), (1.0 + 1e-3, False)])
def test_rounding_is_no_distance_where_the_gradient_vanishes(monkeypatch, at, ok):
    """h = (x - 1)^2 rounds to 1e-16 on either side of zero next to x = 1, where it is flat."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] * x[0] - 2.0 * x[0] + 1.0,
        f_plus=lambda x: (1.0,),
        f_minus=lambda x: (1.0,),
        x0=[2.0],
    )
    spoil(monkeypatch, x=at, signs=-1.0)
    run = solved(flow, t_span=(0.0, 1.0))
    found = (check_holds if ok else check_fails)(run, "stays_on_its_side")
    # h / |h'| is half the distance from the place where it vanishes
    assert ok or found.value == pytest.approx(0.5e-3 / (1.0 + 1e-3), rel=1e-6)
