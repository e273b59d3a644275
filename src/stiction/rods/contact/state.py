"""The contacts of a run as arrays: places, modes, geometry, forces."""

from __future__ import annotations

import math

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

__all__ = ["ContactState", "wave_speed"]

Floats = npt.NDArray[np.float64]

# gaps below this part of the reach count as touching at the start
_TOUCHING = 1e-9
# of the depth in which a contact was found, what comes out in a stability limit
_EASE = 0.6
# of the smallest radius: what passes through is seen inside; what grazes deeper than
# _LOOK^2 / 4 radii is, too
_LOOK = 0.25
_PARALLEL = float(np.sin(np.deg2rad(10.0)))


class ContactState:
    """Arrays of all contact slots; kernels change them in place."""

    def __init__(self, rods: Rods, flat: Flat) -> None:
        self.rods, self.flat = rods, flat
        known = len(rods.contacts)
        self.known = known
        self.size = size = known + (0 if rods.search is None else rods.search.most)
        self.place = np.zeros((size, 2))
        self.index = np.zeros((size, ck.INDEX_COLUMNS), dtype=np.int64)
        self.index[:, ck.MODE] = ck.EMPTY
        self.index[:, ck.CLOSED_AT] = -1000
        self.geom = np.zeros((size, ck.GEOM_COLUMNS))
        self.law = np.zeros((size, ck.LAW_COLUMNS))
        self.kick = np.zeros((size, ck.KICK_COLUMNS))
        self.whole, self.each = np.zeros(ok.WHOLE_ENTRIES), np.zeros((size, ok.EACH_COLUMNS))
        # one row each, for a place that is only tried
        self.trial = (
            np.zeros((1, 2)),
            np.zeros((1, ck.INDEX_COLUMNS), dtype=np.int64),
            np.zeros((1, ck.GEOM_COLUMNS)),
        )
        self.given, self.force = np.zeros((size, 3)), np.zeros((size, 3))
        # how far a node moves before pairs are looked at again; a search sets its own
        round_ones = flat.radius[: flat.rods][flat.radius[: flat.rods] > 0.0]
        self.limit = _LOOK * float(round_ones.min(initial=np.inf)) if round_ones.size else 0.0
        self.extremes = np.zeros((size, xk.EXTREMES))
        self.extremes[:, [xk.PULL, xk.DEPTH, xk.PARALLEL, xk.FAST, xk.RUB, xk.IGNORED]] = xk.NEVER
        # forces below this are rounding
        self.noise = 1e-12 * max(rod.section.axial_stiffness for rod in rods.rods)
        self.law[:, ck.NOISE] = self.noise
        # a part of what the fastest wave could follow
        self.law[:, ck.EASE] = _EASE / min(step_limit(rod) for rod in rods.rods)
        for c, contact in enumerate(rods.contacts):
            a, b = contact.first - 1, contact.second - 1
            self._bind(c, a, b, contact.s1 / flat.ds[a], contact.s2 / flat.ds[b], ck.CROSSING)
            self.index[c, ck.OPENS] = int(contact.may_open)
            self.law[c, ck.MU] = _mu(contact.friction)
            self.law[c, ck.RESTITUTION] = contact.restitution
            self.law[c, ck.TANGENTIAL] = contact.tangential_restitution
            self.index[c, ck.MODE] = ck.ROLL

    @property
    def impulse(self) -> Floats:
        """Impulses of the last kick (contacts, 3), as a view [N s]."""
        return self.kick[:, ck.P : ck.P + 3]

    def _bind(self, c: int, a: int, b: int, s1: float, s2: float, kind: int) -> None:
        f = self.flat
        self.index[c, [ck.ROD1, ck.ROD2, ck.KIND]] = a, b, kind
        self.index[c, [ck.FIRST1, ck.FIRST2]] = f.first[a], f.first[b]
        self.index[c, [ck.COUNT1, ck.COUNT2]] = f.count[a], f.count[b]
        self.index[c, ck.SHAPE], self.index[c, ck.RULE] = f.shape[b], f.rule
        if f.shape[b] != ck.CURVE:
            s2 = 0.0
        if f.shape[b] == ck.PLANE:
            self.index[c, ck.KIND] = ck.LINE
        self.place[c] = s1, s2
        reach = f.radius[a] + f.radius[b]
        self.law[c, ck.REACH] = reach
        self.law[c, ck.SLOW : ck.SLOW + 2] = self._wave_time(a), self._wave_time(b)
        self.geom[c, ck.LEVER : ck.LEVER + 2] = f.radius[a] / reach, f.radius[b] / reach

    def _wave_time(self, b: int) -> float:
        """Return the time in which shear waves pass an element of a body [s]; 0 of a partner."""
        if b >= self.flat.rods:
            return 0.0
        return float(self.flat.ds[b]) / wave_speed(self.rods.rods[b].section)

    def open_slot(self, c: int, row: Floats) -> None:
        """Watch a pair that a search found, a row as `search_kernels` describes it."""
        from stiction.rods.contact import search_kernels as sk

        search = self.rods.search
        assert search is not None
        kind, s1, s2 = int(row[sk.KIND_OF]), float(row[sk.S_A]), float(row[sk.S_B])
        self._bind(c, int(row[sk.A]), int(row[sk.B]), s1, s2, kind)
        self.index[c, ck.OPENS] = self.index[c, ck.FOUND] = 1
        self.law[c, ck.MU] = _mu(search.friction)
        self.law[c, ck.RESTITUTION] = search.restitution
        self.law[c, ck.TANGENTIAL] = search.tangential_restitution
        self.index[c, ck.CLOSED_AT] = -1000
        self.kick[c, ck.FORCE_C : ck.ONSET] = 0.0
        code = ck.locate(self.flat.r, c, self.place, self.index, self.geom)
        self.index[c, ck.MODE] = ck.OPEN if code == ck.INSIDE else ck.EMPTY

    def refuse_or_close(self) -> None:
        """Find every contact at the start: closed, open, or refused with an error."""
        for c, contact in enumerate(self.rods.contacts):
            where = f"RollingContact {c + 1}"
            code = ck.locate(self.flat.r, c, self.place, self.index, self.geom)
            if code != ck.INSIDE:
                raise ModelError(
                    where,
                    f"axes without a nearest pair of points near s1 = {contact.s1} m, "
                    f"s2 = {contact.s2} m",
                    "a crossing",
                    "the contact point solves two tangency conditions.",
                    "check s1 and s2, or the angle between the rods.",
                )
            if self.geom[c, ck.TANGENCY] < _PARALLEL and self.index[c, ck.AT_END] == 0:
                angle = np.rad2deg(np.arcsin(self.geom[c, ck.TANGENCY]))
                raise ModelError(
                    where,
                    f"rods that cross at {angle:.3g} degrees",
                    "at least 10 degrees",
                    "nearly parallel rods touch along a line, not at one point.",
                    "turn a rod, or let ContactSearch find several points.",
                )
            reach = self.law[c, ck.REACH]
            gap = float(self.geom[c, ck.DISTANCE]) - reach
            if contact.project and abs(gap) > 0.0:
                self._shift(c, gap)
                gap = float(self.geom[c, ck.DISTANCE]) - reach
            if gap < -_TOUCHING * reach or (gap > _TOUCHING * reach and not contact.may_open):
                what = "interpenetrate" if gap < 0.0 else "are apart"
                raise ModelError(
                    where,
                    f"rods that {what} by {abs(gap):.6g} m at the start",
                    f"surfaces that touch: axes {reach:.6g} m apart",
                    "rolling contact keeps the distance that the axes start with.",
                    "move a rod, or give project = True to move the second one."
                    if contact.second <= self.flat.rods
                    else "move the rod.",
                )
            if gap > _TOUCHING * reach:
                self.index[c, ck.MODE] = ck.OPEN
        self.index[:, ck.TOLD_END] = self.index[:, ck.AT_END]
        if self.rods.search is not None:
            self.search(self.flat)
            self._refuse_overlap()
            self._close_touching()

    def _close_touching(self) -> None:
        """Close contacts that were found where surfaces touch at the start, and stay so.

        What closes in strikes first, and what has no bound of friction rolls behind an impact only.
        """
        f, scale = self.flat, 1e-12 * max(float(np.abs(self.flat.v).max()), 1e-300)
        for c in range(self.known, self.size):
            far = self.geom[c, ck.DISTANCE] > (1.0 + _TOUCHING) * self.law[c, ck.REACH]
            if self.index[c, ck.MODE] != ck.OPEN or far:
                continue
            slip = np.array(ck.slip_velocity(f.q, c, self.index, self.geom, f.v, f.p))
            normal = float(slip @ self.geom[c, ck.N : ck.N + 3])
            speed = float(np.abs(slip).max()) if np.isinf(self.law[c, ck.MU]) else abs(normal)
            if speed <= scale:
                self.index[c, ck.MODE] = ck.ROLL
                self.index[c, ck.TOLD_END] = self.index[c, ck.AT_END]

    def _refuse_overlap(self) -> None:
        """Raise ModelError if a pair that was found interpenetrates at the start."""
        for c in range(self.known, self.size):
            gap = float(self.geom[c, ck.DISTANCE] - self.law[c, ck.REACH])
            if self.index[c, ck.MODE] == ck.OPEN and gap < -_TOUCHING * self.law[c, ck.REACH]:
                numbers = self.index[c, [ck.ROD1, ck.ROD2]] + 1
                a, b = (body_name(int(n), self.flat.rods) for n in numbers)
                raise ModelError(
                    "Rods",
                    f"{a} and {b} that interpenetrate by {-gap:.6g} m at the start",
                    f"axes at least {self.law[c, ck.REACH]:.6g} m apart",
                    "contact keeps surfaces from passing through each other.",
                    "move a rod, or take thinner ones.",
                )

    def _shift(self, c: int, gap: float) -> None:
        """Move the second rod along the normal so that the surfaces touch."""
        b = self.index[c, ck.ROD2]
        part = slice(int(self.flat.first[b]), int(self.flat.first[b] + self.flat.count[b] + 1))
        for _ in range(4):
            normal = self.geom[c, ck.N : ck.N + 3].copy()
            self.flat.r[:, part] -= gap * normal[:, None]
            ck.locate(self.flat.r, c, self.place, self.index, self.geom)
            gap = float(self.geom[c, ck.DISTANCE] - self.law[c, ck.REACH])

    def search(self, flat: Flat) -> None:
        """Find pairs of rods that are near each other; keep those that are known already."""
        from stiction.rods.contact.search import refresh_slots

        refresh_slots(self, flat)

    def survey(self, v: Floats, p: Floats) -> Floats:
        """Return energies and momenta, as `observe_kernels` has them; see how contacts move."""
        f = self.flat
        ok.survey(f.r, f.q, v, p, f.mat, self.place, self.index, self.geom, self.whole, self.each)
        return self.whole

    def pushes(self, forces: Floats) -> tuple[Floats, Floats]:
        """Return (3, slots) forces and torques of `forces` (contacts, 3) on nodes and frames."""
        f = self.flat
        push, twist = np.zeros_like(f.v), np.zeros_like(f.p)
        closed = np.flatnonzero(self.index[:, ck.MODE] >= ck.ROLL)
        if not closed.size:
            return push, twist
        g, index, force = self.geom[closed], self.index[closed], forces[closed]
        turn, four = np.cross(g[:, ck.D : ck.D + 3], force), np.arange(4)
        for side, sign in ((0, 1.0), (1, -1.0)):
            nodes = index[:, ck.NODE1 + side, None] + four
            weights = sign * g[:, ck.B1 + 4 * side + four]
            np.add.at(push.T, nodes, weights[:, :, None] * force[:, None, :])
            # beyond the ends of all rods there is no slot, and no weight
            beside = index[:, ck.NODE1 + side, None] + np.array([-1, 4])
            beside = np.clip(beside, 0, push.shape[1] - 1)
            outer = sign * g[:, ck.OUTER + 2 * side + four[:2]]
            np.add.at(push.T, beside, outer[:, :, None] * force[:, None, :])
            elements = index[:, ck.ELEM1 + side, None] + four
            weights = g[:, ck.E1 + 4 * side + four]
            np.add.at(twist.T, elements, weights[:, :, None] * turn[:, None, :])
        return push, twist

    def observe(self, k: int, out: dict[str, Floats]) -> None:
        """Write what the last survey says of every contact into row k of the arrays in `out`."""
        out["contact_impact_loss"][k] = self.kick[:, ck.LOST]
        out["contact_impulse"][k] = self.kick[:, ck.BLOW : ck.BLOW + 3]
        for c in range(self.size):
            mode = int(self.index[c, ck.MODE])
            if mode == ck.EMPTY:
                continue
            g, force = self.geom[c], self.force[c]
            normal = g[ck.N : ck.N + 3]
            ds1, ds2 = self.flat.ds[self.index[c, [ck.ROD1, ck.ROD2]]]
            rate1, rate2 = self.each[c, ok.RATES : ok.RATES + 2]
            slip = self.each[c, ok.SLIPPING : ok.SLIPPING + 3].copy()
            slip -= (slip @ normal) * normal
            if mode == ck.ROLL and self.index[c, ck.OPENS]:
                force = _allowed(force, normal, float(self.law[c, ck.MU]))
            along = float(force @ normal)
            rub = float(np.linalg.norm(force - along * normal))
            row = {
                "s1": self.place[c, 0] * ds1,
                "s2": self.place[c, 1] * ds2,
                "s1_rate": rate1 * ds1,
                "s2_rate": rate2 * ds2,
                "lambda_n": along,
                "gap": g[ck.DISTANCE] - self.law[c, ck.REACH],
                "rolling_residual": float(np.linalg.norm(slip)) if mode == ck.ROLL else np.nan,
                "friction_ratio": rub / abs(along) if abs(along) > self.noise else 0.0,
                "det_A": g[ck.TANGENCY + 1],
                "crossing_angle": float(np.arcsin(min(1.0, g[ck.TANGENCY]))),
                "slip_speed": float(np.linalg.norm(slip)),
                "contact_mode": float(mode),
                "line_contact": float(self.index[c, ck.KIND] == ck.LINE),
                "at_end": float(self.index[c, ck.AT_END]),
                "normal_force": -along,
                "first_body": float(self.index[c, ck.ROD1] + 1),
                "second_body": float(self.index[c, ck.ROD2] + 1),
            }
            for name, value in row.items():
                out[name][k, c] = value
            out["contact_force"][k, c], out["slip_velocity"][k, c] = force, slip
            out["contact_point"][k, c] = self.each[c, ok.POINT : ok.POINT + 3]


def wave_speed(section: Section) -> float:
    """Return the speed of shear waves in a rod [m/s]."""
    return math.sqrt(section.shear_stiffness / section.line_density)


def _allowed(force: Floats, normal: Floats, mu: float) -> Floats:
    """Return the force that keeps a contact rolling, cut to what its law lets it carry.

    The two differ only where the contact is about to slip or open, as it may be at the start.
    """
    press = -float(force @ normal)
    if press <= 0.0:
        return np.zeros(3)
    rub = force + press * normal
    size = float(np.linalg.norm(rub))
    return rub * min(1.0, mu * press / max(size, 1e-300)) - press * normal


def _mu(friction: Friction | None) -> float:
    """Return Coulomb's coefficient; infinite for perfect rolling."""
    return np.inf if friction is None else float(friction.table(1).mu_static[0])
