"""Random chains at degenerate thresholds and grazing, against matrix exponentials.

Every case is a chain in random units, mirrored and turned round at random: slip rates and drives
that touch zero exactly, within rounding or beyond it, and masses tied at their bounds, some
without friction. See `tests/chain_judge.py` for what is asked of each run.
"""

from __future__ import annotations

from chain_judge import judged
from tally import Tally


def campaign(cases: int = 10_000, seed: int = 0) -> tuple[str, int]:
    """Judge the cases whose seeds begin with `seed`."""
    tally = Tally()
    for number in range(seed, seed + cases):
        family, _, _, run, wrong = judged(number)
        tally.add(family)
        tally.must(not wrong, "wrong", number, family, f"{run.stats['events']} events: {wrong}")
    return tally.result()
