"""Whether files are what was written: digests of runs, arrays of checkpoints."""
