"""How far contacts creep: what a cycle is, and that only what does not come back counts."""

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.chains import PiecewiseLinear, Ramp, Sine, SumOf, UserLoad
from stiction.chains.regularised.equations import Equations
from stiction.core.run import Request

METHOD = st.chains.Radau(rtol=1e-6)
BRISTLES = st.laws.LuGre(1e3, 10.0, 0.0, 0.3, 0.3, 0.1)
EVEN = 0.96 * 0.3 * 9.81
# break-away at 5e-3 m; the load stays below .95 of what slip resists, friction below .98
LENGTH, SOFT = 5e-3, (30.0, 3.0, 0.04, 0.15, 0.1, 0.1)
SHAKEN = SumOf([st.Constant(0.5), Sine(0.43, 3.0)])
TURN = 2.0 * np.pi / 3.0


def solved(law, load, end, start=0.0, save=2, method=METHOD, **changes):
    given = {"mass": 1.0, "stiffness": 1e-6, "damping": 1.0} | changes
    chain = st.Chain(law=law, load=load, **given)
    return st.solve(chain, method, (start, end), save=save, throw=False)


def drift_check(run):
    """Return the check, which agrees with the creep that the run gives."""
    (check,) = (c for c in run.audit if c.check == "no_creep_in_stick")
    assert check.ok == (None if check.value is None else check.value <= 1.0)
    assert (check.value is None) == (run.quantities["creep"].value == [None])
    return check


@pytest.mark.parametrize("phase", [0.0, 1.57, 3.0, 4.5])
@pytest.mark.parametrize("end", [4.5, 5.2, 6.0])
def test_slip_that_comes_back_is_no_drift(phase, end):
    """An even load at .96 moves a contact by 2.3 deflections and back, wherever the run ends."""
    run = solved(BRISTLES, Sine(EVEN, 3.0, phase), end)
    assert len(run.event_log) >= 4
    assert drift_check(run).value < 1e-6


@pytest.mark.parametrize("end", [2.0, 3.0, 4.0])
def test_a_load_without_a_period_has_the_half_cycles_of_the_motion(end):
    """Half a cycle more is none of drift: the old sum stood at 2.6 after each odd one."""
    run = solved(BRISTLES, UserLoad(lambda t: EVEN * np.sin(3.0 * t)), end)
    assert drift_check(run).value < 1e-6


def test_a_slow_sine_below_a_fast_one_is_no_drift():
    """Half a cycle later an odd multiple turns the load round, so that nothing can creep."""
    load = SumOf([Sine(0.65 * 0.3 * 9.81, 1.0), Sine(0.3 * 0.3 * 9.81, 9.0)])
    run = solved(BRISTLES, load, 14.1)
    assert len(run.event_log) > 20
    assert drift_check(run).value < 1e-6


@pytest.mark.parametrize("method", [METHOD, st.ThetaStepper(2e-2, 0.5)], ids=["radau", "theta"])
def test_drift_is_counted_by_whole_cycles(method):
    """Creep is the displacement over the whole cycles after the first, at equal phases."""
    law = st.laws.LuGre(*SOFT)
    values = []
    for cycles in (3, 3.4, 3.9):
        run = solved(law, SHAKEN, cycles * TURN, save=[0.0, TURN, 3.0 * TURN], method=method)
        x = run.data["x"].to_numpy()[:, 0]
        values.append(run.quantities["creep"].value[0])
        # deflections at equal phases are equal once the first loading has died out
        assert values[-1] == pytest.approx(x[2] - x[1], rel=1e-2)  # reason: dying transient
        assert drift_check(run).value == pytest.approx(values[-1] / LENGTH, rel=1e-12)
    assert values == pytest.approx([values[0]] * 3, rel=1e-3)
    assert drift_check(run).ok is False


def test_start_time_and_units_do_not_matter():
    law = st.laws.LuGre(*SOFT)
    plain = drift_check(solved(law, SHAKEN, 7.0)).value
    late = SumOf([st.Constant(0.5), Sine(0.43, 3.0, -300.0)])
    assert drift_check(solved(law, late, 107.0, start=100.0)).value == pytest.approx(
        plain, rel=1e-4
    )
    # millimetres and milliseconds: speeds keep their numbers, forces are 1e-3 of theirs
    small = SumOf([st.Constant(0.5e-3), Sine(0.43e-3, 3e-3)])
    soft = st.laws.LuGre(SOFT[0] * 1e-3, *SOFT[1:])
    scaled = {"stiffness": 1e-12, "damping": 1e-3, "gravity": 9.81e-3}
    assert drift_check(solved(soft, small, 7e3, **scaled)).value == pytest.approx(plain, rel=1e-6)
    mirrored = SumOf([st.Constant(-0.5), Sine(-0.43, 3.0)])
    assert drift_check(solved(law, mirrored, 7.0)).value == pytest.approx(plain, rel=1e-9)


