"""Orders of solids, from both sides: the ledger with the load step, displacements with the mesh."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve
from solid_cases import ELEMENTS, bound, forces, outline, tangent

import stiction as st
from stiction.laws import DI, EA, Frictionless, LennardJones
from stiction.solids.conditions import Driven, Fixed, Program
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidPlane
from stiction.solids.elements.kinds import Q1N2, discretise
from stiction.solids.materials import LinearElastic, NeoHookean
from stiction.solids.mesh.model import block, rectangle
from stiction.solids.model import Body, Readings, Solid

LAW = LennardJones.from_strength(0.06, 0.01)
FRICTION = {
    "none": Frictionless(),
    "EA": EA(0.3),
    "EA half": EA(0.3, 0.5),
    "DI": DI(0.3),
}
SIDE = 0.3


def slab(friction, partner, up, penalty=None, bend=0.0):
    """Return a slab in adhesion that is moved sideways, and towards its partner or away."""

    def mapping(s, t):
        lift = bend * (4.0 * s - 2.0) ** 2
        return 4.0 * s, LAW.gap_eq + lift + t * (1.0 + 4.0 * bend - lift)

    bodies = [Body(block(mapping, (8, 2)), Q1N2(), NeoHookean(1.0, 0.3))]
    top = Boundary(0, "top")
    given = [Driven(top, k, Program((0.0, 1.0), (0.0, v))) for k, v in enumerate((SIDE, up))]
    if isinstance(partner, Boundary):
        low = rectangle(6.0, 1.0, (10, 2), (-1.0, -1.0))
        bodies.append(Body(low, Q1N2(), NeoHookean(1.0, 0.3)))
        given.append(Fixed(Boundary(1, "bottom")))
    contact = Contact(Boundary(0, "bottom"), partner, LAW, friction, penalty=penalty)
    return Solid(bodies, [contact], given, readings=Readings(displacement=0))


def imbalances(system, steps):
    """Return the relative imbalance of runs of so many steps, and the last run."""
    found = []
    for count in steps:
        run = st.solve(system, st.solids.Quasistatic(steps=count))
        assert run.stats["steps"] == count
        found.append(run.energy.imbalance_rel)
    return np.array(found), run


@pytest.mark.parametrize("up", [-0.03, 0.04])
@pytest.mark.parametrize("name", sorted(FRICTION))
@pytest.mark.parametrize("penalty", [None, 0.05])
def test_ledger_closes_at_second_order(name, up, penalty):
    """Against a rigid plane, stiff or soft in stick, while points begin to slide."""
    errors, run = imbalances(slab(FRICTION[name], RigidPlane(), up, penalty), (20, 80))
    order = np.log(errors[0] / errors[1]) / np.log(4.0)
    assert 1.85 < order < 2.1
    assert errors[1] < 2e-6
    assert not run.data["non_reciprocity"].values.any()
    if name != "none" and penalty is None:
        assert run.energy.total_friction_heat[-1] > 0.1 * run.energy.scale


def test_ledger_on_a_circle_closes_at_second_order():
    """Friction at a gap from a curve is not reciprocal: so much of the work is reported."""
    circle = RigidCircle((2.0, -30.0), 30.0)
    errors, run = imbalances(slab(EA(0.3), circle, -0.05), (20, 80))
    assert 1.85 < np.log(errors[0] / errors[1]) / np.log(4.0) < 2.1
    heat = run.energy.total_friction_heat[-1]
    # of the order of the gap over the radius
    assert 0.2 < run.data["non_reciprocity"].values[-1] / (heat * LAW.gap_eq / 30.0) < 5.0


@pytest.mark.parametrize("name", ["none", "EA"])
def test_work_missed_by_two_bodies_is_reported(name):
    """With the work that no potential accounts for in its column, the rest closes as well."""
    system = slab(FRICTION[name], Boundary(1, "top"), -0.05, bend=0.1)
    owed, errors = [], []
    for steps in (20, 80):
        found, run = imbalances(system, (steps,))
        errors.append(found[0])
        owed.append(run.data["non_reciprocity"].values[-1] / run.energy.scale)
    assert 1.8 < np.log(errors[0] / errors[1]) / np.log(4.0) < 2.1
    # that is a property of the two passes, and hardly of the steps
    assert 1e-4 < abs(owed[1]) < 1e-2
    assert abs(owed[1] - owed[0]) < 1e-2 * abs(owed[1])


# ---------------------------------------------------------------- meshes

POISSON = 0.3
STIFF = LinearElastic(2.0, POISSON)


def exact(x):
    """Return displacement and stress of plane strain from two functions of z, without loads.

    2 G (u + i v) = (3 - 4 nu) phi - z conj(phi') - conj(psi).
    """
    z = x[..., 0] + 1j * x[..., 1]
    phi, slope, bend = np.exp(0.9j * z), 0.9j * np.exp(0.9j * z), -0.81 * np.exp(0.9j * z)
    psi, psi_slope = np.sin(1.1 * z), 1.1 * np.cos(1.1 * z)
    g = STIFF.moduli()[0]
    w = (3.0 - 4.0 * POISSON) * phi - z * np.conj(slope) - np.conj(psi)
    both, rest = 4.0 * slope.real, 2.0 * (np.conj(z) * bend + psi_slope)
    xx, yy, xy = 0.5 * (both - rest.real), 0.5 * (both + rest.real), 0.5 * rest.imag
    stress = np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -1)
    return np.stack([w.real, w.imag], -1) / (2.0 * g), stress


def mapping(s, t):
    """Return a square whose cells are all of other shapes."""
    wave = 0.05 * np.sin(np.pi * s) * np.sin(np.pi * t)
    return 1.2 * s + wave, t + wave


def solution(parts, held, given):
    """Return displacements (nodes, 2) that are exact where held, under given forces."""
    bulk, pattern = bound(parts, STIFF.table())
    u = np.where(held[:, None], exact(parts.points)[0], 0.0)
    rest = forces(bulk, u) - given
    free = np.flatnonzero(np.repeat(~held, 2))
    matrix = tangent(bulk, pattern, u)[free][:, free]
    u.flat[free] -= spsolve(matrix.tocsc(), rest.ravel()[free])
    return u


def size_of(away):
    """Return the mean size of vectors."""
    return float(np.sqrt(np.mean(np.sum(away**2, axis=-1))))


def error_inside(element, cells):
    """Return the mean error of displacement inside the elements, away from their nodes."""
    mesh = block(mapping, (cells, cells))
    parts = discretise(mesh, element)
    u = solution(parts, outline(parts), np.zeros_like(parts.points))
    (elements,) = parts.blocks
    gauss = np.polynomial.legendre.leggauss(4)[0]
    xi, eta = np.tile(gauss, 4), np.repeat(gauss, 4)

    def line(x):
        if element.ORDER == 1:
            return np.stack([0.5 * (1 - x), 0.5 * (1 + x)])
        return np.stack([0.5 * x * (x - 1), 1 - x * x, 0.5 * x * (x + 1)])

    i, j = [0, 1, 1, 0], [0, 0, 1, 1]
    if element.ORDER == 2:
        i, j = [0, 2, 2, 0, 1, 2, 1, 0, 1], [0, 0, 2, 2, 0, 1, 2, 1, 1]
    functions = (line(xi)[i] * line(eta)[j]).T
    places = np.einsum("qn,end->eqd", functions, parts.points[elements.nodes])
    return size_of(np.einsum("qn,end->eqd", functions, u[elements.nodes]) - exact(places)[0])


def error_of_layer(element, cells):
    """Return the mean error of displacement at the corners of what is drawn.

    The bottom is a layer under traction; on the other sides displacements are given.
    """
    parts = discretise(block(mapping, (cells, cells)), element, contact=("bottom",))
    face = parts.surfaces["bottom"]
    places = np.einsum("sqn,snd->sqd", face.functions, parts.points[face.nodes])
    traction = exact(places)[1] @ np.array([0.0, -1.0])
    given = np.zeros_like(parts.points)
    loads = np.einsum("sqn,sq,sqd->snd", face.functions, face.areas, traction)
    np.add.at(given, face.nodes, loads)
    u = solution(parts, outline(parts, but=("bottom",)), given)
    drawn = parts.picture.matrix @ parts.points
    return size_of(parts.picture.matrix @ u - exact(drawn)[0])


@pytest.mark.parametrize(("name", "order"), [("Q1", 2), ("Q2", 3)])
@pytest.mark.parametrize("reduced", [False, True])
def test_meshes_converge(name, order, reduced):
    errors = np.array([error_inside(ELEMENTS[name](reduced), cells) for cells in (8, 16, 32)])
    orders = np.log2(errors[:-1] / errors[1:])
    assert np.all(np.abs(orders - order) < 0.12)
    assert errors[-1] < (3e-4 if order == 2 else 1e-6)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    # at nodes Q2N2 gains an order; the few elements of a layer are the worst part of Q1
    [("Q1N2", 1.9, 2.4), ("Q1H", 1.9, 2.4), ("Q2N2", 3.8, 4.2)],
)
def test_layers_converge_under_traction(name, low, high):
    errors = np.array([error_of_layer(ELEMENTS[name](), cells) for cells in (8, 16, 32)])
    orders = np.log2(errors[:-1] / errors[1:])
    assert np.all((orders > low) & (orders < high))
    assert errors[-1] < (2e-4 if name != "Q2N2" else 1e-7)
