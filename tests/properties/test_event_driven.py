"""Random chains: what physics demands of every run, whatever the numbers."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from properties_chains import between, chains

import stiction

MODEST = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
T_END = 3.0
METHOD = stiction.EventDriven(max_steps=60_000, max_events=20_000)


def run_of(chain, method=METHOD, **options):
    run = stiction.solve(chain, method, (0.0, T_END), save=61, throw=False, **options)
    assert run.status.ok or run.reason
    return run


@MODEST
@given(chain=chains())
def test_energy_closes_and_friction_dissipates(chain):
    run = run_of(chain)
    assert run.energy.imbalance_rel < 1e-10
    heat = run.energy.friction_heat
    slack = 1e-12 * max(run.energy.scale, 1e-300)
    assert (np.diff(heat, axis=0) >= -slack).all()
    assert (np.diff(np.atleast_1d(run.energy.viscous_heat)) >= -slack).all()
    assert run.audit.ok


@MODEST
@given(chain=chains())
def test_mirror_image(chain):
    """Turning every sign around turns the motion around."""
    load = stiction.chains.SumOf([chain.load])
    mirrored = dataclasses.replace(
        chain,
        load_vector=-chain.load_weights,
        load=load,
        x0=-chain.x_start,
        v0=-chain.v_start,
        belt_speed=-chain.belt_speed,
    )
    one, two = run_of(chain), run_of(mirrored)
    assert one.stats["events"] == two.stats["events"]
    np.testing.assert_array_equal(one.final["x"], -two.final["x"])


@MODEST
@given(chain=chains(laws=st.builds(stiction.Coulomb, between(0.05, 0.8)), belt=False))
def test_counting_from_the_other_end(chain):
    """A chain numbered from the other end is the same chain."""
    other = {"left": "right", "right": "left"}.get(chain.supports, chain.supports)
    flipped = dataclasses.replace(
        chain,
        mass=chain.masses[::-1],
        stiffness=np.broadcast_to(chain.stiffness, chain.n_spring)[::-1],
        damping=np.broadcast_to(chain.damping, chain.n_spring)[::-1],
        x0=chain.x_start[::-1],
        v0=chain.v_start[::-1],
        load_vector=chain.load_weights[::-1],
        supports=other,
    )
    one, two = run_of(chain), run_of(flipped)
    scale = np.max(np.abs(one.variables["x"].values)) + 1e-12
    np.testing.assert_allclose(one.final["x"], two.final["x"][::-1], atol=1e-7 * scale)


@MODEST
@given(chain=chains(belt=False), force=between(-2.0, 2.0), speed=between(-1.0, 1.0))
def test_other_units(chain, force, speed):
    """With other units of mass (10^force) and time (10^speed) the motion is the same."""
    a, s = 10.0**force, 10.0**speed
    segments = chain.load.segments()
    parts = [
        stiction.chains.Sine(a * s * s * amplitude, s * w, phase)
        for amplitude, w, phase in zip(
            segments.amplitude, segments.angular_frequency, segments.phase, strict=True
        )
    ]
    nodes = np.unique(np.concatenate([segments.time, [0.0, 0.3, 0.9, 2.0, T_END]]))
    straight = dataclasses.replace(
        segments, amplitude=np.empty(0), angular_frequency=np.empty(0), phase=np.empty(0)
    )
    parts.append(stiction.chains.PiecewiseLinear(nodes / s, a * s * s * straight.at(nodes)))
    law = chain.law
    if isinstance(law, stiction.ExponentialWeakening):
        law = dataclasses.replace(law, v_scale=law.v_scale * s)
    scaled = dataclasses.replace(
        chain,
        mass=a * chain.masses,
        stiffness=a * s * s * np.broadcast_to(chain.stiffness, chain.n_spring),
        damping=a * s * np.broadcast_to(chain.damping, chain.n_spring),
        gravity=s * s * chain.gravity,
        v0=s * chain.v_start,
        load=stiction.chains.SumOf(parts),
        law=law,
    )
    one = run_of(chain)
    two = stiction.solve(scaled, METHOD, (0.0, T_END / s), save=61, throw=False)
    scale = np.max(np.abs(one.variables["x"].values)) + 1e-12
    np.testing.assert_allclose(two.final["x"], one.final["x"], atol=1e-6 * scale)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(chain=chains(laws=st.builds(stiction.Coulomb, between(0.05, 0.8))))
def test_a_belt_seen_from_the_belt(chain):
    """Seen from a belt the chain moves over ground that is at rest: friction is the same."""
    if chain.supports != "none":
        chain = dataclasses.replace(
            chain,
            supports="none",
            mass=np.append(chain.masses, 1.0),
            stiffness=50.0,
            damping=0.1,
            x0=0.0,
            v0=0.0,
            n=None,
        )
    speed = 0.4
    still = dataclasses.replace(chain, belt_speed=0.0, v0=chain.v_start - speed)
    moving = dataclasses.replace(chain, belt_speed=speed)
    one, two = run_of(still), run_of(moving)
    travelled = speed * T_END
    np.testing.assert_allclose(one.final["x"] + travelled, two.final["x"], atol=1e-8)


def test_many_close_events_end(recwarn):
    """A stiff spring beside soft ones makes many events; the work stays bounded."""
    chain = stiction.Chain(
        mass=[1.0, 1e-3, 1.0], stiffness=[1.0, 1e5, 1.0], law=stiction.Coulomb(0.1), v0=[1, -1, 1]
    )
    run = run_of(chain, dataclasses.replace(METHOD, max_steps=2_000))
    assert run.stats["steps"] <= 4_000
    assert len(recwarn) == 0
    assert run.energy.imbalance_rel == pytest.approx(0.0, abs=1e-10)
