"""One decorator for compiled kernels, so that all of them share the same options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["kernel", "py_function"]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Return `function` compiled by Numba at its first call, cached on disk.

    No eager signatures (they cost a second at import) and no fast-math (results must
    be the same to the last bit on every run). Division by zero gives inf, as in C.
    """
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))


def py_function(compiled: F) -> F:
    """Return the plain Python function behind a kernel, for tests and for fallbacks."""
    return cast(F, getattr(compiled, "py_func", compiled))
