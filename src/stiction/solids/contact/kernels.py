"""Tractions, residual and tangent of one pass of contact: one body against one partner.

A pass loads its own body alone: traction T n / J - t per reference area, with t counted per
current area where the law says so. A rigid partner is one more node, its translation, which
takes the opposite force. Two deformable bodies make two passes.

The kernels are sweeps over the points of a pass, called one after another. What a point knows
lies in a row of a table with named columns, and its vectors in named rows of small arrays
beside it; so each sweep reads a few arrays, is compiled once, and calls little else.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesion_kernels import (
    DECIDE,
    INCREMENT,
    SLIP,
    STICK,
    TRACTION,
    TRIAL,
    adhesion,
    adhesion_potential,
    return_map_point,
    slide_threshold,
)
from stiction.laws.interface_kernels import (
    BLOCKS,
    BY_ORIGIN,
    BY_PARTNER,
    BY_POINT,
    BY_RATE,
    DUAL,
    INVERSE,
    NORMAL,
    REFERENCE,
    REFERENCE_TURN,
    STRETCHING,
    TANGENT,
    TURN,
    normal_derivatives,
    projected_surface,
    surface_stretch,
    tangential_derivatives,
)
from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel

__all__ = ["OUT", "PARTS", "WORK", "loads", "own_points", "scatter", "tangents", "tractions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# columns of what a pass tells about each point
(
    GAP,
    PRESSURE,
    SHEAR,
    STATE,
    EXCESS,
    THRESHOLD,
    HEAT,
    SPRING,
    POTENTIAL,
    STRETCH,
    OWN_STRETCH,
    ORIGIN,
    X,
    Y,
    FORCE_X,
    FORCE_Y,
    SLIP_X,
    SLIP_Y,
    WEIGHT,
    BY_ATTRACTION,
    NORMAL_X,
    NORMAL_Y,
) = range(22)
OUT = 22
# columns of what sweeps leave for each other: unit tangent and |dX/dxi| of the own boundary,
# the coordinate of the nearest point along the partner, d zeta / d xi there, the origin of slip
# at the last accepted step, normal traction and its slope, derivatives of the threshold, what
# shear counts per, and whether the point has a nearest one (1) or not (0)
(
    TANGENT_X,
    TANGENT_Y,
    LENGTH,
    COORDINATE,
    SPAN,
    FORMER,
    PULL,
    SLOPE,
    BY_GAP,
    BY_STRETCH,
    PER_AREA,
    MEETS,
) = range(12)
WORK = 12
# entries of the settings of a pass
PENALTY, PER_CURRENT, THINS, ATTRACTION, STICK_RATIO, DEPTH = range(6)
# rows of a point on a curve: its place, tangent, and the change of that
PLACE, ALONG, BENDS = range(3)
# rows of the functions of a boundary: value and derivative
VALUE, RATE = range(2)
# parts of the traction in blocks of derivatives, and one more derivative: by the own boundary's
# rate, where shear counts per current area; in a plane the row of a second coordinate is free
OF_NORMAL, OF_SHEAR, WHOLE = range(3)
PARTS = 3
BY_GROWTH = BY_RATE + 1
# states wanted beside those of `return_map_point`: no friction; a point that stuck lets go at a
# higher traction
FREE, STUCK = -3, -2
# states told: no friction there, sticks, slides
NONE, STICKS, SLIDES = 0.0, 1.0, 2.0


@kernel
def own_points(
    nodes: Ints, functions: Stack, x: Matrix, reference: Matrix, out: Matrix, work: Matrix
) -> None:
    """Fill in place and stretch of the own points, their unit tangents, and |dX/dxi|.

    Parameters
    ----------
    nodes : (p, n) of each point
    functions : (p, 2, n), VALUE and RATE
    x, reference : places of all nodes, (nodes, 2)
    out, work : (p, OUT) and (p, WORK)
    """
    for q in range(nodes.shape[0]):
        x0 = x1 = t0 = t1 = base0 = base1 = 0.0
        for k in range(nodes.shape[1]):
            node, value, rate = nodes[q, k], functions[q, VALUE, k], functions[q, RATE, k]
            x0 += value * x[node, 0]
            x1 += value * x[node, 1]
            t0 += rate * x[node, 0]
            t1 += rate * x[node, 1]
            base0 += rate * reference[node, 0]
            base1 += rate * reference[node, 1]
        length = math.sqrt(base0 * base0 + base1 * base1)
        size = math.sqrt(t0 * t0 + t1 * t1)
        out[q, X], out[q, Y], out[q, OWN_STRETCH] = x0, x1, size / length
        work[q, TANGENT_X], work[q, TANGENT_Y], work[q, LENGTH] = t0 / size, t1 / size, length


@kernel
def _surface_at(
    x: float, y: float, thins: bool, place: Matrix, before: Matrix, s: Matrix
) -> tuple[float, float]:
    """Fill in the partner's surface at the nearest point; return gap and stretch."""
    t0, t1 = place[ALONG, 0], place[ALONG, 1]
    area = math.sqrt(t0 * t0 + t1 * t1)
    s[NORMAL, 0], s[NORMAL, 1] = t1 / area, -t0 / area
    gap = (x - place[PLACE, 0]) * s[NORMAL, 0] + (y - place[PLACE, 1]) * s[NORMAL, 1]
    for k in range(2):
        s[TANGENT, k], s[TURN, k] = place[ALONG, k], place[BENDS, k]
    s[STRETCHING, 0], stretch = 0.0, 1.0
    if thins:
        for k in range(2):
            s[REFERENCE, k], s[REFERENCE_TURN, k] = before[ALONG, k], before[BENDS, k]
        stretch = surface_stretch(1, s)
    projected_surface(gap, 1, s)
    return gap, stretch


