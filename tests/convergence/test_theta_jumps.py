"""ThetaStepper with laws that jump or weaken: no mass steps over the moment at which it sticks.

In a step whose slip at theta keeps its sign while the velocity at its end does not, a scheme
that asks the slip alone passes that moment and ends elsewhere, however short the step.
"""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st
from stiction.laws.friction import Formulas, Friction

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def trust():
    """Yield the campaign this test is a short form of: a script, and no package."""
    if not BENCHMARKS.is_dir():
        pytest.skip("this copy of the sources has no benchmarks")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import trust_theta
    finally:
        sys.path.remove(str(BENCHMARKS))
    return trust_theta


THROWN = st.Chain(
    mass=[1.0],
    stiffness=[4.0],
    normal_force=[10.0],
    law=st.StaticKinetic(0.3, 0.1),
    x0=[0.0],
    v0=[1.0],
)
# v = 1 - 4 x ... ends where v^2 = 1 - 2 x - 4 x^2 = 0, and 1 N < 4 x < 3 N holds it there
REST = (np.sqrt(5.0) - 1.0) / 4.0


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("theta", [0.5, 0.55, 0.6, 0.75, 1.0])
@pytest.mark.parametrize(
    "law", [st.StaticKinetic(0.3, 0.1), st.ExponentialWeakening(0.3, 0.1, 1e-4)]
)
def test_no_mass_misses_its_stick(law, theta, way):
    """A block thrown against its spring, at 60 steps: of 200, 21 missed it with theta = 1/2."""
    steps = 3.0 / np.round(np.geomspace(1e3, 1e5, 60 if law.constant else 12))
    chain = dataclasses.replace(THROWN, law=law, v0=[way])
    exact = st.solve(chain, st.EventDriven(max_step=1e-2), (0.0, 3.0), save=2).final["x"][0]
    assert exact == pytest.approx(way * REST, abs=2e-4)
    for step in steps:
        run = st.solve(chain, st.ThetaStepper(step, theta), (0.0, 3.0), save=2)
        assert abs(run.final["x"][0] - exact) < 2.0 * step
        assert run.final["v"][0] == 0.0
        assert [*run.event_log.kind] == ["stick", "stop"]
        # what holds it is the spring
        assert abs(run.variables["friction"].values[-1, 0] - 4.0 * exact) < 8.0 * step
        failed = {check.check for check in run.audit.failed}
        assert failed <= (set() if law.constant else {"step_below_weakening_limit"})
        assert run.energy.imbalance_rel < 1e-11


@pytest.mark.parametrize("theta", [0.5, 0.6, 1.0])
def test_a_mass_that_its_bound_does_not_hold_turns_round(theta):
    """Drawn by 2 m it reverses four times, beyond 3 N each time, and sticks at the fifth."""
    chain = dataclasses.replace(THROWN, x0=[2.5], v0=[0.0])
    kinds = ["slip", "reverse", "reverse", "reverse", "stick", "stop"]
    turns = 2.5 - 0.5 * np.arange(5)
    for count in np.round(np.geomspace(2e3, 4e4, 40)):
        run = st.solve(chain, st.ThetaStepper(8.0 / count, theta), (0.0, 8.0), save=2)
        assert [*run.event_log.kind] == kinds
        places = run.event_log.columns["x"][1:-1] * [-1.0, 1.0, -1.0, 1.0]
        assert np.max(np.abs(places - turns[1:])) < (1.0 if theta == 0.5 else 200.0) / count
        assert run.audit.ok


