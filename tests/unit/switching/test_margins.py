"""How far a run stays from a split of futures: beside folds whose two futures are known exactly."""

import dataclasses
import math

import numpy as np
import pytest

import stiction as st
from stiction.numerics.event_localisation import (
    NODES,
    NONE,
    bernstein_from_samples,
    first_dip,
    nodes,
)
from stiction.switching import ByKind, Enumerate, Leave, PiecewiseSmooth, Sample
from stiction.switching.methods import EventDriven

# above the surface w' = 2 (u - 1) has its fold at u = 1; below it the flow leads away or back


def above(x):
    return [1.0, 2.0 * (x[0] - 1.0)]


def away(x):
    return [1.0, -1.0]


def back(x):
    return [1.0, 1.0]


def level(x):
    return x[1]


# functions are compiled once for all starts
COMPILED = {}


def compiled_once(key, system):
    system.__dict__["compiled"] = COMPILED.setdefault(key, system).compiled
    return system


def valley(floor, below=away, u=0.0):
    start = [u, (u - 1.0) ** 2 + floor]
    system = PiecewiseSmooth(h=level, f_plus=above, f_minus=below, x0=start)
    return compiled_once(below, system)


def run(floor, rtol=1e-11, policy=None, t_end=3.0, **more):
    method = EventDriven(rtol=rtol, policy=policy)
    return st.solve(valley(floor, **more), method, t_span=(0.0, t_end))


def exact(floor):
    """Return w at t = 3: on the parabola, or on the line that begins where it lands."""
    return 4.0 + floor if floor > 0.0 else -(2.0 + math.sqrt(-floor))


@pytest.mark.parametrize("rtol", [1e-11, 1e-8, 1e-6])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_run_is_right_or_says_that_it_is_undecided(rtol, side):
    for floor in side * 10.0 ** np.arange(-15.0, -1.0):
        found = run(floor, rtol)
        if found.determinism.losses:
            # h has one tolerance of error for its state and one for its scale
            assert abs(floor) < 100.0 * rtol
            assert found.status == st.Status.STOPPED
            assert found.determinism.losses[0].kind in ("undecided", "fold")
        else:
            assert found.determinism.margin >= 1.0
            assert found.final["x2"] == pytest.approx(exact(floor), abs=1e-2 + math.sqrt(rtol))
        if abs(floor) < 0.1 * rtol:
            assert found.determinism.status == "lost"


@pytest.mark.parametrize("u", [0.0, -1.0, -0.3, -1.1, 0.3, -2.7])
@pytest.mark.parametrize("rtol", [1e-11, 1e-6, 1e-3])
def test_no_grazing_is_missed_between_samples(u, rtol):
    found = run(0.0, rtol, t_end=4.5, u=u)
    assert found.determinism.status == "lost"
    assert found.t_end == pytest.approx(1.0 - u, abs=1e-6)


def test_the_margin_stands_in_the_event_and_the_smallest_in_the_run():
    # the error of h is at least 2 tolerances: one for each state of size 1, none for u
    near = run(2e-10)
    assert near.determinism.status == "deterministic"
    (margin,) = near.events["margin"]
    assert 1.0 < margin < 20.0
    assert near.determinism.margin == margin
    assert "nearest loss of uniqueness: " in str(near)
    assert run(-1e-9).events["margin"].iloc[0] > 20.0
    assert run(1e-3).determinism.margin > 1e6


def test_an_undecided_run_reports_its_margin_and_kind():
    (loss,) = run(-1e-12).determinism.losses
    assert loss.kind == "undecided"
    assert loss.where["of"] == "fold"
    assert loss.where["sides"] == ["+", "-"]
    # errors count three times, for what they may have grown
    assert loss.where["margin"] == pytest.approx(0.0995 / 3.0, rel=1e-2)


