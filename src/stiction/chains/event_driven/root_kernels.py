"""Event functions of a mass as polynomials in the scaled time tau of a step, and their first roots.

A step with Taylor coefficients x_k has the displacement sum x_k tau^k, with tau = rate (t - t0).
The event function of a slipping mass is its slip rate times its direction of slip,

    sign (rate sum (k + 1) x_{k+1} tau^k - belt speed),

and `slip_series` computes its coefficients. The event functions of a stuck mass are its reserves
mu_s N -+ R, with the stick force R; `event_kernels` computes their coefficients. Just after an
event the function is zero at tau = 0. `root_from` divides this root out and computes the next one;
its root finder is in `numerics.event_localisation`. `step_kernels` and `event_kernels` call these
kernels.
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
    """Return the first index >= start whose term exceeds rounding at tau; `size` if there is none.

    c : (size,) coefficients of a polynomial in tau
    """
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
    """Write the coefficients of sign * slip rate of mass i to `poly`; return their number.

    x : (order + 1, n + 2) Taylor coefficients of displacements [m], with a ghost mass at both ends
    rate : scaled time per time [1/s]
    belt : speed of the belt [m/s]
    """
    for k in range(order):
        poly[k] = sign * rate * (k + 1) * x[k + 1, i + 1]
    poly[0] -= sign * belt
    return order


@kernel
def root_from(poly: Floats, bernstein: Floats, start: int, size: int, tau: float) -> float:
    """Return the first root in (0, tau] of `poly`, whose first `start` terms are zero.

    Without a root, return infinity. `bernstein` is work space; `poly` is overwritten.
    """
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
