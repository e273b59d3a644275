"""Arches that snap or lean to a side, alone and on a floor: every method, and a second method.

A circular arch of thickness 1 and span 40 is built in at both ends, of a compressible neo-Hookean
material in plane strain, and its upper side carries a dead load, even along its length. A low arch
snaps at a limit point, a high one leans to a side before. On a floor, 0.2 below its crown, a high
arch comes to rest before it leans, and leans at a higher load: frictionless contact, unilateral by
the straight wall of a law without tension.

The second method shares no code with the package: displacements are products of polynomials
along and across the whole arch that vanish at the ends, of one symmetry, integrated by Gauss's
rule, with dense matrices; the way of the crown is the control, on a floor the load. Its limit
point is the largest load of the symmetric path; its bifurcation, where the lowest eigenvalue of
the modes that are not symmetric is zero. Degrees 16 and 28 agree to 1e-6, on the floor to 1e-4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.optimize import brentq, minimize_scalar
from tally import Tally

import stiction as st
from stiction import solids as so
from stiction.laws import Frictionless, LennardJones

POISSON = 0.0
# parities of displacements along and across the symmetry of an arch
KINDS = {"even": (1, 0), "odd": (0, 1)}
# the wall of the flat, soft enough for polynomials: a spring of 0.015 of the modulus over the
# thickness, from a gap on
WALL = LennardJones.from_strength(1e-3, 1e-3, adhesive=False)
STIFF, BEGINS = 0.0151875, 1.0264004785593348
# the part of the lower side that sees the floor
WIDE = 0.1


class Arch(NamedTuple):
    """An arch of thickness 1: span, and height of its crown over its ends."""

    span: float
    rise: float

    def place(self, s, t):
        """Return places at s along and t across, both on [0, 1]."""
        radius = 0.5 * (0.25 * self.span**2 + self.rise**2) / self.rise
        half = np.arcsin(0.5 * self.span / radius)
        angle, r = half * (2.0 * s - 1.0), radius + t - 0.5
        return r * np.sin(angle), r * np.cos(angle) - radius * np.cos(half)


# ------------------------------------------------------------ the second method


class Ritz:
    """An arch in polynomials: energy, forces, stiffness of displacements of one symmetry.

    Parameters
    ----------
    arch : its shape
    along, across : degrees
    floor : how far below the crown a floor lies; None for no floor
    """

    def __init__(self, arch: Arch, along: int = 22, across: int = 3, floor: float | None = None):
        self.arch, self.floor = arch, floor
        self.mu = 0.5 / (1.0 + POISSON)
        self.lam = POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
        gauss, weight = legendre.leggauss(2 * along)
        height, share = legendre.leggauss(across + 3)
        s, t = (v.ravel() for v in np.meshgrid(gauss, height, indexing="ij"))
        w = np.outer(weight, share).ravel()
        jacobian = self._jacobian(s, t)
        inverse = np.linalg.inv(jacobian)
        self.weight = w * np.linalg.det(jacobian)
        self.gradients, self.square = {}, {}
        for kind, parities in KINDS.items():
            parts = []
            for component, parity in enumerate(parities):
                _, ds, dt = self._functions(s, t, along, across, parity)
                slopes = np.einsum("qji,iqn->qjn", inverse, np.stack([ds, dt]))
                parts.append((component, slopes))
            size = sum(p[1].shape[2] for p in parts)
            g = np.zeros((s.size, 2, 2, size))
            first = 0
            for component, slopes in parts:
                g[:, component, :, first : first + slopes.shape[2]] = slopes
                first += slopes.shape[2]
            self.gradients[kind] = g
            flat = g.reshape(-1, size)
            self.square[kind] = self.mu * flat.T @ (np.repeat(self.weight, 4)[:, None] * flat)
        self.load, self.crown = self._upper(along, across)
        if floor is not None:
            self._lower(along, across)

    def _side(self, side, along, across):
        """Return weights, heights, and functions of both symmetries on a side, many points."""
        pieces = np.linspace(-1.0, 1.0, 161)
        gauss, weight = legendre.leggauss(6)
        half = 0.5 * np.diff(pieces)
        s = (0.5 * (pieces[1:] + pieces[:-1])[:, None] + half[:, None] * gauss).ravel()
        t = np.full_like(s, side)
        tangent = self._jacobian(s, t)[:, 0]
        areas = (half[:, None] * weight).ravel() * np.hypot(tangent[:, 0], tangent[:, 1])
        lifts = {}
        for kind, parities in KINDS.items():
            other, level = (self._functions(s, t, along, across, p)[0] for p in parities)
            lifts[kind] = np.concatenate([np.zeros_like(other), level], axis=1)
        return areas, np.asarray(self.arch.place(0.5 + 0.5 * s, 0.5 + 0.5 * t)[1]), lifts

    def _upper(self, along, across):
        """Return forces of a load of one, and what the crown moves by."""
        areas, _, lifts = self._side(1.0, along, across)
        load = -areas @ lifts["even"]
        crown, _, _ = self._functions(np.zeros(1), np.ones(1), along, across, 0)
        return load, np.concatenate([np.zeros(load.size - crown.shape[1]), crown[0]])

    def _lower(self, along, across):
        self.areas, self.heights, self.lifts = self._side(-1.0, along, across)
        self.areas[np.abs(np.linspace(-1.0, 1.0, 2 * 160 + 1)[1::2]).repeat(6) > WIDE] = 0.0
        self.level = self.arch.rise - 0.5 - self.floor - BEGINS

    def _jacobian(self, s, t):
        """Return d (x, y) / d (s, t), (p, 2, 2) with s, t in rows, by differences of the map."""
        h = 1e-5
        rows = []
        for ds, dt in ((h, 0.0), (0.0, h)):
            high = np.stack(self.arch.place(0.5 + 0.5 * (s + ds), 0.5 + 0.5 * (t + dt)), axis=1)
            low = np.stack(self.arch.place(0.5 + 0.5 * (s - ds), 0.5 + 0.5 * (t - dt)), axis=1)
            rows.append((high - low) / (2.0 * h))
        return np.stack(rows, axis=1)

    @staticmethod
    def _functions(s, t, along, across, parity):
        """Return products of polynomials (p, n), zero at s = +-1, and their derivatives."""
        values, slopes = [], []
        for degree in range(parity, along + 1, 2):
            p = legendre.Legendre.basis(degree)
            d = p.deriv()
            values.append((1.0 - s * s) * p(s))
            slopes.append((1.0 - s * s) * d(s) - 2.0 * s * p(s))
        a, da = np.stack(values), np.stack(slopes)
        b = np.stack([legendre.Legendre.basis(k)(t) for k in range(across + 1)])
        db = np.stack([legendre.Legendre.basis(k).deriv()(t) for k in range(across + 1)])

        def made(x, y):
            return np.einsum("ip,jp->pij", x, y).reshape(s.size, -1)

        return made(a, b), made(da, b), made(a, db)

    def forces(self, c, kind="even"):
        """Return internal forces, and the stiffness of modes of a symmetry about it."""
        g = self.gradients["even"]
        f = np.eye(2) + (g.reshape(-1, c.size) @ c).reshape(-1, 2, 2)
        j = f[:, 0, 0] * f[:, 1, 1] - f[:, 0, 1] * f[:, 1, 0]
        if np.any(j <= 0.0):
            raise FloatingPointError
        co = np.empty_like(f)
        co[:, 0, 0], co[:, 1, 1] = f[:, 1, 1], f[:, 0, 0]
        co[:, 0, 1], co[:, 1, 0] = -f[:, 1, 0], -f[:, 0, 1]
        first = (self.lam * np.log(j) - self.mu) / j
        stress = self.mu * f + first[:, None, None] * co
        count = self.weight.size
        weighed = (self.weight[:, None, None] * stress).reshape(-1)
        force = weighed @ g.reshape(weighed.size, -1)
        # d stress = mu dF + psi_jj (cof : dF) cof + psi_j d cof
        h = self.gradients[kind]
        second = (self.lam - first * j) / j**2
        along = np.matmul(co.reshape(count, 1, 4), h.reshape(count, 4, -1))[:, 0]
        k = self.square[kind].copy()
        k += (along * (self.weight * second)[:, None]).T @ along
        turn = (self.weight * first)[:, None]
        one, other = h[:, 0, 0] * turn, h[:, 0, 1] * turn
        cross = one.T @ h[:, 1, 1] - other.T @ h[:, 1, 0]
        return force, k + cross + cross.T

    def touch(self, c, kind="even"):
        """Return what the floor does: force on modes, and stiffness of those of a symmetry."""
        if self.floor is None:
            return 0.0, 0.0
        gap = self.heights + self.lifts["even"] @ c - self.level
        near = gap < BEGINS
        push = np.where(near, STIFF * (BEGINS - gap), 0.0)
        lift = self.lifts[kind]
        stiff = (lift * (STIFF * self.areas * near)[:, None]).T @ lift
        return -self.lifts["even"].T @ (self.areas * push), stiff

    def lowered(self, way, c, load=0.0):
        """Return coefficients and load where the crown has gone down by a way."""
        for _ in range(40):
            force, k = self.forces(c)
            both = np.linalg.solve(k, np.stack([load * self.load - force, self.load], axis=1))
            more = (-way - self.crown @ (c + both[:, 0])) / (self.crown @ both[:, 1])
            step = both[:, 0] + more * both[:, 1]
            c, load = c + step, load + more
            if np.abs(step).max() < 1e-11 * max(1.0, np.abs(c).max()):
                return c, load
        raise FloatingPointError(f"no balance at {way}")

    def loaded(self, load, c):
        """Return coefficients under a load; steps that make it worse are halved."""

        def left(c):
            force, k = self.forces(c)
            push, stiff = self.touch(c)
            return force + push - load * self.load, k + stiff

        r, k = left(c)
        for _ in range(80):
            step, size = np.linalg.solve(k, -r), np.linalg.norm(r)
            for _ in range(12):
                found = left(c + step)
                if np.linalg.norm(found[0]) < size:
                    break
                step = 0.5 * step
            c, (r, k) = c + step, found
            if np.abs(step).max() < 1e-11 * max(1.0, np.abs(c).max()):
                return c
        raise FloatingPointError(f"no balance at {load}")

    def lowest(self, c):
        """Return the lowest eigenvalue of modes that are not symmetric."""
        return float(np.linalg.eigvalsh(self.forces(c, "odd")[1] + self.touch(c, "odd")[1])[0])

    def limit(self, most, steps=40):
        """Return the largest load of the symmetric path, up to a way of the crown."""
        c, load, known = np.zeros(self.load.size), 0.0, []
        ways = np.linspace(0.0, most, steps + 1)[1:]
        for way in ways:
            c, load = self.lowered(way, c, load)
            known.append((c, load))
        top = int(np.argmax(np.diff([row[1] for row in known]) < 0.0))
        near = known[top]
        ends = (ways[max(top - 1, 0)], ways[top + 1])
        found = minimize_scalar(
            lambda way: -self.lowered(way, *near)[1], bounds=ends, options={"xatol": 1e-9}
        )
        return -float(found.fun)

    def lean(self, most, steps=40):
        """Return the first load, up to a largest one, at which the arch may lean."""
        c, before = np.zeros(self.load.size), 0.0
        for load in np.linspace(0.0, most, steps + 1)[1:]:
            c = self.loaded(load, c)
            if self.lowest(c) < 0.0:
                break
            before = load
        else:
            return float("nan")
        return float(brentq(lambda q: self.lowest(self.loaded(q, c)), before, load))


# ------------------------------------------------------------ the package


def solid(arch: Arch, end: float, floor: float | None = None, cells=(80, 2)) -> st.Solid:
    """Return an arch under a load of `end` at time 1."""
    mesh, contacts = so.block(arch.place, cells), []
    if floor is not None:
        first, wide = round(0.5 * (1.0 - WIDE) * cells[0]), round(WIDE * cells[0])
        mesh = mesh.split("bottom", first, "before", "rest").split("rest", wide, "sole", "after")
        plane = so.RigidPlane((0.0, arch.rise - 0.5 - floor - float(WALL.gap_eq)), (0.0, 1.0))
        contacts = [so.Contact(so.Boundary(0, "sole"), plane, WALL, Frictionless())]
    load = so.Traction(so.Boundary(0, "top"), 1, so.Program((0.0, 1.0), (0.0, -end)))
    held = [so.Fixed(so.Boundary(0, "left")), so.Fixed(so.Boundary(0, "right")), load]
    body = so.Body(mesh, so.Q2(), so.NeoHookean(1.0, POISSON))
    return st.Solid([body], contacts, held, dimensionless=True)


METHODS = {
    "load steps": lambda n: so.Quasistatic(steps=n, max_halvings=10),
    "branch": lambda n: so.Quasistatic(steps=n, max_halvings=10, on_bifurcation=so.FollowBranch()),
    "continuation": lambda n: st.Continuation(steps=n, max_steps=2 * n),
    "path and branch": lambda n: st.Continuation(
        steps=n, max_steps=2 * n, on_bifurcation=so.FollowBranch()
    ),
}


def reported(method: object, arch: Arch, end: float, floor: float | None, kinds: tuple[str, ...]):
    """Return the load of the first loss of these kinds, NaN for none, and the first report."""
    run = st.solve(solid(arch, end, floor), method, throw=False)
    losses = run.determinism.losses
    places = [loss for loss in losses if loss.kind in kinds]
    first = losses[0].kind if losses else run.status.name
    if not run.status.ok and not losses:
        # no balance beyond: the run ends there, and says so
        return float(run.time[-1]) * end, first
    if not places:
        return float("nan"), first
    where = places[0].where
    return float(str(where.get("program_time", places[0].time))) * end, first


class Case(NamedTuple):
    """An arch, its floor, and the load that the second method knows."""

    arch: Arch
    floor: float | None
    kinds: tuple[str, ...]
    load: float


def cases() -> dict[str, Case]:
    """Return the arches, with their loads by the second method."""
    low, high = Arch(40.0, 2.0), Arch(40.0, 4.0)
    lean, snap = ("bifurcation",), ("limit_point", "quasistatic_jump")
    return {
        "low arch, limit point": Case(low, None, snap, Ritz(low, 28).limit(1.4)),
        "high arch, leans": Case(high, None, lean, Ritz(high, 28).lean(7.5e-5)),
        "high arch on a floor, leans": Case(high, 0.4, lean, Ritz(high, 32, 3, 0.4).lean(1.5e-4)),
    }


def campaign(steps: tuple[int, ...] = (20, 400)) -> tuple[str, int]:
    """Print a line for each arch and number of steps; loads must agree within 0.1 %."""
    tally = Tally()
    print(f"| arch | second method [E] | steps | {' | '.join(METHODS)} |")
    print("|" + "---|" * (3 + len(METHODS)))
    for name, case in cases().items():
        for count in steps:
            parts = []
            for label, make in METHODS.items():
                load, first = reported(
                    make(count), case.arch, 1.2 * case.load, case.floor, case.kinds
                )
                off, here = load / case.load - 1.0, (name, label, count)
                if np.isfinite(load):
                    tally.most("off", abs(off))
                    tally.must(abs(off) < 1e-3, "load", *here, off)
                else:
                    tally.must(first != "SOLVED", "nothing reported", *here)
                parts.append(f"{100.0 * off:+.3f} %" if np.isfinite(load) else f"first: {first}")
            print(f"| {name} | {case.load:.5e} | {count} | {' | '.join(parts)} |", flush=True)
    return tally.result()
