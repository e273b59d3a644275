"""Size of a saved state of rods: how many numbers it has."""

from __future__ import annotations

__all__ = ["NUMBERS_PER_CONTACT", "saved_numbers"]

# numbers of a contact at each saved time
NUMBERS_PER_CONTACT = 33


def saved_numbers(nodes: int, ends: int, partners: int) -> int:
    """Return an upper bound of the numbers in a saved state, without contacts.

    nodes, ends, partners : numbers of nodes, rod ends and rigid partners
    """
    return 25 * nodes + 13 * ends + 12 * partners
