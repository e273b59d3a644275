"""Continuous collision detection: reject steps in which one body passes through another.

Newton's method evaluates contact at the ends of a step only. A body that is in front of another at
the begin and behind it at the end has no contact traction at either (tunnelling). If the relative
displacement of two bodies in a step exceeds half the thickness of the thinner one, gaps are sampled
along the straight path between both ends. The step is rejected if one body penetrates the other
there. Gaps are (x - x_p) . n as in contact, and all limits are fractions of the thickness. Load
steps and time steps call `CollisionDetection.tunnels` for each solved step; `Problem.start` calls
`check_start`, which refuses bodies that overlap at the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.contact.model import ContactPass
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidSphere
from stiction.solids.contact.sweeps import lengths
from stiction.solids.dimensions import crossed, dot
from stiction.solids.many.broad_phase import boxes_of, near_boxes
from stiction.solids.membranes.model import Membrane
from stiction.solids.three_d.model import SweptBody

if TYPE_CHECKING:
    from stiction.solids.arrays import Discretisation
    from stiction.solids.contact.model import ClosestPoints
    from stiction.solids.equilibria.problem import Problem

__all__ = ["TUNNELLING", "CollisionDetection", "check_start", "thickness"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# reason for which a step is rejected
TUNNELLING = "bodies pass through each other"
# fractions of the thickness: displacement above which a path is sampled, spacing of samples, and
# admissible penetration
_MIN_TRAVEL, _SAMPLE_SPACING, _PENETRATION = 0.5, 0.1, 0.02
# largest number of samples of a path
_MAX_SAMPLES = 100
# fraction of the size of a body by which touching surfaces may overlap: rounding
_TOUCHES = 1e-9


class _Side(NamedTuple):
    """One pass between two bodies.

    Parameters
    ----------
    number : of the pass
    thickness : of the thinner body [m]
    reach, centre : radius and centre of a rigid partner [m], zero for a deformable one
    own, other : node numbers of both boundaries; of a rigid partner the node of its translation
    """

    number: int
    thickness: float
    reach: float
    centre: Floats
    own: Ints
    other: Ints


class CollisionDetection:
    """Test of steps for tunnelling, for all contact pairs.

    Parameters
    ----------
    problem : the equations
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._sides = problem, list[_Side]()
        thicknesses = [_body_thickness(part) for part in problem.parts]
        for number, p in enumerate(problem.passes):
            pair = problem.contact_of_pass[number]
            contact = problem.assembled.pairs[pair]
            partner, thinner, reach = contact.partner, thicknesses[contact.boundary.body], 0.0
            centre = np.zeros(problem.dim)
            if isinstance(partner, RigidCircle | RigidSphere):
                reach, centre = float(partner.radius), np.asarray(partner.centre, dtype=np.float64)
                thinner, other = min(thinner, 2.0 * reach), np.array([problem.rigid_node[pair]])
            elif isinstance(partner, Boundary) and partner != contact.boundary:
                thinner, other = min(thinner, thicknesses[partner.body]), np.unique(p.partner.nodes)
            else:
                # a plane has no back side, and behind a boundary in self-contact lies its own body
                continue
            if np.isfinite(thinner):
                self._sides.append(
                    _Side(number, thinner, reach, centre, np.unique(p.own.nodes), other)
                )

    def tunnels(self, before: Floats, after: Floats) -> bool:
        """Return whether a body penetrates another one on the straight path of a step.

        Parameters
        ----------
        before, after : (nodes, d) unknowns at both ends [m]

        Verified by: tests/unit/solids/many/test_collision.py::test_tunnelling_is_detected
        """
        if not self._sides:
            return False
        x, y = self._problem.positions(before), self._problem.positions(after)
        return any(self._penetrates(side, x, y - x) for side in self._sides)

    def _penetrates(self, side: _Side, x: Floats, displacement: Floats) -> bool:
        """Return whether a body penetrates its partner on the path from x (nodes, d) on."""
        own, other = displacement[side.own], displacement[side.other]
        common = other.mean(axis=0)
        # relative displacement of the bodies, without the mean of the partner's
        travel = sum(float(np.sqrt(((d - common) ** 2).sum(axis=1)).max()) for d in (own, other))
        if not travel > _MIN_TRAVEL * side.thickness:
            return False
        near = [
            np.concatenate([x[n] + c, x[n] + displacement[n] + c])
            for n, c in ((side.own, 0.0), (side.other, side.centre))
        ]
        if not near_boxes(boxes_of(near), side.reach).size:
            return False
        p, limit = self._problem.passes[side.number], -_PENETRATION * side.thickness
        parts = min(_MAX_SAMPLES, int(np.ceil(travel / (_SAMPLE_SPACING * side.thickness))))
        for i in range(parts):
            if float(_gaps(p, x + i / parts * displacement).min(initial=np.inf)) < limit:
                # an overlap at the begin of the step is no tunnelling: it has its own message
                return i > 0
        return False


