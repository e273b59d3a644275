"""Turns: places of a boundary where the nearest place of its partner stands still and goes back.

Where a boundary stands upright on its partner, a . X' = 0 with the tangent a at the nearest place
c(xi), as

    dxi / ds = a . X' / m,    m = a . a - r . a_,xi.

If a turn goes over the end of a piece, two marks come to be inside one cell, and without a cut
there the sum would change by the error of the rule. So cells end at turns, where these meet a
piece, and marks come to be, and pass away, where segments end already.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.leaps import Look, Stretches, joined
from stiction.solids.contact.model import Found
from stiction.solids.contact.segments import Segments
from stiction.solids.contact.sweeps import dot, lengths

__all__ = ["Turned", "turned"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# steps for a turn, and one, as a part of a cell, after which it is found: Newton's method squares
# the error
_STEPS, _FOUND = 60, 1e-9
# part of a cell that a turn may lie from its end and count as there
_FACING = 1e-9
# cosines between both tangents: a cell over which theirs changes by less has no turn that could be
# told from rounding, and one that is left at a turn was none
_BENDS, _UPRIGHT = 1e-2, 1e-7
# part by which one of two distances has to be smaller: rounding
_NEARER = 1e-12


class Turned(NamedTuple):
    """Stretches of cells, divided where nearest places turn.

    Parameters
    ----------
    whole : (n + k,) the parts in order
    sides : (2, n + k) places of both ends
    of : (n + k,) of which stretch each is a part
    before : (k,) parts that end at turns; those behind come next
    """

    whole: Stretches
    sides: tuple[Floats, Floats]
    of: Ints
    before: Ints

    def marked(self, made: Segments) -> Segments:
        """Return segments of the parts, numbered by these, with marks at turns."""
        turns, cell = made.turns.copy(), made.cell
        changes = cell[1:] != cell[:-1]
        ends = np.zeros(self.of.size + 1, dtype=bool)
        ends[self.before] = True
        turns[:, 1] = np.append(changes, True) & ends[cell]
        turns[:, 0] = np.append(True, changes) & ends[cell - 1]
        return made._replace(turns=turns)

    def whole_of(self, bad: Bools) -> Bools:
        """Return which stretches have a part that is bad."""
        return np.bincount(self.of, bad) > 0.0


class _Upright(NamedTuple):
    """Where places stand on their partner: cosine between tangents, its change with s, what is met.

    Parameters
    ----------
    cosine, slope : (p,) and what the first changes by with s
    place : (d, p) of the own boundary
    found, far : nearest places, and how far they are [m]
    """

    cosine: Floats
    slope: Floats
    place: Floats
    found: Found
    far: Floats


def _upright(look: Look, e: Ints, s: Floats, guess: Found) -> _Upright:
    here = look.mine(e, s, look.x)[1]
    found = look.near(np.ascontiguousarray(here[0].T), guess)
    there = look.partner(found.element, found.xi.T, look.x)[1]
    size = lengths(there[1]) * lengths(here[1])
    r = here[0] - there[0]
    value, lean = dot(there[1], here[1]), dot(there[2], here[1])
    with np.errstate(all="ignore"):
        moves = value / (dot(there[1], there[1]) - dot(r, there[2]))
        slope = (dot(there[1], here[2]) + lean * moves) / size
    return _Upright(value / size, slope, here[0], found, lengths(r))


def turned(
    look: Look, parts: Stretches, sides: tuple[Floats, Floats], smooth: Bools
) -> Turned | None:
    """Return stretches divided where nearest places turn; None where none does.

    Parameters
    ----------
    look : how places are looked for
    parts, sides : stretches, and places (2, n) of both ends
    smooth : (n,) whether both ends meet pieces, not corners

    Verified by: tests/unit/solids/contact/test_turns.py::test_turns_lie_where_places_go_back
    """
    # both ends of all in one go
    both = joined(parts.one, parts.other)
    here = look.mine(np.tile(parts.element, 2), np.concatenate([parts.low, parts.high]), look.x)[1]
    near = look.partner(both.element, both.xi.T, look.x)[1]
    cosine = dot(near[1], here[1]) / (lengths(near[1]) * lengths(here[1]))
    one, other = np.split(cosine, 2)
    there = both.normal | (np.abs(both.xi[:, 0]) == 1.0)
    smooth = smooth & there[: smooth.size] & there[smooth.size :]
    at = np.flatnonzero(smooth & ((one > 0.0) != (other > 0.0)) & (np.abs(one - other) > _BENDS))
    if not at.size:
        return None
    e, low, high = parts.element[at], parts.low[at], parts.high[at]
    a, b, wide, rises = low.copy(), high.copy(), high - low, other[at] > one[at]
    s, guess = low - one[at] * wide / (other[at] - one[at]), parts.one.at(at)
    for _ in range(_STEPS):
        now = _upright(look, e, s, guess)
        above = (now.cosine > 0.0) == rises
        a, b = np.where(above, a, s), np.where(above, s, b)
        with np.errstate(all="ignore"):
            way = s - now.cosine / now.slope
        way = np.where((way >= a) & (way <= b), way, 0.5 * (a + b))
        moved, s, guess = np.abs(way - s), way, now.found
        if (moved <= _FOUND * wide).all():
            break
    now = _upright(look, e, s, guess)
    kept = now.found.normal & (np.abs(now.cosine) <= _UPRIGHT)
    # beside a hollow corner the place that was followed may be the farther one
    kept &= ~(_upright(look, e, s, parts.other.at(at)).far < now.far * (1.0 - _NEARER))
    kept &= (s - low > _FACING * wide) & (high - s > _FACING * wide)
    at, s, place, found = at[kept], s[kept], now.place[:, kept], now.found.at(np.flatnonzero(kept))
    if not at.size:
        return None
    whole_ones = np.ones(parts.cell.size, dtype=bool)
    whole_ones[at] = False
    rest = np.flatnonzero(whole_ones)
    whole = parts.at(rest).and_also(parts.at(at).divided(s, found))
    left = np.concatenate([sides[0][:, rest], sides[0][:, at], place], axis=1)
    right = np.concatenate([sides[1][:, rest], place, sides[1][:, at]], axis=1)
    of = np.concatenate([rest, at, at])
    order = np.argsort(of, kind="stable")
    before, ends = at + np.arange(at.size), (left[:, order], right[:, order])
    return Turned(whole.at(order), ends, of[order], before)
