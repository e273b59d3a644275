"""Bodies that lie inside each other at the start, or would pass through each other in one step.

Newton's method knows both ends of a step. A body that lies before another at its begin and behind
it at its end has felt nothing there, and nothing tells of it. So where two bodies move past each
other by half of what the thinner is thick, or more, places between both ends are looked at: a step
on whose straight way one lies inside the other is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.contact.model import ContactPass
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidSphere
from stiction.solids.contact.sweeps import dot, lengths
from stiction.solids.dimensions import crossed
from stiction.solids.many.broad_phase import boxes_of, near_boxes
from stiction.solids.membranes.model import Membrane
from stiction.solids.space.model import SweptBody

if TYPE_CHECKING:
    from stiction.solids.arrays import Discretisation
    from stiction.solids.contact.model import Found
    from stiction.solids.equilibria.problem import Problem

__all__ = ["THROUGH", "Ways", "check_start", "thickness"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# why a step is none
THROUGH = "bodies pass through each other"
# parts of the thickness: a way that is looked at, between places that are, and what may lie inside
_LONG, _APART, _INSIDE = 0.5, 0.1, 0.02
# places that are looked at on one way
_MOST = 100
# part of the size of a body by which surfaces that touch may overlap: rounding
_TOUCHES = 1e-9


class _Side(NamedTuple):
    """One pass between two bodies.

    Parameters
    ----------
    number : of the pass
    thick : how thick the thinner of both bodies is [m]
    reach, centre : of a rigid partner, whose one node tells how far it moved; else 0 [m]
    own, other : nodes of both boundaries
    """

    number: int
    thick: float
    reach: float
    centre: Floats
    own: Ints
    other: Ints


class Ways:
    """The ways of bodies that touch, step by step.

    Parameters
    ----------
    problem : the equations
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._sides = problem, list[_Side]()
        thick = [_of_body(part) for part in problem.parts]
        for number, p in enumerate(problem.passes):
            pair = problem.contact_of_pass[number]
            contact = problem.assembled.pairs[pair]
            partner, least, reach = contact.partner, thick[contact.boundary.body], 0.0
            centre = np.zeros(problem.dim)
            if isinstance(partner, RigidCircle | RigidSphere):
                reach, centre = float(partner.radius), np.asarray(partner.centre, dtype=np.float64)
                least, other = min(least, 2.0 * reach), np.array([problem.rigid_node[pair]])
            elif isinstance(partner, Boundary) and partner != contact.boundary:
                least, other = min(least, thick[partner.body]), np.unique(p.partner.nodes)
            else:
                # nobody comes out behind a plane, and what lies behind a boundary is its own body
                continue
            if np.isfinite(least):
                self._sides.append(
                    _Side(number, least, reach, centre, np.unique(p.own.nodes), other)
                )

    def through(self, before: Floats, after: Floats) -> bool:
        """Return whether a body lies inside another on the straight way of a step.

        Parameters
        ----------
        before, after : (nodes, d) unknowns at both ends [m]

        Verified by: tests/unit/solids/many/test_collision.py::test_bodies_that_pass_are_seen
        """
        if not self._sides:
            return False
        x, y = self._problem.places(before), self._problem.places(after)
        return any(self._inside(side, x, y - x) for side in self._sides)

    def _inside(self, side: _Side, x: Floats, way: Floats) -> bool:
        own, other = way[side.own], way[side.other]
        carried = other.mean(axis=0)
        # how far the bodies move past each other, what both do left out
        far = sum(float(np.sqrt(((d - carried) ** 2).sum(axis=1)).max()) for d in (own, other))
        if not far > _LONG * side.thick:
            return False
        near = [
            np.concatenate([x[n] + c, x[n] + way[n] + c])
            for n, c in ((side.own, 0.0), (side.other, side.centre))
        ]
        if not near_boxes(boxes_of(near), side.reach).size:
            return False
        p, deep = self._problem.passes[side.number], -_INSIDE * side.thick
        parts = min(_MOST, int(np.ceil(far / (_APART * side.thick))))
        for i in range(parts):
            if float(_gaps(p, x + i / parts * way).min(initial=np.inf)) < deep:
                # bodies that overlap from the begin are told as such
                return i > 0
        return False


