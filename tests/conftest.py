"""What every test shares: figures without a screen, and the same random cases on every run."""

import os
from pathlib import Path

# before anything imports matplotlib
os.environ.setdefault("MPLBACKEND", "Agg")
# which kernels a command takes would depend on what ran before; tests of that choice say so
os.environ.setdefault("STICTION_KERNELS", "compiled")

import pytest
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

# tests that take more than about two seconds, one to a line, or functions or files of them, and
# the gallery, which the documentation runs as well
SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption(
        "--speed",
        choices=("all", "quick", "slow"),
        default="all",
        help="leave out the tests of tests/slow.txt, or all others",
    )


def pytest_report_header(config):
    words = {"quick": "slow tests are left out: make test-slow", "slow": "slow tests alone"}
    return words.get(config.getoption("--speed"))


def pytest_collection_modifyitems(config, items):
    speed = config.getoption("--speed")
    if speed == "all":
        return
    listed = set(SLOW.read_text(encoding="utf-8").splitlines())
    slow = {
        item
        for item in items
        if item.get_closest_marker("slow")
        or not listed.isdisjoint(item.nodeid.partition(mark)[0] for mark in ("::", "[", "\0"))
    }
    saved = [item for item in items if (item in slow) == (speed == "slow")]
    config.hook.pytest_deselected(
        items=[item for item in items if (item in slow) != (speed == "slow")]
    )
    items[:] = saved


@pytest.fixture
def plain_kernels():
    """Kernels as plain Python while a test lasts: nothing is compiled for a few small calls."""
    from stiction.numerics import jit

    with jit.running("plain"):
        yield
