"""Periodic orbits of systems that supply derivatives: shooting, continuation, bifurcations.

`find_cycle` finds an orbit by multiple shooting, and `continue_cycle` follows it over a parameter.
"""
