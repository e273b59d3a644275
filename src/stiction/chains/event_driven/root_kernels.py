"""Event functions of a mass as polynomials in the scaled time tau of a step, and their first roots.

The event function of a slipping mass is its slip rate; that of a stuck mass is the reserve
mu_s N - |R| of its stick force. Just after an event the function starts at zero; this root is
divided out before the next one is computed. The root finder is in `numerics.event_localisation`.
The callers are `event_kernels` and `step_kernels`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["leading_zeros", "root_from", "slip_series"]

Floats = npt.NDArray[np.float64]

# a coefficient below this fraction of the largest one is rounding: it is a sum of forces whose
# rounding is that of the largest. Chosen
_NOISE = 1e-12


@kernel
def leading_zeros(c: Floats, start: int, size: int, tau: float) -> int:
    """Return the first index >= start whose term exceeds rounding at tau; size without one."""
    largest, power = 0.0, 1.0
    for k in range(size):
        largest = max(largest, abs(c[k]) * power)
        power *= tau
    power = tau**start
    for k in range(start, size):
        if abs(c[k]) * power > _NOISE * largest:
            return k
        power *= tau
    return size


@kernel
def slip_series(
    x: Floats, poly: Floats, i: int, sign: int, order: int, rate: float, belt: float
) -> int:
    """Write the series of sign * slip rate of mass i to `poly`; return its length."""
    for k in range(order):
        poly[k] = sign * rate * (k + 1) * x[k + 1, i + 1]
    poly[0] -= sign * belt
    return order


@kernel
def root_from(poly: Floats, bernstein: Floats, start: int, size: int, tau: float) -> float:
    """Return the first root in (0, tau] of `poly`, whose first `start` terms are zero."""
    if start >= size:
        return np.inf
    power = 1.0
    # divide by tau^start and rescale the step to [0, 1]
    for k in range(start, size):
        poly[k - start] = poly[k] * power
        power *= tau
    if poly[0] <= 0.0:
        # the reserve vanished within the rounding of the last step: the event is at tau = 0
        return 0.0
    root = first_root(poly, size - start, bernstein)
    return np.inf if root == NONE else root * tau
