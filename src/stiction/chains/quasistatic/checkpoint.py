"""What quasistatic runs of chains leave in a checkpoint: records, losses, scalars, stretches."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.quasistatic.slip_frame import Recorder
from stiction.core.checkpoint import check_count, kept_array, refused, unpacking
from stiction.core.determinism import Loss

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
    recorder.filled = check_count("seen_time", time.size, 0, len(recorder.time))
    for name in _ROWS:
        rows = getattr(recorder, name)
        shape, within = (time.size, *rows.shape[1:]), (-1, 1) if name == "mode" else None
        dtype = rows.dtype.str[1:]
        rows[: time.size] = kept_array(kept, f"seen_{name}", shape, dtype, within=within)
    recorder.so_far = kept_array(kept, "so_far", recorder.so_far.shape).copy()
    events, ranges = kept_array(kept, "log_time", (None,)).size, dict.fromkeys(_WHOLE, (-1, 1))
    ranges["mass"] = (0, recorder.frame.n)
    for name, values in vars(recorder.log).items():
        # an empty column has no kind of its own
        kind = "i" if name in _WHOLE and events else "f8"
        column = kept_array(kept, f"log_{name}", (events,), kind, within=ranges.get(name))
        values[:] = column.astype(np.int64 if name in _WHOLE else np.float64).tolist()


def pack_losses(losses: Sequence[Loss]) -> npt.NDArray[Any]:
    """Return losses of determinism as text; a number survives it to the last bit."""
    rows = [(loss.time, loss.kind, dict(loss.where), loss.choice) for loss in losses]
    return np.array(json.dumps(rows))


def unpack_losses(kept: Kept) -> list[Loss]:
    """Return the losses of a checkpoint."""
    with unpacking():
        rows = json.loads(str(kept_array(kept, "losses", (), "U")))
        return [Loss(float(time), kind, dict(where), choice) for time, kind, where, choice in rows]


def numbers_of(kept: Kept, count: int) -> list[float]:
    """Return the scalars of a checkpoint, the moment first; NaN stands for none."""
    found: list[float] = kept_array(kept, "numbers", (count,), inf=True, nan=True).tolist()
    if not math.isfinite(found[0]):
        raise refused("numbers", f"the moment {found[0]}", "a finite one")
    return found
