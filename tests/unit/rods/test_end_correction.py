"""Masses of end nodes by name: the cable's period, the step limit, momenta, weight, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rod_spectrum import spectrum
from scipy.optimize import brentq
from scipy.special import j0, j1, jn_zeros

import stiction as st
from stiction.core.run import Request
from stiction.errors import ModelError
from stiction.io.scenario import scenario_text, write_scenario
from stiction.rods import (
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    Curve,
    Free,
    GivenMotion,
    LineForce,
    Pinned,
    RigidMotion,
    Rods,
    RollingLeapfrog,
    Straight,
    Turned,
    equilibrium,
    fastest_frequency,
    step_limit,
)
from stiction.rods.assembly import assemble, tributary_lengths
from stiction.rods.leapfrog.run import LeapfrogStepper
from stiction.rods.section import GivenSection

# next to no bending stiffness, a hundredth of strain at the pin under its own weight
CABLE = GivenSection(1.0, 12.5, 1e-9, 1e-9, mass=0.0125, inertia=1e-8)
GREGORY, NAMED, LARGEST = 1.0 / 12.0, 0.1, 1.0 / 6.0
ROOT = jn_zeros(0, 1)[0]
G = 9.81


def free_rod(**more):
    """Return a straight rod of a metre that nothing holds."""
    line = Straight((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    ends = {"left": Free(), "right": Free()}
    return CosseratRod(CircularSection(0.02, 1e6), line, **{**ends, **more})


def hanging(elements, correction):
    """Return a cable of a metre that hangs straight from a pin."""
    line = Straight((0.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    ends = {"left": Pinned(), "right": Free()}
    return CosseratRod(CABLE, line, elements=elements, end_correction=correction, **ends)


def slow(elements, correction):
    """Return how much higher than Bessel's the first frequency with these masses is, relative."""
    mass = assemble(Rods([hanging(elements, correction)])).material.mass
    # nodes from the pin; each element carries what hangs below it
    tension = G * np.cumsum(mass[::-1])[::-1][1:] * elements
    stiff = np.zeros((elements + 1, elements + 1))
    for e, pull in enumerate(tension):
        stiff[e : e + 2, e : e + 2] += pull * np.array([[1.0, -1.0], [-1.0, 1.0]])
    root = np.sqrt(mass[1:])
    squares = np.linalg.eigvalsh(stiff[1:, 1:] / np.outer(root, root))
    return np.sqrt(squares[0]) / (0.5 * ROOT * np.sqrt(G)) - 1.0


def coefficient(correction):
    """Return the limit of n^2 `slow` in closed form, see docs/theory/rods.md."""
    k, bend = 0.25 * ROOT**2, j1(ROOT) ** 2
    trapezoid = -1.0 / 24.0 + k * (1.0 / bend / 8.0 - (1.0 - bend) / bend / 12.0 - 1.0 / bend / 6.0)
    return 0.5 * (trapezoid + correction * (k / bend + 1.0))


@pytest.mark.parametrize("correction", [0.0, GREGORY, NAMED])
def test_the_period_of_a_hanging_cable_against_bessel(correction):
    off = np.array([slow(n, correction) for n in (25, 50, 100, 200)])
    order = np.log2(off[:-1] / off[1:])
    assert np.all((order >= 1.9) & (order < 2.1)), order
    fine = (4.0 * 200**2 * off[3] - 100**2 * off[2]) / 3.0
    assert fine == pytest.approx(coefficient(correction), abs=1e-4)


def test_the_correction_takes_off_most_of_the_error():
    off = {c: abs(slow(50, c)) for c in (None, 0.0, GREGORY, NAMED)}
    assert off[0.0] == pytest.approx(1.184e-4, rel=1e-3)
    assert off[None] == pytest.approx(5.88e-5, rel=1e-3)
    assert off[GREGORY] == pytest.approx(1.24e-5, rel=2e-3)
    assert off[NAMED] == pytest.approx(8.8e-6, rel=5e-3)


def exact_frequency(strain):
    """Return that of a cable with this strain at the pin, by a series of Frobenius [rad/s].

    (z / (1 + strain z) u')' = -mu u in heights over the free end, u(1) = 0.
    """

    def end(mu):
        u, pull, total = 1.0, 0.0, 1.0
        for k in range(1, 40):
            former, pull = pull, -mu * u / k
            u = (pull + strain * former) / k
            total += u
        return total

    return np.sqrt(G * brentq(end, 1.3, 1.6, xtol=1e-14))


