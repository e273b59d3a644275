"""Which releases of Numba are known here: what others do inside may be something else.

The shorter ways of this folder stand in for functions that Numba promises to nobody. A release
that none of our tests has seen compiles by its own ways: the same numbers, after a longer wait.
"""

from __future__ import annotations

import re

__all__ = ["is_known"]

# the tests have been run with both
_FIRST, _LAST = (0, 62), (0, 68)


def is_known(version: str) -> bool:
    """Say whether the front end of a release of Numba is known.

    Parameters
    ----------
    version : as Numba tells it, "0.68.1"

    Verified by: tests/unit/numerics/compiling/test_known.py::test_releases_that_are_known
    """
    found = re.match(r"(\d+)\.(\d+)\.", version)
    return found is not None and _FIRST <= (int(found[1]), int(found[2])) <= _LAST
