"""Where two surfaces meet: exit directions, loss of attraction, spirals, policies."""

import functools
import math

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError, Status
from stiction.exact.intersections import QUADRANTS, exit_directions, sliding_vectors
from stiction.switching.flow.intersections.bilinear import Bilinear, root
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.methods import EventDriven
from stiction.switching.nonuniqueness.intersections import directions_of
from stiction.switching.policies import ByKind, Enumerate, Leave, Sample


def quadrant_field(x, s):
    k = (0 if s[0] > 0.0 else 6) + (0 if s[1] > 0.0 else 3)
    out = np.zeros(15)
    out[0], out[1], out[2] = x[3 + k], x[4 + k], x[5 + k]
    return out


def relay_field(x, s):
    # K grows in time on its diagonal: x = x1, x2, t, k11, k12, k21, k22, its rate
    grown = x[7] * x[2]
    out = np.zeros(8)
    out[0] = (x[3] + grown) * s[0] + x[4] * s[1]
    out[1] = x[5] * s[0] + (x[6] + grown) * s[1]
    out[2] = 1.0
    return out


def two_roots_field(x, s):
    # L1 = -u + v - 0.1, L2 = u v - c(t): two sliding vectors until c = -0.0025 at t = 2.025
    return [-s[0] + s[1] - 0.1, s[0] * s[1] - (0.2 - 0.1 * x[3]), s[0], 1.0]


PLANES = [lambda x: x[0], lambda x: x[1]]
SADDLE = ((-1.0, -2.0), (-2.0, -1.0))


@functools.cache
def flow(field, dimension):
    """Return the flow of this field, whose functions are compiled once."""
    return st.PiecewiseSmooth(h=PLANES, f=field, x0=[0.0] * dimension)


def relay(k, x=(0.0, 0.0), rate=0.0, t_end=4.0, policy=None, **options):
    # compiled functions stay with the object, so that only the start is set anew
    object.__setattr__(flow(relay_field, 8), "x0", np.array([*x, 0.0, *np.ravel(k), rate]))
    method = st.EventDriven(policy=policy, max_events=20_000)
    return st.solve(flow(relay_field, 8), method, t_span=(0.0, t_end), throw=False, **options)


def end_of(run, count=2):
    return [float(np.ravel(run.final[f"x{k + 1}"])[0]) for k in range(count)]


def random_fields(count, seed):
    rng = np.random.default_rng(seed)
    for n in range(count):
        f = rng.integers(-2000, 2001, (4, 3))
        f[f == 0] = 1
        if n % 4 == 0:
            way = rng.choice([-1, 1])
            for c, (a, b) in enumerate(QUADRANTS):
                f[c, 0], f[c, 1] = -way * b * abs(f[c, 0]), way * a * abs(f[c, 1])
        yield f


def counted(path, f):
    """Return the exit directions of our kernel for one field."""
    path.place(0.0, np.array([0.0, 0.0, 0.0, *(np.ravel(f) / 1000.0)]), [0.0, 0.0])
    return sorted((e.kind, e.signs) for e in directions_of(path.directions(0, 1)))


def test_exit_directions_in_exact_arithmetic():
    path = Trajectory(flow(quadrant_field, 15), Tolerance(1e-12), np.empty(0))
    many = 0
    for f in random_fields(300, 1):
        exact = sorted((e.kind, e.signs) for e in exit_directions(f.tolist()))
        assert counted(path, f) == exact
        many += len(exact) > 1
    assert 90 < many < 210
    # a double root is one solution
    assert sliding_vectors([[0, 3], [3, 0], [0, -3], [-3, 2]]) == [(0.0, 1.0)]


def test_exit_directions_do_not_depend_on_units_names_or_orientation():
    path = Trajectory(flow(quadrant_field, 15), Tolerance(1e-12), np.empty(0))
    for f in random_fields(60, 2):
        found = counted(path, f)
        assert counted(path, f * 3e-7) == found
        # other names: h1 and h2 change places
        swapped = f[[0, 2, 1, 3]][:, [1, 0, 2]]
        assert [k for k, _ in counted(path, swapped)] == [k for k, _ in found]
        # the other side of h1 is called positive
        turned = f[[2, 3, 0, 1]] * [-1, 1, 1]
        assert [k for k, _ in counted(path, turned)] == [k for k, _ in found]


