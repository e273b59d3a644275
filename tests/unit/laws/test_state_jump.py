"""What an event does to the state of a law: committed with it, and with nothing else."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import brentq

import stiction as st
from stiction.chains import RegularizedTheta, Sine
from stiction.laws import AgeingCoulomb, RestingCoulomb
from stiction.laws.friction import Formulas, Friction, StateVariable
from stiction.numerics import jit

LAW = RestingCoulomb(mu_kinetic=0.2, mu_held=0.3, growth=0.04, time=0.05)
MASS, SPRING, SPEED, GRAVITY = 1.0, 50.0, 0.3, 9.81


def pulled(law=LAW, **given):
    """Return one mass on a belt: a spring holds it back, so that it sticks and slips."""
    return st.Chain(mass=[MASS], stiffness=SPRING, law=law, belt_speed=SPEED, v0=SPEED, **given)


def closed_form(count):
    """Return (onset, arrest, rest before the onset, static coefficient) of the first cycles.

    At rest the spring stretches evenly until it pulls with N mu_static(rest); in slip the stretch
    swings about N mu_kinetic / k and ends as far below as it began above.
    """
    weight, k = MASS * GRAVITY, SPRING
    omega, stretch, time, rows = math.sqrt(k / MASS), 0.0, 0.0, []
    for _ in range(count):

        def over(rest, start=stretch):
            held = LAW.mu_held + LAW.growth * math.log1p(rest / LAW.time)
            return k * (start + SPEED * rest) - weight * held

        rest = brentq(over, 0.0, 100.0, xtol=1e-15, rtol=1e-15)
        above = stretch + SPEED * rest - weight * LAW.mu_kinetic / k
        slip = 2.0 / omega * (math.pi - math.atan(above * omega / SPEED))
        onset = time + rest
        rows.append((onset, onset + slip, rest, k * (stretch + SPEED * rest) / weight))
        time, stretch = onset + slip, weight * LAW.mu_kinetic / k - above
    return np.array(rows)


def cycles(run):
    """Return times of onsets and arrests."""
    log = run.event_log
    slips = np.array([mode != "stick" for mode in log.after])
    return log.time[slips], log.time[~slips]


def test_stick_and_slip_in_closed_form():
    exact = closed_form(4)
    # the first stick is longer than those of the cycle, and carries more
    assert np.all(np.diff(exact[:, 3]) < 0.0)
    for step in (1e-3, 1e-4):
        run = st.solve(pulled(), st.ThetaStepper(step=step), (0.0, exact[3, 1] + 0.02), save=3)
        onsets, arrests = cycles(run)
        assert run.audit.ok
        # reason: events fall on the ends of steps; later ones carry what earlier ones were off
        assert onsets == pytest.approx(exact[:, 0], abs=4.0 * step)
        # reason: as above
        assert arrests == pytest.approx(exact[:, 1], abs=4.0 * step)


def test_the_state_changes_with_the_event_and_not_before():
    run = st.solve(pulled(), st.ThetaStepper(step=1e-3), (0.0, 3.0), save=3001)
    rest, mode = run.data["rest"].values[:, 0], run.data["mode"].values[:, 0]
    assert np.all(rest[mode != 0] == 0.0)
    (onset, *_), (arrest, *_) = cycles(run)
    at = np.searchsorted(run.time, onset - 2e-3)
    assert rest[at] == pytest.approx(run.time[at], rel=1e-9)
    after = np.searchsorted(run.time, arrest + 0.05)
    assert rest[after] == pytest.approx(run.time[after] - arrest, abs=2e-3)
    # friction could hold what the state says, row by row
    held = MASS * GRAVITY * LAW.static(rest[:, None])
    inside = (mode[1:] == 0) & (mode[:-1] == 0)
    step_on = MASS * GRAVITY * LAW.growth * 1e-3 / LAW.time
    bound = run.data["stick_bound"].values[:, 0]
    assert np.all(np.abs(bound - held)[1:][inside] <= step_on)


def test_a_mass_that_is_released_at_the_start_has_not_rested():
    law = dataclasses.replace(LAW, rest_start=5.0)
    chain = st.Chain(mass=[MASS], stiffness=SPRING, law=law, load=st.Constant(20.0))
    run = st.solve(chain, st.ThetaStepper(step=1e-3), (0.0, 0.1), save=3)
    assert run.event_log.time[0] == 0.0
    assert run.data["rest"].values[0, 0] == 0.0
    held = dataclasses.replace(law, growth=0.5)
    stays = st.solve(dataclasses.replace(chain, law=held), st.ThetaStepper(step=1e-3), (0.0, 0.1))
    assert len(stays.event_log) == 0


def _mu(v, z, p):
    return p[0]


def _none(v, z, p, out):
    out[0] = 0.0
    out[1] = 0.0


def _matrix(v, z, p, out):
    for j in range(4):
        out[j] = 0.0


def _counted(event, z, p, out):
    # the second state is left as it is where the contact turns round
    out[0] = z[0] + 1.0
    out[1] = z[1] + np.where(event == 2.0, 0.0, event + 1.0)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Counting(Friction):
    """Coulomb friction that counts what happens to each contact."""

    states = (
        StateVariable("events", "1", "events so far", 0.0),
        StateVariable("sum", "1", "one for each stick, two for each slip", 0.0),
    )

    mu: float = 0.1
    events_start: float = 0.0
    sum_start: float = 0.0

    @classmethod
    def examples(cls):
        return (cls(),)

    @property
    def formulas(self):
        return Formulas(_mu, _counted_slope, None, _none, _none, _none, _matrix, _counted)


def _counted_slope(v, z, p):
    return 0.0


SMOOTHED = RegularizedTheta(step=1e-3, theta=1.0, smoothing=1e-3)


@pytest.mark.parametrize("method", [st.ThetaStepper(step=1e-3), SMOOTHED])
def test_every_event_is_counted_once(method):
    chain = st.Chain(
        n=3,
        mass=1.0,
        stiffness=30.0,
        law=Counting(),
        load=Sine(amplitude=6.0, angular_frequency=2.0),
        v0=[0.5, 0.0, -0.2],
    )
    run = st.solve(chain, method, (0.0, 6.0), save=4)
    log = run.event_log
    assert len(log) > 10
    worth = {"stick": 1.0}
    for i in range(3):
        mine = np.flatnonzero(log.contact == i + 1)
        assert run.final["events"][i] == mine.size
        # one for each stick, two for each slip, nothing for what turns round
        reported = [worth.get(log.after[k], 2.0 * (log.before[k] == "stick")) for k in mine]
        assert run.final["sum"][i] == sum(reported)


def test_plain_kernels_do_the_same():
    found = []
    for mode in ("plain", "compiled"):
        with jit.running(mode):
            found.append(st.solve(pulled(), st.ThetaStepper(step=0.01), (0.0, 1.2), save=13))
    plain, compiled = found
    assert len(plain.event_log) == 3
    assert np.array_equal(plain.event_log.time, compiled.event_log.time)
    for name, variable in compiled.variables.items():
        assert np.array_equal(plain.variables[name].values, variable.values), name


def test_asked_from_python():
    assert LAW.state_jump("slip", [[3.0], [0.5]]).tolist() == [[0.0], [0.0]]
    assert Counting().state_jump("reverse", [3.0, 4.0]).tolist() == [4.0, 4.0]
    assert Counting().state_jump("slip", [3.0, 4.0]).tolist() == [4.0, 6.0]
    assert Counting().state_jump("stick").tolist() == [1.0, 1.0]
    # a law whose states no event changes, and one without states
    assert AgeingCoulomb(0.3, 0.05, 0.1, 1e-3).state_jump("slip", [2.0]).tolist() == [2.0]
    assert st.Coulomb(0.2).state_jump("slip").size == 0
    with pytest.raises(st.ModelError, match="state_jump"):
        LAW.state_jump("jump", [0.0])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"mu_held": 0.1}, "RestingCoulomb.mu_held"),
        ({"growth": -1.0}, "RestingCoulomb.growth"),
        ({"time": 0.0}, "RestingCoulomb.time"),
        ({"rest_start": -1.0}, "RestingCoulomb.rest_start"),
    ],
)
def test_bad_numbers_are_refused(change, field):
    with pytest.raises(st.ModelError, match=field):
        dataclasses.replace(LAW, **change)
