"""The return map of the wheel's line, rules of choosing exits, and exits behind the two-fold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stiction.errors import ModelError
from stiction.switching.ensembles.study import ensemble
from stiction.switching.flow.trajectory import Tolerance
from stiction.switching.methods import EventDriven
from stiction.switching.nonuniqueness.exits import dwell_time
from stiction.switching.two_folds.finding import two_fold
from stiction.switching.wheel.escapes import escaping_points, funnel_exits
from stiction.switching.wheel.model import WheelOnTurntable
from stiction.switching.wheel.return_kernels import line_entered, line_starts
from stiction.switching.wheel.return_map import (
    AlwaysSlip,
    LineExit,
    RandomExit,
    SlideIfPossible,
    line_orbits,
    line_return,
)

WHEEL = WheelOnTurntable()
KINDS = {
    LineExit.SLIP_PLUS: ("slip", "+"),
    LineExit.SLIP_MINUS: ("slip", "-"),
    LineExit.SLIDE: ("slide", "slide"),
    LineExit.ESCAPE: ("escape", "slide"),
}


def starts(r, direction):
    out = np.empty((len(r), 4))
    line_starts(np.array(r), np.full(len(r), direction.value), WHEEL.params, 1e-6, out)
    return out


@pytest.mark.parametrize("direction", LineExit)
def test_starts_are_exits_of_the_line(direction):
    r = [0.09, 0.12, 0.17, 0.1825, 0.19, 0.4]
    for place, start in zip(r, starts(r, direction), strict=True):
        exits = WHEEL.line_exits(np.array([place, 0.0, -1.0]))
        mine = [e for e in exits if (e.kind, e.mode) == KINDS[direction]]
        if not mine:
            assert np.isnan(start).any()
            continue
        fastest = max(mine, key=lambda e: e.speed)
        ahead = (start[:3] - [place, 0.0, -1.0]) / 1e-6
        assert ahead == pytest.approx(np.array(fastest.direction), abs=1e-8)
        assert start[3] == pytest.approx(1e-6 / fastest.speed)


def test_no_direction_leaves_the_crossing_of_both_branches():
    for direction in LineExit:
        found = line_return(WHEEL, [0.0, 1e-12], direction, t_end=1.0)
        assert found.end.tolist() == ["no_exit", "no_exit"]


def test_where_orbits_enter_the_line():
    # formulas sheet, section 7: slip rays for 0.15101 < r < 0.18397, stick for 0.18338 < r < 0.6129
    r = np.array([0.14, 0.1510, 0.1511, 0.17, 0.1833, 0.1839, 0.1841, 0.3, 0.6128, 0.6130])
    out = np.empty(r.size, dtype=np.bool_)
    line_entered(r, WHEEL.params, out)
    assert out.tolist() == [False, False, *[True] * 7, False]


def test_returns_of_single_runs():
    # another integrator, by hand: slip on h < 0, cross, slip on h > 0 into the line
    r = [0.16, 0.17, 0.18]
    found = line_return(WHEEL, r, LineExit.SLIP_MINUS)
    assert found.end.tolist() == ["line"] * 3
    for i, start in enumerate(starts(r, LineExit.SLIP_MINUS)):
        x, t = start[:3], start[3]
        for side in (-1.0, 1.0):

            def surface(t, x):
                return WHEEL.surfaces_at(x)[0]

            def near(t, x):
                return math.hypot(WHEEL.surfaces_at(x)[0], WHEEL.kinks_at(x)[0]) - 1e-6

            stop = surface if side < 0.0 else near
            stop.terminal, stop.direction = True, -side
            leg = solve_ivp(
                lambda t, x, side=side: WHEEL.field(x, side),
                (t, t + 5.0),
                x,
                method="DOP853",
                rtol=1e-10,
                atol=1e-12,
                events=stop,
                max_step=0.02,
            )
            assert leg.status == 1
            x, t = leg.y[:, -1], leg.t[-1]
        assert found.r[i] == pytest.approx(x[0], abs=1e-7)
        # 1e-6 is left to go at a speed of about 0.03
        assert found.time[i] == pytest.approx(t, abs=1e-4)


def test_exit_directions_of_the_formulas_sheet():
    slip = line_return(WHEEL, [0.168, 0.19, 0.25], LineExit.SLIP_MINUS)
    assert slip.end.tolist() == ["line", "two_fold", "two_fold"]
    assert slip.r[0] == pytest.approx(0.168 - 3e-4, abs=1e-5)
    # some positions have no such exit direction
    assert line_return(WHEEL, [0.19], LineExit.SLIDE).end.tolist() == ["no_exit"]
    assert line_return(WHEEL, [0.09], LineExit.ESCAPE).end.tolist() == ["no_exit"]
    assert np.isnan(line_return(WHEEL, [0.17], LineExit.SLIP_PLUS).r).all()


def test_dwelling_delays_an_escape():
    whole = line_return(WHEEL, [0.17], LineExit.ESCAPE)
    short = line_return(WHEEL, [0.17], LineExit.ESCAPE, dwell=0.01, side=-1.0)
    slip = line_return(WHEEL, [0.17], LineExit.SLIP_MINUS)
    assert short.end[0] == slip.end[0] == "line"
    assert short.r[0] != whole.r[0]
    assert short.r[0] == pytest.approx(slip.r[0], abs=1e-3)


def test_slopes():
    r = np.array([0.16, 0.175])
    found = line_orbits(WHEEL, r, AlwaysSlip(), 1)
    behind = line_return(WHEEL, r - 1e-4, LineExit.SLIP_MINUS).r
    ahead = line_return(WHEEL, r + 1e-4, LineExit.SLIP_MINUS).r
    exact = (ahead - behind) / 2e-4
    assert found.slope[0] == pytest.approx(exact, abs=1e-4)
    exponent = found.lyapunov()
    logs = np.log(exact)
    assert exponent.value == pytest.approx(logs.mean(), abs=1e-4)
    assert exponent.error == pytest.approx(logs.std(ddof=1) / math.sqrt(2), rel=1e-2)
    assert exponent.returns == 2


def test_rules_and_fates():
    r = np.linspace(0.155, 0.183, 24)
    slip = line_orbits(WHEEL, r, AlwaysSlip(), 3, slopes=False)
    assert (slip.fate == "line").all()
    assert (np.diff(slip.r, axis=0) < 0.0).all()
    assert np.isnan(slip.slope).all()
    slide = line_orbits(WHEEL, r, SlideIfPossible(), 4, slopes=False)
    assert slide.met_two_fold[0] > 0.5
    assert np.isnan(slide.r[-1][slide.fate == "two_fold"]).all()
    assert slide.share("two_fold")[0] + slide.share("line")[0] == pytest.approx(1.0)
    rule = RandomExit(hazard=2.0)
    one, two = (line_orbits(WHEEL, r, rule, 3, seed=5, slopes=False) for _ in range(2))
    other = line_orbits(WHEEL, r, rule, 3, seed=6, slopes=False)
    assert np.array_equal(one.r, two.r, equal_nan=True)
    assert not np.array_equal(one.r, other.r, equal_nan=True)


def test_funnel():
    exits = funnel_exits(WHEEL, 300, 0.1819, 0.1859, method=EventDriven(rtol=1e-8))
    assert 0.1 < exits.share < 1.0
    # no exit lies beyond the orbit that is tangent to the line at r = 0.18217
    assert exits.x[:, 0].min() > 0.1818
    for i in range(2):
        time, origin, _ = dwell_time(WHEEL, exits.x[i], Tolerance(1e-11))
        assert origin == "two_fold"
        assert exits.dwell[i] == pytest.approx(time, rel=1e-5)
    # through it orbits go on from the two-fold
    ends = line_orbits(WHEEL, [0.19, 0.2], AlwaysSlip(), 1, slopes=False)
    assert (ends.fate == "two_fold").all()
    on = line_orbits(WHEEL, [0.19, 0.2], AlwaysSlip(), 2, funnel=exits, slopes=False)
    assert (on.two_folds >= 1).all()
    assert (on.time > ends.time).all()


def test_points_of_the_escaping_region():
    x = escaping_points(WHEEL, 50, 0.152, 0.186)
    assert ((x[:, 0] >= 0.152) & (x[:, 0] < 0.186)).all()
    for point in x:
        normal = WHEEL.gradient(point)[0]
        assert abs(WHEEL.surfaces_at(point)[0]) < 1e-15
        assert normal @ WHEEL.field(point, 1.0) > 0.0 > normal @ WHEEL.field(point, -1.0)
    with pytest.raises(ModelError, match="no point"):
        escaping_points(WHEEL, 5, 0.2, 0.3)
    with pytest.raises(ModelError, match="r_low < r_high"):
        escaping_points(WHEEL, 5, 0.186, 0.152)
    with pytest.raises(ModelError, match=r"funnel_exits: got none of 3 points"):
        funnel_exits(WHEEL, 3, 0.152, 0.153)
    # slow turntables have the region at speeds far from theirs
    for slow in (0.0, -0.05):
        slip = escaping_points(WheelOnTurntable(omega0=slow), 50, 0.152, 0.186)[:, 2] - slow
        assert slip.min() < -1.3
        assert slip.max() > -1.7
    # the region ends at -42.5 rad/s, of 50 that are searched
    numbers = {"omega0": 0.11642534767505697, "d": 0.19122629377145442, "beta": 0.20273023258423797}
    springs = {"c1": 0.04729735384287579, "c2": 0.01451726301403178}
    wide = WheelOnTurntable(gamma=0.23072292934878624, **numbers, **springs)
    assert escaping_points(wide, 500, 0.1, 0.2)[:, 2].min() < -30.0
    with pytest.raises(ModelError, match="does not determine v"):
        escaping_points(WheelOnTurntable(gamma=0.0), 5, 0.1, 0.2)


def test_line_return_checks_its_input():
    for wrong, word in (
        ({"direction": 1}, "direction"),
        ({"t_end": np.nan}, "t_end"),
        ({"dwell": -1.0}, "dwell"),
        ({"side": 0}, "side"),
        ({"r": ["a"]}, "r"),
    ):
        with pytest.raises(ModelError, match=rf"line_return\.{word}:"):
            line_return(**{"wheel": WHEEL, "r": [0.17], "direction": LineExit.SLIDE} | wrong)
    with pytest.raises(ModelError, match="a Rule"):
        line_orbits(WHEEL, [0.17], None, 1)


LOW, CUT, HIGH = 0.182890, 0.1833821706, 0.184632


def test_the_interval_that_sliding_never_leaves():
    # both branches of the map under the rule are monotone, so that ends show where they lead
    places = np.concatenate([np.linspace(LOW, CUT - 1e-7, 20), np.linspace(CUT + 1e-7, HIGH, 20)])
    once = line_orbits(WHEEL, places, SlideIfPossible(), 1, slopes=False)
    assert (once.fate == "line").all()
    left, right = once.r[1, :20], once.r[1, 20:]
    assert (np.diff(left) < 0.0).all()
    # reason: the ends of the interval are written with six digits
    assert left[[0, -1]] == pytest.approx([HIGH, 0.183382], abs=1e-6)
    assert right.min() == pytest.approx(LOW, abs=1e-6)
    assert right.max() < HIGH
    # beyond it the slide leads out
    assert line_orbits(WHEEL, [LOW - 1e-4], SlideIfPossible(), 1, slopes=False).r[1, 0] > HIGH


def test_exits_next_to_the_two_fold_are_trapped_by_sliding():
    point = two_fold(WHEEL, guess=(0.19, -0.03, -1.03)).x
    rng, exits = np.random.default_rng(0), []
    while len(exits) < 12:
        x = np.array(point) + 1e-3 * rng.normal(size=3)
        for _ in range(5):
            normal = WHEEL.gradient(x)[0]
            x -= normal * WHEEL.surfaces_at(x)[0] / (normal @ normal)
        normal = WHEEL.gradient(x)[0]
        if normal @ WHEEL.field(x, 1.0) > 0.0 > normal @ WHEEL.field(x, -1.0):
            exits.append(x)
    found = ensemble(WHEEL, exits, 100.0, sides=np.tile([1.0, -1.0], 6))
    # a graze nearer than the error of a path ends it, and says so
    met = found.ended("codim2_line")
    assert (met | found.ended("undecided")).all()
    assert met.sum() >= 10
    places = found.state[met, 0]
    assert ((places > LOW) & (places < HIGH)).all()
    orbits = line_orbits(WHEEL, places, SlideIfPossible(), 60, slopes=False)
    assert np.isin(orbits.fate, ("line", "undecided")).all()
    assert (orbits.two_folds == 0).all()
    made = orbits.r[np.isfinite(orbits.r)]
    assert ((made > LOW - 1e-6) & (made < HIGH + 1e-6)).all()
