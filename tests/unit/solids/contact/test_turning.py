"""Rigid circles that turn: drums, wheels, and the work of what turns them."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids import (
    Q1,
    Q1N2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    MovingSolid,
    NeoHookean,
    Program,
    Rigid,
    RigidCircle,
    RigidPlane,
    Turned,
    rectangle,
)

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def to(value, begin=0.5):
    return Program((0.0, begin, 1.0), (0.0, 0.0, value))


def wheel(*drives, law=None, radius=0.8, press=0.04, friction_from=0.5):
    """A block under a wheel that is pressed in until 0.5, and driven from then on."""
    mesh = rectangle(2.0, 0.6, (24, 4), (-1.0, 0.0))
    circle = RigidCircle((0.0, 0.6 + LAW.gap_eq + radius), radius)
    return st.Solid(
        [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), circle, LAW, law or EA(0.4), friction_from=friction_from)],
        [
            Fixed(Boundary(0, "bottom")),
            Driven(Rigid(0), 1, Program((0.0, 0.5), (0.0, -press))),
            *drives,
        ],
        dimensionless=True,
    )


def solved(system, steps=30):
    return st.solve(system, st.solids.Quasistatic(steps=steps))


def test_rotation_without_friction_changes_nothing():
    still = solved(wheel(law=Frictionless()), 8)
    turned = solved(wheel(Turned(Rigid(0), to(3.0)), law=Frictionless()), 8)
    for name in ("force_x", "force_y", "gap", "drawn_position"):
        np.testing.assert_array_equal(still.data[name].values, turned.data[name].values)
    np.testing.assert_array_equal(still.energy.external_work, turned.energy.external_work)
    assert np.abs(turned.data["torque_3"].values).max() < 1e-15


@pytest.mark.parametrize("law", [EA(0.4), DI(0.4)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_drum_drags_a_block(law, sign):
    """Turning counter-clockwise drags the block below to the right, until all of it slides."""
    run = solved(wheel(Turned(Rigid(0), to(0.3 * sign)), law=law), 40)
    force, torque = run.data["force_x"].values[-1], run.data["torque_3"].values[-1]
    assert np.sign(force) == sign
    assert np.sign(torque) == sign
    # all points slip in one direction: friction times about the radius
    assert run.data["slides"].values[-1].max() == 2.0
    assert run.data["sticking_length"].values[-1] == 0.0
    shear = run.data["tangential_traction"].values[-1]
    assert (shear * sign <= 1e-15).all() or (shear * sign >= -1e-15).all()
    assert torque / sign > 0.8 * force * sign * 0.95
    # in full sliding what turns it does the heat: forces act at the gap, slip is on the circle
    work, heat = run.data["condition_work"].values[:, 2], run.energy.total_friction_heat
    late, gap = slice(-6, None), run.data["gap"].values[-1]
    arm = (0.8 + np.average(gap, weights=np.abs(shear))) / 0.8
    assert np.ptp(work[late]) == pytest.approx(arm * np.ptp(heat[late]), rel=1e-2)
    assert run.energy.imbalance_rel < 5e-3


def test_turning_is_motion_of_the_surface():
    """A large circle that turns is a plane that moves along itself."""
    far = 2e3

    def block(partner, *drives):
        mesh = rectangle(1.0, 0.5, (10, 3), (-0.5, 0.0))
        return st.Solid(
            [Body(mesh, Q1(), NeoHookean(1.0, 0.3))],
            [Contact(Boundary(0, "top"), partner, LAW, EA(0.4))],
            [Fixed(Boundary(0, "bottom")), *drives],
            dimensionless=True,
        )

    top = 0.5 + LAW.gap_eq
    plane = solved(
        block(RigidPlane((0.0, top), (0.0, -1.0)), Driven(Rigid(0), 0, to(0.05, 0.1))), 20
    )
    turned = solved(
        block(RigidCircle((0.0, top + far), far), Turned(Rigid(0), to(0.05 / far, 0.1))), 20
    )
    np.testing.assert_allclose(
        turned.data["force_x"].values, plane.data["force_x"].values, atol=2e-3 * 0.02
    )
    work = [r.data["condition_work"].values[-1, 1] for r in (plane, turned)]
    assert work[1] == pytest.approx(work[0], rel=2e-3)
    heat = [r.energy.total_friction_heat[-1] for r in (plane, turned)]
    assert heat[1] == pytest.approx(heat[0], rel=2e-3)


def test_a_wheel_rolls():
    """In pure rolling friction does little work; a locked wheel slides."""
    distance, radius = 0.3, 0.8
    across = Driven(Rigid(0), 0, to(distance))
    locked = solved(wheel(across), 30)
    rolls = solved(wheel(across, Turned(Rigid(0), to(-distance / radius))), 30)
    heat = [r.energy.total_friction_heat[-1] for r in (locked, rolls)]
    # reason: an upper bound of the heat in rolling, not a comparison
    assert heat[1] < 0.25 * heat[0]
    force = [np.abs(r.data["force_x"].values[-1]) for r in (locked, rolls)]
    assert force[1] < force[0]
    for run in (locked, rolls):
        assert run.energy.imbalance_rel < 1e-2


def test_friction_of_braked_and_driven_wheels_is_opposite():
    distance, radius = 0.3, 0.8
    across = Driven(Rigid(0), 0, to(distance))
    totals = []
    for slip in (0.5, 1.0, 1.5):
        run = solved(wheel(across, Turned(Rigid(0), to(-slip * distance / radius))), 20)
        totals.append((run.data["force_x"].values[-1], run.data["torque_4"].values[-1]))
    forces, torques = np.array(totals).T
    # braked, the wheel drags the block forward; driven, it pushes it back
    assert forces[0] > 0.0 > forces[2]
    assert torques[0] > 0.0 > torques[2]
    assert abs(forces[1]) < min(abs(forces[0]), abs(forces[2]))


@pytest.mark.parametrize("turn", [2, 7, 12])
def test_tangents_with_rotation_against_differences(turn):
    from stiction.solids.equilibria.problem import Problem

    system = wheel(Turned(Rigid(0), to(0.02)), Driven(Rigid(0), 0, to(0.01)), law=DI(0.4))
    states = []
    from stiction.solids.equilibria.history import Recorder

    add = Recorder.add

    def record(self, state, *given, **named):
        states.append(state)
        add(self, state, *given, **named)

    Recorder.add = record
    try:
        solved(system, 16)
    finally:
        Recorder.add = add
    state, t = states[turn], states[turn].time + 1.0 / 16.0
    problem = Problem(system.assembled())
    rng = np.random.default_rng(turn)
    u = state.u + 1e-4 * rng.standard_normal(state.u.shape)
    helds = problem.contact_states(problem.evaluate(state, u, t, None, data=False)[0])
    _, matrix = problem.evaluate(state, u, t, helds, data=True)
    h = 1e-7
    for _ in range(3):
        d = rng.standard_normal(u.shape)
        ahead, back = (
            problem.evaluate(state, u + s * h * d, t, helds, data=False)[0].residual
            for s in (1.0, -1.0)
        )
        exact = matrix @ d.ravel()
        slope = ((ahead - back) / (2.0 * h)).ravel()
        assert np.abs(slope - exact).max() < 1e-6 * np.abs(exact).max()


def test_planes_do_not_turn():
    mesh = rectangle(1.0, 1.0, (2, 2), (0.0, LAW.gap_eq))

    def block(*drives):
        contact = Contact(Boundary(0, "bottom"), RigidPlane(), LAW)
        body = Body(mesh, Q1(), NeoHookean(1.0, 0.3))
        return st.Solid([body], [contact], [Fixed(Boundary(0, "top")), *drives])

    with pytest.raises(ModelError, match="a plane has no axis"):
        solved(block(Turned(Rigid(0), to(1.0))), 1)
    with pytest.raises(ModelError, match=r"Turned\.where"):
        Turned(Boundary(0, "top"), to(1.0))
    with pytest.raises(ModelError, match="angle of one circle"):
        solved(wheel(Turned(Rigid(0), to(1.0)), Turned(Rigid(0), to(2.0))), 1)


def test_viscosity_of_slip_on_a_turning_circle_is_refused():
    turned = wheel(Turned(Rigid(0), to(3.0)))
    with pytest.raises(ModelError, match="velocity of the turning surface"):
        MovingSolid(turned, tangential_viscosity=0.1)
    MovingSolid(turned, normal_viscosity=0.1)
    MovingSolid(wheel(), tangential_viscosity=0.1)
