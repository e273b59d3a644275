"""Two strings in rolling contact at one moving point: exact characteristics, and strands."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
