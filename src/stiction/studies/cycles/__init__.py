"""Periodic orbits of systems that have derivatives: found, followed, and their bifurcations."""
