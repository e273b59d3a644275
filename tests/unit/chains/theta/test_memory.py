"""Laws with states in the theta schemes, against SciPy on the same smooth law; and elsewhere."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import slip_memory
from memories import Memory
from scipy.integrate import solve_ivp
from slip_memory import SlipMemory

import stiction as st
from stiction.laws.friction import Formulas
from stiction.laws.law_kernels import law_value

RegularizedTheta = st.chains.RegularizedTheta

N, K, C, FRESH, WORN, LENGTH, HEAL = 9.81, 20.0, 0.37, 0.4, 0.2, 0.05, 1.0
LAW = SlipMemory(FRESH, WORN, LENGTH, HEAL)


def mu(z):
    return WORN + (FRESH - WORN) * z


def rate(w, z):
    return (1.0 - z) / HEAL - abs(w) * z / LENGTH


def one_mass(belt, **start):
    return st.Chain(mass=[1.0], stiffness=K, damping=C, law=LAW, belt_speed=belt, **start)


def final(run):
    return np.array([run.final[name][0] for name in ("x", "v", "freshness")])


# ---- against SciPy

PUSHED, BELT, END = 2.0, 0.2, 2.7


def always_slipping(t_end):
    """Return (x, v, z) of a mass that a fast belt never catches."""

    def rates(t, y):
        w = y[1] - PUSHED
        return [y[1], -K * y[0] - C * y[1] + mu(y[2]) * N, rate(w, y[2])]

    start = [0.05, 0.0, 1.0]
    return solve_ivp(rates, (0.0, t_end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def stick_and_slip(t_end):
    """Return (x, v, z) and the events of a mass that rides on a slow belt, slips, and rides."""

    def ride(t, y):
        return [BELT, 0.0, rate(0.0, y[2])]

    def slip(t, y):
        return [y[1], -K * y[0] - C * y[1] + mu(y[2]) * N, rate(y[1] - BELT, y[2])]

    def held(t, y):
        return mu(y[2]) * N - K * y[0] - C * BELT

    def behind(t, y):
        return BELT - y[1]

    for event in (held, behind):
        event.terminal, event.direction = True, -1
    t, y, rides, events = 0.0, np.array([0.0, BELT, 1.0]), True, []
    while t < t_end:
        flow, event = (ride, held) if rides else (slip, behind)
        found = solve_ivp(
            flow, (t, t_end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=event
        )
        t, y = float(found.t[-1]), found.y[:, -1].copy()
        if found.status == 1:
            events.append(t)
            rides = not rides
            y[1] = BELT if rides else BELT - 1e-14
    return y, events


@pytest.mark.parametrize(("theta", "order"), [(0.5, 2), (0.75, 1), (1.0, 1)])
@pytest.mark.parametrize("kind", ["exact", "smoothed"])
def test_order_in_steady_slip(theta, order, kind):
    exact, errors = always_slipping(0.8), []
    chain = one_mass(PUSHED, x0=0.05)
    for h in (4e-3, 2e-3, 1e-3):
        method = st.ThetaStepper(h, theta)
        if kind == "smoothed":
            # so narrow that it is the sign at these speeds, to rounding
            method = RegularizedTheta(h, theta, 1e-9)
        run = st.solve(chain, method, (0.0, 0.8), save=5)
        assert run.audit.ok
        errors.append(np.max(np.abs(final(run) - exact)))
    seen = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (seen > order - 0.05).all()
    assert (seen < order + 0.05).all()


def test_explicit_steps_move_the_state_too():
    exact, errors = always_slipping(0.8), []
    for h in (2e-3, 1e-3):
        method = RegularizedTheta(h, 0.0, 0.5)
        chain = one_mass(PUSHED, x0=0.05)
        errors.append(st.solve(chain, method, (0.0, 0.8), save=5).final["freshness"][0] - exact[2])
    # the wide sign changes friction, not the slip that wears; the step makes the difference
    assert 0.0 < abs(errors[1] - errors[0]) < 2e-3
    z, h = 1.0, 1e-3
    run = st.solve(chain, RegularizedTheta(h, 0.0, 0.5), (0.0, 5 * h), save=6)
    for row in range(5):
        z += h * rate(run.variables["v"].values[row, 0] - PUSHED, z)
        assert run.variables["freshness"].values[row + 1, 0] == pytest.approx(z, rel=1e-13)


@pytest.mark.parametrize("theta", [0.51, 1.0])
def test_order_through_stick_and_slip(theta):
    exact, events = stick_and_slip(END)
    assert len(events) == 2
    errors = []
    for steps in (1000, 2000, 4000, 8000):
        method = st.ThetaStepper(END / steps, theta)
        run = st.solve(one_mass(BELT, v0=BELT), method, (0.0, END), save=11)
        assert run.audit.ok
        assert [event.kind for event in run.events.itertuples()] == ["slip", "stick"]
        # an event is at the end of the step in which it happens
        late = run.events["time"].to_numpy() - events
        assert (np.abs(late) < 2.0 * END / steps).all()
        errors.append(np.max(np.abs(final(run) - exact)))
    seen = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (seen > 0.9).all()
    assert (seen < 1.1).all()


def test_uncoupled_masses_are_independent():
    """Each rides, slips and wears as if it were alone: its bound is of its own state and force."""
    normal = np.array([9.81, 6.0])

    def on_plates(force):
        own = {"law": LAW, "belt_speed": BELT, "v0": BELT, "plate_stiffness": K}
        return st.Chain(mass=np.ones(force.size), stiffness=1e-9, normal_force=force, **own)

    method, span = st.ThetaStepper(1e-3, 0.51), (0.0, END)
    both = st.solve(on_plates(normal), method, span, save=28)
    assert both.audit.ok
    for i, kinds in enumerate([["slip", "stick"], ["slip", "stick", "slip"]]):
        one = st.solve(on_plates(normal[i : i + 1]), method, span, save=28)
        mine = both.events[both.events["contact"] == i + 1]
        assert mine["kind"].tolist() == one.events["kind"].tolist() == kinds
        assert mine["time"].to_numpy() == pytest.approx(one.events["time"].to_numpy(), abs=1e-9)
        for name in ("x", "v", "freshness", "friction"):
            found = both.variables[name].values[:, i]
            assert found == pytest.approx(one.variables[name].values[:, 0], abs=1e-8), name


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_run_ends_in_the_step_of_the_first_event_too_many(most):
    chain = one_mass(BELT, v0=BELT, normal_force=6.0)
    whole = st.solve(chain, st.ThetaStepper(1e-3, 0.51), (0.0, 6.0), save=7)
    assert len(whole.event_log) > 4
    method = st.ThetaStepper(1e-3, 0.51, max_events=most)
    run = st.solve(chain, method, (0.0, 6.0), save=7, throw=False)
    assert run.status is st.Status.WORK_LIMIT
    assert run.event_log.time.tolist() == whole.event_log.time[: most + 1].tolist()
    assert run.t_end == run.event_log.time[-1]


def test_a_contact_heals_at_rest():
    """z' = (1 - z) / heal_time at v = 0: z(t) = 1 - (1 - z0) exp(-t / heal_time)."""
    law = dataclasses.replace(LAW, freshness_start=0.25)
    chain = st.Chain(mass=[1.0, 1.0], stiffness=K, law=law, load=st.Constant(0.5))
    run = st.solve(chain, st.ThetaStepper(1e-3), (0.0, 2.0), save=9)
    expected = 1.0 - 0.75 * np.exp(-run.time / HEAL)
    assert run.variables["freshness"].values[:, 1] == pytest.approx(expected, rel=1e-6)
    assert len(run.event_log) == 0
    # nothing is provably at rest for good while what friction holds changes
    assert run.quantities["stop_time"].value is None
    bound = run.variables["stick_bound"]
    assert bound.unit == "N"
    assert bound.values[0] == pytest.approx(N * mu(0.25), rel=1e-14)
    # what a step could hold is what its middle says
    middle = 1.0 - 0.75 * np.exp(-(2.0 - 0.5e-3) / HEAL)
    assert bound.values[-1] == pytest.approx(N * mu(middle), rel=1e-6)


