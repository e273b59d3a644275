"""Brake, belt, bolt and cable in closed form: what the scenarios of these names must reproduce.

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
    "jenkins_force",
    "joint_loss",
    "series_of_jenkins",
    "stick_slip_end",
    "strand_elements",
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


# ---- cable: elements of Jenkins, a spring and a slider in a row, side by side


def strand_elements(
    wires: int,
    layer: tuple[float, float, float],
    young: float,
    tension: float,
    mu: float,
    places: int,
) -> tuple[Floats, Floats]:
    """Return bending stiffness [N m^2] and largest moment [N m] of the wires around a core.

    A wire at the angle phi from the neutral axis carries E A cos^2(lay) r sin(phi) times the
    curvature until the core no longer holds it, at Z (exp(mu phi sin(lay)) - 1).

    Parameters
    ----------
    wires : in the layer
    layer : area [m^2] of a wire, radius [m] of the layer, lay angle [rad]
    young : [Pa]
    tension : Z of a wire [N]
    mu : coefficient between wire and core [1]
    places : angles phi between the neutral axis and the outermost fibre, over which wires are
        spread evenly, as their lay spreads them along the cable

    Source: Papailiou 1997, IEEE Trans. Power Delivery 12, 1576.
    Verified by: tests/exact/test_machine_parts.py::test_cable_is_the_strand_of_papailiou
    """
    area, radius, lay = layer
    phi = 0.5 * np.pi * (np.arange(places) + 0.5) / places
    arm = radius * np.sin(phi) * np.cos(lay) * wires / places
    pull = young * area * np.cos(lay) ** 2 * radius * np.sin(phi)
    return arm * pull, arm * tension * np.expm1(mu * phi * np.sin(lay))


def series_of_jenkins(
    stiffness: npt.ArrayLike, limit: npt.ArrayLike, rest: float
) -> tuple[Floats, Floats]:
    """Return springs and sliders of the chain that moves as elements of Jenkins side by side.

    Elements side by side yield one after another, so that the first loading is a line with corners.
    A chain with one wall, loaded slowly at its end, adds up plays of the load, which gives any such
    line; both follow Masing's rules, so that they agree for every later history.

    Parameters
    ----------
    stiffness : (n,) of the springs [N/m]
    limit : (n,) forces [N] at which the sliders yield
    rest : stiffness of a spring beside all of them, which never yields [N/m], > 0

    Returns
    -------
    (n + 1,) stiffness [N/m] of the springs of the chain and (n + 1,) largest friction [N] of its
    masses, mass 1 at the wall; the last mass has no friction.

    Source: Iwan 1967, J. Appl. Mech. 34, 612: parallel-series and series-parallel models.
    Verified by: tests/exact/test_machine_parts.py::test_cable_is_elements_side_by_side
    """
    k, most = np.asarray(stiffness, dtype=np.float64), np.asarray(limit, dtype=np.float64)
    order = np.argsort(-most / k)
    k, most = k[order], most[order]
    # stiffness while elements up to j have not yielded, and the load at which j + 1 does
    held = rest + np.concatenate([[0.0], np.cumsum(k)])
    yielded = np.cumsum(most[::-1])[::-1] - most
    load = held[1:] * most / k + yielded
    springs = 1.0 / np.concatenate([-np.diff(1.0 / held), [1.0 / held[-1]]])
    return springs, np.append(-np.diff(load, append=0.0), 0.0)


def jenkins_force(
    path: npt.ArrayLike, stiffness: npt.ArrayLike, limit: npt.ArrayLike, rest: float
) -> Floats:
    """Return the force [N] of elements of Jenkins side by side along a path of displacements.

    Parameters
    ----------
    path : (t,) displacements [m] from rest without stress, monotone between neighbours
    stiffness, limit, rest : see `series_of_jenkins`

    Source: Iwan 1967: each slider passes on at most its limit.
    Verified by: tests/exact/test_machine_parts.py::test_cable_is_elements_side_by_side
    """
    x, k, most = np.asarray(path, dtype=np.float64), np.asarray(stiffness), np.asarray(limit)
    force, out = np.zeros(k.shape), np.empty(x.size)
    for j, step in enumerate(np.diff(x, prepend=0.0)):
        force = np.clip(force + k * step, -most, most)
        out[j] = rest * x[j] + force.sum()
    return out
