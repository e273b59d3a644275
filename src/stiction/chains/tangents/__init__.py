"""First derivatives of runs of chains, through stick, slip and the events between them."""
