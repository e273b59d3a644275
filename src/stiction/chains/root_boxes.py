"""All roots of A s + N mu(s) = r in a box of slip rates, for convex decreasing mu: interval method.

Each equation is a convex function of its own slip rate plus a linear one of the others, so that its
range over a box is known exactly. A box whose ranges exclude zero has no root; one that Krawczyk's
operator maps into itself has exactly one; others are bisected. Outward rounding ensures that no
root is missed. The equations are the balance of forces of k slipping masses: damping A, slip rates
s along the directions of slip, normal forces N, friction mu, drives r. Boxes are arrays `low`,
`high` (boxes, k) of their lower and upper ends [m/s]. `branching` calls `roots_in`. Source:
Krawczyk, Computing 4 (1969) 187; Neumaier, Interval Methods for Systems of Equations (1990),
chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.laws.friction import FrictionTable

__all__ = ["Balance", "roots_in"]

Floats = npt.NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# limits of memory and time, chosen
_MOST_BOXES = 20_000
_MOST_BISECTIONS = 400
# chosen: roots in a box of this relative size are not distinguished
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class Balance:
    """The equations F_i(s) = sum_j A_ij s_j + N_i mu_i(s_i) - r_i = 0 of k slipping masses.

    Parameters
    ----------
    a : (k, k) damping [N s/m], with the signs of slip
    drive : (k,) force [N] along the slip of each mass
    normal : (k,) normal forces [N]
    table : the friction law, convex
    contacts : (k,) the masses
    """

    a: Floats
    drive: Floats
    normal: Floats
    table: FrictionTable
    contacts: list[int]

    def mu(self, s: Floats) -> Floats:
        """Return N mu [N] at (..., k) speeds; the formula extends below zero."""
        return self._formula(self.table.law.formulas.mu, s)

    def slope(self, s: Floats) -> Floats:
        """Return N dmu/ds [N s/m] at (..., k) speeds."""
        return self._formula(self.table.law.formulas.slope, s)

    def at(self, s: Floats) -> Floats:
        """Return F [N] at (..., k) speeds."""
        return np.asarray(s @ self.a.T + self.mu(s) - self.drive)

    def folds(self) -> Floats:
        """Return (k,) speeds of minimal resistance of each mass alone; inf without a damper."""
        scale, fall = self.table.v_scale[self.contacts], -self.slope(np.zeros(len(self.contacts)))
        own = np.diag(self.a)
        out = np.zeros(own.size)
        for i in range(own.size):
            if own[i] == 0.0:
                out[i] = np.inf
            elif fall[i] > own[i]:
                # the speed, over v_scale, at which N dmu/ds = -own
                out[i] = scale[i] * self.table.law.slowed(float(fall[i] / own[i]))
        return out

    def rounding(self, high: Floats) -> Floats:
        """Return (..., k) bounds [N] of the rounding of F at speeds up to `high`."""
        size = high @ np.abs(self.a).T + np.abs(self.mu(np.zeros(self.drive.size)))
        return np.asarray(16.0 * _EPS * (size + np.abs(self.drive)))

    def _formula(self, formula: object, s: Floats) -> Floats:
        p = [row[self.contacts] for row in self.table.parameters]
        z = [row[self.contacts] for row in self.table.start]
        return np.asarray(self.normal * formula(s, z, p))  # type: ignore[operator]


def roots_in(balance: Balance, high: Floats) -> tuple[list[Floats], bool]:
    """Return the roots with speeds in (0, high), (k,) each, and whether these are all.

    Nearly coincident roots leave boxes undecided. For those of the smallest size the roots of
    Newton's method are returned, and False. At the limit of boxes or of bisections the other
    undecided boxes are dropped: roots may be missing, and False is returned.

    Verified by: tests/unit/chains/test_root_boxes.py::test_branches_against_many_starts
    """
    scale = balance.table.v_scale[balance.contacts]
    folds = balance.folds()
    # start slightly below zero, so that a root at zero lies inside: Krawczyk's test needs it there
    low, high = (-1e-3 * scale)[None], np.asarray(high)[None]
    found: list[Floats] = []
    sure = True
    # exclude, contract, then bisect the boxes that remain
    for _ in range(_MOST_BISECTIONS):
        low, high = _may_balance(balance, folds, low, high)
        low, high, ready = _contracted(balance, low, high)
        found += ready
        if low.shape[0] == 0:
            break
        small = ((high - low) < _SMALL * (scale + np.abs(low))).all(axis=1)
        if small.any():
            sure = False
            found += _nearby(balance, low[small], high[small])
            low, high = low[~small], high[~small]
        if 2 * low.shape[0] > _MOST_BOXES:
            sure = False
            break
        low, high = _bisected(scale, low, high)
    else:
        sure = False
    return [s for s in _distinct(found, scale) if (s > 1e-12 * scale).all()], sure


def _may_balance(
    balance: Balance, folds: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return (low, high) of the boxes in which every equation may be zero.

    folds : (k,) result of `Balance.folds`, where each convex part has its minimum
    """
    own, others = np.diag(balance.a), balance.a - np.diag(np.diag(balance.a))
    up, down = np.maximum(others, 0.0), np.minimum(others, 0.0)
    at_low, at_high = own * low + balance.mu(low), own * high + balance.mu(high)
    bottom = np.clip(folds, low, high)
    least = own * bottom + balance.mu(bottom) + low @ up.T + high @ down.T - balance.drive
    most = np.maximum(at_low, at_high) + high @ up.T + low @ down.T - balance.drive
    slack = balance.rounding(np.maximum(np.abs(low), np.abs(high)))
    may_contain = ((least <= slack) & (most >= -slack)).all(axis=1)
    return low[may_contain], high[may_contain]


