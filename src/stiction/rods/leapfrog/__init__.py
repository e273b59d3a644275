"""The nonholonomic leapfrog: explicit, second order, exact in rolling."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
