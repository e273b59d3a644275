"""Ties and grazes of random chains, judged by matrix exponentials; wrong cases are listed.

::

    python benchmarks/trust_ties.py 10000           # cases from 0 on
    python benchmarks/trust_ties.py 300 --first 5000

Every case is a chain in random units, mirrored and turned round at random: slip rates and drives
that touch zero exactly, within rounding or beyond it, and masses tied at their bounds, some
without friction. See `tests/chain_judge.py` for what is asked of each run.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from chain_judge import judged


def main() -> int:
    """Return 0 when no case is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    right, bad, begin = collections.Counter(), 0, time.perf_counter()
    for seed in range(asked.first, asked.first + asked.cases):
        family, _, _, run, wrong = judged(seed)
        right[family] += not wrong
        if wrong:
            bad += 1
            print(f"case {seed}, {family}, {run.stats['events']} events: {wrong}", flush=True)
    print(
        f"{bad} of {asked.cases} wrong in {time.perf_counter() - begin:.0f} s; right: {dict(right)}"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
