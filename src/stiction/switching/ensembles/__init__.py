"""Many starts of one flow in one call, on all cores."""
