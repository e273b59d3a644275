"""Data and control of a run, common to all systems.

Here are the driver of a run, the base class of methods, declared fields, events, energy ledger,
determinism, audit, checkpoints and the summary. No module of this package names a system.
"""
