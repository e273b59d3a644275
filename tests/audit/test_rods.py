"""Every check in the audit of rods fails here, beside the run in which it holds.

Most fail in honest runs: steps that are too long, a contact faster than shear waves, planes that
close on a rod. What no input can break, friction beyond its bound and heat that comes back on a
plane, is broken between kernel and outcome.
"""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, failing, line, solved

import stiction as st
from stiction.numerics import jit
from stiction.rods import (
    CircularSection,
    Clamped,
    ContactSearch,
    CosseratRod,
    CylinderPartner,
    Free,
    LineForce,
    PlaneLeapfrog,
    PlanePartner,
    RigidMotion,
    RodOnFixedRod,
    RodOnPlane,
    RollingContact,
    RollingMidpoint,
    SineVelocity,
    Straight,
    Turned,
)
from stiction.rods.contact import state
from stiction.rods.leapfrog.velocity_verlet import VelocityVerletStepper

# what is reached past the public names, to damage it
PLANE_KERNELS = "stiction.rods.plane.stepper_kernels"
CONTACT_KERNELS = "stiction.rods.contact.law_kernels"

RADIUS = 0.02
SECTION = CircularSection(RADIUS, 1e6, density=1000.0)
SHEAR_WAVE = np.sqrt(SECTION.shear_stiffness / SECTION.line_density)
DIRECTIONS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def rod(axis, middle, section=SECTION, **more):
    """Return a straight rod of length 1 through a point; free unless it says otherwise."""
    half = 0.5 * np.asarray(axis)
    ends = {"left": Free(), "right": Free()}
    line_ = Straight(np.asarray(middle) - half, np.asarray(middle) + half)
    return CosseratRod(section, line_, elements=20, **{**ends, **more})


def crossed(step=None, t_end=0.1, method=st.RollingLeapfrog, save=11, **more):
    """Return a run of two crossed rods that are thrown hard."""
    thrown = {"half_wave": (0.0, 2.0, 4.0), "whole_wave": (0.0, 3.0, 0.0), "spin": 10.0}
    system = st.CrossedRods(elements=20, **{**thrown, **more})
    return solved(system, method(step=step), (0.0, t_end), save=save)


def stack(light, sideways=0.0, mu=0.3):
    """Return a run of three rods on each other; the middle one has another density."""
    rods, touches = [], []
    for k in range(3):
        part = light if k == 1 else 1.0
        section = CircularSection(RADIUS, 1e6 * part, density=1000.0 * part)
        more = {"left": Clamped(), "right": Clamped()} if k == 0 else {}
        if k == 1:
            more["motion"] = [RigidMotion((0.0, -sideways, 0.0))]
        if k == 2:
            more["loads"] = [LineForce((0.0, 0.0, -50.0))]
            more["motion"] = [RigidMotion((0.6 * sideways, sideways, 0.0))]
        rods.append(rod(DIRECTIONS[k % 2], (0.0, 0.0, 2.0 * RADIUS * k), section, **more))
        if k:
            law = st.Coulomb(mu)
            touches.append(RollingContact(0.5, 0.5, first=k, second=k + 1, friction=law))
    method = st.RollingLeapfrog(fraction=0.5)
    return solved(st.Rods(rods, touches), method, (0.0, 0.01), save=31)


def coarse(run):
    """Return what the audit says of a step that is too long to keep the energy."""
    return {"ledger_closes"} if run.energy.imbalance_rel > 1e-5 else set()


# ---- rods on rods: energy


@pytest.mark.fails_audit("rods", "ledger_closes")
@pytest.mark.parametrize(
    ("method", "coarse", "fine"),
    [(st.RollingLeapfrog, 8e-4, 4e-5), (RollingMidpoint, 4e-3, 1e-4)],
)
def test_long_steps_of_rods_lose_energy(method, coarse, fine):
    # a contact without friction pulls, and says so
    beside = {"normal_force_compressive"}
    run = crossed(coarse, method=method)
    # long steps of the midpoint rule let the gap drift, too
    deep = {"no_overlap"} if line(run, "no_overlap").value > 1e-3 else set()
    found = check_fails(
        run, "ledger_closes", value=run.energy.imbalance_rel, limit=1e-5, beside=beside | deep
    )
    held = check_holds(crossed(fine, method=method), "ledger_closes", beside=beside)
    assert held.value < 0.3 * found.value


