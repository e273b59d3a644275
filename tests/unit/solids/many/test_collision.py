"""Bodies that would pass through each other in one step are seen, and no such step is taken."""

import numpy as np
import pytest

import stiction as st
from stiction.laws import LennardJones
from stiction.solids import (
    Q1,
    Body,
    Boundary,
    Contact,
    ContactAmong,
    Driven,
    Fixed,
    GeneralisedAlpha,
    MovingSolid,
    Nearest,
    NeoHookean,
    Program,
    Rigid,
    RigidCircle,
    Signorini,
    disc,
    rectangle,
)
from stiction.solids.equilibria.problem import Problem
from stiction.solids.many.continuous_collision import CollisionDetection, thickness

LAW = LennardJones.from_strength(0.05, 2e-3, adhesive=False)
# places count, not displacements
LEFT, HIGH = -3.0, 1.0
RIMS = [Boundary(0, "rim"), Boundary(1, "rim")]


@pytest.mark.parametrize("angle", [0.0, 0.5])
def test_thickness_of_bodies(angle):
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    plate = rectangle(1.0, 0.1, (8, 2)).points @ turn
    assert thickness(plate, 0.1) == pytest.approx(0.1, rel=1e-12)
    round_ = disc(0.5, (4, 3), 2, (7.0, 0.0))
    assert thickness(round_.points, np.pi / 4.0) == pytest.approx(np.pi / 4.0, rel=1e-12)
    # a bow is higher than thick
    bow = np.array(
        [[np.cos(a) * r, np.sin(a) * r] for a in np.linspace(0, 3, 40) for r in (1, 1.1)]
    )
    assert thickness(bow, 3.0 * 1.05 * 0.1) < 0.2


def two(partner, passes="two-half-pass"):
    """Two discs of radius 0.1, one above the other, or one above a rigid circle as large."""
    bodies = [Body(disc(0.1, (4, 3), 2, (LEFT, HIGH)), Q1(), NeoHookean(1.0, 0.3))]
    if "circle" in partner:
        law = Signorini() if "hard" in partner else LAW
        contacts = [Contact(RIMS[0], RigidCircle((LEFT, 0.0), 0.1), law)]
    else:
        bodies.append(Body(disc(0.1, (4, 3), 2, (LEFT, 0.0)), Q1(), NeoHookean(1.0, 0.3)))
        contacts = [Contact(*RIMS, LAW, passes=passes)]
        if partner == "among":
            contacts = [ContactAmong(RIMS, LAW)]
    still = [Fixed(Nearest(i, (LEFT, at)), (0,)) for i, at in enumerate((HIGH, 0.0)[: len(bodies)])]
    return st.Solid(bodies, contacts, still)


@pytest.mark.parametrize("sides", ["two-half-pass", "mortar", "circle", "hard circle"])
@pytest.mark.parametrize(
    ("shift", "way", "seen"),
    [
        (0.0, 2.0, True),
        # overlaps by 5 % of a diameter while it passes
        (0.19, 2.0, True),
        (0.21, 2.0, False),
        # arrives before the other
        (0.0, 0.79, False),
    ],
)
def test_tunnelling_is_detected(sides, shift, way, seen):
    problem = Problem(two(sides, sides if "circle" not in sides else "two-half-pass").assembled())
    u = np.zeros_like(problem.points)
    u[problem.first[0] : problem.first[1], 0] = shift
    after = u.copy()
    after[problem.first[0] : problem.first[1], 1] -= way
    ways = CollisionDetection(problem)
    assert ways.tunnels(u, after) is seen
    # the frame may move, and turn, as far as it likes
    assert ways.tunnels(u, after + np.array([30.0, 20.0])) is seen
    if "circle" not in sides:
        turned = problem.points[:, ::-1] * [1.0, -1.0] - problem.points
        assert not ways.tunnels(np.zeros_like(u), turned)


def pushed(sides, end=1.0):
    """Drive the upper body straight through the fixed ones, until time `end`."""
    solid, push = two(sides), Nearest(0, (LEFT, HIGH))
    held = [
        Driven(push, 1, Program((0.0, end), (0.0, -2.0))),
        Fixed(push, (0,)),
        Fixed(Nearest(0, (LEFT, HIGH + 0.05)), (0,)),
    ]
    if sides == "circle":
        held.append(Fixed(Rigid(0)))
    else:
        held += [Fixed(Nearest(1, (LEFT, 0.0))), Fixed(Nearest(1, (LEFT, 0.05)), (0,))]
    return st.Solid(solid.bodies, solid.contacts, held)


@pytest.mark.parametrize("sides", ["named", "among", "circle"])
def test_no_step_tunnels(sides):
    run = st.solve(pushed(sides), st.solids.Quasistatic(steps=1, max_steps=3), throw=False)
    # steps are cut until contact is found before the bodies pass
    assert run.stats["step_cuts"] >= 1
    assert float(np.nanmin(run.data["gap"].values)) < 3.0 * LAW.gap_eq


@pytest.mark.parametrize("sides", ["named", "among", "circle"])
def test_bodies_would_tunnel_without_detection(sides, monkeypatch):
    monkeypatch.setattr(CollisionDetection, "tunnels", lambda *_: False)
    run = st.solve(pushed(sides), st.solids.Quasistatic(steps=1))
    assert run.stats["steps"] == 1
    assert not run.determinism.losses
    assert float(np.nanmin(run.data["gap"].values)) > 0.1


@pytest.mark.parametrize("detects", [True, False])
def test_no_time_step_tunnels(detects, monkeypatch):
    if not detects:
        monkeypatch.setattr(CollisionDetection, "tunnels", lambda *_: False)
    moving = MovingSolid(pushed("named", 300.0), density=1.0)
    method = GeneralisedAlpha(steps=1, tolerance=None, max_steps=3)
    run = st.solve(moving, method, t_span=(0.0, 300.0), throw=False)
    if not detects:
        assert run.stats["steps"] == 1
        assert float(np.nanmin(run.data["gap"].values)) > 0.1
        return
    assert run.stats["step_cuts"] >= 1
    assert float(np.nanmin(run.data["gap"].values)) < 3.0 * LAW.gap_eq


def test_a_run_ends_if_every_step_tunnels(monkeypatch):
    monkeypatch.setattr(CollisionDetection, "tunnels", lambda *_: True)
    run = st.solve(pushed("named"), st.solids.Quasistatic(steps=30, max_halvings=2), throw=False)
    assert run.status.name == "UNCONVERGED"
    assert "bodies pass through each other at t = 0.00833" in run.reason
    assert "check prescribed displacements" in run.reason
