"""Saved state of a run of rods: motion, stress resultants, reactions, and constants."""
