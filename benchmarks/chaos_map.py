"""Is it chaos for all data? Exponents of equal strings over their mobility and their distance.

    python benchmarks/chaos_map.py [FIGURE.png]     some minutes; the table goes to results

The start is that of the paper, u = sin x, v = 0 on fixed ends, with one contact point at 2.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from stiction.rods import RollingStrings, Sine, chaos_map

TABLE = Path(__file__).resolve().parent / "results" / "chaos_map.csv"
MOBILITY, OFFSET, T_END = np.linspace(0.1, 1.2, 12), np.linspace(0.0, 2.0, 9), 200.0


def main() -> None:
    strings = RollingStrings(s1=2.0, s2=2.0, u0=Sine(2, 1.0), nodes=3)
    begin = time.process_time()
    found = chaos_map(strings, list(MOBILITY), list(OFFSET), T_END)
    print(f"{found} up to t = {T_END:g}; {time.process_time() - begin:.0f} s CPU")
    with TABLE.open("w", encoding="utf-8") as file:
        file.write("G,offset,exponent,error,verdict,reached\n")
        for i, G in enumerate(found.mobility):
            for j, apart in enumerate(found.offset):
                numbers = f"{found.rate[i, j]:.5f},{found.error[i, j]:.5f}"
                word, upto = found.verdict[i, j], found.reached[i, j]
                file.write(f"{G:.3g},{apart:.3g},{numbers},{word},{upto:g}\n")
    if len(sys.argv) > 1:
        found.plot().savefig(sys.argv[1])


if __name__ == "__main__":
    main()
