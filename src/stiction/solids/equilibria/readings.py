"""Reported quantities of a state: contact forces, lengths and areas of contact and of stick.

A point is in contact where its gap is below the range g_max of adhesion (in hard contact, where
its node carries pressure). The edges of contact are the points with the gap g_max; between
integration points they are located as roots of the gap. The recorder (`history`) stores these
values at every accepted step. `values` and `trial.point_values[i]` are the records (p, OUT) of the
points of a pass, with the columns of `contact.sweeps`. The reference coordinate zeta [m] is the
length along the undeformed boundary, from 0 at its first node.

A pass is the integration of one contact pair over one of its boundaries, with p points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.run import Quantity
from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import knots_of
from stiction.solids.contact.edges import areas, crossings, gaps_at
from stiction.solids.contact.model import ClosestPoints, ContactPass
from stiction.solids.contact.multipliers import MultiplierPass
from stiction.solids.contact.partners import Boundary
from stiction.solids.contact.segmentation import Segmentation
from stiction.solids.equilibria.problem import Problem, Trial

__all__ = ["Lengths", "lengths", "shrinkage"]

Floats = npt.NDArray[np.float64]

# forces at which the loss of contact is sampled for a fit, and the fewest samples of a fit
_SAMPLES, _FEWEST = 200, 4


class Lengths(NamedTuple):
    """Lengths of contact of one pass [m].

    Parameters
    ----------
    nominal, current : length of contact on the reference and on the deformed boundary
    sticking : length of stick on the reference boundary
    left, right : first and last edge of contact along the reference boundary, NaN without contact
    """

    nominal: float
    current: float
    sticking: float
    left: float
    right: float


def _intervals_inside(edges: Floats, starts_inside: bool, end: float) -> Floats:
    """Return the intervals (k, 2) in contact, between edges at which contact starts and ends."""
    ends = np.concatenate([[0.0] if starts_inside else [], edges])
    if ends.size % 2:
        ends = np.concatenate([ends, [end]])
    return ends.reshape(-1, 2)


def lengths(p: ContactPass, values: Floats, found: ClosestPoints, x: Floats) -> Lengths:
    """Return the lengths of contact of one pass; its edges are located on the gap itself.

    Parameters
    ----------
    p, values, found : the pass, its point values, and its closest points
    x : (nodes, 2) positions

    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    (knots,) = knots_of(p.own)
    if isinstance(p, MultiplierPass):
        return _pressed_length(p, values, x, knots[-1])
    limit = float(p.contact.adhesion.gap_max)
    # samples of the gap: integration points, and both ends of the boundary
    ends = np.array([0.0, knots[-1]])
    last = p.count - 1
    gaps, end_positions = gaps_at(p, ends[None], found.at(np.array([0, last])), x)
    zeta = np.concatenate([ends[:1], p.coordinate[0], ends[1:]])
    gap = np.concatenate([gaps[:1], values[:, k.GAP], gaps[1:]])
    sampled = found.at(np.concatenate([[0], np.arange(p.count), [last]]))
    samples = np.concatenate([end_positions[:1], values[:, [k.X, k.Y]], end_positions[1:]])
    if isinstance(found, Segmentation):
        zeta, gap, sampled, samples = _add_isolated(p, found, x, (zeta, gap, sampled, samples))
    # edges of contact between samples, and the intervals of zeta between them
    edges, edge_positions = crossings(p, limit, zeta, gap, sampled, x)
    inside = _intervals_inside(edges, bool(gap[0] < limit), float(knots[-1]))
    nominal = float(np.diff(inside, axis=1).sum())
    # current length: chords between samples and edges that lie in contact
    order = np.argsort(np.concatenate([zeta, edges]), kind="stable")
    coordinate = np.concatenate([zeta, edges])[order]
    positions = np.concatenate([samples, edge_positions])[order]
    middle = 0.5 * (coordinate[1:] + coordinate[:-1])
    inside_contact = np.zeros(middle.size, dtype=bool)
    for low, high in inside:
        inside_contact |= (middle > low) & (middle < high)
    current = float(np.linalg.norm(np.diff(positions, axis=0), axis=1)[inside_contact].sum())
    left = float(inside[0, 0]) if inside.size else np.nan
    right = float(inside[-1, 1]) if inside.size else np.nan
    return Lengths(nominal, current, _sticking_length(p, values, knots[-1]), left, right)


