"""Equilibrium paths: discrete equations, Newton's method, load and arclength steps, records."""
