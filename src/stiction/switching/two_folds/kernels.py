"""h, L+ and L- at many points at once: the kernel behind the search for two-folds."""

# NumPy's stubs type a single entry of an array as Any
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients, lie_pair

__all__ = ["lie_values"]

Floats = npt.NDArray[np.float64]


@kernel
def lie_values(
    addresses: npt.NDArray[np.int64],
    p: Floats,
    scale: Floats,
    signs: Floats,
    i: int,
    points: Floats,
    out: Floats,
    grad: Floats,
    work: Floats,
) -> None:
    """Fill out[q] with h_i, L+ and L- of surface i at each of the points.

    Parameters
    ----------
    addresses : of field, surface and gradient (0 takes differences of the surface)
    p, scale : as in `Compiled`
    signs : (m,) of all surfaces; entry i is used as scratch
    points : (q, n)
    out : (q, 3)
    grad : (m, n) scratch
    work : (4, >= m + k + n) scratch
    """
    n = points.shape[1]
    plus, minus = work[2, :n], work[3, :n]
    for q in range(points.shape[0]):
        x = points[q]
        call_arrays(addresses[1], x, signs, p, work[0])
        out[q, 0] = work[0, i]
        signs[i] = 1.0
        call_arrays(addresses[0], x, signs, p, plus)
        signs[i] = -1.0
        call_arrays(addresses[0], x, signs, p, minus)
        gradients(addresses[1], addresses[2], p, scale, x, grad, work)
        out[q, 1], out[q, 2] = lie_pair(grad[i], plus, minus)
