"""Rigid bodies in space, by time steps."""
