"""Size of a saved state of rods, in numbers."""

from __future__ import annotations

__all__ = ["NUMBERS_PER_CONTACT", "saved_numbers"]

# numbers of a contact, or of a slot for one, at each saved time
NUMBERS_PER_CONTACT = 33


def saved_numbers(nodes: int, ends: int, partners: int) -> int:
    """Return an upper bound of the numbers in a saved state without those of contacts."""
    return 25 * nodes + 13 * ends + 12 * partners
