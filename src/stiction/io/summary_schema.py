"""The schema of `summary.json`, as types that msgspec checks when a saved run is loaded."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

__all__ = ["check_summary"]


class _Loss(msgspec.Struct):
    time: float | None
    kind: str
    where: dict[str, Any] = {}
    choice: str = ""


class _Determinism(msgspec.Struct):
    status: str
    losses: list[_Loss]


class _Check(msgspec.Struct):
    check: str
    ok: bool | None
    value: float | None
    limit: float | None
    time: float | None
    kind: str = "at_most"


class _Quantity(msgspec.Struct):
    value: float | str | bool | list[Any] | None
    unit: str


class _Summary(msgspec.Struct):
    status: str
    system: str
    method: str
    t_end: float
    final: dict[str, list[Any] | float | None]
    energy: dict[str, float | None]
    determinism: _Determinism
    audit: list[_Check]
    quantities: dict[str, _Quantity]
    stats: dict[str, float | None]
    provenance: dict[str, Any]


def check_summary(summary: object) -> None:
    """Raise ValueError if the content of summary.json does not have the schema.

    Verified by: tests/unit/io/test_store.py::test_changed_summaries_are_refused
    """
    try:
        content = msgspec.convert(summary, _Summary)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    for values in content.final.values():
        np.array(values, dtype=np.float64)
    for name, quantity in content.quantities.items():
        parts = quantity.value if isinstance(quantity.value, list) else [quantity.value]
        if quantity.unit not in ("", "1") and any(isinstance(part, str) for part in parts):
            raise ValueError(f"{name} is a word and has the unit {quantity.unit!r}")
