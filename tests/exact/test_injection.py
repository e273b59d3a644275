"""Pore pressure of an injection: against its closed form, a grid, its own rate, and in units."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import erfc

from stiction.faults import Fault, Injection
from stiction.faults.pressure_kernels import pressures

WELL = Injection(rate=1.25e-6, place=20e3, diffusivity=0.1, storage=1e-9, until=8.64e6)


def means(well, n, width, t):
    """Return the mean pressure of every cell and its rate."""
    pressure, rate = np.zeros(n), np.zeros(n)
    pressures(t, False, well.fluid(width), pressure, rate)
    return pressure, rate


def closed_form(well, z, t):
    """Return eqs. (26) and (27) of the benchmark's description at distances z [Pa]."""

    def growth(since):
        if since <= 0.0:
            return 0.0
        y = abs(z) / np.sqrt(4.0 * well.diffusivity * since)
        return np.sqrt(since) * (np.exp(-y * y) / np.sqrt(np.pi) - y * erfc(y))

    scale = well.rate / (well.storage * np.sqrt(well.diffusivity))
    return scale * (growth(t) - growth(t - (np.inf if well.until is None else well.until)))


@pytest.mark.parametrize("place", [20e3, 19.9e3, 20.05e3, 17.512e3])
@pytest.mark.parametrize("t", [1e3, 1e6, 8.64e6, 8.65e6, 6e7])
def test_cells_have_the_mean_of_the_closed_form(place, t):
    well = Injection(place=place, until=8.64e6)
    edges = np.linspace(0.0, 40e3, 401) - place
    pressure, _ = means(well, 400, 100.0, t)
    for i in (0, 174, 175, 198, 199, 200, 201, 230):
        # the closed form has a kink at the point of injection
        parts = sorted({edges[i], edges[i + 1], min(max(0.0, edges[i]), edges[i + 1])})
        wanted = sum(
            quad(lambda z: closed_form(well, z, t), low, high, epsabs=0.0, epsrel=1e-11)[0]
            for low, high in itertools.pairwise(parts)
        )
        assert pressure[i] == pytest.approx(wanted / 100.0, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("t", [3e3, 2e6, 9e6, 4e7])
def test_its_rate_is_its_derivative(t):
    for place in (20e3, 20.033e3):
        well = Injection(place=place, until=8.64e6)
        h = 1e-4 * min(t, abs(t - 8.64e6))
        shifted = [means(well, 400, 100.0, t + k * h)[0] for k in (-2, -1, 1, 2)]
        slope = (shifted[0] - 8.0 * shifted[1] + 8.0 * shifted[2] - shifted[3]) / (12.0 * h)
        rate = means(well, 400, 100.0, t)[1]
        assert slope == pytest.approx(rate, rel=1e-7, abs=1e-9 * np.abs(rate).max())


def test_the_pressure_diffuses():
    # finite volumes, five in a cell, the source in one of them; sides that let no fluid through
    n, width, parts = 161, 25.0, 5
    well = Injection(place=80.5 * width, until=2e6)
    source = np.zeros(n * parts)
    source[80 * parts + 2] = well.rate / (well.storage * width / parts)

    def grid(start, span, source):
        def rates(t, p):
            flow = np.diff(p, prepend=p[0], append=p[-1])
            return well.diffusivity / (width / parts) ** 2 * np.diff(flow) + source

        done = solve_ivp(rates, span, start, "LSODA", rtol=1e-8, atol=1e-2, lband=1, uband=1)
        return done.y[:, -1]

    first = grid(np.zeros(n * parts), (0.0, 2e6), source)
    last = grid(first, (2e6, 4e6), 0.0 * source)
    for found, t in ((first, 2e6), (last, 4e6)):
        cells = found.reshape(n, parts).mean(axis=1)
        wanted = means(well, n, width, t)[0]
        # the source is a twentieth of its slope wide; fluid that is turned back at the sides
        assert cells[40:121] == pytest.approx(wanted[40:121], abs=1e-3 * wanted.max())
    inside = Injection(place=25e3, until=2e6)
    for t, volume in ((1e6, 1e6), (2e6, 2e6), (4e6, 2e6)):
        stored = means(inside, 2000, width, t)[0].sum() * width * well.storage
        assert stored == pytest.approx(well.rate * volume, rel=1e-10)


def test_nothing_is_pressed_before_injection():
    for t in (-5.0, 0.0):
        assert not np.any(means(WELL, 40, 1e3, t))
    pressure, rate = means(WELL, 40, 1e3, 1e-200)
    assert np.isfinite(pressure).all()
    assert rate[[19, 20]] == pytest.approx(0.5 * 1.25e-6 / 1e-9 / 1e3)
    assert not rate[:19].any()


def test_pressure_does_not_depend_on_units_or_side():
    # kilometres, hours and MPa
    own = Injection(
        rate=1.25e-6 * 1e-3 * 3600.0,
        place=20.0,
        diffusivity=0.1 * 1e-6 * 3600.0,
        storage=1e-9 * 1e6,
        until=2400.0,
    )
    for t in (1e6, 2e7):
        si, scaled = means(WELL, 399, 40e3 / 399, t)[0], means(own, 399, 40.0 / 399, t / 3600.0)[0]
        assert 1e6 * scaled == pytest.approx(si, rel=1e-9, abs=1e-6)
        assert si[::-1] == pytest.approx(si, rel=1e-9, abs=1e-6)


def test_a_fault_says_its_pressure():
    fault = Fault(cells=64, surface="none", injection=WELL)
    assert np.array_equal(fault.pore_pressure(1e7), means(WELL, 64, 625.0, 1e7)[0])
    assert not Fault(cells=64).pore_pressure(1e7).any()
    both = fault.pore_pressure([0.0, 1e7])
    assert np.array_equal(both, [np.zeros(64), fault.pore_pressure(1e7)])
