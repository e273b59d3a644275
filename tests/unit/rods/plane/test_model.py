"""A rod on a plane: what is refused, the contact solver, and symmetries of a run."""

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.errors import ModelError, Status
from stiction.rods.centreline import Straight
from stiction.rods.methods import PlaneLeapfrog
from stiction.rods.plane import kernels as pk
from stiction.rods.plane.model import RodOnPlane
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Driven,
    Free,
    LineForce,
    Pinned,
    RigidMotion,
    SineVelocity,
)
from stiction.rods.section import CircularSection, GivenSection

SECTION = CircularSection(0.02, 1e6, density=1000.0)
LINE = Straight([0.0, -0.25, 0.02], [0.0, 0.25, 0.02])


def rod(low=0.0, high=0.0, **more):
    """Return a straight rod along y with ends above the plane."""
    line = Straight([0.0, -0.25, 0.02 + low], [0.0, 0.25, 0.02 + high])
    given = {"elements": 8, "left": Free(), "right": Free(), **more}
    return CosseratRod(SECTION, line, **given)


def turned(vector, matrix):
    """Return the vector turned."""
    return matrix @ np.asarray(vector, dtype=np.float64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normal": (0, 0, 0)}, "normal"),
        ({"restitution": 1.5}, "at most 1"),
        ({"tangential_restitution": -0.1}, "tangential_restitution"),
        ({"friction": st.StaticKinetic(0.3, 0.2)}, "implemented for Coulomb"),
        ({"friction": st.Coulomb([0.1, 0.2])}, "Coulomb.mu"),
        ({"rod": 3}, "CosseratRod"),
        ({"rod": rod(-0.001, 0.0)}, "inside the plane"),
        ({"rod": rod(left=Driven())}, "Driven"),
        ({"rod": rod(drag=1.0)}, "no damping"),
        ({"rod": CosseratRod(GivenSection(1e5, 1e5, 1.0, 1.0), LINE)}, "rod.section: got no rad"),
    ],
)
def test_bad_systems_are_refused(change, message):
    with pytest.raises(ModelError, match=message):
        RodOnPlane(**{"rod": rod(), **change})


def test_bad_methods_are_refused():
    with pytest.raises(ModelError, match="at most 1"):
        PlaneLeapfrog(fraction=2.0)
    with pytest.raises(ModelError, match="stability limit"):
        st.solve(RodOnPlane(rod()), PlaneLeapfrog(step=1.0), (0.0, 0.01))
    with pytest.raises(ModelError, match=r"rods\.PlaneLeapfrog: got .*; needs a RodOnPlane"):
        st.solve(st.Chain(mass=[1.0], stiffness=20.0), PlaneLeapfrog(), (0.0, 0.01))


def test_the_work_is_bounded():
    run = st.solve(RodOnPlane(rod()), PlaneLeapfrog(max_steps=10), (0.0, 0.1), throw=False)
    assert run.status is Status.WORK_LIMIT


def test_local_friction_is_exact():
    rng = np.random.default_rng(5)
    for _ in range(200):
        a = rng.normal(size=(2, 2))
        gram = a @ a.T + 0.05 * np.eye(2)
        b, bound = rng.normal(size=2), rng.random() * 3.0
        px, py, slips = pk.local_coulomb(gram[0, 0], gram[0, 1], gram[1, 1], b[0], b[1], bound)
        force, slip = np.array([px, py]), b + gram @ [px, py]
        if slips:
            assert np.hypot(*force) == pytest.approx(bound, rel=1e-12)
            # against the slip, to rounding
            assert force @ slip == pytest.approx(-bound * np.hypot(*slip), rel=1e-9)
        else:
            assert np.hypot(*slip) < 1e-12
            assert np.hypot(*force) <= bound


def test_forces_carry_the_weight():
    run = st.solve(RodOnPlane(rod(), friction=st.Coulomb(0.3)), t_span=(0.0, 0.05), save=3)
    weight = SECTION.line_density * 0.5 * 9.81
    total = run.data["contact_force"].values.sum(axis=1)
    assert total == pytest.approx(np.tile([0.0, 0.0, weight], (3, 1)), rel=1e-9, abs=1e-9)
    assert run.data["lambda_n"].values.max() < 0.0
    inner = run.data["lambda_n"].values[:, 1:-1]
    assert np.ptp(inner) < 1e-9 * weight