def test_what_has_healed_holds_more():
    """Released when worn, held when it has rested: the onset is where k x = mu(z) N."""
    law = SlipMemory(FRESH, WORN, LENGTH, 0.5, freshness_start=0.0)
    slow, fast = (
        st.Chain(mass=[1.0], stiffness=K, law=law, load=st.Ramp(rate)) for rate in (1.0, 100.0)
    )
    for chain, r, t_end in ((slow, 1.0, 4.5), (fast, 100.0, 0.1)):
        run = st.solve(chain, st.ThetaStepper(t_end / 20_000), (0.0, t_end))
        (onset,) = run.quantities["onset_force"].value
        t = onset / r
        assert onset == pytest.approx(N * mu(1.0 - np.exp(-t / 0.5)), rel=2e-3)


# ---- the ledger and the audit


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_heat_is_that_of_the_state(theta):
    """The ledger closes, and its heat is the path weighed with the friction that was there."""
    run = st.solve(one_mass(BELT, v0=BELT), st.ThetaStepper(2e-4, theta), (0.0, END), save=13501)
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-12
    assert run.energy.step_imbalance_rel < 1e-14
    z, v = (run.variables[name].values[:, 0] for name in ("freshness", "v"))
    power = N * mu(z) * np.abs(v - BELT)
    heat = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.time))
    assert run.energy.friction_heat[-1, 0] == pytest.approx(heat, rel=1e-3)


