"""How long codimension-2 sliding is the only solution: kernels.

Codimension-2 sliding continues as long as its multipliers lie in [-1, 1], also if a neighbouring
solution would no longer return. It is the only solution, and attracts, as long as no quadrant, half
surface, second sliding vector or spiral leads away. Each of these becomes an exit direction where
one of thirteen smooth functions changes its sign: the eight rates in the quadrants, the four
numerators of the sliding rates on the half surfaces, growth minus decay of one revolution. Their
roots in a step are located by Bernstein coefficients; between two roots the set is constant.

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
    quadrant_rates,
    turns,
)
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
from stiction.switching.flow.steps import HIDDEN, dense, step

__all__ = ["first_opening", "length_to_opening", "others_at"]

# samples resolve a function when its last two Chebyshev coefficients are below this share of its
# size on the step, or this share of what it is made of
_RESOLVED, _SMALL = 1e-5, 1e-9
# two roots closer than this share of the step are one
_APART = 1e-7


@kernel
def others_at(w: Workspace, i: int, j: int, x: int) -> int:
    """Return the directions that are open beside the sliding vector the state in row x follows."""
    now = w.progress[0]
    if not quadrant_rates(w, i, j, x):
        return 0
    own = SLIDES_PLUS if now.branch > 0 else SLIDES_MINUS
    return open_directions(w) & ((1 << DIRECTIONS) - 1) & ~(1 << own)


@kernel
def _others_in(w: Workspace, i: int, j: int, s: float) -> int:
    """Return the other directions at the fraction s of the step."""
    now = w.progress[0]
    dense(w.rows, s, now.n + 1 + now.q, LATER)
    return others_at(w, i, j, LATER)


@kernel
def _fill_functions(w: Workspace, row: int) -> None:
    """Fill the first entries of a row with the functions whose signs decide."""
    a = w.rows
    for c in range(8):
        a[row, c] = a[QUADRANT_RATES, c]
    for e in range(4):
        first, on_i = e % 2, e < 2
        up = first if on_i else 2 * first
        down = 2 + first if on_i else 2 * first + 1
        k, o = (0, 4) if on_i else (4, 0)
        a[row, 8 + e] = a[QUADRANT_RATES, k + down] * a[QUADRANT_RATES, o + up]
        a[row, 8 + e] -= a[QUADRANT_RATES, k + up] * a[QUADRANT_RATES, o + down]
    one, two = turns(w)
    a[row, 12] = one - two


@kernel
def _resolved(w: Workspace, table: Matrix, c: int, reach: float) -> bool:
    """Return whether the samples of function c show it; its coefficients replace them.

    Parameters
    ----------
    reach : the largest it could be
    """
    a = w.rows
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
    """Return the first root behind the fraction `low` of the step of any function, or NONE."""
    a = w.rows
    best = NONE
    for c in range(OPENINGS):
        for b in range(NODES):
            a[EXTRA2, b] = a[SAMPLE + b, c]
        # the part behind `low`, by de Casteljau
        for level in range(1, NODES):
            for b in range(NODES - level):
                a[EXTRA2, b] = (1.0 - low) * a[EXTRA2, b] + low * a[EXTRA2, b + 1]
        if a[EXTRA2, 0] < 0.0:
            for b in range(NODES):
                a[EXTRA2, b] = -a[EXTRA2, b]
        if a[EXTRA2, 0] == 0.0:
            continue
        found = first_fall(a[EXTRA2, :NODES], a[ROOT:])
        if found < NONE:
            best = min(best, low + found * (1.0 - low))
    return best


@kernel
def _halved(w: Workspace, i: int, j: int, shut: float, open_: float) -> float:
    """Return where another direction opens between two fractions of the step, by halving."""
    for _ in range(60):
        middle = 0.5 * (shut + open_)
        if middle in (shut, open_):
            break
        if _others_in(w, i, j, middle) != 0:
            open_ = middle
        else:
            shut = middle
    return open_


@kernel
def first_opening(w: Workspace, table: Matrix, i: int, j: int) -> float:
    """Return the fraction of the step at which another direction opens first.

    NONE where none does, HIDDEN where the step is too long to see the rates.
    """
    now = w.progress[0]
    reach_i = reach_j = 0.0
    for b in range(NODES):
        dense(w.rows, table[NODE, b], now.n + 1 + now.q, LATER)
        if not quadrant_rates(w, i, j, LATER):
            return HIDDEN
        _fill_functions(w, SAMPLE + b)
        reach_i, reach_j = max(reach_i, now.speed_i), max(reach_j, now.speed_j)
    for c in range(OPENINGS):
        both = reach_i * reach_j
        reach = reach_i if c < 4 else reach_j if c < 8 else both if c < 12 else both * both
        if not _resolved(w, table, c, reach):
            return HIDDEN
    shut = low = 0.0
    for _ in range(64):
        found = min(_next_root(w, low), 1.0) if low < 1.0 else 1.0
        middle = 0.5 * (low + found)
        if _others_in(w, i, j, middle) != 0:
            return _halved(w, i, j, shut, middle)
        shut = middle
        if found >= 1.0:
            break
        low = min(found + _APART, 1.0)
    if _others_in(w, i, j, 1.0) != 0:
        return _halved(w, i, j, shut, 1.0)
    return NONE


@kernel
def length_to_opening(w: Workspace, table: Matrix, i: int, j: int, guess: float) -> float:
    """Return the length of the step to just behind the opening; row TRIAL is where it ends.

    Parameters
    ----------
    guess : the length by the dense output, which is less accurate than a step of its own
    """
    off = 1e-10 * guess
    shut, open_ = max(guess - off, 0.0), guess + off
    for _ in range(12):
        step(w, table, shut)
        if shut == 0.0 or others_at(w, i, j, TRIAL) == 0:
            break
        off *= 8.0
        shut = max(guess - off, 0.0)
    off = 1e-10 * guess
    for _ in range(12):
        step(w, table, open_)
        if others_at(w, i, j, TRIAL) != 0:
            break
        off *= 8.0
        open_ = guess + off
    for _ in range(60):
        middle = 0.5 * (shut + open_)
        if middle in (shut, open_):
            break
        step(w, table, middle)
        if others_at(w, i, j, TRIAL) != 0:
            open_ = middle
        else:
            shut = middle
    step(w, table, open_)
    return open_
