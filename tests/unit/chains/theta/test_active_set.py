"""How a step is made, in parts of the chain or as a quiet one, makes no difference to it."""

import numpy as np
import pytest

import stiction as st
from stiction.chains.theta import active_set_kernels, exact_kernels
from stiction.numerics import jit


def drawn(seed, n):
    """Return a chain in which masses stick and slip, on a belt and under a plate or not."""
    rng = np.random.default_rng(seed)
    kinetic = rng.uniform(0.02, 0.1, n)
    jumps = seed % 2 == 1
    return st.Chain(
        mass=rng.uniform(0.5, 2.0, n),
        stiffness=rng.uniform(5.0, 50.0, n + 1),
        damping=rng.choice([0.0, 0.5]),
        normal_force=rng.uniform(0.5, 10.0, n),
        law=st.StaticKinetic(1.5 * kinetic, kinetic) if jumps else st.Coulomb(kinetic),
        load=(st.chains.Sine(3.0, 4.0, 0.3), st.Constant(2.0), st.Ramp(1.0))[seed % 3],
        load_vector=rng.uniform(-1.0, 1.0, n),
        v0=rng.uniform(-0.2, 0.2, n),
        supports="both",
        belt_speed=0.1 * (seed % 4 == 2),
        plate_stiffness=rng.choice([0.0, 2.0]),
        plate_speed=0.05,
    )


def stepped(chain, theta):
    """Return the run of a chain by plain kernels."""
    with jit.running("plain"):
        return st.solve(chain, st.ThetaStepper(step=0.01, theta=theta), (0.0, 0.6), save=5)


def assert_the_same(one, other):
    for name in ("x", "v", "friction", "mode"):
        assert np.array_equal(one.variables[name].values, other.variables[name].values), name
    assert np.array_equal(one.event_log.time, other.event_log.time)
    assert np.array_equal(one.event_log.contact, other.event_log.contact)
    assert list(one.event_log.kind) == list(other.event_log.kind)
    assert np.array_equal(one.energy.algorithmic, other.energy.algorithmic)
    assert np.array_equal(one.energy.friction_heat, other.energy.friction_heat)


@pytest.mark.parametrize("seed", range(6))
def test_unchanged_modes_make_no_difference(seed, monkeypatch):
    chain, theta = drawn(seed, 1 + seed % 4), (0.5, 0.7, 1.0)[seed % 3]
    quiet = stepped(chain, theta)
    monkeypatch.setattr(exact_kernels, "FEW", 0)
    assert len(quiet.event_log.time) > 0
    assert_the_same(quiet, stepped(chain, theta))


@pytest.mark.parametrize("seed", range(4))
def test_parts_make_no_difference(seed, monkeypatch):
    """Parts end with a stuck mass; one that slips joins two of them."""
    chain = drawn(seed, 25)
    whole = stepped(chain, 0.5)
    monkeypatch.setattr(active_set_kernels, "PART", 2)
    parts = stepped(chain, 0.5)
    assert len(whole.event_log.time) > 20
    assert_the_same(whole, parts)
    assert parts.stats["solves"] >= whole.stats["solves"]
