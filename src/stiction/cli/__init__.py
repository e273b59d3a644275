"""The command line: `stiction list`, `run`, `show`, `plot`, `reproduce`."""