def test_saved_samples_and_checkpoints_do_not_matter():
    law, memory = st.laws.LuGre(*SOFT), Memory(turn=2, last=1)
    whole = solved(law, SHAKEN, 7.0).quantities["creep"].value
    assert solved(law, SHAKEN, 7.0, save=300).quantities["creep"].value == whole
    chain = st.Chain(mass=1.0, stiffness=1e-6, damping=1.0, law=law, load=SHAKEN)
    st.solve(chain, METHOD, (0.0, 7.0), save=2, checkpoint=memory, throw=False)
    assert len(memory.pages) > 0
    again = st.solve(chain, METHOD, (0.0, 7.0), save=2, checkpoint=Memory(memory.state, turn=-1))
    assert again.quantities["creep"].value == whole


@pytest.mark.parametrize(
    ("law", "bound", "back"),
    [(st.laws.Dahl(2e4, 0.3), 0.3, 1.0), (st.laws.BoucWen(2e4, 1.0, 5e4, 2e4, 1), 2 / 7, 3 / 7)],
    ids=["Dahl", "BoucWen"],
)
def test_loops_that_stay_open_by_their_closed_form(law, bound, back):
    """Under u of what slip resists du/dx is 1 - u forth and 1 + back u the other way [1/length].

    Between .1 and .9 that leaves ln(.9/.1) - ln((1 + .9 back)/(1 + .1 back))/back a cycle.
    """
    level = bound * 9.81
    load = SumOf([st.Constant(0.5 * level), Sine(0.4 * level, 0.3)])
    run = solved(law, load, 65.0, damping=30.0)
    moved = np.log(9.0) - np.log((1.0 + 0.9 * back) / (1.0 + 0.1 * back)) / back
    # of three whole cycles the first is not counted
    assert drift_check(run).value == pytest.approx(2.0 * moved, rel=1e-3)
    assert drift_check(run).ok is False


def test_contacts_that_ring_creep():
    numbers = (2e4, 70.0, 0.02, 0.3, 0.25, 0.01)
    laws = {
        7.26: st.laws.Dahl(2e4, 0.3),
        0.0: st.laws.LuGre(*numbers),
        1.457e-5: st.laws.ElastoPlastic(*numbers, elastic_share=0.7),
    }
    for wanted, law in laws.items():
        run = solved(law, st.Constant(2.0), 1.0, stiffness=30.0, damping=0.0)
        assert drift_check(run).value == pytest.approx(wanted, rel=5e-3)


@pytest.mark.parametrize(
    ("load", "end"),
    [
        (Sine(EVEN, 3.0), 4.1),
        (Sine(1.1 * EVEN, 3.0), 9.0),
        (SumOf([Sine(0.4 * EVEN, 3.0), Sine(0.4 * EVEN, 3.0 * np.sqrt(2.0))]), 9.0),
    ],
    ids=["short", "slides in every cycle", "no period"],
)
def test_without_two_cycles_nothing_is_compared(load, end):
    check = drift_check(solved(BRISTLES, load, end))
    assert check.ok is None
    assert "run at least two cycles" in check.note


@pytest.mark.parametrize(
    ("load", "changes", "wanted"),
    [
        (Sine(1.0, -3.0), {}, TURN),
        (SHAKEN, {}, TURN),
        (SumOf([Sine(1.0, 3.0), Sine(1.0, 2.0)]), {}, 2.0 * np.pi),
        (SumOf([Sine(1.0, 3.0), Sine(0.0, 0.01)]), {}, TURN),
        (SumOf([Sine(1.0, 3.0), Sine(1.0, 0.0)]), {}, TURN),
        (SumOf([Sine(1.0, 3.0), PiecewiseLinear([-2.0, 0.0], [1.0, 2.0])]), {}, TURN),
        (SumOf([Sine(1.0, 3.0), PiecewiseLinear([20.0, 21.0], [1.0, 2.0])]), {}, TURN),
        (SumOf([Sine(1.0, 3.0), Sine(1.0, 3.0 * np.sqrt(2.0))]), {}, np.inf),
        (Sine(1.0, 0.6), {}, np.inf),
        (SumOf([Sine(1.0, 3.0), Ramp(0.1)]), {}, 0.0),
        (SumOf([Sine(1.0, 3.0), PiecewiseLinear([0.0, 1.0], [1.0, 2.0])]), {}, 0.0),
        (UserLoad(np.sin), {}, 0.0),
        (st.Constant(1.0), {}, 0.0),
        (Sine(1.0, 3.0), {"belt_speed": 0.1}, 0.0),
        (Sine(1.0, 3.0), {"plate_speed": 0.1, "plate_stiffness": 1.0}, 0.0),
    ],
)
def test_cycles_of_the_drive(load, changes, wanted):
    """The period of sines on a level load; 0 for other drives, infinite beyond half the run."""
    chain = st.Chain(mass=1.0, stiffness=1.0, law=BRISTLES, load=load, **changes)
    request = Request(0.0, 20.0, np.array([0.0, 20.0]))
    cycle = Equations(chain, BRISTLES, request).model.numbers[0].cycle
    assert cycle == pytest.approx(wanted, rel=1e-12)
