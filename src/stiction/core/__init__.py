"""Common to all systems: run, events, energy ledger, determinism, audit, checkpoints."""
