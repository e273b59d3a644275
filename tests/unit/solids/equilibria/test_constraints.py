"""Linear constraints between displacements, against multipliers in a dense matrix."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.laws import Frictionless, LennardJones
from stiction.solids import (
    Q1,
    Q1N2,
    Q2,
    Body,
    Boundary,
    Contact,
    Driven,
    Fixed,
    Linear,
    LinearElastic,
    Loaded,
    Nearest,
    NeoHookean,
    Program,
    Reaction,
    Rigid,
    RigidPlane,
    Symmetry,
    Term,
    Tied,
    Traction,
    rectangle,
    rotated,
)
from stiction.solids.equilibria.problem import Problem
from stiction.solids.model import Readings

LAW = LennardJones.from_strength(max_tension=0.05, work_of_adhesion=0.01)


def to(value):
    return Program((0.0, 1.0), (0.0, value))


def solved(mesh, conditions, material=None, element=None, **more):
    body = Body(mesh, element or Q1(), material or NeoHookean(1.0, 0.3))
    solid = st.Solid([body], [], conditions, dimensionless=True, **more)
    return st.solve(solid, st.solids.Quasistatic(steps=3))


@pytest.mark.parametrize("degrees", [0.0, 31.0, 90.0, 200.0])
def test_symmetry_in_any_direction(degrees):
    """A sheared and stretched quarter is the same in any direction."""
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def case(mesh, turned):
        pull = turned @ np.array([0.2, 0.05])
        loads = [Traction(Boundary(0, "right"), k, to(pull[k])) for k in (0, 1)]
        sides = [Symmetry(Boundary(0, "left")), Symmetry(Boundary(0, "bottom"))]
        run = solved(mesh, [*sides, *loads])
        places = run.data["drawn_position"].values
        return places[-1] - places[0], run

    plain, first = case(rectangle(2.0, 1.0, (4, 3)), np.eye(2))
    mesh = rectangle(2.0, 1.0, (4, 3))
    tilted = st.solids.Mesh(mesh.points @ turn.T, mesh.cells, mesh.boundaries)
    moved, run = case(tilted, turn)
    np.testing.assert_allclose(moved, plain @ turn.T, atol=1e-11)
    assert run.energy.stored[-1] == pytest.approx(first.energy.stored[-1], rel=1e-10)


def test_against_a_dense_solution():
    """Random constraints on a linear body, against multipliers in one dense matrix."""
    rng = np.random.default_rng(3)
    mesh = rectangle(2.0, 1.0, (4, 2))
    body = Body(mesh, Q1(), LinearElastic(1.0, 0.3))
    places = body.discretised(()).points
    right = np.flatnonzero(places[:, 0] > 0.0)
    for _ in range(20):
        nodes = rng.choice(right, size=8, replace=False)
        picks = [(int(n), int(rng.integers(2))) for n in nodes]
        rows, values = [], []
        for _ in range(int(rng.integers(1, 4))):
            size = int(rng.integers(1, 5))
            rows.append([(picks[i], float(rng.normal())) for i in rng.choice(8, size, False)])
            values.append(float(rng.normal()) * 1e-2)
        held = [
            Linear([Term(Nearest(0, places[n]), k, c) for (n, k), c in row], to(v))
            for row, v in zip(rows, values, strict=True)
        ]
        force = Traction(Boundary(0, "right"), 0, to(0.05))
        solid = st.Solid([body], [], [Fixed(Boundary(0, "left")), *held, force])
        run = st.solve(solid, st.solids.Quasistatic(steps=1))
        problem = Problem(st.Solid([body], [], [force]).assembled())
        _, matrix = problem.evaluate(problem.start(0.0), 0.0 * places, 1.0, None, data=True)
        n = places.size
        fixed = [2 * i + k for i in np.flatnonzero(places[:, 0] == 0.0) for k in (0, 1)]
        c = np.zeros((len(fixed) + len(rows), n))
        c[np.arange(len(fixed)), fixed] = 1.0
        for j, row in enumerate(rows):
            for (i, k), factor in row:
                c[len(fixed) + j, 2 * i + k] += factor
        whole = np.block([[matrix.toarray(), c.T], [c, np.zeros((c.shape[0],) * 2)]])
        asked = np.concatenate([problem.loads(1.0).ravel(), np.zeros(len(fixed)), values])
        exact = np.linalg.lstsq(whole, asked, rcond=None)[0][:n].reshape(-1, 2)
        drawn = run.data["drawn_position"].values
        got = drawn[-1] - drawn[0]
        at = [np.argmin(np.linalg.norm(drawn[0] - x, axis=1)) for x in places]
        np.testing.assert_allclose(got[at], exact, atol=1e-9 * np.abs(exact).max())


def test_linear_constraints():
    """Multipliers are read back as work: a sum of two places that is driven, and its force."""
    ends = [Term(Nearest(0, (2.0, y)), 0, c) for y, c in ((0.0, 1.0), (1.0, 3.0))]
    held = [Fixed(Boundary(0, "left")), Linear(ends, to(0.4))]
    places = [Reaction(Nearest(0, (2.0, y))) for y in (0.0, 1.0)]
    readings = Readings(displacement=1, support=True, reactions=places)
    run = solved(rectangle(2.0, 1.0, (4, 2)), held, readings=readings)
    low, high = (run.data[f"reaction_{i}_x"].values[-1] for i in (1, 2))
    # forces of a constraint stand as its factors
    assert high == pytest.approx(3.0 * low, rel=1e-9)
    assert low > 0.0
    moved = run.data["drawn_position"].values[-1] - run.data["drawn_position"].values[0]
    start = run.data["drawn_position"].values[0]
    u = [moved[np.argmin(np.linalg.norm(start - p, axis=1)), 0] for p in ((2.0, 0.0), (2.0, 1.0))]
    assert u[0] + 3.0 * u[1] == pytest.approx(0.4, rel=1e-12)
    assert run.data["condition_work"].values[-1, 1] == pytest.approx(
        run.energy.stored[-1], rel=1e-2
    )


@pytest.mark.parametrize("element", [Q1(), Q2()])
def test_a_tied_boundary(element):
    """The right side stays upright as it is pulled at one corner; the sum of forces is that."""
    held = [
        Fixed(Boundary(0, "left")),
        Tied(Boundary(0, "right"), 0),
        Loaded(Nearest(0, (2.0, 1.0)), 0, to(0.1)),
    ]
    run = solved(rectangle(2.0, 1.0, (4, 2)), held, element=element)
    drawn = run.data["drawn_position"].values
    right = drawn[0][:, 0] == 2.0
    moved = (drawn[-1] - drawn[0])[right, 0]
    assert np.ptp(moved) < 1e-14
    assert moved[0] > 0.05
    work = run.data["condition_work"].values[-1]
    assert work[1] == pytest.approx(0.0, abs=1e-14)
    assert work[2] == pytest.approx(run.energy.stored[-1], rel=1e-2)


def test_a_rigid_plate_that_carries_a_corner():
    """A rigid partner and a corner of the body go up together."""
    mesh = rectangle(2.0, 1.0, (6, 3), (0.0, LAW.gap_eq))
    solid = st.Solid(
        [Body(mesh, Q1(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "bottom"), RigidPlane(), LAW, Frictionless())],
        [
            Fixed(Boundary(0, "top"), (0,)),
            Driven(Boundary(0, "top"), 1, to(-0.05)),
            Linear([Term(Rigid(0), 1, 1.0), Term(Nearest(0, (0.0, 0.5)), 1, -0.5)]),
        ],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=4))
    drawn = run.data["drawn_position"].values
    at = np.argmin(np.linalg.norm(drawn[0] - (0.0, 0.5 + LAW.gap_eq), axis=1))
    plate = run.data["normal_displacement"].values[-1]
    near = np.argsort(np.linalg.norm(drawn[0] - (0.0, 0.5), axis=1))[:2]
    moved = (drawn[-1] - drawn[0])[:, 1]
    assert min(abs(plate - 0.5 * moved[i]) for i in (at, *near)) < 1e-12
    assert plate < -0.001


CONTRADICTIONS = [
    ([Tied(Boundary(0, "right"), 1), Driven(Nearest(0, (2.0, 0.0)), 1, to(0.1)),
      Driven(Nearest(0, (2.0, 1.0)), 1, to(0.2))], "Tied on boundary 'right' of body 0, y"),
    ([Symmetry(Boundary(0, "right")), Driven(Boundary(0, "right"), 0, to(0.1))],
     "Symmetry on boundary 'right' of body 0"),
    ([Linear([Term(Boundary(0, "right"), 0, 1.0)], to(0.1)),
      Linear([Term(Boundary(0, "right"), 0, 2.0)], to(0.3))],
     "Linear with 2 x of boundary 'right' of body 0"),
    ([Symmetry(Boundary(0, "right"), (1, 1)), Fixed(Boundary(0, "right"), (0,)),
      Driven(Boundary(0, "right"), 1, to(0.1))], "Symmetry on boundary 'right' of body 0"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words"), CONTRADICTIONS)
def test_contradictions_are_named(given, words):
    with pytest.raises(ModelError) as refused:
        solved(rectangle(2.0, 1.0, (4, 2)), [Fixed(Boundary(0, "left")), *given])
    text = str(refused.value)
    assert words in text
    assert "boundary 'right' of body 0" in text or "node of body 0" in text
    # those that contradict it are named too
    assert text.count("condition") >= 3


def test_sums_of_a_contradiction_are_the_given_ones():
    top = Boundary(0, "right")
    held = [Fixed(Boundary(0, "left")), Driven(top, 1, to(0.1)), Linear([Term(top, 1)], to(0.05))]
    with pytest.raises(ModelError, match=r"a sum of 0\.05; needs a sum of 0\.1 at time 1,"):
        solved(rectangle(2.0, 1.0, (4, 2)), held)


def test_terms_that_cancel_to_rounding():
    terms = [Term(Nearest(0, (2.0, 1.0)), 1, factor) for factor in (0.1, 0.2, -0.3)]
    with pytest.raises(
        ModelError, match=r"(?s)Linear\.terms.*the condition constrains no displacement"
    ):
        solved(rectangle(2.0, 1.0, (4, 2)), [Fixed(Boundary(0, "left")), Linear(terms)])


def test_forces_at_one_node_add_up():
    place = Nearest(0, (2.0, 1.0))

    def moved(*forces):
        loads = [Loaded(place, 1, to(force)) for force in forces]
        run = solved(rectangle(2.0, 1.0, (4, 2)), [Fixed(Boundary(0, "left")), *loads])
        work = run.data["condition_work"].values
        np.testing.assert_allclose(work.sum(axis=1), run.energy.external_work, atol=1e-15)
        return run.data["drawn_position"].values[-1]

    np.testing.assert_allclose(moved(0.01, -0.004), moved(0.006), rtol=0.0, atol=1e-12)


def test_what_follows_from_others_is_taken_twice():
    """Planes that share a corner with a clamp, the same plane twice, a sum that is zero anyway."""
    held = [
        Fixed(Boundary(0, "left")),
        Symmetry(Boundary(0, "bottom")),
        Symmetry(Boundary(0, "bottom"), (0, 3)),
        Tied(Boundary(0, "bottom"), 1),
        Linear([Term(Boundary(0, "left"), 0, 1.0), Term(Nearest(0, (0.0, 1.0)), 1, 2.0)]),
        Traction(Boundary(0, "right"), 0, to(0.1)),
    ]
    mesh = rectangle(2.0, 1.0, (4, 2))
    twice = solved(mesh, held)
    once = solved(mesh, [*held[:2], held[-1]])
    np.testing.assert_allclose(
        twice.data["drawn_position"].values, once.data["drawn_position"].values, atol=1e-13
    )


def test_bent_boundaries_have_no_plane():
    bent = st.solids.cap(3.0, 1.0, 1.0, (4, 2))
    with pytest.raises(ModelError, match="boundary 'top' of body 0, which is curved"):
        solved(bent, [Fixed(Boundary(0, "bottom")), Symmetry(Boundary(0, "top"))])


def test_splines_are_constrained_at_places():
    """A driven place between control points of a boundary that is tied beside it."""
    mesh = rotated(rectangle(2.0, 1.0, (6, 3)))
    names = list(mesh.boundaries)
    assert "top" in names
    solid = st.Solid(
        [Body(rectangle(2.0, 1.0, (6, 3)), Q1N2(), NeoHookean(1.0, 0.3))],
        [Contact(Boundary(0, "top"), RigidPlane((0.0, 50.0), (0.0, -1.0)), LAW, Frictionless())],
        [
            Fixed(Boundary(0, "bottom")),
            Driven(Nearest(0, (1.0, 1.0)), 1, to(-0.05)),
            Tied(Boundary(0, "top"), 1),
        ],
        dimensionless=True,
    )
    run = st.solve(solid, st.solids.Quasistatic(steps=2))
    drawn = run.data["drawn_position"].values
    top = np.abs(drawn[0][:, 1] - 1.0) < 1e-12
    np.testing.assert_allclose((drawn[-1] - drawn[0])[top, 1], -0.05, atol=1e-12)
