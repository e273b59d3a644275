"""Finite elements with spline layers on contact boundaries, and their assembly."""