def test_roots_are_those_of_the_quadratic():
    rng = np.random.default_rng(3)
    for _ in range(300):
        c = Bilinear(*rng.normal(size=8))
        quadratic = np.polysub(
            np.polymul([c.b1, c.b0], [c.a3, c.a2]), np.polymul([c.b3, c.b2], [c.a1, c.a0])
        )
        exact = np.roots(quadratic)
        found = [root(c, sign, False) for sign in (1.0, -1.0)]
        if abs(exact[0].imag) > 0.0:
            assert not any(r.good for r in found)
            continue
        us = sorted(r.u for r in found)
        assert us == pytest.approx(sorted(exact.real), rel=1e-9)
        for sign, r in zip((1.0, -1.0), found, strict=True):
            assert r.det * sign > 0.0
            for e in (c[:4], c[4:]):
                assert abs(e[0] + e[1] * r.u + e[2] * r.v + e[3] * r.u * r.v) < 1e-9 * (
                    1.0 + abs(r.u) + abs(r.v) + abs(r.u * r.v)
                )


def test_a_start_with_three_exit_directions_is_reported():
    run = relay(SADDLE)
    assert run.status is Status.STOPPED
    assert [(loss.time, loss.kind) for loss in run.determinism.losses] == [(0.0, "intersection")]
    for words in ("slip (+, -)", "slip (-, +)", "codimension-2 sliding"):
        assert words in run.reason


def test_an_arrival_with_three_exit_directions_is_reported():
    run = relay(SADDLE, (0.3, 0.3))
    assert run.determinism.losses[0].kind == "intersection"
    assert run.determinism.losses[0].time == pytest.approx(0.1, abs=1e-12)
    missed = relay(SADDLE, (0.3, 0.31))
    assert missed.determinism.status == "deterministic"
    assert end_of(missed) == pytest.approx([-3.9, 3.91], abs=1e-12)


@pytest.mark.parametrize(
    ("k", "x", "rate", "when"),
    [
        # both quadrants ++ and -- open where k11 + k12 = 0
        (((-1.0, 0.3), (0.3, -1.0)), (0.0, 0.0), 0.5, 1.4),
        # a turn shrinks by ((3 + k) / (3 - k))^4, k = -0.2 + 0.1 t
        (((-0.2, 3.0), (-3.0, -0.2)), (0.0, 0.0), 0.1, 2.0),
        (((-0.5, 3.0), (-3.0, -0.5)), (0.05, 0.02), 0.1, 5.0),
    ],
)
def test_loss_of_attractivity_at_its_time(k, x, rate, when):
    run = relay(k, x, rate, 12.0)
    assert run.status is Status.STOPPED
    assert [loss.kind for loss in run.determinism.losses] == ["intersection"]
    assert run.determinism.losses[0].time == pytest.approx(when, abs=1e-9)
    # for as long as it attracts nothing is reported
    assert relay(k, x, rate, when - 1e-6).determinism.status == "deterministic"


def test_a_spiral_into_an_intersection_goes_on_there():
    run = relay(((-0.2, 3.0), (-3.0, -0.2)), (0.5, 0.2), t_end=10.0)
    assert run.status is Status.SOLVED
    assert run.determinism.status == "deterministic"
    slides = run.events[run.events["kind"] == "slide"]
    # d(|x1| + |x2|)/dt = -0.4 in every quadrant
    assert slides["time"].to_numpy() == pytest.approx([1.75, 1.75], abs=1e-9)
    assert end_of(run) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.asarray(run.data["mode"])[-1].tolist() == [0, 0]


@pytest.mark.parametrize(
    "matrix", [((0.0, 1.0), (-1.0, -0.2)), ((0.1, 1.0), (-1.0, -0.3)), ((0.3, 1.0), (-0.5, -0.2))]
)
def test_a_spiral_whose_intervals_alternate_goes_on_in_sliding(matrix):
    run = relay(matrix, (1.0, 0.3), t_end=20.0)
    assert run.status is Status.SOLVED
    assert end_of(run) == pytest.approx([0.0, 0.0], abs=1e-12)


