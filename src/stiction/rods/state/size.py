"""How large a saved state of rods is."""

from __future__ import annotations

__all__ = ["OF_A_CONTACT", "numbers_kept"]

# numbers that every saved time has for a contact, or for a place for one
OF_A_CONTACT = 33


def numbers_kept(nodes: int, ends: int, partners: int) -> int:
    """Return how many numbers a saved state has besides those of contacts, at most."""
    return 25 * nodes + 13 * ends + 12 * partners
