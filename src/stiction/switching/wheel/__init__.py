"""The wheel on a turntable: its flow, two-folds, the line h = g = 0, a tyre that remembers."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