# ---- rods on rods: contact


@pytest.mark.fails_audit("rods", "normal_force_compressive")
def test_a_contact_that_may_not_open_pulls():
    run = crossed(4e-5, save=2501)
    # every step is a sample, but the force of a step is the mean over its kick
    pull, h = run.data.lambda_n.values, run.stats["step"]
    limit, when = 1e-12 * SECTION.axial_stiffness, run.time[np.argmax(pull)]
    found = check_fails(
        run, "normal_force_compressive", limit=limit, when=(when - 2.0 * h, when + 2.0 * h)
    )
    assert found.value == pytest.approx(pull.max(), rel=1e-3)
    assert found.value > 1.0
    opens = crossed(4e-5, 0.05, friction=st.Coulomb(0.1))
    assert check_holds(opens, "normal_force_compressive").value == pytest.approx(0.0, abs=1e-9)
    assert "open" in set(opens.events.kind)


@pytest.mark.fails_audit("rods", "rods_not_parallel")
@pytest.mark.parametrize(("spin", "ok"), [(-5.0, False), (-3.0, True)])
def test_two_rods_turn_towards_parallel(spin, ok):
    # the upper rod floats above the lower one at 20 degrees, and turns by 0.05 of its spin
    angle = np.deg2rad(20.0)
    axis = (np.cos(angle), np.sin(angle), 0.0)
    turns = [RigidMotion((0.0, 0.0, 0.0), (0.0, 0.0, spin))]
    pair = [
        rod(DIRECTIONS[0], (0.0, 0.0, 0.0), left=Clamped(), right=Clamped()),
        rod(axis, (0.0, 0.0, 2.2 * RADIUS), motion=turns),
    ]
    touch = RollingContact(0.5, 0.5, friction=st.Coulomb(0.3))
    run = solved(st.Rods(pair, [touch]), st.RollingLeapfrog(fraction=0.5), (0.0, 0.05), save=11)
    least = np.sin(np.deg2rad(10.0))
    # reason: the rod bends under its own turning, and its middle lags behind its ends
    sine = pytest.approx(np.sin(angle + 0.05 * spin), rel=3e-2)
    if ok:
        assert check_holds(run, "rods_not_parallel", least=True).value == sine
    else:
        last = (run.t_end * (1.0 - 1e-12), run.t_end * (1.0 + 1e-12))
        found = check_fails(run, "rods_not_parallel", limit=least, when=last, least=True)
        assert found.value == sine
        angle = run.data.crossing_angle.values[-1]
        assert found.value == pytest.approx(np.sin(angle), rel=1e-12)


@pytest.mark.fails_audit("rods", "no_interpenetration")
@pytest.mark.fails_audit("rods", "normal_force_compressive")
@pytest.mark.fails_audit("rods", "ledger_closes")
def test_long_steps_push_rods_into_each_other():
    # the midpoint rule holds velocities, not gaps
    run = crossed(1e-2, method=RollingMidpoint)
    gap = run.data.gap.values
    check_fails(
        run,
        "no_interpenetration",
        value=-gap.min(),
        limit=2e-3 * RADIUS,
        when=run.time[np.argmin(gap)],
        beside={"normal_force_compressive", "ledger_closes", "no_overlap"},
    )
    fine = crossed(1e-4, method=RollingMidpoint)
    check_holds(fine, "no_interpenetration", beside={"normal_force_compressive"})


@pytest.mark.fails_audit("rods", "contact_subsonic")
@pytest.mark.parametrize(("speed", "ok"), [(1.5, False), (0.5, True)])
def test_a_rod_rolls_faster_than_shear_waves(speed, ok):
    # a solid rod that is thrown over another one starts to roll at two thirds of its speed
    velocity = (speed * SHEAR_WAVE, 0.0, 0.0)
    system = RodOnFixedRod(elements=20, at=0.5, slope=0.0, velocity=velocity, young=1e6)
    run = solved(system, st.RollingLeapfrog(fraction=0.5), (0.0, 1e-3), save=5)
    found, beside = line(run, "contact_subsonic"), failing(run) - {"contact_subsonic"}
    rates = [np.abs(run.data[name].values) for name in ("s1_rate", "s2_rate")]
    # of all steps
    assert np.max(rates) * (1.0 - 1e-12) <= found.value < 1.1 * np.max(rates)
    assert found.limit == pytest.approx(SHEAR_WAVE, rel=1e-12)
    if ok:
        check_holds(run, "contact_subsonic", beside=beside)
    else:
        check_fails(run, "contact_subsonic", when=(0.0, run.t_end), beside=beside)


