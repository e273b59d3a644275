"""How a contact shrinks under shear: fits to the curve of its length over the force."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.results.run import Quantity

__all__ = ["shrinkage"]

Floats = npt.NDArray[np.float64]

# forces at which the loss of contact is read for a fit, and the fewest that a fit needs
_SAMPLES, _FEWEST = 200, 4


def shrinkage(curves: dict[str, Floats], begin: int, units: dict[str, str]) -> dict[str, Quantity]:
    """Return how contact shrinks under shear, fitted from the start to full sliding.

    L = L0 - xi F^2 by least squares, and 1 - L / L0 ~ F^eta by a line in logarithms.

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Fig. 14.
    """
    length, force = curves["contact_length"][begin:], np.abs(curves["force_x"][begin:])
    stuck = curves["sticking_length"][begin:]
    end = np.flatnonzero((stuck[1:] <= 0.0) & (stuck[:-1] > 0.0))
    last = int(end[0]) + 2 if end.size else length.size
    length, force = length[:last], force[:last]
    rising = np.concatenate([[True], force[1:] > np.maximum.accumulate(force)[:-1]])
    if rising.sum() < _FEWEST or not length[0] > 0.0:
        return {}
    # evenly spaced in force, so that fits do not depend on where the steps were short
    even = np.linspace(0.0, force[rising][-1], _SAMPLES + 1)[1:]
    lost = length[0] - np.interp(even, force[rising], length[rising])
    fits = (even > 0.05 * even[-1]) & (lost > 1e-6 * length[0])
    if fits.sum() < _FEWEST:
        return {}
    square = even**2
    xi = float((lost @ square) / (square @ square))
    spread = float(np.sqrt(np.mean((lost - xi * square) ** 2)) / max(lost.max(), 1e-300))
    a, b = np.log(even[fits]), np.log(lost[fits] / length[0])
    slope, offset = np.polyfit(a, b, 1)
    rest = float(np.sqrt(np.mean((b - slope * a - offset) ** 2)))
    unit = "1" if units["length"] == "1" else "m^3/N^2"
    return {
        "xi": Quantity(xi, unit, "contact length lost per force squared"),
        "xi_spread": Quantity(spread, "1", "root mean square of the fit over the largest loss"),
        "eta": Quantity(float(slope), "1", "exponent of the loss over the tangential force"),
        "eta_spread": Quantity(rest, "1", "root mean square of the fit in logarithms"),
    }
