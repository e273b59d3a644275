"""Lyapunov exponents by renormalisation, against closed forms and Floquet multipliers."""

import numpy as np
import pytest

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)


def smooth(field, x0, **parameters):
    """A flow whose surface is never reached."""
    return st.PiecewiseSmooth(
        h=lambda x: x[0] + 1e6, f_plus=field, f_minus=field, x0=x0, parameters=parameters or None
    )


def linear(matrix, x0):
    (a, b, c), (d, e, f), (g, h, i) = np.asarray(matrix).tolist()
    return smooth(
        lambda x: [
            a * x[0] + b * x[1] + c * x[2],
            d * x[0] + e * x[1] + f * x[2],
            g * x[0] + h * x[1] + i * x[2],
        ],
        x0,
    )


BASIS = np.array([[1.0, 0.5, -0.3], [0.2, 1.0, 0.4], [-0.6, 0.1, 1.0]])


def test_real_eigenvalues():
    rates = [0.1, -0.5, -1.5]
    flow = linear(BASIS @ np.diag(rates) @ np.linalg.inv(BASIS), [1.0, 0.5, -0.2])
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, 120.0), settle=80.0)
    assert found.exponents == pytest.approx(rates, abs=1e-9)
    assert (found.errors < 1e-8).all()
    assert (found.start, found.end) == (80.0, 120.0)
    assert found.running[-1] == pytest.approx(rates, abs=1e-9)
    assert not found.failures


def test_complex_eigenvalues():
    """The plane of the pair turns; over half turns its directions come back."""
    block = np.array([[-0.2, 1.3, 0.0], [-1.3, -0.2, 0.0], [0.0, 0.0, -1.0]])
    flow = linear(BASIS @ block @ np.linalg.inv(BASIS), [1.0, 0.5, -0.2])
    settle, turn = 60.0, 2.0 * np.pi / 1.3
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, settle + 4.0 * turn), settle=settle)
    assert found.exponents == pytest.approx([-0.2, -0.2, -1.0], abs=1e-9)


def test_a_fast_decay_is_not_forgotten():
    """It falls below rounding within a segment until this is halved."""
    flow = smooth(lambda x: [-x[0], -3000.0 * x[1]], [1.0, 0.5])
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, 4.0), settle=2.0)
    assert found.exponents == pytest.approx([-1.0, -3000.0], rel=1e-8)


def test_whole_periods_before_the_average():
    """A block that slips on a fast belt; its velocity vanishes at each whole period."""
    block = st.Chain(
        mass=[1.0], stiffness=1.0, gravity=1.0, law=st.Coulomb(0.1), belt_speed=9.0, x0=1.1
    )
    turn = 2.0 * np.pi
    found = st.studies.lyapunov_exponents(block, None, (0.0, 40.0 * turn), settle=32.0 * turn)
    assert found.exponents == pytest.approx([0.0, 0.0], abs=1e-12)


def test_stick_may_remove_every_perturbation():
    relay = st.PiecewiseSmooth(
        h=lambda x: x[0], f_plus=lambda x: [-1.0], f_minus=lambda x: [1.0], x0=[1.0]
    )
    found = st.studies.lyapunov_exponents(relay, METHOD, (0.0, 4.0))
    assert found.exponents.tolist() == [-np.inf]


LORENZ = smooth(
    lambda x, p: [
        10.0 * (x[1] - x[0]),
        x[0] * (p.r - x[2]) - x[1],
        x[0] * x[1] - 8.0 / 3.0 * x[2],
    ],
    [1.0, 1.0, 20.0],
    r=28.0,
)


def test_lorenz():
    """The values 0.9056, 0 and -14.5723 of the literature; their sum is the divergence."""
    one = st.studies.lyapunov_exponents(LORENZ, METHOD, (0.0, 300.0), settle=20.0)
    other = st.studies.lyapunov_exponents(LORENZ.at_state([-3.0, 4.0, 15.0]), METHOD, (0.0, 200.0))
    for found in (one, other):
        assert (np.abs(found.exponents - [0.9056, 0.0, -14.5723]) < 4.0 * found.errors).all()
        assert (found.errors < 0.05).all()
        assert found.exponents.sum() == pytest.approx(-41.0 / 3.0, abs=1e-10)
        assert found.exponents[1] == pytest.approx(0.0, abs=0.02)  # reason: ln(speeds) / time
    # the error falls with the time of the average
    early = one.running[np.searchsorted(one.time, 30.0)]
    assert np.abs(early - one.exponents).max() > one.errors.max()


