"""Replay: verification of an event-driven run by a second integration with other algorithms."""
