"""Steps of two half kicks: events that stay level as the step falls, stick without slip."""

import numpy as np
import pytest
from memories import Memory
from scipy.interpolate import BSpline

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    CylinderPartner,
    Free,
    RigidMotion,
    RollingContact,
    RollingLeapfrog,
    SpherePartner,
    Straight,
)


def events(step, mu=3.0):
    """Return kinds and times of the events of crossed rods, their heat and their loss."""
    system = st.CrossedRods(friction=st.Coulomb(mu))
    run = st.solve(system, RollingLeapfrog(step), (0.0, 0.07), save=8)
    energy = run.energy
    split = np.array([energy.friction_heat[-1].sum(), energy.impact_loss[-1]])
    return list(run.events.kind), run.events.time.to_numpy(), split


def test_events_are_level_and_of_second_order():
    found = [events(5e-5 / 2**k) for k in range(3)]
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][0].count("slip") == 5
    coarse, fine = found[0][1] - found[1][1], found[1][1] - found[2][1]
    ratio = np.abs(coarse).sum() / np.abs(fine).sum()
    assert 3.0 < ratio < 5.0
    # no slip and no stick of one step
    assert np.diff(found[0][1])[np.diff(found[0][1]) > 0.0].min() > 1e-4


def over_a_ball(mu, t_end, save, step, shape="ball"):
    """Return the run of a rod that is thrown over the top of a ball or a cylinder, and its mass.

    It lies along y and moves along x: the normal turns as it slides.
    """
    section = CircularSection(0.02, 1e8, density=1000.0)
    rod = CosseratRod(
        section,
        Straight((0.0, -0.05, 0.02), (0.0, 0.05, 0.02)),
        elements=10,
        left=Free(),
        right=Free(),
        motion=[RigidMotion((0.4, 0.0, 0.0))],
    )
    body = SpherePartner([0.0, 0.0, -0.03], radius=0.03)
    if shape == "cylinder":
        # it leans over the way of the rod: both places move along the bodies
        body = CylinderPartner([-0.1, -0.2, -0.03], [0.1, 0.2, -0.03], radius=0.03)
    touch = RollingContact(0.05, 0.2236 if shape == "cylinder" else 0.0, friction=st.Coulomb(mu))
    system = st.Rods([rod], [touch], gravity=(0.0, 0.0, -9.81), partners=[body])
    run = st.solve(system, RollingLeapfrog(step), (0.0, t_end), save=save)
    return run, section.line_density * rod.rest_length


@pytest.mark.parametrize(("mu", "shape"), [(0.0, "ball"), (0.2, "ball"), (0.2, "cylinder")])
def test_reported_forces_in_slip_change_the_momentum(mu, shape):
    # of a free rod, whatever it does within: the normal turns under the slip, and u . n' with it
    off = []
    for save in (251, 501):
        # every step is saved
        run, mass = over_a_ball(mu, 0.002, save, 0.002 / (save - 1), shape)
        slips = run.data.contact_mode.values.ravel() == 2.0
        assert slips.mean() > 0.9
        force = np.nan_to_num(run.data.contact_force.values.reshape(-1, 3))
        total = np.trapezoid(force, run.time, axis=0) + mass * run.t_end * np.array([0, 0, -9.81])
        change = run.data.momentum.values[-1] - run.data.momentum.values[0]
        off.append(np.abs(total - change).max() / (mass * 9.81 * run.t_end))
    assert off[1] < 1e-8
    assert off[0] > 3.0 * off[1]


