"""The contact curve of a rod between its nodes."""

__all__: list[str] = []
