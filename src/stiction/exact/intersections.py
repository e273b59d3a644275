"""Exit directions from the intersection of two discontinuity surfaces, for constant fields.

The surfaces h_1 = 0 and h_2 = 0 divide the state space of a Filippov system into four quadrants,
each with a constant field. All solutions that leave the intersection are enumerated in rational
arithmetic, without tolerances. These are motion in a quadrant, sliding or escaping on a half
surface (Filippov's convex combination of both neighbouring fields), sliding on the intersection
with the product weights (1 +- u)(1 +- v) / 4, and a spiral through all four quadrants (Filippov
1988, section 15; Jeffrey 2014). The tests of the codimension-2 exits of `stiction.switching` call
`exit_directions`. The module uses no package, so that no check is circular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = [
    "HALVES",
    "QUADRANTS",
    "ExitDirection",
    "exit_directions",
    "half_surface",
    "sliding_vectors",
]

# signs of h_1 and h_2 in the quadrants; on the half surfaces, 0 where it slides
QUADRANTS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
HALVES = ((0, 1), (0, -1), (1, 0), (-1, 0))

Fields = Sequence[Sequence[int]]


@dataclass(frozen=True)
class ExitDirection:
    """A solution from the intersection: its kind, its signs, and x' along it (None on a spiral)."""

    kind: str
    signs: tuple[int, int]
    flow: tuple[float, ...] | None


def half_surface(fields: Fields, e: int) -> tuple[int, list[Fraction], Fraction]:
    """Return the type of half surface e, x' on it, and its component away from the intersection.

    The type is 1 if the half surface attracts (sliding), -1 if it repels (escaping), else 0.

    Parameters
    ----------
    fields : (4, n) whole numbers: x' in the quadrants, in the order of QUADRANTS; the first two
        entries are the rates of h_1 and h_2
    e : which of HALVES
    """
    k = HALVES[e].index(0)
    side = HALVES[e][1 - k]
    up = next(f for f, s in zip(fields, QUADRANTS, strict=True) if s[k] > 0 and s[1 - k] == side)
    down = next(f for f, s in zip(fields, QUADRANTS, strict=True) if s[k] < 0 and s[1 - k] == side)
    plus, minus = Fraction(int(up[k])), Fraction(int(down[k]))
    kind = 1 if plus < 0 < minus else -1 if minus < 0 < plus else 0
    if kind == 0:
        return 0, [], Fraction(0)
    fraction = minus / (minus - plus)
    flow = [fraction * int(a) + (1 - fraction) * int(b) for a, b in zip(up, down, strict=True)]
    return kind, flow, side * flow[1 - k]


def sliding_vectors(fields: Fields) -> list[tuple[float, float]]:
    """Return the multipliers (u, v) in [-1, 1] at which both bilinear rates vanish.

    The rates are h_1' = a0 + a1 u + a2 v + a3 u v and h_2' = b0 + b1 u + b2 v + b3 u v; the
    elimination of v leaves a quadratic a u^2 + b u + c = 0.
    Roots of the quadratic for u are enclosed to 60 digits. An irrational root differs from every
    rational number with a small denominator by far more, so that no comparison is ambiguous.
    """
    a0, a1, a2, a3 = _products(fields, 0)
    b0, b1, b2, b3 = _products(fields, 1)
    a, b, c = b1 * a3 - b3 * a1, b0 * a3 + b1 * a2 - b2 * a1 - b3 * a0, b0 * a2 - b2 * a0
    rest, scale = b * b - 4 * a * c, 10**60
    if rest < 0 or (a == 0 and b == 0):
        return []
    square = Fraction(math.isqrt(int(rest * scale * scale)), scale)
    found = []
    roots = [-c / b] if a == 0 else [(-b + square) / (2 * a), (-b - square) / (2 * a)]
    # dict.fromkeys lists a double root once
    for u in dict.fromkeys(roots):
        d1, d2 = a2 + a3 * u, b2 + b3 * u
        if d1 == 0 and d2 == 0:
            continue
        v = -(a0 + a1 * u) / d1 if abs(d1) >= abs(d2) else -(b0 + b1 * u) / d2
        if abs(u) <= 1 and abs(v) <= 1:
            found.append((float(u), float(v)))
    return found


def _products(fields: Fields, k: int) -> list[Fraction]:
    """Return the coefficients of 1, u, v, u v in the rate of h_k, times four."""
    weights = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, 1))
    rates = [Fraction(int(f[k])) for f in fields]
    return [Fraction(sum(w * g for w, g in zip(row, rates, strict=True))) for row in weights]


def _spirals_out(fields: Fields) -> bool:
    """Return whether orbits cycle through all quadrants and move away from the intersection.

    In each quadrant the distance from the next surface falls at the rate `falls`, and that from the
    previous surface rises at the rate `rises`. A cycle multiplies the distance by the product of
    the four ratios -rises / falls; the orbit moves away if this product exceeds 1.
    """
    for sense in (1, -1):
        grows = shrinks = Fraction(1)
        turning = True
        for f, (a, b) in zip(fields, QUADRANTS, strict=True):
            out = (a * int(f[0]), b * int(f[1]))
            falls, rises = out if (a * b == 1) == (sense == 1) else out[::-1]
            turning = turning and falls < 0 < rises
            grows, shrinks = grows * rises, shrinks * falls
        if turning and grows > shrinks:
            return True
    return False


def exit_directions(fields: Fields) -> list[ExitDirection]:
    """Return every solution that starts where both surfaces meet (see `half_surface`).

    Source: Filippov 1988, section 15, with the product combination on the intersection.
    """
    found = []
    for f, (a, b) in zip(fields, QUADRANTS, strict=True):
        if a * int(f[0]) > 0 and b * int(f[1]) > 0:
            found.append(ExitDirection("slip", (a, b), tuple(float(g) for g in f)))
    for e, signs in enumerate(HALVES):
        kind, flow, outward = half_surface(fields, e)
        if kind and outward > 0:
            name = "slide" if kind > 0 else "escape"
            found.append(ExitDirection(name, signs, tuple(float(g) for g in flow)))
    for u, v in sliding_vectors(fields):
        weights = [0.25 * (1 + a * u) * (1 + b * v) for a, b in QUADRANTS]
        sliding = [0.0] * len(fields[0])
        for weight, f in zip(weights, fields, strict=True):
            sliding = [total + weight * int(g) for total, g in zip(sliding, f, strict=True)]
        found.append(ExitDirection("codim2_sliding", (0, 0), tuple(sliding)))
    if _spirals_out(fields):
        found.append(ExitDirection("spiral", (0, 0), None))
    return found
