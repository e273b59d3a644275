"""Write the lists of kernels that `stiction compile` makes: src/stiction/SYSTEM/kernels.txt.

::

    python tools/list_kernels.py            # runs every built-in scenario, compiled
    python tools/list_kernels.py chains     # of one system
    python tools/list_kernels.py --check    # exit code 1 if a list lacks something

What a scenario calls is noted while it runs; a list holds every line once, in order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "stiction"

_RUN = """
import sys
from pathlib import Path
from stiction.numerics.compiling.listing import lines
{body}
Path({out!r}).write_text("\\n".join(lines()))
"""
_SCENARIO = """
from stiction.cli.run import Job, run_job
run_job(Job({name!r}, (), {folder!r}, figures=False, quiet=True))
"""


# what no scenario calls, and users do
_BESIDES = {
    "chains": """
import stiction as st
mine = st.UserFriction(lambda v: 0.2 + 0.1 / (1.0 + v), lambda v: -0.1 / (1.0 + v) ** 2)
for law in (st.Coulomb(0.25), mine):
    chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, law=law, load=st.UserLoad(lambda t: 3.0 * t))
    for method in (st.EventDriven(), st.ThetaStepper(0.01)):
        st.solve(chain, method, (0.0, 2.0), throw=False)
st.solve(st.Chain(mass=[1.0], stiffness=20.0, law=mine, v0=1.0), st.EventDriven(), (0.0, 1.0))
for name in ("Dahl", "LuGre", "ElastoPlastic", "BoucWen", "RateAndStateFriction"):
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=getattr(st.laws, name).examples()[0], v0=0.1)
    for method in (st.chains.Radau(), st.ThetaStepper(0.001)):
        st.solve(chain, method, (0.0, 0.01), throw=False)
import numpy as np
of, to = ["x[0]"], ["law.mu_kinetic", "load.rate", "x0"]
for law in (st.StaticKinetic(0.3, 0.25), st.ExponentialWeakening(0.3, 0.25, 0.5), mine):
    chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, law=law, load=st.Ramp(3.0))
    names = to if law is not mine else to[1:]
    for method in (st.EventDriven(), st.ThetaStepper(0.01)):
        chain.tangents(method, (0.0, 2.0), names)
        if law.constant and method == st.EventDriven():
            chain.gradients(method, (0.0, 2.0), of, names)
from stiction.chains.blocks import event_driven, theta
from stiction.core.run import Request
chain = st.Chain(mass=[1.0, 1.0], stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.25))
request = Request(0.0, 2.0, np.array([0.0, 2.0]))
for blocks, method in ((event_driven, st.chains.EventDriven()), (theta, st.ThetaStepper(0.01))):
    blocks.blocks_of(chain, method, request, [("law", "mu")], [])([np.array([0.1, 0.2])])
""",
    "faults": """
import stiction as st
import numpy as np
from stiction.faults.members import blocks_of
from stiction.core.run import Request
request, slider = Request(0.0, 9.0, np.array([0.0, 9.0])), st.faults.SpringSlider()
blocks_of(slider, st.faults.Cycles(), request, [("spring",)], [])([np.array([1e9, 2e9])])
""",
    "rods": """
import stiction as st
system = st.read_scenario("rods-crossed").system
st.solve(system, st.rods.RollingMidpoint(step=1e-4), (0.0, 1e-3), throw=False)
import numpy as np
from stiction.core.run import Request
from stiction.rods.strings.blocks.members import blocks_of
strings, method = st.read_scenario("string-offset").system, st.rods.Characteristics(step=0.01)
request = Request(0.0, 1.0, np.array([0.0, 1.0]))
blocks_of(strings, method, request, [("G1",)], ["final.u"])([np.array([0.2, 0.3])])
""",
    "switching": """
import stiction as st
from stiction.switching.ensembles.study import ensemble
from stiction.switching.wheel.escapes import escaping_points
import numpy as np
wheel = st.WheelOnTurntable()
points = escaping_points(wheel, 20, 0.152, 0.186)
ensemble(wheel, points, 5.0, sides=np.ones(20), workers=1)
from stiction.core.run import Request
from stiction.switching.ensembles.members import blocks_of
from stiction.switching.methods import EventDriven
request = Request(0.0, 1.0, np.array([0.0, 1.0]))
blocks_of(wheel, EventDriven(), request, [("x0", 0)], [])([np.array([0.2, 0.21])])
""",
}


def main() -> int:
    """Write or check the lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", nargs="*", help="default all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    lacking = 0
    for system in asked.systems or sorted(p.parent.name for p in PACKAGE.glob("*/scenarios")):
        found = called(system)
        path = PACKAGE / system / "kernels.txt"
        if asked.check:
            missing = found - set(path.read_text().splitlines() if path.exists() else ())
            lacking += len(missing)
            print("\n".join(f"{system}: {line[:90]}" for line in sorted(missing)))
        else:
            path.write_text("\n".join(sorted(found)) + "\n")
            print(f"{system}: {len(found)} kernels")
    return int(lacking > 0)


def called(system: str) -> set[str]:
    """Return the lines of all scenarios of a system, and of what users call besides."""
    found: set[str] = set()
    names = [path.stem for path in sorted((PACKAGE / system / "scenarios").glob("*.toml"))]
    for name in [*names, *([""] if system in _BESIDES else [])]:
        with tempfile.TemporaryDirectory() as scratch:
            out, folder = Path(scratch, "lines"), str(Path(scratch, "run"))
            scenario = _SCENARIO.format(name=name, folder=folder)
            body = scenario if name else _BESIDES[system]
            code = _RUN.format(body=body, out=str(out))
            environment = {**os.environ, "STICTION_KERNELS": "compiled"}
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, cwd=scratch)
            found |= set(out.read_text().splitlines())
    return found


if __name__ == "__main__":
    raise SystemExit(main())
