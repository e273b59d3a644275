"""What happened: runs, events, ledger, determinism, audit, provenance, files."""
