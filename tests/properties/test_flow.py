"""What every run of a piecewise-smooth flow keeps, whatever the field."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stiction as st
from stiction.errors import Status
from stiction.switching.methods import EventDriven
from stiction.switching.presets import BeltOscillator, NormalForm, RelayFeedback

FEW = settings(max_examples=40, deadline=None)
number = some.floats(-2.0, 2.0, allow_nan=False).map(lambda value: round(value, 3))
KNOWN = {Status.SOLVED, Status.STOPPED, Status.ACCUMULATION, Status.NOT_FINITE}
KNOWN |= {Status.WORK_LIMIT, Status.NO_CONTINUATION}


@some.composite
def relays(draw):
    """A linear plant of dimension 2 to 4 under a relay; starts also on the surface."""
    n = draw(some.integers(2, 4))
    matrix = [draw(number) for _ in range(n * n)]
    push = [draw(number) for _ in range(n)]
    start = [draw(number) for _ in range(n)]
    if draw(some.booleans()):
        start[0] = 0.0
    output = [1.0] + [0.0] * (n - 1)
    return RelayFeedback(matrix=matrix, input=push, output=output, x0=start)


@FEW
@given(relays(), some.sampled_from([1e-4, 1e-8, 1e-11]))
def test_every_run_ends_with_a_status(system, rtol):
    method = EventDriven(rtol=rtol, max_steps=20_000, max_events=2_000)
    run = st.solve(system, method, t_span=(0.0, 5.0), save=21, throw=False)
    assert run.status in KNOWN
    assert (np.diff(run.time) >= 0.0).all()
    assert (np.diff(run.events["time"]) >= 0.0).all()
    names = system.state_names
    states = np.array([run.variables[name].values for name in names]).T
    assert np.isfinite(states).all()
    mode = run.variables["mode"].values[:, 0]
    size = np.abs(states).max(axis=1) + 1.0
    assert (np.abs(states[:, 0])[mode == 0] <= 1e-9 * size[mode == 0]).all()
    assert (mode * states[:, 0] >= -1e-9 * size).all()
    assert {check.check for check in run.audit.failed} == set()


@FEW
@given(some.floats(0.05, 1.5), some.floats(-2.0, 2.0), some.floats(-2.0, 2.0))
def test_friction_on_a_belt_at_rest_takes_energy(mu0, x, v):
    belt = BeltOscillator(mu0=mu0, alpha=0.0, belt_speed=0.0, x0=[x, v])
    run = st.solve(belt, t_span=(0.0, 20.0), save=101)
    energy = 0.5 * (run.variables["x"].values ** 2 + run.variables["v"].values ** 2)
    assert (np.diff(energy) <= 1e-10 * (1.0 + energy[0])).all()
    assert abs(run.energy.imbalance_rel) < 1e-9


@FEW
@given(some.floats(0.1, 0.5), some.floats(0.1, 0.5), some.sampled_from([0.25, 4.0]))
def test_the_normal_form_scales(y, z, factor):
    # lengths in the surface scale as the time, and the distance from it as its square
    runs = [
        st.solve(
            NormalForm(-1.2, -1.5, x0=[0.0, size * y, size * z], mode="slide"), t_span=(0.0, 50.0)
        )
        for size in (1.0, factor)
    ]
    assert runs[1].t_end == pytest.approx(factor * runs[0].t_end, rel=1e-7)
