"""Meshes with named boundaries: made, read from files, graded, checked."""
