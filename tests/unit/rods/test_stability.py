"""The step limit against the spectrum of the discrete equations and against runs at the limit."""

import numpy as np
import pytest
from rod_spectrum import spectrum

import stiction as st
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.rods.centreline import Curve, Straight
from stiction.rods.leapfrog.run import LeapfrogStepper
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import Clamped, CosseratRod, Free, GivenMotion
from stiction.rods.section import CircularSection
from stiction.rods.stability import fastest_frequency, step_limit

# short thick, slender, pre-stretched: the fastest wave is another one in each
RODS = {
    "shear": (CircularSection(0.02, 1e6), 16, 1.02),
    "stretch": (CircularSection(0.05, 1e6, poisson=0.0), 16, 1.0),
    "slender": (CircularSection(0.002, 1e6, poisson=0.3), 16, 1.1),
}


def rod(name, motion=(), **more):
    """Return a free straight rod of length 1."""
    section, n, stretch = RODS[name]
    line = Straight([0.0, 0.0, 0.0], [stretch, 0.0, 0.0])
    given = {"left": Free(), "right": Free(), "length": 1.0, "elements": n, "motion": motion}
    return CosseratRod(section, line, **{**given, **more})


@pytest.mark.parametrize("name", RODS)
def test_the_fastest_frequency_bounds_the_spectrum(name):
    fastest = spectrum(Rods([rod(name)])).max()
    bound = fastest_frequency(rod(name))
    # end nodes have half the mass and half the springs: the shortest wave fits a free rod
    assert fastest <= bound * (1.0 + 1e-6)
    assert fastest >= 0.99 * bound


@pytest.mark.parametrize("name", RODS)
def test_the_fastest_element_of_an_uneven_rod_bounds_the_spectrum(name):
    for uneven in (0.05, 0.25, 0.5):
        section, n, stretch = RODS[name]
        parts = np.repeat([1.0 - uneven, 1.0 + uneven], n // 2)
        nodes = np.zeros((n + 1, 3))
        nodes[1:, 0] = stretch * np.cumsum(parts) / n
        one = CosseratRod(section, Curve(nodes), left=Free(), right=Free(), length=1.0, elements=n)
        fastest, bound = spectrum(Rods([one])).max(), fastest_frequency(one)
        assert 0.99 * bound <= fastest <= 1.01 * bound


def run_at(name, part, steps=2000):
    """Return how much the kinetic energy grew, beyond or below the limit."""
    n = 40
    motion = GivenMotion(1e-6 * np.random.default_rng(3).standard_normal((n + 1, 3)))
    # clamped, so that a stretched rod is at rest but for the motion
    system = Rods([rod(name, [motion], elements=n, left=Clamped(), right=Clamped())])
    h = part * step_limit(system.rods[0])
    save = h * np.linspace(0.0, steps, 11)
    request = Request(0.0, save[-1], save)
    stepper = LeapfrogStepper(system, RollingLeapfrog(h), request, limited=False)
    stepper.integrate()
    kinetic = stepper.history().energy[:, 0]
    return kinetic[1:].max() / kinetic[0]


@pytest.mark.parametrize("name", RODS)
def test_the_limit_is_sharp(name):
    assert run_at(name, 1.0) < 10.0
    # two per cent, because clamps take a little off the shortest wave
    assert run_at(name, 1.02) > 1e4


def test_internal_damping_shortens_the_limit():
    name, omega = "shear", fastest_frequency(rod("shear"))
    damped = rod(name, internal_damping=1.0 / omega)
    assert step_limit(damped) == pytest.approx(2.0 / omega * (np.sqrt(1.25) - 0.5), rel=1e-12)
    assert step_limit(rod(name)) == pytest.approx(2.0 / omega, rel=1e-14)


def test_a_step_above_the_limit_is_refused_and_named():
    limit = step_limit(rod("shear"))
    with pytest.raises(ModelError, match=f"at most {limit:.6g} s, the stability limit of rod 1"):
        st.solve(Rods([rod("shear")]), RollingLeapfrog(1.01 * limit), (0.0, 1.0))


@pytest.mark.parametrize(
    ("young", "density", "length"), [(1e300, 1e3, 1.0), (1e6, 1e-300, 1.0), (1e6, 1e3, 1e-160)]
)
def test_frequencies_beyond_floating_point_are_refused(young, density, length):
    section = CircularSection(0.02, young, density=density)
    line = Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="floating point"):
        step_limit(CosseratRod(section, line, length=length, elements=4))


def test_internal_damping_without_bound_leaves_a_step():
    omega = fastest_frequency(rod("shear"))
    damped = rod("shear", internal_damping=1e12)
    assert step_limit(damped) == pytest.approx(2.0 / omega**2 / 1e12, rel=1e-12)
