"""Reports of a run do not depend on the saved samples."""

import numpy as np
import pytest

import stiction as st
from stiction.solids import (
    Q1,
    Q1N2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    LinearElastic,
    NeoHookean,
    Program,
    Rigid,
    RigidPlane,
    rectangle,
)
from stiction.solids.model import Readings

LAW = st.LennardJones.from_strength(0.002, 0.0002)


def pressed(**given):
    """A block pressed far beyond its law, sheared, and released."""
    mesh = rectangle(4.0, 2.0, (10, 3), (0.0, LAW.gap_eq))
    top = Boundary(0, "top")
    solid = st.Solid(
        [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), RigidPlane(), LAW, st.EA(mu=0.3))],
        [
            Driven(top, 1, Program((0, 1, 2), (0, -0.35, 0))),
            Driven(top, 0, Program((0, 1, 2), (0, 0.4, 0))),
        ],
        readings=Readings(displacement=0),
    )
    return st.solve(solid, st.solids.Quasistatic(steps=20), (0, 2), **given)


def peeled(**given):
    small = {"length": 30.0, "adhering": 20.0, "height": 4.0, "cells": (60, 2), "u_end": 8.0}
    return st.solve(
        st.StripPeeling(model=st.EA(0.01), **small), st.solids.Quasistatic(steps=12), **given
    )


def reported(run):
    return (
        [(c.check, c.ok, c.value, c.time) for c in run.audit.checks],
        {name: quantity.value for name, quantity in run.quantities.items()},
        [str(loss) for loss in run.determinism.losses],
        list(run.event_log.time),
    )


@pytest.mark.parametrize("case", [pressed, peeled])
@pytest.mark.parametrize("save", [2, [0.0, 0.31, 0.32, 0.777], 7])
def test_reports_do_not_depend_on_the_saved_samples(case, save):
    assert reported(case(save=save)) == reported(case())


def test_rows_between_steps_are_in_balance():
    """A row between two steps is that of a run that steps there."""
    whole, few = pressed(), pressed(save=[0.0, 0.25, 0.33, 2.0])
    assert list(few.time) == [0.0, 0.25, 0.33, 2.0]
    steps = np.asarray(whole.time)
    assert 0.33 not in steps
    for name in ("force_x", "force_y", "contact_length", "displacement"):
        ahead = np.interp(few.time, steps, whole.data[name].values)
        size = np.abs(whole.data[name].values).max()
        # the curve bends between two rows
        np.testing.assert_allclose(few.data[name].values, ahead, atol=5e-3 * size, rtol=0.0)
    near = np.argmin(np.abs(steps - 0.33))
    assert few.data["force_y"].values[2] != whole.data["force_y"].values[near]
    assert few.energy.imbalance_rel < 1e-2


def test_as_many_rows_as_steps_have_their_own_curves():
    """21 samples at other times than the 21 accepted states."""
    whole, moved = pressed(), pressed(save=2.0 * np.linspace(0.0, 1.0, 21) ** 1.3)
    assert whole.time.size == moved.time.size == 21
    for name in ("force_y", "displacement"):
        there = np.interp(moved.time, whole.time, whole.data[name].values)
        size = np.abs(there).max()
        np.testing.assert_allclose(moved.data[name].values, there, atol=5e-3 * size, rtol=0.0)


def test_rows_without_balance_are_counted():
    """Within a jump nothing balances: the row is the end of the step, and this is reported."""
    system = st.StripPeeling(model=st.EA(mu=0.02), cells=(60, 2), u_end=30.0)
    run = st.solve(
        system,
        st.solids.Quasistatic(steps=30, max_halvings=3),
        save=[0.0, 2.0 / 3.0, 1.0],
        throw=False,
    )
    assert run.stats["samples_unsolved"] == 1
    assert run.time.size == 3
    assert run.time[1] > 2.0 / 3.0


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1e12])
def test_rows_are_those_asked_for_in_any_unit_of_time(unit):
    """Bodies of nanometres move in picoseconds; times differ by fractions of the span."""

    def run(unit):
        end = Program((0.0, 0.5 * unit), (0.0, -0.02))
        slide = Program((0.5 * unit, unit), (0.0, 0.05))
        top, plane = Boundary(0, "top"), RigidPlane((0.0, 0.6 + LAW.gap_eq), (0.0, -1.0))
        body = Body(rectangle(1.0, 0.6, (6, 4)), Q1(), NeoHookean(1.0, 0.3))
        contact = Contact(top, plane, LAW, st.EA(mu=0.3), friction_from=0.5 * unit)
        held = [Fixed(Boundary(0, "bottom")), Driven(Rigid(0), 1, end), Driven(Rigid(0), 0, slide)]
        readings = Readings(displacement=2, start=0.5 * unit)
        solid = st.Solid([body], [contact], held, readings=readings, dimensionless=True)
        asked = np.array([0.0, 0.33, 0.77, 1.0]) * unit
        return st.solve(solid, st.solids.Quasistatic(steps=10), (0.0, unit), save=asked)

    one, other = run(1.0), run(unit)
    np.testing.assert_allclose(other.time, np.asarray(one.time) * unit, rtol=1e-12)
    assert other.data["snapshot_time"].size == one.data["snapshot_time"].size
    for name in ("contact_length_initial", "contact_length_final"):
        assert other.quantities[name].value == pytest.approx(one.quantities[name].value, rel=1e-9)


def test_times_of_a_path_are_those_travelled():
    """Load steps within a path, behind corners of programs, report program time beside it."""
    law = st.LennardJones.from_strength(0.05, 2e-3)
    body = Body(rectangle(0.5, 1.0, (2, 2)), Q1(), LinearElastic(0.5, 0.0))
    sides = [Fixed(Boundary(0, side), (0,)) for side in ("left", "right")]
    program = Program((0.0, 0.8, 1.0), (0.0, 0.16, 0.3))
    plane = RigidPlane((0.0, 1.0 + law.gap_eq), (0.0, -1.0))
    solid = st.Solid(
        [body],
        [Contact(Boundary(0, "top"), plane, law)],
        [Fixed(Boundary(0, "bottom")), *sides, Driven(Rigid(0), 1, program)],
        readings=Readings(displacement=3),
        dimensionless=True,
    )
    run = st.solve(solid, st.Continuation(steps=20, max_steps=400))
    time, at = np.asarray(run.time), run.data["program_time"].values
    np.testing.assert_allclose(np.diff(time), np.abs(np.diff(at)), rtol=0.0, atol=1e-12)
    reported = [program.at(t) for t in at]
    np.testing.assert_allclose(run.data["displacement"].values, reported, rtol=0.0, atol=1e-14)
    assert at.min() < at[-1] < time[-1]
