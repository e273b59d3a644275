"""Linear constraints as rows, and which unknown each of them takes.

A row sum_i c_i u_i = g(t) takes one free displacement, that with the largest factor once earlier
rows are subtracted. A row that no free displacement is left for depends on others: what they make
of its sum is compared with what it asks for, and what contradicts them is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = ["Row", "Taken", "eliminate", "free_sum"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# part of the largest factor below which a factor is rounding, and part of the largest
# displacement asked for by which two sums may differ
_NOTHING, _SAME = 1e-10, 1e-9


class Row(NamedTuple):
    """One constraint: sum of shares times displacements.

    Parameters
    ----------
    number : of its condition
    words : what asks for it, for messages
    places : (k,) components, two a node
    shares : (k,) the largest is 1 in size
    asked : the sum at a time [m]
    """

    number: int
    words: str
    places: Ints
    shares: Floats
    asked: Callable[[float], float]


class Taken(NamedTuple):
    """The component whose unknown a row becomes."""

    place: int
    row: Row


class _Reduced(NamedTuple):
    """A row with earlier ones subtracted: factors of free components, and of the rows in it."""

    free: dict[int, float]
    of: dict[int, float]


def free_sum(_t: float) -> float:
    """Stand for the sum of a place that nothing prescribes."""
    return float("nan")


def eliminate(
    rows: Sequence[Row],
    places: Sequence[Taken],
    fixed: npt.NDArray[np.bool_],
    prescribed: Callable[[float], Floats],
    owner: Callable[[int], str],
    times: Floats,
) -> list[Taken]:
    """Return which unknown each row takes; rows that follow from others take none.

    Parameters
    ----------
    rows : in the order of their conditions
    places : sums that stand for places already, with the components they took
    fixed : (components,) whose values are prescribed, those of places left out
    prescribed : values of the fixed ones at a time
    owner : words for what holds a component
    times : at which programs have their corners

    Raises
    ------
    ModelError : for rows that contradict each other or what is prescribed.

    Verified by: tests/unit/solids/equilibria/test_constraints.py::test_against_a_dense_solution
    """
    reduced: dict[int, _Reduced] = {}
    taken = []
    rows = [*(place.row for place in places), *rows]
    for j, row in enumerate(rows):
        work = {
            int(i): float(c) for i, c in zip(row.places, row.shares, strict=True) if not fixed[i]
        }
        of = {j: 1.0}
        # pivots of earlier rows may come in with those that are subtracted
        while here := [i for i in work if i in reduced]:
            i = here[0]
            other, factor = reduced[i], work[i] / reduced[i].free[i]
            for k, c in other.free.items():
                work[k] = work.get(k, 0.0) - factor * c
                if abs(work[k]) <= _NOTHING:
                    del work[k]
            work.pop(i, None)
            for k, c in other.of.items():
                of[k] = of.get(k, 0.0) - factor * c
        best = max(work, key=lambda i: abs(work[i]), default=None)
        if j < len(places):
            # its own component, if elimination has left it there
            own = places[j].place
            best = own if abs(work.get(own, 0.0)) > _NOTHING else best
        if best is None or abs(work[best]) <= _NOTHING:
            _compare(rows, of, fixed, prescribed, owner, times)
            continue
        reduced[best] = _Reduced(work, of)
        if j >= len(places):
            taken.append(Taken(best, row))
    return taken


def _compare(
    rows: Sequence[Row],
    of: dict[int, float],
    fixed: npt.NDArray[np.bool_],
    prescribed: Callable[[float], Floats],
    owner: Callable[[int], str],
    times: Floats,
) -> None:
    """Refuse a sum of rows in which nothing is free, if its two sides are not the same."""
    last = rows[max(of)]
    loose = [rows[j].words for j in of if rows[j].asked is free_sum]
    if loose:
        why = f"the displacement of a place is in it, which is free: {loose[0]}."
        try_ = "name the boundary instead of the place, or a node that is not on it."
        needs = "no place between control points that the constraint holds"
        raise ModelError("Solid.boundary_conditions", last.words, needs, why, try_)
    for t in times:
        values = prescribed(float(t))
        have = asked = size = 0.0
        for j, factor in of.items():
            row = rows[j]
            held = fixed[row.places]
            have += factor * float(row.shares[held] @ values[row.places[held]])
            asked += factor * row.asked(float(t))
            size = max(size, abs(row.asked(float(t))), float(np.abs(values).max()))
        if abs(have - asked) > _SAME * size:
            others = [rows[j].words for j in sorted(of) if rows[j] is not last]
            held_by = [
                owner(int(i)) for j in of for i in rows[j].places if fixed[i] and owner(int(i))
            ]
            with_ = "; ".join(dict.fromkeys([*others, *held_by])) or "nothing that is free"
            needs = f"a sum of {have:.6g} at time {t:.6g}, which the others make"
            why = f"the displacements in it are held already: {with_}."
            raise ModelError(
                "Solid.boundary_conditions",
                f"{last.words}, a sum of {asked:.6g}",
                needs,
                why,
                "leave one of them out, or name smaller boundaries: Mesh.split.",
            )