def motion(chain, t_end):
    """Return the places at which SciPy stops a chain under a law with a jump: mode by mode."""
    n, bound = chain.n_mass, chain.stick_bound
    kinetic = chain.friction.mu_kinetic * chain.normal_forces
    t, y = 0.0, np.concatenate([chain.x_start, chain.v_start])
    mode = np.sign(y[n:])
    while t < t_end:

        def rate(s, y, mode=mode):
            force = chain.drive(s, y[:n], y[n:]) - mode * kinetic
            return np.concatenate([y[n:], np.where(mode == 0.0, 0.0, force / chain.masses)])

        def monitor(i, mode=mode):
            def ends(s, state):
                if mode[i] == 0.0:
                    return bound[i] - abs(chain.drive(s, state[:n], state[n:])[i])
                return mode[i] * state[n + i]

            ends.terminal, ends.direction = True, -1.0
            return ends

        monitored = [monitor(i) for i in range(n)]
        out = solve_ivp(rate, (t, t_end), y, "DOP853", events=monitored, rtol=1e-11, atol=1e-13)
        t, y = out.t[-1], out.y[:, -1]
        for i in range(n):
            if out.status == 1 and out.t_events[i].size:
                drive = chain.drive(t, y[:n], y[n:])[i]
                held = mode[i] != 0.0 and abs(drive) <= bound[i]
                y[n + i] = 0.0
                mode[i] = 0.0 if held else np.sign(drive)
    return y[:n]


@pytest.mark.parametrize("theta", [0.5, 0.6])
def test_thrown_chains_end_where_scipy_ends_them(theta):
    """Three masses thrown at random; every step of many has first order, none a plateau."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        chain = st.Chain(
            mass=rng.uniform(0.5, 2.0, 3),
            stiffness=rng.uniform(2.0, 30.0, 3),
            damping=rng.uniform(0.0, 1.0, 3),
            law=st.StaticKinetic(0.4, 0.1),
            v0=rng.uniform(1.0, 3.0, 3) * rng.choice([-1.0, 1.0], 3),
        )
        exact = motion(chain, 1.5)
        by_events = st.solve(chain, st.EventDriven(), (0.0, 1.5), save=2).final["x"]
        assert np.max(np.abs(by_events - exact)) < 1e-8
        for count in np.round(np.geomspace(3e3, 3e4, 12)):
            run = st.solve(chain, st.ThetaStepper(1.5 / count, theta), (0.0, 1.5), save=2)
            assert np.max(np.abs(run.final["x"] - exact)) < 10.0 / count


@dataclass(frozen=True, eq=False, repr=False)
class Varying(Friction):
    """`StaticKinetic`, which does not say that its coefficient in slip is constant."""

    has_jump: ClassVar[bool] = True

    mu_static: object
    mu_kinetic: object

    @classmethod
    def examples(cls):
        return (cls(0.4, 0.2),)

    @property
    def formulas(self):
        return Formulas(
            mu=lambda v, z, p: p[1], slope=lambda v, z, p: 0.0 * v, static=lambda v, z, p: p[0]
        )


def test_constant_and_varying_friction_decide_alike(trust):
    """Two kernels solve the steps of the one law and of the other: to the same events and bits."""
    for i in range(25):
        case = trust.draw(np.random.default_rng([21, i]), "static", 400)
        law, method = case.chain.law, st.ThetaStepper(case.t_end / case.steps, case.theta)
        runs = [
            st.solve(dataclasses.replace(case.chain, law=one), method, (0.0, case.t_end), save=9)
            for one in (law, Varying(law.mu_static, law.mu_kinetic))
        ]
        first, second = runs
        assert trust.events_of(first) == trust.events_of(second)
        for name in ("x", "v", "friction", "mode"):
            assert np.array_equal(first.variables[name].values, second.variables[name].values)


@pytest.mark.parametrize("law", ["static", "weakening"])
def test_errors_of_random_chains_fall_with_the_order(trust, law):
    """Blocks and chains in random units: see the campaign for what is drawn and left out."""
    left_out, number = 0, 25 if law == "static" else 5
    for i in range(number):
        rng = np.random.default_rng([12, i])
        case = trust.draw(rng, law, 1000)
        exact, same = trust.reference(case, rng)
        left_out += not same
        if same:
            found, held = trust.errors(case, exact)
            assert trust.falls(found), (i, found)
            assert held
    assert left_out <= 1
