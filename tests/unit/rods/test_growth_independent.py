"""Spectra against what is known of noise and of lines, in closed form."""

import importlib
import importlib.util
import math
from types import SimpleNamespace

import numpy as np
import pytest


def private():
    """Return what has no public name: the module of growth, and the variable of a run."""
    strings = importlib.util.find_spec("stiction.rods.strings")
    folder = strings.submodule_search_locations is not None
    home = "stiction.rods.strings" if folder else "stiction.rods"
    growth = importlib.import_module(f"{home}.growth")
    return growth, importlib.import_module("stiction.core.run").Variable


def spectrum_of(signal, step):
    growth, variable = private()
    series = {"u1": variable(signal, ("time",), "1", "")}
    run = SimpleNamespace(variables=series, time=step * np.arange(signal.size), system=None)
    return growth.spectrum(run)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_white_noise_is_as_flat_as_an_exponential_law(seed):
    # densities of noise are exponential: geometric over arithmetic mean = exp(-Euler's number)
    noise = np.random.default_rng(seed).standard_normal(400_001)
    flatness = spectrum_of(noise, 0.1).flatness
    # the logarithm of an exponential law scatters by pi / sqrt(6), and Hann couples neighbours
    error = math.exp(-np.euler_gamma) * math.pi / math.sqrt(6.0) / math.sqrt(200_000 / 2.0)
    assert abs(flatness - math.exp(-np.euler_gamma)) < 4.0 * error


def test_the_density_of_noise_is_its_variance_over_the_band():
    # sigma^2 over frequencies up to pi / step
    noise = 3.0 * np.random.default_rng(7).standard_normal(40_001)
    found = spectrum_of(noise, 0.05)
    assert found.density.mean() == pytest.approx(9.0 / (math.pi / 0.05), rel=2e-2)  # reason: noise


def test_a_line_between_two_frequencies_keeps_its_power():
    # amplitude 0.7: half its square, wherever it lies between the frequencies of the transform
    step, count = 0.01, 8000
    for place in (50.0, 50.25, 50.5):
        omega = 2.0 * math.pi * place / (step * count)
        found = spectrum_of(0.7 * np.sin(omega * step * np.arange(count) + 0.3), step)
        assert found.density.sum() * found.resolution == pytest.approx(0.245, rel=1e-3)
        mean = (found.omega * found.density).sum() / found.density.sum()
        assert mean == pytest.approx(omega, rel=1e-3)


def test_one_line_is_no_noise():
    signal = np.cos(2.0 * math.pi * 40.0 / 4000.0 * np.arange(4000))
    assert spectrum_of(signal, 1.0).flatness < 1e-6
