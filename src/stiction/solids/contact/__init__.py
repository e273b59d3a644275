"""Contact: boundaries, their partners, and the kernels of one pass."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
