"""Flows that switch in plain Python: the events and numbers of the compiled kernels."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.io.scenario.reader import read_scenario
from stiction.numerics import jit
from stiction.switching.ensembles.study import ensemble
from stiction.switching.funnel import futures
from stiction.switching.noise import noise_study
from stiction.switching.smoothing import smoothing_study
from stiction.switching.two_folds.finding import two_fold

# built-in scenarios, and what is changed where the whole takes plain Python long: they end
# earlier, and behind a two-fold orbits are followed back to it many times, in longer steps
SCENARIOS = {
    "belt-oscillator": [],
    "normal-form": [],
    "relay-feedback": ["solve.t_end=20.0"],
    "static-jump-oscillator": ["solve.t_end=10.0"],
    "two-block-stick-slip": ["solve.t_end=15.0"],
    "wheel-gamma-0": ["solve.t_end=10.0"],
    "wheel-gamma-90": ["solve.t_end=10.0"],
    "wheel-into-two-fold": [],
    "wheel-leaves-minus": [],
    "wheel-physical-time": [],
    "wheel-recurrent": ["solve.t_end=7.7"],
    "wheel-slips-then-slides": [],
    "wheel-through-minus": ["solve.t_end=7.0"],
    "wheel-through-plus": ["solve.t_end=7.9", "method.rtol=1e-6"],
}


def both(make):
    """Return what `make` returns by compiled and by plain kernels."""
    with jit.running("compiled"):
        compiled = make()
    with jit.running("plain"), jit.quiet():
        return compiled, make()


def assert_same(compiled, plain, rtol=1e-12):
    """Compare two runs: the same events, and numbers to rounding."""
    assert plain.status == compiled.status
    assert plain.reason == compiled.reason
    assert list(plain.event_log.kind) == list(compiled.event_log.kind)
    assert list(plain.event_log.after) == list(compiled.event_log.after)
    assert plain.stats["steps"] == compiled.stats["steps"]
    assert plain.event_log.time == pytest.approx(compiled.event_log.time, rel=rtol)
    for name, variable in compiled.variables.items():
        size = np.abs(variable.values).max(initial=0.0)
        got = plain.variables[name].values
        assert np.allclose(got, variable.values, rtol=0.0, atol=rtol * size, equal_nan=True), name
    assert plain.energy.imbalance_rel == pytest.approx(compiled.energy.imbalance_rel, abs=rtol)


def test_every_built_in_scenario_is_here():
    folder = Path(st.__file__).parent / "switching" / "scenarios"
    assert {path.stem for path in folder.glob("*.toml")} == set(SCENARIOS)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenarios(name):
    def solved():
        scenario = read_scenario(name, SCENARIOS[name])
        return st.solve(scenario.system, scenario.method, scenario.t_span, save=101, throw=False)

    assert_same(*both(solved))


# ---- what users write


def spiral(x0=(1.0, 0.3), **changes):
    """A focus on each side of h = x2, with different centres: crossings and sliding."""
    fields = {
        "h": lambda x: x[1],
        "f_plus": lambda x: (x[1] + 0.2, -x[0] - 0.1 * x[1] - 0.4),
        "f_minus": lambda x: (x[1] - 0.1, -x[0] - 0.1 * x[1] + 0.3),
    }
    return st.PiecewiseSmooth(**(fields | changes), x0=x0)


def corner():
    """Two surfaces whose intersection attracts."""
    return st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda x, s: (-s[0] + 0.3 * s[1], -s[1] - 0.2 * s[0], 1.0),
        x0=[0.7, 0.4, 0.0],
    )


def curved():
    """A circle as the surface, and a kink."""
    return st.PiecewiseSmooth(
        h=lambda x: x[0] * x[0] + x[1] * x[1] - 1.0,
        f_plus=lambda x: (-x[0] - x[1], x[0] - x[1]),
        f_minus=lambda x: (x[0] - x[1] + 0.2 * abs(x[0]), x[0] + x[1]),
        kinks=[lambda x: x[0]],
        x0=[1.5, 0.2],
    )


def graded():
    """A surface whose gradient is given."""
    return spiral(h_gradient=lambda x: (0.0, 1.0))


@pytest.mark.parametrize("make", [spiral, corner, curved, graded])
def test_functions_of_users(make):
    compiled, plain = both(lambda: st.solve(make(), t_span=(0.0, 6.0), save=61))
    assert len(compiled.event_log.kind) > 0
    assert_same(compiled, plain)
    assert plain.stats["plain_functions"] > 0 == compiled.stats["plain_functions"]


def touching(x0):
    return st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (x[1], 2.0),
        f_minus=lambda x: (x[1], 2.0),
        x0=x0,
    )


def test_a_grazing_event():
    compiled, plain = both(lambda: st.solve(touching([1.0, -2.0]), t_span=(0.0, 3.0)))
    assert list(compiled.event_log.kind) == ["fold"]
    assert_same(compiled, plain)


def a_root(x):
    # steps try states beyond the end of the root, to which the flow does not come
    return (-0.5 * math.sqrt(x[0] + 1e-3) if x[0] > -1.0 else 0.0, 1.0)


def an_exponential(x):
    return (1.0 - math.exp(400.0 * x[0]), 1.0)


@pytest.mark.parametrize("field", [a_root, an_exponential])
def test_arithmetic_that_python_refuses(field):
    """A negative root and an overflow are no errors in compiled code: a step is refused."""

    def solved():
        system = st.PiecewiseSmooth(
            h=lambda x: x[1] - 0.4, f_plus=field, f_minus=field, x0=[0.3, 0.0]
        )
        return st.solve(system, t_span=(0.0, 0.6), save=11, throw=False)

    compiled, plain = both(solved)
    assert compiled.status.ok
    assert_same(compiled, plain)


def test_an_error_is_reported_in_both_modes():
    def field(x):
        if x[1] > 0.5:
            raise LookupError("beyond the table")
        return (1.0, 1.0)

    def solved():
        system = st.PiecewiseSmooth(h=lambda x: x[0], f_plus=field, f_minus=field, x0=[0.3, 0.0])
        return st.solve(system, t_span=(0.0, 2.0))

    for mode in ("compiled", "plain"):
        with jit.running(mode), pytest.raises(ModelError, match="beyond the table"):
            solved()


# ---- studies


def test_ensembles():
    rng = np.random.default_rng(5)
    starts = rng.uniform((0.16, -0.02, -1.01), (0.2, 0.02, -0.99), (6, 3))

    def followed():
        return ensemble(st.WheelOnTurntable(), starts, 1.0, method=st.EventDriven(rtol=1e-8))

    compiled, plain = both(followed)
    assert plain.end.tolist() == compiled.end.tolist()
    assert plain.steps.tolist() == compiled.steps.tolist()
    assert np.allclose(plain.state, compiled.state, rtol=0.0, atol=1e-12)
    assert np.allclose(plain.first, compiled.first, rtol=1e-12, atol=0.0, equal_nan=True)


def test_two_folds():
    compiled, plain = both(lambda: two_fold(st.WheelOnTurntable(), (0.19, -0.03, -1.03)))
    assert np.allclose(plain.x, compiled.x, rtol=0.0, atol=1e-15)
    assert (plain.case, plain.why) == (compiled.case, compiled.why)
    for name in ("J1", "J2", "Kpp", "Kpm", "Kmp", "Kmm"):
        assert getattr(plain, name) == pytest.approx(getattr(compiled, name), rel=1e-12)


def test_all_futures():
    def spread():
        flow = st.switching.NormalForm(-1.2, -1.5)
        return futures(flow, [0.0, 0.0, 0.0], 0.3, angles=2, distances=2, times=5)

    compiled, plain = both(spread)
    assert plain.end_kind == compiled.end_kind
    for name in ("exits", "dwell", "states", "end_time", "edge"):
        got, want = getattr(plain, name), getattr(compiled, name)
        assert np.allclose(got, want, rtol=1e-12, atol=1e-12, equal_nan=True), name


def test_smooth_signs():
    def study():
        flow = st.switching.NormalForm(-1.2, -1.5)
        return smoothing_study(flow, [1e-2], 1.5, saves=31, rtol=1e-6)

    compiled, plain = both(study)
    assert np.allclose(plain.exact, compiled.exact, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert np.allclose(plain.states, compiled.states, rtol=1e-9, atol=1e-9)


def test_noise():
    def study():
        flow = st.switching.NormalForm(-1.2, -1.5)
        return noise_study(flow, [1e-3, 1e-2], 1.4, paths=3, step=1e-2, seed=3)

    compiled, plain = both(study)
    assert np.allclose(plain.final, compiled.final, rtol=1e-12, atol=1e-12)
    assert np.array_equal(plain.side, compiled.side)


# ---- no compiler


CHILD = """
import sys
import numpy as np
import stiction as st
from stiction.switching.ensembles.study import ensemble

run = st.solve(st.WheelOnTurntable(), t_span=(0.0, 8.0), throw=False)
assert run.determinism.losses
st.solve(st.PiecewiseSmooth(h=lambda x: x[0], f_plus=lambda x: (-1.0, 1.0),
                            f_minus=lambda x: (1.0, 1.0), x0=[0.5, 0.0]), t_span=(0.0, 1.0))
ensemble(st.BeltOscillator(), np.array([[0.0, 0.5]]), 3.0)
st.two_fold(st.WheelOnTurntable(), (0.19, -0.03, -1.03))
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
"""


def test_no_compiler_is_needed():
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "STICTION_KERNELS": "plain"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
