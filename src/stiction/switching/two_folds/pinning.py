"""Where a two-fold is, to a share of the rounding of its states.

Newton's method ends where h, L+ and L- are zero to their rounding. That rounding differs from
point to point, so that values averaged from all around say what is left of the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.switching.two_folds.newton import Probe

__all__ = ["Pin", "pinned"]

Floats = npt.NDArray[np.float64]

_EPS, _LEAST = 2.220446049250313e-16, 1e-100
# slope along a state, over the largest, that counts as a change with it
_CHANGES = 0.1


class Pin(NamedTuple):
    """What is left of the way to a two-fold.

    Parameters
    ----------
    low : (n,) to be added to the place, of the size of its last digit
    doubt : how far off the sum may still be [scaled states]: as far as the rounding of one
        value of h, L+ and L- moves their zero, for a part of it is the same at all points
    """

    low: Floats
    doubt: float


def pinned(probe: Probe, x: Floats) -> Pin:
    """Return how far the zero of h, L+ and L- is from x, where Newton's method ended.

    Verified by: tests/unit/switching/two_folds/test_hopping.py::test_the_place_beyond_its_digits
    """
    slopes = probe.gradients(x)
    values, noises = probe.averages(x, slopes)
    inverse = np.linalg.pinv(slopes * probe.scale)
    # rounding shows only along states with which a value changes
    changes = np.abs(slopes * probe.scale).T
    changing = changes >= _CHANGES * changes.max(axis=0)
    seen = np.isfinite(noises) & np.isfinite(values)
    seen &= np.repeat(changing, len(values) // x.size, axis=0)
    if not seen.any(axis=0).all():
        # kinks all around: the rounding of the states is all that is known
        rounding = _EPS * float(np.max(np.abs(x / probe.scale)))
        return Pin(np.zeros(x.size), rounding * float(np.linalg.cond(slopes * probe.scale)))
    weights = np.where(seen, 1.0 / np.maximum(noises, _LEAST) ** 2, 0.0)
    weights /= weights.sum(axis=0)
    value = np.sum(weights * np.where(seen, values, 0.0), axis=0)
    single = np.sqrt(np.sum(weights * np.where(seen, noises, 0.0) ** 2, axis=0))
    return Pin(-probe.scale * (inverse @ value), float(np.max(np.abs(inverse) @ single)))
