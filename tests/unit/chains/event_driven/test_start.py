"""Runs that start late: the load is read at the start, and a chain does not know the time."""

import dataclasses

import numpy as np
import pytest
from block_cases import needs_compiler

import stiction as st
from stiction.chains import PiecewiseLinear, SumOf
from stiction.chains.blocks.event_driven import blocks_of
from stiction.chains.replay.compare import MOST_MASSES
from stiction.chains.stepping import ChainStepper
from stiction.core.run import Request

# from 2 s on the load is 1.5 N, and friction holds 1.962 N; at 1 s it is 4 N
FELL = PiecewiseLinear([0.0, 1.0, 2.0], [4.0, 4.0, 1.5])
METHODS = {
    "events": st.EventDriven(),
    "no replay": st.chains.EventDriven(replay=False),
    "theta": st.ThetaStepper(step=1e-2),
    "smooth": st.chains.RegularizedTheta(step=1e-3, theta=1.0, smoothing=1e-6),
    "quasistatic": st.Quasistatic(),
}


def single(load=FELL, n=1, law=None):
    return st.Chain(mass=1.0, n=n, stiffness=20.0, load=load, law=law or st.StaticKinetic(0.2, 0.1))


@pytest.mark.parametrize("load", [FELL, SumOf([FELL, st.Constant(0.0)])])
@pytest.mark.parametrize("n", [1, MOST_MASSES + 1])
@pytest.mark.parametrize("start", [2.0, 4.0])
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"smooth"}))
def test_a_load_that_has_fallen_moves_nothing(name, start, n, load):
    run = st.solve(single(load, n), METHODS[name], (start, start + 0.5), save=2, throw=False)
    assert np.abs(run.final["x"]).max() == 0.0
    assert run.quantities["onset_time"].value == [None] * n
    # quasistatic motion is not unique under friction that jumps
    assert run.audit.ok or name == "quasistatic"


def test_a_stepper_that_starts_late():
    stepper = ChainStepper(single(), st.EventDriven(), 4.0, 1.0)
    stepper.go_to(5.0)
    assert (stepper.x[0], stepper.events.count, stepper.load) == (0.0, 0, 1.5)


@needs_compiler
def test_blocks_that_start_late():
    request = Request(4.0, 4.5, np.array([4.0, 4.5]))
    block = blocks_of(
        single(), st.chains.EventDriven(), request, [("law", "mu_kinetic")], ["final.x"]
    )
    found = block([np.linspace(0.05, 0.15, 4)])
    assert found.valid.all()
    assert (found.results["final.x"] == 0.0).all()


@pytest.mark.parametrize("first", [-2.5, -0.5, 0.0, 1.0])
def test_every_breakpoint_of_a_function_ends_a_step(first):
    """The first one too, where the run starts before it: no step has to be halved towards it."""
    load = st.UserLoad(lambda t: 1.0 if t < first else 3.0, [first])
    run = st.solve(single(load), st.EventDriven(), (first - 1.0, first + 0.2), save=2)
    assert run.quantities["onset_time"].value == [first]
    # a function is looked at 200 times a run
    assert run.stats["steps"] <= 202
    assert run.audit.ok


def moved(load, by):
    """Return the load as one sees it who counts time from `by`."""
    match load:
        case st.Ramp():
            return st.Ramp(load.rate, load.start + load.rate * by)
        case st.chains.Sine():
            phase = load.phase + load.angular_frequency * by
            return dataclasses.replace(load, phase=phase)
        case PiecewiseLinear():
            return PiecewiseLinear(np.asarray(load.time) - by, load.value)
        case SumOf():
            return SumOf([moved(part, by) for part in load.parts])
        case st.UserLoad():
            breaks = [t - by for t in load.breakpoints]
            return st.UserLoad(lambda t: load.function(t + by), breaks)
    return load


LAWS = {
    "coulomb": st.Coulomb(0.3),
    "jump": st.StaticKinetic(0.4, 0.2),
    "weakening": st.ExponentialWeakening(0.4, 0.2, 0.3),
    "random": st.laws.RandomCoulomb(0.3, 0.2, 4),
    "stribeck": st.laws.Stribeck(0.4, 0.2, 0.1, 2, 0.05),
    "none": st.Coulomb(0.0),
}
KINKS = np.array([-3.0, -1.25, 0.5, 1.125, 4.0])


