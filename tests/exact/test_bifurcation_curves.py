"""Bifurcations of periodic orbits followed in two parameters, against closed conditions."""

import itertools

import numpy as np
import pytest
import sliding_orbits as sliding
import smooth_orbits as smooth
from scipy.optimize import brentq

import stiction as st

SEEDS = range(3)


def den_hartog(side):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side * p.f]


def boundary_of_stops(r):
    """Return f at which Den Hartog's block begins to stop at its turning points."""
    turned = np.sin(np.pi / r) / (r * (1.0 + np.cos(np.pi / r)))
    return 1.0 / np.hypot(turned * (1.0 - r * r), (1.0 - r * r) / (r * r))


def test_den_hartog():
    """The boundary between motions with and without stops, over the frequency of the force."""
    bound = boundary_of_stops(0.7)
    block = st.PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=den_hartog(1.0),
        f_minus=den_hartog(-1.0),
        x0=[0.5, 0.2],
        parameters={"r": 0.7, "f": bound - 0.02},
    )
    cycle = st.find_cycle(
        block,
        (1.0, 0.5),
        sliding.METHOD,
        period=lambda system: 2.0 * np.pi / system.parameter("p.r"),
        settle=40.0,
    )
    branch = st.continue_cycle(cycle, "p.f", (bound - 0.03, bound + 0.03), step=0.03)
    curve = st.continue_cycle(
        branch.bifurcations[0], ("p.r", "p.f"), ((0.6, 3.0), (0.01, 1.0)), step=0.1
    )
    assert curve.kind == "crossing-sliding"
    assert curve.ends == ("p.r reached 0.6", "p.r reached 3")
    assert "crossing-sliding" in repr(curve)
    with pytest.raises(st.ModelError, match="two names"):
        st.continue_cycle(branch.bifurcations[0], "p.r", (0.6, 3.0))
    with pytest.raises(st.ModelError, match="one name"):
        st.continue_cycle(cycle, ("p.r", "p.f"), ((0.6, 3.0), (0.01, 1.0)))
    with pytest.raises(st.ModelError, match="span"):
        st.continue_cycle(branch.bifurcations[0], ("p.r", "p.f"), ((2.0, 3.0), (0.01, 1.0)))
    ratio, friction = curve.values.T
    assert (np.diff(ratio) > 0.0).all()
    assert friction == pytest.approx(boundary_of_stops(ratio), abs=1e-10)
    assert curve.periods == pytest.approx(2.0 * np.pi / ratio, rel=1e-14)


def followed(module, draw, seed, names, widths):
    """Return the curve through the bifurcation of a random instance."""
    one = module.branch_of(draw, seed)[-1].bifurcations[0]
    spans = []
    for name, width in zip(names, widths, strict=True):
        value = one.cycle.system.parameter(name)
        spans.append((value - width, value + width))
    curve = st.continue_cycle(one, names, spans)
    assert all("reached" in end for end in curve.ends), curve
    assert np.ptp(curve.values, axis=0).max() > 1.9 * min(widths)
    return one.cycle.system.parameter, curve


@pytest.mark.parametrize("seed", SEEDS)
def test_flip_and_neimark_sacker(seed):
    for draw in (smooth.flip, smooth.neimark_sacker):
        of, curve = followed(smooth, draw, seed, ("p.a", "p.d1"), (0.02, 0.03))
        a, d1 = curve.values.T
        # the determinant of a linear map
        exact = d1 if draw is smooth.flip else 0.5 * (d1 + of("p.d2"))
        assert a == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_fold(seed):
    _, curve = followed(smooth, smooth.fold, seed, ("p.c", "p.q"), (0.1, 0.005))
    c, q = curve.values.T
    slope = np.tan(np.pi * np.sqrt(q)) / np.sqrt(q)
    exact = 2.0 * (1.0 - np.sqrt(1.0 + q * slope * slope)) / slope / np.pi
    assert c == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_grazing_sliding(seed):
    of, curve = followed(sliding, sliding.grazing_sliding, seed, ("p.b", "p.k"), (0.5, 0.05))
    b, k = curve.values.T
    assert b == pytest.approx(of("p.plus") + k / np.hypot(k, 1.0), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_adding_sliding(seed):
    draw = sliding.adding_sliding
    of, curve = followed(sliding, draw, seed, ("p.b", "p.plus"), (0.01, 0.01))
    gap = sliding.branch_of(draw, seed)[0] - of("p.plus")
    assert curve.values[:, 0] - curve.values[:, 1] == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_switching_sliding(seed):
    draw = sliding.switching_sliding
    of, curve = followed(sliding, draw, seed, ("p.b", "p.minus"), (0.02, 0.1))
    g = sliding.Forcing(of("p.B"), of("p.psi"))
    phases = of("p.phase") + np.linspace(0.0, sliding.TURN, 2001)
    for b, minus in curve.values:
        level = of("p.plus") - b
        # the arc above the surface begins where g rises through the level
        found = []
        for low, high in itertools.pairwise(phases):
            if g(low) < level <= g(high):
                first = brentq(lambda s, level=level: g(s) - level, low, high, xtol=1e-15)

                def height(s, first=first, level=level):
                    return g.integral(s) - g.integral(first) - level * (s - first)

                back = first + np.linspace(0.01, sliding.TURN, 2001)
                k = int(np.argmax(height(back) < 0.0))
                last = brentq(height, back[k - 1], back[k], xtol=1e-15)
                found.append(-b - g(last))
        assert minus == pytest.approx(min(found, key=lambda one: abs(one - minus)), abs=1e-9)