@pytest.mark.fails_audit("rods", "no_axial_force_ignored")
@pytest.mark.parametrize(("place", "ok"), [(0.95, False), (0.8, True)])
def test_a_contact_beside_an_end_that_slides_does_not_move_it(place, ok):
    slides = Turned((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 0.0), slides=True)
    ends = {"left": Clamped(), "right": slides, "loads": [LineForce((0.0, 0.0, -20.0))]}
    held = rod((1.0, 0.0, 0.0), (0.5, 0.0, 2.0 * RADIUS), **ends)
    belt = CylinderPartner((place, -0.5, 0.0), (place, 0.5, 0.0), RADIUS, velocity=(0.5, 0.0, 0.0))
    touch = RollingContact(place, 0.5, first=1, second=2, friction=st.Coulomb(0.5))
    run = solved(st.Rods([held], [touch], partners=[belt]), t_span=(0.0, 1e-3), save=5)
    if ok:
        # two elements away it moves the nodes before the end
        check_holds(run, "no_axial_force_ignored", value=0.0)
    else:
        found = check_fails(run, "no_axial_force_ignored", limit=1e-3)
        # a sixth of the friction, which is half of what presses; the rod has bent a little
        assert np.sqrt(0.2) / 6.0 < found.value < 1.05 * np.sqrt(0.2) / 6.0


@pytest.mark.parametrize("light", [1e-3, 1e-4])
def test_newton_solves_a_light_rod_between_heavy_ones(light):
    # sweeps converge as slowly as the masses differ
    run = stack(light)
    assert run.stats["most_sweeps"] == 2000
    assert check_holds(run, "contacts_solved", beside=coarse(run)).value == 0.0
    assert check_holds(run, "no_interpenetration", beside=coarse(run)).value < 1e-5 * RADIUS


def between_planes(speed, t_end):
    """Return a run of a rod of 21 nodes between two planes, of which the upper one comes down."""
    body = rod(DIRECTIONS[0], (0.0, 0.0, RADIUS))
    planes = [
        PlanePartner(),
        PlanePartner((0.0, 0.0, 2.0 * RADIUS + 1e-4), (0.0, 0.0, -1.0), (0.0, 0.0, -speed)),
    ]
    search, weight = ContactSearch(friction=st.Coulomb(0.3)), (0.0, 0.0, -9.81)
    system = st.Rods([body], search=search, gravity=weight, partners=planes)
    return solved(system, st.RollingLeapfrog(fraction=0.5), (0.0, t_end), save=11)


@pytest.mark.fails_audit("rods", "contacts_solved")
@pytest.mark.parametrize(("speed", "ok"), [(0.1, False), (0.01, True)])
def test_no_impulses_stop_a_rod_between_planes_that_close(speed, ok):
    # the nodes hit the upper plane one after the other, and neither plane gives way
    run = between_planes(speed, 1.02e-3)
    impacts = int((run.events.kind == "close").sum())
    if ok:
        assert check_holds(run, "contacts_solved").value == impacts == 0
    else:
        found = check_fails(run, "contacts_solved", limit=0.0)
        # each impact, and the end of the step
        assert found.value == impacts + 1 == 22


def fallen(mu, part=0.5):
    """Return a coarse run of a rod that falls on a floor, one end first, and slides."""
    half = 0.15 * np.array([np.cos(0.05), 0.0, np.sin(0.05)])
    middle = np.array([0.0, 0.0, 0.0125 + half[2]])
    body = CosseratRod(
        CircularSection(0.012, 1e6, density=1000.0),
        Straight((middle - half).tolist(), (middle + half).tolist()),
        elements=8,
        left=Free(),
        right=Free(),
        motion=[RigidMotion((0.05, 0.02, -0.5))],
    )
    search = ContactSearch(friction=st.Coulomb(mu), self_contact=False, max_contacts=32)
    weight = (0.0, 0.0, -9.81)
    system = st.Rods([body], search=search, gravity=weight, partners=[PlanePartner()])
    return solved(system, st.RollingLeapfrog(fraction=part), (0.0, 0.02), save=11)