def position_and_velocity(x, s):
    # a preloaded spring and dry friction: x1'' = -u - b w + d + d' t, state x1, v, t, b, d, d'
    return [x[1], -s[0] - x[3] * s[1] + x[4] + x[5] * x[2], 1.0, 0.0, 0.0, 0.0]


def rest_of(x, v, b, d, rate=0.0, t_end=30.0):
    system = flow(position_and_velocity, 6).at_state([x, v, 0.0, b, d, rate])
    return st.solve(system, st.EventDriven(), t_span=(0.0, t_end), throw=False)


# a slow start: rest is far beyond the last crossing, in relation to the time of the run
@pytest.mark.parametrize(
    ("b", "d", "v"),
    [(0.5, 0.0, 1.0), (0.1, 0.0, 1.0), (0.9, 0.0, 1.0), (0.5, 0.2, 1.0), (0.1, 0.0, 1e-5)],
)
def test_a_mass_comes_to_rest_between_a_preloaded_spring_and_friction(b, d, v):
    run = rest_of(0.0, v, b, d)
    assert run.status is Status.SOLVED
    assert run.determinism.status == "deterministic"
    assert end_of(run) == pytest.approx([0.0, 0.0], abs=1e-12)
    # from x = 0 and back: decelerated at 1 + b -+ d, accelerated at 1 - b -+ d
    time = 0.0
    for turn in range(2000):
        load = d if turn % 2 == 0 else -d
        down, up = 1.0 + b - load, 1.0 - b - load
        time, v = time + v / down + v / math.sqrt(down * up), v * math.sqrt(up / down)
    assert run.events["time"].iloc[-1] == pytest.approx(time, rel=1e-9)
    # the multipliers balance the load
    u, w = np.asarray(run.data["multiplier"])[-1]
    assert u + b * w == pytest.approx(d, abs=1e-12)


def test_a_mass_that_the_run_does_not_follow_to_rest_has_no_events_beyond_its_end():
    # it rests at t = 4.309401
    run = rest_of(0.0, 1.0, 0.5, 0.0, t_end=4.3094)
    assert run.events["time"].iloc[-1] <= 4.3094
    assert run.determinism.status == "lost"


def test_a_mass_rests_until_the_load_exceeds_spring_and_friction():
    run = rest_of(0.0, 0.0, 0.5, 0.0, rate=0.1, t_end=20.0)
    # how it leaves is a matter of third derivatives, which are not computed
    assert run.status is Status.NO_CONTINUATION
    assert run.t_end == pytest.approx(15.0, abs=1e-9)
    assert end_of(run) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_events_at_an_intersection_carry_the_multipliers():
    blocks = st.switching.TwoBlockStickSlip(x0=(0.0, 0.0, 0.3, 0.25))
    run = st.solve(blocks, st.EventDriven(), t_span=(0.0, 1.0), save=2)
    table = run.events
    last = table.iloc[-1]
    assert (last["contact"], last["kind"]) == (1, "slide")
    # stuck on the belt: friction balances the springs, static friction 1
    pull = -last["x1"] + 1.2 * (last["x2"] - last["x1"])
    assert last["multiplier_after"] == pytest.approx(pull, rel=1e-12)
    assert last["multiplier"] == 1.0


def test_both_sliding_vectors_are_solved_and_followed():
    stopped = st.solve(flow(two_roots_field, 4), t_span=(0.0, 4.0))
    assert stopped.reason.count("codimension-2 sliding") == 2
    run = st.solve(
        flow(two_roots_field, 4), st.EventDriven(policy=Enumerate()), t_span=(0.0, 1.0), save=2
    )
    ends = run.variables["future_state"].values
    # u = (-0.1 +- sqrt(0.81 - 0.4 t)) / 2, and the half surface h1 = 0, h2 > 0 with u = 0.9
    part = (0.81**1.5 - 0.41**1.5) / 1.2
    assert sorted(ends[:, 2]) == pytest.approx([-0.05 - part, part - 0.05, 0.9], abs=1e-9)


def test_where_both_sliding_vectors_merge_the_run_goes_on():
    for seed in range(8):
        policy = Sample(seed=seed, hazard=1e-6)
        run = st.solve(flow(two_roots_field, 4), st.EventDriven(policy=policy), t_span=(0.0, 3.0))
        if run.determinism.losses[0].choice.startswith("codimension-2 sliding"):
            break
    assert run.status is Status.SOLVED
    assert run.events["time"].to_numpy() == pytest.approx([2.025], abs=1e-9)
    assert np.asarray(run.data["mode"])[-1].tolist() == [0, 1]


