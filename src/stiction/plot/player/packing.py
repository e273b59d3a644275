"""Compression of the arrays of a movie: 16-bit integers, differences in time, zlib, base64.

A float x becomes the integer q = round(65535 (x - low)/size), with the range [low, low + size] of
its component over all frames. Along the first axis (frames) the differences of q, modulo 65536,
are stored: first the low bytes of all entries, then the high bytes. Both steps make the data more
repetitive, so that zlib shrinks them more. Indices and colours are stored as bytes, or as 32-bit
integers if one exceeds 255. `page.page` packs a movie; the function `array` of `player.html`
unpacks it in the browser.
"""

from __future__ import annotations

import base64
import dataclasses
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.plot.player.movie import HIDDEN, Layer, Mark

__all__ = ["Packer", "described", "unpacked"]

_MOST = 65535
_EXACT = ("time", "low", "high")  # written with as many digits as a double has


class Packer:
    """Compresses arrays: `add` appends one and returns its position, `text` returns them all.

    Verified by: tests/unit/plot/player/test_packing.py::test_what_is_packed_is_unpacked
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: npt.NDArray[Any]) -> dict[str, Any]:
        """Append an array, floats rounded to 1/65535 of the range of each component.

        Returns its kind, shape, offset in bytes, and for floats `low` and `size` of the range.
        """
        if values.dtype.kind == "f":
            return self._floats(np.asarray(values, dtype=np.float64))
        kind = "byte" if values.size == 0 or values.max() <= HIDDEN else "long"
        data = np.ascontiguousarray(values.astype(np.uint8 if kind == "byte" else np.uint32))
        return self._append(kind, data.shape, data.tobytes())

    def _floats(self, values: npt.NDArray[np.float64]) -> dict[str, Any]:
        """Append floats (..., d), whose last axis has the d components of a point, or (n,)."""
        flat = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(-1, 1)
        finite = np.where(np.isfinite(flat), flat, np.nan)
        nothing = ~np.isfinite(finite).any(axis=0)
        finite[:, nothing] = 0.0  # a component without a finite number has no range
        low, high = np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
        size = np.where(high > low, high - low, 1.0)
        whole = np.round((np.where(np.isfinite(finite), finite, low) - low) / size * _MOST)
        numbers = whole.astype(np.uint16).reshape(values.shape)
        # values at neighbouring times differ little: zlib shrinks their differences far better
        steps = numbers.copy()
        steps[1:] = numbers[1:] - numbers[:-1]
        data = steps.reshape(-1)
        planes = (data & 255).astype(np.uint8).tobytes() + (data >> 8).astype(np.uint8).tobytes()
        return {
            **self._append("float", values.shape, planes),
            "low": low.tolist(),
            "size": size.tolist(),
        }

    def _append(self, kind: str, shape: tuple[int, ...], data: bytes) -> dict[str, Any]:
        """Append bytes; return the kind and shape of the array, and its offset `at` in bytes."""
        where = {"kind": kind, "shape": list(shape), "at": self._size}
        self._parts.append(data)
        self._size += len(data)
        return where

    def text(self) -> str:
        """Return all arrays as text."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def unpacked(text: str, where: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return the array at the position `where`, a result of `add`, of a packed text."""
    data = zlib.decompress(base64.b64decode(text))
    shape, begin = tuple(where["shape"]), int(where["at"])
    count = int(np.prod(shape))
    if where["kind"] != "float":
        kind = np.uint8 if where["kind"] == "byte" else np.uint32
        return np.frombuffer(data, kind, count, begin).reshape(shape)
    planes = np.frombuffer(data, np.uint8, 2 * count, begin).astype(np.uint16)
    steps = (planes[:count] | (planes[count:] << 8)).reshape(shape)
    whole = np.add.accumulate(steps, axis=0, dtype=np.uint16).astype(np.float64)
    return np.asarray(np.asarray(where["low"]) + whole / _MOST * np.asarray(where["size"]))


def described(thing: Any, packer: Packer) -> Any:
    """Return a movie, or a field of one, as JSON values; its arrays go to `packer`."""
    if isinstance(thing, np.ndarray):
        return packer.add(thing)
    if isinstance(thing, Mark):
        return list(dataclasses.astuple(thing))
    if isinstance(thing, list | tuple):
        return [described(part, packer) for part in thing]
    if not dataclasses.is_dataclass(thing):
        return thing
    given = {"kind": thing.KIND} if isinstance(thing, Layer) else {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        given[field.name] = value.tolist() if field.name in _EXACT else described(value, packer)
    return given
