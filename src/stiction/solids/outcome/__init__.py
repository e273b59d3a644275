"""What a run of a solid tells: rows, ledger, audit and pictures."""
