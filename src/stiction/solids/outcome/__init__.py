"""The `Run` of a solid: sampled curves, events, energy ledger, audit and snapshots of bodies."""
