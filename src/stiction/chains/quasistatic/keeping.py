"""What quasistatic runs of chains leave in a checkpoint: records, losses, scalars, stretches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.quasistatic.slip_frame import Recorder
from stiction.results.checkpoint import kept_array
from stiction.results.determinism import Loss

__all__ = [
    "numbers_of",
    "pack_losses",
    "pack_recorder",
    "unpack_losses",
    "unpack_recorder",
]

Kept = Mapping[str, npt.NDArray[Any]]

_ROWS = ("time", "x", "v", "mode", "friction", "work", "viscous", "heat")
_WHOLE = ("mass", "before", "after")


def pack_recorder(recorder: Recorder) -> dict[str, npt.NDArray[Any]]:
    """Return the rows, energies and events kept so far."""
    log = vars(recorder.log)
    rows = {f"seen_{name}": getattr(recorder, name)[: recorder.filled] for name in _ROWS}
    events = {f"log_{name}": np.array(values) for name, values in log.items()}
    return {**rows, **events, "so_far": recorder.so_far}


def unpack_recorder(recorder: Recorder, kept: Kept) -> None:
    """Take up the rows, energies and events of a checkpoint."""
    time = kept_array(kept, "seen_time", (None,))
    recorder.filled = time.size
    for name in _ROWS:
        rows = getattr(recorder, name)
        found = kept_array(kept, f"seen_{name}", (time.size, *rows.shape[1:]), rows.dtype.kind)
        rows[: time.size] = found
    recorder.so_far = kept_array(kept, "so_far", recorder.so_far.shape).copy()
    for name, values in vars(recorder.log).items():
        column = kept[f"log_{name}"]
        values[:] = column.astype(np.int64 if name in _WHOLE else np.float64).tolist()


def pack_losses(losses: Sequence[Loss]) -> npt.NDArray[Any]:
    """Return losses of determinism as text; a number survives it to the last bit."""
    rows = [(loss.time, loss.kind, dict(loss.where), loss.choice) for loss in losses]
    return np.array(json.dumps(rows))


def unpack_losses(kept: Kept) -> list[Loss]:
    """Return the losses of a checkpoint."""
    rows = json.loads(str(kept_array(kept, "losses", (), "U")))
    return [Loss(time, kind, where, choice) for time, kind, where, choice in rows]


def numbers_of(kept: Kept, count: int) -> list[float]:
    """Return the scalars of a checkpoint; NaN stands for none."""
    found: list[float] = kept_array(kept, "numbers", (count,)).tolist()
    return found
