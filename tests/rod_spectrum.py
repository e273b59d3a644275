"""The spectrum of the discrete equations of straight rods along x, by differences of the forces."""

import numpy as np

from stiction.rods.assembly import assemble
from stiction.rods.rod_kernels import elastic


def spectrum(system):
    """Return the angular frequencies of small motions, by differences of the forces."""
    flat = assemble(system)
    size = flat.r.shape[1]
    spare = [np.zeros((3, size)) for _ in range(4)]
    mass, turn = flat.material.mass, flat.material.inertia
    inertia = np.concatenate([np.tile(mass, 3), turn, turn, 2.0 * turn])

    def force(x):
        shift, turned = x[: 3 * size].reshape(3, size), x[3 * size :].reshape(3, size)
        # the third director is along x, so that turns are about x, y, z in the order 2, 0, 1
        half = 0.5 * turned[[2, 0, 1]]
        w = np.sqrt(1.0 - (half**2).sum(axis=0))
        q0, u = flat.q, half
        q = np.empty_like(q0)
        q[0] = w * q0[0] - (u * q0[1:]).sum(axis=0)
        q[1:] = w * q0[1:] + q0[0] * u + np.cross(u, q0[1:], axis=0)
        elastic(flat.r + shift, q, flat.mat, *spare)
        return np.concatenate([spare[2].ravel(), spare[3][[1, 2, 0]].ravel()])

    eps, n = 1e-6, 6 * size
    matrix = np.zeros((n, n))
    for j in range(n):
        x = np.zeros(n)
        x[j] = eps * 1e-2
        matrix[:, j] = (force(x) - force(-x)) / (2.0 * eps * 1e-2)
    moves = np.repeat(np.array([flat.material.free, flat.material.turns]) > 0.0, 3, axis=0)
    for row in flat.driven[flat.driven["slides"] == 1]:
        # along x alone
        moves[1:3, row.slot] = False
    keep = moves.ravel()
    root = np.sqrt(inertia[keep])
    matrix = -matrix[np.ix_(keep, keep)] / np.outer(root, root)
    squares = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    return np.sqrt(np.maximum(squares, 0.0))
