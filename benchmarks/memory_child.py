"""How much the peak memory of this process grows in one run; printed as JSON."""

import json
import resource
import sys
from pathlib import Path

from long_chains import pulled

import stiction as st

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak():
    """Make the peak start from here; where the system cannot, it includes the compiler's."""
    if _RESET.exists():
        _RESET.write_text("5")


def peak():
    """Return the largest resident size so far [bytes]."""
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if "VmHWM" in line)
        return 1024 * int(line.split()[1])
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size


def main():
    asked = json.load(sys.stdin)
    n, n_step = asked["n"], asked["steps"]
    small, step = pulled(100)
    st.solve(small, st.ThetaStepper(step=step), (0.0, 20 * step), save=2)
    forget_peak()
    before = peak()
    chain, step = pulled(n)
    run = st.solve(chain, st.ThetaStepper(step=step), (0.0, n_step * step), save=2)
    growth = peak() - before
    print(json.dumps({"n": n, "steps": run.stats["steps"], "growth_bytes": growth}))


if __name__ == "__main__":
    main()
