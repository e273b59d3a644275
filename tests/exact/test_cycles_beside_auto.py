"""Folds and flips of smooth systems as AUTO-07p locates them (benchmarks/peer_auto.py).

AUTO solves by collocation on 100 intervals with 5 points each and EPSL = EPSU = 1e-10, and writes
ten digits.
"""

import numpy as np
import pytest

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)
FLIP, FOLDS = 2.8324450281, (1.7797195243, 1.3242362008)


def test_flip_of_roessler():
    def field(x, p):
        return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p.c)]

    flow = st.PiecewiseSmooth(
        h=lambda x: x[1], f_plus=field, f_minus=field, x0=[1.0, 1.0, 0.0], parameters={"c": 2.8}
    )
    # so near the flip, the state of a run comes back more closely after two turns
    cycle = st.find_cycle(flow, [1.0, 1.0, 0.0], METHOD, settle=400.0)
    assert len(cycle.events) == 2
    assert cycle.multipliers.real.min() == pytest.approx(-0.97835922, abs=1e-6)
    branch = st.continue_cycle(cycle, "p.c", (2.8, 2.9))
    assert [one.kind for one in branch.bifurcations] == ["flip"]
    assert branch.bifurcations[0].value == pytest.approx(FLIP, abs=1e-9)


def duffing(value, growth=None):
    """Return the forced oscillator, and with `growth` a third state that grows beside it."""

    def field(t, x, p):
        rates = [x[1], -0.1 * x[1] - x[0] - x[0] ** 3 + 0.3 * np.cos(p.w * t)]
        return rates if growth is None else [*rates, growth * x[2] + x[0]]

    start = [0.0] * (2 if growth is None else 3)
    return st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0,
        f_plus=field,
        f_minus=lambda x: start,
        x0=start,
        parameters={"w": value},
    )


def period_of(system):
    return 2.0 * np.pi / system.parameter("p.w")


def test_a_fold_of_duffing():
    cycle = st.find_cycle(duffing(1.36), [-0.4, 0.0], METHOD, period=period_of, settle=200.0)
    (found,) = st.continue_cycle(cycle, "p.w", (1.3, 1.36)).bifurcations
    assert found.kind == "fold"
    assert found.value == pytest.approx(FOLDS[1], abs=1e-9)


def test_a_fold_with_a_multiplier_of_7e3():
    """A third state z' = a z + x does not change the fold, and adds the multiplier exp(a T)."""
    value, growth, nodes = 1.75, 2.5, 8
    plane = st.find_cycle(duffing(value), [0.0, 2.5], METHOD, period=period_of, settle=200.0)
    data = plane.run(257).data
    phase = round(256 * plane.start / plane.period)
    orbit = np.roll(np.column_stack([data["x1"], data["x2"]])[:-1], phase, axis=0)
    # the bounded solution of z, from the Fourier series of x
    rates = 2j * np.pi / plane.period * np.fft.fftfreq(256, 1 / 256)
    third = np.fft.ifft(np.fft.fft(orbit[:, 0]) / (rates - growth)).real
    guess = np.column_stack([orbit, third])[:: 256 // nodes]
    cycle = st.find_cycle(duffing(value, growth), guess, METHOD, period=period_of)
    branch = st.continue_cycle(cycle, "p.w", (1.75, 1.8))
    (found,) = branch.bifurcations
    assert found.kind == "fold"
    assert found.value == pytest.approx(FOLDS[0], abs=1e-9)
    grows = np.exp(growth * 2.0 * np.pi / found.value)
    assert grows > 5e3
    sizes = np.sort(np.abs(found.cycle.multipliers))
    assert sizes[1:] == pytest.approx([1.0, grows], rel=1e-5)
    # the branch turns back at the fold
    assert branch.values[0] == branch.values[-1] == 1.75