def _pressed_length(p: MultiplierPass, values: Floats, x: Floats, end: float) -> Lengths:
    """Return the lengths of hard contact: the tributary lengths of nodes under pressure.

    Edges lie half way between the last node in contact and the next, within half an element. `end`
    is the reference length of the boundary [m].
    """
    fraction, weight, zeta = p.closed(x), values[:, k.WEIGHT], p.coordinate[0]
    inside = np.flatnonzero(fraction >= 0.5)
    nominal, current = fraction @ weight, fraction @ (weight * values[:, k.OWN_STRETCH])
    left, right = (zeta[inside[0]], zeta[inside[-1]]) if inside.size else (np.nan, np.nan)
    sticking = _sticking_length(p, values, end)
    return Lengths(float(nominal), float(current), sticking, float(left), float(right))


def _add_isolated(
    p: ContactPass,
    found: Segmentation,
    x: Floats,
    known: tuple[Floats, Floats, ClosestPoints, Floats],
) -> tuple[Floats, Floats, ClosestPoints, Floats]:
    """Return samples with points of mortar segments in contact between two that are not.

    Parameters
    ----------
    known : coordinates, gaps, closest points and positions of the samples, in order
    """
    (knots,), segments = knots_of(p.own), found.pairs
    limit, (zeta, gap, sampled, samples) = float(p.contact.adhesion.gap_max), known
    xi = 0.5 * (1.0 + segments.s)
    coordinate = (1.0 - xi) * knots[segments.own_element] + xi * knots[segments.own_element + 1]
    guess = ClosestPoints(segments.element, segments.xi[:, None], segments.has_closest)
    gaps, positions = gaps_at(p, coordinate[None], guess, x)
    after = np.clip(np.searchsorted(zeta, coordinate), 1, zeta.size - 1)
    isolated = (gaps < limit) & (gap[after - 1] >= limit) & (gap[after] >= limit)
    # the smallest gap of each isolated contact
    deepest = np.flatnonzero(isolated)[np.argsort(gaps[isolated], kind="stable")]
    deepest = deepest[np.unique(after[deepest], return_index=True)[1]]
    if not deepest.size:
        return known
    order = np.argsort(np.concatenate([zeta, coordinate[deepest]]), kind="stable")
    added = guess.at(deepest)
    all_points = ClosestPoints(*(np.concatenate(rows) for rows in zip(sampled, added, strict=True)))
    return (
        np.concatenate([zeta, coordinate[deepest]])[order],
        np.concatenate([gap, gaps[deepest]])[order],
        all_points.at(order),
        np.concatenate([samples, positions[deepest]])[order],
    )


def _sticking_length(p: ContactPass, values: Floats, end: float) -> float:
    """Return the reference length in stick, where the trial traction is below the threshold."""
    zeta, excess = p.coordinate[0], values[:, k.EXCESS].copy()
    excess[values[:, k.STATE] == k.NONE] = np.abs(excess[values[:, k.STATE] == k.NONE]) + 1e-300
    sticks = excess < 0.0
    if not sticks.any():
        return 0.0
    total = 0.0
    if sticks[0]:
        total += float(zeta[0])
    if sticks[-1]:
        total += float(end - zeta[-1])
    spacing = np.diff(zeta)
    both_stick = sticks[1:] & sticks[:-1]
    total += float(spacing[both_stick].sum())
    changes = sticks[1:] != sticks[:-1]
    a, b = np.abs(excess[:-1][changes]), np.abs(excess[1:][changes])
    fraction = np.where(sticks[:-1][changes], a, b) / (a + b)
    return total + float((spacing[changes] * fraction).sum())


def columns(first: int, dim: int) -> list[int]:
    """Return the `dim` columns of a vector in a record of points, the first one being `first`.

    As a list, not a slice, they give sums the same order in the plane and in space.
    """
    return list(range(first, first + dim))


def contact_areas(problem: Problem, number: int, trial: Trial, t: float) -> dict[str, float]:
    """Return the areas of contact and of stick of one pass in space, by their names [m^2].

    Parameters
    ----------
    problem, number, trial : the equations, number of the pass, and evaluation of the state
    t : program time

    Verified by: tests/unit/solids/membranes/test_tape.py::test_areas_of_a_flat_tape
    """
    p, values = problem.passes[number], trial.point_values[number]
    x = problem.positions(trial.u)
    if isinstance(p, MultiplierPass):
        weight = p.closed(x) * values[:, k.WEIGHT]
        contact = float(weight.sum()), float(weight @ values[:, k.OWN_STRETCH])
    else:
        reference, deformed = areas(p, float(p.contact.adhesion.gap_max), x)
        contact = float(reference), float(deformed)
    nominal, current = contact
    has_friction = not isinstance(p.contact.friction, Frictionless)
    sticking = float(values[values[:, k.STATE] == k.STICKS, k.WEIGHT].sum())
    if has_friction and t <= problem.friction_from(p.contact):
        sticking = nominal
    areas_by_name = {"contact_area": current, "nominal_area": nominal, "sticking_area": sticking}
    if p.partner.rigid:
        displacements = problem.unknowns.displacements(trial.u)
        areas_by_name["normal_displacement"] = float(displacements[p.partner.node, 1])
    return areas_by_name


