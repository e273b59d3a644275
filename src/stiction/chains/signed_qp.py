"""min 1/2 v'Hv - rho'v + sum bound_i |v_i|: rest where |rho - Hv| <= bound, slip elsewhere.

The same problem gives the velocities of a chain (H from dampers and springs) and the
nearest stick state (H = K^2). H is symmetric and positive definite, so the minimum is
unique; it is found by guessing who moves and in which direction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["signed_minimum"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Multiply = Callable[[Floats], Floats]
Solve = Callable[[npt.NDArray[np.intp], Floats], Floats]
Excess = Callable[[Floats, Signs], tuple[Floats, Floats]]

_QUICK_TRIES = 50


def signed_minimum(
    multiply: Multiply,
    solve: Solve,
    rho: Floats,
    bound: Floats,
    start: Signs,
    kept: npt.NDArray[np.bool_] | None = None,
    held: npt.NDArray[np.bool_] | None = None,
    side: Signs | None = None,
) -> tuple[Floats, Signs]:
    """Return the minimum v and its signs.

    Parameters
    ----------
    multiply : v -> H v
    solve : indices A, (len(A),) right side -> H_AA^-1 right side
    rho, bound : (n,) force, and half width of what rest carries, >= 0
    start : (n,) signs to begin with
    kept : entries whose sign stays as it is in `start`, whatever v says
    held : entries that stay at rest, whatever the force says
    side : where it is not 0, the only sign that entry may take: it rests while the force
        to that side is at most `bound`, however large the force to the other side is

    Notes
    -----
    First the semismooth Newton method: all signs are corrected at once. It is quick and
    can cycle; a repeated guess hands over to a method that changes one sign at a time,
    lowers the objective each time and so ends.
    Verified by: tests/unit/chains/test_stick_set.py::test_signed_minimum_optimality
    """
    n = rho.size
    kept = np.zeros(n, bool) if kept is None else kept
    held = np.zeros(n, bool) if held is None else held
    side = np.zeros(n, np.int8) if side is None else side
    slack = 1e-14 * (np.abs(rho) + bound)

    def excess(v: Floats, sign: Signs) -> tuple[Floats, Floats]:
        rest = rho - multiply(v)
        over = np.where(side == 0, np.abs(rest), side * rest) - bound - slack
        return np.where((sign == 0) & ~held, over, 0.0), np.where(side == 0, np.sign(rest), side)

    sign, seen = start.copy(), set()
    sign[held] = 0
    for _ in range(_QUICK_TRIES):
        seen.add(sign.tobytes())
        v = _moved(solve, rho, bound, sign)
        over, way = excess(v, sign)
        new = np.where(kept | (v * sign > 0.0), sign, 0)
        new = np.where(over > 0.0, way, new).astype(np.int8)
        if np.array_equal(new, sign):
            return v, sign
        sign = new
        if sign.tobytes() in seen:
            break
    sign = np.where(kept, start, 0).astype(np.int8)
    return _one_by_one(excess, solve, rho, bound, sign, kept, slack)


def _moved(solve: Solve, rho: Floats, bound: Floats, sign: Signs) -> Floats:
    v = np.zeros(rho.size)
    a = np.flatnonzero(sign)
    if a.size:
        v[a] = solve(a, (rho - sign * bound)[a])
    return v


def _one_by_one(
    excess: Excess,
    solve: Solve,
    rho: Floats,
    bound: Floats,
    sign: Signs,
    kept: npt.NDArray[np.bool_],
    slack: Floats,
) -> tuple[Floats, Signs]:
    """Lawson and Hanson's method with signs: let the worst entry go, keep all signs true."""
    v = _moved(solve, rho, bound, sign)
    for _ in range(20 * rho.size + 100):
        over, way = excess(v, sign)
        worst = int(np.argmax(over))
        if over[worst] <= 0.0:
            break
        sign[worst] = way[worst]
        while True:
            target = _moved(solve, rho, bound, sign)
            wrong = (sign != 0) & ~kept & (target * sign <= 0.0)
            if not wrong.any():
                v = target
                break
            gap = (v - target)[wrong]
            share = np.divide(v[wrong], gap, out=np.zeros_like(gap), where=gap != 0.0)
            step = float(np.min(share))
            v = v + step * (target - v)
            first = np.flatnonzero(wrong)[share <= step]
            sign[first], v[first] = 0, 0.0
        if sign[worst] == 0:
            # it came back at once: its excess is rounding, so it may stay at rest
            slack[worst] += over[worst]
    return v, sign
