"""Elements: Lagrange inside, with a layer of splines on the boundaries that touch."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