def _gaps(p: ContactPass, x: Floats) -> Floats:
    """Return the gaps of the points of a pass (p,), infinite without a normal to the partner."""
    if p.partner.rigid:
        return p.gaps(x, p.project(x, None))
    # the projection of a pass over one surface: segments are not needed, and cost most of the time
    closest = ContactPass.project(p, x, None)
    partner_places = p.partner_at(closest.element, closest.xi.T, x)[1]
    outward = crossed(partner_places[1 : p.dim])
    gaps = dot(p.places(x).T - partner_places[0], outward) / lengths(outward)
    return np.where(closest.normal, gaps, np.inf)


def _body_thickness(part: Discretisation) -> float:
    """Return the thickness of a body [m], infinite if it has no volume."""
    volume = sum(float(block.weights.sum()) for block in part.blocks)
    return thickness(part.points, volume) if volume > 0.0 else np.inf


def thickness(places: Floats, volume: float) -> float:
    """Return a bound of the thickness of a body [m], along its principal axes.

    It is the smallest extent, or the volume over the product of the other extents if less.

    Parameters
    ----------
    places : (n, d) of its nodes [m]
    volume : in the plane per unit thickness [m^d]

    Verified by: tests/unit/solids/many/test_collision.py::test_thickness_of_bodies
    """
    away = places - places.mean(axis=0)
    axes = np.linalg.svd(away, full_matrices=False)[2]
    extents = np.sort(np.ptp(away @ axes.T, axis=0))
    return float(min(extents[0], volume / np.prod(extents[1:])))


def check_start(problem: Problem, x: Floats, closests: tuple[ClosestPoints, ...]) -> None:
    """Refuse surfaces that penetrate each other at the start.

    Parameters
    ----------
    problem : the discrete equations
    x : (nodes, d) positions [m]
    closests : closest points of every pass

    Raises
    ------
    ModelError : if a gap is negative, or a body overlaps another.
    """
    for p, closest in zip(problem.passes, closests, strict=True):
        gap = p.gaps(x, closest)
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
                "contact starts from surfaces that do not penetrate each other.",
                "move the bodies apart, or turn the normal of the rigid plane.",
            )
    _check_overlaps(problem, x, closests)


def _check_overlaps(problem: Problem, x: Floats, closests: tuple[ClosestPoints, ...]) -> None:
    """Refuse points inside a partner body that have no closest-point projection onto it."""
    for i, (p, closest) in enumerate(zip(problem.passes, closests, strict=True)):
        contact = problem.assembled.pairs[problem.contact_of_pass[i]]
        if p.partner.rigid or contact.partner == contact.boundary:
            # behind a boundary in self-contact lies its own body
            continue
        if not (lost := np.flatnonzero(~closest.normal)).size:
            continue
        sides = (contact.boundary.body, vars(contact.partner)["body"])
        other = sides[1] if sides[0] == problem.body_of_pass[i] else sides[0]
        place = p.places(x)[lost]
        body = problem.assembled.bodies[other]
        if isinstance(body, (Membrane, SweptBody)):
            continue
        depth = body.mesh.depths(place)
        q = int(np.argmax(depth))
        if depth[q] > contact.adhesion.length:
            raise ModelError(
                "Solid.contacts",
                f"boundary {p.contact.boundary.name!r} {depth[q]:.3g} deep inside body "
                f"{other} near ({place[q, 0]:.6g}, {place[q, 1]:.6g}) at the start",
                f"bodies that overlap by no more than {contact.adhesion.length:.3g}",
                "a point so deep in another body has no closest point, hence no contact traction.",
                "move the bodies apart: Mesh.moved.",
            )
