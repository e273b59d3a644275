"""Two bodies joined by virtual work, from start to end: a punch with sharp edges that slides."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import EA, LennardJones
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.elements.kinds import Q1N2
from stiction.solids.equilibria import load_steps
from stiction.solids.equilibria.work_integrals import AdaptiveLobatto
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import rectangle
from stiction.solids.model import Body, Readings, Solid

MAX_TENSION, WORK = 0.05, 0.01


def punch(law, friction, exchange=False, cells=(9, 3), slide=3.3):
    """Return a block with sharp edges that is pressed on a longer one and slides ten elements."""
    upper = rectangle(3.0, 1.5, cells, (1.0, law.gap_eq))
    lower = rectangle(10.0, 2.0, (10 * cells[0] // 3, 4), (0.0, -2.0))
    bodies = [Body(mesh, Q1N2(), NeoHookean(1.0, 0.3)) for mesh in (upper, lower)]
    sides = [Boundary(0, "bottom"), Boundary(1, "top")]
    pair = Contact(*sides[:: -1 if exchange else 1], law, friction, passes="mortar")
    top = Boundary(0, "top")
    conditions = [
        Driven(top, 0, Program((0, 1, 2), (0, 0, slide))),
        Driven(top, 1, Program((0, 1), (0, -0.03))),
        Fixed(Boundary(1, "bottom")),
    ]
    return Solid(bodies, [pair], conditions, readings=Readings(displacement=0))


@pytest.mark.parametrize("adhesive", [True, False])
def test_a_sharp_punch_slides(adhesive):
    """Model EA with adhesion, and Coulomb's law without: no cuts, balance, ledger, no loss."""
    law = LennardJones.from_strength(MAX_TENSION, WORK, adhesive=adhesive)
    friction = EA(0.3, 1.0 if adhesive else 0.0)
    solid = punch(law, friction, cells=(6, 2), slide=5.0)
    run = st.solve(solid, st.solids.Quasistatic(steps=16), (0.0, 2.0))
    assert run.stats["step_cuts"] <= 2
    assert not run.determinism.losses
    failed = [check.check for check in run.audit.failed]
    assert not failed
    # the other body feels the opposite, to the last digit
    values = {check.check: check.value for check in run.audit.checks}
    assert values["ledger_closes"] < 1e-6
    assert values["two_half_pass_balance"] == 0.0
    mine = [run.data[f"force_{c}"].values for c in "xy"]
    # sliding everywhere: threshold mu (T + T_max) or mu T over the whole face
    full = 0.3 * (mine[1][-1] + (3.0 * MAX_TENSION if adhesive else 0.0))
    assert abs(mine[0][-1]) == pytest.approx(full, rel=0.05)  # reason: edges lift and faces stretch


def test_energies_close_in_any_step():
    """Few steps pass over much that is out of balance; what they pass over is found from forces.

    With the boundaries exchanged most points of the long block lie beyond the ends of the punch.
    """
    law = LennardJones.from_strength(MAX_TENSION, WORK)
    passed = []
    for steps in (2, 6):
        solid = punch(law, EA(0.3, 1.0), exchange=True, cells=(3, 1), slide=0.2)
        run = st.solve(solid, st.solids.Quasistatic(steps=steps), (0.0, 2.0))
        assert not run.determinism.losses
        assert run.energy.imbalance_rel < 1e-6
        values = {check.check: check.value for check in run.audit.checks}
        assert values["every_point_has_partner"] == 0.0
        passed.append(values["balanced_between_steps"])
        assert passed[-1] == abs(run.data.unbalanced_work.values).max() / run.energy.scale
    assert passed[1] < 0.5 * passed[0]


def test_the_ledger_closes_to_the_tolerance():
    """What is left is the error of the rule between load steps, and of balance at their ends."""
    law = LennardJones.from_strength(MAX_TENSION, WORK, adhesive=False)
    left = []
    for tolerance in (1e-5, 1e-8, 1e-11):
        solid = punch(law, EA(0.3, 0.0), cells=(3, 1), slide=0.5)
        method = st.solids.Quasistatic(steps=3, work_tolerance=tolerance, newton_tolerance=1e-12)
        left.append(st.solve(solid, method, (0.0, 2.0)).energy.imbalance_rel)
    assert left[1] <= 1e-8
    assert left[2] <= 1e-11
    assert left[2] < left[0]


