"""A rod on a rigid plane: it rolls, slips, bounces and lifts."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
