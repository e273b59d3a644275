"""What goes beyond the examples: horizontal peeling, stick above sliding, what a run owns up to."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import stiction as st
from stiction.solids.model import Readings

LAW = st.LennardJones.from_strength(0.06, 0.015)


def test_a_strip_pulled_along_slides_under_the_whole_threshold() -> None:
    """At full sliding every point carries mu T_max at the equilibrium gap (EA, s_cut = 1)."""
    strip = st.StripPeeling(model=st.EA(0.02), horizontal=True, u_end=4.0, cells=(60, 2))
    run = st.solve(strip, st.solids.Quasistatic(steps=20))
    force = run.variables["force_x"].values[-1]
    # the threshold follows the small pressure that the moment of the pull makes
    assert force == pytest.approx(0.02 * strip.max_tension * strip.adhering, rel=1e-4)
    assert run.variables["contact_length"].values[-1] == pytest.approx(strip.adhering)
    assert run.quantities["full_sliding_at"].value is not None


def sheared(ratio: float) -> st.Run:
    """Return a stiff block held at its equilibrium gap and driven sideways."""
    mesh = st.solids.rectangle(1.0, 1.0, (2, 2), (0.0, LAW.gap_eq))
    top = st.solids.Boundary(0, "top")
    block = st.Solid(
        [st.solids.Body(mesh, st.solids.Q1(), st.solids.LinearElastic(1e4, 0.0))],
        [
            st.solids.Contact(
                st.solids.Boundary(0, "bottom"),
                st.solids.RigidPlane(),
                LAW,
                st.EA(0.5),
                stick_ratio=ratio,
                # as stiff as an element of the block, which the default is not by far
                penalty=1e4,
            )
        ],
        [
            st.solids.Driven(top, 0, st.solids.Program((0.0, 1.0), (0.0, 1e-4))),
            st.solids.Fixed(top, (1,)),
        ],
        readings=Readings(displacement=0, support=True),
        dimensionless=True,
    )
    return st.solve(block, st.solids.Quasistatic(steps=200), throw=False)


def test_stick_may_hold_more_than_sliding() -> None:
    plain, sticky = sheared(1.0), sheared(1.3)
    sliding = 0.5 * LAW.max_tension
    for run in (plain, sticky):
        assert run.status is st.Status.SOLVED, run.reason
        assert run.variables["force_x"].values[-1] == pytest.approx(sliding, rel=1e-3)
    assert plain.variables["force_x"].values.max() == pytest.approx(sliding, rel=1e-3)
    # the peak lies between two load steps
    reached = sticky.variables["force_x"].values.max() / sliding
    assert 1.2 < reached <= 1.3 + 1e-9


def test_cylinders_say_that_they_snap_together_at_the_start() -> None:
    run = st.solve(st.solids.TwoCylinders(u_end=0.01), st.solids.Quasistatic(steps=1), throw=False)
    first = run.determinism.losses[0]
    assert (first.kind, first.time) == ("quasistatic_jump", 0.0)
    assert run.determinism.status == "lost"


def test_points_beyond_a_partner_are_reported() -> None:
    """A wide block on a narrow one: its outer points have no partner."""
    low = st.solids.rectangle(1.0, 1.0, (4, 2), (0.5, -1.0 - LAW.gap_eq))
    high = st.solids.rectangle(2.0, 1.0, (8, 2), (0.0, 0.0))
    top, base = st.solids.Boundary(1, "top"), st.solids.Boundary(0, "bottom")
    solid = st.Solid(
        [st.solids.Body(low, st.solids.Q1()), st.solids.Body(high, st.solids.Q1())],
        [st.solids.Contact(st.solids.Boundary(1, "bottom"), st.solids.Boundary(0, "top"), LAW)],
        [
            st.solids.Driven(top, 1, st.solids.Program((0.0, 1.0), (0.0, 0.001))),
            st.solids.Fixed(top, (0,)),
            st.solids.Fixed(base),
        ],
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=1), throw=False)
    check = next(c for c in run.audit if c.check == "every_point_has_partner")
    assert check.ok is False
    assert check.value is not None
    assert check.value > 0


def test_a_threshold_of_ones_own_is_the_built_in_one() -> None:
    """Model DI written by hand gives the run of model DI."""
    strip = st.StripPeeling(model=st.DI(0.02), u_end=4.0, cells=(40, 2))
    law = st.LennardJones.from_strength(strip.max_tension, strip.work)
    k, cut, tau = 80.0 / law.length, law.gap_max, 0.02 * law.max_tension

    def threshold(gap: float) -> float:
        return tau / (1.0 + math.exp(min(k * (gap - cut), 700.0)))

    def slope(gap: float) -> float:
        s = threshold(gap)
        return -k * s * (1.0 - s / tau)

    own = st.laws.UserThreshold(threshold, slope, (0.5 * law.gap_eq, 3.0 * law.gap_max))
    method = st.solids.Quasistatic(steps=8)
    runs = [st.solve(dataclasses.replace(strip, model=m), method) for m in (strip.model, own)]
    for name in ("force_x", "force_y", "sticking_length"):
        a, b = (run.variables[name].values for run in runs)
        assert np.abs(a - b).max() <= 1e-6 * np.abs(a).max(), name


def test_presets_are_plain_records() -> None:
    cap = st.CapSliding(normal_force=0.5)
    assert dataclasses.replace(cap, normal_force=0.5) == cap
    assert st.StripPeeling(model=st.EA(0.01), mu=0.02).model == st.EA(0.02)