@kernel
def _rub(
    wanted: int, threshold: float, settings: Vector, place: Matrix, root: Matrix, slide: Matrix
) -> int:
    """Fill in the tangential traction of a point with a history; return stick or slip.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32).
    """
    penalty = settings[PENALTY]
    t0 = penalty * (place[PLACE, 0] - root[PLACE, 0])
    t1 = penalty * (place[PLACE, 1] - root[PLACE, 1])
    slide[TRIAL, 0], slide[TRIAL, 1] = t0, t1
    if wanted == STUCK:
        most = settings[STICK_RATIO] * threshold
        wanted = STICK if t0 * t0 + t1 * t1 < most * most else DECIDE
    state = return_map_point(slide, 2, threshold, penalty, wanted)
    if threshold <= 0.0 and state == SLIP:
        slide[TRACTION, 0] = slide[TRACTION, 1] = 0.0
    return state


@kernel
def _tell_friction(
    state: int, penalty: float, place: Matrix, slide: Matrix, out: Vector, work: Vector
) -> None:
    """Fill in what friction did at a point."""
    t0, t1 = slide[TRACTION, 0], slide[TRACTION, 1]
    slip0, slip1 = slide[INCREMENT, 0], slide[INCREMENT, 1]
    a0, a1 = place[ALONG, 0], place[ALONG, 1]
    w, j = out[WEIGHT], work[PER_AREA]
    out[STATE] = STICKS if state == STICK else SLIDES
    moved = (slip0 * a0 + slip1 * a1) / (a0 * a0 + a1 * a1) * work[SPAN]
    out[ORIGIN] = work[FORMER] + moved
    out[HEAT] = w * j * (t0 * slip0 + t1 * slip1)
    out[SPRING] = w * j * (t0 * t0 + t1 * t1) / (2.0 * penalty)
    out[SLIP_X], out[SLIP_Y] = slip0, slip1


@kernel
def _tell(
    gap: float, pulls: bool, settings: Vector, c_n: Vector, slide: Matrix, row: Vector, work: Vector
) -> None:
    """Fill in tractions, potential and force of a point."""
    t0, t1 = slide[TRACTION, 0], slide[TRACTION, 1]
    trial0, trial1 = slide[TRIAL, 0], slide[TRIAL, 1]
    w, j = row[WEIGHT], work[PER_AREA]
    pressure = work[PULL] / row[STRETCH]
    row[GAP], row[PRESSURE], row[ORIGIN] = gap, pressure, work[COORDINATE]
    row[SHEAR] = -j * (t0 * work[TANGENT_X] + t1 * work[TANGENT_Y])
    row[EXCESS] = math.sqrt(trial0 * trial0 + trial1 * trial1) - row[THRESHOLD]
    # the well of the potential scales with the attraction, the wall does not
    psi = adhesion_potential(gap, c_n)
    well = psi if pulls else -settings[DEPTH]
    row[POTENTIAL] = w * (psi + (settings[ATTRACTION] - 1.0) * well)
    row[BY_ATTRACTION] = w * well
    row[FORCE_X] = w * (pressure * row[NORMAL_X] - j * t0)
    row[FORCE_Y] = w * (pressure * row[NORMAL_Y] - j * t1)


