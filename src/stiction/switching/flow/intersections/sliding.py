"""The time at which codimension-2 sliding loses its uniqueness: kernels.

Codimension-2 sliding exists as long as its multipliers lie in [-1, 1]. It attracts and is unique as
long as no quadrant, half surface, second sliding vector or spiral is an exit direction
(`directions`). The set of exit directions changes only where one of thirteen smooth functions has a
root: the eight rates in the quadrants, the four numerators of the sliding rates on the half
surfaces, and the growth minus the decay of one revolution. Their roots in a step are located by
Bernstein coefficients; between two roots the set is constant. `transitions` calls these kernels.
Row SAMPLE + b of the vectors has the thirteen functions at Chebyshev node b of the step.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `table` has the
Runge-Kutta tableau and the transforms from samples to Bernstein coefficients; i and j are the
numbers of both surfaces. Y and TRIAL are the states at the start and at the end of the step.

Source: Filippov 1988, section 19; Dieci, Lopez 2009.
Verified by: tests/unit/switching/test_intersections.py::test_loss_of_attractivity_at_its_time
"""

from __future__ import annotations

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, NONE, first_fall
from stiction.numerics.jit import kernel
from stiction.switching.flow.intersections.directions import (
    DIRECTIONS,
    SLIDES_MINUS,
    SLIDES_PLUS,
    open_directions,
    turns,
)
from stiction.switching.flow.rates import quadrant_rates
from stiction.switching.flow.state import (
    BERNSTEIN,
    EXTRA2,
    LAST,
    LATER,
    NODE,
    OPENINGS,
    QUADRANT_RATES,
    ROOT,
    SAMPLE,
    TAIL,
    TRIAL,
    Workspace,
)
from stiction.switching.flow.steps import UNRESOLVED, dense, step

__all__ = ["first_opening", "length_to_opening", "others_at"]

# samples resolve a function if its last two Chebyshev coefficients are below the first number times
# its size on the step, or the second number times the size of its terms. Chosen: the samples order
# the roots, whose positions come from repeated steps
_RESOLVED, _SMALL = 1e-5, 1e-9
# roots closer than this fraction of the step count as one. Chosen
_SEPARATION = 1e-7


@kernel
def others_at(w: Workspace, i: int, j: int, x: int) -> int:
    """Return the exit directions other than the present sliding vector at the state in vector x."""
    now = w.progress[0]
    if not quadrant_rates(w, i, j, x):
        return 0
    own = SLIDES_PLUS if now.branch > 0 else SLIDES_MINUS
    return open_directions(w) & ((1 << DIRECTIONS) - 1) & ~(1 << own)


@kernel
def _others_at_fraction(w: Workspace, i: int, j: int, s: float) -> int:
    """Return the other exit directions at the fraction s of the step."""
    now = w.progress[0]
    dense(w.vectors, s, now.n + 1 + now.q, LATER)
    return others_at(w, i, j, LATER)


@kernel
def _fill_functions(w: Workspace, vector: int) -> None:
    """Fill the first entries of a vector with the thirteen functions whose signs decide."""
    a = w.vectors
    for c in range(8):
        a[vector, c] = a[QUADRANT_RATES, c]
    for e in range(4):
        # numerator L_i(-) L_j(+) - L_i(+) L_j(-) of the sliding rate on half surface e
        first, on_i = e % 2, e < 2
        up = first if on_i else 2 * first
        down = 2 + first if on_i else 2 * first + 1
        k, o = (0, 4) if on_i else (4, 0)
        a[vector, 8 + e] = a[QUADRANT_RATES, k + down] * a[QUADRANT_RATES, o + up]
        a[vector, 8 + e] -= a[QUADRANT_RATES, k + up] * a[QUADRANT_RATES, o + down]
    one, two = turns(w)
    a[vector, 12] = one - two


@kernel
def _resolved(w: Workspace, table: Matrix, c: int, reach: float) -> bool:
    """Replace the samples of function c by its Bernstein coefficients; return if they resolve it.

    Parameters
    ----------
    reach : bound of the terms of the function
    """
    a = w.vectors
    size = near_last = last = 0.0
    for b in range(NODES):
        value = a[SAMPLE + b, c]
        size = max(size, abs(value))
        near_last += table[TAIL, b] * value
        last += table[LAST, b] * value
        a[EXTRA2, b] = value
    for b in range(NODES):
        total = 0.0
        for e in range(NODES):
            total += table[BERNSTEIN + b, e] * a[EXTRA2, e]
        a[SAMPLE + b, c] = total
    return abs(near_last) + abs(last) <= max(_RESOLVED * size, _SMALL * reach)


