"""Where load steps with the two-half-pass stop or jump: equations turn back, or it is reported."""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction.laws import EA, LennardJones
from stiction.numerics.linear_solvers import SuperLU
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.elements.kinds import Q1, Q1H, Q1N2
from stiction.solids.equilibria.bordered import adhesion_gradient
from stiction.solids.equilibria.newton import Limits, solve_step
from stiction.solids.equilibria.problem import Problem
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import half_disc, rectangle, rotated
from stiction.solids.model import Body, Readings, Solid

LIMITS = Limits(1e-9, 30)


def punch():
    """A punch with sharp edges that is pressed on a longer block and slides, two-half-pass."""
    law = LennardJones.from_strength(0.05, 0.01)
    lower, upper = rectangle(10.0, 2.0, (30, 4), (0.0, -2.0)), rectangle(3.0, 1.5, (9, 3))
    bodies = [Body(m, Q1N2(), NeoHookean(1.0, 0.3)) for m in (lower, upper.moved((1, law.gap_eq)))]
    pair = Contact(Boundary(1, "bottom"), Boundary(0, "top"), law, EA(0.3))
    top = Boundary(1, "top")
    down = Driven(top, 1, Program((0, 1), (0, -0.03)))
    held = [Fixed(top, (0,)), down, Fixed(Boundary(0, "bottom"))]
    return Solid(bodies, [pair], held, readings=Readings(displacement=1, body=1))


def newton(problem, state, t, helds):
    """Return trial and tangent at balance with some points held in stick or slip."""
    u = np.where(problem.fixed, problem.prescribed(t), state.u)
    for _ in range(30):
        trial, matrix = problem.evaluate(state, u, t, helds, data=True)
        rest = trial.residual.ravel()[problem.free]
        tangent = problem.reduced(matrix).toarray()
        if np.linalg.norm(rest) < 5e-14:
            break
        step = np.zeros(u.size)
        step[problem.free] = np.linalg.solve(tangent, -rest)
        u = u + step.reshape(u.shape)
    assert np.linalg.norm(rest) < 5e-14
    return trial, tangent


def states_in_balance(problem, state, t, points):
    """Return which states of points obey the law, with the sign of the determinant of each."""
    found = {}
    for held in itertools.product((0, 1), repeat=len(points)):
        helds = [np.full(p.count, -1) for p in problem.passes]
        for (i, q), how in zip(points, held, strict=True):
            helds[i][q] = how
        trial, tangent = newton(problem, state, t, helds)
        # what holds bears less than the threshold, what slides more than it
        over = [trial.point_values[i][q, k.EXCESS] > 0.0 for i, q in points]
        if over == [how == 1 for how in held]:
            found[held] = int(np.linalg.slogdet(tangent)[0])
    return found


def test_passes_of_a_punch_turn_back():
    """Where load steps jump, two states of balance meet and end: stick, and slip of two points.

    Beside an edge friction bears on one body alone. Before, both states are solutions, with
    determinants of opposite signs; beyond, none of the four ways to stick and slip is.
    """
    problem, space = Problem(punch().assembled()), SuperLU().start()
    state, outcome = problem.start(0.0), None
    low, high = 0.115, 0.116
    for t in (0.0, 0.05, 0.1, 0.11, low):
        outcome = solve_step(problem, state, t, None, LIMITS, space)
        state = problem.accepted(state, outcome.trial, t)
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        outcome = solve_step(problem, state, middle, None, LIMITS, space)
        if outcome.trial is None:
            high = middle
        else:
            low, state = middle, problem.accepted(state, outcome.trial, middle)
    assert low == pytest.approx(0.1155, abs=2e-6)
    # the two points of the long block that lie before the edge of the punch
    points = [(1, 90), (1, 91)]
    after = states_in_balance(problem, state, low + 1e-5, points)
    assert after == {}
    before = states_in_balance(problem, state, low - 1e-5, points)
    assert before == {(0, 0): 1, (1, 1): -1}


def test_a_jump_in_two_half_pass_contact_is_reported():
    run = st.solve(punch(), st.solids.Quasistatic(steps=4), (0.0, 0.2))
    result = [loss for loss in run.determinism.losses if loss.kind == "quasistatic_jump"]
    assert len(result) == 1
    assert result[0].where["from"] < 0.1155 < result[0].time


def test_work_that_passes_do_not_share_is_no_jump():
    """A round slider comes down on a block: a step is open by energy, all along its way.

    Two passes do not share all of their work. In sixteen parts of the step every part misses
    its fraction of that, which `action_reaction_balance` reports; the path is smooth.
    """
    law = LennardJones.from_strength(0.03, 2e-3)
    slider = rotated(half_disc(1.0, (6, 3), 4)).moved((2.0, 1.25 + law.gap_eq))
    block = rectangle(8.0, 2.0, (24, 3), (0.0, -2.0))
    bodies = [Body(slider, Q1H(), NeoHookean(1.0, 0.3)), Body(block, Q1N2(), NeoHookean(1.0, 0.3))]
    base = Boundary(0, "base")
    pair = Contact(Boundary(0, "arc"), Boundary(1, "top"), law, EA(0.3))
    down = Driven(base, 1, Program((0.0, 1.0), (0.0, -0.3)))
    solid = Solid(bodies, [pair], [down, Fixed(base, (0,)), Fixed(Boundary(1, "bottom"))])
    run = st.solve(solid, st.solids.Quasistatic(steps=19), (0.0, 0.95))
    assert not [loss for loss in run.determinism.losses if loss.time > 0.0]
    shared = np.diff(run.data["non_reciprocity"].values)
    assert abs(shared[-1]) > 0.25 * abs(np.diff(run.energy.columns()["external_work"])[-1])


@pytest.mark.parametrize("passes", ["two-half-pass", "mortar"])
def test_slope_of_the_adhesion(passes):
    """The adhesive energy that controls steps is that of the ledger, with its derivative."""
    law = LennardJones.from_strength(0.05, 0.01)
    gap = 1.0 + 1.3 * law.gap_eq
    meshes = [rectangle(2.0, 1.0, (4, 2)), rectangle(2.0, 1.0, (5, 2), (0.0, gap))]
    bodies = [Body(mesh, Q1(), NeoHookean(1.0, 0.3)) for mesh in meshes]
    pair = Contact(Boundary(0, "top"), Boundary(1, "bottom"), law, passes=passes)
    problem = Problem(Solid(bodies, [pair], [Fixed(Boundary(0, "bottom"))]).assembled())
    state, rng, h = problem.start(0.0), np.random.default_rng(0), 1e-6
    u, d = 1e-3 * rng.standard_normal(state.u.shape), rng.standard_normal(state.u.shape)

    def at(v):
        return problem.evaluate(state, v, 0.0, None, data=False)[0]

    energy, slope = adhesion_gradient(problem, at(u), 0.0)
    assert energy == pytest.approx(problem.stored(at(u))[1], rel=1e-12)
    change = (problem.stored(at(u + h * d))[1] - problem.stored(at(u - h * d))[1]) / (2.0 * h)
    # reason: tractions of the two-half-pass are not the derivatives of its energy
    rel = 1e-6 if passes == "mortar" else 1e-2
    assert float(np.sum(slope * d)) == pytest.approx(change, rel=rel)
