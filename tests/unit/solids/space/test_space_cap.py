"""The sheared cap in space: forces, areas, symmetry, bad input."""

import functools

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import Frictionless
from stiction.solids.contact import sweeps
from stiction.solids.equilibria.problem import Problem
from stiction.solids.presets.cap import CapSliding3D


@functools.cache
def coarse(**given):
    cap = CapSliding3D(cells=(10, 2, 5), u_end=3.5, **given)
    return st.solve(cap, st.solids.Quasistatic(steps=14), t_span=(0.0, 1.0))


def test_cap_slides():
    run = coarse()
    assert run.status.name == "SOLVED"
    failed = [check.check for check in run.audit.failed]
    assert failed == []
    area, force = run.data["contact_area"].values, np.abs(run.data["force_x"].values)
    begin = int(np.flatnonzero(run.data["displacement"].values > 0.0)[0]) - 1
    # half of the normal force, held while the plate moves
    assert np.allclose(run.data["force_y"].values[begin:], -5.0, atol=1e-8)
    # the contact shrinks under shear until all of it slides at the strength of the law
    assert area[-1] < 0.97 * area[begin]
    assert run.data["sticking_area"].values[-1] == 0.0
    assert run.quantities["full_sliding_at"].value is not None
    nominal = run.data["nominal_area"].values[-1]
    # reason: points of integration sample the outline, areas find it on the gap
    assert abs(force[-1] / (0.165 * nominal) - 1.0) < 0.05


def test_friction_in_the_preload_matters_little_to_the_end():
    late = coarse(friction_in_preload=False)
    assert late.status.name == "SOLVED"
    one, other = (run.data["force_x"].values[-1] for run in (coarse(), late))
    assert abs(one / other - 1.0) < 0.02  # reason: all of it slides at one strength, steps differ


def test_tangents_of_points_that_act_are_all(monkeypatch):
    problem = Problem(CapSliding3D(cells=(8, 2, 4)).assembled())
    state = problem.start(0.0)
    u = state.u.copy()
    # the plate comes down on the middle, and goes aside
    u[problem.rigid_node[0]] = [0.02, -0.4, 0.0]
    known = []
    for few in (0.8, 0.0):
        monkeypatch.setattr(sweeps, "_MOSTLY_ACTIVE", few)
        trial, matrix = problem.evaluate(state, u, 0.5, None, data=True)
        known.append(matrix.data.copy())
    gap = trial.outs[0][:, sweeps.GAP]
    touching = np.count_nonzero(gap < problem.passes[0].contact.adhesion.gap_eq)
    assert 0 < touching < 0.8 * gap.size
    assert np.array_equal(*known)
    # nothing acts where the plate is away
    u[problem.rigid_node[0]] = [0.0, 3.0, 0.0]
    away = []
    for few in (0.8, 0.0):
        monkeypatch.setattr(sweeps, "_MOSTLY_ACTIVE", few)
        away.append(problem.evaluate(state, u, 0.5, None, data=True)[1].data.copy())
    assert np.array_equal(*away)
    assert not np.array_equal(away[0], known[0])


BAD = [
    ({"cells": (3, 3)}, "3 whole numbers"),
    ({"cells": (0, 3, 3)}, "cells"),
    ({"normal_force": -1.0}, "normal_force"),
    ({"model": 1.0}, "model"),
    ({"size": "huge"}, "size"),
    ({"adhesive": 1}, "adhesive"),
    ({"mu": 0.3, "model": Frictionless()}, "Frictionless"),
    ({"half_width": 30.0}, "radius"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_is_refused(given, words):
    with pytest.raises(ModelError, match=words):
        CapSliding3D(**given).assembled().bodies[0].discretised(("top",))
