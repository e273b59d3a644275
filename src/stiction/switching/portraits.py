"""Portraits of a discontinuity surface: its regions, its sliding field, the flow near a two-fold.

The rates L+- = grad h . f+- of h along both fields divide the surface in the regions of sliding
(L+ < 0 < L-), escaping (L- < 0 < L+) and crossing. In the first two the state follows Filippov's
sliding field (L- f+ - L+ f-) / (L- - L+), here called the sticking flow. All functions evaluate
fields or closed forms on given points; none integrates. `stiction.papers` draws figures of them.

Source: Szalai, Jeffrey 2014, section III.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.switching.model import SwitchingSystem, sides_at
from stiction.switching.wheel.model import WheelOnTurntable

__all__ = ["Portrait", "local_arcs", "local_sticking", "portrait", "wheel_surface"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Portrait:
    """Both fields at points of a discontinuity surface.

    Parameters
    ----------
    x : (..., n) the points
    l_plus, l_minus : (...) rates L+- of h along the fields of both sides [unit of h / time unit]
    f_plus, f_minus : (..., n) the fields x' of both sides
    """

    x: Floats
    l_plus: Floats
    l_minus: Floats
    f_plus: Floats
    f_minus: Floats

    @property
    def region(self) -> Ints:
        """0 sliding, 1 escaping, 2 crossing to h > 0, 3 crossing to h < 0.

        Source: Szalai, Jeffrey 2014, (17), (18).
        Verified by: tests/unit/switching/test_portraits.py::test_regions_and_sticking_flow
        """
        up, down = self.l_plus > 0.0, self.l_minus > 0.0
        return np.where(up, np.where(down, 2, 1), np.where(down, 0, 3))

    @property
    def sticking(self) -> Floats:
        """(..., n) x' of the sticking flow, NaN where the flow crosses.

        Source: Szalai, Jeffrey 2014, (15), (16).
        Verified by: tests/unit/switching/test_portraits.py::test_regions_and_sticking_flow
        """
        stuck = self.l_plus * self.l_minus < 0.0
        gap = np.where(stuck, self.l_minus - self.l_plus, np.nan)[..., None]
        forward = self.l_minus[..., None] * self.f_plus - self.l_plus[..., None] * self.f_minus
        return np.asarray(forward / gap)


def portrait(system: SwitchingSystem, x: npt.ArrayLike) -> Portrait:
    """Return the portrait at points of the first surface of a system.

    Parameters
    ----------
    x : (..., n) points with h_1 = 0, on the side of other surfaces given by the signs of their h;
        where the field is not smooth, its value of one side is used

    Source: Szalai, Jeffrey 2014, section III.
    Verified by: tests/unit/switching/test_portraits.py::test_regions_and_sticking_flow

    Examples
    --------
    >>> import stiction as st
    >>> found = st.switching.portrait(st.switching.NormalForm(-1.0, -1.0), [[0.0, 1.0, 1.0]])
    >>> found.l_plus.round(9).tolist(), found.l_minus.round(9).tolist()
    ([-1.0], [1.0])
    """
    points = system.full_state(x)
    rows = points.reshape(-1, points.shape[-1])
    fields = np.empty((2, *rows.shape))
    rates = np.empty((2, len(rows)))
    for k, row in enumerate(rows):
        gradient = system.gradient(row)[0]
        signs = sides_at(system, row)
        for side, sign in enumerate((1.0, -1.0)):
            signs[0] = sign
            fields[side, k] = system.field(row, signs)
            rates[side, k] = gradient @ fields[side, k]
    shape = points.shape[:-1]
    plus, minus = (fields[i].reshape(points.shape) for i in range(2))
    return Portrait(points, rates[0].reshape(shape), rates[1].reshape(shape), plus, minus)


def wheel_surface(wheel: WheelOnTurntable, first: Floats, second: Floats) -> Floats:
    """Return (n_second, n_first, 3) states with h = 0 on a grid.

    The coordinates are r [m] and omega [rad/s]; at gamma = 0, where h = 0 is omega = omega0,
    they are r [m] and v [m/s].

    Source: Szalai, Jeffrey 2014, (4).
    Verified by: tests/unit/switching/test_portraits.py::test_grids_lie_on_the_surface
    """
    sin, cos = float(wheel.params[0].sin), float(wheel.params[0].cos)
    a, b = np.meshgrid(np.asarray(first, float), np.asarray(second, float))
    if sin == 0.0:
        return np.stack([a, b, np.full(a.shape, wheel.omega0)], axis=-1)
    v = (b - wheel.omega0) * (wheel.d - a * cos / sin)
    return np.stack([a, v, b], axis=-1)


def local_sticking(j1: float, j2: float, xi: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return the direction of the sticking flow near a two-fold, NaN where it crosses.

    Parameters
    ----------
    j1, j2 : numbers J1, J2 of the two-fold, both negative
    xi, eta : scaled coordinates along the two folds, both positive in sliding for J1 J2 > 1

    Source: Szalai, Jeffrey 2014, (30); formulas sheet, section 5.
    Verified by: tests/unit/switching/test_portraits.py::test_local_sticking
    """
    # the desingularised time is reversed where xi + eta changes its sign
    sense = np.where(xi * eta > 0.0, np.sign(xi + eta) * np.sign(j1 * j2 - 1.0), np.nan)
    return sense * (j1 * xi + eta), sense * (xi + j2 * eta)


def local_arcs(
    j1: float, j2: float, start: tuple[float, float], side: int, count: int, points: int = 40
) -> list[tuple[int, Floats]]:
    """Return consecutive slip arcs of the normal form, each with its side, by closed form.

    The last arc ends where the flow does not cross the surface again.

    Parameters
    ----------
    start : (y, z), the point (0, y, z) at which the first arc starts
    side : 1 or -1, the side of the first arc
    count : largest number of arcs
    points : number of points of each arc

    Source: formulas sheet, section 5, the crossing maps of the exact model.
    Verified by: tests/unit/switching/test_portraits.py::test_arcs_follow_the_fields
    """
    y, z = start
    arcs = []
    for _ in range(count):
        # x' = -y with y' = 1 above, x' = z with z' = 1 below: both are parabolas
        length = -2.0 * y if side > 0 else -2.0 * z
        if length <= 0.0:
            break
        t = np.linspace(0.0, length, points)
        if side > 0:
            arc = np.stack([-y * t - 0.5 * t**2, y + t, z + j1 * t])
        else:
            arc = np.stack([z * t + 0.5 * t**2, y + j2 * t, z + t])
        arcs.append((side, arc))
        y, z = float(arc[1, -1]), float(arc[2, -1])
        side = -side
    return arcs
