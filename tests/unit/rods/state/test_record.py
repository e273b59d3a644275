"""What runs of rods keep: a reader of the saved file rebuilds every line of the ledger from it."""

import functools

import numpy as np
import pytest
import rod_reader as reader

import stiction as st
from stiction.rods import (
    CircularSection,
    Clamped,
    CosseratRod,
    CylinderPartner,
    Driven,
    Free,
    LineForce,
    Pinned,
    PlaneLeapfrog,
    PlanePartner,
    PointForce,
    PointMoment,
    RigidMotion,
    RodOnPlane,
    Rods,
    RollingContact,
    RollingLeapfrog,
    RollingMidpoint,
    SpherePartner,
    Straight,
)

SECTION = CircularSection(0.02, 1e6, 0.5, 1000.0)
GRAVITY = [0.0, 0.0, -9.81]
LINE = Straight([0.0, 0.0, 0.0], [0.5, 0.0, 0.0])
LOADS = (
    LineForce([0.0, 1.0, 0.0]),
    PointForce([0.0, 0.0, -2.0], at=0.5, times=[0.0, 0.05], factors=[0.0, 1.0]),
    PointMoment([0.0, 0.02, 0.01], at=0.7, times=[0.0, 0.1], factors=[0.0, 1.0]),
    PointMoment([0.01, 0.0, 0.0]),
)


def loaded(hold, right):
    moves = Driven([0.0, 0.0, 0.3], [0.5, 1.0, 0.3], rise=0.01, hold=hold)
    damped = {"drag": 0.5, "rotational_drag": 0.01, "internal_damping": 2e-4}
    curved = {"natural_curvature": [0.2, 0.1, 0.3]}
    ends = {"left": moves, "right": right}
    rod = CosseratRod(SECTION, LINE, elements=10, loads=LOADS, **ends, **damped, **curved)
    return Rods([rod], gravity=GRAVITY)


def on_a_drum():
    rod = CosseratRod(
        SECTION,
        Straight([-0.2, 0.0, 0.0701], [0.2, 0.0, 0.0701]),
        elements=12,
        left=Free(),
        right=Free(),
        motion=[RigidMotion((0.0, 0.0, -0.3))],
    )
    drum = CylinderPartner(
        [0, -0.3, 0], [0, 0.3, 0], 0.05, angular_velocity=[0, 3.0, 0], rise=0.005
    )
    touch = RollingContact(0.2, 0.3, friction=st.Coulomb(0.3), opens=True, restitution=0.3)
    return Rods([rod], contacts=[touch], gravity=GRAVITY, partners=[drum])


def on_a_plane():
    rod = CosseratRod(
        SECTION,
        Straight([0.0, 0.0, 0.03], [0.5, 0.0, 0.03]),
        elements=10,
        right=Free(),
        motion=[RigidMotion((0.0, 0.2, -1.0))],
    )
    return RodOnPlane(rod, gravity=GRAVITY, friction=st.Coulomb(0.3))


