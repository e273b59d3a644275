"""Chains without a compiler: the bits of compiled kernels, for every method and kind of chain."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from slip_memory import SlipMemory

import stiction as st
from stiction.io.scenario import built_in, read_scenario
from stiction.numerics import jit
from stiction.numerics.callback import Callback, call

SCENARIOS = sorted(n for n, path in built_in().items() if path.parents[1].name == "chains")
# the others are short enough to be run whole
SHORTER = {"burridge-knopoff": 12.0, "detachment-wave": 0.05} | dict.fromkeys(
    ("theta-0", "theta-half", "theta-one"), 1.0
)

THREE = {"mass": [1.0, 2.0, 0.5], "stiffness": [20.0, 30.0, 10.0]}
SHAKEN = {**THREE, "load": st.chains.Sine(12.0, 3.0)}


def gentle(s):
    return 0.2 + 0.1 / (1.0 + s)


def gentle_slope(s):
    return -0.1 / (1.0 + s) ** 2


def wild(t):
    return 9.0 * np.sin(t * t)


CHAINS = {
    "damped": st.Chain(**SHAKEN, damping=0.1, law=st.Coulomb(0.2)),
    "walls": st.Chain(**{**SHAKEN, "stiffness": [20.0, 30.0, 10.0, 5.0]}, supports="both"),
    "pieces": st.Chain(
        **THREE,
        load=st.chains.SumOf(
            [st.chains.PiecewiseLinear([0.5, 1.0, 2.0, 3.0], [0.0, 8.0, -8.0, 3.0]), st.Ramp(1.0)]
        ),
        law=st.laws.RandomCoulomb(0.1, 0.02, seed=3),
    ),
    "jump": st.Chain(**SHAKEN, law=st.StaticKinetic(0.4, 0.2)),
    "jump_on_belt": st.Chain(**THREE, law=st.StaticKinetic(0.4, 0.2), belt_speed=0.3),
    "weakening": st.Chain(**SHAKEN, law=st.ExponentialWeakening(0.3, 0.2, 0.1)),
    "weakening_one": st.Chain(
        mass=1.0, stiffness=20.0, law=st.ExponentialWeakening(0.4, 0.2, 0.1), belt_speed=-0.3
    ),
    # a double root of the slip rate, grazing of the bound, and masses without friction
    "touch": st.Chain(
        mass=1.0,
        stiffness=4.0,
        normal_force=10.0,
        load=st.Ramp(4.0, 1.0),
        law=st.StaticKinetic(0.3, 0.1),
        v0=2.0,
    ),
    "touch_of_the_bound": st.Chain(
        mass=[1.0, 1.0],
        stiffness=20.0,
        law=st.StaticKinetic([0.3, 0.2], 0.1),
        load=st.chains.Sine(0.2 * 9.81, 2.0),
        v0=[0.1, 0.0],
    ),
    "tied": st.Chain(
        **THREE,
        law=st.Coulomb([0.0, 0.2, 0.0]),
        load=st.Ramp(1.0),
        damping=0.1,
        load_vector=[0.0, 1.0, 1.0],
        x0=np.cumsum([0.0, 0.0, 0.2 * 2.0 * 9.81 / 10.0]),
    ),
    "plate": st.Chain(
        mass=[1.0, 2.0, 1.0],
        stiffness=[20.0, 30.0],
        supports="none",
        law=st.StaticKinetic(0.4, 0.2),
        plate_stiffness=5.0,
        plate_speed=0.6,
    ),
    "frictionless": st.Chain(mass=4.0, stiffness=16.0, law=st.Coulomb(0.0), x0=0.5),
    "user_law": st.Chain(**SHAKEN, law=st.UserFriction(gentle, gentle_slope)),
    "user_load": st.Chain(**THREE, load=st.UserLoad(wild), law=st.Coulomb(0.1)),
    "memory": st.Chain(**SHAKEN, law=SlipMemory(0.3, 0.2, 0.05, 1.0)),
}
METHODS = {
    "events": st.EventDriven(),
    "theta": st.ThetaStepper(step=0.002, theta=0.5),
    "theta_one": st.ThetaStepper(step=0.002, theta=1.0),
    "smooth": st.chains.RegularizedTheta(step=0.002, theta=0.5, smoothing=1e-3),
    "tanh": st.chains.RegularizedTheta(
        step=0.002, theta=1.0, smoothing=1e-3, shape=st.laws.TanhSign()
    ),
    "explicit": st.chains.RegularizedTheta(step=0.0005, theta=0.0, smoothing=1e-1),
}


# slips and reversals of these are in the first half, and each of their steps takes plain Python
# long: they call functions of Python
SHORT = {("user_law", "events"): 1.0} | {("memory", method): 1.0 for method in METHODS}
# and the smoothed methods have no events to wait for
SMOOTHED = {"smooth": 1.0, "tanh": 1.0, "explicit": 0.5}


@jit.kernel
def call_of(address, argument):
    return call(address, argument)


def both(solve):
    """Return what is found plain and compiled."""
    found = []
    for mode in ("plain", "compiled"):
        with jit.running(mode):
            found.append(solve())
    return found


def what_differs(plain, compiled):
    """Return the names of what is not the same to the last bit."""
    one, two = (
        {name: np.asarray(run.data[name]) for name in run.data} for run in (plain, compiled)
    )
    log = "time", "contact", "x", "v"
    pairs = {name: (one[name], two.get(name)) for name in one}
    pairs |= {f"event {name}": (plain.events[name], compiled.events[name]) for name in log}
    pairs["kinds"] = (np.array(plain.event_log.kind), np.array(compiled.event_log.kind))
    pairs["ledger"] = (plain.energy.imbalance_rel, compiled.energy.imbalance_rel)
    pairs["status"] = (plain.status.name, compiled.status.name)
    pairs["variables"] = (sorted(one), sorted(two))
    return [name for name, (a, b) in pairs.items() if not same(np.asarray(a), np.asarray(b))]


def same(a, b):
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize("name", SCENARIOS)
def test_built_in_scenarios(name):
    changes = [f"solve.t_end={SHORTER[name]}"] if name in SHORTER else []
    assert what_differs(*both(lambda: read_scenario(name, changes).solve())) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CHAINS)
def test_every_kind_of_chain(name, method):
    if name == "memory" and method == "events":
        pytest.skip("series know no states")
    t_end = SHORT.get((name, method), SMOOTHED.get(method, 2.0))
    runs = both(lambda: st.solve(CHAINS[name], METHODS[method], (0.0, t_end)))
    assert what_differs(*runs) == []
    if method == "events" and name != "frictionless":
        assert runs[0].event_log.time.size > 0


def test_a_users_function_divides_by_zero_in_both_modes():
    def at_zero():
        saved = Callback(lambda t: 1.0 / t, "UserLoad.function")
        with jit.quiet():
            found = call_of(saved.address, 0.0)
        saved.check()
        return found

    assert both(at_zero) == [math.inf, math.inf]


def test_it_needs_no_compiler():
    code = (
        "import sys\n"
        "from stiction.io.scenario import read_scenario\n"
        "for name in ('slip-wave', 'theta-half', 'baseline-weakening', 'stick-set'):\n"
        "    read_scenario(name).solve()\n"
        "print('numba' in sys.modules)"
    )
    environment = {**os.environ, "STICTION_KERNELS": "plain"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
