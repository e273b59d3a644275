"""Impulses of one impact, by the block Gauss-Seidel sweeps of `touch_kernels`.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    BLOW,
    LOST,
    MODE,
    RESTITUTION,
    ROLL,
    TANGENTIAL,
    N,
    P,
    U,
    push,
    response,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.touch_kernels import SWEEPS, local_impulse

Ints = npt.NDArray[np.int64]


@kernel(borrows=True)
def strike(
    q: Matrix,
    index: Ints,
    geom: Matrix,
    law: Matrix,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    kick: Matrix,
    striking: int,
    plastic: bool,
) -> float:
    """Solve the impact of contact `striking` with all closed ones; return the energy lost [J]."""
    for c in range(index.shape[0]):
        kick[c, P], kick[c, P + 1], kick[c, P + 2] = 0.0, 0.0, 0.0
        if index[c, MODE] >= ROLL or c == striking:
            response(q, c, index, geom, mobility)
            kick[c, U], kick[c, U + 1], kick[c, U + 2] = slip_velocity(q, c, index, geom, v, p)
    for sweep in range(SWEEPS):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL and c != striking:
                continue
            g, k = geom[c], kick[c]
            en, et = 0.0, 0.0
            if c == striking and not plastic:
                en, et = law[c, RESTITUTION], law[c, TANGENTIAL]
            bx, by, bz = k[U], k[U + 1], k[U + 2]
            bn = bx * g[N] + by * g[N + 1] + bz * g[N + 2]
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            ux += et * bx + (en - et) * bn * g[N]
            uy += et * by + (en - et) * bn * g[N + 1]
            uz += et * bz + (en - et) * bn * g[N + 2]
            ox, oy, oz = slip_per(g, k[P], k[P + 1], k[P + 2])
            ux, uy, uz = ux - ox, uy - oy, uz - oz
            lx, ly, lz, _ = local_impulse(g, c, index, law, ux, uy, uz)
            dx, dy, dz = lx - k[P], ly - k[P + 1], lz - k[P + 2]
            push(q, c, index, geom, dx, dy, dz, mobility, v, p)
            k[P], k[P + 1], k[P + 2] = lx, ly, lz
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        if sweep > 0 and change <= 1e-14 * size:
            break
    lost = 0.0
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL or c == striking:
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            k = kick[c]
            done = k[P] * (ux + k[U]) + k[P + 1] * (uy + k[U + 1]) + k[P + 2] * (uz + k[U + 2])
            lost -= 0.5 * done
            k[LOST] -= 0.5 * done
            for a in range(3):
                k[BLOW + a] += k[P + a]
    return lost
