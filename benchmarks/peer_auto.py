"""Folds and flips of two smooth systems by AUTO-07p, which tests/exact/test_cycles_beside_auto.py
compares with ours.

    PYTHON_WITH_BIFPY benchmarks/peer_auto.py

It needs SciPy and bifpy, which is AUTO-07p with an interface for Python and needs gfortran. It
prints kind and parameter of each bifurcation, with the ten digits that AUTO writes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bifpy import auto
from scipy.integrate import solve_ivp

SETTINGS = {
    "ips": auto.IPS_PERIODIC_ORBIT,
    "npar": 11,
    "nmx": 400,
    "ntst": 100,
    "ncol": 5,
    "iad": 3,
    "ilp": 1,
    "isp": 2,
    "iads": 1,
    "itmx": 12,
    "itnw": 7,
    "nwtn": 3,
    "jac": 0,
    "ds": 0.02,
    "dsmin": 1e-5,
    "dsmax": 0.2,
    "a0": -1e300,
    "a1": 1e300,
    "epsl": 1e-10,
    "epsu": 1e-10,
    "epss": 1e-9,
    "npr": 1000,
}
TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def roessler(u: list[float], p: list[float]) -> list[float]:
    """Return u' of Rossler's system with a = b = 0.2 and c = p[0]."""
    return [-u[1] - u[2], u[0] + 0.2 * u[1], 0.2 + u[2] * (u[0] - p[0])]


def duffing(u: list[float], p: list[float]) -> list[float]:
    """Return u' of x'' + x'/10 + x + x^3 = 0.3 cos(p[0] t), the cosine being a limit cycle."""
    r = u[2] ** 2 + u[3] ** 2
    force = [u[2] - p[0] * u[3] - u[2] * r, u[3] + p[0] * u[2] - u[3] * r]
    return [u[1], -0.1 * u[1] - u[0] - u[0] ** 3 + 0.3 * u[2], *force]


def branch(
    field: Callable[[list[float], list[float]], list[float]],
    start: list[float],
    value: float,
    span: tuple[float, float],
    period: float = 0.0,
) -> None:
    """Print the bifurcations of the stable orbit at a value of the parameter, over a span.

    Parameters
    ----------
    period : period of the orbit; 0 to measure it between zeros of the second state
    """

    def rate(t: float, x: np.ndarray) -> list[float]:
        return field(list(x), [value])

    def upward(t: float, x: np.ndarray) -> float:
        return float(x[1])

    upward.direction = 1.0  # type: ignore[attr-defined]
    state = solve_ivp(rate, (0.0, period * 100.0 or 300.0), start, **TIGHT).y[:, -1]
    if not period:
        found = solve_ivp(rate, (0.0, 30.0), state, events=upward, **TIGHT)
        period, state = float(np.diff(found.t_events[0])[-1]), found.y_events[0][-2]
    orbit = solve_ivp(rate, (0.0, period), state, dense_output=True, **TIGHT).sol

    def starting_point(u: list[float], p: list[float], fraction: float) -> None:
        u[:] = orbit(fraction * period)
        p[0], p[10] = value, period

    settings = {**SETTINGS, "ndim": len(start), "rl0": span[0], "rl1": span[1]}
    result = auto.run(field, starting_point, settings, icu=[1, 11])
    for one in result.branches:
        for point in one.points:
            if point.point_type.name in ("FOLD", "PERIOD_DOUBLING"):
                print(field.__name__, point.point_type.name.lower(), point.parameters[0])


if __name__ == "__main__":
    branch(roessler, [1.0, 1.0, 0.0], 2.5, (2.5, 4.5))
    branch(duffing, [0.3, 0.0, 1.0, 0.0], 0.6, (0.5, 2.5), 2.0 * np.pi / 0.6)
