"""The implicit midpoint rule of rods: order, momentum, and steps beyond the explicit limit."""

import numpy as np
import pytest

import stiction as st
from stiction.rods.centreline import Straight
from stiction.rods.contact.model import RollingContact
from stiction.rods.methods import RollingLeapfrog, RollingMidpoint
from stiction.rods.model import Rods
from stiction.rods.rod import (
    CosseratRod,
    Driven,
    Free,
    GivenMotion,
    LineForce,
    SineSpin,
    SineVelocity,
)
from stiction.rods.section import CircularSection
from stiction.rods.stability import step_limit

SECTION = CircularSection(radius=0.02, young=1e6)


def crossed(left=None, elements=20, **options):
    """Two clamped rods that cross at 60 degrees, the first one plucked."""
    ends = {} if left is None else {"left": left, "right": left}
    across = 0.51 * np.array([0.5, np.sqrt(0.75), 0.0])
    lift = np.array([0.0, 0.0, 0.04])
    motion = [SineVelocity(1, [0.0, 0.4, 0.6]), SineSpin(1, 2.0)]
    first = Straight([-0.51, 0.0, 0.0], [0.51, 0.0, 0.0])
    return Rods(
        [
            CosseratRod(
                SECTION, first, length=1.0, elements=elements, motion=motion, **ends, **options
            ),
            CosseratRod(
                SECTION,
                Straight(lift - across, lift + across),
                length=1.0,
                elements=elements,
                **ends,
            ),
        ],
        [RollingContact(0.5, 0.5)],
    )


def test_second_order():
    """The energy error falls by four when the step is halved."""
    errors = []
    for step in (4e-4, 2e-4, 1e-4):
        run = st.solve(crossed(), RollingMidpoint(step), (0.0, 0.08), save=21)
        errors.append(np.abs(run.energy.imbalance).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 1.7)
    assert np.all(orders < 2.3)


def test_agrees_with_the_leapfrog():
    """Two schemes that share the elastic forces alone meet at small steps."""
    implicit = st.solve(crossed(), RollingMidpoint(5e-5), (0.0, 0.08), save=5)
    explicit = st.solve(crossed(), RollingLeapfrog(5e-6), (0.0, 0.08), save=5)
    for name in ("s1", "s2"):
        assert implicit.data[name].values == pytest.approx(explicit.data[name].values, abs=5e-6)
    assert implicit.data.position.values == pytest.approx(explicit.data.position.values, abs=2e-6)


def test_free_rods_keep_their_momenta():
    run = st.solve(crossed(left=Free()), RollingMidpoint(2e-4), (0.0, 0.02), save=11)
    for name in ("momentum", "angular_momentum"):
        values = run.data[name].values
        assert np.abs(values - values[0]).max() <= 1e-9 * np.abs(values[0]).max()


def tumbling(unit, tolerance):
    """Return the largest relative change of the angular momentum of a rod of any length."""
    rng, n = np.random.default_rng(1), 12
    velocity, spin = 0.3 * rng.standard_normal((n + 1, 3)), rng.standard_normal((n, 3))
    section, line = CircularSection(0.02 * unit, 1e6), Straight([0.0, 0.0, 0.0], [unit, 0.0, 0.0])
    motion = [GivenMotion(velocity, 3.0 / unit * spin)]
    rod = CosseratRod(section, line, elements=n, left=Free(), right=Free(), motion=motion)
    method = RollingMidpoint(2e-3 * unit, tolerance=tolerance)
    values = st.solve(Rods([rod]), method, (0.0, 0.02 * unit), save=6).data.angular_momentum.values
    return np.abs(values - values[0]).max() / np.abs(values).max()


def test_the_tolerance_does_not_depend_on_the_size_of_the_rod():
    drift = tumbling(1.0, 1e-9)
    assert 0.0 < drift < 1e-9
    for unit in (1e-4, 1e3):
        assert tumbling(unit, 1e-9) == pytest.approx(drift, rel=1e-3)


def test_the_slip_of_all_steps_is_in_the_audit():
    run = st.solve(crossed(), RollingMidpoint(4e-4), (0.0, 2e-3), save=2)
    (check,) = [c for c in run.audit if c.check == "rolls_without_slip"]
    assert check.ok
    assert check.value > 0.0


def test_steps_beyond_the_explicit_limit():
    """A slender rod sags and swings at a step that no explicit scheme could take."""
    thin = CircularSection(radius=0.001, young=1e7, density=1200.0)
    rod = CosseratRod(
        thin,
        Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        elements=40,
        loads=[LineForce([0, 0, -1e-3])],
    )
    step = 20.0 * step_limit(rod)
    run = st.solve(Rods([rod]), RollingMidpoint(step), (0.0, 0.5), save=51)
    assert run.status.ok
    assert run.energy.imbalance_rel < 1e-3
    with pytest.raises(st.ModelError, match="stability limit"):
        st.solve(Rods([rod]), RollingLeapfrog(step), (0.0, 0.5))


def test_a_moving_clamp_and_damping_close_the_ledger():
    rod = CosseratRod(
        SECTION,
        Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        elements=20,
        right=Free(),
        drag=0.2,
        rotational_drag=1e-4,
        internal_damping=1e-4,
        loads=[LineForce([0.0, 0.0, -1.0])],
    )
    run = st.solve(Rods([rod], gravity=[0.0, 0.0, -9.81]), RollingMidpoint(2e-4), (0.0, 0.1))
    assert run.energy.imbalance_rel < 1e-4
    assert run.energy.viscous_heat[-1] > 0.0
    assert np.all(np.diff(run.energy.viscous_heat) >= 0.0)


def test_drag_on_turning_is_lost_as_heat():
    """As much as in the explicit rule, and nothing is missing."""
    system = crossed(rotational_drag=5e-3)
    heats = []
    for method in (RollingMidpoint(5e-5), RollingLeapfrog(5e-5)):
        energy = st.solve(system, method, (0.0, 0.01), save=5).energy
        heats.append(energy.viscous_heat[-1])
        assert heats[-1] > 5e-3 * energy.kinetic[0]
        assert np.abs(energy.imbalance).max() < 1e-2 * heats[-1]
    assert heats[0] == pytest.approx(heats[1], rel=1e-2)


def test_slipping_contacts_are_refused():
    rods = crossed()
    slipping = RollingContact(0.5, 0.5, friction=st.Coulomb(0.3))
    with pytest.raises(st.ModelError, match="RollingLeapfrog"):
        st.solve(Rods(rods.rods, [slipping]), RollingMidpoint(1e-4), (0.0, 0.1))


def test_moving_clamps_end_where_they_should():
    rod = CosseratRod(
        SECTION,
        Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        elements=20,
        left=Driven(velocity=[0.0, 0.0, 0.1]),
    )
    run = st.solve(Rods([rod]), RollingMidpoint(1e-3), (0.0, 0.1), save=11)
    assert run.data.position.values[-1, 0] == pytest.approx([0.0, 0.0, 0.01], abs=1e-12)