def test_a_stiff_rod_presses_on_a_ball_as_a_point_does_that_slides_over_it():
    # N = m (g cos a - v^2 / R), v^2 = v0^2 + 2 g R (1 - cos a)
    run, mass = over_a_ball(0.0, 0.018, 901, 2e-5)
    x = run.data.position.values[:, 5]
    lean = np.arctan2(x[:, 0], x[:, 2] + 0.03)
    reach = 0.05
    fast = 0.4**2 + 2.0 * 9.81 * reach * (1.0 - np.cos(lean))
    exact = mass * (9.81 * np.cos(lean) - fast / reach)
    reported = run.data.normal_force.values.ravel()
    # reason: the blow of the start rings in the rod
    assert reported.mean() == pytest.approx(exact.mean(), rel=5e-3)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_heat_and_loss_are_of_second_order(mu):
    split = [events(5e-5 / 2**k, mu)[2] for k in range(3)]
    coarse, fine = split[0] - split[1], split[1] - split[2]
    assert np.all(np.abs(coarse) > 3.4 * np.abs(fine))


def test_what_rolls_does_not_slip_at_any_saved_time():
    system = st.CrossedRods(friction=st.Coulomb(3.0))
    run = st.solve(system, RollingLeapfrog(5e-5), (0.0, 0.02), save=401)
    rolls = run.data.contact_mode.values == 1.0
    assert rolls.sum() > 350
    assert run.data.slip_speed.values[rolls].max() <= 1e-12
    assert np.abs(run.data.gap.values[rolls]).max() <= 1e-12


def spread(count, s):
    """Return (t, count) values of the cubic B-splines at 0, 1 ... at places s (t,)."""
    cubic = BSpline.basis_element(np.arange(-2.0, 3.0), extrapolate=False)
    return np.nan_to_num(cubic(s[:, None] - np.arange(count)))


def test_rolling_from_the_radius_and_the_state_of_each_rod_alone():
    # the sheet's u = v2 - v1 - (a1 w1 + a2 w2) x n, at every step, by SciPy
    system = st.CrossedRods(friction=st.Coulomb(3.0))
    run = st.solve(system, RollingLeapfrog(5e-5), (0.0, 0.02), save=401)
    d, both = run.data, []
    rod, n = d.rod_of_node.values, 40
    for k, name in ((1, "s1"), (2, "s2")):
        s = d[name].values * n
        nodes, frames = spread(n + 1, s), spread(n, s - 0.5)
        spin = d.angular_velocity.values[:, (k - 1) * n : k * n]
        seen = (d.position.values[:, rod == k], d.velocity.values[:, rod == k])
        both.append([np.einsum("tk,tka->ta", nodes, x) for x in seen])
        both[-1].append(np.einsum("tk,tka->ta", frames, spin))
    (r1, v1, w1), (r2, v2, w2) = both
    normal = (r2 - r1) / np.linalg.norm(r2 - r1, axis=1)[:, None]
    slip = v2 - v1 - np.cross(0.02 * (w1 + w2), normal)
    slip -= (slip * normal).sum(axis=1)[:, None] * normal
    # the first step leaves a gap of 2e-13 m, which the second takes back
    rolls = (d.contact_mode.values == 1.0) & (run.time > 7e-5)
    assert rolls.sum() > 350
    assert np.linalg.norm(slip, axis=1)[rolls].max() <= 1e-12
    assert np.linalg.norm(v2 - v1, axis=1)[rolls].max() > 0.01


@pytest.mark.parametrize(("turn", "drag"), [(1, 0.0), (4, 0.0), (7, 0.0), (4, 5.0)])
def test_a_run_goes_on_to_the_same_bits(turn, drag):
    system, span = st.CrossedRods(friction=st.Coulomb(0.5), drag=drag), (0.0, 0.06)
    saved = Memory(turn=turn)
    whole = st.solve(system, RollingLeapfrog(5e-5), span, save=9, checkpoint=saved)
    assert saved.state is not None
    again = st.solve(
        system, RollingLeapfrog(5e-5), span, save=9, checkpoint=Memory(saved.state, turn=0)
    )
    assert len(whole.events) > 8
    for name, variable in whole.variables.items():
        assert np.array_equal(variable.values, again.variables[name].values, equal_nan=True), name
    assert whole.events.equals(again.events)
    assert np.array_equal(whole.energy.friction_heat, again.energy.friction_heat)
    assert whole.stats == again.stats
    assert [vars(line) for line in whole.audit] == [vars(line) for line in again.audit]
