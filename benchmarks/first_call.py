"""What the first call costs: in a fresh process, with an empty and with a filled kernel cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from peers import last_line
from record import Record

CALLS = {
    "belt to T = 20": "st.solve(st.BeltOscillator(), st.EventDriven(rtol=1e-9), (0.0, 20.0))",
    "wheel to the two-fold": "st.solve(st.WheelOnTurntable(), st.EventDriven(), (0.0, 20.0))",
    "wheel, ensemble of 1000 to the line": (
        "ensemble(st.WheelOnTurntable(), escaping_points(st.WheelOnTurntable(), 1000, 0.152, "
        "0.186), 500.0, sides=np.ones(1000), workers=1)"
    ),
}
NEEDS = {
    "wheel, ensemble of 1000 to the line": (
        "import numpy as np\n"
        "from stiction.switching.ensembles.study import ensemble\n"
        "from stiction.switching.wheel.escapes import escaping_points\n"
    )
}
CHILD = """
import json, sys, time
begin = time.perf_counter()
import stiction as st
loaded = time.perf_counter()
heavy = [m for m in ("numba", "scipy", "pandas", "matplotlib", "xarray") if m in sys.modules]
{needs}{call}
print(json.dumps([loaded - begin, time.perf_counter() - loaded, heavy]))
"""


def child(name: str, cache: str) -> list | str:
    """Return the seconds of the import and of the first result, and heavy modules imported."""
    script = CHILD.format(needs=NEEDS.get(name, ""), call=CALLS[name])
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
    )
    return json.loads(run.stdout) if run.returncode == 0 else last_line(run.stderr)


def first_calls(record: Record, quick: bool) -> None:
    """Measure each call once with an empty cache, then as the best of some with a filled one."""
    for name in list(CALLS)[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as cache:
            cold = child(name, cache)
            if isinstance(cold, str):
                record.add("first_call", call=name, failed=cold)
                continue
            warm = [child(name, cache) for _ in range(2 if quick else 5)]
        if any(isinstance(said, str) for said in warm):
            record.add("first_call", call=name, failed=next(s for s in warm if isinstance(s, str)))
            continue
        record.add(
            "first_call",
            call=name,
            cold=cold[1],
            warm=min(said[1] for said in warm),
            loading=min(said[0] for said in warm),
            heavy=cold[2],
        )
    heavy = sorted({m for line in record.lines for m in line.get("heavy", ())})
    loading = [line["loading"] for line in record.lines if "loading" in line]
    if loading:
        record.target(
            "import stiction, with flows among the public names",
            "imports NumPy at most",
            f"{1e3 * min(loading):.0f} ms, heavy modules: {', '.join(heavy) or 'none'}",
            not heavy,
        )