def forces_between(problem: Problem, trial: Trial, contact: int) -> tuple[Floats, Floats]:
    """Return the forces (d,) of a contact on its boundary and on its partner [N/m].

    Parameters
    ----------
    problem, trial : the equations, and their evaluation at a state
    contact : number of the contact

    Verified by: tests/unit/solids/equilibria/test_self_contact.py::test_legs_of_a_fold_press
    """
    forces = columns(k.FORCE_X, problem.dim)
    by_contact = zip(problem.contact_of_pass, trial.point_values, strict=True)
    sums = [values[:, forces].sum(axis=0) for number, values in by_contact if number == contact]
    # one pass loads both
    return (sums[0], -sums[0]) if len(sums) == 1 else (sums[0], sums[1])


def force_on(problem: Problem, trial: Trial, contact: int, body: int) -> Floats:
    """Return the force (d,) of a contact on a body [N/m], [N] in space.

    In self-contact it is the force on the contact's own boundary.
    """
    pair = problem.assembled.pairs[contact]
    if isinstance(pair.partner, Boundary) and (pair.partner.body == pair.boundary.body == body):
        return forces_between(problem, trial, contact)[0]
    total = np.zeros(problem.dim)
    forces = columns(k.FORCE_X, problem.dim)
    owners = zip(problem.contact_of_pass, problem.body_of_pass, strict=True)
    for p, (number, owner), values in zip(problem.passes, owners, trial.point_values, strict=True):
        if number != contact:
            continue
        partner = p.contact.partner
        if owner == body:
            total += values[:, forces].sum(axis=0)
        elif isinstance(partner, Boundary) and not p.is_half_pass and partner.body == body:
            # one pass loads both
            total -= values[:, forces].sum(axis=0)
    return total


def shrinkage(curves: dict[str, Floats], units: dict[str, str]) -> dict[str, Quantity]:
    """Return fits of the loss of contact length under shear, from the start to full sliding.

    With the contact length L and the tangential force F, xi is the least-squares fit of
    L = L0 - xi F^2, and eta that of 1 - L / L0 ~ F^eta as a line in logarithms.

    Parameters
    ----------
    curves : (t,) by name, from the first step of the results on
    units : unit of each kind of quantity

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Fig. 14.
    """
    length, force = curves["contact_length"], np.abs(curves["force_x"])
    sticking = curves["sticking_length"]
    onset = np.flatnonzero((sticking[1:] <= 0.0) & (sticking[:-1] > 0.0))
    last = int(onset[0]) + 2 if onset.size else length.size
    length, force = length[:last], force[:last]
    rising = np.concatenate([[True], force[1:] > np.maximum.accumulate(force)[:-1]])
    if rising.sum() < _FEWEST or not length[0] > 0.0:
        return {}
    # evenly spaced in force, so that the fit does not depend on the lengths of load steps
    forces = np.linspace(0.0, force[rising][-1], _SAMPLES + 1)[1:]
    loss = length[0] - np.interp(forces, force[rising], length[rising])
    # chosen: at smaller forces the loss of contact is less than interpolation resolves
    fits = (forces > 0.05 * forces[-1]) & (loss > 1e-6 * length[0])
    if fits.sum() < _FEWEST:
        return {}
    square = forces**2
    xi = float((loss @ square) / (square @ square))
    xi_spread = float(np.sqrt(np.mean((loss - xi * square) ** 2)) / max(loss.max(), 1e-300))
    a, b = np.log(forces[fits]), np.log(loss[fits] / length[0])
    eta, offset = np.polyfit(a, b, 1)
    eta_spread = float(np.sqrt(np.mean((b - eta * a - offset) ** 2)))
    unit = "1" if units["length"] == "1" else "m^3/N^2"
    return {
        "xi": Quantity(xi, unit, "contact length lost per force squared"),
        "xi_spread": Quantity(xi_spread, "1", "root mean square of the fit over the largest loss"),
        "eta": Quantity(
            float(eta), "1", "exponent of the contact length lost in the tangential force"
        ),
        "eta_spread": Quantity(eta_spread, "1", "root mean square of the fit in logarithms"),
    }
