"""States of the trajectory that an event-driven run records for its replay, in bounded memory.

The replay (`replay.compare`) verifies a run: it integrates the motion again, by another method,
from each state (time, x, v, modes) to the next one. Checkpoints store the states under keys
`trail_*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form

if TYPE_CHECKING:
    from stiction.chains.event_driven.state import Problem

__all__ = ["MOST_NUMBERS", "Trajectory", "TrajectoryRecorder"]

Floats = npt.NDArray[np.float64]
Modes = npt.NDArray[np.int8]

# largest number of entries in the track of one run; beyond it every second block is dropped
MOST_NUMBERS = 1_000_000
_BLOCK_SAMPLES = 1024


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of a chain in order of time.

    Parameters
    ----------
    time : (m,) [s]; an instant may occur several times with different modes
    x, v : (m, n) displacements [m] and velocities [m/s]
    mode : (m, n) -1 slip-, 0 stick, 1 slip+, from that state on
    follows : (m,) whether no state is missing between a state and the one before it
    problem : arguments of compiled kernels; None without states
    owners : references that keep the functions alive whose addresses are in `problem`
    """

    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    follows: npt.NDArray[np.bool_]
    problem: Problem | None = None
    owners: tuple[object, ...] = ()


Samples = tuple[Floats, Floats, Floats, Modes]


class TrajectoryRecorder:
    """Recorder of states in blocks. Of a long run it retains every second, fourth, ... block.

    Parameters
    ----------
    n : number of masses
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._block_samples = max(2, min(_BLOCK_SAMPLES, MOST_NUMBERS // (8 * n + 4)))
        # every `stride`-th block is retained
        self._stride, self._number = 1, 0
        self._saved: list[tuple[int, Samples]] = []
        self._open: list[Samples] = []

    def add(self, samples: Samples) -> None:
        """Append states that follow the last ones."""
        # a full block is closed when more states follow: the open one always holds the last states
        if sum(part[0].size for part in self._open) >= self._block_samples:
            self._close()
        self._open.append(samples)

    def _close(self) -> None:
        """Retain or release the open block, and begin the next one."""
        if self._number % self._stride == 0:
            self._saved.append((self._number, _joined(self._open)))
        self._open = []
        self._number += 1
        samples_saved = sum(block[0].size for _, block in self._saved)
        if samples_saved * (2 * self._n + 1) > MOST_NUMBERS and len(self._saved) > 1:
            self._stride *= 2
            self._saved = [(at, block) for at, block in self._saved if at % self._stride == 0]

    def trajectory(
        self, problem: Problem | None = None, owners: tuple[object, ...] = ()
    ) -> Trajectory:
        """Return the recorded states, always including the last ones."""
        blocks = [*self._saved, *([(self._number, _joined(self._open))] if self._open else [])]
        if not blocks:
            none = np.empty((0, self._n))
            return Trajectory(np.empty(0), none, none, none.astype(np.int8), np.empty(0, np.bool_))
        time, x, v, mode = _joined([block for _, block in blocks])
        follows, at, before = np.ones(time.size, np.bool_), 0, -2
        for number, block in blocks:
            follows[at] = number == before + 1
            at, before = at + block[0].size, number
        return Trajectory(time, x, v, mode, follows, problem, owners)

    # ---- checkpoint

    def pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return the recorded states as arrays of a checkpoint."""
        blocks = [*self._saved, (self._number, _joined(self._open, self._n))]
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
        """Return the required shapes and types of the arrays of `pack`."""
        forms = {f"trail_{name}": Form(("trail", self._n)) for name in ("x", "v")}
        forms["trail_time"] = Form(("trail",))
        forms["trail_mode"] = Form(("trail", self._n), "i1")
        forms["trail_blocks"] = Form(("blocks", 2), "i8", least=0)
        forms["trail_stride"] = Form((1,), "i8", least=1)
        return forms

    def unpack(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the states that `pack` returned."""
        self._stride = int(arrays["trail_stride"][0])
        self._saved, at = [], 0
        for number, size in arrays["trail_blocks"].tolist():
            part = slice(at, at + size)
            time, x, v, mode = (
                arrays[f"trail_{name}"][part] for name in ("time", "x", "v", "mode")
            )
            self._saved.append((number, (time, x, v, mode)))
            at += size
        self._number, last = self._saved.pop()
        self._open = [last] if last[0].size else []


def _joined(parts: list[Samples], n: int = 0) -> Samples:
    """Return time, x, v, mode of all parts as one; without parts, no states of n masses."""
    if not parts:
        none = np.empty((0, n))
        return np.empty(0), none, none.copy(), none.astype(np.int8)
    if len(parts) == 1:
        return parts[0]
    time, x, v, mode = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return time, x, v, mode
