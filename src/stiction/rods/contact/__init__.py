"""How rods touch: where, what a contact may do, forces and impulses, and who is near whom."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
