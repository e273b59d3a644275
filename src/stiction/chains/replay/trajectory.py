"""What a method keeps of its way, so that the run can be gone through again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form

if TYPE_CHECKING:
    from stiction.chains.event_driven.state import Problem

__all__ = ["MOST_NUMBERS", "Trail", "TrailKeeper"]

Floats = npt.NDArray[np.float64]
Modes = npt.NDArray[np.int8]

# numbers that are kept of one run; beyond, every second block is let go
MOST_NUMBERS = 1_000_000
_BLOCK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Trail:
    """States of a chain on its way, in order of time.

    Parameters
    ----------
    time : (m,) [s]; one instant may stand there several times, with other modes
    x, v : (m, n) displacements [m] and velocities [m/s]
    mode : (m, n) -1 slip-, 0 stick, 1 slip+, what holds from that state on
    follows : (m,) whether a state is the next after the one before it
    problem : the chain as compiled kernels read it; None without them
    owners : what holds the functions whose addresses stand in `problem`
    """

    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    follows: npt.NDArray[np.bool_]
    problem: Problem | None = None
    owners: tuple[object, ...] = ()


Rows = tuple[Floats, Floats, Floats, Modes]


class TrailKeeper:
    """Collects states in blocks, in bounded memory: of a long run every 2nd, 4th, ... block.

    Parameters
    ----------
    n : number of masses
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._rows = max(2, min(_BLOCK_ROWS, MOST_NUMBERS // (8 * n + 4)))
        # which blocks are kept: every `stride`-th, by number
        self._stride, self._number = 1, 0
        self._kept: list[tuple[int, Rows]] = []
        self._open: list[Rows] = []

    def add(self, rows: Rows) -> None:
        """Take states that follow those taken before."""
        self._open.append(rows)
        if sum(part[0].size for part in self._open) < self._rows:
            return
        if self._number % self._stride == 0:
            self._kept.append((self._number, _joined(self._open)))
        self._open = []
        self._number += 1
        rows_kept = sum(block[0].size for _, block in self._kept)
        if rows_kept * (2 * self._n + 1) > MOST_NUMBERS and len(self._kept) > 1:
            self._stride *= 2
            self._kept = [(at, block) for at, block in self._kept if at % self._stride == 0]

    def trail(self, problem: Problem | None = None, owners: tuple[object, ...] = ()) -> Trail:
        """Return all that is kept; the last states always are."""
        blocks = [*self._kept, *([(self._number, _joined(self._open))] if self._open else [])]
        if not blocks:
            none = np.empty((0, self._n))
            return Trail(np.empty(0), none, none, none.astype(np.int8), np.empty(0, np.bool_))
        time, x, v, mode = _joined([block for _, block in blocks])
        follows, at, before = np.ones(time.size, np.bool_), 0, -2
        for number, block in blocks:
            follows[at] = number == before + 1
            at, before = at + block[0].size, number
        return Trail(time, x, v, mode, follows, problem, owners)

    # ---- checkpoint

    def pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that is kept as arrays."""
        blocks = [*self._kept, (self._number, _joined(self._open, self._n))]
        time, x, v, mode = _joined([b for _, b in blocks])
        arrays: dict[str, npt.NDArray[Any]] = {
            "trail_time": time,
            "trail_x": x,
            "trail_v": v,
            "trail_mode": mode,
        }
        arrays["trail_blocks"] = np.array([[at, b[0].size] for at, b in blocks], np.int64)
        arrays["trail_stride"] = np.array([self._stride], np.int64)
        return arrays

    def forms(self) -> dict[str, Form]:
        """Return what the arrays of `pack` must be."""
        forms = {f"trail_{name}": Form(("trail", self._n)) for name in ("x", "v")}
        forms["trail_time"] = Form(("trail",))
        forms["trail_mode"] = Form(("trail", self._n), "i1")
        forms["trail_blocks"] = Form(("blocks", 2), "i8", least=0)
        forms["trail_stride"] = Form((1,), "i8", least=1)
        return forms

    def unpack(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `pack` returned."""
        self._stride = int(arrays["trail_stride"][0])
        self._kept, at = [], 0
        for number, size in arrays["trail_blocks"].tolist():
            part = slice(at, at + size)
            time, x, v, mode = (
                arrays[f"trail_{name}"][part] for name in ("time", "x", "v", "mode")
            )
            self._kept.append((number, (time, x, v, mode)))
            at += size
        self._number, last = self._kept.pop()
        self._open = [last] if last[0].size else []


def _joined(parts: list[Rows], n: int = 0) -> Rows:
    if not parts:
        none = np.empty((0, n))
        return np.empty(0), none, none.copy(), none.astype(np.int8)
    if len(parts) == 1:
        return parts[0]
    time, x, v, mode = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return time, x, v, mode
