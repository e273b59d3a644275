"""Branches of the quasistatic problem: all velocities that are admissible in one state.

They are the solutions v (n,) [m/s] of the friction inclusion

    R in C v + N mu(|v|) Sgn(v)

with drives R [N], the damping matrix C and normal forces N (formulas sheet, section 1e). Under
weakening friction there may be several: stick, a stable slip, and an unstable slip between them.
Each of the 3^n combinations of modes (-1, 0, 1) is examined. Sticking masses separate the slipping
ones into independent blocks of neighbours. For two or three neighbours that slip all roots are
isolated by interval arithmetic (`root_boxes`); for one mass, and under a user's law, they are
bracketed on a grid. `quasistatic.nonlinear_slip` calls `velocities` to report other branches.
Arguments of the functions: `weak` is the friction curve N mu(|v|) of all masses (`FrictionCurve`),
`damping` the matrix C, `drive` (n,) R, `block` the indices of slipping neighbours, `mode` (n,) the
sign of slip of each mass. Roots are lists of velocities of the masses of a block (len(block),).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.elastic import Elastic
from stiction.chains.model import Chain
from stiction.chains.policies import BranchChoice, SlideFrom, StayStuck
from stiction.chains.quasistatic.friction_curve import FrictionCurve
from stiction.chains.root_boxes import Balance, roots_in
from stiction.errors import ModelError
from stiction.laws.friction import without_memory
from stiction.numerics.checks import Record, number, numbers

__all__ = [
    "Branch",
    "BranchChoice",
    "BranchSet",
    "SlideEnd",
    "SlideFrom",
    "StayStuck",
    "branches",
    "least_slip_force",
    "velocities",
]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

MOST_MASSES = 3
# points of the grid on which roots are bracketed. Chosen
_SAMPLES = 1500
# rounding of a force, as a fraction of the sum of its terms. Chosen
_ROUNDING = 1e-12


# ---- all branches


@dataclass(frozen=True, eq=False, repr=False)
class Branch(Record):
    """One admissible velocity.

    Parameters
    ----------
    velocity : (n,) slip velocities [m/s]
    mode : (n,) -1, 0, 1
    stable : whether it is stable under small inertia: C + diag(N mu') is positive definite on
        the masses that slip
    """

    velocity: Floats
    mode: Signs
    stable: bool

    @property
    def kind(self) -> str:
        """Return "stick", "sliding" or "unstable"."""
        if not self.mode.any():
            return "stick"
        return "sliding" if self.stable else "unstable"


@dataclass(frozen=True, eq=False, repr=False)
class SlideEnd(Record):
    """End of the stable sliding branch of one mass under a constant load.

    Parameters
    ----------
    force : smallest drive |f - k x| that balances slip, the minimum of c v + N mu(v) [N]
    speed : slip velocity at this minimum [m/s]
    x : displacement at which the drive has fallen to `force`, and the mass must stick [m]
    duration : time until then [s]; inf if slip decays without an end
    """

    force: float
    speed: float
    x: float
    duration: float


@dataclass(frozen=True, eq=False, repr=False)
class BranchSet(Record):
    """Admissible velocities of a chain in one state: all of them if `certified`.

    Parameters
    ----------
    branches : stick first if it is admissible, then slip in order of increasing speed
    drive : (n,) R = b f - K x - C V of a belt with velocity V [N]
    always_unique : C - L diag(N) is positive semidefinite, with L the steepest decrease of mu with
        speed of each mass, so that no state has more than one branch
    certified : whether interval arithmetic proves that there are no others. False for a user's law,
        whose values alone are known, and if two branches coincide within rounding
    slide_end : end of the stable sliding branch of one mass; None if there is none, or a belt moves
    """

    branches: tuple[Branch, ...]
    drive: Floats
    always_unique: bool
    certified: bool
    slide_end: SlideEnd | None = None

    def of_kind(self, kind: str) -> tuple[Branch, ...]:
        """Return the branches of a kind: "stick", "sliding" or "unstable"."""
        return tuple(branch for branch in self.branches if branch.kind == kind)


def branches(chain: Chain, force: float, x: npt.ArrayLike) -> BranchSet:
    """Return the velocities that the quasistatic problem admits at `x` under `force`.

    They are the solutions v of the inclusion R = b f - K x in C v + N mu(|v|) Sgn(v). For the laws
    of this package all are found if `certified` is true. Otherwise, for a user's law or if two
    nearly coincide, some may be missing. Springs to a plate pull from its position at t = 0.

    Parameters
    ----------
    chain : at most three masses
    force : load f [N]
    x : (n,) displacements [m]

    Raises
    ------
    ModelError : for more than three masses, or without any damper under friction that
        does not depend on speed (then the velocity does not follow from the displacement).

    Source: formulas sheet of the chains paper, section 1e.
    Verified by: tests/unit/chains/test_root_boxes.py::test_branches_against_many_starts
    """
    if chain.n_mass > MOST_MASSES:
        raise ModelError(
            "branches",
            f"{chain.n_mass} masses",
            f"a chain of at most {MOST_MASSES} masses",
            "there are 3^n combinations of modes, and each is searched.",
            "solve with Quasistatic(), which follows one branch for any n.",
        )
    why = "branches are computed for one load and one displacement of each mass."
    try_ = "for example branches(chain, 0.25, [0.0])."
    without_memory(
        chain.law,
        "branches",
        "the friction then depends on the history of slip, not on the velocity alone.",
        "solve with ThetaStepper(step=...).",
    )
    f = number("branches.force", force, unit="N", why=why, try_=try_)
    place = numbers("branches.x", x, size=chain.n_mass, per="mass", unit="m", why=why, try_=try_)
    weak = FrictionCurve.of(chain)
    if weak.constant and not chain.link_damping.any():
        raise ModelError(
            "branches",
            "a chain without dampers, with friction that does not depend on speed",
            "dampers, or friction that depends on speed",
            "the velocity then follows from the rate of the load, not from the state.",
            "solve with Quasistatic().",
        )
    # R = b f - K x; modes and velocities follow from the drives alone
    drive = chain.load_weights * f - Elastic(chain, "branches").force(place)
    # slip is relative to the belt, and dampers feel its velocity too
    drive = drive - chain.damping_matrix() @ np.full(chain.n_mass, chain.belt_speed)
    found, certified = search(chain, weak, drive)
    unique = weak.unique(chain.damping_matrix()) >= 0.0
    one = chain.n_mass == 1 and chain.belt_speed == 0.0
    end = _slide_end(chain, weak, f, found) if one else None
    return BranchSet(tuple(found), drive, unique, certified, end)


def velocities(chain: Chain, weak: FrictionCurve, drive: Floats) -> list[Branch]:
    """Return the branches for drives R [N], stick first, then by rising speed."""
    return search(chain, weak, drive)[0]


def search(chain: Chain, weak: FrictionCurve, drive: Floats) -> tuple[list[Branch], bool]:
    """Return the branches for drives R [N], and whether these are proved to be all."""
    damping, bound = chain.damping_matrix(), np.asarray(chain.stick_bound)
    size = np.abs(drive) + bound
    found: list[Branch] = []
    certified = True
    for pattern in itertools.product((-1, 0, 1), repeat=chain.n_mass):
        mode = np.array(pattern, dtype=np.int8)
        if _cannot_slip(weak, drive, mode):
            continue
        roots, sure = _of_mode(chain, weak, drive, mode)
        certified = certified and sure
        for v in roots:
            stick_force = np.abs(drive - damping @ v)
            if (stick_force > bound + _ROUNDING * size)[mode == 0].any():
                continue
            found.append(Branch(v, mode, _is_stable(damping, weak, v, mode)))
    found.sort(key=lambda branch: float(np.abs(branch.velocity).sum()))
    return found, certified


def _cannot_slip(weak: FrictionCurve, drive: Floats, mode: Signs) -> bool:
    """Return whether slip with these signs is impossible at all speeds.

    v'R = v'Cv + sum N mu |v| requires a mass whose drive in its direction of slip exceeds
    N mu_kinetic. Slip is impossible if there is none.
    """
    if not (weak.table.law.convex or weak.table.law.constant) or not mode.any():
        return False
    least = weak.normal * weak.table.mu_kinetic
    reserve = (least - mode * drive)[mode != 0]
    return bool((reserve >= 0.0).all() and (reserve > 0.0).any())


def _is_stable(damping: Floats, weak: FrictionCurve, v: Floats, mode: Signs) -> bool:
    """Return whether C + diag(N mu') is positive definite on the masses that slip."""
    a = np.flatnonzero(mode)
    if a.size == 0:
        return True
    h = damping[np.ix_(a, a)] + np.diag(weak.slope(v)[a])
    return bool(np.linalg.eigvalsh(h)[0] > 0.0)


def _of_mode(
    chain: Chain, weak: FrictionCurve, drive: Floats, mode: Signs
) -> tuple[list[Floats], bool]:
    """Return all v with the signs of `mode` and C v + N mu sign = R on the slipping masses.

    Also return whether these are all.
    """
    a, damping = np.flatnonzero(mode), chain.damping_matrix()
    # blocks of slipping neighbours are independent: each combination of their roots is a solution
    blocks: list[list[int]] = []
    for i in a.tolist():
        if blocks and blocks[-1][-1] == i - 1 and damping[i, i - 1] != 0.0:
            blocks[-1].append(i)
        else:
            blocks.append([i])
    choices = []
    certified = True
    for block in blocks:
        links = chain.link_damping[block[0] : block[-1] + 2]
        roots, sure = _of_block(damping, weak, drive, mode, block, links)
        certified = certified and sure
        choices.append(roots)
        if sure and not roots:
            # a block that is proved to have no root excludes this combination of modes
            return [], True
    out = []
    for combination in itertools.product(*choices):
        v = np.zeros(mode.size)
        for block, part in zip(blocks, combination, strict=True):
            v[block] = part
        out.append(v)
    return out, certified


def _of_block(
    damping: Floats,
    weak: FrictionCurve,
    drive: Floats,
    mode: Signs,
    block: list[int],
    links: Floats,
) -> tuple[list[Floats], bool]:
    """Return the roots of a block of slipping neighbours, and whether these are proved to be all.

    Parameters
    ----------
    links : (len(block) + 1,) dampers beside and between them [N s/m]
    """
    law = weak.table.law
    if law.constant:
        return _linear(damping, weak, drive, mode, block)
    if law.convex and len(block) > 1:
        return _roots_in_boxes(damping, weak, drive, mode, block, links)
    sure = law.convex and not _on_edge(damping, weak, drive, mode, block[0])
    return _roots_by_shooting(damping, weak, drive, mode, block), sure


def _on_edge(damping: Floats, weak: FrictionCurve, drive: Floats, mode: Signs, i: int) -> bool:
    """Return whether two roots of mass i coincide within rounding, or one is infinite.

    Then rounding decides how many there are, and the set of branches is not certified.
    """
    c, n = float(damping[i, i]), mode.size
    fall, push = float(weak.falls[i]), float(mode[i] * drive[i])
    fold, least = 0.0, float(weak.normal[i] * weak.table.mu_kinetic[i])
    if fall > c > 0.0:
        fold = float(weak.table.v_scale[i]) * weak.table.law.slowed(fall / c)
        least = c * fold + float(weak.force(np.full(n, fold))[i])
    if c > 0.0 and fold == 0.0:
        return False
    return abs(push - least) <= 1e-14 * (abs(push) + float(weak.force(np.zeros(n))[i]))


def _linear(
    damping: Floats, weak: FrictionCurve, drive: Floats, mode: Signs, block: list[int]
) -> tuple[list[Floats], bool]:
    """Return the root of a block whose friction does not depend on speed, if it has one.

    It is v = C^-1 (R - N mu sign). Also return whether no other root exists.
    """
    part, sign = damping[np.ix_(block, block)], mode[block].astype(np.float64)
    carried = weak.force(np.zeros(mode.size))[block]
    right = drive[block] - sign * carried
    values, shapes = np.linalg.eigh(part)
    loose = values <= 1e-13 * max(float(values[-1]), 1e-300)
    if loose.any():
        # eigenvectors without damping: no velocity along them balances the force, or every one does
        size = np.abs(drive[block]) + carried
        left = np.abs(shapes[:, loose].T @ right)
        return [], bool((left > _ROUNDING * (np.abs(shapes[:, loose]).T @ size)).any())
    v: Floats = np.asarray(np.linalg.solve(part, right), dtype=np.float64)
    return ([v] if (v * sign > 0.0).all() else []), True


def _roots_in_boxes(
    damping: Floats,
    weak: FrictionCurve,
    drive: Floats,
    mode: Signs,
    block: list[int],
    links: Floats,
) -> tuple[list[Floats], bool]:
    """Return the roots of a block of two or three masses under friction that weakens.

    Also return whether these are proved to be all.
    """
    sign = mode[block].astype(np.float64)
    far, sure = _farthest(weak, sign, drive[block], block, links)
    if far <= 0.0:
        return [], sure
    a, normal = damping[np.ix_(block, block)] * np.outer(sign, sign), weak.normal[block]
    balance = Balance(a, sign * drive[block], normal, weak.table, block)
    roots, all_of_them = roots_in(balance, np.full(len(block), far))
    return [sign * s for s in roots], sure and all_of_them


def _farthest(
    weak: FrictionCurve, sign: Floats, drive: Floats, block: list[int], links: Floats
) -> tuple[float, bool]:
    """Return a bound on the speeds of all roots of a block [m/s], and whether it is rigorous.

    sign, drive : (len(block),) directions of slip, and R [N]
    links : (len(block) + 1,) dampers beside and between the masses [N s/m]
    """
    outer, inner = float(max(links[0], links[-1])), links[1:-1]
    size = float(np.abs(drive).sum())
    if outer > 0.0:
        # a root has v'Cv <= v'R <= |R|_1 max|v|, since friction dissipates. max|v| is a sum of
        # differences d_l along the links to the support, and (sum d_l)^2 <= v'Cv sum 1 / c_l
        return 1.01 * size * (1.0 / outer + float(np.sum(1.0 / inner))), True
    # without a damper to a support, the force of a damper is the sum of forces on one side of it,
    # which bounds the differences of speeds. Beyond 45 speed scales the law is constant to
    # rounding, where the sum of all equations must balance
    table, normal = weak.table, weak.normal[block]
    top = float(normal @ table.mu_static[block])
    difference = 1.01 * (size + top) * float(np.sum(1.0 / inner))
    if (sign != sign[0]).any():
        return difference, True
    least, pushed = float(normal @ table.mu_kinetic[block]), float(sign @ drive)
    far = difference + 45.0 * float(table.v_scale[block].max())
    return far, abs(pushed - least) > _ROUNDING * (size + top)


def _roots_by_shooting(
    damping: Floats, weak: FrictionCurve, drive: Floats, mode: Signs, block: list[int]
) -> list[Floats]:
    """Return the roots of one block, by shooting from its first mass to its last.

    The first equation gives the second velocity from the first one, and so on; the last
    equation is then one function of one unknown. For one mass under a convex law there can
    be no other root; for a user's law roots nearer to each other than the grid may be missed.
    """
    speeds = _grid(damping, weak, drive, block)
    if speeds.size == 0:
        return []
    out: list[Floats] = []

    def last(u: Floats) -> Floats:
        return _shoot(damping, weak, drive, mode, block, u)[1]

    if not weak.table.law.convex:
        speeds = _with_dips(last, speeds)
    value = last(speeds)
    for j in np.flatnonzero((value[1:] > 0.0) != (value[:-1] > 0.0)).tolist():
        u = _root(last, float(speeds[j]), float(speeds[j + 1]))
        v = _shoot(damping, weak, drive, mode, block, np.array([u]))[0][:, 0]
        if (v * mode[block] > 0.0).all():
            out.append(v)
    return out


def _with_dips(last: Callable[[Floats], Floats], speeds: Floats) -> Floats:
    """Return the grid with points added at local extrema of the residual between its points.

    There the residual may graze zero, or cross it twice.
    """
    with np.errstate(all="ignore"):
        value = last(speeds)
        near = np.abs(value)
        same = (value[:-2] > 0.0) == (value[2:] > 0.0)
        at = np.flatnonzero(same & (near[1:-1] <= near[:-2]) & (near[1:-1] <= near[2:])) + 1
        if at.size == 0:
            return speeds
        side, low, high = np.sign(value[at]), speeds[at - 1], speeds[at + 1]
        for _ in range(30):
            one, two = low + 0.382 * (high - low), low + 0.618 * (high - low)
            falls = side * last(one) < side * last(two)
            low, high = np.where(falls, low, one), np.where(falls, two, high)
    return np.unique(np.concatenate([speeds, 0.5 * (low + high)]))


def _shoot(
    damping: Floats, weak: FrictionCurve, drive: Floats, mode: Signs, block: list[int], u: Floats
) -> tuple[Floats, Floats]:
    """Return (len(block), m) velocities and the (m,) residual of the last equation.

    u : (m,) speeds of the first mass of the block [m/s]
    """
    n = mode.size
    v = np.zeros((n, u.size))
    v[block[0]] = mode[block[0]] * u
    residual = np.zeros(u.size)
    for i in block:
        carried = mode[i] * weak.force_on(i, v[i])
        residual = damping[i] @ v + carried - drive[i]
        if i != block[-1]:
            v[i + 1] = -residual / damping[i, i + 1]
    return v[block], residual


def _grid(damping: Floats, weak: FrictionCurve, drive: Floats, block: list[int]) -> Floats:
    """Return a grid of speeds of the first mass of a block that brackets the roots."""
    i = block[0]
    part = damping[np.ix_(block, block)]
    least = float(np.linalg.eigvalsh(part)[0])
    scale, convex = float(weak.table.v_scale[i]), weak.table.law.convex
    size = float(np.linalg.norm(drive[block]))
    if not math.isfinite(size):
        # squares of large forces overflow
        most = float(np.abs(drive[block]).max())
        size = most * float(np.linalg.norm(drive[block] / most))
    if least > 1e-300:
        # v'Cv <= v'R bounds every velocity
        far = 1.01 * size / least
    elif convex:
        # beyond it the law is constant to rounding
        far = 800.0 * scale
    else:
        far = 1e6
    if far == 0.0 or not math.isfinite(far):
        # no root can be represented
        return np.empty(0)
    if len(block) == 1 and convex:
        # c v + N mu(v) is convex: at most one root on either side of its minimum
        fall, c = float(weak.falls[i]), float(damping[i, i])
        fold = far if c == 0.0 else 0.0
        if fall > c > 0.0:
            fold = scale * weak.table.law.slowed(fall / c)
        return np.unique([0.0, min(fold, far), far])
    fine = np.geomspace(1e-9 * min(scale, far), far, _SAMPLES)
    return np.concatenate([[0.0], fine])


def _root(function: Callable[[Floats], Floats], low: float, high: float) -> float:
    """Return the root of a function between two arguments of different sign, by Brent's method."""
    from scipy.optimize import brentq

    at = function(np.array([low, high]))
    if at[0] == 0.0 or at[1] == 0.0:
        return low if at[0] == 0.0 else high
    return float(brentq(lambda u: float(function(np.array([u]))[0]), low, high, xtol=1e-300))


# ---- one mass: end of the sliding branch


def _slide_end(
    chain: Chain, weak: FrictionCurve, force: float, found: list[Branch]
) -> SlideEnd | None:
    """Return the end of the fastest stable slip in `found` under the constant load `force` [N]."""
    stable = [branch for branch in found if branch.kind == "sliding"]
    if not stable:
        return None
    start = stable[-1]
    sign, v0 = int(start.mode[0]), float(abs(start.velocity[0]))
    c, k = float(chain.damping_matrix()[0, 0]), float(chain.stiffness_matrix()[0, 0])
    fold = _fold(weak, c, v0)
    least = c * fold + float(weak.force(np.array([fold]))[0])
    push = float(chain.load_weights[0]) * force
    duration = math.inf if fold == 0.0 else _fall_time(weak, c, k, fold, v0)
    return SlideEnd(least, sign * fold, (push - sign * least) / k, duration)


def least_slip_force(weak: FrictionCurve, c: float) -> float:
    """Return the smallest force [N] that slip of one mass with damper c can carry."""
    law = weak.table.law
    if not (law.constant or law.convex):
        speeds = np.concatenate([[0.0], np.geomspace(1e-8, 1e4, 4001)])
        carried = c * speeds + np.array([float(weak.force(np.array([v]))[0]) for v in speeds])
        top = float(speeds[min(int(np.argmin(carried)) + 1, speeds.size - 1)])
        fold = _fold(weak, c, top)
    else:
        fold = _fold(weak, c, math.inf)
    return c * fold + float(weak.force(np.array([fold]))[0])


def _fold(weak: FrictionCurve, c: float, v0: float) -> float:
    """Return the largest minimum below v0 of h(v) = c v + N mu(v); 0 if h never decreases."""
    from scipy.optimize import brentq

    def slope(v: float) -> float:
        return c + float(weak.slope(np.array([v]))[0])

    law = weak.table.law
    if law.convex:
        fall = float(weak.falls[0])
        return float(weak.table.v_scale[0]) * law.slowed(fall / c) if fall > c else 0.0
    if law.constant:
        return 0.0
    speeds = np.concatenate([[0.0], np.geomspace(1e-9 * v0, v0, 2000)])
    falling = np.flatnonzero([slope(float(v)) < 0.0 for v in speeds])
    if falling.size == 0:
        return 0.0
    j = int(falling[-1])
    return float(brentq(slope, speeds[j], speeds[j + 1], xtol=1e-300))


def _fall_time(weak: FrictionCurve, c: float, k: float, low: float, high: float) -> float:
    """Return the time of slip from speed `high` to `low`.

    k x = f - h(v) and dx / dt = v give dt = -h'(v) dv / (k v), with h(v) = c v + N mu(v). Gauss
    quadrature in ln v.
    """
    node, weight = np.polynomial.legendre.leggauss(24)
    points = np.linspace(math.log(low), math.log(high), 13)
    half, middle = 0.5 * np.diff(points), 0.5 * (points[1:] + points[:-1])
    v = np.exp(middle[:, None] + half[:, None] * node).ravel()
    slope = c + np.array([float(weak.slope(np.array([s]))[0]) for s in v])
    return float(np.sum((half[:, None] * weight).ravel() * slope)) / k
