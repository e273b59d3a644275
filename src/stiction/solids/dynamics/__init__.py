"""Solids with inertia: mass matrices, dampers, generalised-alpha steps and their energy balance."""
