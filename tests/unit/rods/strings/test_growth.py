"""Growth of small differences and spectra, on signals whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.core.run import Variable
from stiction.errors import ModelError
from stiction.rods import RollingStrings, Sine
from stiction.rods.strings.growth import fitted, growth, spectrum

TIME = np.linspace(0.0, 100.0, 1001)


def signal_run(values, time=TIME, system=None):
    """Return what `spectrum` reads of a run."""
    return SimpleNamespace(
        variables={"u1": Variable(values, ("time",), "1", "")}, time=time, system=system
    )


class MadeUp:
    """A method whose runs part by a given factor of time."""

    def __init__(self, part):
        self.part = part

    def solve(self, system, request):
        t = request.save
        shape = (t.size, 3)
        moved = system.s2 - 2.5
        values = {name: np.zeros(shape) for name in ("u", "v", "u_t", "v_t")}
        values["u"] = np.sin(t)[:, None] + np.zeros(shape)
        variables = {k: Variable(v, ("time", "node"), "1", "") for k, v in values.items()}
        for name in ("s1", "s2"):
            variables[name] = Variable(2.0 + moved * self.part(t), ("time",), "1", "")
        return SimpleNamespace(variables=variables, time=t)


def strings():
    return RollingStrings(u0=Sine(2, 1.0))


def test_exponent_of_a_made_up_pair():
    grown = growth(strings(), 20.0, method=MadeUp(lambda t: np.exp(0.3 * t)))
    assert_allclose(grown.rate, 0.3, rtol=1e-6)
    assert grown.misfit_rate < 1e-5
    assert grown.misfit_power > 0.05
    assert_allclose(grown.distance[0], np.sqrt(2.0) * 1e-7, rtol=1e-6)
    assert "exp(0.3 t)" in str(grown)


def test_power_of_a_made_up_pair():
    grown = growth(strings(), 50.0, method=MadeUp(lambda t: 1e-3 + t))
    assert_allclose(grown.power, 1.0, rtol=1e-3)
    assert grown.misfit_power < 1e-3 < grown.misfit_rate


def test_large_distances_are_left_out():
    scale, time = 1.0, np.linspace(0.0, 40.0, 401)
    distance = np.minimum(1e-7 * np.exp(0.5 * time), 0.5)
    grown = fitted(time, distance, scale)
    assert_allclose(grown.rate, 0.5, rtol=1e-9)
    assert 24.0 < grown.linear_until < 26.0
    assert_allclose(grown.finite_time_exponent, 0.5, rtol=1e-9)
    assert grown.factor < 0.04 / 1e-7


@pytest.mark.parametrize(
    "given", [{"size": 0.0}, {"saves": 3}, {"field": "ends"}, {"saves": 10**7}]
)
def test_bad_requests_are_refused(given):
    with pytest.raises(ModelError, match=r"needs.*\nWhy.*\nTry"):
        growth(strings(), 10.0, method=MadeUp(np.exp), **given)
    with pytest.raises(ModelError, match="fitted"):
        growth(strings(), 10.0, method=MadeUp(lambda t: 1e9 + t))


def test_spectrum_of_known_lines():
    omega = 2.0 * np.pi / 100.0 * np.array([20.0, 33.0])
    values = 0.7 * np.cos(omega[0] * TIME[:-1]) + 0.2 * np.sin(omega[1] * TIME[:-1])
    found = spectrum(signal_run(values, TIME[:-1]))
    # a Hann window spreads a line over its two neighbours
    peaks = np.sort(np.argsort(found.density)[-4:]) + 1
    assert peaks.tolist() == [19, 20, 21, 33]
    assert_allclose(found.omega[[19, 32]], omega, rtol=1e-12)
    total = found.density.sum() * found.resolution
    assert_allclose(total, 0.5 * 0.7**2 + 0.5 * 0.2**2, rtol=1e-3)
    assert found.free is None


def test_free_line_is_that_of_the_strings():
    system = RollingStrings(u0=Sine(2, 1.0), speed=[1.5, 1.0])
    found = spectrum(signal_run(np.cos(1.5 * TIME), system=system))
    assert found.free == 1.5
    assert found.share_of_line > 0.999
    assert found.flatness < 1e-3


def test_noise_is_flat():
    noise = np.random.default_rng(5).standard_normal(4001)
    found = spectrum(signal_run(noise, np.linspace(0.0, 400.0, 4001), strings()))
    assert 0.4 < found.flatness < 0.65
    assert found.share_of_line < 0.2


def test_the_sum_of_the_density_is_the_variance():
    time = np.arange(32.0)
    found = spectrum(signal_run((-1.0) ** time, time), window=np.ones)
    assert found.density.sum() * found.resolution == pytest.approx(1.0)


# the average of 1001 numbers 0.7 is not 0.7
@pytest.mark.parametrize("value", [1.0, 0.7])
def test_a_signal_at_rest_has_no_line(value):
    found = spectrum(signal_run(np.full(TIME.size, value), system=strings()))
    assert np.isnan(found.share_of_line)
    assert np.isnan(found.flatness)


@pytest.mark.parametrize("window", [None, np.zeros, lambda n: np.ones(n + 1)])
def test_bad_windows_are_refused(window):
    with pytest.raises(ModelError, match=r"spectrum\.window"):
        spectrum(signal_run(np.sin(TIME)), window=window)


def test_bad_signals_are_refused():
    with pytest.raises(ModelError, match="one of"):
        spectrum(signal_run(np.sin(TIME)), "u2")
    time = 0.5 * np.arange(40.0) ** 2
    with pytest.raises(ModelError, match=r"got 40 times, spaced by 0\.5 to 38\.5; needs"):
        spectrum(signal_run(np.sin(time), time))
    with pytest.raises(ModelError, match="got 1 times; needs at least 16"):
        spectrum(signal_run(np.zeros(1), np.zeros(1)))
