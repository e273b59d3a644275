"""What every test shares: figures without a screen, and the same random cases on every run."""

import os

# before anything imports matplotlib
os.environ.setdefault("MPLBACKEND", "Agg")
# which kernels a command takes would depend on what ran before; tests of that choice say so
os.environ.setdefault("STICTION_KERNELS", "compiled")

from hypothesis import HealthCheck, settings

# "ci" draws the same cases everywhere, so that a red run is red for everybody; "explore"
# looks for new ones: HYPOTHESIS_PROFILE=explore. Neither measures time: a first call compiles.
_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "print_blob": True,
}
settings.register_profile("ci", derandomize=True, database=None, max_examples=40, **_COMMON)
settings.register_profile("explore", max_examples=400, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
