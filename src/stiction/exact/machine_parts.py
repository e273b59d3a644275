"""Parts of machines in closed form: what the scenarios of these names must reproduce.

NumPy only, so that no check is circular.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "belt_heat",
    "belt_tension",
    "creep_arc",
    "hopf_speed",
    "joint_loss",
    "stick_slip_end",
]

Floats = npt.NDArray[np.float64]


# ---- brake: a block on a moving surface whose friction falls exponentially with slip


def hopf_speed(damping: float, drop: float, v_scale: float) -> float:
    """Return the speed [m/s] of the surface above which steady slip is stable.

    There the damper makes up for the falling friction: c = (D / v_s) exp(-V / v_s).

    Parameters
    ----------
    damping : c of the block [N s/m]
    drop : D = N (mu_s - mu_k), by which friction falls [N]
    v_scale : v_s, over which it falls [m/s]

    Source: Hetzler, Schwarzer, Seemann 2007, Commun. Nonlinear Sci. Numer. Simul. 12, 83.
    Verified by: tests/exact/test_machine_parts.py::test_brake_grows_below_the_hopf_speed
    """
    return float(v_scale * np.log(drop / (damping * v_scale)))


def stick_slip_end(damping: float, drop: float, v_scale: float) -> float:
    """Return the speed [m/s] of the surface at which stick-slip ends, for weak friction.

    The Hopf bifurcation is subcritical: above `hopf_speed` steady slip and stick-slip are both
    stable, and an unstable cycle of slip lies between them. For a sine of amplitude a friction and
    damper balance over one cycle where

        c a = 2 D exp(-V / v_s) I_1(a / v_s),

    and stick-slip ends where this cycle touches stick, a = V. The error falls with the square of
    D / (v_s sqrt(k m)), because the cycle is a sine to that order.

    Parameters
    ----------
    damping, drop, v_scale : see `hopf_speed`

    Source: derived here by averaging; the cycle is that of Hetzler, Schwarzer, Seemann 2007.
    Verified by: tests/exact/test_machine_parts.py::test_brake_sticks_up_to_the_closed_form
    """
    angle = 2.0 * np.pi * np.arange(512) / 512

    def gain(z: float) -> float:
        # I_1 is the mean of exp(z cos) cos over a period, of which equal steps lose nothing
        bessel = float(np.mean(np.exp(z * (np.cos(angle) - 1.0)) * np.cos(angle)))
        return 2.0 * bessel / z - damping * v_scale / drop

    low, high = 1e-9, 1e3
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gain(middle) > 0.0 else (low, middle)
    return v_scale * low


# ---- belt: an elastic belt on a pulley, held at `slack` and pulled at its tight end


def creep_arc(tight: float, slack: float, mu: float) -> float:
    """Return the angle [rad] from the tight end on which the belt has slipped.

    Source: Euler 1769; Grashof 1883: T_1 = T_2 exp(mu alpha) on the creep arc alone.
    Verified by: tests/exact/test_machine_parts.py::test_belt_creeps_on_the_arc_of_grashof
    """
    return float(np.log(tight / slack) / mu)


def belt_tension(angle: npt.ArrayLike, tight: float, slack: float, mu: float) -> Floats:
    """Return the tension [N] at angles [rad] from the tight end, after a rise from `slack` [N].

    Source: Euler 1769; Grashof 1883.
    Verified by: tests/exact/test_machine_parts.py::test_belt_creeps_on_the_arc_of_grashof
    """
    return np.asarray(np.maximum(slack, tight * np.exp(-mu * np.asarray(angle))))


def belt_heat(tight: float, slack: float, mu: float, radius: float, stiffness: float) -> float:
    """Return the friction heat [J] while the pull rises from `slack` to `tight` [N].

    At the pull f the creep arc turns r (f - T_2)^2 / (2 mu EA f) of heat for each unit of f.

    Parameters
    ----------
    radius : of the pulley [m]
    stiffness : EA of the belt [N]

    Source: derived here from `belt_tension`.
    Verified by: tests/exact/test_machine_parts.py::test_belt_heat_against_small_steps_of_load
    """
    square = 0.5 * (tight**2 - slack**2) - 2.0 * slack * (tight - slack)
    return float(radius / (2.0 * mu * stiffness) * (square + slack**2 * np.log(tight / slack)))


# ---- bolt: a lap joint as a bar on a surface with constant friction


def joint_loss(amplitude: npt.ArrayLike, stiffness: float, friction: float) -> Floats:
    """Return the energy [J] that one cycle of a force takes in a lap joint that slips in part.

    Parameters
    ----------
    amplitude : of the force [N], below the friction of the whole joint
    stiffness : EA of the bar [N]
    friction : per length [N/m]

    Source: Metherell and Diller 1968, J. Appl. Mech. 35, 123: 2 A^3 / (3 EA q) on a rigid partner.
    Verified by: tests/exact/test_machine_parts.py::test_bolt_loses_the_cube_of_the_amplitude
    """
    cube = np.asarray(amplitude, dtype=np.float64) ** 3
    return np.asarray(2.0 * cube / (3.0 * stiffness * friction))
