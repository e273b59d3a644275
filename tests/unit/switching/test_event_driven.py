"""The event-driven method on small flows where every event is known by hand."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError, PlainFunctionWarning, SolveError, Status
from stiction.switching.ensembles.study import ensemble
from stiction.switching.methods import EventDriven
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.policies import Leave
from stiction.switching.presets import NormalForm

STIFFNESS = {"k": 1.0}


def parabola(height):
    """x1 = (t - 1)^2 + height, the same field on both sides."""
    return PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (x[1], 2.0),
        f_minus=lambda x: (x[1], 2.0),
        x0=[1.0 + height, -2.0],
    )


def circle(**changes):
    field = {"f_plus": lambda x: (x[1], -x[0]), "f_minus": lambda x: (x[1], -x[0])}
    return PiecewiseSmooth(**{"h": lambda x: x[0], "x0": [1.0, 0.0], **field, **changes})


def escaping(mode=None):
    return PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (1.0, 1.0),
        f_minus=lambda x: (-1.0, 0.0),
        x0=[0.0, 0.0],
        mode=mode,
    )


def moves(run):
    frame = run.events
    return list(zip(frame["kind"], frame["from"], frame["to"], strict=True))


def test_a_grazing_from_outside_is_a_fold():
    run = st.solve(parabola(0.0), t_span=(0.0, 3.0))
    assert moves(run) == [("fold", "+", "+")]
    assert run.events["time"].iloc[0] == pytest.approx(1.0, abs=1e-9)
    assert run.final["x1"] == pytest.approx(4.0, abs=1e-12)
    assert isinstance(run.final["x1"], float)


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-8])
def test_a_shallow_dip_is_two_crossings(depth):
    run = st.solve(parabola(-depth), t_span=(0.0, 3.0))
    assert moves(run) == [("cross", "+", "-"), ("cross", "-", "+")]
    half = math.sqrt(depth)
    expected = [1.0 - half, 1.0 + half]
    assert np.abs(run.events["time"].to_numpy() - expected).max() < 1e-15 / half + 1e-12


def test_a_near_miss_is_no_event():
    run = st.solve(parabola(1e-6), t_span=(0.0, 3.0))
    assert moves(run) == []
    assert run.status == Status.SOLVED


def test_sliding_ends_at_a_visible_fold():
    system = PiecewiseSmooth(
        h=lambda x: x[0], f_plus=lambda x: (x[1], 1.0), f_minus=lambda x: (1.0, 1.0), x0=[0.0, -1.0]
    )
    run = st.solve(system, t_span=(0.0, 3.0))
    assert moves(run) == [("leave", "slide", "+")]
    assert run.events["time"].iloc[0] == pytest.approx(1.0, abs=1e-12)
    assert run.final["x1"] == pytest.approx(2.0, abs=1e-11)


def test_an_escaping_start_stops_at_once():
    run = st.solve(escaping(), t_span=(0.0, 1.0))
    assert run.status == Status.STOPPED
    assert run.t_end == 0.0
    assert [loss.kind for loss in run.determinism.losses] == ["escaping_start"]


@pytest.mark.parametrize(("mode", "end"), [("+", 1.0), ("-", -1.0), ("slide", 0.0)])
def test_an_escaping_start_with_a_mode_goes_on(mode, end):
    run = st.solve(escaping(mode), t_span=(0.0, 1.0))
    assert run.status == Status.SOLVED
    assert run.final["x1"] == pytest.approx(end, abs=1e-13)
    assert [loss.kind for loss in run.determinism.losses] == ["escaping_start"]


def test_leaving_an_escaping_region_after_a_time():
    method = EventDriven(policy=Leave("-", 0.25))
    run = st.solve(escaping(), method, t_span=(0.0, 1.0))
    assert moves(run)[-1] == ("leave", "slide", "-")
    assert run.events["time"].iloc[-1] == pytest.approx(0.25, abs=1e-14)
    assert run.final["x1"] == pytest.approx(-0.75, abs=1e-13)


def test_a_start_on_a_two_fold_stops():
    run = st.solve(NormalForm(-1.2, -1.5, x0=[0.0, 0.0, 0.0]), t_span=(0.0, 1.0))
    assert run.status == Status.STOPPED
    assert [loss.kind for loss in run.determinism.losses] == ["two_fold"]


def test_infinitely_many_switches_end_in_a_report():
    # Fuller: intervals shrink geometrically; with c = 0.3 each is half of the last
    system = PiecewiseSmooth(
        h=lambda x: x[0] + 0.3 * x[1] * abs(x[1]),
        f_plus=lambda x: (x[1], -1.0),
        f_minus=lambda x: (x[1], 1.0),
        x0=[1.0, 0.0],
    )
    run = st.solve(system, t_span=(0.0, 20.0), throw=False)
    times = run.events.loc[run.events["kind"] == "cross", "time"].to_numpy()
    # the switching curve x = -c v |v| gives speeds that fall by sqrt((1 - 2c)/(1 + 2c)) = 1/2
    first = math.sqrt(2.0 / 1.6)
    assert times[0] == pytest.approx(first, abs=1e-10)
    assert np.diff(times)[:8] == pytest.approx(1.5 * first * 0.5 ** np.arange(8), rel=1e-7)
    # the pile is extrapolated; nothing slides there, so that it is no two-fold
    assert run.t_end == pytest.approx(first + 3.0 * first, abs=1e-8)
    assert run.status == Status.ACCUMULATION
    assert run.determinism.status == "deterministic"


def test_many_roots_inside_one_step_are_all_seen():
    system = PiecewiseSmooth(
        h=lambda x: 0.98 + math.cos(200.0 * x[0]),
        f_plus=lambda x: (1.0,),
        f_minus=lambda x: (1.0,),
        x0=[0.0],
    )
    run = st.solve(system, EventDriven(rtol=1e-3), t_span=(0.0, 1.0))
    off = math.acos(0.98)
    turns = math.pi * (2 * np.arange(40)[:, None] + 1) + np.array([-off, off])
    expected = turns.ravel()[turns.ravel() < 200.0] / 200.0
    assert run.events["time"].to_numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("begin", [100.0, -5.0])
def test_time_translation(begin):
    run = st.solve(circle(), t_span=(begin, begin + 10.0))
    expected = begin + math.pi * (np.arange(3) + 0.5)
    assert run.events["time"].to_numpy() == pytest.approx(expected, abs=1e-9)


def test_states_saved_at_events():
    save = [0.0, math.pi / 2, 3.0, 1.5 * math.pi]
    run = st.solve(circle(), EventDriven(rtol=1e-12), t_span=(0.0, 5.0), save=save)
    time = run.time
    assert set(save) <= set(time.tolist())
    assert np.abs(run.variables["x1"].values - np.cos(time)).max() < 1e-10


@pytest.mark.parametrize("limit", [{"max_steps": 5}, {"max_events": 5}, {"max_events": 1}])
def test_limits_are_respected(limit):
    with pytest.raises(SolveError, match="were used up") as caught:
        st.solve(circle(), EventDriven(**limit), t_span=(0.0, 100.0))
    run = caught.value.run
    assert run.status == Status.WORK_LIMIT
    assert len(run.events) <= max(limit.values())


def test_a_state_that_blows_up_is_not_finite():
    system = circle(h=lambda x: x[0] + 9.0, f_plus=lambda x: (x[0] ** 2, 1.0))
    with pytest.raises(SolveError) as caught:
        st.solve(system, t_span=(0.0, 10.0))
    run = caught.value.run
    assert run.status == Status.NOT_FINITE
    assert run.t_end == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(run.variables["x1"].values).all()


def test_a_function_that_raises_names_itself_and_the_cause():
    def up(x):
        if x[0] > 1.5:
            raise ValueError("too far")
        return (1.0, 0.0)

    with pytest.warns(PlainFunctionWarning, match="of .*up, which raises"):
        system = circle(f_plus=up)
    with pytest.raises(ModelError, match="too far") as caught:
        st.solve(system, t_span=(0.0, 3.0))
    assert isinstance(caught.value.__cause__, ValueError)


def test_plain_python_is_said_with_its_cost():
    with pytest.warns(PlainFunctionWarning, match="of 'STIFFNESS', a dict"):
        system = circle(f_plus=lambda x: (x[1], -STIFFNESS["k"] * x[0]))
    slow = st.solve(system, t_span=(0.0, 3.0))
    fast = st.solve(circle(), t_span=(0.0, 3.0))
    assert [run.stats["plain_functions"] for run in (slow, fast)] == [1, 0]
    assert slow.stats["plain_call_s"] > 0.0 == fast.stats["plain_call_s"]
    assert slow.final["x1"] == pytest.approx(fast.final["x1"], abs=1e-14)


def test_only_what_is_a_plane_is_taken_for_one():
    # flat near the start, curved where the state slides later
    system = PiecewiseSmooth(
        h=lambda x: x[1] - math.exp(x[0] - 40.0),
        f_plus=lambda x: (2.0, -3e3),
        f_minus=lambda x: (1.0, 3e3),
        x0=[0.0, 0.5],
    )
    run = st.solve(system, t_span=(0.0, 30.0))
    assert run.final["x2"] == pytest.approx(math.exp(run.final["x1"] - 40.0), rel=1e-9)
    assert run.audit.ok


def test_a_function_that_writes_into_its_argument_harms_nobody():
    def field(x):
        x *= 0.5
        return np.array([-1.0, x[1]])

    system = PiecewiseSmooth(h=lambda x: x[0], f_plus=field, f_minus=field, x0=[2.0, 1.0])
    run = st.solve(system, t_span=(0.0, 1.5))
    assert run.final["x2"] == pytest.approx(math.exp(0.75), rel=1e-10)


def test_too_few_numbers_far_from_the_start_are_an_error():
    def field(x):
        if x[0] < 0.5:
            return np.array([-1.0])
        return np.array([-1.0, 1.0])

    system = PiecewiseSmooth(h=lambda x: x[0] + 10.0, f_plus=field, f_minus=field, x0=[2.0, 1.0])
    with pytest.raises(st.ModelError, match="1 numbers"):
        st.solve(system, t_span=(0.0, 3.0))


def test_too_few_numbers_on_the_way_below_a_surface_are_an_error():
    # below it the state falls to where the field is short; above it, it would rise
    def below(x):
        return np.array([0.0, -1.0]) if x[1] > -0.5 else np.array([0.0])

    system = PiecewiseSmooth(
        h=lambda x: x[0] - 10.0, f_plus=lambda x: (0.0, 1.0), f_minus=below, x0=[2.0, 1.0]
    )
    with pytest.raises(st.ModelError, match="1 numbers"):
        st.solve(system, t_span=(0.0, 3.0))


@pytest.mark.parametrize("x0", [1.0, 0.7, 3.0, 1e-3])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_gradient_that_vanishes_on_the_surface_is_refused(x0, size):
    system = PiecewiseSmooth(
        h=lambda x: (x[0] / size) ** 3,
        f_plus=lambda x: (-size, 1.0),
        f_minus=lambda x: (size, 1.0),
        x0=[x0 * size, 0.0],
        scale=(size, 1.0),
    )
    with pytest.raises(st.ModelError, match="gradient of zero"):
        st.solve(system, t_span=(0.0, 5.0))


def test_a_vanishing_gradient_is_refused_whatever_the_scale():
    system = PiecewiseSmooth(
        h=lambda x: (x[0] / 1e6) ** 3,
        f_plus=lambda x: (-1e6, 1.0),
        f_minus=lambda x: (1e6, 1.0),
        x0=[1e6, 0.0],
    )
    with pytest.raises(st.ModelError, match="gradient of zero"):
        st.solve(system, t_span=(0.0, 5.0))


def test_a_start_where_h_is_flat_but_not_zero():
    def start(h, scale=1.0):
        field, x0 = (lambda x: [1.0, 1.0]), [0.0, 0.0]
        system = st.PiecewiseSmooth(h, field, field, x0=x0, scale=scale)
        return st.solve(system, t_span=(0.0, 1.0))

    assert start(lambda x: 1e-13 * (2.0 + x[0] ** 2)).status.ok
    # h = 1 at the start and 1e14 at a distance of the scale
    assert start(lambda x: 1.0 + x[0] ** 2, scale=1e7).status.ok
    with pytest.raises(st.ModelError, match="h = 0 and its gradient is zero"):
        start(lambda x: 1e-13 * x[0] ** 2)
    with pytest.raises(st.ModelError, match="gradient is not finite"):
        start(lambda x: np.sqrt(x[0]))


def test_a_gradient_that_falls_steeply_towards_the_surface_is_none_that_vanishes():
    """Over the first step h falls from 5e8; its gradient at the surface is 20."""
    system = PiecewiseSmooth(
        h=lambda x: np.expm1(20.0 * x[0]),
        f_plus=lambda x: (-1.0, 1.0),
        f_minus=lambda x: (1.0, 1.0),
        x0=[1.0, 0.0],
    )
    run = st.solve(system, t_span=(0.0, 5.0))
    assert moves(run) == [("slide", "+", "slide")]
    assert run.events["time"].iloc[0] == pytest.approx(1.0, abs=1e-12)


def test_a_wrong_gradient_is_refused():
    with pytest.raises(st.ModelError, match="h_gradient"):
        PiecewiseSmooth(
            h=lambda x: x[0],
            f_plus=lambda x: (-1.0, 0.0),
            f_minus=lambda x: (1.0, 0.0),
            x0=[1.0, 0.0],
            h_gradient=lambda x: (5.0, 7.0),
        )


def test_loss_at_the_second_surface_is_handled_there():
    system = PiecewiseSmooth(
        h=(lambda x: x[0] + 1.0, lambda x: x[1]),
        f=lambda x, s: (1.0, s[1], 0.3),
        x0=[0.0, 0.0, 0.0],
    )
    run = st.solve(system, EventDriven(policy=st.switching.Leave("+", 0.5)), t_span=(0.0, 2.0))
    assert run.final["x2"] == pytest.approx(1.5, rel=1e-12)
    assert list(run.events["contact"]) == [2, 2]


def test_every_drawn_future_dwells_as_drawn():
    system = PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (1.0, 1.0),
        f_minus=lambda x: (-1.0, 1.0),
        x0=[0.0, 0.0],
    )
    policy = st.switching.Sample(n=5, hazard=2.0, seed=1)
    run = st.solve(system, EventDriven(policy=policy), t_span=(0.0, 2.0))
    ends = run.variables["future_state"].values
    assert ends[0] == pytest.approx([run.final["x1"], run.final["x2"]], rel=1e-12)
    assert len(set(ends[:, 0].tolist())) == 5


def test_a_near_miss_within_the_tolerance_ends_nothing():
    # a circle of radius 1 that misses the surface by 30 times the tolerance
    system = PiecewiseSmooth(
        h=lambda x: 1.0 + 3e-7 - x[0],
        f_plus=lambda x: (-x[1], x[0]),
        f_minus=lambda x: (-1.0, 0.0),
        x0=[0.0, -1.0],
    )
    run = st.solve(system, EventDriven(rtol=1e-8), t_span=(0.0, 20.0))
    assert run.status == Status.SOLVED
    assert run.determinism.status == "deterministic"


def test_a_policy_decides_at_a_fold_that_opens_to_both_sides():
    # the circle touches x = 1 from inside at t = pi / 2, where f- leads away from it too
    def system(f_minus):
        return PiecewiseSmooth(
            h=lambda x: 1.0 - x[0],
            f_plus=lambda x: (-x[1], x[0]),
            f_minus=f_minus,
            x0=[0.0, -1.0],
        )

    away = system(lambda x: (1.0, 0.0))
    stopped = st.solve(away, t_span=(0.0, 4.0))
    assert stopped.status == Status.STOPPED
    assert stopped.t_end == pytest.approx(math.pi / 2, abs=1e-6)
    left = st.solve(away, EventDriven(policy=st.switching.Leave("-")), t_span=(0.0, 4.0))
    assert left.final["x1"] == pytest.approx(1.0 + 4.0 - math.pi / 2, abs=1e-5)
    stayed = st.solve(away, EventDriven(policy=st.switching.Leave("+")), t_span=(0.0, 2.0))
    assert stayed.final["x1"] == pytest.approx(math.sin(2.0), abs=1e-9)


@pytest.mark.parametrize("step", [None, 1.0, 0.3, 0.1, 0.03])
def test_a_grazing_is_located_for_every_step(step):
    system = PiecewiseSmooth(
        h=lambda x: 1.0 - x[0],
        f_plus=lambda x: (-x[1], x[0]),
        f_minus=lambda x: (-1.0, 0.0),
        x0=[0.0, -1.0],
    )
    run = st.solve(system, EventDriven(max_step=step), t_span=(0.0, 4.0))
    assert set(run.events["kind"]) == {"fold"}
    assert run.final["x1"] == pytest.approx(math.sin(4.0), abs=1e-9)


def test_a_two_fold_of_a_flow_with_a_clock():
    system = PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (-x[1], 1.0, -1.2, 1.0),
        f_minus=lambda x: (x[2], -1.5, 1.0, 1.0),
        x0=[0.0, 0.3, 0.1, 0.0],
    )
    run = st.solve(system, EventDriven(policy=st.switching.Leave("-", 0.3)), t_span=(0.0, 3.0))
    left = run.events[run.events["kind"] == "leave"]
    assert left["time"].iloc[0] == pytest.approx(1.4375, rel=1e-9)
    assert run.final["x4"] == pytest.approx(3.0, rel=1e-9)


def test_passing_a_line_closely_is_the_same_at_every_tolerance():
    wheel = st.WheelOnTurntable(x0=[0.22, -0.0624, -1.08])
    policy = st.switching.ByKind(
        two_fold=st.switching.Leave("-", 0.5), codim2_line=st.switching.Leave("-")
    )
    ends = []
    for rtol in (1e-10, 1e-12):
        method = EventDriven(rtol=rtol, policy=policy)
        ends.append(st.solve(wheel, method, t_span=(0.0, 120.0)))
    assert list(ends[0].events["kind"]) == list(ends[1].events["kind"])
    assert ends[0].final["r"] == pytest.approx(ends[1].final["r"], rel=1e-6)


@pytest.mark.parametrize("when", [0.25, 0.37])
@pytest.mark.parametrize(
    ("force", "kinds"), [(0.5, ["kink"]), (1.2, ["kink", "leave"]), (-2.0, ["kink", "leave"])]
)
def test_a_load_step_on_a_block_at_rest(force, kinds, when):
    # friction holds forces up to 1; beyond it the block slips from the time of the step on
    block = PiecewiseSmooth(
        h=lambda t, x, p: x[1],
        f=lambda t, x, s, p: [x[1], -s[0] + (p[0] if t > p[1] else 0.1)],
        kinks=[lambda t, x, p: t - p[1]],
        x0=[0.0, 0.0],
        parameters=[force, when],
    )
    run = st.solve(block, t_span=(0.0, 1.0), save=2)
    assert list(run.event_log.kind) == kinds
    excess = np.sign(force) * max(abs(force) - 1.0, 0.0)
    rest = 1.0 - when
    assert run.final["x1"] == pytest.approx(0.5 * excess * rest**2, abs=1e-11)
    by = block.tangents(None, (0.0, 1.0), ["p[0]", "p[1]"]).final_by[0]
    assert by == pytest.approx([0.5 * rest**2 * (excess != 0.0), -excess * rest], abs=1e-9)


@pytest.mark.parametrize("when", [1.85, 3.8])
def test_a_load_step_that_rounding_places_before_its_event(when):
    """The event lies beyond the jump, where the fields no longer show what was before it."""

    def on(side):
        return lambda t, x, p: [x[1], -10.0 * x[0] + (8.0 if t >= p.T else 0.0) - side * 2.943]

    block = PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=on(1.0),
        f_minus=on(-1.0),
        kinks=[lambda t, x, p: t - p.T],
        x0=[0.0, 0.0],
        mode="slide",
        parameters={"T": when},
    )
    run = st.solve(block, t_span=(0.0, 10.0), save=11)
    assert list(run.event_log.kind) == ["kink", "leave", "slide"]
    assert run.final["x1"] == pytest.approx(2.0 * (8.0 - 2.943) / 10.0, abs=1e-11)
    assert run.audit.ok
    # a state saved at the jump is that after it, within a run and at its end
    for end in (10.0, when):
        run = st.solve(block, t_span=(0.0, end), save=np.unique([0.0, when, end]))
        assert np.array_equal(run.time, np.unique([0.0, when, end]))
        assert run.audit.ok, run.audit


def test_a_load_step_on_both_of_two_blocks_at_rest():
    # the step records three events at once: all have a place in every array for events
    blocks = PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda t, x, s, p: [
            -s[0] + (2.0 if t > 0.3 else 0.0),
            -s[1] + (3.0 if t > 0.3 else 0.2),
        ],
        kinks=[lambda t, x, p: t - 0.3],
        x0=[0.0, 0.0],
    )
    for most in (1, 10):
        run = st.solve(blocks, EventDriven(max_events=most), (0.0, 1.0), save=2, throw=False)
        assert list(run.event_log.kind) == ["kink", "leave", "leave"]
    found = ensemble(blocks, [[0.0, 0.0]], 1.0)
    counts = dict(zip(found.kinds, found.counts[0].tolist(), strict=True))
    assert (counts["kink"], counts["leave"]) == (1, 2)
    assert found.state[0] == pytest.approx([0.7, 1.4, 1.0], abs=1e-11)


def test_a_load_step_on_one_of_two_blocks_at_rest():
    blocks = PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda t, x, s, p: [-s[0] + (2.0 if t > 0.3 else 0.0), -s[1] + 0.2],
        kinks=[lambda t, x, p: t - 0.3],
        x0=[0.0, 0.0],
    )
    run = st.solve(blocks, t_span=(0.0, 1.0), save=2)
    assert list(run.event_log.kind) == ["kink", "leave"]
    assert [run.final["x1"], run.final["x2"]] == pytest.approx([0.7, 0.0], abs=1e-11)


def test_sliding_that_becomes_escaping_at_a_kink_is_a_loss():
    switched = PiecewiseSmooth(
        h=lambda x: x[0],
        f=lambda t, x, s, p: [0.1 - (s[0] if t < 0.3 else -s[0])],
        kinks=[lambda t, x, p: t - 0.3],
        x0=[0.0],
    )
    loss = st.solve(switched, t_span=(0.0, 1.0), save=2).determinism.losses[0]
    assert (loss.kind, loss.time) == ("escaping_start", pytest.approx(0.3, abs=1e-12))
    run = st.solve(switched, EventDriven(policy=Leave("+")), t_span=(0.0, 1.0), save=2)
    assert run.final["x1"] == pytest.approx(1.1 * 0.7, abs=1e-11)


def test_accumulation_does_not_depend_on_the_start_time():
    # arcs of decreasing height on a surface; their time is some 1e-5
    hops = PiecewiseSmooth(
        h=lambda x: x[0],
        f=lambda x, s: [x[1], -s[0] - 100.0 * x[1]],
        x0=[0.0, 2e-5],
        mode="+",
        scale=[1e-9, 1e-5],
    )
    runs = [st.solve(hops, t_span=(t, t + 0.005), save=2) for t in (0.0, 1000.0)]
    assert len(runs[0].events) == len(runs[1].events) > 100


def test_a_run_that_needs_all_its_steps_is_complete():
    belt = st.BeltOscillator()
    steps = int(st.solve(belt, EventDriven(), (0.0, 3.0), save=3).stats["steps"])
    assert steps > 1
    for allowed, status in ((steps, Status.SOLVED), (steps - 1, Status.WORK_LIMIT)):
        method = EventDriven(max_steps=allowed)
        assert st.solve(belt, method, (0.0, 3.0), save=3, throw=False).status is status
