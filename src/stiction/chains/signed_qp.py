"""Active set method for  min 1/2 v'Hv - rho'v + sum bound_i |v_i|.

Its optimality condition is the friction inclusion rho - H v in bound Sgn(v): stick where
|rho - H v| <= bound, slip elsewhere. H is (n, n), symmetric and positive definite, so the minimum v
(n,) is unique; rho and bound are (n,). The method iterates on the set A of slipping entries and
their signs. `quasistatic.active_set` and `quasistatic.fast_flow` compute slip rates v [m/s] of a
chain (H from dampers or springs, rho and bound forces or their rates), `StickSet.nearest` the
nearest stick state (H = K^2, v multipliers of the bounds).
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

# iterations of the semismooth Newton method before the slower method follows. Chosen
_QUICK_TRIES = 50


def signed_minimum(
    multiply: Multiply,
    solve: Solve,
    rho: Floats,
    bound: Floats,
    start: Signs,
    fixed: npt.NDArray[np.bool_] | None = None,
    stuck: npt.NDArray[np.bool_] | None = None,
    side: Signs | None = None,
) -> tuple[Floats, Signs]:
    """Return the minimum v and its signs.

    Parameters
    ----------
    multiply : v -> H v
    solve : indices A, (len(A),) right side -> H_AA^-1 right side
    rho, bound : (n,) force, and bound of the stick force, >= 0
    start : (n,) signs to begin with
    fixed : (n,) True for entries that keep the sign of `start`, without complementarity
    stuck : (n,) True for entries with v = 0 whatever the force
    side : (n,) if not 0, the only sign that an entry can have: one-sided complementarity, with
        v = 0 while the force on that side is at most `bound`

    Notes
    -----
    First the semismooth Newton method corrects all signs at once. It is fast but may cycle; after a
    repeated set of signs a method follows that changes one sign at a time. Each change lowers the
    objective, so it terminates.
    Verified by: tests/unit/chains/test_stick_set.py::test_signed_minimum_optimality
    """
    n = rho.size
    fixed = np.zeros(n, bool) if fixed is None else fixed
    stuck = np.zeros(n, bool) if stuck is None else stuck
    side = np.zeros(n, np.int8) if side is None else side
    slack = 1e-14 * (np.abs(rho) + bound)

    def excess(v: Floats, sign: Signs) -> tuple[Floats, Floats]:
        """Return (n,) stick forces beyond their bound, 0 in slip, and directions of release."""
        stick_force = rho - multiply(v)
        over = np.where(side == 0, np.abs(stick_force), side * stick_force) - bound - slack
        return np.where((sign == 0) & ~stuck, over, 0.0), np.where(
            side == 0, np.sign(stick_force), side
        )

    sign, seen = start.copy(), set()
    sign[stuck] = 0
    # semismooth Newton method: entries that slip against their sign stick, entries whose stick
    # force exceeds the bound slip, all at once
    for _ in range(_QUICK_TRIES):
        seen.add(sign.tobytes())
        v = _minimum_for_signs(solve, rho, bound, sign)
        over, direction = excess(v, sign)
        new = np.where(fixed | (v * sign > 0.0), sign, 0)
        new = np.where(over > 0.0, direction, new).astype(np.int8)
        if np.array_equal(new, sign):
            return v, sign
        sign = new
        if sign.tobytes() in seen:
            break
    sign = np.where(fixed, start, 0).astype(np.int8)
    return _one_by_one(excess, solve, rho, bound, sign, fixed, slack)


def _minimum_for_signs(solve: Solve, rho: Floats, bound: Floats, sign: Signs) -> Floats:
    """Return the minimum v for fixed signs: H_AA v_A = (rho - sign bound)_A, and 0 elsewhere."""
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
    fixed: npt.NDArray[np.bool_],
    slack: Floats,
) -> tuple[Floats, Signs]:
    """Return the minimum and its signs, by Lawson and Hanson's active set method with two signs.

    excess, slack : function of `signed_minimum`, and (n,) rounding of the stick forces, updated
    Other arguments are those of `signed_minimum`; `sign` are the signs to begin with. Each round
    releases the entry whose stick force exceeds its bound most, and then sets entries to
    zero that would change their sign on the way to the new minimum.
    """
    v = _minimum_for_signs(solve, rho, bound, sign)
    for _ in range(20 * rho.size + 100):
        over, direction = excess(v, sign)
        worst = int(np.argmax(over))
        if over[worst] <= 0.0:
            break
        sign[worst] = direction[worst]
        # go to the minimum for these signs; stop where the first entry reaches zero, fix it there
        while True:
            target = _minimum_for_signs(solve, rho, bound, sign)
            wrong = (sign != 0) & ~fixed & (target * sign <= 0.0)
            if not wrong.any():
                v = target
                break
            gap = (v - target)[wrong]
            fraction = np.divide(v[wrong], gap, out=np.zeros_like(gap), where=gap != 0.0)
            step = float(np.min(fraction))
            v = v + step * (target - v)
            first = np.flatnonzero(wrong)[fraction <= step]
            sign[first], v[first] = 0, 0.0
        if sign[worst] == 0:
            # the entry returned to zero at once: its excess is rounding
            slack[worst] += over[worst]
    return v, sign