@kernel
def _next_root(w: Workspace, low: float) -> float:
    """Return the first root of any function after the fraction `low` of the step, or NONE."""
    a = w.vectors
    best = NONE
    for c in range(OPENINGS):
        for b in range(NODES):
            a[EXTRA2, b] = a[SAMPLE + b, c]
        # restriction to [low, 1] by de Casteljau's algorithm
        for level in range(1, NODES):
            for b in range(NODES - level):
                a[EXTRA2, b] = (1.0 - low) * a[EXTRA2, b] + low * a[EXTRA2, b + 1]
        # `first_fall` expects a positive start
        if a[EXTRA2, 0] < 0.0:
            for b in range(NODES):
                a[EXTRA2, b] = -a[EXTRA2, b]
        if a[EXTRA2, 0] == 0.0:
            continue
        next_root = first_fall(a[EXTRA2, :NODES], a[ROOT:])
        if next_root < NONE:
            best = min(best, low + next_root * (1.0 - low))
    return best


@kernel
def _bisect(w: Workspace, i: int, j: int, closed_at: float, open_at: float) -> float:
    """Return the fraction at which another direction opens, by bisection in the given bracket."""
    for _ in range(60):  # more than the 53 digits of a number
        middle = 0.5 * (closed_at + open_at)
        if middle in (closed_at, open_at):
            break
        if _others_at_fraction(w, i, j, middle) != 0:
            open_at = middle
        else:
            closed_at = middle
    return open_at


@kernel
def first_opening(w: Workspace, table: Matrix, i: int, j: int) -> float:
    """Return the fraction of the step at which another direction opens first.

    NONE if none does, UNRESOLVED if the step is too long to resolve the rates.
    """
    now = w.progress[0]
    reach_i = reach_j = 0.0
    for b in range(NODES):
        dense(w.vectors, table[NODE, b], now.n + 1 + now.q, LATER)
        if not quadrant_rates(w, i, j, LATER):
            return UNRESOLVED
        _fill_functions(w, SAMPLE + b)
        reach_i, reach_j = max(reach_i, now.speed_i), max(reach_j, now.speed_j)
    for c in range(OPENINGS):
        # sizes of a rate, of a product of two rates, and of one of four
        both = reach_i * reach_j
        reach = reach_i if c < 4 else reach_j if c < 8 else both if c < 12 else both * both
        if not _resolved(w, table, c, reach):
            return UNRESOLVED
    closed_at = low = 0.0
    # chosen: more roots than the 13 functions have in a resolved step, in general
    for _ in range(64):
        next_root = min(_next_root(w, low), 1.0) if low < 1.0 else 1.0
        # the set is constant between two roots: test it in the middle
        middle = 0.5 * (low + next_root)
        if _others_at_fraction(w, i, j, middle) != 0:
            return _bisect(w, i, j, closed_at, middle)
        closed_at = middle
        if next_root >= 1.0:
            break
        low = min(next_root + _SEPARATION, 1.0)
    # an opening at the end itself
    if _others_at_fraction(w, i, j, 1.0) != 0:
        return _bisect(w, i, j, closed_at, 1.0)
    return NONE


@kernel
def length_to_opening(w: Workspace, table: Matrix, i: int, j: int, guess: float) -> float:
    """Return the length of the step to just after the opening; TRIAL holds its end.

    Parameters
    ----------
    guess : the length by the dense output, less accurate than a step
    """
    # widen a bracket around the estimate until the set differs at its ends: from 1e-10 of the step,
    # twelve times by 8, to 7 times the step (chosen)
    margin = 1e-10 * guess
    closed_at, open_at = max(guess - margin, 0.0), guess + margin
    for _ in range(12):
        step(w, table, closed_at)
        if closed_at == 0.0 or others_at(w, i, j, TRIAL) == 0:
            break
        margin *= 8.0
        closed_at = max(guess - margin, 0.0)
    margin = 1e-10 * guess
    for _ in range(12):
        step(w, table, open_at)
        if others_at(w, i, j, TRIAL) != 0:
            break
        margin *= 8.0
        open_at = guess + margin
    for _ in range(60):  # more than the 53 digits of a number
        # bisection by steps from the same start
        middle = 0.5 * (closed_at + open_at)
        if middle in (closed_at, open_at):
            break
        step(w, table, middle)
        if others_at(w, i, j, TRIAL) != 0:
            open_at = middle
        else:
            closed_at = middle
    step(w, table, open_at)
    return open_at
