"""Contacts of a run as arrays: closest points, modes, geometry, forces.

`ContactState` has the table of all contacts (`kernels.Contact`). It checks the contacts at the
start of a run, searches for new ones, and records their quantities at saved times. The gap of a
contact is the distance of both axes minus both radii; its mode is OPEN, ROLL or SLIP.
`leapfrog.run` makes one for each run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws.coulomb import Friction
from stiction.rods.assembly import Flat
from stiction.rods.contact import kernels as ck
from stiction.rods.contact import observe_kernels as ok
from stiction.rods.contact.overlap import body_name
from stiction.rods.model import Rods
from stiction.rods.section import Section
from stiction.rods.stability import step_limit
from stiction.rods.state import extremes_kernels as xk

if TYPE_CHECKING:
    from stiction.rods.contact.model import RollingContact
    from stiction.rods.contact.search_kernels import Candidate

__all__ = ["ContactState", "wave_speed"]

Floats = npt.NDArray[np.float64]

# an initial gap below this fraction of the reach counts as closed: given coordinates are rounded
_TOUCHING = 1e-9
# rate of the penetration correction times the stability limit of the step. Chosen below 1, so that
# the fastest wave follows the correction
_CORRECTION_RATE = 0.6
# displacement of nodes, over the smallest radius a, after which overlaps are searched again.
# Between two searches rods move by 2 _OVERLAP_STEP a relative to each other. A chord of this length
# in a circle of radius 2 a is _OVERLAP_STEP^2 a / 4 deep: deeper penetrations are found. Chosen
_OVERLAP_STEP = 0.25
# fields that start at zero when the search adds a pair
_RESET_FIELDS: tuple[str, ...] = (
    "force",
    "drift",
    "slip_speed",
    "stick_excess",
    "normal_force",
    "gap",
)
_RESET_FIELDS += ("pending_mode", "allowed_depth", "place_rates", "held_gap", "unreported_slip")
_RESET_FIELDS += ("bounces_from",)
# as `gauss_seidel_kernels.PARALLEL`
_PARALLEL = float(np.sin(np.deg2rad(10.0)))


class ContactState:
    """Tables of all contacts of a run; kernels change them in place.

    Declared contacts come first (`known`), then room for those of the search; `size` in all.
    `flat` has the arrays of the bodies, see `assembly.Flat`. In the methods c is the number of a
    contact in the table, from 0, and v, p (3, slots) are velocities and momenta over inertia.
    """

    def __init__(self, rods: Rods, flat: Flat) -> None:
        self.rods, self.flat = rods, flat
        known = len(rods.contacts)
        self.known = known
        self.size = size = known + (0 if rods.search is None else rods.search.max_contacts)
        self.contacts = ck.Contact.table(size)
        self.contacts["mode"] = ck.EMPTY
        self.totals, self.motions = ok.Totals.table(), ok.ContactMotion.table(size)
        # contact record for trial positions
        self.trial = ck.Contact.table()
        # normal mobility of nodes [1/kg]
        self.free = flat.mobility(0.0)[0]
        self.given, self.force = np.zeros((size, 3)), np.zeros((size, 3))
        # displacement of nodes after which the search is repeated; `refresh_slots` sets its own
        round_ones = flat.radius[: flat.rods][flat.radius[: flat.rods] > 0.0]
        self.limit = (
            _OVERLAP_STEP * float(round_ones.min(initial=np.inf)) if round_ones.size else 0.0
        )
        self.extremes = xk.Extreme.table(size)
        for name in ("pull", "depth", "parallel", "wave_ratio", "friction", "ignored"):
            self.extremes[name] = xk.NEVER
        # forces below this value are roundoff
        self.noise = 1e-12 * max(rod.section.axial_stiffness for rod in rods.rods)
        self.contacts["noise"] = self.noise
        # a fraction of the rate that the fastest wave could follow
        self.contacts["recovery_rate"] = _CORRECTION_RATE / min(
            step_limit(rod) for rod in rods.rods
        )
        for c, contact in enumerate(rods.contacts):
            a, b = contact.first - 1, contact.second - 1
            self._bind(c, a, b, contact.s1 / flat.ds[a], contact.s2 / flat.ds[b], ck.CROSSING)
            one = self.contacts[c]
            one.may_open, one.mode = int(contact.may_open), ck.ROLL
            one.friction, one.restitution = _mu(contact.friction), contact.restitution
            one.tangential_restitution = contact.tangential_restitution

    @property
    def impulse(self) -> Floats:
        """Impulses of the last kick (contacts, 3), as a view [N s]."""
        return self.contacts["impulse"]

    def _bind(self, c: int, a: int, b: int, s1: float, s2: float, kind: int) -> None:
        """Set bodies a and b, positions s1, s2 [elements] and kind of contact c."""
        f, one = self.flat, self.contacts[c]
        plane = f.shape[b] == ck.PLANE
        one.kind, one.shape, one.rule = ck.LINE if plane else kind, int(f.shape[b]), f.rule
        one.place[0], one.place[1] = s1, s2 if f.shape[b] == ck.CURVE else 0.0
        one.reach = f.radius[a] + f.radius[b]
        for side, body in enumerate((a, b)):
            one.bodies[side], one.first[side], one.elements[side] = (
                body,
                f.first[body],
                f.count[body],
            )
            one.wave_times[side] = self._wave_time(body)
            one.levers[side] = f.radius[body] / one.reach

    def _wave_time(self, b: int) -> float:
        """Return the time in which shear waves pass an element [s]; 0 for a rigid partner."""
        if b >= self.flat.rods:
            return 0.0
        return float(self.flat.ds[b]) / wave_speed(self.rods.rods[b].section)

    def open_slot(self, c: int, candidate: Candidate) -> None:
        """Make contact c, which is empty, one of a pair from the search."""
        search = self.rods.search
        assert search is not None
        bodies, place = candidate.bodies, candidate.place
        self._bind(c, bodies[0], bodies[1], place[0], place[1], candidate.kind)
        one = self.contacts[c]
        one.may_open = one.from_search = 1
        one.friction, one.restitution = _mu(search.friction), search.restitution
        one.tangential_restitution = search.tangential_restitution
        for name in _RESET_FIELDS:
            self.contacts[name][c] = 0
        located = ck.locate(self.flat.r, one) == ck.INSIDE
        one.mode = ck.OPEN if located and self._can_move(c) else ck.EMPTY

    def _can_move(self, c: int) -> bool:
        """Return whether a normal force on contact c moves a body: not if all its nodes are fixed.

        Its normal response is that of `contact.kernels.response`.
        """
        one, free = self.contacts[c : c + 1], self.free
        # the nodes before, at and after the contact; beyond the last slot of all weights are zero
        slots = np.clip(one["nodes"][0][:, None] + np.arange(-1, 5), 0, free.size - 1)
        weights, outer = one["node_weights"][0], one["outer_weights"][0]
        weights = np.column_stack([outer[:, 0], weights, outer[:, 1]])
        # a response below this fraction is rounding of the weights
        return bool((weights**2 * free[slots]).sum() > 1e-12 * free[slots].max())

    def refuse_or_close(self) -> None:
        """Locate every contact at the start and set its mode; raise ModelError if it is invalid."""
        for c, contact in enumerate(self.rods.contacts):
            if contact.project:
                self._check_place(c, contact)
                self._shift(c)
        # a shift moves all contacts of its rod
        for c, contact in enumerate(self.rods.contacts):
            self._check_place(c, contact)
            self._check_gap(c, contact)
        self.contacts["reported_end"] = self.contacts["at_end"]
        if self.rods.search is not None:
            self.search(self.flat)
            self._refuse_overlap()
            self._close_touching()

    def _check_place(self, c: int, contact: RollingContact) -> None:
        """Locate a declared contact; raise ModelError if it is no crossing of bodies that move."""
        where = f"RollingContact {c + 1}"
        one = self.contacts[c]
        if ck.locate(self.flat.r, one) != ck.INSIDE:
            raise ModelError(
                where,
                f"axes without unique closest points near s1 = {contact.s1} m, s2 = {contact.s2} m",
                "axes with unique closest points",
                "the contact point solves two tangency conditions.",
                "check s1 and s2, or the angle between the rods.",
            )
        if one.sine < _PARALLEL and one.at_end == 0:
            angle = np.rad2deg(np.arcsin(one.sine))
            raise ModelError(
                where,
                f"rods that cross at {angle:.3g} degrees",
                "at least 10 degrees",
                "nearly parallel rods touch along a line, not at one point.",
                "turn a rod, or let ContactSearch find several points.",
            )
        for other in range(c):
            places, bodies = (self.contacts[name][[other, c]] for name in ("place", "bodies"))
            # positions in elements; the two rods may be named in either order
            if any(
                np.array_equal(bodies[0, ::order], bodies[1])
                and np.abs(places[0, ::order] - places[1]).max() < 1e-6
                for order in (1, -1)
            ):
                raise ModelError(
                    where,
                    f"the same contact point as that of RollingContact {other + 1}",
                    "another point, or other rods",
                    "the sum of both forces is determined, but not each of them.",
                    "leave out one of the two contacts.",
                )
        if not self._can_move(c):
            raise ModelError(
                where,
                "a contact of nodes that are all fixed or driven",
                "a node that is free to move at the contact",
                "a force at this contact would move no node, so the contact does not determine "
                "the force.",
                "move the contact away from the clamp, or leave the contact out.",
            )

    def _check_gap(self, c: int, contact: RollingContact) -> None:
        """Set the mode of a declared contact; raise ModelError if its surfaces do not touch."""
        one, where = self.contacts[c], f"RollingContact {c + 1}"
        reach = one.reach
        gap = float(one.distance) - reach
        if gap < -_TOUCHING * reach or (gap > _TOUCHING * reach and not contact.may_open):
            what = "interpenetrate" if gap < 0.0 else "are apart"
            raise ModelError(
                where,
                f"rods that {what} by {abs(gap):.6g} m at the start",
                f"surfaces that touch: axes {reach:.6g} m apart",
                "rolling contact preserves the initial distance of the axes.",
                "move a rod, or give project = True to move the second one."
                if contact.second <= self.flat.rods
                else "move the rod.",
            )
        if gap > _TOUCHING * reach:
            one.mode = ck.OPEN

    def _close_touching(self) -> None:
        """Close contacts from the search whose initial gap is zero.

        A contact that approaches stays open, because it has an impact first. So does a contact
        without a friction law that slips.
        """
        # a velocity below 1e-12 of the largest one is rounding
        f, scale = self.flat, 1e-12 * max(float(np.abs(self.flat.v).max()), 1e-300)
        for c in range(self.known, self.size):
            one = self.contacts[c]
            if one.mode != ck.OPEN or one.distance > (1.0 + _TOUCHING) * one.reach:
                continue
            slip = np.array(ck.slip_velocity(f.q, one, f.v, f.p))
            speed = float(np.abs(slip).max())
            if np.isfinite(one.friction):
                speed = abs(float(slip @ self.contacts["normal"][c]))
            if speed <= scale:
                one.mode, one.reported_end = ck.ROLL, one.at_end

    def _refuse_overlap(self) -> None:
        """Raise ModelError if a pair from the search penetrates at the start."""
        for c in range(self.known, self.size):
            one = self.contacts[c]
            gap = float(one.distance - one.reach)
            if one.mode == ck.OPEN and gap < -_TOUCHING * one.reach:
                numbers = self.contacts["bodies"][c] + 1
                a, b = (body_name(int(n), self.flat.rods) for n in numbers)
                raise ModelError(
                    "Rods",
                    f"{a} and {b} that interpenetrate by {-gap:.6g} m at the start",
                    f"axes at least {one.reach:.6g} m apart",
                    "surfaces in contact do not penetrate each other.",
                    "move a rod, or take thinner ones.",
                )

    def _shift(self, c: int) -> None:
        """Move the second rod with its clamps along the normal until the gap is zero."""
        one, driven = self.contacts[c], self.flat.driven
        first, elements = int(one.first[1]), int(one.elements[1])
        part = slice(first, first + elements + 1)
        held = (driven["slot"] >= first) & (driven["slot"] <= first + elements)
        held &= driven["is_frame"] == 0
        start = self.flat.r[:, first].copy()
        for _ in range(4):
            gap = float(one.distance - one.reach)
            normal = self.contacts["normal"][c].copy()
            self.flat.r[:, part] -= gap * normal[:, None]
            ck.locate(self.flat.r, one)
        moved = self.flat.r[:, first] - start
        driven["origin"][held] += moved
        driven["start"][held, :3] += moved

    def search(self, flat: Flat) -> None:
        """Search for near pairs; existing contacts remain."""
        from stiction.rods.contact.search import refresh_slots

        refresh_slots(self, flat)

    def survey(self, v: Floats, p: Floats) -> ok.Totals:
        """Return energies and momenta for v, p; compute the rates of contact points."""
        f = self.flat
        ok.survey(f.r, f.q, v, p, f.mat, self.contacts, self.totals, self.motions)
        return self.totals[0]

    def contact_loads(self, forces: Floats) -> tuple[Floats, Floats]:
        """Return (3, slots) forces on nodes [N] and torques on elements [N m] by contact forces.

        forces : (contacts, 3) on the first rods [N]
        """
        f = self.flat
        push, twist = np.zeros_like(f.v), np.zeros_like(f.p)
        closed = np.flatnonzero(self.contacts["mode"] >= ck.ROLL)
        if not closed.size:
            return push, twist
        k, force = self.contacts[closed], forces[closed]
        moment, four = np.cross(k["separation"], force), np.arange(4)
        for side, sign in ((0, 1.0), (1, -1.0)):
            first = k["nodes"][:, side, None]
            weights = sign * k["node_weights"][:, side]
            np.add.at(push.T, first + four, weights[:, :, None] * force[:, None, :])
            # beyond the last slot of all weights are zero
            outer_nodes = np.clip(first + np.array([-1, 4]), 0, push.shape[1] - 1)
            outer = sign * k["outer_weights"][:, side]
            np.add.at(push.T, outer_nodes, outer[:, :, None] * force[:, None, :])
            elements = k["frames"][:, side, None] + four
            np.add.at(twist.T, elements, k["frame_weights"][:, side, :, None] * moment[:, None, :])
        return push, twist

    def observe(self, k: int, out: dict[str, Floats]) -> None:
        """Write the contact quantities of the last survey into sample k of the arrays in `out`."""
        out["contact_impact_loss"][k] = self.contacts["impact_loss"]
        out["contact_impulse"][k] = self.contacts["impact_impulse"]
        for c in range(self.size):
            one, mode = self.contacts[c], int(self.contacts["mode"][c])
            if mode == ck.EMPTY:
                continue
            force, normal = self.force[c], self.contacts["normal"][c]
            ds1, ds2 = self.flat.ds[self.contacts["bodies"][c]]
            rate1, rate2 = self.motions["place_rates"][c]
            slip = self.motions["slip"][c].copy()
            slip -= (slip @ normal) * normal
            if mode == ck.ROLL and one.may_open:
                force = _allowed(force, normal, float(one.friction))
            along = float(force @ normal)
            tangential = float(np.linalg.norm(force - along * normal))
            values = {
                "s1": one.place[0] * ds1,
                "s2": one.place[1] * ds2,
                "s1_rate": rate1 * ds1,
                "s2_rate": rate2 * ds2,
                "lambda_n": along,
                "gap": one.distance - one.reach,
                "rolling_residual": float(np.linalg.norm(slip)) if mode == ck.ROLL else np.nan,
                "friction_ratio": tangential / abs(along) if abs(along) > self.noise else 0.0,
                "det_A": one.determinant,
                "crossing_angle": float(np.arcsin(min(1.0, one.sine))),
                "slip_speed": float(np.linalg.norm(slip)),
                "contact_mode": float(mode),
                "line_contact": float(one.kind == ck.LINE),
                "at_end": float(one.at_end),
                "normal_force": -along,
                "first_body": float(one.bodies[0] + 1),
                "second_body": float(one.bodies[1] + 1),
            }
            for name, value in values.items():
                out[name][k, c] = value
            out["contact_force"][k, c], out["slip_velocity"][k, c] = force, slip
            out["contact_point"][k, c] = self.motions["point"][c]


def wave_speed(section: Section) -> float:
    """Return the speed of shear waves in a rod [m/s]."""
    return math.sqrt(section.shear_stiffness / section.line_density)


def _allowed(force: Floats, normal: Floats, mu: float) -> Floats:
    """Return the rolling force of a contact [N], limited to the bound of its friction law.

    It differs from `force` only if the contact is about to slip or open, for example at the start.
    """
    press = -float(force @ normal)
    if press <= 0.0:
        return np.zeros(3)
    tangential = force + press * normal
    size = float(np.linalg.norm(tangential))
    return tangential * min(1.0, mu * press / max(size, 1e-300)) - press * normal


def _mu(friction: Friction | None) -> float:
    """Return Coulomb's coefficient; infinite for perfect rolling."""
    return np.inf if friction is None else float(friction.table(1).mu_static[0])
