"""Strings in rolling contact: closed forms, and one case as an ordinary differential equation.

Two strings u(x, t) and v(x, t) have the wave speed 1 and one contact point s = s1 = s2 on both. The
contact has the rolling factor F = 1 and the mobilities G1 = G2 = G. With the contact force lam and
the mean <.> of the values on both sides of the contact (docs/theory/strings.md),

    u_tt - u_xx = -lam delta(x - s),   v_tt - v_xx = lam delta(x - s),
    <u_t> = <v_t>,   s' = G <u_t> = (G/2) P_t(s, t),   P = u + v,   P_tt = P_xx.

All quantities are dimensionless. Tests compare the method of characteristics with these results.
The module uses NumPy only, so that no check is circular.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["first_harmonics_sum", "periodic_contact", "symmetric_contact", "symmetric_force"]

Floats = npt.NDArray[np.float64]


def symmetric_contact(t: npt.ArrayLike, s0: float, mobility: float) -> Floats:
    """Return s1 = s2 on fixed ends 0 and 2 pi, from u = sin x, v = 0, at rest.

    The contact force does not act on P = u + v = sin x cos t, and s' = (G/2) P_t(s, t), so that
    tan(s/2) = tan(s0/2) exp(-(G/2)(1 - cos t)), which is periodic.

    Parameters
    ----------
    t : times [1]
    s0 : contact point at the start [1], between 0 and 2 pi
    mobility : G [1]

    Source: formulas sheet of the rods paper, section 5.
    Verified by: tests/exact/test_strings.py::test_closed_forms_solve_their_equation
    """
    shrink = np.exp(-0.5 * mobility * (1.0 - np.cos(np.asarray(t, dtype=np.float64))))
    # atan2 in the upper half plane is continuous where the tangent has a pole
    return np.asarray(2.0 * np.arctan2(np.sin(0.5 * s0) * shrink, np.cos(0.5 * s0)))


def symmetric_force(t: float, s0: float, mobility: float) -> float:
    """Return the contact force lam of `symmetric_contact`, before waves return from the ends.

    Until then the incoming waves are those of the free strings, with the velocities
    w_u = -sin s sin t and w_v = 0 at the contact. The force is lam = (w_u - w_v)(1 - s'^2), with
    s' = (G/2)(w_u + w_v).

    Verified by: tests/exact/test_strings.py::test_force_before_waves_return
    """
    s = float(symmetric_contact(t, s0, mobility))
    w = -np.sin(s) * np.sin(t)
    return float(w * (1.0 - (0.5 * mobility * w) ** 2))


def first_harmonics_sum(t: npt.ArrayLike) -> Floats:
    """Return u1 + v1 = cos t, for strings whose sum u + v starts as sin x, at rest.

    Source: formulas sheet of the rods paper, section 5: the contact does not act on the sum.
    Verified by: tests/exact/test_strings.py::test_symmetric_case
    """
    return np.asarray(np.cos(np.asarray(t, dtype=np.float64)))


def periodic_contact(
    t: npt.ArrayLike,
    s0: float,
    mobility: float,
    sum_velocity: Callable[[float, float], float],
    step: float = 0.01,
) -> Floats:
    """Return s1 = s2 if the motion of P = u + v is known: s' = (G/2) P_t(s, t).

    The equation is solved by the implicit Gauss method of order 8, which is independent of the
    Runge-Kutta methods of the package.

    Parameters
    ----------
    t : rising times, the first >= 0 [1]
    s0 : contact point at time 0 [1]
    mobility : G [1]
    sum_velocity : P_t(x, t)
    step : longest step [1]

    Source: formulas sheet of the rods paper, section 5; reference case A.
    Verified by: tests/exact/test_strings.py::test_closed_forms_solve_their_equation
    """
    # collocation matrix a (4, 4), weights b (4,) and nodes c (4,) of the Butcher tableau
    a, b, c = _gauss(4)
    s, now, found = float(s0), 0.0, []
    for end in np.atleast_1d(np.asarray(t, dtype=np.float64)).tolist():
        count = int(np.ceil((end - now) / step))
        h = (end - now) / max(count, 1)
        for n in range(count):
            begin = now + n * h
            rates = np.full(4, 0.5 * mobility * sum_velocity(s, begin))
            # fixed-point iteration for the rates at the four stages
            for _ in range(12):
                at = s + h * (a @ rates)
                moments = zip(at.tolist(), (begin + c * h).tolist(), strict=True)
                rates = np.array([0.5 * mobility * sum_velocity(x, m) for x, m in moments])
            s += h * float(b @ rates)
        now = end
        found.append(s)
    return np.array(found)


def _gauss(n: int) -> tuple[Floats, Floats, Floats]:
    """Return the collocation matrix, weights and nodes of the Gauss method with n stages."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    c = 0.5 * (nodes + 1.0)
    powers = np.arange(n)
    whole = c[:, None] ** (powers + 1) / (powers + 1)
    a = whole @ np.linalg.inv(c[:, None] ** powers)
    return a, 0.5 * weights, c
