"""Which methods of chains carry derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stiction.chains.methods import EventDriven
from stiction.chains.model import Chain
from stiction.core.method import method_for
from stiction.core.tangents import Tangents
from stiction.errors import ModelError

__all__ = ["tangents"]


def tangents(chain: Chain, method: Any, t_span: tuple[float, float], to: Sequence[str]) -> Tangents:
    """Return the end of a run of `chain` by `method`, and its derivatives."""
    chosen = method_for(chain, method)
    if isinstance(chosen, EventDriven):
        from stiction.chains.tangents.run import event_driven_tangents

        return event_driven_tangents(chain, chosen, t_span, to)
    raise ModelError(
        "Chain.tangents.method",
        repr(method),
        "EventDriven()",
        "the others do not locate the events through which derivatives jump.",
        "leave the method out.",
    )
