"""Gap and slip at the closest points of a partner, with their first and second variations.

With the own point x, the closest point c(xi), r = x - c and the tangents a_a = c_,a, the
coordinates of the closest point follow from F_a = r . a_a = 0. Variations by the positions of the
nodes of both sides are

    dg = n . dr,    H_ab dxi_b = a_a . dr + r . da_a,    H_ab = a_a . a_b - r . c_,ab,

where dr and da are taken at fixed xi. Second variations are the variations of these equations.
Third derivatives of the partner are omitted: their factor is the gap, which is zero in hard contact
up to the discretisation error. The curvature of the coordinates of a rigid sphere is omitted in the
second variation of slip. Both omissions affect the convergence of Newton's method, not the forces.

Points come first in every array: p points, J nodes (the n own ones, then the k of the partner), d
components, m = d - 1 coordinates; an axis J d runs over the components of all nodes. `multipliers`
calls these functions for forces and tangents of hard contact.
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
    """Positions and tangents of both sides at every point.

    Parameters
    ----------
    r, a, bent : (p, d) r = x - c, (p, m, d) tangents a_a, (p, m, m, d) second derivatives c_,ab
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
    single : (p,) whether H is positive definite: the point lies before the partner's centre of
        curvature
    gap, normal : (p,) g [m], (p, d) n
    metric : (p, m, m) a_a . a_b
    inverse : (p, m, m) of H
    by_gap, gap_twice : (p, J d), (p, J d, J d) first and second variations of g
    by_xi : (p, m, J d) variations of the coordinates xi of the closest point
    by_metric : (p, m, m, J d) variations of the metric
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
    """Return r, tangents and second derivatives with their variations.

    Parameters
    ----------
    points : (p, d) own positions [m]
    place : (p, rows, d) closest point, tangents and second derivatives, ordered as in
        `derivative_layout`
    own : (p, n) shape functions of the own nodes
    near : (p, rows, k) shape functions of the partner's nodes and their derivatives
    """
    p, d = points.shape
    m, n = d - 1, own.shape[1]
    shapes = np.concatenate([np.zeros((p, near.shape[1], n)), near], axis=2)
    # the first row is r: the own point minus the partner's
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
    # variation of F_a at fixed xi, and of the coordinates: H dxi = dF
    by_f = np.einsum("pai,pij->paj", a, dr) + np.einsum("pi,paij->paj", r, da)
    moves = np.einsum("pab,pbj->paj", inverse, by_f)
    # -dn . a_a: at fixed xi (leans), and with the motion of the closest point (turns)
    leans = np.einsum("pi,paij->paj", normal, da)
    curved = np.einsum("pi,pabi->pab", normal, bent)
    turns = leans + np.einsum("pab,pbj->paj", curved, moves)
    # ddg = dn . dr + n . ddr, with dr in tangential components and ddr = -da dxi
    along = np.einsum("pab,pbi,pij->paj", np.linalg.inv(metric), a, dr)
    twice = -np.einsum("paj,pak->pjk", along, turns) - np.einsum("paj,pak->pjk", leans, moves)
    # variation of the metric a_a . a_b, with the motion of the closest point
    whole = da + np.einsum("pabi,pbj->paij", bent, moves)
    grows = np.einsum("pai,pbij->pabj", a, whole)
    gap, by_gap = np.einsum("pi,pi->p", r, normal), np.einsum("pi,pij->pj", normal, dr)
    by_metric = grows + grows.transpose(0, 2, 1, 3)
    return Variations(single, gap, normal, metric, inverse, by_gap, twice, moves, by_metric)


def coordinates_twice(at: Sides, moves: Floats, inverse: Floats) -> Floats:
    """Return second variations of the coordinates of closest points, (p, m, J d, J d).

    Parameters
    ----------
    at : positions and tangents of both sides
    moves, inverse : first variations of the coordinates (p, m, J d), and the inverse of H

    Verified by: tests/unit/solids/contact/test_multipliers.py::test_tangents_against_differences
    """
    r, a, bent, dr, da, dbent = at
    # variations of F_a,b by positions (mixed), and F_a,bc (third)
    mixed = -np.einsum("pbij,pai->pabj", da, a) - np.einsum("pbi,paij->pabj", a, da)
    mixed += np.einsum("pabi,pij->pabj", bent, dr) + np.einsum("pi,pabij->pabj", r, dbent)
    third = -np.einsum("pbci,pai->pabc", bent, a) - np.einsum("pbi,paci->pabc", a, bent)
    third -= np.einsum("pci,pabi->pabc", a, bent)
    # ddF_a = 0: H_ab ddxi_b = dF_a,b dxi_b + dr . da_a, symmetrised, + F_a,bc dxi_b dxi_c
    cross = np.einsum("pabj,pbk->pajk", mixed, moves) + np.einsum("pij,paik->pajk", dr, da)
    total = cross + cross.transpose(0, 1, 3, 2)
    total += np.einsum("pabc,pbj,pck->pajk", third, moves, moves)
    return np.asarray(np.einsum("pab,pbjk->pajk", inverse, total))
