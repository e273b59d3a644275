"""Closed forms of rate-and-state friction: velocity steps, and stability of a spring slider.

The friction stress at the slip rate V [m/s] is, with the normal stress sigma [Pa] and a reference
speed V0 [m/s] (Dieterich 1979, Ruina 1983),

    tau = sigma (mu0 + a ln(V / V0) + b ln(V0 theta / L)),
    theta' = 1 - V theta / L                  (ageing law),
    theta' = -(V theta / L) ln(V theta / L)   (slip law).

theta [s] is the state, L = `length` [m] the slip over which contacts are renewed; a and b are the
direct effect and the effect of the state [1]. `eta` [Pa s/m] is the damping of a viscous stress
eta V (radiation damping), `sigma` the normal stress [Pa]. Only tests call these functions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "ageing_after_step",
    "characteristic_roots",
    "critical_stiffness",
    "slip_law_after_step",
]

Floats = npt.NDArray[np.float64]


def ageing_after_step(t: npt.ArrayLike, v: float, theta0: float, length: float) -> Floats:
    """Return theta(t) [s] of the ageing law at constant speed `v` [m/s] from `theta0`.

    It is L / v + (theta0 - L / v) exp(-v t / L); at rest it is theta0 + t.

    Source: d theta / dt = 1 - v theta / L is linear.
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps
    """
    if v == 0.0:
        return np.asarray(theta0 + np.asarray(t, dtype=np.float64))
    steady = length / v
    # steady + (theta0 - steady) exp(-u), u = v t / L, without cancellation at small u
    u = v * np.asarray(t) / length
    return np.asarray(theta0 * np.exp(-u) - steady * np.expm1(-u))


def slip_law_after_step(t: npt.ArrayLike, v: float, theta0: float, length: float) -> Floats:
    """Return theta(t) [s] of the slip law at constant speed `v` [m/s] from `theta0`.

    It is (L / v) exp(ln(v theta0 / L) exp(-v t / L)).

    Source: ln(v theta / L) decays as exp(-v t / L).
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps
    """
    start = np.log(v * theta0 / length)
    return np.asarray(length / v * np.exp(start * np.exp(-v * np.asarray(t) / length)))


def critical_stiffness(
    a: float, b: float, length: float, sigma: float, eta: float, v: float
) -> float:
    """Return the stiffness [Pa/m] below which sliding at `v` [m/s] is unstable.

    k_c = ((b - a) sigma - eta v) / L.

    Source: Ruina 1983, with damping eta [Pa s/m] by linearisation; sigma [Pa], length [m].
    Verified by: tests/exact/test_spring_slider.py::test_growth_vanishes_at_the_boundary
    """
    return ((b - a) * sigma - eta * v) / length


def characteristic_roots(
    k: float, a: float, b: float, length: float, sigma: float, eta: float, v: float
) -> npt.NDArray[np.complex128]:
    """Return the two growth rates [1/s] of small disturbances of steady sliding at `v` [m/s].

    Near steady sliding both laws have the same linearisation. Let x be the disturbance of ln V and
    s that of ln theta. Then s' = -(v / L)(x + s), and the balance of forces, differentiated in
    time, is (a sigma + eta v) x' = -k v x - b sigma s', with the stiffness k [Pa/m].

    Verified by: tests/exact/test_spring_slider.py::test_growth_vanishes_at_the_boundary
    """
    rate, direct = v / length, a * sigma + eta * v
    matrix = np.array(
        [
            [(b * sigma * rate - k * v) / direct, b * sigma * rate / direct],
            [-rate, -rate],
        ]
    )
    return np.asarray(np.linalg.eigvals(matrix).astype(np.complex128))
