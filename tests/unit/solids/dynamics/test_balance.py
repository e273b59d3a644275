"""The energy of steps: identities on random steps, and energies that forces do not have."""

from types import SimpleNamespace

import numpy as np
import pytest

import stiction as st
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    Fixed,
    GeneralisedAlpha,
    MovingSolid,
    NeoHookean,
    RigidPlane,
    rectangle,
)
from stiction.solids.dynamics.balance import SolvedStep, impulse_energies, time_step_energies
from stiction.solids.dynamics.problem import MovingProblem, Step
from stiction.solids.dynamics.stepper import TimeStepper
from stiction.solids.equilibria.history import Energies, energies_at
from stiction.solids.outcome.run import _two_half_pass_balance

LAW = LennardJones.from_strength(0.05, 0.01)


def problem(gap=1.0):
    """A block above a plane, with dashpots, held at its top."""
    body = Body(rectangle(2.0, 1.0, (4, 2), (0.0, gap * LAW.gap_eq)), Q1N2(), NeoHookean(1.0, 0.3))
    contact = Contact(Boundary(0, "bottom"), RigidPlane(), LAW, Frictionless())
    solid = st.Solid([body], [contact], [Fixed(Boundary(0, "top"))], dimensionless=True)
    return MovingProblem(MovingSolid(solid, normal_viscosity=2.0, tangential_viscosity=0.7), False)


def random_step(made, method, seed, size):
    """A step to a place at random: nothing balances, supports and free nodes carry the rest."""
    rng = np.random.default_rng(seed)
    dt = 10.0 ** rng.uniform(-2, 1)
    state = made.start(0.0)
    u, v, a = size * rng.standard_normal((3, made.size, 2))
    before, _ = made.evaluate(state, u, 0.0, None, data=False)
    state = made.accepted(state, before, 0.0)
    force = before.residual + made.damping_force(made.dashpots(before), v)
    step = Step(dt, u, v, a, force, method.weights())
    to = u + size * rng.standard_normal(u.shape)
    made.begin_step(step)
    result, _ = made.evaluate(state, to, dt, None, data=False)
    after = made.end_step(result)
    v1, a1 = step.rates(to)
    return state, step, SolvedStep(before, after, result.residual, v1, a1), (0.0, dt)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.8, 1.0])
def test_ledger_of_random_steps(radius):
    """The identity holds for any step: what is out of balance is counted as carried."""
    made, method = problem(gap=1.2), GeneralisedAlpha(radius)
    made.fixed[:] = True  # all forces that are left over count as those of supports
    for seed in range(20):
        state, step, moved, times = random_step(made, method, seed, 2e-4)
        first = energies_at(made, moved.before, 0.0)
        first = first._replace(kinetic=made.kinetic(step.v))
        last = time_step_energies(made, state, step, moved, times, first)
        change = last.kinetic + last.stored + last.adhesive
        change -= first.kinetic + first.stored + first.adhesive
        parts = (change, last.work, last.viscous, last.algorithmic)
        rest = change - last.work + last.viscous + last.algorithmic
        # the rule of degree five leaves a little
        assert abs(rest) <= 1e-6 * max(abs(part) for part in parts)
        assert last.viscous >= 0.0


