"""Two workers against one, on a quiet machine: turns of the same study, nothing written.

::

    python benchmarks/two_workers.py            # seven turns of 200,000 chains, six minutes
    python benchmarks/two_workers.py --quick    # one turn of 2,000, to see that it runs
"""

from __future__ import annotations

from bench_studies import workers
from record import Record, arguments


def main() -> None:
    """Measure the row alone; `bench_studies.py` keeps it with the others."""
    workers(Record("two_workers", quick=True), arguments(__doc__).quick)


if __name__ == "__main__":
    main()
