"""Bring the contacts of a run up to date with a search among all rods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.rods.contact import kernels as ck

if TYPE_CHECKING:
    from stiction.rods.assembly import Flat
    from stiction.rods.contact.state import ContactState

__all__ = ["found_pairs", "refresh_slots"]

Floats = npt.NDArray[np.float64]

# two places nearer than this, in elements, are the same contact
_SAME = 2.0
_MOST_PAIRS = 1 << 20


def found_pairs(flat: Flat, margin: float, self_contact: bool, capacity: int) -> Floats:
    """Return rows (rod, rod, s, s, distance, sine of the angle, kind) of pairs that are near.

    Parameters
    ----------
    margin : gap below which a pair counts as near [m]
    self_contact : whether pairs of one rod with itself are wanted
    capacity : rows set aside at first
    """
    from stiction.rods.contact.search_kernels import ROW_COLUMNS, find_candidates

    # along one rod, surfaces nearer than half a circle of contact are the rod itself
    apart = np.ceil(np.pi * flat.radius / flat.ds + 4.0)
    separation = np.where(self_contact, apart, flat.count + 1.0).astype(np.int64)
    while True:
        rows = np.zeros((capacity, ROW_COLUMNS))
        count = find_candidates(
            flat.r, flat.first, flat.count, flat.radius, flat.ds, margin, separation, rows
        )
        if count <= capacity or capacity >= _MOST_PAIRS:
            return rows[: min(count, capacity)]
        capacity = min(2 * int(count), _MOST_PAIRS)


def refresh_slots(state: ContactState, flat: Flat) -> None:
    """Open slots for new pairs and empty those of pairs that went far apart."""
    search = state.rods.search
    if search is None:
        return
    margin = search.margin * float(flat.radius.min())
    state.limit = 0.4 * margin
    rows = found_pairs(flat, margin, search.self_contact, max(64, 2 * search.most))
    used = np.zeros(len(rows), dtype=bool)
    for c in range(state.size):
        if state.index[c, ck.MODE] == ck.EMPTY:
            continue
        used |= _same_place(state, c, rows)
        far = state.geom[c, ck.DISTANCE] > state.law[c, ck.REACH] + 2.0 * margin
        if c >= state.known and state.index[c, ck.MODE] == ck.OPEN and far:
            state.index[c, ck.MODE] = ck.EMPTY
    free = [c for c in range(state.known, state.size) if state.index[c, ck.MODE] == ck.EMPTY]
    new = rows[~used]
    if len(new) > len(free):
        raise ModelError(
            explain(
                "ContactSearch.most",
                search.most,
                f"room for at least {state.size - state.known - len(free) + len(new)} contacts",
                f"{len(new)} more pairs came near each other.",
                "raise `most`, or lower `margin`.",
            )
        )
    for c, row in zip(free, new, strict=False):
        state.open_slot(c, row)


def _same_place(state: ContactState, c: int, rows: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows are the pair that slot c holds already."""
    from stiction.rods.contact import search_kernels as sk

    rods = rows[:, [sk.A, sk.B]] == state.index[c, [ck.ROD1, ck.ROD2]]
    away = np.abs(rows[:, [sk.S_A, sk.S_B]] - state.place[c])
    pair = rods.all(axis=1)
    if state.index[c, ck.KIND] == ck.LINE:
        return np.asarray(pair & (away[:, 0] < 0.5))
    near = away.max(axis=1, initial=0.0) < _SAME
    return np.asarray(pair & (rows[:, sk.KIND_OF] == ck.CROSSING) & near)