def test_a_run_turns_with_its_plane():
    angle, tilt = 0.7, 0.4
    c, s = np.cos(angle), np.sin(angle)
    about_z = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    c, s = np.cos(tilt), np.sin(tilt)
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ about_z
    shift = np.array([0.1, -0.2, 0.3])

    def system(turn, move):
        ends = [turned(p, turn) + move for p in ([0.0, -0.25, 0.03], [0.0, 0.25, 0.05])]
        bent = CosseratRod(
            SECTION,
            Straight(*ends),
            elements=8,
            left=Free(),
            right=Free(),
            motion=[
                RigidMotion(turned([0.5, 0.0, 0.0], turn)),
                SineVelocity(2, turned([0.2, 0.0, 0.1], turn)),
            ],
        )
        return RodOnPlane(
            bent,
            point=move,
            normal=turned([0.0, 0.0, 2.0], turn),
            friction=st.Coulomb(0.3),
            gravity=turned([0.0, 0.0, -9.81], turn),
        )

    a = st.solve(system(np.eye(3), np.zeros(3)), PlaneLeapfrog(), (0.0, 0.08), save=9)
    b = st.solve(system(matrix, shift), PlaneLeapfrog(), (0.0, 0.08), save=9)
    assert len(a.events) > 0
    moved = a.data["position"].values @ matrix.T + shift
    # impacts multiply the rounding of the two frames
    assert np.abs(moved - b.data["position"].values).max() < 1e-7
    assert a.data["contact_mode"].values == pytest.approx(b.data["contact_mode"].values)


def test_perfect_rolling_projects_a_start_that_slips():
    run = st.solve(RodOnPlane(rod(motion=RigidMotion([0.9, 0.0, 0.0]))), t_span=(0.0, 0.05), save=3)
    mass = SECTION.line_density * 0.5
    assert run.data["momentum"].values[-1, 0] / mass == pytest.approx(0.6, rel=1e-12)
    assert run.energy.impact_loss[-1] == pytest.approx(mass * 0.81 / 6.0, rel=1e-12)


def test_held_ends_and_loads():
    # a rod between clamps, pressed on the plane by a load beside its weight
    held = rod(left=Clamped(), right=Pinned(), loads=LineForce([0.0, 0.0, -5.0]))
    run = st.solve(RodOnPlane(held, friction=st.Coulomb(0.3)), t_span=(0.0, 0.02), save=3)
    still = run.data["position"].values - run.data["position"].values[0]
    assert np.abs(still).max() < 1e-12
    # the supports carry the load of their nodes
    assert (run.data["contact_mode"][:, 1:-1] == 1).all()
    pressed = -run.data["lambda_n"].values[-1, 2:-1]
    assert pressed == pytest.approx((SECTION.line_density * 9.81 + 5.0) * 0.0625, rel=1e-9)


