"""Event localisation in a step of smooth motion: separation, stick, slip, contacts that close.

Closed contacts have event functions, which are positive until the event: s u_t of a slipping
contact with the direction s of slip (stick), r_n (separation), mu r_n +- r_t of a sticking one
(slip), distances from the ends of an edge, the regularity of the equations of motion, and, where
forces are not unique, their margin: the least distance of r from the bounds of the law. r_n, r_t
are contact forces, u_t the tangential velocity, mu the coefficient of friction. The functions are
smooth. Their polynomial interpolants at the points of the step are converted to Bernstein
coefficients, so that no root of the polynomial is missed, and the root is refined on the motion by
the secant method.

Gaps of open contacts are those of `find_contacts`; a bound of the relative velocity of two surfaces
excludes intervals, and intervals in which the gap has kinks are halved. Times in a step are
fractions theta in [0, 1]. `run.Integrator._step` calls `first_condition` and `first_closing`.

Source: docs/decisions/40, "Event-driven runs"; `numerics.event_localisation` for the roots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import POLYGON
from stiction.bodies.event_driven.motion import Segment
from stiction.numerics.event_localisation import (
    DEPTH,
    NODES,
    NONE,
    bernstein_from_samples,
    first_fall,
    nodes,
    tail_from_samples,
)

__all__ = ["SAME_PLACE", "Event", "first_closing", "first_condition"]

Floats = npt.NDArray[np.float64]

# kinds of events of closed contacts: it separates, begins to slip, stops slipping, leaves the end
# of an edge; redundant forces reach a bound; the equations of motion become singular
SEPARATES, SLIPS, STOPS, LEAVES, MARGIN, SINGULAR = range(6)
# an event function that begins a step below this fraction of the largest value of its kind is zero
# there. Chosen, above the error of the located event at which the step begins
_ZERO = 1e-11
# factor of the rounding error of Bernstein coefficients over that of the samples. Chosen
_LOOSE = 10.0
# ratio of the determinant of the equations of motion to that without friction at which forces count
# as unbounded. Chosen: forces are 1e9 times those without friction
SINGULAR_AT = 1e-9
# intervals are halved until they are this fraction of a step: a pair of surfaces that closes and
# opens within one is not seen. Chosen
_FINEST = 2.0**-12
# a gap is smooth if the tail of its interpolant is below this fraction of the largest gap. Chosen:
# the root is located by repeated interpolation
_SMOOTH = 1e-6
# a contact of the same pair nearer than this to a closed one is that contact [thickness]. Chosen
SAME_PLACE = 1e-6
# factor by which velocities between the points of a step may exceed those at the points. Chosen
_BETWEEN = 1.1


class Event(NamedTuple):
    """An event of a closed contact.

    Attributes
    ----------
    theta : fraction of the step
    kind : SEPARATES, SLIPS, STOPS, LEAVES, MARGIN or SINGULAR
    contact : number of the closed contact; -1 of all
    sign : direction of slip that begins
    """

    theta: float
    kind: int
    contact: int = -1
    sign: int = 0


# event functions: values (k, N) at N times; (kind, contact, sign) of each, as of `Event`; and sizes
# (k,) to which their rounding is relative
Conditions = tuple[Floats, list[tuple[int, int, int]], Floats]


def _conditions(segment: Segment, theta: Floats) -> Conditions:
    """Return the event functions of closed contacts at the fractions theta (N,) of a step.

    They are values (k, N) of k functions, (kind, contact, sign) of each as in `Event`, and sizes
    (k,) to which their rounding is relative.
    """
    phase, state = segment.phase, segment.at(theta)
    m, forces = phase.mechanics, phase.forces(*state)
    r, u, slips = forces.r, phase.kinematics(*state).u[..., 1], np.flatnonzero(~phase.stick)
    size = float(np.abs(r).max(initial=0.0)) + 1e-300
    speed = max(m.speed(segment.v) + 1e-300, float(np.abs(u[..., slips]).max(initial=0.0)))
    values, labels, sizes = [], [], []

    def add(value: Floats, of: float, kind: int, contact: int = -1, sign: int = 0) -> None:
        values.append(value)
        labels.append((kind, contact, sign))
        sizes.append(of)

    for c in slips.tolist():
        add(phase.slip[c] * u[..., c], speed, STOPS, c)
    for margin in phase.margins(r):
        add(margin, size, MARGIN)
    redundant = np.concatenate([np.zeros(0, int), *(at for at, _ in phase.loops)])
    for c in np.setdiff1d(np.arange(len(phase.closed)), redundant).tolist():
        add(r[..., c, 0], size, SEPARATES, c)
        if phase.stick[c]:
            for sign in (1, -1):
                # friction opposes the slip that begins
                add(phase.mu[c] * r[..., c, 0] + sign * r[..., c, 1], size, SLIPS, c, sign)
    if not (phase.stick.all() or phase.redundant):
        add(forces.regular - SINGULAR_AT, 1.0, SINGULAR)
    ends = phase.limits(*state)
    for c, side in zip(*np.nonzero(np.isfinite(ends).all(axis=0)), strict=True):
        add(ends[:, c, side], m.size, LEAVES, int(c))
    return np.array(values), labels, np.array(sizes)


def first_condition(segment: Segment) -> Event | None:
    """Return the first event of the closed contacts in a step; None if there is none.

    Verified by: tests/exact/test_event_driven_bodies.py::test_a_thrown_disc_rolls
    """
    if not len(segment.phase.closed):
        return None
    theta = np.concatenate([[0.0], nodes()])
    values, labels, sizes = _conditions(segment, theta)
    # the first root of the interpolants; a function that is zero in the whole step is no event
    best, which = NONE, -1
    for k, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if np.isfinite(value).all() and np.abs(value).max() <= _ZERO * size:
            continue
        root = _first_root(value, _ZERO * size)
        if root < best:
            best, which = root, k
    if which < 0:
        return None

    # the event function on the motion itself
    def of(part: float) -> float:
        return float(_conditions(segment, np.array([part]))[0][which, 0])

    kind, contact, sign = labels[which]
    return Event(_refined(of, best) if best > 0.0 else 0.0, kind, contact, sign)


def _first_root(value: Floats, zero: float) -> float:
    """Return the first root of a function in (0, 1]; 0 if it falls from zero at the start.

    Parameters
    ----------
    value : (NODES + 1,) values at the start and at the points of a step
    zero : size of its rounding
    """
    samples = value[1:]
    # forces that grow without bound within the step: an event at once
    if not np.isfinite(samples).all():
        return 0.0
    work = np.zeros((DEPTH + 2, NODES + 2))
    coefficients = np.ascontiguousarray(bernstein_from_samples() @ samples)
    if value[0] > zero:
        return float(first_fall(coefficients, work))
    if samples.min() >= -zero and coefficients.min() >= -_LOOSE * zero:
        return NONE
    if samples.max() <= zero:
        return 0.0
    # a function that starts at zero, and its slope perhaps: divide the root out
    for k in (1, 2, 3):
        samples = samples / nodes()
        coefficients = np.ascontiguousarray(bernstein_from_samples() @ samples)
        if abs(coefficients[0]) > _LOOSE * zero / nodes()[0] ** k:
            return float(first_fall(coefficients, work)) if coefficients[0] > 0.0 else 0.0
    falls = np.flatnonzero(value[1:] < -zero)
    return float(nodes()[falls[0]]) if len(falls) else NONE


def _refined(of: Callable[[float], float], root: float) -> float:
    """Return the root of the motion near that of the interpolant, by the secant method."""
    step = 1e-6 if root + 1e-6 <= 1.0 else -1e-6
    x, y = root, root + step
    fx, fy = of(x), of(y)
    for _ in range(4):
        if fx == 0.0 or fy == fx:
            break
        new = min(1.0, max(0.0, x - fx * (y - x) / (fy - fx)))
        # beyond this the interpolant had another root
        if abs(new - root) > 1e-3:
            return root
        y, fy, x = x, fx, new
        fx = of(x)
        if abs(x - y) <= 1e-16:
            break
    return x


# ---- contacts that close


def first_closing(segment: Segment, until: float, near: float) -> float:
    """Return the first fraction of a step, at most `until`, at which a contact closes, or NONE.

    A pair that closes and opens again within the fraction _FINEST of the step is not seen.

    Parameters
    ----------
    near : gap within which surfaces touch [m]

    Verified by: tests/exact/test_event_driven_bodies.py::test_bounces_accumulate
    """
    gaps = _Gaps(segment, near)
    best = NONE
    for pair, speed in gaps.pairs:
        # a hop from a gap of rounding below zero ends there, so that rounding does not add up
        gaps.shift = 0.0
        gaps.shift = min(0.0, gaps.gap(pair, 0.0))
        root = gaps.first(pair, speed, 0.0, min(until, best, 1.0))
        best = min(best, root)
    return best


class _Gaps:
    """Least gaps of pairs of surfaces in a step, without those of closed contacts.

    Attributes
    ----------
    pairs : numbers (i, j) of two parts, and a bound of their relative velocity [m/s]
    within : gaps up to this size are computed [m]
    zero : rounding of gaps [m]
    shift : gap of the pair at the start if negative [m], which is subtracted
    """

    def __init__(self, segment: Segment, near: float) -> None:
        self.segment, self.near = segment, near
        m = segment.phase.mechanics
        self.zero = 0.125 * m.rounding(segment.q)
        v = m.velocity(segment.at(np.concatenate([[0.0], nodes()]))[2])
        finite = np.where(np.isfinite(m.reach), m.reach, 0.0)
        spin = np.abs(v[..., 2]).max(axis=0)
        self.pairs: list[tuple[tuple[int, int], float]] = []
        for i in range(m.n):
            for j in range(i + 1, len(m.reach)):
                relative = np.hypot(*(v[:, i, :2] - v[:, j, :2]).T).max()
                turns = (spin[i] + spin[j]) * (finite[i] + finite[j])
                self.pairs.append(((i, j), _BETWEEN * float(relative + turns)))
        fastest = max((speed for _, speed in self.pairs), default=0.0)
        # a pair that is farther at the start of an interval cannot close in it
        self.within = 3.0 * fastest * segment.length + near
        self.pairs = [p for p in self.pairs if p[1] > 0.0 and not m.separate[p[0]]]
        self.shift = 0.0
        kinds = m.surfaces.table["kind"]
        self.polygons = [
            pair for pair, _ in self.pairs if kinds[pair[0]] == POLYGON == kinds[pair[1]]
        ]
        self._cache: dict[float, dict[tuple[int, int], float]] = {}

    def at(self, theta: float) -> dict[tuple[int, int], float]:
        """Return the least gap of each pair that is near [m], by the numbers of its parts."""
        if theta in self._cache:
            return self._cache[theta]
        phase, m = self.segment.phase, self.segment.phase.mechanics
        time, q, v = (part[0] for part in self.segment.at(np.array([theta])))
        pose = m.pose(time, q)
        found = m.contacts(pose, self.within)
        made: dict[tuple[int, int], float] = {}
        points = phase.kinematics(time, q, v).point if len(phase.closed) else np.zeros((0, 2))
        for c in found:
            pair = int(c.first), int(c.second)
            here = (phase.closed["first"] == pair[0]) & (phase.closed["second"] == pair[1])
            if here.any():
                place = pose[pair[0], :2] + c.arm_first
                if np.hypot(*(points[here] - place).T).min() <= SAME_PLACE * m.size:
                    continue
            made[pair] = min(made.get(pair, np.inf), float(c.gap))
        turned = m.surfaces.turned(pose) if self.polygons else pose
        for i, j in self.polygons:
            # their contacts are ends of edges, and none where these lie beyond each other
            if not ((phase.closed["first"] == i) & (phase.closed["second"] == j)).any():
                made[i, j] = m.surfaces.distance(turned, pose, i, j)
        self._cache[theta] = made
        return made

    def gap(self, pair: tuple[int, int], theta: float) -> float:
        """Return the gap of a pair minus `shift` [m]; it is `within` where they are farther."""
        return self.at(theta).get(pair, self.within) - self.shift

    def first(self, pair: tuple[int, int], speed: float, low: float, high: float) -> float:
        """Return the first closing of a pair in (low, high]; NONE if there is none.

        Parameters
        ----------
        speed : bound of the relative velocity [m/s]
        low, high : fractions of the step
        """
        from scipy.optimize import brentq

        def of(theta: float) -> float:
            return self.gap(pair, theta)

        # with gaps a and b at both ends, the pair cannot close if a + b is more than the bound of
        # the relative velocity times the length of the interval
        a, b = self.gap(pair, low), self.gap(pair, high)
        width = high - low
        if min(a, b) >= 0.0 and a + b > speed * width * self.segment.length:
            return NONE
        value = np.array([a, *(self.gap(pair, low + width * float(s)) for s in nodes())])
        largest = float(np.abs(value).max())
        if largest <= self.zero:
            return NONE
        # smooth gaps: the root of the interpolant, refined; else halves of the interval
        tail = float(np.abs(tail_from_samples() @ value[1:]).max())
        root = _first_root(value, self.zero)
        # near the start of a hop another point of the pair may close
        if tail <= _SMOOTH * largest + self.zero and root > 0.0:
            root = _refined(of, low + width * root) if root < NONE else NONE
            # the interpolant may have missed a kink
            if root == NONE or abs(of(root)) <= self.near:
                return root
        if width > _FINEST:
            root = self.first(pair, speed, low, low + 0.5 * width)
            return root if root < NONE else self.first(pair, speed, low + 0.5 * width, high)
        # a kink, where the features of a pair change, or a jump at the end of an edge
        if b >= -self.zero:
            return NONE
        return float(brentq(of, low, high, xtol=4e-16)) if a > 0.0 else low