@kernel
def tractions(
    out: Matrix,
    work: Matrix,
    wanted: Ints,
    place: Stack,
    before: Stack,
    root: Stack,
    settings: Vector,
    c_n: Vector,
    c_t: Vector,
    surfaces: Stack,
    slides: Stack,
) -> int:
    """Fill in gap, tractions and forces of each point; return how many were left out.

    Those are near enough to their partner's end or centre of curvature: beyond the centre of
    curvature of a hollow partner the point found is the farthest, not the nearest.

    Parameters
    ----------
    out, work : (p, OUT) and (p, WORK), filled in; see the names above
    wanted : (p,) states of the return map, FREE, or STUCK
    place, before, root : (p, 3, 2) the nearest point now, on the reference boundary, and where
        the origin of slip is now, with tangents
    settings, c_n, c_t : of the pass, and tables of adhesion and friction
    surfaces, slides : (p, SURFACE, 3) and (p, SLIDE, 3), filled in for `tangents`

    Source: Mergel, Scheibert, Sauer 2021, eqs (33)-(35), (38), (39).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    left = 0
    for q in range(out.shape[0]):
        row, mine, there, s, slide = out[q], work[q], place[q], surfaces[q], slides[q]
        if mine[MEETS] == 0.0:
            left += 1
            continue
        thins = settings[THINS] > 0.0
        gap, stretch = _surface_at(row[X], row[Y], thins, there, before[q], s)
        if not s[INVERSE, 0] > 0.0:
            mine[MEETS] = 0.0
            left += 1
            continue
        traction, slope = adhesion(gap, c_n)
        threshold, by_gap, by_stretch = slide_threshold(gap, traction, slope, stretch, c_t)
        pulls = traction < 0.0
        if pulls:
            traction, slope = settings[ATTRACTION] * traction, settings[ATTRACTION] * slope
        mine[PULL], mine[SLOPE], mine[BY_GAP], mine[BY_STRETCH] = (
            traction,
            slope,
            by_gap,
            by_stretch,
        )
        mine[PER_AREA] = row[OWN_STRETCH] if settings[PER_CURRENT] > 0.0 else 1.0
        row[STRETCH], row[THRESHOLD] = stretch, threshold
        row[NORMAL_X], row[NORMAL_Y] = s[NORMAL, 0], s[NORMAL, 1]
        state = SLIP
        if wanted[q] == FREE:
            for k in range(2):
                slide[TRIAL, k] = slide[TRACTION, k] = slide[INCREMENT, k] = 0.0
        else:
            state = _rub(wanted[q], threshold, settings, there, root[q], slide)
        _tell(gap, pulls, settings, c_n, slide, row, mine)
        if wanted[q] != FREE and (threshold > 0.0 or state == STICK):
            _tell_friction(state, settings[PENALTY], there, slide, row, mine)
    return left


@kernel
def loads(
    nodes: Ints, functions: Stack, out: Matrix, work: Matrix, rigid: int, residual: Matrix
) -> None:
    """Subtract forces on the own body from its residual; a rigid partner takes the opposite.

    Parameters
    ----------
    rigid : node of the rigid partner, -1 where there is none
    """
    for q in range(out.shape[0]):
        if work[q, MEETS] == 0.0:
            continue
        f0, f1 = out[q, FORCE_X], out[q, FORCE_Y]
        for k in range(nodes.shape[1]):
            residual[nodes[q, k], 0] -= functions[q, VALUE, k] * f0
            residual[nodes[q, k], 1] -= functions[q, VALUE, k] * f1
        if rigid >= 0:
            residual[rigid, 0] += f0
            residual[rigid, 1] += f1


@kernel
def _derivatives(
    rubs: bool, thins: bool, row: Vector, work: Vector, s: Matrix, slide: Matrix, blocks: Floats
) -> None:
    """Fill in the derivatives of both tractions at one point, (PARTS, BLOCKS, 3, 3)."""
    gap, stretch = row[GAP], row[STRETCH]
    normal, shear = blocks[OF_NORMAL], blocks[OF_SHEAR]
    normal_derivatives(gap, work[PULL], work[SLOPE], stretch, 1, s, normal)
    by_stretch = work[BY_STRETCH]
    if not thins:
        # no stretch of the partner, and none of its derivatives
        by_stretch = 0.0
        for k in range(2):
            for p in range(2):
                normal[BY_RATE, k, p] += work[PULL] / stretch * s[NORMAL, k] * s[DUAL, p]
    if rubs:
        tangential_derivatives(gap, work[BY_GAP], by_stretch, stretch, 1, s, slide, shear)
    else:
        for b in range(BLOCKS):
            for k in range(2):
                for p in range(2):
                    shear[b, k, p] = 0.0


@kernel
def _join(rigid: bool, j: float, tangent: Vector, slide: Matrix, blocks: Floats) -> None:
    """Fill in the derivatives of the whole traction from those of its two parts.

    Parameters
    ----------
    rigid : whether nearest point and origin of slip move with one node
    j : what shear counts per
    tangent : TANGENT_X and TANGENT_Y of the own boundary, in a row of `work`
    """
    normal, shear, whole = blocks[OF_NORMAL], blocks[OF_SHEAR], blocks[WHOLE]
    for k in range(2):
        for p in range(2):
            n = normal[BY_POINT, k, p]
            whole[BY_POINT, k, p] = n - j * shear[BY_POINT, k, p]
            moves = shear[BY_PARTNER, k, p]
            if rigid:
                moves += shear[BY_ORIGIN, k, p]
            whole[BY_PARTNER, k, p] = -n - j * moves
            whole[BY_ORIGIN, k, p] = -j * shear[BY_ORIGIN, k, p]
            whole[BY_RATE, k, p] = normal[BY_RATE, k, p] - j * shear[BY_RATE, k, p]
            whole[BY_GROWTH, k, p] = -slide[TRACTION, k] * tangent[TANGENT_X + p]


@kernel
def tangents(
    rigid: bool,
    wanted: Ints,
    functions: Stack,
    near: Stack,
    far: Stack,
    settings: Vector,
    out: Matrix,
    work: Matrix,
    surfaces: Stack,
    slides: Stack,
    blocks: Floats,
    values: Stack,
) -> None:
    """Fill in the tangent blocks of each point, (p, rows 2, columns 2).

    Rows are own nodes, then a rigid partner's; columns the same, or own nodes, partner's nodes
    at the nearest point and at the origin of slip.

    Parameters
    ----------
    rigid : whether the partner is
    wanted : (p,) as in `tractions`
    functions : (p, 2, n) of the own boundary
    near, far : (p, 3, m) functions of the partner at the nearest point and the origin of slip
    settings, out, work, surfaces, slides : as `tractions` left them
    blocks : (PARTS, BLOCKS, 3, 3), used for each point in turn
    values : zero where no force acts; filled in

    Source: Mergel, Scheibert, Sauer 2021, eqs (40)-(62).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    n, m, thins = functions.shape[2], near.shape[2], settings[THINS] > 0.0
    whole = blocks[WHOLE]
    for q in range(out.shape[0]):
        if work[q, MEETS] == 0.0:
            continue
        _derivatives(wanted[q] != FREE, thins, out[q], work[q], surfaces[q], slides[q], blocks)
        w, j = out[q, WEIGHT], work[q, PER_AREA]
        _join(rigid, j, work[q], slides[q], blocks)
        # the current area grows with the boundary
        grows = 1.0 / work[q, LENGTH] if settings[PER_CURRENT] > 0.0 else 0.0
        for col in range(n + 1 if rigid else n + 2 * m):
            # a column moves the traction by its value and by its rate
            first, second, value, rate, scale = BY_ORIGIN, BY_RATE, 1.0, 0.0, 1.0
            if col < n:
                first, second, scale = BY_POINT, BY_GROWTH, grows
                value, rate = functions[q, VALUE, col], functions[q, RATE, col]
            elif rigid:
                first = BY_PARTNER
            elif col < n + m:
                first = BY_PARTNER
                value, rate = near[q, VALUE, col - n], near[q, RATE, col - n]
            else:
                value = far[q, VALUE, col - n - m]
            for k in range(2):
                for p in range(2):
                    block = whole[first, k, p] * value + whole[second, k, p] * rate * scale
                    for r in range(n):
                        values[q, 2 * r + k, 2 * col + p] = -w * functions[q, VALUE, r] * block
                    if rigid:
                        values[q, 2 * n + k, 2 * col + p] = w * block


@kernel
def scatter(values: Stack, places: Places, rows: Ints, row: Places, data: Vector) -> None:
    """Add blocks to a matrix: values (p, R 2, C 2), places (p, R, C), rows (p, R) nodes."""
    for q in range(places.shape[0]):
        for r in range(places.shape[1]):
            down = row[rows[q, r]]
            for c in range(places.shape[2]):
                at = places[q, r, c]
                data[at] += values[q, 2 * r, 2 * c]
                data[at + 1] += values[q, 2 * r, 2 * c + 1]
                data[at + down] += values[q, 2 * r + 1, 2 * c]
                data[at + down + 1] += values[q, 2 * r + 1, 2 * c + 1]
