"""Gap and slip at the closest points of a partner, with their first and second variations.

With the own point x, the closest point c(xi) and r = x - c, the coordinates of the closest point
follow from F_a = r . c_,a = 0. Variations by the places of the nodes of both sides are

    dg = n . dr,    H_ab dxi_b = a_a . dr + r . da_a,    H_ab = a_a . a_b - r . c_,ab,

where dr and da are those at fixed xi. Second variations come from the same equations once more.
Third derivatives of the partner are left out: they are multiplied by the gap, which hard contact
makes zero up to the error of the mesh. On a rigid sphere the coordinates bend too, which is left
out of the second variation of slip; forces do not feel it, and Newton's method hardly does.

Points come first in every array: p points, J nodes, d components, m = d - 1 coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.curves import derivative_layout
from stiction.solids.dimensions import crossed, positive_definite

__all__ = ["Sides", "Variations", "coordinates_twice", "sides_of", "variations"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Sides(NamedTuple):
    """Both sides at every point.

    Parameters
    ----------
    r, a, bent : (p, d) from the closest point to the own one, (p, m, d) tangents of the partner,
        (p, m, m, d) their changes along the coordinates
    dr, da, dbent : (p, ..., J d) variations of the three by the positions of nodes, at fixed xi
    """

    r: Floats
    a: Floats
    bent: Floats
    dr: Floats
    da: Floats
    dbent: Floats


class Variations(NamedTuple):
    """Gap and closest point with their variations.

    Parameters
    ----------
    single : (p,) whether the closest point lies before the partner's centre of curvature
    gap, normal : (p,), (p, d)
    metric : (p, m, m) a_a . a_b
    inverse : (p, m, m) of H
    by_gap, gap_twice : (p, J d), (p, J d, J d)
    by_xi : (p, m, J d) of the coordinates of the closest point
    by_metric : (p, m, m, J d)
    """

    single: Bools
    gap: Floats
    normal: Floats
    metric: Floats
    inverse: Floats
    by_gap: Floats
    gap_twice: Floats
    by_xi: Floats
    by_metric: Floats


def sides_of(points: Floats, place: Floats, own: Floats, near: Floats) -> Sides:
    """Return both sides with their variations.

    Parameters
    ----------
    points : (p, d) own positions [m]
    place : (p, rows, d) closest point, tangents and their changes, as `derivative_layout` has them
    own : (p, n) functions of the own nodes
    near : (p, rows, k) functions of the partner's nodes
    """
    p, d = points.shape
    m, n = d - 1, own.shape[1]
    shapes = np.concatenate([np.zeros((p, near.shape[1], n)), near], axis=2)
    # the first row is the own point less the partner's
    shapes[:, 0, :n], shapes[:, 0, n:] = own, -near[:, 0]
    unit = np.eye(d)

    def varied(row: int) -> Floats:
        return np.asarray(np.einsum("pj,ik->pijk", shapes[:, row], unit).reshape(p, d, -1))

    bent, dbent = np.zeros((p, m, m, d)), np.zeros((p, m, m, d, shapes.shape[2] * d))
    for row, i, j in derivative_layout(m).pairs:
        bent[:, i, j] = bent[:, j, i] = place[:, row]
        dbent[:, i, j] = dbent[:, j, i] = varied(row)
    da = np.stack([varied(1 + i) for i in range(m)], axis=1)
    return Sides(points - place[:, 0], place[:, 1:d], bent, varied(0), da, dbent)


def variations(at: Sides) -> Variations:
    """Return gaps and closest points with their variations.

    Source: Wriggers 2006, section 4.1 and 4.2.
    Verified by: tests/unit/solids/contact/test_multipliers.py::test_tangents_against_differences
    """
    r, a, bent, dr, da, _ = at
    outward = crossed(a.transpose(1, 2, 0)).T
    normal = outward / np.linalg.norm(outward, axis=1)[:, None]
    metric = np.einsum("pai,pbi->pab", a, a)
    matrix = metric - np.einsum("pi,pabi->pab", r, bent)
    single = positive_definite(matrix.transpose(1, 2, 0))
    inverse = np.linalg.inv(np.where(single[:, None, None], matrix, np.eye(a.shape[1])))
    by_f = np.einsum("pai,pij->paj", a, dr) + np.einsum("pi,paij->paj", r, da)
    moves = np.einsum("pab,pbj->paj", inverse, by_f)
    # the normal turns, and the closest point moves on
    leans = np.einsum("pi,paij->paj", normal, da)
    curved = np.einsum("pi,pabi->pab", normal, bent)
    turns = leans + np.einsum("pab,pbj->paj", curved, moves)
    along = np.einsum("pab,pbi,pij->paj", np.linalg.inv(metric), a, dr)
    twice = -np.einsum("paj,pak->pjk", along, turns) - np.einsum("paj,pak->pjk", leans, moves)
    whole = da + np.einsum("pabi,pbj->paij", bent, moves)
    grows = np.einsum("pai,pbij->pabj", a, whole)
    gap, by_gap = np.einsum("pi,pi->p", r, normal), np.einsum("pi,pij->pj", normal, dr)
    by_metric = grows + grows.transpose(0, 2, 1, 3)
    return Variations(single, gap, normal, metric, inverse, by_gap, twice, moves, by_metric)


def coordinates_twice(at: Sides, moves: Floats, inverse: Floats) -> Floats:
    """Return second variations of the coordinates of closest points, (p, m, J d, J d).

    Parameters
    ----------
    moves, inverse : their first variations, and the inverse of H

    Verified by: tests/unit/solids/contact/test_multipliers.py::test_tangents_against_differences
    """
    r, a, bent, dr, da, dbent = at
    # F_a,b by places, and F_a,bc
    mixed = -np.einsum("pbij,pai->pabj", da, a) - np.einsum("pbi,paij->pabj", a, da)
    mixed += np.einsum("pabi,pij->pabj", bent, dr) + np.einsum("pi,pabij->pabj", r, dbent)
    third = -np.einsum("pbci,pai->pabc", bent, a) - np.einsum("pbi,paci->pabc", a, bent)
    third -= np.einsum("pci,pabi->pabc", a, bent)
    cross = np.einsum("pabj,pbk->pajk", mixed, moves) + np.einsum("pij,paik->pajk", dr, da)
    total = cross + cross.transpose(0, 1, 3, 2)
    total += np.einsum("pabc,pbj,pck->pajk", third, moves, moves)
    return np.asarray(np.einsum("pab,pbjk->pajk", inverse, total))
