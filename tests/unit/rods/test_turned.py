"""Clamps that turn by a given history, held or free to slide along their axis."""

import numpy as np
import pytest
from rod_reader import external_work, read

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    Driven,
    Free,
    PointForce,
    RollingLeapfrog,
    RollingMidpoint,
    Straight,
    Turned,
)

SECTION = CircularSection(0.01, 1e6, 0.5, 1000.0)
PULL, TWIST = 0.05, 2.0
# eases in and out in a second; fine, because saved velocities are those just before a corner
TIMES = np.linspace(0.0, 1.0, 2001)
ANGLES = TWIST * (0.5 - 0.5 * np.cos(np.pi * TIMES))


def turned_rod(end, **more):
    """Return a straight rod of a metre, clamped at its start, with drag that brings it to rest."""
    line = Straight((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    damped = {"drag": 3.0 * SECTION.line_density, "rotational_drag": 40.0 * SECTION.line_inertia}
    return CosseratRod(SECTION, line, elements=12, right=end, **{**damped, **more})


def solved(rod, method=None, span=3.0, save=61):
    """Return a run of one rod."""
    return st.solve(
        st.Rods([rod]), method or RollingLeapfrog(fraction=0.25), (0.0, span), save=save
    )


def test_twist_alone_has_a_closed_form(tmp_path):
    run = solved(turned_rod(Turned((2.0, 0.0, 0.0), TIMES, ANGLES)), save=241)
    assert run.audit.ok
    moment = SECTION.twist_stiffness * TWIST
    np.testing.assert_allclose(run.energy.stored[-1], 0.5 * moment * TWIST, rtol=1e-9)
    held = run.data["clamp_moment"].values[-1]
    np.testing.assert_allclose(held[:, 0], [-moment, moment], rtol=1e-8)
    # what the drive does is the work of its moment, from the saved state alone
    run.save(tmp_path / "out")
    rebuilt = external_work(read(tmp_path / "out" / "run.nc"))
    # reason: the trapezoidal rule over saved times, 5e-4 of the largest work
    done = run.energy.external_work
    np.testing.assert_allclose(rebuilt, done, rtol=0.0, atol=1e-3 * done.max())
    assert run.energy.imbalance_rel < 1e-6


def test_the_clamp_is_where_its_history_says():
    run = solved(turned_rod(Turned((1.0, 0.0, 0.0), TIMES, ANGLES)), span=1.5, save=31)
    frame = run.data["clamp_frame"].values[:, 1]
    turns = 2.0 * np.arccos(np.clip(np.abs((frame * frame[0]).sum(axis=-1)), 0.0, 1.0))
    # reason: the arc cosine of a number near 1 loses half its digits
    np.testing.assert_allclose(turns, np.interp(run.time, TIMES, ANGLES), atol=1e-7)
    assert np.ptp(run.data["position"].values[:, -1], axis=0).max() == 0.0


def test_what_slides_moves_along_the_axis_alone():
    end = Turned((1.0, 0.0, 0.0), TIMES, ANGLES, slides=True)
    # a load across, too, which the clamp takes
    run = solved(turned_rod(end, loads=[PointForce((PULL, 0.02, 0.0))]), span=6.0)
    last = run.data.isel(time=-1)
    axial = SECTION.axial_stiffness
    np.testing.assert_allclose(last["position"].values[-1, 0], 1.0 + PULL / axial, atol=1e-8)
    assert np.abs(run.data["position"].values[:, -1, 1:]).max() == 0.0
    np.testing.assert_allclose(last["clamp_force"].values[1], [0.0, -0.02, 0.0], atol=1e-9)
    # reason: what is left of the vibration along the rod
    np.testing.assert_allclose(last["clamp_force"].values[0, 0], -PULL, rtol=1e-4)
    stored = 0.5 * SECTION.twist_stiffness * TWIST**2 + 0.5 * PULL**2 / axial
    np.testing.assert_allclose(run.energy.stored[-1], stored, rtol=1e-5)
    assert run.audit.ok
    assert run.energy.imbalance_rel < 1e-6


def test_a_history_of_one_speed_is_that_of_a_driven_clamp():
    reported = solved(turned_rod(Turned((1.0, 0.0, 0.0), (0.0, 9.0), (0.0, 9.0))), span=0.4, save=9)
    driven = solved(turned_rod(Driven(angular_velocity=(1.0, 0.0, 0.0))), span=0.4, save=9)
    for name in ("position", "frame", "angular_velocity", "clamp_moment"):
        a, b = reported.data[name].values, driven.data[name].values
        # reason: rounding across the rod is a motion of its own, in which it grows
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-10 * np.abs(b).max())
    np.testing.assert_allclose(
        reported.energy.external_work, driven.energy.external_work, rtol=1e-9
    )


def test_the_midpoint_rule_turns_it_too():
    end = Turned((1.0, 0.0, 0.0), TIMES, ANGLES)
    step = RollingMidpoint(step=0.01)
    run = solved(turned_rod(end), step, span=3.0, save=4)
    moment = SECTION.twist_stiffness * TWIST
    np.testing.assert_allclose(run.energy.stored[-1], 0.5 * moment * TWIST, rtol=1e-6)


def test_refusals():
    for axis in ((0.0, 0.0, 0.0), (1.0, np.inf, 0.0)):
        with pytest.raises(st.ModelError, match=r"Turned\.axis"):
            Turned(axis, (0.0, 1.0), (0.0, 1.0))
    for times, angles in (((0.0,), (1.0,)), ((0.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (0.0,))):
        with pytest.raises(st.ModelError, match=r"Turned\.(times|angles)(?s:.*)increasing times"):
            Turned((1.0, 0.0, 0.0), times, angles)
    with pytest.raises(st.ModelError, match=r"Turned\.slides"):
        Turned((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 1.0), slides=1)
    for method in (RollingLeapfrog(), RollingMidpoint(step=0.01)):
        late = turned_rod(Turned((1.0, 0.0, 0.0), (-1.0, 1.0), (0.0, 1.0)))
        with pytest.raises(st.ModelError, match=r"0\.5 rad at the start of the run \(rod 1\)"):
            solved(late, method, span=0.1)
    end = Turned((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 1.0), slides=True)
    with pytest.raises(st.ModelError, match="sliding end"):
        solved(turned_rod(end), RollingMidpoint(step=0.01), span=0.1)
    with pytest.raises(st.ModelError, match="Turned"):
        st.rods.RodOnPlane(turned_rod(end, left=Free()))
