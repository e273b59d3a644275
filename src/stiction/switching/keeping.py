"""What a checkpoint of a flow must hold, compared before a kernel sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, check_arrays, check_count, like, refused
from stiction.switching.flow.records import Flow
from stiction.switching.flow.rows import (
    KIND,
    KIND_COUNT,
    LEAST,
    N_EVENTS,
    N_SAVES,
    STATE,
    STEPS,
    WHERE,
    K,
    M,
    N,
)

__all__ = ["check_kept"]


def check_kept(kept: Mapping[str, npt.NDArray[Any]], flow: Flow) -> None:
    """Refuse a checkpoint whose arrays are not those of a run of this flow.

    Raises
    ------
    StoreError : naming the array.

    Verified by: tests/unit/test_wrong_checkpoints.py::test_wrong_arrays_are_refused
    """
    n, m = int(flow.system[N]), int(flow.system[M])
    # no margin and no event yet are infinitely far
    forms = {name: like(array) for name, array in flow.moving().items()}
    forms["clock"] = like(flow.clock, inf=(LEAST,))
    forms["order"] = like(flow.moving()["order"], within=(0, 2))
    forms["events"] = like(flow.event, "events", inf=True)
    forms["leave"] = Form((3,), inf=True)
    forms["lost"] = Form(("losses", 1 + n), nan=True)
    forms["lost_words"] = Form(("losses", 3), "U")
    forms["futures"] = Form(("futures", 5 + n + m), inf=True)
    forms |= {name: Form((), "U") for name in ("lost_where", "rng")}
    check_arrays(kept, forms)
    check_count("count", int(kept["count"][N_SAVES - STEPS]), 0, flow.saved.shape[0])
    check_count("count", int(kept["count"][N_EVENTS - STEPS]), 0, 0)
    rows = kept["events"][:, : STATE + n]
    kinds, surfaces = rows[:, KIND], abs(rows[:, WHERE])
    known = (kinds >= 0).all() and (kinds < KIND_COUNT).all()
    if not (np.isfinite(rows).all() and known and (surfaces <= m + int(flow.system[K])).all()):
        raise refused("events", "numbers that are not those of events", "rows of events")
    steps = np.diff(rows[:, 0])
    if not ((steps >= 0.0).all() or (steps <= 0.0).all()):
        raise refused("events", "events out of order", "events one after the other")