def _contracted(balance: Balance, low: Floats, high: Floats) -> tuple[Floats, Floats, list[Floats]]:
    """Return (low, high) of the boxes, intersected with Krawczyk's operator, and verified roots.

    Boxes with one root or none are removed.
    """
    k = balance.drive.size
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # Krawczyk's operator K = m - Y F(m) +- |I - Y J| half, with m the middle of the box and Y the
    # inverse of J at the middle slope; `radius` is its second part. The slope rises with speed, so
    # its range over a box lies between its ends
    slow, fast = balance.slope(low), balance.slope(high)
    wide = 0.5 * (fast - slow) + 4.0 * _EPS * np.abs(slow)
    jacobian = balance.a + np.eye(k) * (0.5 * (slow + fast))[:, None, :]
    size = np.abs(jacobian).sum(axis=2).max(axis=1)
    with np.errstate(all="ignore"):
        # far from singular, so that the inverse has digits; other boxes are bisected
        regular = np.abs(np.linalg.det(jacobian)) > 1e-12 * size**k
        inverse = np.zeros_like(jacobian)
        inverse[regular] = np.linalg.inv(jacobian[regular])
        slack = balance.rounding(np.abs(low) + 2.0 * half)
        reach = np.abs(inverse)
        step = np.einsum("bij,bj->bi", inverse, balance.at(middle))
        image = middle - step
        radius = np.einsum("bij,bj->bi", reach, wide * half + slack)
        # I - Y J at the middle slope is rounding
        radius += 16.0 * k * _EPS * np.einsum("bij,bjk,bk->bi", reach, np.abs(jacobian), half)
        radius += 8.0 * _EPS * (np.abs(middle) + np.abs(step))
        new_low, new_high = image - radius, image + radius
    inside = regular & ((new_low > low) & (new_high < high)).all(axis=1)
    empty = regular & ((new_low > high) | (new_high < low)).any(axis=1)
    roots = [_newton(balance, s) for s in image[inside]]
    left = ~(inside | empty)
    use = regular[:, None]
    low = np.where(use, np.maximum(low, new_low), low)[left]
    high = np.where(use, np.minimum(high, new_high), high)[left]
    return low, high, roots


def _newton(balance: Balance, s: Floats) -> Floats:
    """Return the root from s by Newton's method, or its last iterate without convergence."""
    size, best = np.inf, s
    for _ in range(60):
        f = balance.at(s)
        if not (np.abs(f).max() < size):
            break
        size, best = float(np.abs(f).max()), s
        jacobian = balance.a + np.diag(balance.slope(s))
        try:
            s = s - np.linalg.solve(jacobian, f)
        except np.linalg.LinAlgError:
            break
    return best


def _nearby(balance: Balance, low: Floats, high: Floats) -> list[Floats]:
    """Return roots by Newton's method near undecided boxes, if exact to rounding."""
    found = []
    for s in 0.5 * (low + high):
        root = _newton(balance, s)
        if (np.abs(balance.at(root)) <= 4.0 * balance.rounding(np.abs(root))).all():
            found.append(root)
    return found


def _bisected(scale: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return (low, high) of the boxes bisected along their widest side, which are twice as many.

    Wide boxes are bisected at the geometric mean; `scale` (k,) are speeds of the law [m/s].
    """
    near, far = scale + np.maximum(low, 0.0), scale + high
    at = np.argmax(far / near, axis=1)
    row = np.arange(low.shape[0])
    wide = (far / near)[row, at] > 4.0
    mean = np.sqrt(near[row, at] * far[row, at]) - scale[at]
    point = np.where(wide, mean, 0.5 * (low[row, at] + high[row, at]))
    below, above = high.copy(), low.copy()
    below[row, at] = above[row, at] = point
    return np.concatenate([low, above]), np.concatenate([below, high])


def _distinct(roots: list[Floats], scale: Floats) -> list[Floats]:
    """Return the roots without duplicates."""
    out: list[Floats] = []
    for s in roots:
        if all((np.abs(s - t) > 1e-9 * (scale + np.abs(t))).any() for t in out):
            out.append(s)
    return out
