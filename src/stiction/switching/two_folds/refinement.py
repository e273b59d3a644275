"""Correction of the position of a two-fold, below the rounding errors of its states.

Newton's method ends where h, L+ and L- are zero within their rounding errors. These errors differ
from point to point. Polynomials fitted to values at many neighbouring points average them, and give
h, L+ and L- more exactly; one more Newton step with these values is the correction. It is stored
separately from the position. `hopping` needs it for orbits very near the two-fold. Here h is the
switching function, L+- = grad h . f+- its rates along the fields of both sides, and n the number of
states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.switching.two_folds.newton import Probe

__all__ = ["Correction", "correction"]

Floats = npt.NDArray[np.float64]

_EPS, _LEAST = 2.220446049250313e-16, 1e-100
# polynomials along a state are used for a function if its slope there is at least this fraction of
# its largest slope. Chosen: if values hardly change along a state, all points have the same
# rounding error, which an average does not reduce
_LEAST_SLOPE = 0.1


class Correction(NamedTuple):
    """The remaining correction of a two-fold.

    Parameters
    ----------
    low : (n,) correction of the position, of the size of its last digit
    error : bound of the error of the corrected position [scaled states]. It is the distance by
        which the rounding error of one value of h, L+ and L- shifts their zero, because a part of
        that error is the same at all points
    """

    low: Floats
    error: float


def correction(probe: Probe, x: Floats) -> Correction:
    """Return the correction from x, the end of Newton's method, to the zero of h, L+ and L-.

    Parameters
    ----------
    probe : the three functions
    x : (n,) states

    Verified by: tests/unit/switching/two_folds/test_hopping.py::test_the_place_beyond_its_digits
    """
    slopes = probe.gradients(x)  # (3, n)
    # of h, L+ and L- at x from q polynomials along states, for each state several radii: values
    # (q, 3), and rounding errors of one sample (q, 3)
    values, noises = probe.averages(x, slopes)
    inverse = np.linalg.pinv(slopes * probe.scale)
    changes = np.abs(slopes * probe.scale).T
    changing = changes >= _LEAST_SLOPE * changes.max(axis=0)
    seen = np.isfinite(noises) & np.isfinite(values)
    seen &= np.repeat(changing, len(values) // x.size, axis=0)
    if not seen.any(axis=0).all():
        # no polynomial approximates a function, as near a kink: no correction, and the error is
        # that of the rounding of states
        rounding = _EPS * float(np.max(np.abs(x / probe.scale)))
        return Correction(np.zeros(x.size), rounding * float(np.linalg.cond(slopes * probe.scale)))
    # mean over the polynomials, with weights of the inverse variance
    weights = np.where(seen, 1.0 / np.maximum(noises, _LEAST) ** 2, 0.0)
    weights /= weights.sum(axis=0)
    value = np.sum(weights * np.where(seen, values, 0.0), axis=0)
    single = np.sqrt(np.sum(weights * np.where(seen, noises, 0.0) ** 2, axis=0))
    return Correction(-probe.scale * (inverse @ value), float(np.max(np.abs(inverse) @ single)))
