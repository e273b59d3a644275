"""Regularised signs: friction without stick, for comparison with the set-valued law.

A smooth odd function phi(v / eps), with limits -1 and 1, replaces the set-valued sign of the slip
rate v. Where a contact under the set-valued law sticks with the force R < mu N, one under the
square-root sign of width eps creeps with the slip rate v = eps R / sqrt((mu N)^2 - R^2).
`RegularizedTheta` and smoothed Filippov flows use these signs.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared

__all__ = ["SmoothSign", "SquareRootSign", "TanhSign"]

Floats = npt.NDArray[np.float64]


class SmoothSign(Declared, abc.ABC):
    """Base class of regularised signs; the width is a field of the method.

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> class Arctangent(st.laws.SmoothSign):
    ...     def sign(self, v, width):
    ...         return 2.0 / np.pi * np.arctan(v / width)
    ...     def slope(self, v, width):
    ...         return 2.0 / np.pi * width / (v**2 + width**2)
    >>> float(Arctangent().sign(1.0, 1.0))
    0.5
    """

    @abc.abstractmethod
    def sign(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return the smoothed sign of `v`, for smoothing `width` > 0 in the unit of v."""

    @abc.abstractmethod
    def slope(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return the derivative of `sign` with respect to `v`."""


@dataclass(frozen=True, eq=False, repr=False)
class SquareRootSign(SmoothSign):
    """v / sqrt(v^2 + width^2).

    Source: formulas sheet of the chains paper, section 5 (the paper's own form is lost).
    Verified by: tests/conformance/test_laws.py::test_smooth_sign_slope

    Examples
    --------
    >>> import stiction as st
    >>> float(st.laws.SquareRootSign().sign(3.0, 4.0))
    0.6
    """

    def sign(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return v / sqrt(v^2 + width^2)."""
        # hypot: squares of a small width would underflow
        return np.asarray(v / np.hypot(v, width))

    def slope(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return width^2 / (v^2 + width^2)^(3/2)."""
        size = np.hypot(v, width)
        return np.asarray((width / size) ** 2 / size)


@dataclass(frozen=True, eq=False, repr=False)
class TanhSign(SmoothSign):
    """tanh(v / width).

    Source: formulas sheet of the chains paper, section 5.
    Verified by: tests/conformance/test_laws.py::test_smooth_sign_slope

    Examples
    --------
    >>> import stiction as st
    >>> st.laws.TanhSign().sign([-1e3, 0.0, 1e3], 0.1).tolist()
    [-1.0, 0.0, 1.0]
    """

    def sign(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return tanh(v / width)."""
        return np.asarray(np.tanh(np.asarray(v, dtype=np.float64) / width))

    def slope(self, v: npt.ArrayLike, width: float) -> Floats:
        """Return (1 - tanh(v / width)^2) / width."""
        return np.asarray((1.0 - self.sign(v, width) ** 2) / width)