def _gaps(p: ContactPass, x: Floats) -> Floats:
    """Return the gaps of the points of a pass (p,), infinite where nothing is normal to them."""
    # segments are of no use here, and take longer than all else
    found = ContactPass.project(p, x, None)
    if p.partner.rigid:
        return p.gaps(x, found)
    there = p.partner_at(found.element, found.xi.T, x)[1]
    outward = crossed(there[1 : p.dim])
    gaps = dot(p.places(x).T - there[0], outward) / lengths(outward)
    return np.where(found.normal, gaps, np.inf)


def _of_body(part: Discretisation) -> float:
    """Return how thick a body is [m]; infinite for what has no volume."""
    volume = sum(float(block.weights.sum()) for block in part.blocks)
    return thickness(part.points, volume) if volume > 0.0 else np.inf


def thickness(places: Floats, volume: float) -> float:
    """Return how thick a body is at most: the least of its extents, or volume over the others [m].

    Parameters
    ----------
    places : (n, d) of its nodes [m]
    volume : in the plane per unit thickness [m^d]

    Verified by: tests/unit/solids/many/test_collision.py::test_how_thick_bodies_are
    """
    away = places - places.mean(axis=0)
    axes = np.linalg.svd(away, full_matrices=False)[2]
    long = np.sort(np.ptp(away @ axes.T, axis=0))
    return float(min(long[0], volume / np.prod(long[1:])))


def check_start(problem: Problem, x: Floats, founds: tuple[Found, ...]) -> None:
    """Refuse surfaces that lie inside each other at the start.

    Parameters
    ----------
    x : (nodes, d) places [m]
    founds : nearest points of every pass

    Raises
    ------
    ModelError : if any do.
    """
    for p, found in zip(problem.passes, founds, strict=True):
        gap = p.gaps(x, found)
        q = int(np.argmin(gap))
        # hard contact may begin where surfaces touch
        least = -_TOUCHES * float(np.ptp(x, axis=0).max()) if p.hard else 0.0
        if gap[q] < least:
            at = p.places(x)[q]
            raise ModelError(
                "Solid.contacts",
                f"boundary {p.contact.boundary.name!r} {-gap[q]:.3g} deep inside its "
                f"partner near ({at[0]:.6g}, {at[1]:.6g}) at the start",
                "gaps >= 0",
                "surfaces that lie inside each other have no contact traction.",
                "move the bodies apart, or turn the normal of the rigid plane.",
            )
    _check_overlaps(problem, x, founds)


def _check_overlaps(problem: Problem, x: Floats, founds: tuple[Found, ...]) -> None:
    """Refuse points that lie inside their partner where no nearest point is normal to it."""
    for i, (p, found) in enumerate(zip(problem.passes, founds, strict=True)):
        contact = problem.assembled.pairs[problem.contact_of_pass[i]]
        if p.partner.rigid or contact.partner == contact.boundary:
            # what lies behind a boundary that touches itself is its own body
            continue
        if not (lost := np.flatnonzero(~found.normal)).size:
            continue
        sides = (contact.boundary.body, vars(contact.partner)["body"])
        other = sides[1] if sides[0] == problem.body_of_pass[i] else sides[0]
        place = p.places(x)[lost]
        body = problem.assembled.bodies[other]
        if isinstance(body, (Membrane, SweptBody)):
            continue
        deep = body.mesh.depths(place)
        q = int(np.argmax(deep))
        if deep[q] > contact.adhesion.length:
            raise ModelError(
                "Solid.contacts",
                f"boundary {p.contact.boundary.name!r} {deep[q]:.3g} deep inside body "
                f"{other} near ({place[q, 0]:.6g}, {place[q, 1]:.6g}) at the start",
                f"bodies that overlap by no more than {contact.adhesion.length:.3g}",
                "what lies inside another body has no contact traction.",
                "move the bodies apart: Mesh.moved.",
            )
