"""Checkpoints of quasistatic runs: samples, events, losses of determinism and scalars.

A `Recorder` (`slip_frame`) has the samples at saved times (time, x, v, mode, friction, work,
viscous and friction heat) and the columns of the event log. The names of arrays are keys of files
on disk and must not change, so that older checkpoints can be read. `stepper` and `play` call these
functions when they save or resume a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.quasistatic.slip_frame import Recorder
from stiction.core.checkpoint import check_count, refused, saved_array, unpacking
from stiction.core.determinism import Loss

__all__ = [
    "numbers_of",
    "pack_losses",
    "pack_recorder",
    "unpack_losses",
    "unpack_recorder",
]

Arrays = Mapping[str, npt.NDArray[Any]]

_SAMPLE_COLUMNS = ("time", "x", "v", "mode", "friction", "work", "viscous", "heat")
# columns of the event log that are integers
_WHOLE = ("mass", "before", "after")


def pack_recorder(recorder: Recorder) -> dict[str, npt.NDArray[Any]]:
    """Return the samples, energies and events recorded so far."""
    log = vars(recorder.log)
    samples = {
        f"seen_{name}": getattr(recorder, name)[: recorder.filled] for name in _SAMPLE_COLUMNS
    }
    events = {f"log_{name}": np.array(values) for name, values in log.items()}
    return {**samples, **events, "so_far": recorder.so_far}


def unpack_recorder(recorder: Recorder, arrays: Arrays) -> None:
    """Restore the samples, energies and events of a checkpoint."""
    time = saved_array(arrays, "seen_time", (None,))
    recorder.filled = check_count("seen_time", time.size, 0, len(recorder.time))
    for name in _SAMPLE_COLUMNS:
        samples = getattr(recorder, name)
        shape, within = (time.size, *samples.shape[1:]), (-1, 1) if name == "mode" else None
        dtype = samples.dtype.str[1:]
        samples[: time.size] = saved_array(arrays, f"seen_{name}", shape, dtype, within=within)
    recorder.so_far = saved_array(arrays, "so_far", recorder.so_far.shape).copy()
    events, ranges = saved_array(arrays, "log_time", (None,)).size, dict.fromkeys(_WHOLE, (-1, 1))
    ranges["mass"] = (0, recorder.frame.n)
    for name, values in vars(recorder.log).items():
        # the type of an empty column is float
        kind = "i" if name in _WHOLE and events else "f8"
        column = saved_array(arrays, f"log_{name}", (events,), kind, within=ranges.get(name))
        values[:] = column.astype(np.int64 if name in _WHOLE else np.float64).tolist()


def pack_losses(losses: Sequence[Loss]) -> npt.NDArray[Any]:
    """Return losses of determinism as JSON, which preserves numbers exactly."""
    entries = [(x.time, x.kind, dict(x.where), x.choice, dict(x.units)) for x in losses]
    return np.array(json.dumps(entries))


def unpack_losses(arrays: Arrays) -> list[Loss]:
    """Return the losses of a checkpoint."""
    with unpacking():
        entries = json.loads(str(saved_array(arrays, "losses", (), "U")))
        return [
            Loss(float(time), kind, dict(where), choice, dict(units))
            for time, kind, where, choice, units in entries
        ]


def numbers_of(arrays: Arrays, count: int) -> list[float]:
    """Return the scalars of a checkpoint, time first; NaN stands for none."""
    numbers: list[float] = saved_array(arrays, "numbers", (count,), inf=True, nan=True).tolist()
    if not math.isfinite(numbers[0]):
        raise refused("numbers", f"the moment {numbers[0]}", "a finite one")
    return numbers