def test_a_policy_takes_either_branch():
    ends = {side: run(-1e-12, policy=Leave(side)).final["x2"] for side in "+-"}
    assert ends["+"] == pytest.approx(4.0, abs=1e-9)
    assert ends["-"] == pytest.approx(-2.0, abs=1e-5)
    assert run(-1e-12, policy=ByKind(fold=Leave("-"))).final["x2"] == ends["-"]
    both = run(-1e-12, policy=Enumerate())
    assert sorted(both.variables["future_state"].values[:, 1]) == pytest.approx(
        [-2.0, 4.0], abs=1e-5
    )
    drawn = {round(run(-1e-12, policy=Sample(seed=k)).final["x2"]) for k in range(8)}
    assert drawn == {4, -2}


@pytest.mark.parametrize("floor", [0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-7, -1e-7])
@pytest.mark.parametrize("rtol", [1e-11, 1e-6])
def test_where_both_sides_lead_on_together_nothing_is_undecided(floor, rtol):
    found = run(floor, rtol, below=back)
    assert found.determinism.status == "deterministic"
    assert found.final["x2"] == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize("u", [1.0, 1.0 + 1e-13, 1.0 - 1e-13])
def test_a_start_on_the_fold_has_no_single_future(u):
    system = PiecewiseSmooth(h=level, f_plus=above, f_minus=away, x0=[u, 0.0])
    found = st.solve(system, t_span=(0.0, 1.0))
    assert [loss.kind for loss in found.determinism.losses] == ["escaping_start"]


def test_an_ensemble_says_undecided_too():
    from stiction.switching.ensembles.study import ensemble

    starts = np.array([[0.0, 1.0 + floor] for floor in (-1e-3, -1e-11, 1e-3)])
    found = ensemble(valley(0.0), starts, 3.0)
    assert list(found.end) == ["time", "undecided", "time"]


# ---- the limit of friction: a block held by friction 1 under a cos t


def block(amplitude, rtol):
    system = PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=lambda x: [x[1], -1.0 + (1.0 + x[3]) * math.cos(x[2]), 1.0, 0.0],
        f_minus=lambda x: [x[1], 1.0 + (1.0 + x[3]) * math.cos(x[2]), 1.0, 0.0],
        x0=[0.0, 0.0, -1.0, amplitude - 1.0],
    )
    system = compiled_once("block", system)
    return st.solve(system, EventDriven(rtol=rtol), t_span=(0.0, 30.0))


@pytest.mark.parametrize("rtol", [1e-11, 1e-8, 1e-6])
@pytest.mark.parametrize("excess", [1e-12, 1e-11, 1e-9, 1e-6, 1e-3])
def test_every_slip_of_a_block_at_its_limit_is_found(excess, rtol):
    found = block(1.0 + excess, rtol)
    assert found.determinism.status == "deterministic"
    assert list(found.events["kind"]) == ["leave", "slide"] * 10
    # force and friction are equal where a cos t = 1; a cubic comes back twice as far behind
    half = math.sqrt(2.0 * excess)
    leaves = found.events["time"].to_numpy()[::2] - 1.0
    assert leaves == pytest.approx(math.pi * np.arange(10) - half, abs=0.01 * half)
    slides = found.events["time"].to_numpy()[1::2] - 1.0
    assert slides == pytest.approx(math.pi * np.arange(10) + 2.0 * half, abs=0.01 * half)


@pytest.mark.parametrize("rtol", [1e-11, 1e-6])
@pytest.mark.parametrize("excess", [-1e-3, -1e-9, -1e-12, 0.0, 1e-15, 1e-14, 1e-13, 2e-13])
def test_a_grazing_of_the_limit_does_not_end_sliding(excess, rtol):
    found = block(1.0 + excess, rtol)
    assert found.status == st.Status.SOLVED
    assert found.final["x2"] == pytest.approx(0.0, abs=1e-15)
    if excess <= 1e-14:
        assert len(found.events) == 0


# ---- minima of polynomials