@pytest.mark.fails_audit("rods", "friction_dissipates")
def test_long_steps_give_heat_back():
    run = fallen(0.5, part=0.9)
    coarse_too = {"ledger_closes", "no_overlap"}
    limit = 1e-8 * run.energy.scale
    found = check_fails(run, "friction_dissipates", limit=limit, beside=coarse_too)
    assert found.value > 5.0 * found.limit
    slides = fallen(0.3)
    assert slides.energy.friction_heat[-1].sum() > 0.0
    check_holds(slides, "friction_dissipates", beside=coarse_too)


@pytest.mark.fails_audit("rods", "rolls_without_slip")
def test_contacts_that_are_not_solved_slip_while_they_roll(monkeypatch):
    # few sweeps, and nothing after them
    kernels = importlib.import_module(CONTACT_KERNELS)
    for name in ("END_SWEEPS", "FORCE_SWEEPS"):
        monkeypatch.setattr(kernels, name, 5)
    monkeypatch.setattr(kernels, "solve_by_newton", lambda *arguments: False)
    run = in_plain_python(lambda: stack(1e-3, sideways=0.8, mu=0.5))
    beside = {"contacts_solved", "no_interpenetration", "no_overlap"}
    mass = sum(rod.section.line_density * rod.rest_length for rod in run.system.rods)
    limit = 1e-12 * np.sqrt(2.0 * run.energy.scale / mass)
    found = check_fails(run, "rolls_without_slip", limit=limit, beside=beside)
    assert found.value > 1e-7
    held = stack(1e-3, sideways=0.8, mu=0.5)
    check_holds(held, "rolls_without_slip", beside=coarse(held))


@pytest.mark.fails_audit("rods", "friction_within_bound")
def test_impulses_between_forces_pass_the_bound_of_friction(monkeypatch):
    # forces at the ends of steps are within it
    history = VelocityVerletStepper.history
    passes = 0.01
    monkeypatch.setattr(
        VelocityVerletStepper, "history", lambda self: replace(history(self), excess=passes)
    )
    run = stack(1.0, sideways=2.0, mu=0.5)
    found = check_fails(run, "friction_within_bound", limit=0.5, beside=coarse(run))
    assert found.value == 0.5 + passes
    assert np.nanmax(run.data.friction_ratio.values) <= 0.5 * (1.0 + 1e-6)
    monkeypatch.undo()
    held = stack(1.0, sideways=2.0, mu=0.5)
    assert failing(held) == coarse(held)


@pytest.mark.fails_audit("rods", "no_interpenetration")
@pytest.mark.fails_audit("rods", "contacts_solved")
def test_planes_that_close_penetrate_a_rod():
    run = between_planes(0.1, 1.5e-3)
    gap = np.nanmin(run.data.gap.values, axis=1)
    found = check_fails(
        run,
        "no_interpenetration",
        limit=2e-3 * RADIUS,
        when=(1e-3, 1.5e-3),
        beside={"contacts_solved", "no_overlap"},
    )
    assert found.value >= -gap.min() > 0.5 * found.value


@pytest.mark.fails_audit("rods", "no_overlap")
@pytest.mark.parametrize(("above", "ok"), [(2.0, False), (4.5, True)])
def test_rods_without_a_contact_pass_through_each_other(above, ok):
    # no contact is declared and none searched for; after 10 ms the upper one is 2 radii lower
    down = [RigidMotion((0.0, 0.0, -4.0))]
    pair = [
        rod(DIRECTIONS[0], (0.0, 0.0, 0.0), left=Clamped(), right=Clamped()),
        rod(DIRECTIONS[1], (0.0, 0.0, above * RADIUS), motion=down),
    ]
    run = solved(st.Rods(pair), st.RollingLeapfrog(fraction=0.5), (0.0, 0.01), save=11)
    if ok:
        assert check_holds(run, "no_overlap").value == 0.0
        return
    found = check_fails(run, "no_overlap", limit=1e-3, when=0.01)
    assert found.value == pytest.approx(2.0, rel=1e-9)
    assert "rod 1 and rod 2" in found.note


