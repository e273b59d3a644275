"""Exponents, maps, sections and times of breakdown, on motions whose answer is known."""

import dataclasses
import functools

import numpy as np
import pytest
from audit_lines import solved

import stiction as st
from stiction.rods import BumpStrands, RollingStrings, Sine
from stiction.rods.figures.strings.chaos import crossings
from stiction.rods.strings import chaos
from stiction.rods.strings.chaos import Breakdown, Exponent, breakdown, chaos_map, exponent
from stiction.rods.strings.growth import growth
from stiction.studies.results import Reading, results_of

SAME = RollingStrings(G1=1.0, G2=1.0, s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=3)
STRONG = dataclasses.replace(SAME, s2=3.5)
CRUDE = st.Characteristics(step=1e-2, check=False)


def made(rate, t_end=200.0, power=0.0):
    """Return the exponent of a distance exp(rate t) t^power."""
    from stiction.rods.strings.chaos import _exponent_from_blocks

    time = np.arange(2.0, t_end + 1.0, 2.0)
    logs = rate * time + power * np.log(time)
    return _exponent_from_blocks(time, np.diff(logs, prepend=0.0), "")


def test_verdicts_of_known_growth():
    assert made(0.05).rate == pytest.approx(0.05, rel=1e-12)
    assert made(0.05).verdict == "exponential"
    assert made(0.05).horizon == pytest.approx(20.0, rel=1e-12)
    steady = made(0.0, power=1.0)
    assert steady.verdict == "regular"
    assert steady.power == pytest.approx(1.0, rel=1e-2)
    assert made(0.05, t_end=20.0).verdict == "undecided"
    assert "exponential" in str(made(0.05))
    none = Exponent(np.array([]), np.array([]), np.nan, np.nan, np.nan, "breakdown")
    assert none.verdict == "undecided"
    assert str(none) == "no exponent: the model ends before the end of the first block"


def test_equal_strings_have_no_exponent():
    found = exponent(SAME, 100.0, method=CRUDE)
    assert found.verdict == "regular"
    assert found.power < 1.5


def test_a_strong_coupling_has_one_whatever_the_neighbour():
    found = [exponent(STRONG, 100.0, method=CRUDE, size=size) for size in (1e-8, 1e-6)]
    assert found[0].rate == pytest.approx(found[1].rate, rel=1e-2)
    finer = exponent(STRONG, 100.0, method=st.Characteristics(step=5e-3, check=False))
    # reason: the step of a motion that is chaotic
    assert finer.rate == pytest.approx(found[0].rate, rel=0.05)
    other = exponent(STRONG, 100.0, method=CRUDE, field="s1")
    # reason: a mean over a finite time, from another direction
    assert other.rate == pytest.approx(found[0].rate, abs=0.03)


def test_two_whole_runs_part_alike():
    """Runs that are never brought back, and land on their corners, part as the stepper says."""
    strings = dataclasses.replace(STRONG, nodes=33)
    method = st.Characteristics(step=4e-3, check=False)
    grown = growth(strings, 100.0, method=method, size=1e-5, saves=51)
    stepper = exponent(strings, 100.0, method=CRUDE)
    mine = stepper.log_growth[stepper.time > 10.0].sum()
    whole = np.log(grown.distance[-1] / grown.distance[5])
    # reason: distances are weighed differently, and swing by such a factor in a period
    assert whole == pytest.approx(mine, abs=1.0)


def test_a_map_holds_what_exponents_say():
    found = chaos_map(SAME, [0.25, 1.0], [0.0, 1.5], 60.0, method=CRUDE)
    cell = exponent(dataclasses.replace(SAME, s2=3.5), 60.0, method=CRUDE)
    assert found.rate[1, 1] == cell.rate
    assert found.verdict[1, 1] == cell.verdict
    assert found.share("regular") + found.share("exponential") + found.share("undecided") == 1.0
    assert "4 starts" in str(found)


