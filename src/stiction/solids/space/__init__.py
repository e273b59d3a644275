"""Bodies in space: swept from the plane, moved to shapes, drawn, and the cap that is sheared."""
