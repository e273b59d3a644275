"""Refinement of the position of a two-fold to an error below the rounding of its states.

Newton's method ends where h, L+ and L- are zero within their rounding errors. These errors differ
from point to point, so that averages over many neighbouring points give a further correction. It is
stored separately from the position. `hopping` needs it for orbits very near the two-fold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.switching.two_folds.newton import Probe

__all__ = ["Pin", "pinned"]

Floats = npt.NDArray[np.float64]

_EPS, _LEAST = 2.220446049250313e-16, 1e-100
# a function depends on a state if its slope is at least this fraction of its largest slope. Chosen:
# along a state that hardly changes the value the rounding errors are the same at all points, and
# their average does not fall
_CHANGES = 0.1


class Pin(NamedTuple):
    """The remaining correction to a two-fold.

    Parameters
    ----------
    low : (n,) correction of the position, of the size of its last digit
    error : bound of the error of the corrected position [scaled states]. It is the distance by
        which the rounding error of one value of h, L+ and L- shifts their zero, because a part of
        that error is the same at all points
    """

    low: Floats
    error: float


def pinned(probe: Probe, x: Floats) -> Pin:
    """Return the correction from x, the end of Newton's method, to the zero of h, L+ and L-.

    Verified by: tests/unit/switching/two_folds/test_hopping.py::test_the_place_beyond_its_digits
    """
    slopes = probe.gradients(x)
    values, noises = probe.averages(x, slopes)
    inverse = np.linalg.pinv(slopes * probe.scale)
    # average only along states on which the value depends
    changes = np.abs(slopes * probe.scale).T
    changing = changes >= _CHANGES * changes.max(axis=0)
    seen = np.isfinite(noises) & np.isfinite(values)
    seen &= np.repeat(changing, len(values) // x.size, axis=0)
    if not seen.any(axis=0).all():
        # no polynomial fits, as near a kink: no correction, and the error is that of the states
        rounding = _EPS * float(np.max(np.abs(x / probe.scale)))
        return Pin(np.zeros(x.size), rounding * float(np.linalg.cond(slopes * probe.scale)))
    weights = np.where(seen, 1.0 / np.maximum(noises, _LEAST) ** 2, 0.0)
    weights /= weights.sum(axis=0)
    value = np.sum(weights * np.where(seen, values, 0.0), axis=0)
    single = np.sqrt(np.sum(weights * np.where(seen, noises, 0.0) ** 2, axis=0))
    return Pin(-probe.scale * (inverse @ value), float(np.max(np.abs(inverse) @ single)))
