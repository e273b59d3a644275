"""What a run does at a loss of determinism, on the normal form of a two-fold."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching.methods import EventDriven
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample, Stop
from stiction.switching.presets import NormalForm

# the default start (0, 0.3, 0.1) reaches the two-fold at 1.1375, by t = -(1, 1) A^-1 w
ARRIVAL = 1.1375


def run(policy, t_end=1.8):
    return st.solve(NormalForm(-1.2, -1.5), EventDriven(policy=policy), t_span=(0.0, t_end))


@pytest.mark.parametrize("side", ["+", "-"])
def test_leave_a_two_fold(side):
    result = run(Leave(side, 0.5))
    loss = result.determinism.losses[0]
    assert loss.kind == "two_fold"
    assert loss.time == pytest.approx(ARRIVAL, rel=1e-7)
    left = result.events[result.events["time"] > ARRIVAL + 0.25].iloc[0]
    assert left["time"] == pytest.approx(ARRIVAL + 0.5, rel=1e-7)
    assert left["to"] == side


def test_the_motion_to_an_exit_follows_the_sliding_field():
    # the field is A w / (y + z), with w = (y, z): t = (1, 1) A^-1 w from the two-fold
    clock = np.linalg.solve(np.array([[-1.5, 1.0], [1.0, -1.2]]).T, np.ones(2))
    method = EventDriven(policy=Leave("-", 0.5))
    found = st.solve(NormalForm(-1.2, -1.5), method, (0.0, 2.0), save=401)
    x, y, z = (found.variables[name].values for name in ("x", "y", "z"))
    since = found.time - ARRIVAL
    between = (since > 1e-3) & (since < 0.5 - 1e-3)
    assert between.sum() > 90
    assert np.abs(x[between]).max() <= 1e-9
    assert y[between].max() < 0.0
    assert z[between].max() < 0.0
    reported = clock @ np.stack([y, z])[:, between]
    assert reported == pytest.approx(since[between], abs=1e-6)


def test_energies_go_on_behind_a_two_fold_as_before_it():
    # what the drive gives and friction takes on the way to the exit counts once
    wheel = st.read_scenario("wheel-physical-time")
    method = EventDriven(policy=Leave("-", 0.05))
    found = st.solve(wheel.system, method, (0.0, wheel.t_span[1] + 0.2), save=201)
    (lost,) = (loss.time for loss in found.determinism.losses if loss.kind == "two_fold")
    assert found.t_end > lost + 0.05
    (line,) = [line for line in found.audit if line.check == "ledger_closes"]
    assert line.value < 1e-7
    heat = found.ledger["friction_heat"].to_numpy()
    assert np.diff(heat).min() >= -1e-12 * heat.max()


def test_sampled_dwell_times():
    first, again = run(Sample(4, 2.0, 1), 6.0), run(Sample(4, 2.0, 1), 6.0)
    rng = np.random.default_rng(1)
    rng.uniform()
    left = first.events[first.events["time"] > ARRIVAL + 1e-4].iloc[0]
    assert left["time"] == pytest.approx(ARRIVAL + rng.exponential(0.5), rel=1e-7)
    assert first.determinism.losses[0].kind == "two_fold"
    assert first.determinism.losses[0].choice == again.determinism.losses[0].choice
    exits = first.variables["future_exit"].values
    assert len(exits) == 4
    assert np.array_equal(exits, again.variables["future_exit"].values)


def test_futures_name_their_loss_and_a_single_choice_lists_none():
    # it escapes from h1 = 0; if it still slides there at t = 0.5, it reaches an intersection
    two = st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]], f=lambda x, s: (s[0], -1.0), x0=[0.0, 0.5]
    )
    runs = [
        st.solve(two, EventDriven(policy=policy), (0.0, 2.0), save=2)
        for policy in (Leave("+", 1.0), Sample(n=2, hazard=0.1))
    ]
    for found in runs:
        assert [loss.kind for loss in found.determinism.losses] == [
            "escaping_start",
            "intersection",
        ]
    assert not [name for name in runs[0].variables if name.startswith("future")]
    assert runs[1].variables["future_loss"].values.tolist() == [0, 0, 1, 1]


def test_both_sides_of_a_fold_are_listed():
    # the circle touches the surface at t = pi/2 and goes on, or leaves with the speed 1
    circle = st.PiecewiseSmooth(
        h=lambda x: 1.0 - x[0],
        f_plus=lambda x: (-x[1], x[0]),
        f_minus=lambda x: (1.0, 0.0),
        x0=[0.0, -1.0],
    )
    ends = [np.sin(2.0), 3.0 - np.pi / 2.0]
    for policy in (Enumerate(2), Sample(n=8)):
        found = st.solve(circle, EventDriven(policy=policy), (0.0, 2.0), save=2)
        assert [loss.kind for loss in found.determinism.losses] == ["fold"]
        listed = found.variables["future_state"].values[:, 0]
        assert len(listed) == getattr(policy, "n", 2)
        assert listed[0] == pytest.approx(found.final["x1"], abs=1e-9)
        assert sorted(set(listed.round(9))) == pytest.approx(ends, abs=1e-7)


def test_other_surfaces_keep_their_sides_on_the_way_to_an_exit():
    # the normal form of a two-fold, and a surface that is never reached
    def field(x, s):
        plus, minus = 0.5 * (1.0 + s[0]), 0.5 * (1.0 - s[0])
        return (minus * x[2] - plus * x[1], plus - 1.5 * minus, minus - 1.2 * plus)

    flow = st.PiecewiseSmooth(h=[lambda x: x[0], lambda x: x[1] + 9.0], f=field, x0=[0.0, 0.3, 0.1])
    found = st.solve(flow, EventDriven(policy=Leave("-", 0.5)), (0.0, 1.8), save=4001)
    assert [loss.kind for loss in found.determinism.losses] == ["two_fold"]
    assert set(found.variables["mode"].values[:, 1].tolist()) == {1}


def test_one_policy_for_each_kind():
    stops = run(ByKind(two_fold=Stop(), escaping_start=Leave("+")))
    assert stops.t_end == pytest.approx(ARRIVAL, rel=1e-7)
    leaves = run(ByKind(two_fold=Leave("+", 0.5)))
    assert leaves.t_end > ARRIVAL + 0.5 - 1e-6
    with pytest.raises(ModelError, match=r"ByKind\.two_fold"):
        ByKind(two_fold=ByKind())


def test_futures_at_late_times_end_as_at_early_ones():
    # intervals between crossings decrease slowly; they are short compared with the time only
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[2]],
        f=lambda x, s: [x[1], -s[0] - x[1], s[1]],
        x0=[1e-3, 0.0, 0.0],
    )
    for start in (0.0, 1e6):
        found = st.solve(flow, EventDriven(policy=Enumerate()), (start, start + 2.0), save=2)
        assert (np.diff(found.event_log.time)[-11:] < 0.1).all()
        assert found.variables["future_time"].values.tolist() == [start + 2.0] * 2
        assert found.variables["future_end"].values.tolist() == [0, 0]


def test_dampers_dissipate_energy_at_an_equilibrium_of_a_turning_disk():
    # at rest on the line h = g = 0 the disk turns with the turntable, against a damper to ground
    wheel = st.WheelOnTurntable(
        mu=1.21, kappa=0.45, gamma=0.1725, k2=0.773, beta=0.595, c1=0.3, omega0=-1.0,
        x0=(0.42, 0.02, -0.99), physical_time=True,
    )  # fmt: skip
    result = st.solve(wheel, EventDriven(policy=Enumerate()), t_span=(1.0, 3.0))
    (loss,) = result.determinism.losses
    assert loss.choice == "rest"
    at_rest = result.time > loss.time
    power = 0.3 * 1.0**2
    for column in ("viscous_heat", "external_work"):
        energy = result.ledger[column].values
        expected = energy[-1] - power * (result.time[-1] - result.time[at_rest])
        assert np.allclose(energy[at_rest], expected, rtol=0.0, atol=1e-9), column
    assert result.energy.imbalance_rel < 1e-12