def test_first_dip_matches_numpy():
    rng, work, checked = np.random.default_rng(5), np.empty(NODES), 0
    for _ in range(300):
        power = np.polynomial.Polynomial(rng.normal(size=NODES))
        b = bernstein_from_samples() @ power(nodes())
        slope = power.deriv()
        bends = slope.deriv()
        lows = sorted(z.real for z in slope.roots() if abs(z.imag) < 1e-9 and 0.02 < z.real < 0.98)
        lows = [s for s in lows if bends(s) > 0.0]
        edges = np.sort([z.real for z in slope.roots() if abs(z.imag) < 1e-9])
        if np.any(np.diff(edges[(edges > -0.1) & (edges < 1.1)]) < 0.1):
            continue
        got = first_dip(b, 0.0, math.inf, work)[0]
        inside = [s for s in lows if 0.02 < s < 0.98]
        if inside and not any(abs(e) < 0.05 or abs(e - 1.0) < 0.05 for e in edges):
            checked += 1
            assert got == pytest.approx(inside[0], abs=1e-7)
            assert (
                first_dip(b, 0.0, float(power(inside[0])) - 1.0, work)[0] == NONE or len(inside) > 1
            )
    assert checked > 20


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1.0), (1e9, 1.0), (1.0, 1e-6), (1e-6, 1e3)])
@pytest.mark.parametrize("floor", [-1e-12, -1e-8, 1e-8])
def test_margins_are_the_same_in_all_units(length, time, floor):
    """Sizes of the states are given by `scale`; without it 1 is taken for the size."""

    def valley(size, rate):
        flow = st.PiecewiseSmooth(
            h=lambda x: x[1],
            f_plus=lambda x: (rate, 2.0 * (x[0] / size - 1.0) * rate),
            f_minus=lambda x: (rate, -rate),
            x0=[0.0, (1.0 + floor) * size],
            scale=[size, size],
        )
        return st.solve(flow, EventDriven(rtol=1e-11), (0.0, 3.0 * size / rate))

    one, other = valley(1.0, 1.0), valley(length, length / time)
    assert [loss.kind for loss in other.determinism.losses] == [
        loss.kind for loss in one.determinism.losses
    ]
    # reason: a margin is over an estimate of the error, which depends on the steps that were taken
    assert other.determinism.margin == pytest.approx(one.determinism.margin, rel=0.1)
    assert other.final["x2"] / length == pytest.approx(one.final["x2"], rel=1e-9, abs=1e-12)


def valley_field(x, s, p):
    # p holds a length and a rate; the floor of the valley lies where x1 is the length
    if s[0] < 0.0:
        return (p[1], -p[1])
    return (p[1], 2.0 * (x[0] / p[0] - 1.0) * p[1])


@pytest.fixture(scope="module")
def parted():
    """The valley, compiled once."""
    return st.PiecewiseSmooth(
        h=lambda x: x[1], f=valley_field, x0=[0.0, 1.0], parameters=np.array([1.0, 1.0])
    )


@pytest.mark.parametrize("length", [1e-12, 1e-9, 1e-6, 1e9, 1e12])
@pytest.mark.parametrize("time", [1e-12, 1.0, 1e12])
def test_without_a_scale_margins_are_the_same_in_units_far_from_one(parted, length, time):
    for floor in (-1e-12, -1e-8, 1e-8, 1e-3):

        def valley(size, rate, floor=floor):
            flow = parted.with_parameters([size, rate])
            flow = dataclasses.replace(flow, x0=[0.0, (1.0 + floor) * size])
            return flow, st.solve(flow, EventDriven(rtol=1e-11), (0.0, 3.0 * size / rate))

        (_, one), (flow, other) = valley(1.0, 1.0), valley(length, length / time)
        assert flow.compiled.scale == pytest.approx(length * np.ones(2), rel=2e-3)
        kinds = [loss.kind for loss in one.determinism.losses]
        assert [loss.kind for loss in other.determinism.losses] == kinds
        # reason: a margin is over an estimate of the error, which depends on the steps
        assert other.determinism.margin == pytest.approx(one.determinism.margin, rel=0.1)
        assert other.final["x2"] / length == pytest.approx(one.final["x2"], rel=1e-9, abs=1e-12)
