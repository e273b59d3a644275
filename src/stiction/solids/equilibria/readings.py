"""What a run tells at a state: forces, lengths of contact, tractions."""

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

# forces at which the loss of contact is read for a fit, and the fewest that a fit needs
_SAMPLES, _FEWEST = 200, 4


class Lengths(NamedTuple):
    """Lengths of contact on the reference boundary and on the deformed one, and of stick."""

    nominal: float
    current: float
    sticking: float
    left: float
    right: float


def _covered(edges: Floats, begins_inside: bool, end: float) -> Floats:
    """Return the intervals (k, 2) between crossings that lie inside."""
    marks = np.concatenate([[0.0] if begins_inside else [], edges])
    if marks.size % 2:
        marks = np.concatenate([marks, [end]])
    return marks.reshape(-1, 2)


def lengths(p: ContactPass, out: Floats, found: ClosestPoints, x: Floats) -> Lengths:
    """Return how long the contact of one pass is, its edges located on the gap itself.

    Parameters
    ----------
    p, out, found : the pass, what it told, and its nearest points
    x : (nodes, 2) places

    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    (knots,) = knots_of(p.own)
    if isinstance(p, MultiplierPass):
        return _pressed(p, out, x, knots[-1])
    limit = float(p.contact.adhesion.gap_max)
    # the ends of the boundary join the sampled points
    ends = np.array([0.0, knots[-1]])
    last = p.count - 1
    gaps, place = gaps_at(p, ends[None], found.at(np.array([0, last])), x)
    zeta = np.concatenate([ends[:1], p.coordinate[0], ends[1:]])
    gap = np.concatenate([gaps[:1], out[:, k.GAP], gaps[1:]])
    sampled = found.at(np.concatenate([[0], np.arange(p.count), [last]]))
    samples = np.concatenate([place[:1], out[:, [k.X, k.Y]], place[1:]])
    if isinstance(found, Segmentation):
        zeta, gap, sampled, samples = _with_islands(p, found, x, (zeta, gap, sampled, samples))
    edges, places = crossings(p, limit, zeta, gap, sampled, x)
    inside = _covered(edges, bool(gap[0] < limit), float(knots[-1]))
    nominal = float(np.diff(inside, axis=1).sum())
    order = np.argsort(np.concatenate([zeta, edges]), kind="stable")
    along = np.concatenate([zeta, edges])[order]
    line = np.concatenate([samples, places])[order]
    middle = 0.5 * (along[1:] + along[:-1])
    within = np.zeros(middle.size, dtype=bool)
    for low, high in inside:
        within |= (middle > low) & (middle < high)
    current = float(np.linalg.norm(np.diff(line, axis=0), axis=1)[within].sum())
    left = float(inside[0, 0]) if inside.size else np.nan
    right = float(inside[-1, 1]) if inside.size else np.nan
    return Lengths(nominal, current, _sticking(p, out, knots[-1]), left, right)


def _pressed(p: MultiplierPass, out: Floats, x: Floats, end: float) -> Lengths:
    """Return the lengths of hard contact: what belongs to nodes that carry pressure.

    Edges lie half way between the last node in contact and the next, within half an element.
    """
    part, weight, zeta = p.closed(x), out[:, k.WEIGHT], p.coordinate[0]
    inside = np.flatnonzero(part >= 0.5)
    nominal, current = float(part @ weight), float(part @ (weight * out[:, k.OWN_STRETCH]))
    left, right = (zeta[inside[0]], zeta[inside[-1]]) if inside.size else (np.nan, np.nan)
    return Lengths(nominal, current, _sticking(p, out, end), float(left), float(right))


def _with_islands(
    p: ContactPass,
    found: Segmentation,
    x: Floats,
    known: tuple[Floats, Floats, ClosestPoints, Floats],
) -> tuple[Floats, Floats, ClosestPoints, Floats]:
    """Return samples with those points of segments that are in contact between two that are not.

    Parameters
    ----------
    known : coordinates, gaps, nearest points and places of the samples, in order
    """
    (knots,), met = knots_of(p.own), found.pairs
    limit, (zeta, gap, sampled, samples) = float(p.contact.adhesion.gap_max), known
    xi = 0.5 * (1.0 + met.s)
    there = (1.0 - xi) * knots[met.own_element] + xi * knots[met.own_element + 1]
    guess = ClosestPoints(met.element, met.xi[:, None], met.has_closest)
    gaps, places = gaps_at(p, there[None], guess, x)
    after = np.clip(np.searchsorted(zeta, there), 1, zeta.size - 1)
    alone = (gaps < limit) & (gap[after - 1] >= limit) & (gap[after] >= limit)
    # the deepest of each island
    at = np.flatnonzero(alone)[np.argsort(gaps[alone], kind="stable")]
    at = at[np.unique(after[at], return_index=True)[1]]
    if not at.size:
        return known
    order = np.argsort(np.concatenate([zeta, there[at]]), kind="stable")
    more = guess.at(at)
    joined = ClosestPoints(*(np.concatenate(rows) for rows in zip(sampled, more, strict=True)))
    return (
        np.concatenate([zeta, there[at]])[order],
        np.concatenate([gap, gaps[at]])[order],
        joined.at(order),
        np.concatenate([samples, places[at]])[order],
    )


def _sticking(p: ContactPass, out: Floats, end: float) -> float:
    """Return the reference length on which friction holds: trial traction below threshold."""
    zeta, excess = p.coordinate[0], out[:, k.EXCESS].copy()
    excess[out[:, k.STATE] == k.NONE] = np.abs(excess[out[:, k.STATE] == k.NONE]) + 1e-300
    sticks = excess < 0.0
    if not sticks.any():
        return 0.0
    total = 0.0
    if sticks[0]:
        total += float(zeta[0])
    if sticks[-1]:
        total += float(end - zeta[-1])
    gap = np.diff(zeta)
    both = sticks[1:] & sticks[:-1]
    total += float(gap[both].sum())
    one = sticks[1:] != sticks[:-1]
    a, b = np.abs(excess[:-1][one]), np.abs(excess[1:][one])
    share = np.where(sticks[:-1][one], a, b) / (a + b)
    return total + float((gap[one] * share).sum())


def columns(first: int, dim: int) -> list[int]:
    """Return the columns of a vector: a list, so that sums go in one order in plane and space."""
    return list(range(first, first + dim))


def covered(problem: Problem, number: int, trial: Trial, t: float) -> dict[str, float]:
    """Return the areas of contact and of stick of one pass in space, by their names.

    Verified by: tests/unit/solids/membranes/test_tape.py::test_areas_of_a_flat_tape
    """
    p, out, x = problem.passes[number], trial.outs[number], problem.places(trial.u)
    if isinstance(p, MultiplierPass):
        part = p.closed(x) * out[:, k.WEIGHT]
        both = part.sum(), part @ out[:, k.OWN_STRETCH]
    else:
        both = areas(p, float(p.contact.adhesion.gap_max), x)
    nominal, current = (float(area) for area in both)
    rubs = not isinstance(p.contact.friction, Frictionless)
    stuck = float(out[out[:, k.STATE] == k.STICKS, k.WEIGHT].sum())
    if rubs and t <= p.contact.friction_from:
        stuck = nominal
    found = {"contact_area": current, "nominal_area": nominal, "sticking_area": stuck}
    if p.partner.rigid:
        moved = problem.unknowns.displacements(trial.u)
        found["normal_displacement"] = float(moved[p.partner.node, 1])
    return found


def forces_between(problem: Problem, trial: Trial, contact: int) -> tuple[Floats, Floats]:
    """Return the forces (d,) of a contact of two boundaries on the one and on the other [N/m].

    Verified by: tests/unit/solids/equilibria/test_self_contact.py::test_legs_of_a_fold_press
    """
    forces = columns(k.FORCE_X, problem.dim)
    owners = zip(problem.contact_of_pass, trial.outs, strict=True)
    found = [out[:, forces].sum(axis=0) for number, out in owners if number == contact]
    # one pass loads both
    return (found[0], -found[0]) if len(found) == 1 else (found[0], found[1])


def force_on(problem: Problem, trial: Trial, contact: int, body: int) -> Floats:
    """Return the force (d,) of a contact on a body [N/m], [N] in space.

    Of a body that touches itself it is the force on the contact's own boundary.
    """
    described = problem.assembled.pairs[contact]
    if isinstance(described.partner, Boundary) and (
        described.partner.body == described.boundary.body == body
    ):
        return forces_between(problem, trial, contact)[0]
    total = np.zeros(problem.dim)
    forces = columns(k.FORCE_X, problem.dim)
    owners = zip(problem.contact_of_pass, problem.body_of_pass, strict=True)
    for p, (number, owner), out in zip(problem.passes, owners, trial.outs, strict=True):
        if number != contact:
            continue
        partner = p.contact.partner
        if owner == body:
            total += out[:, forces].sum(axis=0)
        elif isinstance(partner, Boundary) and not p.is_half_pass and partner.body == body:
            # one pass loads both
            total -= out[:, forces].sum(axis=0)
    return total


def shrinkage(curves: dict[str, Floats], begin: int, units: dict[str, str]) -> dict[str, Quantity]:
    """Return how contact shrinks under shear, fitted from the start to full sliding.

    L = L0 - xi F^2 by least squares, and 1 - L / L0 ~ F^eta by a line in logarithms.

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Fig. 14.
    """
    length, force = curves["contact_length"][begin:], np.abs(curves["force_x"][begin:])
    stuck = curves["sticking_length"][begin:]
    end = np.flatnonzero((stuck[1:] <= 0.0) & (stuck[:-1] > 0.0))
    last = int(end[0]) + 2 if end.size else length.size
    length, force = length[:last], force[:last]
    rising = np.concatenate([[True], force[1:] > np.maximum.accumulate(force)[:-1]])
    if rising.sum() < _FEWEST or not length[0] > 0.0:
        return {}
    # evenly spaced in force, so that fits do not depend on where the steps were short
    even = np.linspace(0.0, force[rising][-1], _SAMPLES + 1)[1:]
    lost = length[0] - np.interp(even, force[rising], length[rising])
    fits = (even > 0.05 * even[-1]) & (lost > 1e-6 * length[0])
    if fits.sum() < _FEWEST:
        return {}
    square = even**2
    xi = float((lost @ square) / (square @ square))
    spread = float(np.sqrt(np.mean((lost - xi * square) ** 2)) / max(lost.max(), 1e-300))
    a, b = np.log(even[fits]), np.log(lost[fits] / length[0])
    slope, offset = np.polyfit(a, b, 1)
    rest = float(np.sqrt(np.mean((b - slope * a - offset) ** 2)))
    unit = "1" if units["length"] == "1" else "m^3/N^2"
    return {
        "xi": Quantity(xi, unit, "contact length lost per force squared"),
        "xi_spread": Quantity(spread, "1", "root mean square of the fit over the largest loss"),
        "eta": Quantity(float(slope), "1", "exponent of the loss over the tangential force"),
        "eta_spread": Quantity(rest, "1", "root mean square of the fit in logarithms"),
    }
