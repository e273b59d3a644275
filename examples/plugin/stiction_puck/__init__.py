"""A puck on ice: one friction law and one system, which stiction finds by entry points."""
