"""Sliding bifurcations of x'' + x = sin(r t) - f sgn x' in the plane (r, f), near r = 1/2.

Right of r = 1/2 the motion without stops ends at a crossing-sliding bifurcation. Left of it the arc
grazes x' = 0 and begins to stick in between; the turning points stick behind a switching-sliding
bifurcation. The three curves meet at r = 1/2, f = 1/3.

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
    """Return the curves by kind: followed from branches on both sides of r = 1/2."""
    found = {}
    for r, span in ((0.48, (0.46, 0.499)), (0.52, (0.501, 0.6))):
        system = BLOCK.with_parameters(r=r, f=0.4)
        start = st.find_cycle(system, (1.0, 0.5), METHOD, period=period, settle=80.0)
        branch = st.continue_cycle(start, "p.f", (0.25, 0.45), step=0.2)
        for one in branch.bifurcations:
            found[one.kind] = st.continue_cycle(one, ("p.r", "p.f"), (span, (0.2, 0.6)), step=0.1)
    return found


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


def switching(r, t0, turn, stop, stopped, go, f):
    """A motion that stops in between, at whose turning points the friction just holds."""
    place, speed, _ = arc(r, f, t0, -turn, stop)
    end = t0 + np.pi / r
    last, at_rest, _ = arc(r, f, go, stopped, end)
    return (
        place - stopped,
        speed,
        np.sin(r * go) - stopped - f,
        last - turn,
        at_rest,
        np.sin(r * end) - turn + f,
    )


def test_kinds(curves):
    assert set(curves) == {"crossing-sliding", "grazing-sliding", "switching-sliding"}
    for kind, curve in curves.items():
        ends = (0.501, 0.6) if kind == "crossing-sliding" else (0.46, 0.499)
        assert curve.ends == tuple(f"p.r reached {end:g}" for end in ends), curve
        assert len(curve.values) > 3


def events_beside(kind, r, f):
    """Return (time, x, mode before, mode after) of the last events of a run beside a curve."""
    system = BLOCK.with_parameters(r=r, f=f + (1e-6 if kind == "switching-sliding" else -1e-6))
    run = st.solve(system.at_state(np.array([1.0, 0.5])), METHOD, (0.0, 12.0 * period(system)))
    log = run.event_log
    columns = log.time, log.columns["x"], log.before, log.after
    return [row for row in zip(*columns, strict=True) if row[0] > 9.0 * period(system)]


@pytest.mark.parametrize("kind", ["crossing-sliding", "grazing-sliding", "switching-sliding"])
def test_against_the_defining_equations(curves, kind):
    for r, f in curves[kind].values:
        rows = events_beside(kind, r, f)
        first = next(k for k, row in enumerate(rows) if row[3] == "+" and row[1] < 0.0)
        t0, turn = rows[first][0], -rows[first][1]
        if kind == "crossing-sliding":
            equations, guess = crossing, (t0, turn, f)
        elif kind == "grazing-sliding":
            times = t0 + np.linspace(0.05, 0.95, 400) * np.pi / r
            touch = times[np.argmin(arc(r, f, t0, -turn, times)[1])]
            equations, guess = grazing, (t0, turn, touch, f)
        else:
            later = rows[first + 1 :]
            stop = next(row for row in later if row[3] == "slide")
            go = next(row for row in later if row[2] == "slide" and row[3] == "+")
            equations, guess = switching, (t0, turn, stop[0], stop[1], go[0], f)
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
    for curve in curves.values():
        near = curve.values[np.argsort(np.abs(curve.values[:, 0] - 0.5))[:4]]
        fit = np.polyfit(near[:, 0] - 0.5, near[:, 1], 3)
        assert fit[-1] == pytest.approx(1.0 / 3.0, abs=2e-4)
