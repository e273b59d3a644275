"""Elastic stiffness of a line of cells: shear stress on each cell due to slip of another.

Antiplane slip of one metre on a cell between x1 and x2 changes the shear stress on its plane by
(G / 2 pi) (1 / (x - x2) - 1 / (x - x1)), that of two screw dislocations. In plane strain there are
edge dislocations, and G / (1 - nu) replaces G. At midpoints of equal cells the matrix is Toeplitz.
In antiplane strain only, a free surface adds the image of every cell: an image of edge dislocations
does not make the surface traction-free, and `model` refuses it. So products are convolutions.
`model.Fault.stiffness` chooses `dense` or `Convolution`; `run` multiplies.

Source: Rice 1993, J. Geophys. Res. 98, 9885 (also of the spectral stiffness -G |k| / 2 of a
periodic line); Segall 2010, Earthquake and Volcano Deformation, ch. 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft

__all__ = ["SURFACES", "Convolution", "dense", "influence"]

Floats = npt.NDArray[np.float64]

# kinds of lines of cells: at a free surface, in a whole space, periodic
SURFACES = ("free", "none", "periodic")


def influence(distance: npt.ArrayLike, width: float, modulus: float) -> Floats:
    """Return the stress per slip [Pa/m] at distances, in cells, from a cell that slips.

    modulus / (2 pi width) / (d^2 - 1/4), the formula above at midpoints; `distance` has any shape.

    Verified by: tests/unit/faults/test_stiffness.py::test_a_uniform_stress_drop
    """
    d = np.asarray(distance, dtype=np.float64)
    return np.asarray(modulus / (2.0 * np.pi * width) / (d**2 - 0.25))


def dense(n: int, width: float, modulus: float, surface: str) -> Floats:
    """Return the stiffness (n, n) [Pa/m]: stress of cell i (row) due to slip of cell j (column).

    Parameters
    ----------
    n : number of cells
    width : of a cell [m]
    modulus : G, or G / (1 - nu) in plane strain [Pa]
    surface : "free": a free surface beside the first cell, antiplane only; "none": a whole space;
        "periodic": slip repeats after n cells, see `Convolution`
    """
    if surface == "periodic":
        return Convolution(n, width, modulus, surface).matrix()
    i = np.arange(n)
    matrix = influence(i[:, None] - i[None, :], width, modulus)
    if surface == "free":
        # the image of cell j lies at -(j + 1)
        matrix += influence(i[:, None] + i[None, :] + 1, width, modulus)
    return matrix


class Convolution:
    """The stiffness of `dense` as an operator: fast Fourier transforms multiply in O(n log n).

    Parameters
    ----------
    n, width, modulus, surface : as for `dense`; "periodic" has the stiffness -modulus |k| / 2 at
        the wave numbers k of a line that repeats after n cells. This is the stiffness of continuous
        slip; the sum over all images of piecewise constant cells would be
        -modulus sin(|k| width / 2) / width, which differs at wavelengths of a few cells

    Verified by: tests/unit/faults/test_stiffness.py::test_transforms_do_what_the_matrix_does
    """

    def __init__(self, n: int, width: float, modulus: float, surface: str) -> None:
        self.n, self.surface = n, surface
        if surface == "periodic":
            self._size = n
            self._spectrum: npt.NDArray[Any]
            k = 2.0 * np.pi * np.arange(n // 2 + 1) / (n * width)
            self._spectrum = -0.5 * modulus * k
            return
        if surface == "free":
            # cells and images form an even sequence, so a cosine transform suffices; padding moves
            # the images of images beyond all cells
            self._size = scipy.fft.next_fast_len(2 * n, real=True)
            even = influence(np.arange(self._size + 1), width, modulus)
            self._spectrum = scipy.fft.dct(even, type=1)[: self._size]
            return
        # padding: the n outputs contain no circular wrap-around
        self._size = scipy.fft.next_fast_len(2 * n - 1, real=True)
        lags = np.zeros(self._size)
        offsets = np.arange(-(n - 1), n)
        lags[offsets % self._size] = influence(offsets, width, modulus)
        self._spectrum = scipy.fft.rfft(lags)

    def __call__(self, slip: Floats) -> Floats:
        """Return (n,) stresses [Pa] of (n,) slips [m]."""
        n = self.n
        if self.surface == "free":
            coefficients = scipy.fft.dct(slip, type=2, n=self._size)
            coefficients *= self._spectrum
            return np.asarray(scipy.fft.idct(coefficients, type=2, overwrite_x=True)[:n])
        stress = scipy.fft.irfft(scipy.fft.rfft(slip, self._size) * self._spectrum, self._size)
        return np.asarray(stress[:n])

    def matrix(self) -> Floats:
        """Return the stiffness as a matrix (n, n) [Pa/m]."""
        return np.column_stack([self(unit) for unit in np.eye(self.n)])