def test_a_map_is_drawn():
    found = chaos_map(SAME, [0.25, 1.0], [0.0, 1.5], 40.0, method=CRUDE)
    ax, bar = found.plot().axes
    assert ax.collections[0].get_array().size == 4
    assert "exponent" in bar.get_ylabel()


def test_sections_of_a_known_motion():
    t = np.linspace(0.0, 20.0, 401)
    times, found = crossings(t, np.sin(t - 0.3), np.array([np.cos(2.0 * t), t]))
    assert times == pytest.approx(0.3 + 2.0 * np.pi * np.arange(4), abs=1e-7)
    assert found[0] == pytest.approx(np.full(4, np.cos(0.6)), abs=1e-6)
    assert found[1] == pytest.approx(times, rel=1e-12)


def test_a_periodic_motion_is_a_point():
    # s' follows the closed form; u1 itself is not periodic, but u1 + v1 = cos t is
    run = st.solve(dataclasses.replace(SAME, nodes=9), CRUDE, (0.0, 60.0), save=1201)
    total = run.variables["u1"].values + run.variables["v1"].values
    _, found = crossings(run.time, total, run.variables["s1"].values[None])
    assert found[0].size >= 9
    assert np.ptp(found[0]) < 1e-5
    assert len(run.plot.section().axes[0].lines) == 2
    with pytest.raises(st.ModelError, match="passages"):
        st.solve(SAME, CRUDE, (0.0, 1.0), save=21).plot.section()


def test_a_contact_that_goes_round_returns_to_its_places():
    """Half a turn of the circle in each period of u1: two points, not a row of them."""
    drift = st.rods.UserShape(lambda x: np.full_like(x, 0.5))
    wave = st.rods.Sine(1, 1e-6)
    strings = st.RollingStrings(
        ends="periodic", s1=1.0, s2=1.0, u0=wave, v0=wave, u_t0=drift, v_t0=drift, nodes=9
    )
    run = st.solve(strings, CRUDE, (0.0, 60.0), save=1201)
    assert run.variables["s1"].values[-1] > 30.0
    place = run.plot.section().axes[0].lines[0].get_xdata()
    assert place.size >= 8
    np.testing.assert_allclose(place[2:], place[:-2], atol=1e-4)


def test_an_early_breakdown_has_its_digits():
    system = st.read_scenario("string-breakdown").system
    found = breakdown(system, 4.0, steps=(2e-3, 1e-3), perturbations=(0.0, 1e-10))
    assert found.digits >= 7
    assert "t = 2.68349391" in str(found)


def test_a_late_breakdown_is_not_determined():
    ended = np.array(["breakdown", "", "breakdown"])
    made_up = Breakdown(np.ones(3), np.zeros(3), np.array([376.2, np.inf, 383.3]), ended, 400.0)
    assert made_up.digits == 0
    assert "not determined" in str(made_up)
    assert "1 of 3 runs do not end before 400" in str(made_up)
    near = Breakdown(np.ones(2), np.zeros(2), np.array([118.0, 121.0]), ended[::2], 140.0)
    assert str(near) == "not determined: runs end from 118 to 121"
    none = Breakdown(np.ones(1), np.zeros(1), np.array([np.inf]), ended[1:2], 50.0)
    assert "does not end before t = 50" in str(none)
    # equal times of different events are no agreement
    mixed = Breakdown(np.ones(2), np.zeros(2), np.full(2, 3.0), np.array(["breakdown", "end"]), 9.0)
    assert mixed.digits == 0
    assert str(mixed).endswith("; in 1 of 2 runs a contact point reaches a fixed end")