def test_policies_take_what_is_open():
    run = relay(SADDLE, policy=Leave("+"))
    assert end_of(run) == pytest.approx([4.0, -4.0], abs=1e-12)
    run = relay(SADDLE, policy=Leave("-", after=1.0))
    assert end_of(run) == pytest.approx([-3.0, 3.0], abs=1e-12)
    assert run.determinism.losses[0].choice == "codimension-2 sliding, leave to - after 1"
    run = relay(SADDLE, policy=ByKind(intersection=Enumerate()), save=2)
    states = run.variables["future_state"].values[:, :2]
    assert states == pytest.approx(np.array([[4.0, -4.0], [-4.0, 4.0], [0.0, 0.0]]), abs=1e-12)
    drawn = [end_of(relay(SADDLE, policy=Sample(seed=s), t_end=0.1))[0] for s in range(8)]
    assert len({np.sign(v) for v in drawn}) > 1


@pytest.mark.parametrize(("side", "after", "left"), [("+", 0.0, 1.4), ("-", 0.5, 1.9)])
def test_a_policy_leaves_through_what_has_just_opened(side, after, left):
    k = ((-1.0, 0.3), (0.3, -1.0))
    run = relay(k, rate=0.5, policy=Leave(side, after))
    # both rates are 0.5 (t - 1.4) in the quadrants ++ and --
    far = 0.25 * (2.6**2 - (left - 1.4) ** 2) * (1.0 if side == "+" else -1.0)
    assert end_of(run) == pytest.approx([far, far], abs=1e-9)
    assert len(run.determinism.losses) == 1
    assert run.events["time"].to_numpy() == pytest.approx([left, left], abs=1e-9)


def test_a_side_to_which_nothing_leads_ends_the_run():
    tried = 0
    for f in random_fields(400, 4):
        exact = exit_directions(f.tolist())
        if len(exact) == 1 or any(-1 in e.signs or e.kind == "spiral" for e in exact):
            continue
        object.__setattr__(
            flow(quadrant_field, 15), "x0", np.array([0.0, 0.0, 0.0, *(f.ravel() / 1000.0)])
        )
        run = st.solve(
            flow(quadrant_field, 15), st.EventDriven(policy=Leave("-")), t_span=(0.0, 1.0)
        )
        assert run.status is Status.STOPPED
        assert "no exit direction to -" in run.reason
        assert len(run.determinism.losses) == 1
        tried += 1
    assert tried > 3


def test_a_spiral_out_keeps_its_shape():
    run = relay(((0.2, 3.0), (-3.0, 0.2)), policy=Leave("+"), t_end=1.0)
    assert run.determinism.losses[0].choice.startswith("spiral")
    crossed = run.events[(run.events["contact"] == 2) & (run.events["x1"] > 0.0)]
    shape = (crossed["x1"] / crossed["time"]).to_numpy()
    assert len(shape) > 20
    assert shape == pytest.approx(np.full(len(shape), shape[0]), rel=1e-6)
    # d(|x1| + |x2|)/dt = 0.4 from the first moment on
    x = end_of(run)
    assert abs(x[0]) + abs(x[1]) == pytest.approx(0.4, rel=1e-9)


@pytest.mark.parametrize(("mode", "sign"), [("+", 1.0), ("-", -1.0), ("slide", 0.0)])
def test_a_mode_selects_an_exit_direction(mode, sign):
    system = st.PiecewiseSmooth(
        h=PLANES,
        f=lambda x, s: (-s[0] - 2.0 * s[1], -2.0 * s[0] - s[1]),
        x0=[0.0, 0.0],
        mode=mode,
    )
    run = st.solve(system, t_span=(0.0, 2.0))
    assert end_of(run) == pytest.approx([2.0 * sign, -2.0 * sign], abs=1e-12)
    assert run.determinism.losses[0].choice == f"mode {mode!r} as given with the start"


def test_a_mode_without_an_exit_direction_is_refused():
    system = st.PiecewiseSmooth(h=PLANES, f=lambda x, s: (-s[0], -s[1]), x0=[0.0, 0.0], mode="+")
    with pytest.raises(ModelError, match="one of codimension-2 sliding"):
        st.solve(system, t_span=(0.0, 1.0))