def test_members_may_have_their_own_friction():
    mu = np.linspace(0.05, 0.3, 9)
    system = RodOnPlane(rod(motion=RigidMotion([1.0, 0.0, 0.0])), friction=st.Coulomb(mu))
    run = st.solve(system, t_span=(0.0, 0.01), save=2)
    ratio = run.data["friction_ratio"].values[-1]
    pressing = np.isfinite(ratio)
    assert pressing.any()
    assert (ratio[pressing] <= mu[pressing] * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("friction", [None, st.Coulomb(0.3)], ids=["rolls", "slips"])
def test_it_goes_on_from_any_checkpoint(friction):
    falling = RodOnPlane(rod(0.01, 0.03), friction=friction)

    def solved(checkpoint):
        return st.solve(falling, PlaneLeapfrog(), (0.0, 0.12), save=7, checkpoint=checkpoint)

    saved = Memory()
    whole = solved(saved)
    assert (whole.data.contact_mode.values > 0.0).any()
    for page in saved.pages:
        again = solved(Memory(page))
        for name, variable in whole.variables.items():
            assert np.array_equal(variable.values, again.variables[name].values, equal_nan=True)


def test_it_can_be_saved_and_drawn(tmp_path):
    run = st.solve(RodOnPlane(rod(0.01, 0.02), friction=st.Coulomb(0.3)), t_span=(0.0, 0.1), save=5)
    run.save(tmp_path / "run")
    back = st.load(tmp_path / "run")
    assert back.data["gap"].values == pytest.approx(run.data["gap"].values)
    assert "RodOnPlane" in str(back)


def random_fall(seed):
    """Return a rod that falls askew with spin and bending, and some law of contact."""
    rng = np.random.default_rng(seed)
    tilt = 0.3 * rng.normal(size=3) + np.array([0.0, 1.0, 0.0])
    tilt /= np.linalg.norm(tilt)
    start = np.array([0.0, 0.0, 0.02 + max(0.0, -0.5 * tilt[2]) + rng.choice([0.0, 0.01])])
    section = CircularSection(0.02, 10.0 ** rng.uniform(5.0, 7.0), density=1000.0)
    motion = [
        RigidMotion(0.3 * rng.normal(size=3) - [0.0, 0.0, 1.2], 3.0 * rng.normal(size=3)),
        SineVelocity(2, 0.5 * rng.normal(size=3)),
    ]
    line = Straight(start, start + 0.5 * tilt)
    return RodOnPlane(
        CosseratRod(section, line, elements=8, left=Free(), right=Free(), motion=motion),
        friction=rng.choice([None, st.Coulomb(0.0), st.Coulomb(0.5), st.Coulomb(2.0)]),
        restitution=rng.choice([0.0, 0.5, 1.0]),
        tangential_restitution=rng.choice([0.0, 0.5]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_any_fall_only_loses_energy_in_contact(seed):
    run = st.solve(random_fall(seed), PlaneLeapfrog(fraction=0.05), (0.0, 0.08), save=21)
    energy, failed = run.energy, {check.check for check in run.audit.failed}
    assert len(run.events) > 0
    assert not failed
    assert (np.diff(energy.friction_heat, axis=0) >= 0.0).all()
    assert np.diff(energy.impact_loss).min() >= -1e-14 * energy.scale
    assert run.data["gap"].values.min() >= -1e-6 * 0.02
    assert run.data["lambda_n"].values.max() <= 0.0


def test_the_built_in_fall():
    scenario = st.read_scenario("rod-on-plane")
    run = st.solve(scenario.system, scenario.method, (0.0, 0.2), save=21)
    assert run.audit.ok
    assert {"close", "open", "slip", "stick"} >= set(run.events["kind"]) >= {"close", "open"}


@pytest.mark.parametrize("gap", [0.0, 1e-5])
def test_a_rod_that_touches_and_approaches_bounces(gap):
    falling = rod(gap, gap, motion=RigidMotion([0.0, 0.0, -0.1]))
    system = RodOnPlane(falling, friction=st.Coulomb(0.3), restitution=0.8, gravity=(0, 0, 0))
    run = st.solve(system, PlaneLeapfrog(), (0.0, 0.01), save=3)
    assert run.data["momentum"].values[-1, 2] == pytest.approx(0.08 * SECTION.line_density * 0.5)
    assert set(run.events.kind) == {"bounce"}


def test_the_time_of_the_start_does_not_change_a_motion():
    sliding = rod(motion=RigidMotion([1.0, 0.0, 0.0]))
    system = RodOnPlane(sliding, friction=st.Coulomb(0.1))
    far = [
        st.solve(system, PlaneLeapfrog(fraction=0.1), (t, t + 0.002), save=2, throw=False)
        for t in (0.0, 1e6)
    ]
    lost = [one.data["momentum"].values[0, 0] - one.data["momentum"].values[-1, 0] for one in far]
    # the length of the time span itself is rounded
    assert lost[1] / lost[0] == pytest.approx((far[1].time[-1] - 1e6) / 0.002, rel=1e-9)


def test_a_support_has_no_contact():
    turning = rod(left=Pinned(), right=Pinned(), motion=RigidMotion([0, 0, 0], [0, 5.0, 0]))
    run = st.solve(RodOnPlane(turning, friction=st.Coulomb(0.3)), t_span=(0.0, 1e-3), save=2)
    assert not run.data["contact_mode"].values[:, [0, -1]].any()


def test_perfect_rolling_takes_no_heat_of_an_impact():
    falling = rod(1e-4, 1e-4, motion=RigidMotion([0.5, 0.0, -0.1]))
    run = st.solve(RodOnPlane(falling, tangential_restitution=0.5), t_span=(0.0, 0.01), save=2)
    assert "close" in set(run.events.kind)
    assert run.energy.total_friction_heat[-1] == pytest.approx(0.0, abs=1e-12)
