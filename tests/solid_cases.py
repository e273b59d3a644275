"""Small solids for tests: distorted meshes, dense tangents, differences."""

import numpy as np

from stiction.solids.assembly import Bulk, Pattern
from stiction.solids.elements import Q1, Q1H, Q1N2, Q2, Q2N2
from stiction.solids.materials import (
    LinearElastic,
    MooneyRivlin,
    NearlyIncompressible,
    NeoHookean,
    Yeoh,
)
from stiction.solids.mesh import Mesh, rectangle

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
    """Return a rectangle whose inner nodes are moved at random, middles included."""
    plain = rectangle(width, height, cells, origin)
    x = plain.points - np.asarray(origin)
    inner = (x[:, 0] > 1e-9) & (x[:, 0] < width - 1e-9)
    inner &= (x[:, 1] > 1e-9) & (x[:, 1] < height - 1e-9)
    random = np.random.default_rng(seed)
    step = amount * min(width / cells[0], height / cells[1])
    points = plain.points.copy()
    points[inner] += step * random.uniform(-1.0, 1.0, (int(inner.sum()), 2))
    return Mesh(points, plain.cells, plain.boundaries)


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
