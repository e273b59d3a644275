"""Grazing and degenerate thresholds: double roots without events, reported futures, releases."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from chain_judge import Judge, judged

import stiction as st
from stiction.chains.event_driven.grazing_kernels import first_downcrossing
from stiction.numerics.event_localisation import NONE

Sine, PiecewiseLinear = st.chains.Sine, st.chains.PiecewiseLinear


def found(roots, low=1e-12, high=1e-12, above=False, lead=1.0, lift=0.0):
    """Return what `first_downcrossing` finds of lead (s - r1) (s - r2) ... + lift."""
    c = lead * np.polynomial.polynomial.polyfromroots(roots)
    c[0] += lift
    return first_downcrossing(
        np.append(c, np.zeros(4)), c.size + 4, np.zeros((52, 40)), low, high, above
    )


def test_roots_and_grazing():
    assert found([0.4], lead=-1.0) == (pytest.approx(0.4, abs=1e-15), NONE, NONE)
    # a double root, and one lifted or pushed by less than its error
    for lift in (0.0, 5e-13, -5e-13):
        root, touch, left_open = found([0.5, 0.5], lift=lift)
        assert (root, left_open) == (NONE, NONE)
        assert touch == pytest.approx(0.5, abs=1e-12)
    # by more: two roots, or none
    assert found([0.5, 0.5], lift=-1e-10)[0] == pytest.approx(0.5 - 1e-5, rel=1e-6)
    assert found([0.5, 0.5], lift=1e-10) == (NONE, NONE, NONE)
    # a touch and a fall after it
    root, touch, _ = found([0.25, 0.25, 0.75], lead=-1.0)
    assert (root, touch) == (pytest.approx(0.75, abs=1e-12), pytest.approx(0.25, abs=1e-12))
    # it starts within its error, dips below zero within it, rises and falls: the fall crosses
    root, touch, _ = found([0.05, 0.1, 0.7], low=1e-2, high=1e-2, lead=-1.0)
    assert (root, touch) == (pytest.approx(0.7, abs=1e-14), NONE)
    # within its error from here to the end
    assert found([1.0, 1.0])[2] == pytest.approx(1.0 - 1e-6, rel=1e-9)
    assert found([0.0, 0.0], above=True)[1] == 0.0
    assert found([0.0, 0.0])[1] == NONE


# ---- double roots


@pytest.mark.parametrize("scale", [1.0, 1e-6, 2.0**40, 777.0])
def test_a_ramp_lets_an_undamped_mass_go_once(scale):
    """It comes to rest with every period, for no time: r (1 - cos w t) / k."""
    chain = st.Chain(
        mass=[1.0], stiffness=20.0, normal_force=2.5 * scale, law=st.Coulomb(1.0),
        load=st.Ramp(scale),
    )  # fmt: skip
    heavier = dataclasses.replace(chain, mass=[scale], stiffness=20.0 * scale)
    for one in (chain, heavier):
        run = st.solve(one, st.EventDriven(), (0.0, 100.0))
        assert list(run.event_log.kind) == ["slip"]
        periods = (100.0 - 2.5) / (2.0 * math.pi) * math.sqrt(20.0)
        assert run.stats["grazings"] == math.floor(periods)
        assert run.determinism.status == "deterministic"


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_no_stay_in_stick_is_too_short_to_be_one(rate):
    chain = st.Chain(mass=[1.0] * 3, stiffness=20.0, load=st.Ramp(rate), law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(), (0.0, 30.0))
    verdict = Judge(chain).verdict(run)
    assert verdict.error < 1e-12, verdict.where
    assert verdict.shortest > 1e-3


# ---- two futures

JUMP = st.StaticKinetic(0.3, 0.1)


def tangent(dv=0.0, law=JUMP, others=0):
    """k x = mu_k N + r t - ...: v = r / k (1 + (1 + dv) ...) comes to rest at t = pi / 2."""
    n = 1 + others
    return st.Chain(
        mass=[1.0] * n, stiffness=[4.0] + [1e-9] * others, normal_force=[10.0] + [1e3] * others,
        load=st.Ramp(4.0, start=1.0), law=law, v0=[2.0 * (1.0 + dv)] + [0.0] * others,
        load_vector=[1.0] + [0.0] * others,
    )  # fmt: skip


@pytest.mark.parametrize("dv", [0.0, 1e-15, -1e-15, 1e-14, -1e-14])
def test_both_solutions_at_a_grazing(dv):
    stuck = st.solve(tangent(dv), st.EventDriven(), (0.0, 4.0))
    slid = st.solve(tangent(dv), st.EventDriven(policy=st.chains.SlipAtGrazing()), (0.0, 4.0))
    for run in (stuck, slid):
        (loss,) = run.determinism.losses
        assert (loss.kind, loss.where) == ("grazing_slip", {"contact": 1})
        assert loss.time == pytest.approx(math.pi / 2.0, abs=1e-7)
        assert Judge(tangent(dv)).verdict(run).error < 1e-9
    # it holds for (mu_s - mu_k) N / r = 0.5 s
    assert list(stuck.event_log.kind) == ["stick", "slip"]
    assert stuck.event_log.time[1] - math.pi / 2.0 == pytest.approx(0.5, abs=1e-7)
    assert list(slid.event_log.kind) == []
    assert stuck.final["x"][0] - slid.final["x"][0] == pytest.approx(0.21076531, abs=1e-7)
    assert "started to stick" in stuck.determinism.losses[0].choice
    assert "continued to slip" in slid.determinism.losses[0].choice


@pytest.mark.parametrize("dv", [1e-9, -1e-9, 1e-11, -1e-11])
def test_beyond_rounding_there_is_one_future(dv):
    run = st.solve(tangent(dv), st.EventDriven(), (0.0, 4.0))
    assert run.determinism.status == "deterministic"
    assert len(run.event_log) == (2 if dv > 0.0 else 0)


@pytest.mark.parametrize("dv", [0.0, 1e-15, -1e-15])
def test_grazing_without_a_jump_is_no_event(dv):
    run = st.solve(tangent(dv, st.Coulomb(0.1)), st.EventDriven(), (0.0, 4.0))
    assert (len(run.event_log), run.stats["grazings"]) == (0, 1)
    assert run.determinism.status == "deterministic"


def test_a_policy_selects_grazings_by_time():
    policy = st.chains.SlipAtGrazing(after=2.0, before=3.0)
    run = st.solve(tangent(), st.EventDriven(policy=policy), (0.0, 4.0))
    assert list(run.event_log.kind) == ["stick", "slip"]
    policy = st.chains.SlipAtGrazing(after=1.5, before=1.6)
    run = st.solve(tangent(), st.EventDriven(policy=policy), (0.0, 4.0))
    assert run.stats["events"] == 0
    with pytest.raises(st.ModelError, match="after <= before"):
        st.chains.SlipAtGrazing(after=2.0, before=1.0)
    with pytest.raises(st.ModelError, match="2 values"):
        st.chains.SlipAtGrazing(after=np.array([1.0, 2.0]))


BOUND = 0.25 * 9.81
QUARTER = st.StaticKinetic(0.25, 0.2)


def swung(excess=0.0, law=QUARTER, load=None):
    load = load or Sine(BOUND * (1.0 + excess), 1.0)
    return st.Chain(mass=1.0, stiffness=1.0, load=load, law=law)


@pytest.mark.parametrize(
    "load", [None, PiecewiseLinear([0.0, 1.0, 2.0], [0.0, BOUND, 0.0]), st.Ramp(-1.0, BOUND)]
)
def test_slip_onset_is_a_canard(load):
    """At |R| = mu_s N, turning inward, a mass with a jump may stick on or slip."""
    stuck = st.solve(swung(load=load), st.EventDriven(), (0.0, 2.5))
    (loss,) = stuck.determinism.losses
    assert (loss.kind, stuck.stats["events"]) == ("grazing_onset", 0)
    method = st.EventDriven(policy=st.chains.SlipAtGrazing())
    slid = st.solve(swung(load=load), method, (0.0, 2.5))
    assert slid.determinism.losses[0].kind == "grazing_onset"
    assert slid.determinism.losses[0].time == pytest.approx(loss.time, abs=1e-12)
    assert "started to slip" in slid.determinism.losses[0].choice
    assert slid.event_log.kind[0] == "slip"
    assert slid.event_log.time[0] == pytest.approx(loss.time, abs=1e-12)
    assert Judge(swung(load=load)).verdict(slid).error < 1e-9


@pytest.mark.parametrize("law", [st.Coulomb(0.25), st.StaticKinetic(0.25, 0.25)])
@pytest.mark.parametrize(("excess", "slips"), [(0.0, 0), (1e-15, 0), (-1e-15, 0), (1e-9, 4)])
def test_a_load_that_reaches_the_bound(law, excess, slips):
    run = st.solve(swung(excess, law), st.EventDriven(), (0.0, 4.0 * math.pi))
    assert sum(kind == "slip" for kind in run.event_log.kind) == slips
    assert run.stats["grazings"] == (0 if slips else 4)
    assert run.determinism.status == "deterministic"


@pytest.mark.parametrize(("v_scale", "reported"), [(0.1, 0), (1e-3, 0), (1e-7, 1), (1e-10, 1)])
def test_weakening_as_sharp_as_a_jump(v_scale, reported):
    """Motions part like exp(t N (mu_s - mu_k) / (m v_scale)): that makes rounding decide."""
    law = st.ExponentialWeakening(0.25, 0.2, v_scale)
    run = st.solve(swung(law=law), st.EventDriven(), (0.0, 2.5))
    assert [loss.kind for loss in run.determinism.losses] == ["grazing_onset"] * reported
    assert run.stats["grazings"] == 1
    assert run.stats["events"] == 0


# ---- degenerate thresholds


def test_tied_masses_without_friction_go_at_once():
    for mu, sign in itertools.product(([0.0, 0.3, 0.0], [0.3, 0.0, 0.0], 0.0), (1.0, -1.0)):
        for law in (st.Coulomb(mu), st.StaticKinetic(mu, 0.5 * np.asarray(mu))):
            chain = st.Chain(
                mass=[1.0, 2.0, 3.0], stiffness=20.0, damping=0.1, normal_force=10.0, law=law,
                load=st.Ramp(sign), load_vector=[0.0, 1.0, -1.0],
            )  # fmt: skip
            held = law.table(3).mu_static * 10.0
            x0 = np.linalg.solve(chain.stiffness_matrix(), -held * [-sign, sign, -sign])
            chain = dataclasses.replace(chain, x0=x0)
            run = st.solve(chain, st.EventDriven(), (0.0, 3.0))
            verdict = Judge(chain).verdict(run)
            assert verdict.error < 1e-10, verdict.where
            assert run.audit.ok


def test_degenerate_thresholds_and_grazing_of_random_chains():
    families = {}
    for seed in range(20_000, 20_120):
        family, *_, wrong = judged(seed)
        assert not wrong, f"case {seed}, {family}: {wrong}"
        families[family] = families.get(family, 0) + 1
    assert len(families) == 5


def test_the_judge_sees_a_lost_event():
    chain = st.Chain(mass=[1.0] * 3, stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.25))
    run = st.solve(chain, st.EventDriven(), (0.0, 8.0))
    assert Judge(chain).verdict(run).error < 1e-12
    log = run.event_log
    for row in range(len(log)):
        saved = np.arange(len(log)) != row
        fewer = dataclasses.replace(
            log, time=log.time[saved], contact=log.contact[saved],
            before=[m for m, k in zip(log.before, saved, strict=True) if k],
            after=[m for m, k in zip(log.after, saved, strict=True) if k],
            kind=[m for m, k in zip(log.kind, saved, strict=True) if k],
        )  # fmt: skip
        assert Judge(chain).verdict(dataclasses.replace(run, event_log=fewer)).error > 1e-3


# ---- runs that get nowhere


@pytest.mark.parametrize(
    "fields",
    [
        {"mass": [1e-300]},
        {"plate_stiffness": 1e300, "plate_speed": 1.0},
        {"load": st.UserLoad(lambda t: 1.0 / (t - 0.5) if t != 0.5 else 0.0)},
    ],
    ids=["mass", "plate", "pole"],
)
def test_a_run_that_gets_nowhere_ends_early(fields):
    one = {"mass": [1.0], "stiffness": 1.0, "load": st.Ramp(1.0), "law": st.Coulomb(0.25)}
    run = st.solve(st.Chain(**(one | fields)), st.EventDriven(), (0.0, 1.0), throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert run.stats["steps"] < 50_000
    assert "of very different magnitude" in run.reason
    assert ("pole of UserLoad.function" in run.reason) == ("load" in fields)
