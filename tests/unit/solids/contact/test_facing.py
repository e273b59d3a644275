"""Nodes opposite to nodes: breakpoints at ends of cells, and iterations of Newton's method."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.solids import (
    Q1N2,
    Body,
    Boundary,
    Contact,
    ContactAmong,
    Driven,
    Fixed,
    Nearest,
    NeoHookean,
    Program,
    Rigid,
    RigidPlane,
    Spring,
    disc,
)

LAW = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
APART = 2.0 + 0.9 * LAW.gap_eq


def row(count, angle, friction=None, planes=True, squeeze=0.05):
    """Identical discs in a row, pressed between planes or by their middles, which stay in line.

    Parameters
    ----------
    angle : by which every second disc is turned [rad]; at 0 all nodes face each other
    """
    bodies, held, on = [], [], []
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for k in range(count):
        mesh = disc(1.0, (4, 3), 2)
        if k % 2:
            mesh = dataclasses.replace(mesh, points=mesh.points @ turn.T)
        bodies.append(Body(mesh.moved((APART * k, 0.0)), Q1N2(), NeoHookean(1.0, 0.3)))
        middle = Nearest(k, (APART * k, 0.0))
        # neither up nor round about
        held += [Fixed(middle, (1,)), Fixed(Nearest(k, (APART * k - 0.4, 0.0)), (1,))]
        if planes or 0 < k < count - 1:
            held.append(Spring(middle, 0, 0.1, Program((0.0,), (0.0,))))
    rims = [Boundary(k, "rim") for k in range(count)]
    press = Program((0.0, 1.0), (0.0, -squeeze))
    if planes:
        ends = [-1.0 - 0.9 * LAW.gap_eq, APART * (count - 1) + 1.0 + 0.9 * LAW.gap_eq]
        on = [Contact(rims[0], RigidPlane((ends[0], 0.0), (1.0, 0.0)), LAW)]
        on += [Contact(rims[-1], RigidPlane((ends[1], 0.0), (-1.0, 0.0)), LAW)]
        held += [Fixed(Rigid(0)), Driven(Rigid(1), 0, press), Fixed(Rigid(1), (1,))]
    else:
        held += [Fixed(Nearest(0, (0.0, 0.0)), (0,)), Driven(middle, 0, press)]
    laws = {"adhesion": LAW, "friction": friction} if friction else {"adhesion": LAW}
    touch = ContactAmong(rims, passes="mortar", reach=0.5, **laws)
    return st.Solid(bodies, [*on, touch], held, dimensionless=True)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("angle", [0.0, 0.1])
def test_iterations_do_not_grow_with_the_number_of_discs(count, angle):
    """One step of half a tenth of a radius, without a retry: 6 to 9 iterations with the start.

    Two, three, five discs took 6, 38, 625 when rounding decided in which cell a breakpoint lies.
    """
    run = st.solve(row(count, angle), st.solids.Quasistatic(steps=1))
    assert run.stats["newton_iterations"] <= 10
    assert run.stats["step_cuts"] == 0
    assert run.energy.imbalance_rel < 1e-6


def test_iterations_with_friction_do_not_grow_either():
    """Held by their middles, three discs with friction were not solved in 1,700 iterations."""
    run = st.solve(row(3, 0.0, EA(0.3, 0.0), planes=False), st.solids.Quasistatic(steps=1))
    assert run.stats["newton_iterations"] <= 8
    assert run.stats["step_cuts"] == 0
