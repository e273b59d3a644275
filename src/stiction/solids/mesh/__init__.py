"""Plane meshes with named boundaries: `Mesh`, generators of shapes, files, gradings, checks."""
