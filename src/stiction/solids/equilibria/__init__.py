"""Equilibrium paths of solids: discrete equations, Newton's method, load and arclength steps."""