@pytest.mark.fails_audit("rods", "friction_within_bound")
def test_friction_exceeds_its_bound_where_nothing_cuts_it(monkeypatch):
    # pressed and pulled alike: to roll, it would need more than mu allows
    load = [LineForce((50.0, 0.0, -50.0))]
    pair = [
        rod(DIRECTIONS[0], (0.0, 0.0, 0.0), left=Clamped(), right=Clamped()),
        rod(DIRECTIONS[1], (0.0, 0.0, 2.0 * RADIUS), loads=load),
    ]
    touch = RollingContact(0.5, 0.5, friction=st.Coulomb(0.1))
    system, method = st.Rods(pair, [touch]), st.RollingLeapfrog(1e-4)
    held = solved(system, method, (0.0, 0.01), save=11)
    assert held.audit.ok
    assert line(held, "friction_within_bound").value == pytest.approx(0.1, rel=1e-6)
    # the solver is given twice the coefficient of the system
    given = state._mu
    monkeypatch.setattr(state, "_mu", lambda friction: 2.0 * given(friction))
    run = solved(system, method, (0.0, 0.01), save=11)
    found = check_fails(run, "friction_within_bound", limit=0.1)
    assert found.value == pytest.approx(0.2, rel=1e-6)
    assert found.value == pytest.approx(run.data.friction_ratio.values.max(), rel=1e-6)


# ---- a rod on a plane


def on_plane(
    method,
    *,
    t_end=0.02,
    save=5,
    lift=0.0,
    motion=(),
    section=SECTION,
    mu=0.5,
    gravity=-9.81,
    elements=8,
):
    """Return a run of a rod that begins level above a plane."""
    free = CosseratRod(
        section,
        Straight((0.0, -0.25, RADIUS + lift), (0.0, 0.25, RADIUS + lift)),
        elements=elements,
        left=Free(),
        right=Free(),
        motion=motion,
    )
    law = None if mu is None else st.Coulomb(mu)
    system = RodOnPlane(free, friction=law, gravity=(0.0, 0.0, gravity))
    return st.solve(system, method, (0.0, t_end), save=save, throw=False)


@pytest.mark.fails_audit("rods", "ledger_closes")
@pytest.mark.fails_audit("rods", "numerical_dissipation_small")
def test_a_fall_in_long_steps_loses_energy():
    fall = [RigidMotion((0.5, 0.0, -1.0)), SineVelocity(2, (0.0, 0.0, 1.0))]

    def falling(part):
        return on_plane(PlaneLeapfrog(fraction=part), lift=0.005, motion=fall)

    run = falling(1.0)
    assert run.status is st.Status.SOLVED
    assert len(run.events) > 0
    check_fails(
        run,
        "ledger_closes",
        value=run.energy.imbalance_rel,
        limit=1e-3,
        beside={"numerical_dissipation_small"},
    )
    check_holds(falling(0.05), "ledger_closes")


@pytest.mark.fails_audit("rods", "numerical_dissipation_small")
def test_a_rod_that_stops_slipping_within_a_long_step_costs_energy():
    def sliding(part):
        thrown = [RigidMotion((0.5, 0.0, 0.0))]
        return on_plane(PlaneLeapfrog(fraction=part), t_end=0.01, motion=thrown, gravity=-100.0)

    run = sliding(1.0)
    assert set(run.events.kind) == {"stick"}
    lost = np.abs(run.energy.algorithmic).max() / run.energy.scale
    found = check_fails(run, "numerical_dissipation_small", limit=1e-3)
    assert found.value == pytest.approx(lost, rel=1e-12)
    # second order in the step
    held = check_holds(sliding(0.25), "numerical_dissipation_small")
    assert 0.03 * found.value < held.value < 0.1 * found.value


