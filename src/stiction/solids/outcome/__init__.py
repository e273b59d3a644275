"""Results of solids: samples, events, ledger, audit and snapshots."""
