"""Coefficients of the Runge-Kutta schemes of `steps` and `stiff_kernels`.

They are the explicit pair of order 8(5,3) with dense output of order 7, for ordinary flows, and
Radau IIA of order 5, for stiff ones.

Source: Hairer, Norsett, Wanner, Solving ordinary differential equations I, code DOP853, with the
coefficients of SciPy's class of that name; Hairer, Wanner II, section IV.8.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

__all__ = ["AT_END", "RADAU", "RADAU_NODES", "STAGES", "tableau"]

STAGES = 16
# the stage at the end of the step, the first of the next step (FSAL)
AT_END = 12
# Radau IIA of order 5: RADAU[i][j] is the weight of the rate of stage j in stage i, RADAU_NODES[i]
# the fraction of the step at stage i
_ROOT = 6.0**0.5
RADAU_NODES = ((4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0)
RADAU = (
    (
        (88.0 - 7.0 * _ROOT) / 360.0,
        (296.0 - 169.0 * _ROOT) / 1800.0,
        (-2.0 + 3.0 * _ROOT) / 225.0,
    ),
    (
        (296.0 + 169.0 * _ROOT) / 1800.0,
        (88.0 + 7.0 * _ROOT) / 360.0,
        (-2.0 - 3.0 * _ROOT) / 225.0,
    ),
    ((16.0 - _ROOT) / 36.0, (16.0 + _ROOT) / 36.0, 1.0 / 9.0),
)


@functools.cache
def tableau() -> npt.NDArray[np.float64]:
    """Return the coefficients (23, 16) of DOP853; column j has the weights of the rates of stage j.

    Rows 0-15 give the states at the stages, 16 the solution, 17-18 the errors of orders 3 and 5,
    19-22 the last four terms of the dense output.
    """
    from scipy.integrate import DOP853

    table = np.zeros((23, STAGES))
    table[:12, :12] = DOP853.A
    table[12, :12] = DOP853.B
    table[13:16] = DOP853.A_EXTRA
    table[16, :12] = DOP853.B
    table[17, :13] = DOP853.E3
    table[18, :13] = DOP853.E5
    table[19:23] = DOP853.D
    return table
