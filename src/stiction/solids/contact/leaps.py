"""Leaps: places of a boundary from which two places of a partner are equally near.

Where nearest points leap from one crest of a partner to the next, an integral over the boundary has
a kink: gaps are the same on both sides, and their slopes are not. So segments end there, too, at
the root s of

    G(s) = |X(s) - c_1|^2 / 2 - |X(s) - c_2|^2 / 2 = 0,    dG / ds = (c_2 - c_1) . X',

with the nearest places c_1, c_2 on either crest, which are followed along the boundary each for
itself: as both are nearest, what they do along the partner does not change G.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.model import Found
from stiction.solids.contact.segments import Curve

__all__ = ["Leapt", "Look", "joined", "leaps"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# steps for a leap, and one, as a part of a cell, after which it is found: Newton's method squares
# the error
_STEPS, _FOUND = 60, 1e-9
# parts of a cell: two places nearer to each other than this are one, and distances may differ by
# what lies as near to a leap as this
_ONE, _OFF = 1e-6, 1e-8
# part by which one of two distances has to be smaller: rounding
_NEARER = 1e-12


class Look(NamedTuple):
    """How places of a partner are looked for in a state.

    Parameters
    ----------
    mine : functions and places of the own boundary at pieces and xi (c,)
    near : nearest places from guesses, of places (p, d)
    there : (d, p) places of what was found
    x : (nodes, d) places [m]
    """

    mine: Curve
    near: Callable[[Floats, Found], Found]
    there: Callable[[Found], Floats]
    x: Floats


class Leapt(NamedTuple):
    """What was found in cells (c,).

    Parameters
    ----------
    s, place : xi and place (d, c) of the leap, where there is one
    one, other : nearest places there on both crests
    leaps : whether there is one
    first, last : cells at whose begin or end the place from the other end is the nearer one
    of_first, of_last : that place
    """

    s: Floats
    place: Floats
    one: Found
    other: Found
    leaps: Bools
    first: Bools
    last: Bools
    of_first: Found
    of_last: Found


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
        if float((moved / wide)[wanted].max(initial=0.0)) <= _FOUND:
            break
    now = _both(look, e, s, one, other, wide)
    there = wanted & now.fine & ~now.same & ~first & ~last & (now.slope > 0.0)
    there &= np.abs(now.value) <= _OFF * wide * np.abs(now.slope)
    return Leapt(s, now.place, now.one, now.other, there, first, last, begin.other, end.one)
