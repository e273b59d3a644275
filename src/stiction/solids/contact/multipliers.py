"""Hard contact by multipliers: Signorini's conditions and Coulomb's law at the nodes of a boundary.

Every node A of the boundary has a pressure lambda_A and m tangential tractions tau_A as unknowns.
They are interpolated by dual functions D_A, biorthogonal to the shape functions N_A on each
element: int N_A D_B dA = delta_AB int N_A dA. So the conditions of different nodes decouple; with
N_A instead of D_A, slip would oscillate next to the edge of a stick zone. With the gap g and the
coordinates zeta of the closest point along the partner,

    G_A = int D_A g dA,    U_A = int D_A (zeta - zeta_0) dA,    W_A = int D_A dA

are the weighted gap, slip and area, over the reference boundary and with zeta_0 at the last
accepted state. Forces on both bodies follow from the virtual work

    dW = - sum_A lambda_A dG_A + sum_A tau_A . dU_A,

so that they are in equilibrium for any mesh. `unilateral_conditions` has the equations for lambda
and tau. The unknowns are stored as lambda / c and tau / c with a stiffness c, which are lengths as
displacements are; no result depends on c.

Between two plane bodies, integrals are taken over mortar segments, which end opposite to the ends
of partner elements in the last accepted state. They are fixed during a load step, so that the
tangent is the exact derivative of the forces.

`equilibria.problem` makes a `MultiplierPass` for each contact with `Signorini`. Arrays run over A
nodes of the boundary, or over p integration points with the nodes J (own, then partner).
Source: Alart and Curnier 1991; Wohlmuth 2000 for dual functions; Popp et al. 2009.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import boundary_coordinate
from stiction.solids.contact.model import ClosestPoints, Contact, ContactPass, History
from stiction.solids.contact.partners import RigidShape, RigidSphere
from stiction.solids.contact.unilateral_conditions import Multipliers, Weighted, conditions
from stiction.solids.contact.variations import Variations, coordinates_twice, sides_of, variations

__all__ = ["MultiplierPass", "Paired"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


# Gauss points on each segment, exact for polynomials of degree 5; bisections for the end of a
# segment
_GAUSS, _HALVINGS = 3, 50
# fraction of the size of all bodies up to which a gap counts as zero: some 500 roundings of a
# coordinate. Chosen
_TOUCHING = 1e-13
# least x of contact on a sphere over its radius, 135 degrees from the pole with x > 0. Chosen
_BEFORE_POLE = -0.7
# column of the record of a point that holds the interpolated nodal pressure here
_PRESSURE = k.FRICTION_FORCE


class Rule(NamedTuple):
    """Integration points of one load step: p points, n own nodes, m coordinates.

    Parameters
    ----------
    cell : (p,) recorded point to which each belongs
    nodes, carrier : (p, n) own nodes, and the indices of their multipliers among the carriers
    functions, duals : (p, n) N_A and D_A at the points
    weight : (p,) reference area
    origin : (p, m) zeta_0 along the partner at the last accepted state [m], NaN without a closest
        point
    """

    cell: Ints
    nodes: Ints
    carrier: Ints
    functions: Floats
    duals: Floats
    weight: Floats
    origin: Floats


def duals_of(functions: Floats, weight: Floats, element: Ints) -> Floats:
    """Return dual functions D_A (p, n), biorthogonal to `functions` N_A on each element.

    Parameters
    ----------
    functions, weight, element : (p, n) functions, (p,) areas and elements of points

    Source: Wohlmuth 2000, element by element.
    Verified by: tests/unit/solids/contact/test_multipliers.py::test_duals
    """
    count, n = int(element.max()) + 1, functions.shape[1]
    means, products = np.zeros((count, n)), np.zeros((count, n, n))
    weighted = weight[:, None] * functions
    np.add.at(means, element, weighted)
    np.add.at(products, element, weighted[:, :, None] * functions[:, None])
    scale = means[:, :, None] * np.linalg.inv(products)
    return np.asarray(np.einsum("pab,pb->pa", scale[element], functions))


class Paired(ClosestPoints):
    """Closest points of recorded points, and `near` of the integration points `rule`."""

    rule: Rule
    near: ClosestPoints


class _Points(NamedTuple):
    """Kinematics at the integration points: p points, J nodes of both sides, m coordinates.

    Parameters
    ----------
    valid, known : (p,) whether the closest point is normal to the partner, and whether it was so at
        the last accepted state too
    weight : (p,) reference area, zero where not valid
    coordinate, slip : (p, m) zeta of the closest point, and zeta - zeta_0 [m]
    tangent : (p, m, d) derivative of the closest point by the coordinates
    metric, by_metric : (p, m, m) of the coordinates, and its variation (p, m, m, J d)
    by_slip, slip_twice : (p, m, J d), (p, m, J d, J d) variations of the coordinates
    gaps : gap and normal with their variations
    """

    valid: Bools
    known: Bools
    weight: Floats
    coordinate: Floats
    slip: Floats
    tangent: Floats
    metric: Floats
    by_metric: Floats
    by_slip: Floats
    slip_twice: Floats
    gaps: Variations


class MultiplierPass(ContactPass):
    """One pass over one boundary with multipliers at its nodes; it loads both sides.

    Parameters
    ----------
    contact : the description
    own, partner, points : as for `ContactPass`
    carriers : (A,) node numbers of the multipliers in the global unknowns, one for each boundary
        node in rising order; component 0 is the pressure, the others are tangential tractions
    modulus : E* of the own body [Pa]; c is E* over the length of an element

    Source: Alart and Curnier 1991; Popp et al. 2009 for nodal multipliers and weighted gaps.
    Verified by: tests/unit/solids/contact/test_multipliers.py::test_tangents_against_differences
    """

    hard = True

    def __init__(
        self,
        contact: Contact,
        own: Surface,
        partner: Surface | tuple[RigidShape, int],
        points: Floats,
        carriers: Ints,
        modulus: float,
    ) -> None:
        super().__init__(contact, own, partner, points)
        if isinstance(contact.partner, RigidSphere):
            self._check_pole(contact.partner)
        # one pass loads both bodies
        self.is_half_pass, self.energy_fraction = False, 1.0
        self.carriers, self.stiffness = carriers, modulus / self.finest
        nodes, at = np.unique(self._nodes, return_inverse=True)
        assert nodes.size == carriers.size
        # which of the carriers belongs to each own node of a recorded point
        self._carrier = at.reshape(self._nodes.shape)
        self._touching = _TOUCHING * float(np.ptp(points, axis=0).max())
        self._slips = not isinstance(contact.friction, Frictionless)
        self._mu = float(vars(contact.friction).get("mu", 0.0))
        rule, one = self._own_points, np.ones(self.count)
        whole = self._at_nodes(rule, rule.functions, rule.weight, one)
        if not np.all(whole > 0.0):
            got = (
                f"shape functions of boundary {contact.boundary.name!r} with a mean that is not "
                "positive"
            )
            why = "the weighted gap of a node needs a shape function with a positive mean."
            try_ = "take linear elements, or splines, on this side."
            raise ModelError(
                "Contact.boundary", got, "shape functions with positive means", why, try_
            )

    def _check_pole(self, ball: RigidSphere) -> None:
        """Refuse contact where coordinates on the sphere are singular."""
        away = self.places(self.reference) - np.asarray(ball.centre)
        distance = np.linalg.norm(away, axis=1)
        nearest = int(np.argmin(distance))
        if away[nearest, 0] < _BEFORE_POLE * distance[nearest]:
            got = f"a boundary nearest to the sphere at x = {away[nearest, 0]:.3g} from its centre"
            needs = f"x above {_BEFORE_POLE * ball.radius:.3g}"
            why = (
                "the coordinates of a boundary on the sphere are singular at the point with "
                "the least x."
            )
            try_ = "turn the bodies so that contact is on another side of the sphere."
            raise ModelError("Contact.partner", got, needs, why, try_)

    # ------------------------------------------------------------ points of a load step

    def project(self, x: Floats, guess: ClosestPoints | None) -> Paired:
        """Return closest points; without a guess, also the integration points of a new load step.

        With a guess its integration points are used again.
        """
        found = Paired(*super().project(x, guess))
        if isinstance(guess, Paired):
            found.rule = guess.rule
            place = np.einsum("pn,pnd->pd", found.rule.functions, x[found.rule.nodes])
            found.near = found if self.partner.rigid else self.closest_from(place, guess.near, x)
            return found
        if self.partner.rigid or self.dim > 2:
            found.rule, found.near = self._own_points, found
        else:
            found.rule, found.near = self._segments(x, found)
        if not self.partner.rigid:
            zeta, _ = boundary_coordinate(found.near.element, found.near.xi.T, self.partner.knots)
            origin = np.where(found.near.normal[:, None], zeta.T, np.nan)
            found.rule = found.rule._replace(origin=origin)
        return found

    def next_step_points(self, closest: ClosestPoints, x: Floats) -> ClosestPoints:
        """Return closest points with the integration points of a load step that begins here."""
        return self.project(x, None)

    @functools.cached_property
    def _own_points(self) -> Rule:
        """The integration points of the own elements, without segments."""
        none = np.full((self.count, self.dim - 1), np.nan)
        functions = np.ascontiguousarray(self._functions[k.VALUE].T)
        cells, areas = np.arange(self.count), self.own.areas.ravel()
        duals = duals_of(functions, areas, cells // self.own.areas.shape[1])
        return Rule(cells, self._nodes, self._carrier, functions, duals, areas, none)

    def _segments(self, x: Floats, found: ClosestPoints) -> tuple[Rule, ClosestPoints]:
        """Return Gauss points of mortar segments, and their closest points.

        The cells of recorded points are divided where the closest point passes an end of an
        element of the partner, by bisection.
        """
        facets, each = self.own.areas.shape
        _, cell_lengths = np.polynomial.legendre.leggauss(each)
        edges = np.concatenate([[-1.0], -1.0 + np.cumsum(cell_lengths)])
        edges[-1] = 1.0
        which = np.repeat(np.arange(facets), each)
        low, high = np.tile(edges[:-1], facets), np.tile(edges[1:], facets)

        def projected(
            element: Ints, s: Floats, guess: ClosestPoints
        ) -> tuple[Floats, ClosestPoints]:
            place = self.own_curve.points(element, s[None], x)[1][0].T
            there = self.closest_from(np.ascontiguousarray(place), guess, x)
            return boundary_coordinate(there.element, there.xi.T, self.partner.knots)[0][0], there

        # knots of the partner between the closest points of both ends of a cell
        knots, period = self.partner.knots[0], self.period
        if period:
            # on a closed partner a cell may contain the origin of its coordinate
            knots = np.concatenate([knots[:-1] - period, knots[:-1], knots + period])
        first = projected(which, low, found)[0]
        last = first + self._shortest(projected(which, high, found)[0] - first)
        inside = (knots[:, None] > np.minimum(first, last)) & (
            knots[:, None] < np.maximum(first, last)
        )
        knot, cell = np.nonzero(inside)
        # bisection for the own point whose closest point is the knot
        left, right, rises = low[cell], high[cell], (last > first)[cell]
        for _ in range(_HALVINGS if cell.size else 0):
            middle = 0.5 * (left + right)
            zeta, _ = projected(which[cell], middle, found.at(cell))
            zeta = first[cell] + self._shortest(zeta - first[cell])
            before = (zeta < knots[knot]) == rises
            left, right = np.where(before, middle, left), np.where(before, right, middle)
        # segments, sorted by cell and begin, with Gauss points on each
        cells = np.arange(which.size)
        ends = np.concatenate([low, 0.5 * (left + right)]), np.concatenate([cells, cell])
        order = np.lexsort(ends)
        begin, of = ends[0][order], ends[1][order]
        end = np.append(begin[1:], 1.0)
        end[np.append(of[1:] != of[:-1], [True])] = high
        gauss, gauss_weight = np.polynomial.legendre.leggauss(_GAUSS)
        s = (0.5 * (begin + end)[:, None] + 0.5 * (end - begin)[:, None] * gauss).ravel()
        of = np.repeat(of, _GAUSS)
        element = which[of]
        functions, base = self.own_curve.points(element, s[None], self.reference)
        weight = (0.5 * (end - begin)[:, None] * gauss_weight).ravel() * k.lengths(base[1])
        _, near = projected(element, s, found.at(of))
        nodes, carrier = self._nodes[of], self._carrier[of]
        none = np.empty((of.size, 1))
        shapes = np.ascontiguousarray(functions[0].T)
        duals = duals_of(shapes, weight, element)
        return Rule(of, nodes, carrier, shapes, duals, weight, none), near

    # ------------------------------------------------------------ the blocks of tangents

    def blocks(self, closest: ClosestPoints, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block, (p, ...)."""
        assert isinstance(closest, Paired)
        partner, rule = self.partner, closest.rule
        others = partner.nodes[closest.near.element]
        if partner.rigid:
            others = np.full((self.count, 1), partner.node)
        both = np.concatenate([rule.nodes, others, self.carriers[rule.carrier]], axis=1)
        return both, both

    def block_shape(self, closest: ClosestPoints) -> tuple[int, int, int]:
        """Return the shape of the tangent blocks."""
        assert isinstance(closest, Paired)
        n = 2 * int(self.own.nodes.shape[1]) + int(self.partner.nodes.shape[1])
        return closest.rule.cell.size, self.dim * n, self.dim * n

    def coupled(self, rows: Ints, columns: Ints, closest: ClosestPoints) -> tuple[Ints, Ints]:
        """Return the nodes that the sparsity pattern couples, with those of adjacent elements."""
        assert isinstance(closest, Paired)
        wide = self.window(columns, closest.near)
        return wide, wide

    def signature(self, closest: ClosestPoints, history: History) -> tuple[bytes, bytes]:
        """Return data that change exactly when the nodes of tangent blocks change."""
        assert isinstance(closest, Paired)
        if self.partner.rigid:
            return b"", b""
        return closest.near.element.tobytes(), closest.rule.cell.tobytes()

    # ------------------------------------------------------------ kinematics

    def _points_of(self, x: Floats, found: Paired, history: History, rotation: float) -> _Points:
        """Return the kinematics at every integration point, with variations.

        Parameters
        ----------
        x : (nodes, d) positions [m]
        found, history : closest points with the rule of the load step, and friction history
        rotation : of a rigid circle [rad]
        """
        # positions, and coordinates zeta_0 at the last accepted state; a rigid partner has them in
        # the history, since its integration points are those that are recorded
        rule, close, rigid = found.rule, found.near, self.partner.rigid
        points = np.einsum("pn,pnd->pd", rule.functions, x[rule.nodes])
        origin = history.origin if rigid else np.nan_to_num(rule.origin)
        remembers = history.has_origin if rigid else np.isfinite(rule.origin[:, 0])
        before = np.ascontiguousarray(origin.T)
        kinematics = self._kinematics(x, np.ascontiguousarray(points.T), close, before, rotation)
        place = kinematics.closest_places.transpose(2, 0, 1)
        near = kinematics.closest_functions.transpose(2, 0, 1)
        if rigid:
            # one node, its translation
            near = np.zeros((*place.shape[:2], 1))
            near[:, 0] = 1.0
        sides = sides_of(points, place, rule.functions, near)
        gaps = variations(sides)
        valid, span = close.normal & gaps.single, kinematics.span.T
        known, slip = valid & remembers, kinematics.coordinate.T - origin
        slip = self._shortest(slip)
        twice = np.zeros((0, self.dim - 1, 0, 0))
        if self._slips:
            twice = span[:, :, None, None] * coordinates_twice(sides, gaps.by_xi, gaps.inverse)
        # from coordinates xi of elements to reference lengths zeta, with span = dzeta/dxi
        scale = 1.0 / (span[:, :, None] * span[:, None, :])
        return _Points(
            valid,
            known,
            np.where(valid, rule.weight, 0.0),
            kinematics.coordinate.T,
            np.where(known[:, None], slip, 0.0),
            sides.a / span[:, :, None],
            gaps.metric * scale,
            gaps.by_metric * scale[..., None],
            span[:, :, None] * gaps.by_xi,
            twice,
            gaps._replace(gap=np.where(valid, gaps.gap, 0.0)),
        )

    # ------------------------------------------------------------ conditions of multipliers

    def _at_nodes(self, rule: Rule, functions: Floats, weight: Floats, values: Floats) -> Floats:
        """Return the integrals (A, ...) of functions (p, n) times values (p, ...).

        `rule` has the nodes of points; `weight` (p,) are the areas.
        """
        own = functions * weight[:, None]
        terms = own.reshape(*own.shape, *(1,) * (values.ndim - 1)) * values[:, None]
        integrals = np.zeros((self.carriers.size, *values.shape[1:]))
        np.add.at(integrals, rule.carrier, terms)
        return integrals

    def _conditions(self, x: Floats, rule: Rule, at: _Points, with_friction: bool) -> Multipliers:
        """Return the conditions of all multipliers with their derivatives."""
        mean = functools.partial(self._at_nodes, rule, rule.functions, at.weight)
        dual = functools.partial(self._at_nodes, rule, rule.duals, at.weight)
        one = np.ones(rule.cell.size)
        area = mean(one)
        faces = area > 0.0
        area = np.where(faces, area, self._at_nodes(rule, rule.functions, rule.weight, one))
        metric = mean(at.metric) / area[:, None, None]
        metric[~faces] = np.eye(self.dim - 1)
        remembers = mean(at.known.astype(np.float64)) > 0.0
        weighted = Weighted(area, dual(at.gaps.gap), dual(at.slip), metric, faces, remembers)
        values = self.stiffness * (x[self.carriers] - self.reference[self.carriers])
        mu = self._mu if with_friction and self._slips else None
        return conditions(values, weighted, self.stiffness, self._touching, mu)

    # ------------------------------------------------------------ forces and tangents

    def evaluate(
        self,
        x: Floats,
        closest: ClosestPoints,
        history: History,
        fixed_states: npt.NDArray[np.int64],
        *,
        with_friction: bool,
        attraction: float,
        residual: Floats,
        values: Floats | None,
        rotation: float = 0.0,
    ) -> Floats:
        """Add forces and the conditions of multipliers; return the record of each point, (p, OUT).

        Arguments as in `ContactPass.evaluate`; `attraction` and `fixed_states` have no effect.
        """
        assert isinstance(closest, Paired)
        rule = closest.rule
        with np.errstate(all="ignore"):
            out = np.zeros((k.OUT, self.count))
            out[k.WEIGHT] = self.own.areas.ravel()
            k.own_points(self._nodes_of_points, self._functions, x, self._length, out)
            at = self._points_of(x, closest, history, rotation)
            nodes = self._conditions(x, rule, at, with_friction)
            self.left_out = int(rule.cell.size - at.valid.sum())
            # forces by the virtual work: -lambda dG + tau . dU, with multipliers times D_A
            own = rule.duals
            pressure = np.einsum("pn,pn->p", own, nodes.pressure[rule.carrier])
            shear = np.einsum("pn,pna->pa", own, nodes.shear[rule.carrier])
            if not self._slips:
                shear[...] = 0.0
            force = -pressure[:, None] * at.gaps.by_gap + np.einsum("pa,paj->pj", shear, at.by_slip)
            force *= at.weight[:, None]
            force[~at.valid] = 0.0
            rows, _ = self.blocks(closest, history)
            bodies = rows[:, : -own.shape[1]]
            np.add.at(residual, bodies, force.reshape(*bodies.shape, self.dim))
            residual[self.carriers] += nodes.residual
            self._record(out, rule, at, nodes, pressure, force)
            if values is not None:
                self._tangent(rule, at, nodes, pressure, shear, values)
        return np.ascontiguousarray(out.T)

    def _record(
        self,
        out: Floats,
        rule: Rule,
        at: _Points,
        nodes: Multipliers,
        pressure: Floats,
        force: Floats,
    ) -> None:
        """Write gap, tractions, state, heat and force of every recorded point to `out` (OUT, p)."""
        d, n = self.dim, rule.functions.shape[1]

        def summed(values: Floats) -> Floats:
            found = np.bincount(rule.cell, np.where(at.valid, values, 0.0), self.count)
            return np.asarray(found, dtype=np.float64)

        area = summed(at.weight)
        there = area > 0.0

        def mean(values: Floats, none: float = 0.0) -> Floats:
            return np.where(there, summed(at.weight * values) / area, none)

        out[k.GAP], out[k.PRESSURE] = mean(at.gaps.gap, np.inf), mean(pressure)
        # dual functions are discontinuous: figures show nodal values interpolated by N_A
        own = self._functions[k.VALUE].T
        smooth = np.einsum("pn,pn->p", own, nodes.pressure[self._carrier])
        out[_PRESSURE] = np.where(there, smooth, 0.0)
        out[k.STRETCH] = 1.0
        on = -force.reshape(rule.cell.size, -1, d)[:, :n].sum(axis=1)
        for i in range(d):
            out[k.NORMAL_X + i] = mean(at.gaps.normal[:, i])
            out[k.FORCE_X + i] = summed(on[:, i])
        out[k.NORMAL_X : k.NORMAL_X + d] /= k.lengths(out[k.NORMAL_X : k.NORMAL_X + d])
        out[k.NORMAL_X : k.NORMAL_X + d, ~there] = 0.0
        out[k.ORIGIN_2] = np.nan
        for a in range(d - 1):
            out[k.ORIGIN + a] = mean(at.coordinate[:, a], np.nan)
        if not self._slips:
            return
        # a point has the state of the node with the largest shape function
        first = self._carrier[np.arange(self.count), np.argmax(own, axis=1)]
        acts = (out[_PRESSURE] > 0.0) & (nodes.sticks | nodes.slides)[first]
        out[k.STATE] = np.where(acts, np.where(nodes.sticks[first], k.STICKS, k.SLIDES), k.NONE)
        out[k.THRESHOLD] = self._mu * np.maximum(out[_PRESSURE], 0.0)
        excess = np.einsum("pn,pn->p", own, nodes.excess[self._carrier])
        out[k.EXCESS] = np.where(acts, excess, 0.0)
        along = np.einsum("pn,pna->pa", own, nodes.shear[self._carrier])
        rows = [[mean(at.metric[:, a, b]) for b in range(d - 1)] for a in range(d - 1)]
        metric = np.array(rows).transpose(2, 0, 1)
        metric[~there] = np.eye(d - 1)
        size = np.einsum("pa,pab,pb->p", along, np.linalg.inv(metric), along)
        sign = np.sign(along[:, 0]) if d < 3 else 1.0
        out[k.SHEAR] = np.where(there, sign * np.sqrt(np.maximum(size, 0.0)), 0.0)
        # friction heat tau . U of slipping nodes; stick has none
        slides = nodes.slides[:, None] * nodes.shear
        traction = np.einsum("pn,pna->pa", rule.duals, slides[rule.carrier])
        out[k.HEAT] = summed(at.weight * np.einsum("pa,pa->p", traction, at.slip))
        # slip as a vector, by the tangents along the coordinates
        for i in range(d):
            out[k.SLIP_X + i] = mean(np.einsum("pa,pa->p", at.slip, at.tangent[:, :, i]))

    def _tangent(
        self,
        rule: Rule,
        at: _Points,
        nodes: Multipliers,
        pressure: Floats,
        shear: Floats,
        values: Floats,
    ) -> None:
        """Fill in the tangent blocks (p, J d + n d, J d + n d): J nodes, then n multipliers.

        `pressure` (p,) and `shear` (p, m) are lambda and tau at the points; other arguments are
        those of `_record`: the rule, kinematics at its points, and conditions at the nodes.
        """
        d, c, count = self.dim, self.stiffness, rule.cell.size
        m, own, carrier = d - 1, rule.duals, rule.carrier
        n, body = own.shape[1], at.gaps.by_gap.shape[1]
        w = at.weight
        values[...] = 0.0
        twice = -pressure[:, None, None] * at.gaps.gap_twice
        if self._slips:
            twice += np.einsum("pa,pajk->pjk", shear, at.slip_twice)
        values[:, :body, :body] = w[:, None, None] * twice
        # derivatives of forces by multipliers, (p, J d, n, d)
        by_multipliers = np.zeros((count, body, n, d))
        weighted_duals = (w * c)[:, None] * own
        by_multipliers[..., 0] = -at.gaps.by_gap[:, :, None] * weighted_duals[:, None, :]
        if self._slips:
            by_multipliers[..., 1 : 1 + m] = np.einsum("paj,pn->pjna", at.by_slip, weighted_duals)
        values[:, :body, body:] = by_multipliers.reshape(count, body, n * d)
        # derivatives of conditions by positions, (p, n, d, J d)
        rows = np.zeros((count, n, d, body))
        rows[:, :, : 1 + m] = np.einsum("pna,pj->pnaj", nodes.by_gap[carrier], at.gaps.by_gap)
        if self._slips:
            by_slip = np.where(at.known[:, None, None], at.by_slip, 0.0)
            rows[:, :, 1 : 1 + m] += np.einsum("pnab,pbj->pnaj", nodes.by_slip[carrier], by_slip)
        rows *= (w[:, None] * own)[:, :, None, None]
        if self._slips:
            # the mean metric of a node is weighted by N_A, not by D_A
            by_metric = np.einsum("pnabc,pbcj->pnaj", nodes.by_metric[carrier], at.by_metric)
            rows[:, :, 1 : 1 + m] += (w[:, None] * rule.functions)[:, :, None, None] * by_metric
        values[:, body:, :body] = rows.reshape(count, n * d, body)
        # derivatives of conditions by multipliers, proportional to the area of a node, which is
        # divided among its points; a node without valid points keeps its whole area
        area = w[:, None] * rule.functions
        total = np.bincount(carrier.ravel(), area.ravel(), self.carriers.size)
        without_valid = total <= 0.0
        whole = rule.weight[:, None] * rule.functions
        area = np.where(without_valid[carrier], whole, area)
        by_own = np.zeros((count, n, d, n, d))
        for i in range(n):
            block = nodes.by_own[carrier[:, i]] * (c * area[:, i])[:, None, None]
            by_own[:, i, : 1 + m, i, : 1 + m] = block
        values[:, body:, body:] = by_own.reshape(count, n * d, n * d)
        values[~at.valid, :body] = 0.0
        values[~at.valid, body:, :body] = 0.0

    # ------------------------------------------------------------ results for the run

    def without_projection(self, x: Floats, closest: ClosestPoints) -> int:
        """Return how many points in contact lie beyond the end of the partner's boundary.

        Open points may also lack a projection, at corners of the partner; they do not count.
        """
        if self.partner.rigid:
            return 0
        beyond = np.zeros(self.count, dtype=bool)
        for a in range(self.dim - 1):
            before, after = (self.neighbours[closest.element, 2 * a + b] < 0 for b in (0, 1))
            beyond |= (closest.xi[:, a] <= -1.0) & before | (closest.xi[:, a] >= 1.0) & after
        return int(np.sum(beyond & ~closest.normal & (self.closed(x) > 0.0)))

    def shown(self, out: Floats) -> tuple[Floats, Floats]:
        """Return the normal and the tangential traction at points, (p,) each, for figures."""
        return out[:, _PRESSURE], out[:, k.SHEAR]

    def closed(self, x: Floats) -> Floats:
        """Return the fraction of each point's shape functions at nodes under pressure, (p,)."""
        pressure = x[self.carriers, 0] - self.reference[self.carriers, 0]
        touches = (pressure > 0.0).astype(np.float64)
        return np.asarray(np.einsum("pn,pn->p", self._functions[k.VALUE].T, touches[self._carrier]))