def test_every_end_of_a_run_has_its_name(monkeypatch):
    """An exponent keeps the bounds of its method, and a run without an answer is none."""
    whole = exponent(STRONG, 20.0, method=CRUDE)
    assert whole.ended == ""
    for change, ended, words in (
        ({"max_steps": 1300}, "limit", "where max_steps are used up: undecided"),
        ({"end_margin": 0.164}, "end", "where a contact point reaches a fixed end: undecided"),
    ):
        found = exponent(STRONG, 20.0, method=dataclasses.replace(CRUDE, **change))
        assert found.ended == ended
        assert str(found).endswith(words)
        assert 0.0 < found.time[-1] < 20.0
        assert (found.log_growth == whole.log_growth[: found.time.size]).all()
        bounded = functools.partial(st.Characteristics, **change)
        monkeypatch.setattr(chaos, "Characteristics", bounded)
        given = {"steps": (1e-2, 8e-3), "perturbations": (0.0,)}
        if ended == "end":
            stops = breakdown(STRONG, 20.0, **given)
            assert list(stops.ended) == ["end", "end"]
            assert str(stops).startswith("a contact point reaches a fixed end at t = ")
        else:
            with pytest.raises(st.SolveError, match=r"in which max_steps are used up.*\n.*\nTry"):
                breakdown(STRONG, 20.0, **given)
        monkeypatch.undo()
    # the neighbour alone stops
    system = st.read_scenario("string-breakdown").system
    found = exponent(system, 6.0, method=CRUDE, block=2.683, field="s1", size=1e-3)
    assert found.ended == "breakdown"


def test_a_run_prints_no_time_that_its_twin_denies():
    run = st.solve(
        RollingStrings(G1=1.5, G2=1.5, s1=1.0, s2=1.5, u0=Sine(2, 1.0), nodes=3),
        st.Characteristics(step=1e-2),
        (0.0, 140.0),
        save=141,
        throw=False,
    )
    assert run.quantities["breakdown_time"].value is None
    assert "not determined" in run.quantities["breakdown_time"].absent
    assert "not determined" in run.reason
    assert 0.0 < run.quantities["agrees_until"].value < 110.0


@pytest.mark.parametrize(
    "given", [{"field": "G1"}, {"size": 0.0}, {"block": -1.0}, {"t_end": 1.0}, {"t_end": np.nan}]
)
def test_bad_requests_are_refused(given):
    with pytest.raises(st.ModelError, match=r"needs.*\nWhy.*\nTry"):
        exponent(SAME, **({"t_end": 10.0} | given))


def test_strings_that_no_path_can_follow_are_refused():
    dragged = dataclasses.replace(STRONG, drag=5.0)
    for asked in (exponent, breakdown):
        with pytest.raises(st.ModelError, match="needs drag = 0"):
            asked(dragged, 4.0)
    with pytest.raises(st.ModelError, match="Try: give 150"):
        exponent(SAME, -1.0)
    # a neighbour at a distance of a step
    with pytest.raises(st.SolveError, match="different numbers of cubic segments"):
        exponent(STRONG, 20.0, method=CRUDE, size=1e-2)


def test_studies_measure_exponents():
    # steps so long leave 1e-7 of the energy open
    run = solved(STRONG, CRUDE, (0.0, 40.0), save=2)
    found = exponent(STRONG, 40.0, method=CRUDE)
    names = ("measured.lyapunov", "measured.lyapunov_error")
    saved = results_of(run, Reading(names))
    assert saved[names[0]].values == found.rate
    assert saved[names[1]].values == found.error
    # the exponent is that of the time span, wherever it begins
    run = st.solve(STRONG, CRUDE, (-40.0, 0.0), save=2, throw=False)
    assert results_of(run, Reading(names[:1]))[names[0]].values == found.rate
    short = dataclasses.replace(STRONG, nodes=65)
    run = st.solve(short, BumpStrands(0.1), (0.0, 0.1), save=2, throw=False)
    with pytest.raises(st.ModelError, match="got a run by BumpStrands"):
        results_of(run, Reading(names[:1]))
    with pytest.raises(st.ScenarioError, match=r"did you mean 'measured\.lyapunov'"):
        results_of(run, Reading(("measured.lyapunof",)))
