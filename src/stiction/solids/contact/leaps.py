"""Leaps: places of a boundary from which two places of a partner are equally near.

Where nearest points leap from one crest of a partner to the next, an integral over the boundary has
a kink: gaps are the same on both sides, and their slopes are not. So segments end there, too, at
the root s of

    G(s) = |X(s) - c_1|^2 / 2 - |X(s) - c_2|^2 / 2 = 0,    dG / ds = (c_2 - c_1) . X',

with the nearest places c_1, c_2 on either crest, which are followed along the boundary each for
itself: as both are nearest, what they do along the partner does not change G.

A cell may have several. Where a third crest is nearer than both at a leap, there are two leaps in
place of that one. And where both ends of a cell meet one crest, another one may be nearer between
them: then G has its greatest value inside, where (c_2 - c_1) . X' = 0, and that is above zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.model import Found
from stiction.solids.contact.segments import Curve

__all__ = [
    "Leaps",
    "Leapt",
    "Look",
    "Parts",
    "Stretches",
    "every_leap",
    "hidden",
    "joined",
    "leaps",
    "parts_of",
    "rivals",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# steps for a leap, and one, as a part of a cell, after which it is found: Newton's method squares
# the error
_STEPS, _FOUND = 60, 1e-9
# parts of a cell: two places nearer to each other than this are one, and distances may differ by
# what lies as near to a leap as this
_ONE, _OFF = 1e-6, 1e-8
# part by which one of two squares of distances has to be smaller, twice that of distances: rounding
_NEARER = 2e-12
# how often stretches are divided, the part by which a third crest has to be nearer for it, and the
# pieces of the partner below which no leap is looked for
_DIVISIONS, _THIRD, _FAR = 10, 1e-9, 0.1
# part of a cell that a leap may lie from its end and count as there
_FACING = 1e-9
# places of a boundary that are compared with all of a partner at once, and how many of the partner
# lie beside one that was found
_AT_ONCE, _BESIDE = 512, 2.0


class Look(NamedTuple):
    """How places of a partner are looked for in a state.

    Parameters
    ----------
    mine : functions and places of the own boundary at pieces and xi (c,)
    partner : those of the partner at pieces and xi (1, c)
    near : nearest places from guesses, of places (p, d)
    there : (d, p) places of what was found
    others : of places (p, d), guesses on crests about as near that are none of those found, and
        which places have one
    x : (nodes, d) places [m]
    """

    mine: Curve
    partner: Curve
    near: Callable[[Floats, Found], Found]
    there: Callable[[Found], Floats]
    others: Callable[[Floats, list[Found], Floats], tuple[Found, Ints]]
    x: Floats


class Leapt(NamedTuple):
    """What was found in cells (c,).

    Parameters
    ----------
    s, place : xi and place (d, c) of the leap, where there is one
    one, other : nearest places there on both crests
    leaps : whether there is one
    same : whether both ends meet one and the same place, followed from end to end
    first, last : cells at whose begin or end the place from the other end is the nearer one
    of_first, of_last : that place
    """

    s: Floats
    place: Floats
    one: Found
    other: Found
    leaps: Bools
    same: Bools
    first: Bools
    last: Bools
    of_first: Found
    of_last: Found


class Stretches(NamedTuple):
    """Parts of cells, and the nearest places at both of their ends.

    Parameters
    ----------
    cell, element : (c,) cells, and pieces of the boundary
    low, high : (c,) xi of both ends
    one, other : the nearest places there
    """

    cell: Ints
    element: Ints
    low: Floats
    high: Floats
    one: Found
    other: Found

    def at(self, which: Ints) -> Stretches:
        """Return some of them."""
        told = (v[which] for v in self[:4])
        return Stretches._make([*told, self.one.at(which), self.other.at(which)])

    def divided(self, s: Floats, found: Found) -> Stretches:
        """Return both parts of each, with what is nearest between them."""
        cell, element = np.tile(self.cell, 2), np.tile(self.element, 2)
        low, high = np.concatenate([self.low, s]), np.concatenate([s, self.high])
        one, other = joined(self.one, found), joined(found, self.other)
        return Stretches(cell, element, low, high, one, other)

    def and_also(self, more: Stretches) -> Stretches:
        """Return these and others."""
        told = (np.concatenate(pair) for pair in zip(self[:4], more[:4], strict=True))
        ends = joined(self.one, more.one), joined(self.other, more.other)
        return Stretches._make([*told, *ends])

    def cells(self) -> tuple[Ints, Floats, Floats]:
        """Return pieces and xi of both ends."""
        return self.element, self.low, self.high

    def leaps(self, look: Look) -> Leapt:
        """Return what leaps from the place at the begin to that at the end."""
        return leaps(look, self.cells(), self.one, self.other)


class Leaps(NamedTuple):
    """Leaps of cells, in their order along the boundary.

    Parameters
    ----------
    cell : (k,) in which cells
    s, place : (k,) xi and (d, k) places
    one, other : nearest places there, before and behind
    """

    cell: Ints
    s: Floats
    place: Floats
    one: Found
    other: Found

    def and_also(self, more: Leaps) -> Leaps:
        """Return these and others, in order."""
        cell, s = (np.concatenate([self[i], more[i]]) for i in (0, 1))
        place = np.concatenate([self.place, more.place], axis=1)
        order = np.lexsort((s, cell))
        one, other = joined(self.one, more.one), joined(self.other, more.other)
        return Leaps(cell[order], s[order], place[:, order], one.at(order), other.at(order))


class Parts(NamedTuple):
    """Parts of cells between leaps.

    Parameters
    ----------
    whole : the parts, with what is nearest at their ends
    sides : (2, p) places of both ends
    before, behind : (k,) numbers of the parts before and behind leaps
    there : (k,) which leaps lie inside their cells
    """

    whole: Stretches
    sides: tuple[Floats, Floats]
    before: Ints
    behind: Ints
    there: Bools


class _Both(NamedTuple):
    """Both nearest places at places of cells: G, its slope, whether they are one, whether any."""

    value: Floats
    slope: Floats
    same: Bools
    fine: Bools
    one: Found
    other: Found
    there: Floats
    half: Floats
    place: Floats


def joined(one: Found, other: Found) -> Found:
    """Return what was found at some places and at others, one after another."""
    return Found._make(np.concatenate(pair) for pair in zip(one, other, strict=True))


def _both(look: Look, e: Ints, s: Floats, one: Found, other: Found, wide: Floats) -> _Both:
    _, here = look.mine(e, s, look.x)
    place = np.concatenate([here[0].T, here[0].T])
    found = look.near(np.ascontiguousarray(place), joined(one, other))
    count = s.size
    c = look.there(found)
    r = place.T - c
    half = 0.5 * (r * r).sum(axis=0)
    chord = c[:, count:] - c[:, :count]
    slope = (chord * here[1]).sum(axis=0)
    apart = _ONE * wide * np.sqrt((here[1] * here[1]).sum(axis=0))
    same = np.sqrt((chord * chord).sum(axis=0)) <= apart
    there = found.normal | (np.abs(found.xi[:, 0]) == 1.0)
    one, other = found.at(np.arange(count)), found.at(np.arange(count, 2 * count))
    fine = there[:count] & there[count:]
    return _Both(half[:count] - half[count:], slope, same, fine, one, other, c, half, here[0])


def leaps(look: Look, cells: tuple[Ints, Floats, Floats], one: Found, other: Found) -> Leapt:
    """Return the leaps of cells between the place that is nearest at their begin and their end.

    Parameters
    ----------
    cells : pieces (c,) and xi (c,) of both ends
    one, other : nearest places at begin and end

    Verified by: tests/unit/solids/contact/test_leaps.py::test_leaps_lie_where_both_are_as_near
    """
    e, low, high = cells
    wide, count = high - low, e.size
    begin = _both(look, e, low, one, other, wide)
    end = _both(look, e, high, one, other, wide)
    rest = _NEARER * begin.half[:count], _NEARER * end.half[count:]
    first = ~begin.same & begin.fine & (begin.value > rest[0])
    last = ~end.same & end.fine & (end.value < -rest[1])
    # a leap at the end of a cell may lie outside by rounding
    a, b = low - _FOUND * wide, high + _FOUND * wide
    with np.errstate(all="ignore"):
        s = low - begin.value * wide / (end.value - begin.value)
    s = np.where((s > low) & (s < high), s, 0.5 * (low + high))
    one, other = (Found._make(row.copy() for row in f) for f in (one, other))
    # what was last known of both crests, from which they are followed
    known = begin.there[:, :count].copy(), end.there[:, count:].copy()
    # where both ends meet one and the same, nothing leaps
    wanted = ~(begin.same & end.same)
    for _ in range(_STEPS if wanted.any() else 0):
        now = _both(look, e, s, one, other, wide)
        # where both are one, the other crest is not there yet, or no longer
        near, far = (((now.there[:, :count] - place) ** 2).sum(axis=0) for place in known)
        before = np.where(now.same, near <= far, now.value < 0.0)
        for kept, found, place, part in (
            (one, now.one, known[0], now.there[:, :count]),
            (other, now.other, known[1], now.there[:, count:]),
        ):
            for row, new in zip(kept, found, strict=True):
                row[~now.same] = new[~now.same]
            place[:, ~now.same] = part[:, ~now.same]
        a, b = np.where(before, s, a), np.where(before, b, s)
        with np.errstate(all="ignore"):
            way = s - now.value / now.slope
        inside = (way >= a) & (way <= b) & ~now.same
        way = np.where(inside, way, 0.5 * (a + b))
        moved, s = np.abs(way - s), way
        if (moved <= _FOUND * wide)[wanted].all():
            break
    now = _both(look, e, s, one, other, wide)
    there = wanted & now.fine & ~now.same & ~first & ~last & (now.slope > 0.0)
    there &= np.abs(now.value) <= _OFF * wide * np.abs(now.slope)
    return Leapt(
        s, now.place, now.one, now.other, there, ~wanted, first, last, begin.other, end.one
    )


def every_leap(look: Look, parts: Stretches, jumps: Leapt, also: Stretches) -> tuple[Leaps, Ints]:
    """Return all leaps of stretches of cells, and cells in which some were not found.

    Parameters
    ----------
    parts, jumps : whose ends meet different crests, and what `leaps` said of them
    also : stretches between ends and what `hidden` found

    Verified by: tests/unit/solids/contact/test_leaps.py::test_cells_with_two_leaps
    """
    found, lost, leapt = [], [], np.ones(parts.cell.size, dtype=bool)
    for turn in range(_DIVISIONS):
        good, bad = np.flatnonzero(jumps.leaps), np.flatnonzero(~jumps.leaps & ~jumps.same)
        third, at = _thirds(look, jumps, good)
        kept = np.setdiff1d(good, at) if at.size else good
        told = parts.cell[kept], jumps.s[kept], jumps.place[:, kept]
        found.append(Leaps(*told, jumps.one.at(kept), jumps.other.at(kept)))
        # of what leaps although each crest is followed into the other one, the half that leaps
        most = _farther_half(look, parts.at(np.flatnonzero(jumps.same & leapt)))
        if not (at.size or bad.size or most.cell.size or (turn == 0 and also.cell.size)):
            parts = most
            break
        more = parts.at(at).divided(jumps.s[at], third)
        if turn == 0:
            more = more.and_also(also)
        if turn == 0 and bad.size:
            # where a crest ends inside, a third one follows
            half = parts.at(bad)
            middle, near, has = _middles(look, half)
            more = more.and_also(half.at(has).divided(middle[has], near.at(has)))
            bad = np.delete(bad, has)
        lost.append(parts.cell[bad])
        parts = more.and_also(most)
        leapt = np.arange(parts.cell.size) >= more.cell.size
        if not parts.cell.size:
            break
        jumps = parts.leaps(look)
    every = functools.reduce(Leaps.and_also, found)
    return every, np.unique(np.concatenate([*lost, parts.cell]))


def _middles(look: Look, parts: Stretches) -> tuple[Floats, Found, Ints]:
    """Return xi of the middles of stretches, what is nearest there, and which have any."""
    middle = 0.5 * (parts.low + parts.high)
    place = np.ascontiguousarray(look.mine(parts.element, middle, look.x)[1][0].T)
    return middle, *_nearest_of(look, place, [parts.one, parts.other])


def _farther_half(look: Look, parts: Stretches) -> Stretches:
    """Return the halves of stretches over which nearest places go farther, if far enough."""
    if not parts.cell.size:
        return parts
    middle, near, has = _middles(look, parts)
    both, at = parts.at(has).divided(middle[has], near.at(has)), np.arange(has.size)
    way = np.abs(_number(both.other) - _number(both.one))
    half = at + np.where(way[: has.size] > way[has.size :], 0, has.size)
    return both.at(half[way[half] > _FAR])


def _number(found: Found) -> Floats:
    """Return where along the partner places lie, by its pieces."""
    return np.asarray(found.element + 0.5 * (1.0 + found.xi[:, 0]))


def _thirds(look: Look, jumps: Leapt, good: Ints) -> tuple[Found, Ints]:
    """Return what is nearer at leaps than both of their crests, and at which."""
    one, other = jumps.one.at(good), jumps.other.at(good)
    place = np.ascontiguousarray(jumps.place[:, good].T)
    guess, at = look.others(place, [one, other], np.zeros(good.size))
    if not at.size:
        return guess, at
    third = look.near(place[at], guess)
    far = [_lengths(place[at].T - look.there(f)) for f in (third, one.at(at))]
    nearer = _there(third) & (far[0] < far[1] * (1.0 - _THIRD))
    return third.at(np.flatnonzero(nearer)), good[at[nearer]]


def _nearest_of(look: Look, place: Floats, known: list[Found]) -> tuple[Found, Ints]:
    """Return the nearest of what is found from guesses and elsewhere, and where there is any."""
    guess, at = look.others(place, known, np.zeros(place.shape[0]))
    best = look.near(place, known[0])
    far = np.where(_there(best), _lengths(place.T - look.there(best)), np.inf)
    for which, f in ((np.arange(place.shape[0]), known[1]), (at, guess)):
        near = look.near(place[which], f)
        size = np.where(_there(near), _lengths(place[which].T - look.there(near)), np.inf)
        better = size < far[which]
        for row, new in zip(best, near, strict=True):
            row[which[better]] = new[better]
        far[which[better]] = size[better]
    return best, np.flatnonzero(np.isfinite(far))


def _there(found: Found) -> Bools:
    return np.asarray(found.normal | (np.abs(found.xi[:, 0]) == 1.0))


def _lengths(v: Floats) -> Floats:
    return np.asarray(np.sqrt((v * v).sum(axis=0)))


def hidden(look: Look, parts: Stretches, guess: Found) -> tuple[Stretches, Found, Floats]:
    """Return stretches between whose ends another crest is nearer than theirs, where, and it.

    Parameters
    ----------
    parts : whose ends meet one crest
    guess : places on the other one

    Verified by: tests/unit/solids/contact/test_leaps.py::test_cells_with_two_leaps
    """
    wide = parts.high - parts.low
    a, b = parts.low.copy(), parts.high.copy()
    begin = _both(look, parts.element, a, parts.one, guess, wide)
    end = _both(look, parts.element, b, parts.other, begin.other, wide)
    left, right = begin.slope.copy(), end.slope.copy()
    going = begin.fine & end.fine & ~begin.same & ~end.same & (left > 0.0) & (right < 0.0)
    going &= (begin.value <= 0.0) & (end.value <= 0.0)
    s, above = 0.5 * (a + b), np.zeros(a.size, dtype=bool)
    other = guess
    for _ in range(_STEPS):
        if not going.any():
            break
        with np.errstate(all="ignore"):
            s = np.where(going, (a * right - b * left) / (right - left), s)
        now = _both(look, parts.element, s, parts.one, begin.other, wide)
        going &= now.fine & ~now.same
        found = going & (now.value > _NEARER * now.half[: s.size])
        if found.any():
            above |= found
            other = _put(other, now.other, found)
        rises = now.slope > 0.0
        # a side that stays twice weighs half
        left = np.where(rises, now.slope, 0.5 * left)
        right = np.where(rises, 0.5 * right, now.slope)
        a, b = np.where(rises, s, a), np.where(rises, b, s)
        # what a slope still makes of it on the way that is left does not reach zero
        going &= ~found & (now.value + np.abs(now.slope) * (b - a) > 0.0)
    at = np.flatnonzero(above)
    return parts.at(at), other.at(at), s[at]


def _put(kept: Found, new: Found, which: Bools) -> Found:
    found = Found._make(row.copy() for row in kept)
    for row, other in zip(found, new, strict=True):
        row[which] = other[which]
    return found


def rivals(cloud: Floats, place: Floats, known: list[Floats], reach: Floats) -> tuple[Ints, Ints]:
    """Return which of some places of a partner lie about as near as the nearest, on other crests.

    Parameters
    ----------
    cloud : (d, n) places of the partner in their order
    place : (p, d)
    known : (p,) numbers of the cloud at which what was found lies, about
    reach : (p,) by how much farther than the nearest of all they may be [m]

    Returns numbers of the cloud, and for which (p,).
    """
    steps = np.sqrt(((cloud[:, 1:] - cloud[:, :-1]) ** 2).sum(axis=0)).max(initial=0.0)
    which, at = [], []
    for first in range(0, place.shape[0], _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        far = (cloud[0] - place[here, :1]) ** 2 + (cloud[1] - place[here, 1:]) ** 2
        falls = far[:, 1:] < far[:, :-1]
        low = np.ones(far.shape, dtype=bool)
        low[:, 1:] = falls
        low[:, :-1] &= ~falls
        # few are left of many
        at_all = np.flatnonzero(low)
        row, column = np.divmod(at_all, far.shape[1])
        size, least = far.ravel()[at_all], far.min(axis=1)
        kept = np.sqrt(size) <= np.sqrt(least[row]) + reach[here][row] + steps
        for number in known:
            kept &= np.abs(column - number[here][row]) > _BESIDE
        row, column, size = row[kept], column[kept], size[kept]
        order = np.lexsort((size, row))
        row, column = row[order], column[order]
        best = np.append(True, row[1:] != row[:-1]) if row.size else np.zeros(0, dtype=bool)
        which.append(first + row[best])
        at.append(column[best])
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *at]), np.concatenate([none, *which])


def parts_of(
    jumps: Leaps,
    every: tuple[Ints, Floats, Floats],
    place: Floats,
    found: Found,
    sides: tuple[Ints, Ints],
) -> Parts:
    """Return the parts of cells before, between and behind leaps.

    A leap at the end of a cell is none: what begins or ends with nothing is left out, and the
    rest is the whole.

    Parameters
    ----------
    jumps : the leaps
    every : pieces and xi of both ends of all cells
    place, found : (d, p) places, and what is nearest to them
    sides : which of these are the ends of cells
    """
    a, b = sides
    cells, count = np.unique(jumps.cell), jumps.cell.size
    low, high = every[1][cells], every[2][cells]
    none = np.full(cells.size, -1)
    # what parts begin and end with: ends of cells, and leaps by their numbers
    starts = np.argsort(np.concatenate([cells, jumps.cell]), kind="stable")
    stops = np.argsort(np.concatenate([jumps.cell, cells]), kind="stable")
    left = np.concatenate([none, np.arange(count)])[starts]
    right = np.concatenate([np.arange(count), none])[stops]
    cell = np.concatenate([cells, jumps.cell])[starts]
    one = joined(found.at(a[cells]), jumps.other).at(starts)
    other = joined(jumps.one, found.at(b[cells])).at(stops)
    s_low = np.concatenate([low, jumps.s])[starts]
    s_high = np.concatenate([jumps.s, high])[stops]
    begin = np.concatenate([place[:, a[cells]], jumps.place], axis=1)[:, starts]
    end = np.concatenate([jumps.place, place[:, b[cells]]], axis=1)[:, stops]
    e, low, high = (part[cell] for part in every)
    short = s_high - s_low <= _FACING * (high - low)
    first, last = short & (left < 0) & (right >= 0), short & (right < 0) & (left >= 0)
    there = np.ones(count, dtype=bool)
    there[right[first]] = there[left[last]] = False
    s_low = np.where((left >= 0) & ~there[left], low, s_low)
    s_high = np.where((right >= 0) & ~there[right], high, s_high)
    kept = np.flatnonzero(~first & ~last)
    whole = Stretches(cell, e, s_low, s_high, one, other).at(kept)
    before, behind = np.full((2, count), -1)
    left, right = left[kept], right[kept]
    before[right[right >= 0]] = np.flatnonzero(right >= 0)
    behind[left[left >= 0]] = np.flatnonzero(left >= 0)
    return Parts(whole, (begin[:, kept], end[:, kept]), before, behind, there)