@pytest.mark.parametrize("friction", [DI(0.4), EA(0.5), EA(0.5, 0.5)], ids=repr)
def test_ledger_of_steps_with_friction(friction):
    """A block is rubbed and stretched on a plane, and lifted to where friction ends, and beyond.

    The spring that the last step with friction leaves, and springs of model DI whose area grows,
    are in the ledger to rounding, however long a step is.
    """
    body = Body(rectangle(2.0, 1.0, (4, 2), (0.0, LAW.gap_eq)), Q1N2(), NeoHookean(1.0, 0.3))
    contact = Contact(Boundary(0, "bottom"), RigidPlane(), LAW, friction, penalty=1.0)
    solid = st.Solid([body], [contact], [Fixed(Boundary(0, "top"))], dimensionless=True)
    made, method = MovingProblem(MovingSolid(solid), False), GeneralisedAlpha()
    made.fixed[:] = True
    cut = friction.gap_cut(LAW) - LAW.gap_eq
    at = made.points[: made.first[1]]
    state, rest, heats = made.start(0.0), np.zeros_like(made.points), []
    before, first, u0 = None, None, rest
    path = [(0.5, 0.0, 0.0), (0.5, 0.1, 0.1), (0.9, 0.15, 0.03), (1.1, 0.2, 0.1), (1.6, 0.1, 0.0)]
    for number, (lift, shear, wide) in enumerate(path):
        u = rest.copy()
        u[: made.first[1], 0] = shear + wide * at[:, 0] * (1.0 + at[:, 1])
        u[: made.first[1], 1] = lift * cut
        if before is None:
            before, _ = made.evaluate(state, u, 0.0, None, data=False)
            state, u0 = made.accepted(state, before, 0.0), u
            first = energies_at(made, before, 0.0)._replace(kinetic=0.0)
            continue
        step = Step(1.0, u0, rest, rest, before.residual, method.weights())
        made.begin_step(step)
        result, _ = made.evaluate(state, u, float(number), None, data=False)
        after = made.end_step(result)
        moved = SolvedStep(before, after, result.residual, *step.rates(u))
        last = time_step_energies(made, state, step, moved, (number - 1.0, float(number)), first)
        change = last.kinetic + last.stored + last.adhesive - first.stored - first.adhesive
        spent = last.algorithmic - first.algorithmic + sum(last.heat) - sum(first.heat)
        assert abs(change - last.work + first.work + spent) <= 1e-9 * abs(last.adhesive)
        heats.append(sum(last.heat) - sum(first.heat))
        state, before, u0 = made.accepted(state, after, float(number)), after, u
        first = last._replace(kinetic=0.0)
    assert heats[1] > 0.0
    if isinstance(friction, EA):
        assert heats[2] == 0.0  # beyond its gap no law slides


def test_an_energy_that_is_not_that_of_the_forces_leaves_the_ledger_open(monkeypatch):
    made, method = problem(gap=1.2), GeneralisedAlpha()
    made.fixed[:] = True
    state, step, moved, times = random_step(made, method, 0, 2e-4)
    first = energies_at(made, moved.before, 0.0)._replace(kinetic=made.kinetic(step.v))
    true = time_step_energies(made, state, step, moved, times, first)
    monkeypatch.setattr(type(made), "stored", lambda *_: (0.9 * true.stored, true.adhesive))
    wrong = time_step_energies(made, state, step, moved, times, first)
    # the losses know forces alone: nothing makes up for the energy that is missing
    assert wrong.stored == 0.9 * true.stored
    assert wrong[3:] == true[3:]
    assert wrong.work == true.work


def test_a_kick_does_the_work_of_its_impulse():
    made = problem()
    rng = np.random.default_rng(4)
    v = rng.standard_normal((made.size, 2))
    v[made.fixed] = 0.0
    driven = np.where(made.fixed, [0.3, -0.2], 0.0)
    after = made.after_impulse(v, driven)
    start = energies_at(made, made.evaluate(made.start(0.0), 0 * v, 0.0, None, data=False)[0], 0.0)
    start = start._replace(kinetic=made.kinetic(v))
    result = impulse_energies(made, v, after, start)
    assert result.kinetic - start.kinetic == pytest.approx(result.work, rel=1e-10)
    assert np.array_equal(after[made.fixed], driven[made.fixed])
    impulse = made.mass_times(after - v)
    heavy = made.has_mass.reshape(v.shape) & ~made.fixed
    assert np.abs(impulse[heavy]).max() <= 1e-12 * np.abs(impulse).max()


def test_checks_do_not_ignore_nan():
    path = [
        SimpleNamespace(time=t, energy=Energies(1.0, 0.0, 0.0, (0.0,), lost, 0.0))
        for t, lost in ((0.0, 0.0), (1.0, np.nan), (2.0, 0.0))
    ]
    record = SimpleNamespace(path=path, contact_forces={0: [(np.full(2, np.nan), np.ones(2))]})
    made = {"record": record, "max_error": 0.0, "initial_residual": 0.0}
    stepper = SimpleNamespace(scheme=SimpleNamespace(newton_tolerance=1e-9), **made)
    held = {check.check: check.ok for check in TimeStepper.checks(stepper)}
    assert not held["ledger_closes"]
    assert not held["numerical_dissipation_small"]
    assert not _two_half_pass_balance(record, 0).ok
