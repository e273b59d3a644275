"""Inside `Quasistatic`: loads cut at their turns, modes, branches, records."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
