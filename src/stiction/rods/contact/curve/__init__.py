"""The contact curve of a rod: the B-spline axis on which contact points move."""

__all__: list[str] = []