CASES = {
    "crossed": (
        lambda: st.CrossedRods(
            friction=st.Coulomb(0.5),
            half_wave=[0.0, 0.5, 1.0],
            whole_wave=[0.0, 0.7, 0.0],
            spin=2.0,
            elements=24,
        ),
        RollingLeapfrog(step=1e-4),
        0.05,
    ),
    "section": (lambda: loaded("section", Free()), RollingLeapfrog(step=5e-5), 0.03),
    "element": (lambda: loaded("element", Pinned()), RollingLeapfrog(step=5e-5), 0.03),
    "midpoint": (lambda: loaded("section", Clamped()), RollingMidpoint(step=1e-4), 0.03),
    "drum": (on_a_drum, RollingLeapfrog(step=4e-5), 0.04),
    "plane": (on_a_plane, PlaneLeapfrog(step=2e-5), 0.03),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the run and the arrays of its file, by name of the case."""

    @functools.cache
    def find(name):
        system, method, end = CASES[name]
        run = st.solve(system(), method, (0.0, end), save=601)
        folder = tmp_path_factory.mktemp(name) / "run"
        run.save(folder)
        return run, reader.read(folder / "run.nc")

    return find


@pytest.mark.parametrize("name", CASES)
def test_kinetic_and_elastic_energy_to_rounding(saved, name):
    run, d = saved(name)
    small = 1e-11 * run.energy.scale
    assert np.abs(reader.kinetic(d) - run.energy.kinetic).max() <= small
    assert np.abs(reader.stored(d) - run.energy.stored).max() <= small


@pytest.mark.parametrize("name", CASES)
def test_work_and_heat_by_sums_over_saved_times(saved, name):
    run, d = saved(name)
    energy = run.energy
    # the trapezoidal rule over 600 rows
    small = 5e-4 * energy.scale
    assert np.abs(reader.external_work(d) - energy.external_work).max() <= small
    assert np.abs(reader.viscous_heat(d) - energy.viscous_heat).max() <= small
    if "contact_force" in d:
        assert np.abs(reader.friction_heat(d) - energy.friction_heat).max() <= small


@pytest.mark.parametrize("name", ["crossed", "drum"])
def test_losses_of_impacts_are_those_of_contacts(saved, name):
    run, d = saved(name)
    lost = np.nansum(d["contact_impact_loss"], axis=1)
    np.testing.assert_allclose(lost, run.energy.impact_loss, rtol=0.0, atol=1e-15)
    if name == "drum":
        assert lost[-1] > 1e-3 * run.energy.scale


@pytest.mark.parametrize("name", CASES)
def test_the_ledger_of_the_reader_closes(saved, name):
    run, d = saved(name)
    energy = run.energy
    given = reader.external_work(d) - reader.viscous_heat(d)
    if "contact_force" in d:
        given = given - reader.friction_heat(d).sum(1) - energy.impact_loss - energy.algorithmic
    held = reader.kinetic(d) + reader.stored(d)
    assert np.abs(held - held[0] - given).max() <= 2e-3 * energy.scale


def test_reactions_balance_momentum(saved):
    """Change of the momentum of what is saved = weight, loads, drag and reactions."""
    _, d = saved("section")
    time = d["time"]
    momentum = (d["mass_of_node"][:, None] * d["velocity"]).sum(1)
    force = (d["mass_of_node"].sum() * d["gravity"]) + d["constant_force"].sum(0)
    force = force + d["varying_force"].sum(1) + d["clamp_force"].sum(1)
    v = d["velocity"].copy()
    v[:, 0] = 0.0
    force -= (d["drag_of_node"][:, None] * v).sum(1)
    pushed = np.stack([reader.summed(time, force[:, a]) for a in range(3)], axis=1)
    size = np.abs(pushed).max()
    assert np.abs(momentum - momentum[0] - pushed).max() <= 2e-3 * size


def test_a_hanging_rod_pulls_by_its_weight():
    rod = CosseratRod(
        SECTION,
        Straight([0.0, 0.0, 0.0], [0.0, 0.0, -0.5]),
        elements=10,
        right=Free(),
        drag=400.0,
    )
    run = st.solve(Rods([rod], gravity=GRAVITY), RollingLeapfrog(), (0.0, 2.0), save=3)
    d = run.data
    weight = 9.81 * float(d.mass_of_node.sum())
    assert d.clamp_force.values[-1, 0] == pytest.approx([0.0, 0.0, weight], abs=1e-6 * weight)
    # inside: what hangs below the middle of each element
    below = np.cumsum(d.mass_of_node.values[::-1])[::-1][1:] * 9.81
    assert d.internal_force.values[-1, :, 2] == pytest.approx(-below, abs=1e-6 * weight)


def test_partners_report_where_they_are():
    rod = CosseratRod(SECTION, LINE, elements=10)
    bodies = [
        SpherePartner([0.0, 0.0, 1.0], 0.1, velocity=[1.0, 0.0, 0.0]),
        PlanePartner([0.0, -1.0, -1.0], [0.0, 3.0, 0.0], angular_velocity=[0.0, 0.0, 2.0]),
        CylinderPartner([0.0, 2.0, 0.0], [0.0, 3.0, 0.0], 0.2),
    ]
    data = st.solve(Rods([rod], partners=bodies), RollingLeapfrog(), (0.0, 0.1), save=3).data
    assert data.partner_shape.values.tolist() == [2, 3, 1]
    assert data.partner_radius.values.tolist() == [0.1, 0.0, 0.2]
    last = data.partner_point.values[-1]
    assert last[0] == pytest.approx(np.array([[0.1, 0.0, 1.0]] * 2))
    normal = [-np.sin(0.2), np.cos(0.2), 0.0]
    # the pivot of a plane that is driven about it stays
    assert last[1, 1] - last[1, 0] == pytest.approx(normal, abs=1e-3)
    assert last[2].tolist() == [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]
    assert data.partner_angular_velocity.values[-1, 1] == pytest.approx([0.0, 0.0, 2.0])


def test_more_states_than_memory_are_refused():
    rods = Rods([CosseratRod(SECTION, LINE, elements=1000)])
    with pytest.raises(st.ModelError, match="save"):
        st.solve(rods, RollingLeapfrog(), (0.0, 1.0), save=10_000_000)
