"""Solids with inertia: masses, dampers, generalised alpha with the energy of every step told."""