def swung(correction, elements=12):
    """Return the frequency at which the rod of a run swings [rad/s]."""
    mass = assemble(Rods([hanging(elements, correction)])).material.mass
    strain = np.cumsum(mass[::-1])[::-1][1:] * G / CABLE.axial_stiffness
    down = np.concatenate([[0.0], np.cumsum((1.0 + strain) / elements)])
    shape = j0(ROOT * np.sqrt(1.0 - np.linspace(0.0, 1.0, elements + 1)))
    nodes = Curve(np.stack([1e-3 * shape, 0.0 * shape, -down], axis=1))
    given = {"length": 1.0, "elements": elements, "end_correction": correction}
    cable = CosseratRod(CABLE, nodes, left=Pinned(), right=Free(), **given)
    system = Rods([cable], gravity=(0.0, 0.0, -G))
    run = st.solve(system, RollingLeapfrog(fraction=0.5), (0.0, 1.5), save=301)
    assert run.audit.ok
    swing = run.data.position.values[:, :, 0] @ (mass * shape)
    times = []
    for i in np.flatnonzero(swing[:-1] * swing[1:] < 0.0):
        near = slice(i - 1, i + 3)
        cubic = np.polynomial.Polynomial.fit(run.time[near], swing[near], 3)
        times.append(brentq(cubic, run.time[i], run.time[i + 1], xtol=1e-14))
    assert len(times) == 2
    return np.pi / (times[1] - times[0])


def test_a_run_swings_as_the_masses_say():
    exact = exact_frequency(CABLE.line_density * G / CABLE.axial_stiffness)
    assert exact_frequency(0.0) == pytest.approx(0.5 * ROOT * np.sqrt(G), rel=1e-12)
    for correction in (0.0, NAMED):
        # the strain changes what masses do by a hundredth
        assert swung(correction) / exact - 1.0 == pytest.approx(slow(12, correction), abs=3e-5)


@pytest.mark.parametrize("correction", [GREGORY, NAMED, LARGEST])
@pytest.mark.parametrize("elements", [4, 5, 44])
def test_weights_conserve_mass_and_centre_and_gregory_the_moment_of_inertia(elements, correction):
    shares = tributary_lengths(free_rod(elements=elements, end_correction=correction))
    places = np.arange(elements + 1.0) - 0.5 * elements
    assert shares.min() > 0.0
    assert shares.sum() == pytest.approx(elements, rel=1e-14)
    assert shares @ places == pytest.approx(0.0, abs=1e-12 * elements)
    exact, rest = elements**3 / 12.0, 2.0 * elements * (1.0 / 12.0 - correction)
    assert shares @ places**2 - exact == pytest.approx(rest, abs=1e-11 * exact)


def test_the_trapezoid_by_name_is_what_free_rods_have():
    for ends in ((Free(), Free()), (Clamped(), Clamped())):
        named = free_rod(left=ends[0], right=ends[1], end_correction=0.0)
        without = free_rod(left=ends[0], right=ends[1])
        np.testing.assert_array_equal(tributary_lengths(named), tributary_lengths(without))
        assert step_limit(named) == step_limit(without)


# radius, what the elements are, stretch: lengthwise waves, shear and bending fastest at the end
LOCAL = {
    "thick": (CircularSection(0.2, 1e6, poisson=-0.5), 1.0),
    "lengthwise": (CircularSection(0.05, 1e6, poisson=0.0), 1.0),
    "stretched": (CircularSection(0.05, 1e6, poisson=0.3), 1.1),
}
ENDS = {
    "free": (Free(), Free()),
    "held": (Clamped(), Free()),
    "pinned": (Pinned(), Pinned()),
    "element": (Clamped(hold="element"), Pinned()),
    "sliding": (Turned((1, 0, 0), (0.0, 1.0), (0.0, 0.0), slides=True), Free()),
}


def local(name, correction, ends="free", elements=12, motion=(), length=1.0):
    """Return a rod whose ends are among its fastest parts."""
    section, stretch = LOCAL[name]
    line = Straight((0.0, 0.0, 0.0), (stretch * length, 0.0, 0.0))
    left, right = ENDS[ends]
    given = {"length": length, "elements": elements, "motion": motion}
    return CosseratRod(section, line, left=left, right=right, end_correction=correction, **given)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", LOCAL)
def test_the_fastest_frequency_bounds_the_spectrum_with_its_ends(name, ends):
    reported = []
    for elements in (4, 13) if ends != "free" else (4, 13, 45):
        given = local(name, LARGEST, ends, elements)
        fastest, bound = spectrum(Rods([given])).max(), fastest_frequency(given)
        waves = fastest_frequency(local(name, None, ends, elements))
        assert fastest <= bound * (1.0 + 1e-6)
        assert bound >= waves
        if bound > waves:
            # that of the rod itself, or of a piece of twenty elements
            assert fastest >= bound * (1.0 - 1e-5)
        reported.append(bound / waves)
    if ends == "free":
        # else this test would say nothing of ends
        assert reported[-1] > 1.03


def test_a_long_rod_is_as_fast_as_its_ends():
    for name in LOCAL:
        rods = [local(name, LARGEST, elements=n, length=0.025 * n) for n in (40, 41, 400)]
        whole, cut, long = (fastest_frequency(rod) for rod in rods)
        assert cut == pytest.approx(long, rel=1e-12)
        assert whole <= cut * (1.0 + 1e-12)
        assert cut == pytest.approx(whole, rel=1e-5), name


