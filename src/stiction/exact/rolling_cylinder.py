"""Closed forms of a rigid homogeneous cylinder that rolls or slips on a plane.

The moment of inertia about the axis is m R^2 / 2 and friction obeys Coulomb's law with one
coefficient mu [1] in stick and slip, so the radius R does not enter. Tests of rigid bodies and of
rods compare their motions with these results.
"""

from __future__ import annotations

import numpy as np

__all__ = ["incline_acceleration", "rolling_bound", "slide_time", "slip_heat"]


def rolling_bound(angle: float) -> float:
    """Return the least coefficient with which a cylinder rolls down a slope without slip [1].

    Rolling needs the force m g sin / 3 under the weight m g cos.

    Parameters
    ----------
    angle : of the slope [rad]

    Verified by: tests/exact/test_rolling_on_a_plane.py::test_rolling_down_an_incline
    """
    return float(np.tan(angle) / 3.0)


def incline_acceleration(angle: float, mu: float, gravity: float = 9.81) -> float:
    """Return the acceleration of a cylinder down a slope, from rest [m/s^2].

    2/3 g sin while it rolls, g (sin - mu cos) if friction is too weak for that.

    Verified by: tests/exact/test_rolling_on_a_plane.py::test_slipping_down_an_incline
    """
    if mu >= rolling_bound(angle):
        return float(2.0 / 3.0 * gravity * np.sin(angle))
    return float(gravity * (np.sin(angle) - mu * np.cos(angle)))


def slide_time(speed: float, mu: float, gravity: float = 9.81) -> float:
    """Return the time at which a cylinder thrown along a plane without spin stops slipping [s].

    It then rolls with two thirds of its speed.

    Verified by: tests/exact/test_rolling_on_a_plane.py::test_thrown_cylinder_slides_then_rolls
    """
    return speed / (3.0 * mu * gravity)


def slip_heat(mass: float, speed: float) -> float:
    """Return the energy [J] that a thrown cylinder loses until it rolls; it is independent of mu.

    Verified by: tests/exact/test_rolling_on_a_plane.py::test_thrown_cylinder_slides_then_rolls
    """
    return mass * speed**2 / 6.0
