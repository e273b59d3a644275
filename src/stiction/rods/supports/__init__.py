"""Supports of rod ends: prescribed rotation, sliding, reactions."""

__all__: list[str] = []
