"""Properties of the theta schemes on random chains: energy, symmetry, agreement, bounded work."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import stiction as st

STEPS = 60


def decades(low, high):
    """Return numbers spread evenly over powers of ten."""
    return some.floats(low, high).map(lambda power: float(f"{10.0**power:.6g}"))


@some.composite
def laws(draw, n):
    """Return a law for n contacts."""
    static = [draw(some.floats(0.0, 1.0)) for _ in range(n)]
    kinetic = [mu * draw(some.floats(0.2, 1.0)) for mu in static]
    kind = draw(some.sampled_from(["constant", "jump", "weakening"]))
    if kind == "constant":
        return st.Coulomb(static)
    if kind == "jump":
        return st.StaticKinetic(static, kinetic)
    return st.ExponentialWeakening(static, kinetic, draw(decades(-1, 1)))


LOADS = some.one_of(
    decades(-1, 2).map(st.Constant),
    decades(-1, 2).map(st.Ramp),
    some.builds(st.chains.Sine, decades(-1, 2), decades(-1, 1)),
    some.floats(-9.0, 9.0).map(lambda f: st.chains.PiecewiseLinear([0.0, 0.1, 0.4], [0.0, f, -f])),
)


@some.composite
def chains(draw):
    """Return a chain: 1 to 6 masses, stiffness over six decades, any support, belt or plate."""
    n = draw(some.integers(1, 6))
    supports = draw(some.sampled_from(["left", "right", "both"] + (["none"] if n > 1 else [])))
    links = n - 1 + {"left": 1, "right": 1, "both": 2, "none": 0}[supports]
    many = {"min_size": n, "max_size": n}
    return st.Chain(
        mass=draw(some.lists(decades(-1, 1), **many)),
        stiffness=draw(some.lists(decades(-2, 4), min_size=links, max_size=links)),
        damping=draw(some.one_of(some.just(0.0), decades(-2, 1))),
        supports=supports,
        law=draw(laws(n)),
        load=draw(LOADS),
        x0=draw(some.lists(some.floats(-1.0, 1.0), **many)),
        v0=draw(some.lists(some.sampled_from([0.0, 0.3, -0.7, 2.0]), **many)),
        belt_speed=draw(some.sampled_from([0.0, 0.0, 0.4, -1.0])),
        plate_stiffness=draw(some.sampled_from([0.0, 0.0, 3.0])),
        plate_speed=draw(some.sampled_from([0.0, 0.5])),
    )


EXACT = some.builds(st.ThetaStepper, decades(-3, 0), some.sampled_from([0.5, 0.51, 0.75, 1.0]))
SMOOTH = some.builds(
    st.chains.RegularizedTheta,
    decades(-3, -2),
    some.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    decades(-3, 0),
    some.sampled_from([st.laws.SquareRootSign(), st.laws.TanhSign()]),
)


def steps_of(chain, method):
    """Return the run over STEPS steps with every one of them saved."""
    span = (0.0, STEPS * method.step)
    return st.solve(chain, method, span, save=STEPS + 1, throw=False)


@given(chains(), some.one_of(EXACT, SMOOTH))
def test_every_step_closes(chain, method):
    run = steps_of(chain, method)
    if run.stats["unconverged_steps"] == 0:
        assert run.energy.step_imbalance_rel <= 1e-12
        assert run.energy.imbalance_rel <= 1e-11
    heat = np.diff(run.energy.friction_heat, axis=0)
    assert np.all(heat >= -1e-13 * run.energy.scale)
    assert np.all(np.diff(run.energy.viscous_heat) >= 0.0)
    if method.theta >= 0.5:
        assert np.all(np.diff(run.energy.algorithmic) >= -1e-13 * run.energy.scale)


def link_energy(chain, rows):
    """Return sum k d^2 of rows of displacements (or of their increments)."""
    padded = np.pad(rows, ((0, 0), (1, 1)))
    return np.sum(chain.link_stiffness * np.diff(padded, axis=1) ** 2, axis=1)


@given(chains(), some.one_of(EXACT, SMOOTH))
def test_the_algorithmic_column_is_that_of_the_sheet(chain, method):
    """Source: formulas sheet, section 5: (theta - 1/2)(|dv|_M^2 + |dx|_K^2) per step."""
    chain = dataclasses.replace(chain, plate_stiffness=0.0)
    run = steps_of(chain, method)
    v, mode = run.variables["v"].values, run.variables["mode"].values
    change = np.diff(run.energy.algorithmic)
    moved = np.diff(run.variables["x"].values, axis=0)
    expected = link_energy(chain, moved) + np.sum(chain.masses * np.diff(v, axis=0) ** 2, axis=1)
    expected *= method.theta - 0.5
    # in a step in which a mass is stopped, more is taken out: see ThetaStepper
    rows = np.all(mode[1:] != 0, axis=1)
    if isinstance(method, st.chains.RegularizedTheta):
        rows[:] = True
    scale = run.energy.scale + np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(change[rows], expected[rows], rtol=1e-6, atol=1e-10 * scale)


@given(chains(), EXACT)
def test_no_step_is_left_unsettled(chain, method):
    """Where the problem of a step is monotone it has a solution, found in bounded work."""
    run = steps_of(chain, method)
    monotone = all(line.ok for line in run.audit if line.check == "step_below_weakening_limit")
    assert run.status in (st.Status.SOLVED, st.Status.UNTRUSTED)
    if monotone:
        assert run.status.ok
        assert run.stats["unconverged_steps"] == 0
    assert run.stats["most_iterations"] <= 30 + method.max_solves + 1
    assert all(line.ok for line in run.audit if line.check == "stick_within_bound")


def mirrored(chain):
    """Return the chain seen from the other side: order and all signs turned round."""
    other = {"left": "right", "right": "left"}
    names = [name for name in ("mu", "mu_static", "mu_kinetic") if hasattr(chain.law, name)]
    turned = {name: np.asarray(getattr(chain.law, name))[::-1] for name in names}
    law = dataclasses.replace(chain.law, **turned)
    return dataclasses.replace(
        chain,
        mass=chain.masses[::-1],
        stiffness=np.asarray(chain.stiffness)[::-1],
        x0=-chain.x_start[::-1],
        v0=-chain.v_start[::-1],
        belt_speed=-chain.belt_speed,
        plate_speed=-chain.plate_speed,
        load_vector=-chain.load_weights[::-1],
        supports=other.get(chain.supports, chain.supports),
        law=law,
    )


@given(chains(), EXACT)
def test_mirror_symmetry(chain, method):
    """Elimination runs from left to right, so the mirror agrees to rounding, not to the bit."""
    span = (0.0, 10 * method.step)
    one, two = (st.solve(c, method, span, save=2, throw=False) for c in (chain, mirrored(chain)))
    size = max(1.0, np.max(np.abs(one.variables["x"].values)))
    same = np.array_equal(one.event_log.time, two.event_log.time)
    # a degenerate choice between two modes may fall to either side in the mirror
    if same and one.stats["solves"] == two.stats["solves"]:
        np.testing.assert_allclose(two.final["x"], -one.final["x"][::-1], atol=1e-7 * size)
    assert one.status == two.status


@given(chains(), some.sampled_from([0.5, 0.75, 1.0]), decades(-2, 2), decades(-2, 2))
def test_dimensional_scaling(chain, theta, length, force):
    """Lengths and forces in other units, time the same: the same numbers in these units."""
    law = chain.law
    if isinstance(law, st.ExponentialWeakening):
        law = dataclasses.replace(law, v_scale=law.v_scale * length)
    load = chain.load
    for name in ("value", "rate", "amplitude"):
        if hasattr(load, name):
            load = dataclasses.replace(load, **{name: np.asarray(getattr(load, name)) * force})
    factor = force / length
    scaled = dataclasses.replace(
        chain,
        mass=chain.masses * factor,
        stiffness=np.asarray(chain.stiffness) * factor,
        damping=np.asarray(chain.damping) * factor,
        normal_force=chain.normal_forces * force,
        plate_stiffness=np.asarray(chain.plate_stiffness) * factor,
        x0=chain.x_start * length,
        v0=chain.v_start * length,
        belt_speed=chain.belt_speed * length,
        plate_speed=chain.plate_speed * length,
        load=load,
        law=law,
    )
    method = st.ThetaStepper(1e-2, theta)
    one, two = (st.solve(c, method, (0.0, 0.1), save=2) for c in (chain, scaled))
    size = max(1e-3, np.max(np.abs(one.variables["x"].values)))
    if one.stats["solves"] == two.stats["solves"]:
        np.testing.assert_allclose(two.final["x"] / length, one.final["x"], atol=1e-7 * size)
    assert two.energy.step_imbalance_rel <= 1e-12


@given(some.integers(1, 4), some.floats(0.02, 0.4), some.floats(5.0, 40.0), some.booleans())
def test_nears_the_event_driven_solution(n, mu, stiffness, belt):
    chain = st.Chain(
        mass=1.0,
        n=n,
        stiffness=stiffness,
        damping=0.5,
        law=st.Coulomb(mu),
        load=st.chains.Sine(12.0, 2.0),
        belt_speed=0.2 if belt else 0.0,
    )
    exact = st.solve(chain, st.EventDriven(), (0.0, 2.0), save=21).variables["x"].values
    errors = []
    for step in (1e-2, 1e-3, 1e-4):
        run = st.solve(chain, st.ThetaStepper(step, 0.5), (0.0, 2.0), save=21)
        errors.append(np.max(np.abs(run.variables["x"].values - exact)) / step)
    # an event is late by up to a step, at speeds of a few metres per second
    assert max(errors) < 6.0


@pytest.mark.parametrize("theta", [0.5, 0.75, 1.0])
def test_a_long_run_closes(theta):
    """A million steps of stick-slip on a belt: sums that lose nothing."""
    chain = st.Chain(
        mass=[1.0, 2.0], stiffness=20.0, law=st.StaticKinetic(0.3, 0.2), belt_speed=0.1
    )
    run = st.solve(chain, st.ThetaStepper(2e-4, theta), (0.0, 200.0), save=11)
    assert run.stats["steps"] == 1_000_000
    assert run.energy.step_imbalance_rel <= 1e-13
    assert run.energy.imbalance_rel <= 1e-12


def test_a_hundred_thousand_masses_close():
    n = 100_000
    chain = st.Chain(
        mass=1.0 / n, n=n, stiffness=100.0 * n, load=st.Constant(4.0), law=st.Coulomb(0.3), v0=0.1
    )
    run = st.solve(chain, st.ThetaStepper(1e-7), (0.0, 2e-5), save=2)
    assert run.energy.step_imbalance_rel <= 1e-13
