"""Deformable bodies in space: swept from a plane section, mapped to shapes, drawn."""
