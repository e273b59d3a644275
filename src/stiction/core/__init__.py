"""What every system shares: the run and its events, ledger, determinism and audit; checkpoints."""
