"""Many runs of one scenario: swept fields, a store that survives kills, engines, pictures."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
