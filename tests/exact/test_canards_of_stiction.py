"""A forced block with static friction above kinetic, whose slip may start late: canards.

x'' + k x = -sin t + friction, with static friction S > 1 and kinetic friction D. A symmetric orbit
sticks at x0, slips to -x0 from the onset on, and sticks there until half a period after the onset.
Stick at x0 = (S - 1) / k touches the static bound at t = pi/2 and turns back: from there on slip
may start at any time while k x0 + sin t > D. Periodicity determines the onset. These orbits start
where the unstable orbits with a regular onset end, and go on to a rigid block (k to infinity).
Friction as a smooth function of the velocity over `eps` follows them along its unstable slow
manifold. Their multiplier then depends on `eps`, and their onset does not, as `eps` goes to 0.

Source: Bossolini, Broens, Kristiansen, arXiv 1703.08437 (model, slow manifold, saddle orbits that
join both branches); the conditions below are derived here.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

import stiction as st

STATIC, KINETIC = 1.1, 0.4
PERIOD = 2.0 * np.pi
# where kinetic friction would no longer let a block slip that sticks at x0 = (S - 1) / k
LAST = np.pi - np.arcsin(KINETIC - STATIC + 1.0)


def slip(onset, x0, k):
    """Return the end of the slip from x0 > 0, and x(t), v(t) during it, in closed form."""
    w = np.sqrt(k)
    mean, cosine = KINETIC / k, 1.0 / (k - 1.0)
    a = x0 - mean + cosine * np.sin(onset)
    b = cosine * np.cos(onset) / w

    def x(t):
        s = w * (t - onset)
        return mean - cosine * np.sin(t) + a * np.cos(s) + b * np.sin(s)

    def v(t):
        s = w * (t - onset)
        return -cosine * np.cos(t) + w * (b * np.cos(s) - a * np.sin(s))

    times = np.linspace(onset + 1e-3, onset + PERIOD, 4001)
    first = int(np.argmax(v(times) >= 0.0))
    return brentq(v, times[first - 1], times[first], xtol=1e-14), x, v


def regular(onset, k):
    """Return x at the end of slip + x0, for an onset where the force reaches the static bound."""
    x0 = (STATIC - np.sin(onset)) / k
    end, x, _ = slip(onset, x0, k)
    return x(end) + x0


def late(onset, k):
    """Return the same for an onset after the force has touched the static bound."""
    x0 = (STATIC - 1.0) / k
    end, x, _ = slip(onset, x0, k)
    return x(end) + x0


def block(k, x0=0.0):
    load = st.chains.Sine(-1.0, 1.0, 0.0)
    law = st.StaticKinetic(STATIC, KINETIC)
    return st.Chain(
        mass=[1.0], stiffness=[k], law=law, normal_force=[1.0], load=load, x0=[x0], v0=[0.0]
    )


def test_a_late_onset_is_a_loss_of_determinism():
    run = st.solve(block(4.0, (STATIC - 1.0) / 4.0), t_span=(0.0, 4.0), save=2)
    (loss,) = run.determinism.losses
    assert loss.kind == "grazing_onset"
    assert loss.time == pytest.approx(np.pi / 2, abs=1e-7)


def test_the_regular_branch_ends_where_late_onsets_begin():
    onset = brentq(regular, 1.4, 1.55, args=(0.25,), xtol=1e-14)
    cycle = st.find_cycle(block(0.25), [(STATIC - np.sin(onset)) / 0.25, 0.0], period=PERIOD)
    assert not cycle.stable
    times = dict(zip(cycle.order, [event.time for event in cycle.events], strict=True))
    assert (times["slip- 1"] - onset + 1.0) % PERIOD == pytest.approx(1.0, abs=1e-10)
    branch = st.continue_cycle(cycle, "stiffness[0]", (0.25, 0.4))
    # both conditions at once: an onset at pi/2
    exact = brentq(lambda k: regular(np.pi / 2, k), 0.25, 0.35, xtol=1e-14)
    assert abs(late(np.pi / 2, exact)) < 1e-13
    assert branch.values[-1] == pytest.approx(exact, abs=2e-4)
    assert "grazing" in branch.ends[1]


@pytest.mark.parametrize("k", [0.35, 0.7, 4.0, 64.0, 1e4])
def test_late_onsets_go_on_to_a_rigid_block(k):
    """There is one late onset for each k, and the block sticks until the other bound is touched."""
    onsets = np.linspace(np.pi / 2, LAST, 401)[1:-1]
    values = [late(onset, k) for onset in onsets]
    assert np.count_nonzero(np.diff(np.sign(values))) == 1
    onset = brentq(late, onsets[0], onsets[-1], args=(k,))
    end, x, _ = slip(onset, (STATIC - 1.0) / k, k)
    assert end < onset + np.pi
    assert abs(k * x(end) + np.sin(end)) < STATIC


# ---- friction as a smooth function


def curve(s, c):
    """Return friction over the normal force at the velocity s eps; it has one maximum, S at c."""
    return KINETIC * s / np.sqrt(1.0 + s**2) + c * s / (1.0 + s**2) ** 2


def highest(c):
    found = minimize_scalar(lambda s: -curve(s, c), bounds=(0.0, 3.0), method="bounded")
    return found.x, -found.fun


PEAK = brentq(lambda c: highest(c)[1] - STATIC, 1.0, 5.0, xtol=1e-14)


def smooth(k, eps):
    def field(t, x, p):
        s = x[1] / p.eps
        friction = p.kinetic * s / np.sqrt(1.0 + s**2) + p.peak * s / (1.0 + s**2) ** 2
        return [x[1], -p.k * x[0] - np.sin(t) - friction]

    parameters = {"k": k, "eps": eps, "kinetic": KINETIC, "peak": PEAK}
    outside = {"h": lambda x: x[0] + 100.0, "f_minus": lambda x: [0.0, 0.0]}
    return st.PiecewiseSmooth(**outside, f_plus=field, x0=[0.0, 0.0], parameters=parameters)


def near(t, k, eps):
    """Return a state of the discontinuous orbit, in stick with v of the slow manifold."""
    x0 = (STATIC - 1.0) / k
    onset = brentq(late, np.pi / 2 + 1e-3, LAST - 1e-3, args=(k,), xtol=1e-13)
    end, x, v = slip(onset, x0, k)
    side, t = (1.0, t) if onset <= t < onset + np.pi else (-1.0, (t - np.pi) % PERIOD)
    if t < onset:
        t += PERIOD
    if t < end:
        return side * x(t), side * v(t)
    force = k * x0 - np.sin(t)
    s, top = abs(force), highest(PEAK)[0]
    since = (t - 1.5 * np.pi + np.pi) % PERIOD - np.pi
    if since > 0.0 and force > KINETIC:
        v = eps * brentq(lambda a: curve(a, PEAK) - s, top, 100.0)
    else:
        v = np.sign(force) * eps * brentq(lambda a: curve(a, PEAK) - s, 0.0, top)
    return -side * x0, side * v


def test_a_smooth_law_has_the_same_orbit_but_not_its_multiplier():
    k, x0, distances, multipliers = 4.0, (STATIC - 1.0) / 4.0, [], []
    method = st.switching.EventDriven(rtol=1e-9)
    for eps in (0.1, 0.07):
        states = [near(PERIOD * i / 30, k, eps) for i in range(30)]
        cycle = st.find_cycle(smooth(k, eps), states, method, period=PERIOD)
        distances.append((cycle.state[0] - x0) / eps)
        multipliers.append(abs(cycle.multipliers).max())
        slow = smooth(k, eps)
        run = solve_ivp(
            lambda t, x, flow=slow: flow.field(np.append(x, t), 1.0)[:2],
            *((0.0, PERIOD), cycle.state),
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
        )
        np.testing.assert_allclose(run.y[:, -1], cycle.state, atol=1e-8 * multipliers[-1])
    # reason: the next term of the distance over eps falls with eps, by 6 % from 0.1 to 0.07
    assert distances[1] == pytest.approx(distances[0], rel=0.1)
    assert multipliers[0] > 600.0
    assert multipliers[1] > 10.0 * multipliers[0]
