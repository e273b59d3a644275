"""Sliding bifurcations of x'' + x = sin(r t) - f sgn x' in the plane (r, f), near r = 1/2.

Right of r = 1/2 the motion without stops ends at a crossing-sliding bifurcation. Left of it the arc
grazes x' = 0. The curves meet at r = 1/2, f = 1/3. The turning points begin to stick at a
switching-sliding bifurcation, where an arc takes a whole period 2 pi of the free oscillator. There
a multiplier is 1, because nothing damps the motion, and the value has an error of up to 1e-5.

Source: Kowalczyk, Piiroinen 2008 (the oscillator and its diagram). The curves are compared with the
defining equations on explicit arcs.
"""

import numpy as np
import pytest
from scipy.optimize import fsolve

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)


def slip(side):
    return lambda t, x, p: [x[1], -x[0] + np.sin(p.r * t) - side * p.f]


BLOCK = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=slip(1.0),
    f_minus=slip(-1.0),
    x0=[0.5, 0.2],
    names=["x", "v"],
    parameters={"r": 0.5, "f": 0.3},
)


def period(system):
    return 2.0 * np.pi / system.parameter("p.r")


@pytest.fixture(scope="module")
def curves():
    """Return branches on both sides of r = 1/2, and the curves by kind."""
    found, branches = {}, []
    for r, span in ((0.48, (0.46, 0.49)), (0.52, (0.501, 0.6))):
        system = BLOCK.with_parameters(r=r, f=0.4)
        start = st.find_cycle(system, (1.0, 0.5), METHOD, period=period, settle=80.0)
        branch = st.continue_cycle(start, "p.f", (0.25, 0.45), step=0.2)
        branches.append(branch)
        for one in branch.bifurcations:
            if one.kind == "switching-sliding":
                continue
            found[one.kind] = st.continue_cycle(one, ("p.r", "p.f"), (span, (0.2, 0.6)), step=0.1)
    return branches, found


def arc(r, f, start, x, end):
    """Return x, x' and x'' at the end of an arc with x' > 0 that starts at rest."""
    gain = 1 / (1 - r * r)
    a = x - gain * np.sin(r * start) + f
    b = -gain * r * np.cos(r * start)
    c, s = np.cos(end - start), np.sin(end - start)
    place = gain * np.sin(r * end) - f + a * c + b * s
    speed = gain * r * np.cos(r * end) - a * s + b * c
    return place, speed, np.sin(r * end) - place - f


def crossing(r, t0, turn, f):
    """The motion without stops, at whose turning points the friction just holds."""
    end = t0 + np.pi / r
    place, speed, _ = arc(r, f, t0, -turn, end)
    return place - turn, speed, np.sin(r * end) - turn + f


def grazing(r, t0, turn, touch, f):
    """The motion without stops, whose speed touches zero between the turning points."""
    place, speed, _ = arc(r, f, t0, -turn, t0 + np.pi / r)
    return place - turn, speed, *arc(r, f, t0, -turn, touch)[1:]


def test_kinds(curves):
    left, right = [[one.kind for one in branch.bifurcations] for branch in curves[0]]
    assert left == ["grazing-sliding", "switching-sliding"]
    assert right == ["crossing-sliding"]
    for kind, curve in curves[1].items():
        ends = (0.501, 0.6) if kind == "crossing-sliding" else (0.46, 0.49)
        assert curve.ends == tuple(f"p.r reached {end:g}" for end in ends), curve
        assert len(curve.values) > 3


def test_switching_sliding(curves):
    """The arc from -x at t2 - pi/r to x at t1 takes 2 pi; sin(r t) is the same at t1 and t2."""
    r = 0.48
    t1, t2 = np.pi, np.pi / r - np.pi
    # over 2 pi only the forced part changes: x + x = g (sin r t1 - sin r (t2 - pi/r))
    turn = np.sin(r * t1) / (1.0 - r * r)
    assert np.sin(r * t2) == pytest.approx(np.sin(r * t1), abs=1e-14)
    exact = turn - np.sin(r * t1)
    assert curves[0][0].bifurcations[1].value == pytest.approx(exact, abs=1e-5)


def events_beside(r, f):
    """Return (time, x, mode before, mode after) of the last events of a run beside a curve."""
    system = BLOCK.with_parameters(r=r, f=f - 1e-6)
    run = st.solve(system.at_state(np.array([1.0, 0.5])), METHOD, (0.0, 12.0 * period(system)))
    log = run.event_log
    columns = log.time, log.columns["x"], log.before, log.after
    return [row for row in zip(*columns, strict=True) if row[0] > 9.0 * period(system)]


@pytest.mark.parametrize("kind", ["crossing-sliding", "grazing-sliding"])
def test_against_the_defining_equations(curves, kind):
    curve = curves[1][kind]
    for (r, f), (x, _) in zip(curve.values, curve.states, strict=True):
        rows = events_beside(r, f)
        first = next(k for k, row in enumerate(rows) if row[3] == "+" and row[1] < 0.0)
        t0, turn = rows[first][0], -rows[first][1]
        if kind == "crossing-sliding":
            equations, guess = crossing, (t0, turn, f)
        else:
            times = t0 + np.linspace(0.05, 0.99, 2000) * np.pi / r
            place, speed, _ = arc(r, f, t0, -turn, times)
            touch = times[np.argmin(np.abs(np.abs(place) - np.abs(x)) + np.abs(speed))]
            equations, guess = grazing, (t0, turn, touch, f)
        solved, _, ended, message = fsolve(
            lambda u, equations=equations, r=r: equations(r, *u),
            guess,
            xtol=1e-15,
            full_output=True,
        )
        assert np.abs(equations(r, *solved)).max() < 1e-13, message
        assert solved[-1] == pytest.approx(f, abs=1e-10), ended


def test_the_point_where_they_meet(curves):
    """Extrapolation in r to 1/2."""
    for curve in curves[1].values():
        near = curve.values[np.argsort(np.abs(curve.values[:, 0] - 0.5))[:4]]
        fit = np.polyfit(near[:, 0] - 0.5, near[:, 1], 3)
        assert fit[-1] == pytest.approx(1.0 / 3.0, abs=2e-4)
