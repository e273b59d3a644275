"""Small solids for tests: distorted meshes, dense tangents, differences."""

import numpy as np

from stiction.errors import ModelError
from stiction.solids.arrays import Surface
from stiction.solids.contact.sweeps import SLIDES, STATE, STICKS
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.elements.kinds import Q1, Q1H, Q1N2, Q2, Q2N2
from stiction.solids.materials import (
    LinearElastic,
    MooneyRivlin,
    NearlyIncompressible,
    NeoHookean,
    Yeoh,
)
from stiction.solids.mesh.model import Mesh, rectangle

ELEMENTS = {"Q1": Q1, "Q2": Q2, "Q1N2": Q1N2, "Q2N2": Q2N2, "Q1H": Q1H}
MATERIALS = {
    "NeoHookean": NeoHookean(2.0, 0.3),
    "NearlyIncompressible": NearlyIncompressible(2.0, 0.45),
    "MooneyRivlin": MooneyRivlin(0.3, 0.2, 4.0),
    "Yeoh": Yeoh(0.3, -0.05, 0.04, 3.0),
    "LinearElastic": LinearElastic(1.5, 0.35),
}


def jacobian(function, x, step):
    """Return d function / d x, dense, by central differences of fourth order."""
    columns = []
    for k in range(x.size):
        values = []
        for side in (-2, -1, 1, 2):
            moved = x.copy()
            moved.flat[k] += side * step
            values.append(np.ravel(function(moved)))
        far = values[0] - values[3]
        columns.append((far + 8.0 * (values[2] - values[1])) / (12.0 * step))
    return np.stack(columns, axis=1)


def distorted(width=1.5, height=1.0, cells=(4, 3), amount=0.15, seed=0, origin=(0.0, 0.0)):
    """Return a rectangle whose inner nodes are moved at random, middles included.

    Where that folds a cell they are moved anew.
    """
    plain = rectangle(width, height, cells, origin)
    x = plain.points - np.asarray(origin)
    inner = (x[:, 0] > 1e-9) & (x[:, 0] < width - 1e-9)
    inner &= (x[:, 1] > 1e-9) & (x[:, 1] < height - 1e-9)
    random = np.random.default_rng(seed)
    step = amount * min(width / cells[0], height / cells[1])
    for _ in range(20):
        points = plain.points.copy()
        points[inner] += step * random.uniform(-1.0, 1.0, (int(inner.sum()), 2))
        try:
            return Mesh(points, plain.cells, plain.boundaries)
        except ModelError as refused:
            if "folded" not in str(refused):
                raise
    raise AssertionError("every mesh drawn has a folded cell")


def bound(parts, table):
    """Return the bulk of a discretised body and the pattern of its tangent."""
    bulk = Bulk([(block, table) for block in parts.blocks])
    pattern = Pattern(parts.points.shape[0], 2, bulk.pairs())
    bulk.bind(pattern)
    return bulk, pattern


def forces(bulk, u):
    """Return the internal forces (nodes, 2)."""
    residual = np.zeros_like(u)
    assert bulk.add(np.ascontiguousarray(u), residual, None) == 0
    return residual


def tangent(bulk, pattern, u):
    """Return the tangent as a sparse matrix."""
    data = np.zeros(pattern.entries)
    assert bulk.add(np.ascontiguousarray(u), np.zeros_like(u), data) == 0
    return pattern.matrix(data)


def outline(parts, but=()):
    """Return which nodes and control points lie on any named boundary except some."""
    on = np.zeros(parts.points.shape[0], dtype=bool)
    for name, nodes in parts.node_sets.items():
        if name not in but:
            on[nodes] = True
    return on


def curve(control, degree, first=0, weights=None, points=3):
    """Return a contact surface: lines, a quadratic spline or a cubic with C1 joints.

    Parameters
    ----------
    control : (n, 2) control points; first and last lie on the curve
    degree : 1, 2 or 3
    first : number of the first control point
    weights : (n,) rational weights of a quadratic spline
    """
    from stiction.solids.shape_functions.splines import curve_functions

    count = control.shape[0]
    pieces = {1: count - 1, 2: count - 2, 3: count // 2 - 1}[degree]
    e = np.arange(pieces)[:, None]
    if degree == 1:
        nodes, c = e + np.arange(2), np.tile(np.eye(2), (pieces, 1, 1))
    elif degree == 2:
        nodes = e + np.arange(3)
        c = np.tile([[0.5, 0.0, 0.0], [0.5, 1.0, 0.5], [0.0, 0.0, 0.5]], (pieces, 1, 1))
        c[0, :, 0], c[-1, :, 2] = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    else:
        nodes = 2 * e + np.arange(4)
        c = np.tile(np.eye(4), (pieces, 1, 1))
        c[:, :2, 0], c[:, 2:, 3] = (0.5, 0.5), (0.5, 0.5)
        c[0, :, 0], c[-1, :, 3] = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    w = np.ones(nodes.shape) if weights is None else weights[nodes]
    gauss, share = np.polynomial.legendre.leggauss(points)
    functions, derivatives = curve_functions(c, w, gauss)
    derivatives = derivatives[..., None]
    slope = np.einsum("sqnm,snd->sqd", derivatives, control[nodes])
    ends = np.arange(1, pieces + 1)
    ends[-1] = -1
    neighbours = np.stack([np.arange(pieces) - 1, ends], axis=1)
    areas = share * np.linalg.norm(slope, axis=2)
    return Surface(nodes + first, c, w, neighbours, gauss, functions, derivatives, areas)


def principal_stresses(law, stretches):
    """Return the nominal stresses along three principal stretches, written by hand."""
    l = np.asarray(stretches)  # noqa: E741
    j, i1 = l.prod(), np.sum(l**2)
    i2 = 0.5 * (i1**2 - np.sum(l**4))
    if isinstance(law, NearlyIncompressible):
        mu, k = law.moduli()
        return mu * j ** (-2 / 3) * (l - i1 / (3 * l)) + k * (j - 1) * j / l
    if isinstance(law, NeoHookean):
        mu = law.young / (2 * (1 + law.poisson))
        lam = law.young * law.poisson / ((1 + law.poisson) * (1 - 2 * law.poisson))
        return mu * (l - 1 / l) + lam * np.log(j) / l
    volume = law.bulk * (j - 1) * j / l
    first = 2 * j ** (-2 / 3) * (l - i1 / (3 * l))
    if isinstance(law, MooneyRivlin):
        second = 2 * j ** (-4 / 3) * (l * (i1 - l**2) - 2 * i2 / (3 * l))
        return law.c10 * first + law.c01 * second + volume
    w = j ** (-2 / 3) * i1 - 3
    return (law.c1 + 2 * law.c2 * w + 3 * law.c3 * w**2) * first + volume


def evaluate(contact_pass, x, closest, history, states=None, values=None):
    """Return forces on the nodes and what is reported about the points."""
    residual = np.zeros_like(x)
    states = np.full(contact_pass.count, -1) if states is None else states
    out = contact_pass.evaluate(
        x,
        closest,
        history,
        states,
        with_friction=True,
        attraction=1.0,
        residual=residual,
        values=values,
    )
    return residual, out


def held_at(out):
    """Return the states to be held, as a solver holds them."""
    state = out[:, STATE]
    return np.where(state == STICKS, 0, np.where(state == SLIDES, 1, -1)).astype(np.int64)
