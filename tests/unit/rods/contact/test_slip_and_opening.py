"""Set-valued contact of two rods: it rolls, slips, opens and closes; energy, bounds and limits."""

import dataclasses

import numpy as np
import pytest
from crossed import ACROSS, SECTION, UP, crossed_rods
from numpy.testing import assert_allclose

import stiction as st
from stiction.rods.methods import RollingLeapfrog
from stiction.rods.model import Rods
from stiction.rods.rod import Free, LineForce, RigidMotion, SineVelocity

SPAN = (0.0, 0.2)


def run_of(mu, step=2.5e-5, save=401, span=SPAN, **more):
    """Return a run of case G with Coulomb's law."""
    return st.solve(
        crossed_rods(friction=st.Coulomb(mu), **more), RollingLeapfrog(step), span, save=save
    )


def sliding(run):
    """Return pressing and tangential force at the saved times [N]."""
    force, normal = run.data.contact_force.values, run.data.lambda_n.values
    return -normal, np.sqrt(np.maximum((force**2).sum(axis=1) - normal**2, 0.0))


@pytest.fixture(scope="module", params=[(0.05, 0.0), (0.3, 0.0), (0.3, 0.5)])
def slipping(request):
    """Return coefficient and run of a contact that rolls, slips, opens and closes again."""
    mu, restitution = request.param
    return mu, run_of(mu, 1e-5, restitution=restitution)


def test_energy_budget_closes(slipping):
    energy = slipping[1].energy
    assert np.abs(energy.imbalance).max() <= 1e-6 * energy.kinetic.max()


def test_friction_takes_energy_in_every_interval(slipping):
    heat = slipping[1].energy.friction_heat
    assert np.all(np.diff(heat, axis=0) >= 0.0)
    assert heat[-1, 0] > 1e-3


def test_the_force_obeys_the_laws(slipping):
    mu, run = slipping
    press, slide = sliding(run)
    assert press.min() >= 0.0
    # the root of a difference of squares leaves the square root of rounding
    assert np.all(slide <= mu * press * (1.0 + 1e-7) + 1e-6)
    assert press.max() > 10.0


def test_gap_and_force_exclude_each_other(slipping):
    run = slipping[1]
    press, _ = sliding(run)
    gap = run.data.gap.values
    assert gap.min() >= -1e-12 * 2.0 * SECTION.radius
    assert np.abs(press * gap).max() <= 1e-12
    assert gap.max() > 1e-4


def test_slip_is_against_the_force(slipping):
    run = slipping[1]
    modes = run.data.contact_mode.values
    assert {0.0, 2.0} <= set(modes)
    assert np.all(run.data.slip_speed.values[modes == 2.0] > 0.0)
    power = np.diff(run.energy.friction_heat[:, 0])
    inside = (modes[1:] == 2.0) & (modes[:-1] == 2.0)
    assert inside.any()
    assert np.all(power[inside] > 0.0)


def test_energy_error_of_a_slipping_contact_is_of_second_order():
    imbalance = []
    for step in (1e-4, 5e-5, 2.5e-5):
        energy = run_of(0.05, step, save=101).energy
        imbalance.append(np.abs(energy.imbalance).max())
    order = np.log2(np.array(imbalance[:-1]) / imbalance[1:])
    assert np.all((order > 1.9) & (order < 2.1))


def test_no_friction_has_no_tangential_force():
    run = run_of(0.0)
    press, _ = sliding(run)
    ratio = run.data.friction_ratio.values
    assert press.max() > 10.0
    assert np.nanmax(ratio) <= 1e-12
    assert np.abs(run.energy.friction_heat).max() <= 1e-18


@pytest.mark.parametrize("mu", [1e-6, 1e-12])
def test_rounding_of_a_small_friction_force_is_no_stick(mu):
    system = st.rods.RodOnFixedRod(slope=0.3, friction=st.Coulomb(mu), elements=20)
    run = st.solve(system, RollingLeapfrog(fraction=0.1), (0.0, 0.03), save=4)
    assert "rolls_without_slip" not in [check.check for check in run.audit.failed]
    assert "stick" not in set(run.events.kind)


def test_small_friction_tends_to_none():
    smooth = run_of(0.0, 1e-4, save=11).data
    shift = [
        np.abs(run_of(mu, 1e-4, save=11).data.position.values - smooth.position.values).max()
        for mu in (2e-3, 1e-3)
    ]
    # linear in the coefficient
    assert 1.9 < shift[0] / shift[1] < 2.1


def test_large_friction_tends_to_perfect_rolling():
    """They agree as the step falls; the first kick differs, where the contact has no force yet."""
    shift = []
    for step in (1e-4, 5e-5):
        perfect = st.solve(crossed_rods(opens=True), RollingLeapfrog(step), SPAN, save=101)
        rough = run_of(1e9, step, save=101)
        # the contact starts without any force, so that rounding decides whether it opens at once
        later = rough.events[rough.events.time > 1e-6]
        assert perfect.events.kind.tolist() == later.kind.tolist() == ["open", "close", "open"]
        shift.append(np.abs(perfect.data.position.values - rough.data.position.values).max())
    assert shift[0] < 1e-7
    assert shift[0] / shift[1] > 1.8