@pytest.mark.fails_audit("rods", "no_interpenetration")
@pytest.mark.parametrize(("step", "ok"), [(0.0514, False), (0.01, True)])
def test_a_rod_that_only_just_reaches_the_plane_passes_through_it(step, ok):
    # soft, so that long steps are stable; it reaches the plane at 40 ms and leaves it at 52 ms
    g, into, out = 9.81, 0.04, 0.052
    run = on_plane(
        PlaneLeapfrog(step=step),
        t_end=0.0514,
        save=2,
        lift=0.5 * g * into * out,
        motion=[RigidMotion((0.0, 0.0, -0.5 * g * (into + out)))],
        section=CircularSection(RADIUS, 20.0, density=1000.0),
        gravity=g,
        mu=None,
    )
    if ok:
        assert check_holds(run, "no_interpenetration").value < 1e-6
        return
    found = check_fails(run, "no_interpenetration", limit=1e-3)
    # free flight is a parabola, of which one end of a step lies inside the plane
    flown = step - run.stats["shortest_step"]
    deep = 0.5 * g * (flown - into) * (out - flown) / RADIUS
    assert found.value == pytest.approx(deep, rel=1e-9)


class HeavyCore(CircularSection):
    """A section whose mass lies near its axis."""

    @property
    def line_inertia(self):
        return 1e-3 * super().line_inertia


@pytest.mark.fails_audit("rods", "contacts_solved")
@pytest.mark.parametrize(("kind", "ok"), [(HeavyCore, False), (CircularSection, True)])
def test_no_sweep_makes_a_rod_with_a_heavy_core_roll(kind, ok):
    # rolling couples all nodes the more, the lighter the rod turns
    slides = [RigidMotion((0.5, 0.2, 0.0), (0.0, 3.0, 0.0)), SineVelocity(3, (0.3, 0.2, 0.0))]
    run = on_plane(
        PlaneLeapfrog(max_steps=10),
        t_end=0.1,
        motion=slides,
        section=kind(RADIUS, 1e6, density=1000.0),
        elements=20,
        mu=None,
    )
    assert run.stats["steps"] == 10
    if ok:
        assert check_holds(run, "contacts_solved").value == 0.0
        assert run.stats["most_sweeps"] < 100
    else:
        found = check_fails(run, "contacts_solved", limit=0.0)
        # two kicks a step, and those at the start
        assert found.value == int(found.value) <= 25.0
        assert run.stats["most_sweeps"] == 2000


def in_plain_python(solve):
    """Return what `solve` does where kernels are Python, with what a test replaced in them."""
    before = jit.mode()
    jit.use("plain")
    try:
        return solve()
    finally:
        jit.use(before)


def slipping():
    """Return a run of a rod that slips on a plane all the time."""
    return on_plane(PlaneLeapfrog(), t_end=0.01, motion=[RigidMotion((2.0, 0.0, 0.0))])


@pytest.mark.fails_audit("rods", "friction_dissipates")
@pytest.mark.fails_audit("rods", "ledger_closes")
def test_heat_that_comes_back_from_a_plane(monkeypatch):
    run = slipping()
    check_holds(run, "friction_dissipates")
    kernels = importlib.import_module(PLANE_KERNELS)
    account = jit.py_function(kernels.contact_work)

    def cooling(nodes, half):
        before = nodes["heat"].copy()
        remainder = account(nodes, half)
        nodes["heat"] = 2.0 * before - nodes["heat"]
        return remainder

    monkeypatch.setattr(kernels, "contact_work", cooling)
    cold = in_plain_python(slipping)
    taken = -cold.energy.total_friction_heat[-1]
    assert taken == pytest.approx(run.energy.total_friction_heat[-1], rel=1e-6)
    found = check_fails(cold, "friction_dissipates", limit=1e-14, beside={"ledger_closes"})
    assert found.value == pytest.approx(taken / cold.energy.scale, rel=1e-9)


@pytest.mark.fails_audit("rods", "friction_within_bound")
def test_friction_on_a_plane_exceeds_its_bound(monkeypatch):
    check_holds(slipping(), "friction_within_bound")
    kernels = importlib.import_module(PLANE_KERNELS)
    law = jit.py_function(kernels.solve_impulses)

    def excessive(*given):
        sweeps = law(*given)
        # impulses across the plane, and along both directions of it
        given[5]["impulse"][:, 1:] *= 1.2
        return sweeps

    monkeypatch.setattr(kernels, "solve_impulses", excessive)
    run = in_plain_python(slipping)
    found = check_fails(run, "friction_within_bound", limit=1e-9, beside={"ledger_closes"})
    # mu N and a fifth of it, over N
    assert found.value == pytest.approx(0.2 * 0.5, rel=1e-9)
