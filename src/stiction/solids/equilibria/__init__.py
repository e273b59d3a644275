"""Paths of equilibria: the equations, Newton, load steps and arcs, and what is kept on the way."""
