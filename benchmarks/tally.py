"""Counts, largest values and faults of a campaign of random cases."""

from __future__ import annotations

import collections


class Tally:
    """What came out of a campaign; each fault is printed as it comes."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.largest: dict[str, float] = {}
        self.faults = 0

    def add(self, what: str, many: int = 1) -> None:
        """Count something that is no fault."""
        self.counts[what] += int(many)

    def most(self, what: str, value: float) -> None:
        """Keep the largest value."""
        self.largest[what] = max(self.largest.get(what, value), float(value))

    def fault(self, what: str, *words: object) -> None:
        """Count and print what must not be."""
        self.add(what)
        self.faults += 1
        print(what.upper(), *words, flush=True)

    def must(self, holds: bool, what: str, *words: object) -> bool:
        """Count and print a fault where something does not hold; return whether it does."""
        if not holds:
            self.fault(what, *words)
        return bool(holds)

    def result(self) -> tuple[str, int]:
        """Return the measurements in a line, and the number of faults."""
        parts = [f"{many} {what}" for what, many in self.counts.items()]
        parts += [f"{what} at most {value:.3g}" for what, value in self.largest.items()]
        return f"{self.faults} faults: {', '.join(parts)}", self.faults