def test_states_are_named_in_what_a_run_gives(tmp_path):
    run = st.solve(one_mass(PUSHED), st.ThetaStepper(1e-3), (0.0, 0.5), save=6)
    data = run.data["freshness"]
    assert data.dims == ("time", "mass")
    assert data.attrs["units"] == "1"
    assert data.attrs["long_name"] == "how far each contact has healed"
    assert run.final["freshness"] == data.values[-1]
    run.save(tmp_path / "out")
    again = st.load(tmp_path / "out")
    assert np.array_equal(again.data["freshness"].values, data.values)
    assert np.array_equal(again.final["freshness"], run.final["freshness"])


# ---- trials and checkpoints


def assert_same(one, two):
    for name, variable in one.variables.items():
        assert np.array_equal(variable.values, two.variables[name].values), name
    assert np.array_equal(one.energy.friction_heat, two.energy.friction_heat)
    assert np.array_equal(one.event_log.time, two.event_log.time)
    assert one.stats == two.stats


@pytest.mark.parametrize(
    "method",
    [st.ThetaStepper(1e-3, 0.6), RegularizedTheta(1e-3, 0.5, 1e-3)],
    ids=lambda m: type(m).__name__,
)
def test_a_resumed_run_is_the_same_to_the_last_bit(method, monkeypatch):
    from stiction.chains.theta import integrator

    chain = st.Chain(
        mass=[1.0, 1.0], stiffness=K, damping=C, law=LAW, load=st.Ramp(3.0), belt_speed=0.05
    )
    whole = st.solve(chain, method, (0.0, 3.0), save=31)
    monkeypatch.setattr(integrator, "_MOST_STEPS", 300)
    memory = Memory()
    assert_same(whole, st.solve(chain, method, (0.0, 3.0), save=31, checkpoint=memory))
    pages = memory.pages[:: max(1, len(memory.pages) // 4)]
    assert len(pages) >= 3
    for page in pages:
        assert page["contact_state"].shape == (2, 1)
        assert_same(whole, st.solve(chain, method, (0.0, 3.0), save=31, checkpoint=Memory(page)))


def test_trials_between_the_steps_change_nothing(monkeypatch):
    """Whatever slips are tried, and however often, only accepted steps move the state."""
    from stiction.chains.theta.integrator import ThetaIntegrator

    chain, method = one_mass(BELT, v0=BELT), st.ThetaStepper(1e-3, 0.6)
    quiet = st.solve(chain, method, (0.0, END))
    advance, rng, tried = ThetaIntegrator._advance, np.random.default_rng(3), []

    def nosy(stepper):
        inner, law = advance(stepper), stepper.law

        def step(problem, work, saved, events, steps):
            stored = law.states.copy()
            for speed in rng.random(5):
                addresses = (law.mu, law.slope, law.static)
                tried.extend(law_value(a, 10.0 * speed, law.start) for a in addresses)
            assert np.array_equal(law.states, stored)
            return inner(problem, work, saved, events, 7)

        return step

    monkeypatch.setattr(ThetaIntegrator, "_advance", nosy)
    assert_same(quiet, st.solve(chain, method, (0.0, END)))
    assert len(tried) > 5000
    assert np.ptp(tried) > 0.1


def test_a_line_search_commits_once():
    """Newton's method with and without a line search tries other slips and ends the same."""
    chain = one_mass(BELT, v0=BELT)
    runs = [
        st.solve(chain, RegularizedTheta(1e-3, 1.0, 1e-2, line_search=search), (0.0, END))
        for search in (True, False)
    ]
    assert runs[0].audit.ok
    states = [run.variables["freshness"].values for run in runs]
    assert states[0] == pytest.approx(states[1], rel=1e-9)


# ---- several states, and formulas that stay in Python


def _two(v, z, p):
    return 0.2 + 0.1 * z[0] + 0.05 * z[1]


def _two_by_state(v, z, p, out):
    out[0], out[1] = 0.1, 0.05


def _two_rate(v, z, p, out):
    out[0] = (z[1] - z[0]) / 0.3 - v * z[0] / 0.05
    out[1] = (1.0 - z[1]) / 0.7 - v * z[0] * z[1] / 0.02


def _two_by_speed(v, z, p, out):
    out[0], out[1] = -z[0] / 0.05, -z[0] * z[1] / 0.02


def _two_by_both(v, z, p, out):
    out[0], out[1] = -1.0 / 0.3 - v / 0.05, 1.0 / 0.3
    out[2], out[3] = -v * z[1] / 0.02, -1.0 / 0.7 - v * z[0] / 0.02


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TwoStates(SlipMemory):
    """Two states that feel each other, not linearly."""

    other_start: float = 0.8
    states = (
        *SlipMemory.states,
        dataclasses.replace(SlipMemory.states[0], name="other", label="another"),
    )

    @property
    def formulas(self):
        return Formulas(
            mu=_two,
            slope=lambda v, z, p: 0.0,
            by_state=_two_by_state,
            rate=_two_rate,
            rate_by_speed=_two_by_speed,
            rate_by_state=_two_by_both,
        )


def test_two_states_that_feel_each_other():
    law = TwoStates(FRESH, WORN, LENGTH, HEAL, freshness_start=0.9)
    chain = dataclasses.replace(one_mass(PUSHED, x0=0.05), law=law)

    def rates(t, y):
        out = [0.0, 0.0]
        w, z = abs(y[1] - PUSHED), y[2:]
        _two_rate(w, z, None, out)
        return [y[1], -K * y[0] - C * y[1] + _two(w, z, None) * N, *out]

    start = [0.05, 0.0, 0.9, 0.8]
    exact = solve_ivp(rates, (0.0, 0.8), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        run = st.solve(chain, st.ThetaStepper(h), (0.0, 0.8), save=3)
        got = [run.final[name][0] for name in ("x", "v", "freshness", "other")]
        errors.append(np.max(np.abs(got - exact)))
    seen = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert ((seen > 1.9) & (seen < 2.1)).all()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class InPython(SlipMemory):
    """The same law in formulas that Numba cannot compile."""

    @property
    def formulas(self):
        stored = super().formulas

        def slow(v, z, p):
            if np.min(z[0]) < 0.05:
                raise OverflowError("worn out")
            return stored.mu(v, z, p)

        return dataclasses.replace(stored, mu=slow)


def test_formulas_that_do_not_compile_run_as_they_are():
    chain = one_mass(BELT, v0=BELT)
    slow = dataclasses.replace(chain, law=InPython(FRESH, WORN, LENGTH, HEAL))
    runs = [st.solve(c, st.ThetaStepper(1e-2), (0.0, END), save=21) for c in (chain, slow)]
    assert_same(*runs)


def test_a_formula_that_fails_says_so():
    law = InPython(FRESH, WORN, LENGTH, HEAL)
    chain = dataclasses.replace(one_mass(PUSHED), law=law)
    with pytest.raises(st.ModelError, match="worn out") as caught:
        st.solve(chain, st.ThetaStepper(1e-2), (0.0, 2.0))
    assert "InPython.formulas" in str(caught.value)


# ---- where no memory is possible


def test_what_cannot_carry_a_state_says_so():
    chain = st.Chain(mass=[1.0], stiffness=K, damping=C, law=LAW)
    for ask, where in (
        (lambda: st.solve(chain, t_span=(0.0, 1.0)), "EventDriven"),
        (lambda: st.solve(chain, st.Quasistatic(), (0.0, 1.0)), "Quasistatic"),
        (lambda: st.StickSet(chain), "StickSet"),
        (lambda: st.reach(chain, [0.0]), "reach"),
        (lambda: st.chains.branches(chain, 0.1, [0.0]), "branches"),
    ):
        with pytest.raises(st.ModelError, match=where) as caught:
            ask()
        text = str(caught.value)
        assert "which has internal state (freshness)" in text
        assert all(word in text for word in ("got", "needs", "Why:", "Try:"))
    assert chain.critical_force() is None


# ---- one file and one line


FILE = """
[system]
type = "Chain"
mass = [1.0]
stiffness = 20.0
damping = 0.37
belt_speed = 0.2
v0 = 0.2
[system.law]
type = "SlipMemory"
mu_fresh = 0.4
mu_worn = 0.2
wear_length = 0.05
heal_time = 1.0
[method]
type = "ThetaStepper"
step = 0.01
[solve]
t_end = 2.7
save = 21
"""


def test_one_line_in_the_catalogue_makes_it_known_to_files(tmp_path):
    """A new process in which the catalogue has one line more runs a file that names the law."""
    (tmp_path / "memory.toml").write_text(FILE)
    lines = (
        "from stiction import catalogue",
        "catalogue.CATALOGUE['Friction'].names['SlipMemory'] = 'slip_memory'",
        "from stiction.cli.main import main",
        "raise SystemExit(main())",
    )
    folder = str(Path(slip_memory.__file__).parent)
    stored = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": folder + (os.pathsep + stored if stored else "")}
    command = [sys.executable, "-c", "\n".join(lines)]
    command += ["run", "memory.toml", "--no-figures", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = st.load(tmp_path / "out")
    run = st.solve(one_mass(BELT, v0=BELT), st.ThetaStepper(0.01), (0.0, END), save=21)
    for name in ("x", "v", "freshness"):
        assert np.array_equal(again.data[name].values, run.data[name].values)
    assert again.data["freshness"].attrs["units"] == "1"


# ---- friction that grows from nothing


def test_friction_without_a_static_part_takes_few_solves():
    """With mu(0) = 0 nothing holds at rest, and the tangent must be measured by what slips."""
    law = st.UserFriction(lambda v: 0.1 * v / (1.0 + v), lambda v: 0.1 / (1.0 + v) ** 2)
    chain = st.Chain(mass=[1.0, 1.0], stiffness=K, law=law, v0=1.0)
    run = st.solve(chain, st.ThetaStepper(1e-2), (0.0, 1.0))
    assert run.audit.ok
    assert run.stats["rescued_steps"] == 0
    assert run.stats["most_iterations"] <= 5
