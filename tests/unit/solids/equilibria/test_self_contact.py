"""A body that touches itself: two parts of one boundary, by virtual work."""

import numpy as np

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    Driven,
    Nearest,
    NeoHookean,
    Program,
    block,
)
from stiction.solids.equilibria.history import Recorder
from stiction.solids.equilibria.problem import Problem

LEG, INNER, HIGH = 5.0, 0.6, 1.0


def folded(squeeze, slide):
    """A strip folded about a half circle; its ends are squeezed together, and moved apart along."""
    bend = np.pi * (INNER + 0.5 * HIGH)
    long = 2.0 * LEG + bend

    def place(s, t):
        way, r = s * long, INNER + HIGH * t
        # along the lower leg to the left, round the bend, and back along the upper leg
        angle = np.clip((way - LEG) / bend, 0.0, 1.0) * np.pi
        along = np.where(way < LEG, LEG - way, np.where(way > LEG + bend, way - LEG - bend, 0.0))
        return along - r * np.sin(angle), -r * np.cos(angle)

    mesh = block(place, (40, 2))
    # the inner side in three parts: legs that may touch, and the bend between them
    legs = round(40 * LEG / long) - 1
    inner = mesh.split("bottom", legs, "low", "rest").split("rest", 40 - 2 * legs, "bend", "high")
    law = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
    sides = Boundary(0, "low"), Boundary(0, "high")
    contact = Contact(*sides, law, st.EA(0.3, 0.0), passes="mortar")
    low, high = (Nearest(0, (LEG, way * (INNER + HIGH))) for way in (-1.0, 1.0))
    held = []
    for place_, way in ((low, 1.0), (high, -1.0)):
        held.append(Driven(place_, 1, Program((0.0, 1.0), (0.0, way * squeeze))))
        held.append(Driven(place_, 0, Program((0.0, 0.7, 1.0), (0.0, 0.0, way * slide))))
    return st.Solid([Body(inner, Q1(), NeoHookean(1.0, 0.3))], [contact], held, dimensionless=True)


def test_legs_of_a_fold_press(monkeypatch):
    """Action is reaction, moments balance, and the ledger closes."""
    states, add = [], Recorder.add

    def kept(self, state, trial, *given, **named):
        states.append((state, trial))
        add(self, state, trial, *given, **named)

    monkeypatch.setattr(Recorder, "add", kept)
    solid = folded(0.68, 0.1)
    run = st.solve(solid, st.Quasistatic(steps=15))
    problem = Problem(solid.assembled())
    largest, total, moment = 0.0, 0.0, 0.0
    for state, trial in states:
        f, x = trial.residual - trial.internal, problem.places(state.u)
        largest = max(largest, float(np.abs(f).sum()))
        total = max(total, float(np.abs(f.sum(axis=0)).max()))
        moment = max(moment, abs(float(np.sum(x[:, 0] * f[:, 1] - x[:, 1] * f[:, 0]))))
    assert largest > 1e-3
    assert total <= 1e-13 * largest
    assert moment <= 1e-13 * largest * LEG
    assert run.energy.imbalance_rel <= 1e-6
    assert run.energy.columns()["friction_heat"][-1] > 0.0
    balance = next(c for c in run.audit.checks if c.check == "half_passes_balance")
    assert balance.value <= 1e-12
