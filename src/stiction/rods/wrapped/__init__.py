"""Statics of one rod in contact with rigid bodies along arcs, with exact Coulomb friction."""

__all__: list[str] = []