def thrown(speed=0.5, **more):
    """Return a free rod that flies at another one."""
    return crossed_rods(
        end=Free,
        stretch=1.0,
        lift=0.002,
        motion=[RigidMotion(speed * UP + 0.1 * ACROSS)],
        **{"friction": st.Coulomb(0.2), **more},
    )


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_an_impact_turns_the_normal_velocity(restitution):
    system = thrown(restitution=restitution)
    # the rods touch at 0.004 s; the gap is linear in time before and, very soon, after
    save = [0.0, 0.0039, 0.00395, 0.004 + 2e-7, 0.004 + 1.2e-6]
    run = st.solve(system, RollingLeapfrog(2e-7), (0.0, save[-1]), save=save)
    gap = run.data.gap.values
    before = (gap[2] - gap[1]) / 5e-5
    after = (gap[4] - gap[3]) / 1e-6
    assert before == pytest.approx(-0.5, abs=1e-9)
    # elastic forces turn the velocity by about their acceleration times a microsecond
    assert after == pytest.approx(0.5 * restitution, abs=3e-3)
    event = run.events.iloc[0]
    assert event.kind == ("bounce" if restitution > 0.0 else "close")
    assert event.time == pytest.approx(0.004, abs=1e-12)
    assert event.closing_speed == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_colliding_free_rods_keep_their_momenta_and_lose_energy(restitution):
    run = st.solve(thrown(restitution=restitution), RollingLeapfrog(2e-5), (0.0, 0.05), save=51)
    for name in ("momentum", "angular_momentum"):
        values = run.data[name].values
        size = np.abs(run.data.momentum.values).max()
        assert_allclose(values, values[[0]].repeat(51, 0), rtol=0, atol=1e-13 * size, err_msg=name)
    energy = run.energy
    assert np.all(np.diff(energy.impact_loss) >= 0.0)
    assert np.all(np.diff(energy.friction_heat, axis=0) >= -1e-18)
    assert run.events.kind.iloc[0] in ("close", "bounce")


def test_an_elastic_impact_without_friction_loses_nothing():
    system = thrown(restitution=1.0, friction=st.Coulomb(0.0))
    run = st.solve(system, RollingLeapfrog(2e-5), (0.0, 0.01), save=11)
    assert "bounce" in set(run.events.kind)
    assert abs(run.energy.impact_loss[-1]) <= 1e-14 * run.energy.kinetic[0]


@pytest.mark.parametrize(("normal", "kinds"), [(1.0, "bounce"), (0.0, "close slip")])
def test_tangential_restitution_gives_the_slip_back(normal, kinds):
    def slip_after(part):
        system = thrown(friction=st.Coulomb(5.0), restitution=normal, tangential_restitution=part)
        run = st.solve(system, RollingLeapfrog(2e-7), (0.0, 0.004 + 2e-7), save=3)
        assert set(run.events.kind) == set((kinds if part else kinds.split()[0]).split())
        return run.data.slip_speed.values[-1]

    assert slip_after(0.0) <= 1e-4
    # reason: elastic forces act for a part of a microsecond after the impact
    assert slip_after(0.5) == pytest.approx(0.05, rel=2e-2)
    # reason: as above
    assert slip_after(1.0) == pytest.approx(0.1, rel=2e-2)


@pytest.mark.usefixtures("plain_kernels")
def test_tangential_restitution_makes_no_slip_of_a_central_impact():
    system = crossed_rods(
        elements=8,
        end=Free,
        stretch=1.0,
        lift=0.0002,
        motion=[RigidMotion(0.5 * UP)],
        friction=st.Coulomb(5.0),
        tangential_restitution=0.5,
    )
    run = st.solve(system, RollingLeapfrog(1e-4), (0.0, 7e-4), save=2)
    assert run.events.kind.tolist() == ["close"]


def test_bounces_that_add_up_end_in_contact():
    """Gravity pulls a rod onto another one; its bounces shorten until the contact closes."""
    resting = crossed_rods(
        motion=[SineVelocity(1, 0.3 * UP)], friction=st.Coulomb(0.3), restitution=0.5, lift=0.002
    )
    upper = dataclasses.replace(
        resting.rods[1], loads=[LineForce([0.0, 0.0, -20.0])], drag=2.0, internal_damping=1e-4
    )
    fall = Rods([resting.rods[0], upper], resting.contacts)
    run = st.solve(fall, RollingLeapfrog(5e-5), (0.0, 0.4), save=401)
    kinds = run.events.kind.tolist()
    assert run.status.name == "SOLVED"
    assert kinds[:2] == ["bounce", "bounce"]
    assert "close" in kinds
    # events do not pile up: a bounce shorter than two steps closes the contact
    assert len(kinds) < 100
    assert run.data.contact_mode.values[-1] >= 1.0
    assert run.data.gap.values.min() >= -1e-12 * 2.0 * SECTION.radius


def test_kinds_of_events_come_in_an_order_that_makes_sense(slipping):
    events = slipping[1].events
    assert events.time.is_monotonic_increasing
    mode = "roll"
    follows = {"open": "open", "close": "roll", "slip": "slip", "stick": "roll", "bounce": "open"}
    for before, after, kind in zip(events["from"], events["to"], events.kind, strict=True):
        assert before == mode
        assert after == follows[kind]
        mode = after