def run_at(name, part, elements, steps=1500):
    """Return how much the kinetic energy grew; beyond all numbers is infinite."""
    random = np.random.default_rng(3)
    motion = [GivenMotion(1e-6 * random.standard_normal((elements + 1, 3)))]
    system = Rods([local(name, LARGEST, "free", elements, motion)])
    h = part * step_limit(system.rods[0])
    save = h * np.linspace(0.0, steps, 11)
    stepper = LeapfrogStepper(
        system, RollingLeapfrog(h), Request(0.0, save[-1], save), limited=False
    )
    stepper.integrate()
    kinetic = stepper.history().energy[:, 0]
    return np.nan_to_num(kinetic[1:] / kinetic[0], nan=np.inf).max()


@pytest.mark.parametrize("elements", [12, 60])
@pytest.mark.parametrize("name", ["thick", "lengthwise"])
def test_the_limit_with_ends_is_sharp(name, elements):
    assert run_at(name, 1.0, elements) < 10.0
    assert run_at(name, 1.005, elements) > 1e4


def thrown(correction):
    """Return two free rods, one thrown onto the other."""
    section = CircularSection(0.02, 1e6)
    ends = {"left": Free(), "right": Free(), "elements": 10, "end_correction": correction}
    down = RigidMotion((0.1, 0.2, -1.0), (1.0, 0.5, 2.0))
    low = CosseratRod(section, Straight((-0.25, 0.0, 0.0), (0.25, 0.0, 0.0)), **ends)
    line = Straight((0.0, -0.25, 0.041), (0.0, 0.25, 0.045))
    high = CosseratRod(section, line, motion=[down], **ends)
    return Rods([low, high], search=ContactSearch(friction=st.Coulomb(0.3)))


def test_momenta_and_energy_are_conserved_through_contact():
    run = st.solve(thrown(NAMED), RollingLeapfrog(), (0.0, 0.03), save=31)
    assert run.audit.ok, run.audit
    assert "close" in set(run.events["kind"])
    mass = run.data.mass_of_node.values
    long = sum(rod.rest_length for rod in thrown(NAMED).rods)
    assert mass.sum() == pytest.approx(1000.0 * np.pi * 4e-4 * long, rel=1e-13)
    momentum = np.einsum("n,tni->ti", mass, run.data.velocity.values)
    scale = np.abs(momentum).max()
    assert_allclose(momentum - momentum[0], 0.0, atol=1e-13 * scale)
    assert run.energy.imbalance_rel < 1e-6


def test_a_free_rod_falls_rigidly():
    line = Straight((0.0, 0.0, 0.0), (0.3, 0.4, 0.0))
    section = CircularSection(0.01, 1e6)
    given = {"left": Free(), "right": Free(), "elements": 8, "end_correction": NAMED}
    system = Rods([CosseratRod(section, line, **given)], gravity=(0.0, 0.0, -G))
    run = st.solve(system, RollingLeapfrog(), (0.0, 0.1), save=3)
    fallen = run.data.position.values[-1] - run.data.position.values[0]
    assert_allclose(fallen[:, 2], -0.5 * G * 0.01, rtol=1e-12)
    assert_allclose(fallen[:, :2], 0.0, atol=1e-14)


def test_a_rod_at_rest_hangs_with_its_whole_weight():
    line = Straight((0.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    section = CircularSection(0.01, 1e6, density=1000.0)
    load = LineForce([0.0, 0.0, -G * section.line_density])
    for correction in (None, 0.0, NAMED):
        given = {"right": Free(), "elements": 10, "loads": [load], "end_correction": correction}
        still = equilibrium(CosseratRod(section, line, **given))
        long = np.linalg.norm(np.diff(still.position, axis=0), axis=1)
        pull = section.axial_stiffness * (10.0 * long[0] - 1.0)
        first = tributary_lengths(CosseratRod(section, line, **given))[0]
        weight = G * section.line_density
        assert pull == pytest.approx(weight * (1.0 - 0.1 * first), rel=1e-9)


@pytest.mark.parametrize("bad", [-0.01, 0.17, np.nan, np.inf, "corrected", [0.1, 0.1]])
def test_corrections_that_make_no_sense_are_refused(bad):
    with pytest.raises(ModelError, match=r"CosseratRod.end_correction: got") as caught:
        free_rod(end_correction=bad)
    assert "Try: " in str(caught.value)


def test_a_file_may_name_it():
    reported = ["system.rod.end_correction=0.1", "solve.t_end=0.001", "solve.save=2"]
    scenario = st.read_scenario("rod-on-plane", reported)
    assert scenario.system.rod.end_correction == 0.1
    run = scenario.solve()
    mass = run.data.mass_of_node.values
    assert_allclose(mass[:4] / mass[4], [0.35, 1.2, 0.95, 1.0], rtol=1e-14)
    assert "end_correction = 0.1" in write_scenario(scenario)
    assert "end_correction = 0.1" in scenario_text(run)
    without = st.read_scenario("rod-on-plane").system.rod
    assert without.end_correction is None
