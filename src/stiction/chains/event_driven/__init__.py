"""Inside `EventDriven`: series of the motion, steps from event to event, records."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
