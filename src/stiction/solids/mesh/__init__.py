"""Plane meshes with named boundaries: generators, files, gradings and checks."""
