"""Inner products and norms of long vectors, computed on one thread.

BLAS takes several threads for more than about ten thousand numbers. On shared cores the
synchronisation of these threads can take a thousand times longer than the product, and the last
digits of a sum depend on the number of threads. `continuation` and the solution methods of solids
call these functions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["inner", "size_of"]

Floats = npt.NDArray[np.float64]


def inner(a: Floats, b: Floats) -> float:
    """Return the sum of the products of two vectors."""
    return float(np.einsum("i,i->", a, b))


def size_of(a: Floats) -> float:
    """Return the Euclidean norm of all entries."""
    flat = a.ravel()
    return math.sqrt(inner(flat, flat))