@pytest.mark.parametrize("newton_tolerance", [1e-4, 1e-9])
def test_ledger_of_loose_balance(newton_tolerance):
    """What Newton's method leaves of balance is no work of supports; 2.9e-5 and 3.4e-10 with it."""
    law = LennardJones.from_strength(MAX_TENSION, WORK, adhesive=False)
    solid = punch(law, EA(0.3, 0.0), cells=(3, 1), slide=0.5)
    method = st.solids.Quasistatic(steps=3, work_tolerance=1e-11, newton_tolerance=newton_tolerance)
    run = st.solve(solid, method, (0.0, 2.0))
    assert run.energy.imbalance_rel < 1e-11
    # forces of four digits, as asked for: the audit reports, and they are not without any
    failed = {check.check for check in run.audit.failed}
    assert ("residual_above_roundoff" in failed) is (newton_tolerance > 1e-6)


@pytest.mark.parametrize("around", [True, False])
def test_an_end_without_a_straight_path_is_not_taken(monkeypatch, around):
    """After many iterations in a long step, bodies are right side out again beyond inside out."""
    law = LennardJones.from_strength(MAX_TENSION, WORK, adhesive=False)
    solid = punch(law, EA(0.3, 0.0), cells=(3, 1), slide=0.5)
    genuine, upper = load_steps.solve_step, slice(0, solid.bodies[0].mesh.points.shape[0])
    far = 0.4

    def wandering(problem, state, t, guess, limits, space):
        outcome = genuine(problem, state, t, guess, limits, space)
        if t - state.time < far or outcome.trial is None:
            return outcome
        u = outcome.trial.u.copy()
        if around:
            here = problem.points[upper]
            # right side out at the end, inside out between 0.513 and 0.526 of the way
            u[upper] = np.array([1.9, 1.95]) * (here.mean(axis=0) - here)
        return outcome._replace(trial=outcome.trial._replace(u=u), iterations=20)

    monkeypatch.setattr(load_steps, "solve_step", wandering)
    run = st.solve(solid, st.solids.Quasistatic(steps=2), (0.0, 2.0))
    assert run.status.name == "SOLVED"
    assert run.energy.imbalance_rel < 1e-5
    assert (np.diff(run.time).max() < far) == around
    assert (run.stats["step_cuts"] > 1) == around


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), 1e-14, 0.1])
def test_tolerances_without_sense_are_refused(tolerance):
    with pytest.raises(ModelError, match=r"Quasistatic\.work_tolerance"):
        st.solids.Quasistatic(work_tolerance=tolerance)


def test_the_rule_finds_jumps_and_kinks():
    """Within its bound on work the rule cuts pieces where a function jumps or bends."""
    for f, exact in (
        (lambda x: 1.0 / (0.01 + x * x), 10.0 * np.arctan(10.0)),
        (lambda x: float(x > 0.3713), 0.6287),
        (lambda x: abs(x - 0.271), 0.5 * (0.271**2 + 0.729**2)),
    ):
        rule = AdaptiveLobatto(lambda x, f=f: (f(x), None), lambda x: None, 1e-8)
        assert abs(rule.integral((f(0.0), None), (f(1.0), None)) - exact) < 1e-7


def test_breakpoints_split_the_rule():
    """Forty jumps of a smooth function, each with a breakpoint: to rounding, for little more."""
    at = np.sort(np.random.default_rng(2).uniform(0.0, 1.0, 40))
    jump = np.random.default_rng(3).standard_normal(40)

    def mark(x):
        return int((x > at).sum())

    def f(x):
        return np.exp(x) + float(jump[x > at].sum()), mark(x)

    exact = np.e - 1.0 + float(np.sum(jump * (1.0 - at)))
    rule = AdaptiveLobatto(f, mark, 1e-11, 4800.0)
    assert abs(rule.integral(f(0.0), f(1.0)) - exact) < 1e-11
    assert rule.calls < 4800.0
    # without marks the same work leaves much more
    blind = AdaptiveLobatto(lambda x: (f(x)[0], None), lambda x: None, 1e-11, rule.calls)
    assert abs(blind.integral((f(0.0)[0], None), (f(1.0)[0], None)) - exact) > 1e-8
