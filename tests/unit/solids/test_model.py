"""Bodies as systems: runs against closed forms, what runs hold, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from solid_cases import ELEMENTS, MATERIALS, distorted, principal_stresses

import stiction as st
from stiction.errors import ModelError
from stiction.io.scenario import scenario_text
from stiction.solids.conditions import Driven, Fixed, Nearest, Program, ramp
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.elements.kinds import Q1, Q2
from stiction.solids.mesh.model import rectangle
from stiction.solids.model import Assembled, Body, Readings, Solid

WIDTH, HEIGHT = 1.5, 1.0


def block(material, stretch, element=None, plane_stress=False):
    """Return a block that is drawn to a stretch, free at its sides."""
    body = Body(distorted(WIDTH, HEIGHT, (3, 2)), element or Q1(), material, plane_stress)
    return Solid(
        [body],
        [],
        [
            Fixed(Boundary(0, "bottom"), (1,)),
            Fixed(Nearest(0, (0.0, 0.0)), (0,)),
            Driven(Boundary(0, "top"), 1, ramp((stretch - 1.0) * HEIGHT)),
        ],
        readings=Readings(displacement=2, support=True),
    )


def uniaxial(law, stretch, plane_stress):
    """Return the nominal stress along the pull, the sides free."""

    def stresses(c):
        return principal_stresses(law, (stretch, c, c if plane_stress else 1.0))

    return stresses(brentq(lambda c: stresses(c)[1], 0.3, 2.0, xtol=1e-15))[0]


def test_the_scenario_of_a_run_asks_for_the_same_times():
    solid, method = block(MATERIALS["NeoHookean"], 1.01), st.solids.Quasistatic(steps=3)
    assert "\nsave =" not in scenario_text(st.solve(solid, method))
    assert "\nsave = 2\n" in scenario_text(st.solve(solid, method, save=2))


@pytest.mark.parametrize("name", ["NeoHookean", "NearlyIncompressible", "MooneyRivlin", "Yeoh"])
@pytest.mark.parametrize("plane_stress", [False, True])
def test_a_block_in_tension(name, plane_stress):
    law = MATERIALS[name]
    run = st.solve(block(law, 1.4, plane_stress=plane_stress), st.solids.Quasistatic(steps=8))
    force, u = run.data["force_y"].values, run.data["displacement"].values
    exact = [WIDTH * uniaxial(law, 1.0 + v / HEIGHT, plane_stress) for v in u]
    assert_allclose(force, exact, atol=1e-9 * force[-1])
    assert np.abs(run.data["force_x"].values).max() < 1e-9 * force[-1]
    assert run.status.name == "SOLVED"
    assert run.audit.ok
    # the work is the area below the curve, by the trapezoidal rule on the steps
    work = np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(u))])
    assert_allclose(run.energy.external_work, work, atol=1e-12 * work[-1])
    assert run.energy.imbalance_rel < 1e-2


def test_snapshots_of_a_homogeneous_state():
    law = MATERIALS["NeoHookean"]
    run = st.solve(block(law, 1.3, Q2()), st.solids.Quasistatic(steps=4))
    place = run.data["drawn_position"].values
    across = np.ptp(place[-1][:, 0]) / WIDTH
    assert_allclose(np.ptp(place[-1][:, 1]), 1.3 * HEIGHT, rtol=1e-9)
    nominal = principal_stresses(law, (1.3, across, 1.0))
    cauchy = nominal * np.array([1.3, across, 1.0]) / (1.3 * across)
    assert_allclose(run.data["stress_yy"].values[-1], cauchy[0], rtol=1e-7)
    assert_allclose(run.data["stress_trace"].values[-1], cauchy.sum(), rtol=1e-7)
    assert np.abs(run.data["stress_xy"].values).max() < 1e-7
    assert not run.data["stress_yy"].values[0].any()


def test_elements_agree_on_a_homogeneous_state():
    forces = []
    for element in ELEMENTS.values():
        run = st.solve(block(MATERIALS["Yeoh"], 1.2, element()), st.solids.Quasistatic(steps=1))
        forces.append(run.data["force_y"].values[-1])
    assert_allclose(forces, forces[0], rtol=1e-9)


def test_saved_times_and_steps():
    system = block(MATERIALS["NeoHookean"], 1.2)
    run = st.solve(system, st.solids.Quasistatic(steps=5), save=np.array([0.0, 0.35, 1.0]))
    assert run.time.tolist() == [0.0, 0.35, 1.0]
    assert_allclose(run.data["displacement"].values, 0.2 * run.time)
    every = st.solve(system, st.solids.Quasistatic(steps=5))
    assert every.time.size == 6
    assert every.stats["steps"] == 5


def test_a_block_crushed_flat_ends_with_advice():
    system = block(MATERIALS["NeoHookean"], -0.2)
    run = st.solve(system, st.solids.Quasistatic(steps=4, max_halvings=3), throw=False)
    assert run.status.name == "UNCONVERGED"
    assert "halvings of the step" in run.reason
    assert 0.0 < run.t_end < 1.0
    assert np.isfinite(run.data["force_y"].values).all()
    with pytest.raises(st.SolveError) as caught:
        st.solve(system, st.solids.Quasistatic(steps=4, max_halvings=3))
    assert caught.value.run.t_end == run.t_end


def test_work_is_bounded():
    system = block(MATERIALS["NeoHookean"], 1.2)
    run = st.solve(system, st.solids.Quasistatic(steps=5, max_steps=2), throw=False)
    assert run.status.name == "WORK_LIMIT"
    assert run.time.size == 3


def test_a_mixed_system_counts_its_parts():
    body = Body(rectangle(1.0, 1.0, (3, 2)))
    two = Assembled([body, body], [Contact(Boundary(0, "bottom"), Boundary(1, "top"))])
    assert two.boundaries_of(0) == ("bottom",)
    assert two.boundaries_of(1) == ("top",)
    solid = Solid(two.bodies, two.contacts)
    assert solid.state_size == 64 + 2 * 8 * 5 * 3


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Body("square"), "mesh"),
        (lambda: Body(element="Q1"), "element"),
        (lambda: Body(material=2.0), "material"),
        (lambda: Body(plane_stress=1), "plane_stress"),
        (lambda: Body(element=Q1(reduced=True), plane_stress=True), "reduced"),
        (lambda: Solid(), "bodies"),
        (lambda: Solid([1.0]), "bodies"),
        (lambda: Solid([Body()], ["glue"]), "contacts"),
        (lambda: Solid([Body()], [], [3.0]), "conditions"),
        (lambda: Solid([Body()], [Contact(Boundary(1), RigidPlane())]), "body"),
        (lambda: Solid([Body()], [Contact(Boundary(0, "botom"), RigidPlane())]), "botom"),
    ],
)
def test_bad_solids_are_refused(make, name):
    with pytest.raises(ModelError, match=name):
        make()


def test_one_body_without_a_list():
    solid = Solid(Body(), Contact(Boundary(), RigidPlane()), Fixed(Boundary(0, "top")))
    assert len(solid.bodies) == len(solid.contacts) == len(solid.boundary_conditions) == 1


@pytest.mark.parametrize("method", ["Quasistatic", "Continuation", "GeneralisedAlpha"])
def test_friction_acts_from_the_start_of_the_run(method):
    """A block that is pressed and pulled from the start on, whenever that is."""
    law = st.LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    plane, top = RigidPlane((0.0, -law.gap_eq), (0.0, 1.0)), Boundary(0, "top")
    contact = Contact(Boundary(0, "bottom"), plane, law, st.laws.amontons(0.5))
    body = Body(rectangle(1.0, 1.0, (2, 2)), Q1(), MATERIALS["NeoHookean"])

    def force(start):
        pull = Program((start, start + 1.0), (0.0, 0.02))
        drives = [Driven(top, 1, Program((0.0,), (-0.02,))), Driven(top, 0, pull)]
        solid = Solid([body], [contact], drives, dimensionless=True)
        if method == "GeneralisedAlpha":
            solid = st.solids.MovingSolid(solid, 1e-6)
        steps = getattr(st.solids, method)(steps=6)
        return st.solve(solid, steps, (start, start + 1.0)).data["force_x"].values[-1]

    expected = force(0.0)
    assert expected < -1e-3
    assert force(-3.5) == pytest.approx(expected, rel=1e-9)
    assert force(2.0) == pytest.approx(expected, rel=1e-9)
