"""Parts of rods at rest."""

__all__: list[str] = []