def random_load(rng, functions, parts=3):
    kind = rng.integers(6 if functions else 5)
    if kind == 0:
        return st.Ramp(rng.uniform(-3.0, 3.0), rng.uniform(-3.0, 3.0))
    if kind == 1:
        return st.chains.Sine(*rng.uniform([0.0, 0.3, -3.0], [8.0, 6.0, 3.0]))
    if kind == 2:
        return st.Constant(rng.uniform(-6.0, 6.0))
    if kind == 3 and parts:
        return SumOf([random_load(rng, functions, 0) for _ in range(parts)])
    if kind == 5:
        at, (swing, before, after) = float(rng.choice(KINKS)), rng.uniform(-4.0, 4.0, 3)
        return st.UserLoad(lambda t: swing * np.sin(t) + (before if t < at else after), [at])
    return PiecewiseLinear(KINKS, rng.uniform(-6.0, 6.0, 5))


def random_chain(rng, law, functions=True):
    """Return a chain with or without belt, plate, speeds at the start; all walls."""
    n = int(rng.integers(1, 5))
    supports = str(rng.choice(["left", "right", "both"]))
    plate = rng.random() < 0.3
    return st.Chain(
        mass=rng.uniform(0.5, 3.0, n),
        stiffness=rng.uniform(2.0, 60.0, n + (supports == "both")),
        damping=float(rng.choice([0.0, 0.5])),
        load=random_load(rng, functions),
        law=law,
        x0=rng.uniform(-0.2, 0.2, n) * rng.integers(2),
        v0=rng.uniform(-1.0, 1.0, n) * rng.integers(2),
        supports=supports,
        load_vector=np.ones(n) if plate else None,
        plate_stiffness=rng.uniform(1.0, 20.0) if plate else 0.0,
        plate_speed=rng.uniform(-0.5, 0.5) if plate else 0.0,
        belt_speed=float(rng.choice([0.0, 0.3, -0.17])),
    )


def seen_from(chain, start):
    """Return the chain as one sees it who counts time from `start`."""
    # the plate has come so far that its springs pull with a constant force
    pull = st.Constant(chain.plate_stiffness * chain.plate_speed * start)
    return dataclasses.replace(chain, load=SumOf([moved(chain.load, start), pull]))


@pytest.mark.parametrize("start", ["kink", "before", "after", "far"])
@pytest.mark.parametrize(
    ("name", "law"),
    # without dampers quasistatic motion is unique where friction is constant
    [
        (name, law)
        for name in sorted(METHODS)
        for law in sorted(LAWS)
        if name != "quasistatic" or law in ("coulomb", "random")
    ],
)
def test_a_late_start_is_a_start_with_the_load_moved(name, law, start):
    rng = np.random.default_rng([sorted(METHODS).index(name), sorted(LAWS).index(law), len(start)])
    method, span = METHODS[name], 1.0
    for _ in range(3):
        chain = random_chain(rng, LAWS[law], functions=name == "events")
        at = {
            "kink": float(rng.choice(KINKS)),
            "before": float(rng.uniform(-5.0, -3.0)),
            "after": float(rng.uniform(0.0, 5.0)),
            "far": 64.0,
        }[start]
        if name == "quasistatic":
            # a start that friction holds
            hold = st.Constant(-float(chain.load.at(at)))
            chain = dataclasses.replace(
                chain, x0=0.0, v0=0.0, plate_speed=0.0, load=SumOf([chain.load, hold])
            )
        one = st.solve(chain, method, (at, at + span), save=2, throw=False)
        two = st.solve(seen_from(chain, at), method, (0.0, span), save=2, throw=False)
        assert one.status == two.status
        if not one.status.ok:
            assert name == "quasistatic"
            continue
        far = max(1.0, np.abs(two.final["x"]).max(), abs(chain.plate_speed * at))
        assert np.abs(one.final["x"] - two.final["x"]).max() < 1e-9 * far
        assert one.stats["events"] == two.stats["events"]