def crossing(side):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side * p.f]


def test_den_hartog():
    """A block that turns without stops; the modulus of both multipliers is known."""
    block = st.PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=crossing(1.0),
        f_minus=crossing(-1.0),
        x0=[1.0, 0.5],
        parameters={"r": 0.7, "f": 0.3},
    )
    period = 2.0 * np.pi / 0.7
    found = st.studies.lyapunov_exponents(block, METHOD, (0.0, 80.0 * period), settle=40.0 * period)
    rate = np.log(0.509801088788811) / period
    assert found.exponents.sum() == pytest.approx(2.0 * rate, abs=1e-9)
    assert (np.abs(found.exponents - rate) < found.errors).all()


def test_the_sum_is_the_divergence():
    """A piecewise-linear oscillator: saltation matrices of continuous fields are 1."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] - 1.0,
        f_plus=lambda t, x: [x[1], -0.1 * x[1] - x[0] - 20.0 * (x[0] - 1.0) + np.cos(t)],
        f_minus=lambda t, x: [x[1], -0.1 * x[1] - x[0] + np.cos(t)],
        x0=[0.1, 0.2],
    )
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, 300.0))
    assert found.exponents.sum() == pytest.approx(-0.1, abs=1e-11)


CYCLES = {
    "belt": (st.BeltOscillator(), (0.0, 0.5)),
    "relay": (st.switching.RelayFeedback(), (1.0, 0.2, 0.1)),
    "wheel": (st.WheelOnTurntable(), (0.705371, 0.026210, -0.911041)),
}


@pytest.mark.parametrize("name", CYCLES)
@pytest.mark.parametrize("later", [0.0, 0.31])
def test_cycles(name, later):
    """The exponents are 0 and log |multiplier| / period, wherever the average begins."""
    cycle = st.find_cycle(*CYCLES[name], METHOD)
    settle, whole = (100.0 + later) * cycle.period, 4.0 * cycle.period
    flow = cycle.system.at_state(cycle.state)
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, settle + whole), settle=settle)
    # what is rounding of 0 belongs to stick
    sizes = [size if size > 1e-11 else 0.0 for size in np.abs(cycle.multipliers)]
    with np.errstate(divide="ignore"):
        expected = np.log(sizes) / cycle.period
    assert found.exponents == pytest.approx([0.0, *expected], abs=1e-8)
    assert ("stick removes perturbations" in repr(found)) == (name != "relay")


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_time_and_length_do_not_matter(unit):
    """The exponents of a relay in a loop of three poles, as a chain of integrators."""

    def relay(time, length):
        """x''' + 3 x'' + 3 x' + x = -sgn(x), with x in other units."""
        a = 1.0 / time

        def field(side):
            return lambda x, p: [
                x[1],
                x[2],
                -3.0 * a * x[2] - 3.0 * a**2 * x[1] - a**3 * (x[0] + side * length),
            ]

        start = np.array([0.2, 0.3, -0.1]) * length * a ** np.arange(3.0)
        return st.PiecewiseSmooth(
            h=lambda x: x[0] / length,
            f_plus=field(1.0),
            f_minus=field(-1.0),
            x0=start,
            scale=length * a ** np.arange(3.0),
        )

    def exponents(time, length):
        span = (0.0, 100.0 * time)
        found = st.studies.lyapunov_exponents(relay(time, length), METHOD, span, settle=60.0 * time)
        return found.exponents * time

    expected = exponents(1.0, 1.0)
    assert exponents(unit, 1.0) == pytest.approx(expected, abs=1e-7)
    assert exponents(1.0, unit) == pytest.approx(expected, abs=1e-7)


def pressed(side):
    """Feeny and Moon 1994: friction under a normal force 1 + k x that may vanish."""
    return lambda t, x, p: [
        x[1],
        -x[0] - side * max(1.0 + 1.5 * x[0], 0.0) + 1.9 * np.cos(1.25 * t),
    ]


PRESSED = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=pressed(1.0),
    f_minus=pressed(-1.0),
    kinks=[lambda x: 1.0 + 1.5 * x[0]],
    x0=[0.5, 0.3],
)


def test_chaos_with_stick():
    """Against the distance of two neighbours along the same motion."""
    start, end, distance = 100.0, 600.0, 1e-7
    found = st.studies.lyapunov_exponents(PRESSED, METHOD, (0.0, end), settle=start)
    assert found.exponents[0] > 4.0 * found.errors[0]
    assert found.exponents[1] == -np.inf
    one, growth = PRESSED.tangents(METHOD, (0.0, start), ()).final, 0.0
    other = one + np.array([distance, 0.0])
    for time in np.arange(start, end, 2.0):
        ends = [
            PRESSED.at_state(x).tangents(METHOD, (time, time + 2.0), ()).final for x in (one, other)
        ]
        size = float(np.linalg.norm(ends[1] - ends[0]))
        growth += np.log(size / distance)
        one, other = ends[0], ends[0] + (ends[1] - ends[0]) * distance / size
    assert found.exponents[0] == pytest.approx(growth / (end - start), abs=0.01)


def test_chains():
    """Two masses that turn, one that sticks and slips on a belt, and two that always stick."""
    period = 2.0 * np.pi / 0.9
    load = st.chains.Sine(0.8, 0.9)
    pair = st.Chain(
        mass=1.0, n=2, stiffness=1.0, damping=0.1, gravity=1.0, law=st.Coulomb(0.2), load=load
    )
    cycle = st.find_cycle(pair, [0.1, 0.2, 0.0, 0.0], period=period, settle=60.0 * period)
    span, settle = (cycle.start, cycle.start + 100.0 * period), 60.0 * period
    found = st.studies.lyapunov_exponents(pair.at_state(cycle.state), None, span, settle=settle)
    expected = np.log(np.abs(cycle.multipliers)) / period
    assert found.exponents.sum() == pytest.approx(expected.sum(), abs=1e-9)
    assert (np.abs(found.exponents - expected) < found.errors).all()

    law = st.StaticKinetic(0.5, 0.3)
    block = st.Chain(
        mass=[1.0], stiffness=1.0, gravity=1.0, law=law, belt_speed=0.2, x0=0.25, v0=0.2
    )
    period = 2.0 + 2.0 * (np.pi - np.arctan(1.0))
    found = st.studies.lyapunov_exponents(block, None, (0.0, 30.0 * period), settle=10.0 * period)
    assert found.exponents.tolist() == pytest.approx([0.0, -np.inf], abs=1e-12)

    stuck = st.Chain(mass=[1.0, 1.0], stiffness=1.0, gravity=1.0, law=st.Coulomb(5.0), x0=0.1)
    found = st.studies.lyapunov_exponents(stuck, None, (0.0, 10.0))
    assert found.exponents.tolist() == [0.0, 0.0, -np.inf, -np.inf]


def test_a_motion_without_derivatives():
    """It reaches a two-fold at t = 0.525; the average ends before it."""
    flow = st.switching.NormalForm(J1=-1.5, J2=-2.0)
    found = st.studies.lyapunov_exponents(flow, METHOD, (0.0, 0.6), settle=0.05)
    assert [one.kind for one in found.failures] == ["two-fold"]
    assert found.end == pytest.approx(0.525, abs=1e-6)
    assert found.failures[0].time == pytest.approx(0.525)
    assert np.isfinite(found.exponents[0])
    assert "two-fold" in repr(found)
    for settle in (1.2, 3.0):
        with pytest.raises(st.SolveError, match=r"two-fold at t = 0\.525"):
            st.studies.lyapunov_exponents(flow, METHOD, (0.0, 4.0), settle=settle)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"t_span": (1.0, 1.0)}, "an end after the start"),
        ({"settle": 0.0}, "settle: got"),
        ({"settle": 1.0}, "less than the span"),
        ({"system": st.Rods}, "supplies derivatives"),
    ],
)
def test_what_is_refused(given, match):
    given = {"system": LORENZ, **given}
    with pytest.raises(st.ModelError, match=match):
        st.studies.lyapunov_exponents(**given)
