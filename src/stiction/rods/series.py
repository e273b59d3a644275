"""Coefficients of power series for small rotations, computed with exact fractions.

ASIN(s^2) = 2 asin(s)/s, TANGENT(s^2) = (1 - sqrt(1 - s^2) asin(s)/s)/s^2, COS(x^2) = cos x and
SINC(x^2) = sin(x)/x. Each tuple has the coefficients from order 0 upwards, for Horner's rule in
`rod_kernels`.

The rotation vector of a quaternion and its tangent map are power series in s^2, with s the sine of
half the angle; cosine and sin(x) / x are series in x^2. Unlike closed forms they need no branch at
zero, so compiled loops over elements are vectorised.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

__all__ = ["ASIN", "COS", "LARGEST_SINE", "SINC", "TANGENT"]

# largest s^2 for which ASIN and TANGENT are accurate to rounding
LARGEST_SINE = 0.06
_TERMS = 13


def _asin() -> list[Fraction]:
    """Return the coefficients of asin(s) / s in powers of s^2."""
    return [
        Fraction(factorial(2 * n), 4**n * factorial(n) ** 2 * (2 * n + 1)) for n in range(_TERMS)
    ]


def _root() -> list[Fraction]:
    """Return the coefficients of sqrt(1 - s^2) in powers of s^2."""
    coefficients = [Fraction(1)]
    for n in range(1, _TERMS):
        coefficients.append(coefficients[-1] * Fraction(2 * n - 3, 2 * n))
    return coefficients


def _tangent() -> list[Fraction]:
    """Return the coefficients of (1 - sqrt(1 - s^2) asin(s) / s) / s^2 in powers of s^2."""
    a, b = _asin(), _root()
    return [-sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(1, _TERMS)]


# ASIN(s^2) = 2 asin(s) / s: the rotation vector over the vector part of the quaternion
ASIN = tuple(float(2 * c) for c in _asin())
TANGENT = tuple(float(c) for c in _tangent())
COS = tuple(float(Fraction((-1) ** n, factorial(2 * n))) for n in range(9))
SINC = tuple(float(Fraction((-1) ** n, factorial(2 * n + 1))) for n in range(9))
