"""Many starts of one flow in one call, on processors and graphics cards."""
