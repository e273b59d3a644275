"""Closed forms of a brake, a belt, a bolted joint and a cable.

The brake is a block (mass m, spring k, damper c) on a surface of speed V, whose friction
N mu(v) = N (mu_k + (mu_s - mu_k) exp(-|v| / v_s)) decreases with the slip rate v. The belt obeys
Euler's equation dT/d(angle) = mu T where it slips. The joint is a bar, EA u_xx = q sgn(u_t)
where it slips, with the friction q per length. The cable is a set of Jenkins elements (spring and
friction slider in series). Each section below gives its source. Tests compare the scenarios of
these names, which are all chains, with these results. The module uses NumPy only, so that no check
is circular.
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


# ---- brake: a block on a moving surface whose friction decreases exponentially with slip rate


def hopf_speed(damping: float, drop: float, v_scale: float) -> float:
    """Return the speed [m/s] of the surface above which steady slip is stable.

    At this speed the damper compensates the decrease of friction: c = (D / v_s) exp(-V / v_s). It
    is infinite without a damper, and negative if steady slip is stable at all speeds.

    Parameters
    ----------
    damping : c of the block [N s/m]
    drop : D = N (mu_s - mu_k), total decrease of friction [N]
    v_scale : v_s, slip rate over which friction decreases by the factor e [m/s]

    Source: Hetzler, Schwarzer, Seemann 2007, Commun. Nonlinear Sci. Numer. Simul. 12, 83.
    Verified by: tests/exact/test_machine_parts.py::test_brake_grows_below_the_hopf_speed
    """
    with np.errstate(divide="ignore"):
        return float(v_scale * -np.log(damping * v_scale / drop))


def stick_slip_end(damping: float, drop: float, v_scale: float) -> float:
    """Return the speed [m/s] of the surface at which stick-slip ends, for weak friction.

    The Hopf bifurcation is subcritical: above `hopf_speed` steady slip and stick-slip are both
    stable, and an unstable cycle of slip lies between them. For a sine of velocity amplitude a the
    energies of friction and damper balance over one cycle if

        c a = 2 D exp(-V / v_s) I_1(a / v_s),

    and stick-slip ends where this cycle grazes stick, a = V. The error is of second order in
    D / (v_s sqrt(k m)), because the cycle is a sine to that order. The speed is infinite without a
    damper, and NaN if c v_s >= D: there is no stick-slip then.

    Parameters
    ----------
    damping, drop, v_scale : see `hopf_speed`

    Source: derived here by averaging; the cycle is that of Hetzler, Schwarzer, Seemann 2007.
    Verified by: tests/exact/test_machine_parts.py::test_brake_sticks_up_to_the_closed_form
    """
    lost = damping * v_scale / drop
    if not 0.0 < lost < 1.0:
        return np.inf if lost == 0.0 else np.nan

    def gain(z: float) -> float:
        return 2.0 * _bessel(z) / z - lost

    low, high = 0.0, 1.0
    while gain(high) > 0.0:
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gain(middle) > 0.0 else (low, middle)
    return v_scale * low


def _bessel(z: float) -> float:
    """Return exp(-z) I_1(z), the mean of exp(z cos - z) cos over a period, to rounding."""
    if z > 1e3:
        near = 1.0 - 3.0 / (8.0 * z) - 15.0 / (128.0 * z**2) - 105.0 / (1024.0 * z**3)
        return float(near / np.sqrt(2.0 * np.pi * z))
    # below z = 1000 the trapezoidal rule of a periodic function is exact to rounding
    cos = np.cos(2.0 * np.pi * np.arange(512) / 512)
    return float(np.mean(np.exp(z * (cos - 1.0)) * cos))


# ---- belt: an elastic belt on a pulley, under the tension `slack` at one end, pulled at the other


def creep_arc(tight: float, slack: float, mu: float) -> float:
    """Return the angle [rad] from the tight end on which the belt has slipped.

    It is ln(T_1 / T_2) / mu, with the tensions T_1 = `tight` and T_2 = `slack` at the ends.

    Source: Euler 1769; Grashof 1883: T_1 = T_2 exp(mu alpha) on the creep arc alone.
    Verified by: tests/exact/test_machine_parts.py::test_belt_creeps_on_the_arc_of_grashof
    """
    return float(np.log(tight / slack) / mu)


def belt_tension(angle: npt.ArrayLike, tight: float, slack: float, mu: float) -> Floats:
    """Return the tension [N] at angles [rad] from the tight end, after a rise from `slack` [N].

    It is max(T_2, T_1 exp(-mu angle)) with T_1 = `tight` and T_2 = `slack`.

    Source: Euler 1769; Grashof 1883.
    Verified by: tests/exact/test_machine_parts.py::test_belt_creeps_on_the_arc_of_grashof
    """
    return np.asarray(np.maximum(slack, tight * np.exp(-mu * np.asarray(angle))))


def belt_heat(tight: float, slack: float, mu: float, radius: float, stiffness: float) -> float:
    """Return the friction heat [J] while the pull rises from `slack` to `tight` [N].

    At the pull f, an increase df dissipates r (f - T_2)^2 / (2 mu EA f) df on the creep arc; r is
    the radius of the pulley and T_2 = `slack`.

    Parameters
    ----------
    radius : of the pulley [m]
    stiffness : EA of the belt [N]

    Source: derived here from `belt_tension`.
    Verified by: tests/exact/test_machine_parts.py::test_belt_heat_against_small_steps_of_load
    """
    square = 0.5 * (tight**2 - slack**2) - 2.0 * slack * (tight - slack)
    return float(radius / (2.0 * mu * stiffness) * (square + slack**2 * np.log(tight / slack)))


# ---- bolted joint: a lap joint, modelled as a bar on a surface with constant friction


def joint_loss(amplitude: npt.ArrayLike, stiffness: float, friction: float) -> Floats:
    """Return the energy [J] that a lap joint in partial slip dissipates in one cycle of the force.

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