@pytest.mark.parametrize("factor", [1e6, -1e-3])
@pytest.mark.parametrize(("k", "status"), [(-1.0, "lost"), (-4.0, "deterministic")])
def test_curved_surfaces_in_other_units_meet_alike(factor, k, status):
    # h1 = x1 - sin x2 and h2 = factor x2 have the rates of a saddle, or of a node that attracts
    def field(x, s):
        first, second = k * s[0] - 2.0 * s[1], (-2.0 * s[0] + k * s[1]) / factor
        return first + math.cos(x[1]) * second, second

    h = [lambda x: x[0] - math.sin(x[1]), lambda x: factor * x[1]]
    run = st.solve(st.PiecewiseSmooth(h=h, f=field, x0=[0.0, 0.0]), t_span=(0.0, 1.0))
    assert run.determinism.status == status


@pytest.mark.parametrize("seed", range(4))
def test_an_arrival_missed_by_rounding_is_reported(seed):
    # both surfaces are reached at t = 0.1 along paths that round differently; then the saddle
    rng = np.random.default_rng(seed)
    rate, bend = rng.uniform(0.5, 3.0, 2), rng.uniform(0.5, 2.0, 2)

    def steady(x, s):
        # x_i = c_i (exp(b_i (0.1 - t)) - 1) while both are positive
        if s[0] > 0.0 and s[1] > 0.0:
            return -bend[0] * (x[0] + rate[0]), -bend[1] * (x[1] + rate[1]), 1.0
        return -s[0] - 2.0 * s[1], -2.0 * s[0] - s[1], 1.0

    x0 = [*(rate * np.expm1(0.1 * bend)), 0.0]
    run = st.solve(st.PiecewiseSmooth(h=PLANES, f=steady, x0=x0), t_span=(0.0, 0.5))
    assert [loss.kind for loss in run.determinism.losses] == ["intersection"]
    assert run.determinism.losses[0].time == pytest.approx(0.1, abs=1e-11)


@pytest.fixture(scope="module")
def parting():
    """Two surfaces that split a stream: what comes down the diagonal ends left or right of it."""

    def field(x, s):
        if s[0] > 0.0 and s[1] > 0.0:
            return (-1.0, -1.0)
        if s[0] > 0.0:
            return (1.0, -1.0)
        return (-1.0, 1.0 if s[1] > 0.0 else -1.0)

    return st.PiecewiseSmooth(h=[lambda x: x[0], lambda x: x[1]], f=field, x0=[1.0, 1.0])


@pytest.mark.parametrize("rtol", [1e-12, 1e-8, 1e-5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_passing_an_intersection_near_a_split_has_a_margin(parting, rtol, side):
    def after(tolerances):
        return st.solve(
            parting, EventDriven(rtol=rtol), (0.0, 2.0), x0=[1.0, 1.0 + side * tolerances * rtol]
        )

    for tolerances in (3.0, 30.0):
        run = after(tolerances)
        assert not run.determinism.losses
        # steps add to the one tolerance that the error is at the least
        assert 0.3 * tolerances < run.determinism.margin <= tolerances
        assert run.final["x1"] == pytest.approx(-side, abs=1e-3)
        assert np.min(run.events["margin"]) == run.determinism.margin
    (loss,) = after(0.5).determinism.losses
    if rtol > 1e-10:
        assert loss.kind == "undecided"
        assert loss.where["of"] == "intersection"
        assert loss.where["margin"] < 1.0
    else:
        # nearer than the best tolerances it is an arrival
        assert loss.kind == "intersection"
    far = after(1e4 if rtol < 1e-6 else 5e3)
    assert not far.determinism.losses
    assert far.determinism.margin == np.inf


def test_either_quadrant_of_an_intersection_can_be_chosen(parting):
    ends = set()
    for side in "+-":
        run = st.solve(
            parting, EventDriven(rtol=1e-8, policy=Leave(side)), (0.0, 2.0), x0=[1.0, 1.0 + 2e-9]
        )
        assert run.determinism.losses[0].kind == "undecided"
        ends.add((round(run.final["x1"]), round(run.final["x2"])))
    assert len(ends) == 2