# ---- cable: Jenkins elements (a spring and a friction slider in series) in parallel


def strand_elements(
    wires: int,
    layer: tuple[float, float, float],
    young: float,
    tension: float,
    mu: float,
    places: int,
) -> tuple[Floats, Floats]:
    """Return bending stiffness [N m^2] and largest moment [N m] of the wires around a core.

    In bending the force of a wire at the angle phi from the neutral axis changes by
    E A cos^2(lay) r sin(phi) times the curvature. The wire slips on the core if this change reaches
    Z (exp(mu phi sin(lay)) - 1).

    Parameters
    ----------
    wires : number of wires in the layer
    layer : area [m^2] of a wire, radius [m] of the layer, lay angle [rad]
    young : Young's modulus E [Pa]
    tension : force Z in a wire of the straight cable [N]
    mu : coefficient between wire and core [1]
    places : number of angles phi between the neutral axis and the outermost fibre. Wires are
        distributed evenly over them, as the lay distributes them along the cable

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
    """Return springs and sliders of the chain that is equivalent to Jenkins elements in parallel.

    The elements yield one after another, so that the force of the first loading is piecewise linear
    in the displacement. The displacement of a chain with one wall, loaded slowly at its end, is a
    sum of play operators of the load, which gives any such curve. Both models follow Masing's
    rules, so that they agree for every later history.

    Parameters
    ----------
    stiffness : (n,) of the springs [N/m]
    limit : (n,) forces [N] at which the sliders yield
    rest : stiffness of a spring in parallel with all elements, which never yields [N/m], > 0

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
    """Return the force [N] of Jenkins elements in parallel along a path of displacements.

    Parameters
    ----------
    path : (t,) displacements [m] from the unstressed state, monotone between successive values
    stiffness, limit, rest : see `series_of_jenkins`

    Source: Iwan 1967: each slider transmits at most its limit.
    Verified by: tests/exact/test_machine_parts.py::test_cable_is_elements_side_by_side
    """
    x, k, most = np.asarray(path, dtype=np.float64), np.asarray(stiffness), np.asarray(limit)
    force, out = np.zeros(k.shape), np.empty(x.size)
    for j, step in enumerate(np.diff(x, prepend=0.0)):
        force = np.clip(force + k * step, -most, most)
        out[j] = rest * x[j] + force.sum()
    return out
