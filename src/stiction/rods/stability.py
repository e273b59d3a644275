"""The longest step an explicit scheme can take, from the fastest wave of the elements."""

from __future__ import annotations

import math
import sys

import numpy as np

from stiction.errors import ModelError, explain
from stiction.rods.rod import CosseratRod

__all__ = ["fastest_frequency", "step_limit"]


def fastest_frequency(rod: CosseratRod) -> float:
    """Return the highest angular frequency of small motions of a rod [rad/s].

    Of a straight rod with the stretch it starts with, without ends: stretching, twist, and the
    shorter of shear and bending waves, whose nodes move against each other.

    Raises
    ------
    ModelError : if it is too high for floating point, or zero.

    Source: formulas sheet of the rods paper, section 6, from the discrete equations.
    Verified by: tests/unit/rods/test_stability.py::test_the_limit_is_sharp

    Examples
    --------
    >>> import stiction as st
    >>> rod = st.CrossedRods().assembled().rods[0]
    >>> 2.0 / st.rods.fastest_frequency(rod) >= st.rods.step_limit(rod)
    True
    """
    with np.errstate(all="ignore"):
        omega = _fastest(rod)
    if not 0.0 < omega < math.inf:
        raise _refused("fastest motion", f"{omega} rad/s")
    return omega


def _fastest(rod: CosseratRod) -> float:
    section, ds = rod.section, rod.rest_length / rod.elements
    lengths = np.linalg.norm(np.diff(rod.nodes(), axis=0), axis=1)
    # numbers of NumPy go to infinity where those of Python raise
    stretch = lengths.max() / np.float64(ds)
    mass, inertia = np.float64(section.line_density), np.float64(section.line_inertia)
    tension = section.axial_stiffness * (stretch - 1.0)
    shear, steep = np.float64(section.shear_stiffness), (2.0 / np.float64(ds)) ** 2
    longest = steep * section.axial_stiffness / mass
    twist = steep * section.twist_stiffness / (2.0 * inertia)
    # node displacement and rotation of the shortest wave: strain (2/ds) w - stretch phi
    a = steep * shear / mass
    b = (shear * stretch**2 - tension * stretch + steep * section.bending_stiffness) / inertia
    c2 = steep * (shear * stretch - tension) ** 2 / (mass * inertia)
    across = 0.5 * (a + b) + np.sqrt(0.25 * (a - b) ** 2 + c2)
    return float(np.sqrt(np.max([longest, twist, across])))


def step_limit(rod: CosseratRod) -> float:
    """Return the longest stable step of the leapfrog for a rod [s].

    2 / omega without internal damping; damping shortens it.

    Examples
    --------
    >>> import stiction as st
    >>> rod = st.CrossedRods().assembled().rods[0]
    >>> 0.0 < st.rods.step_limit(rod) < 1.0
    True
    """
    omega = fastest_frequency(rod)
    ratio = 0.5 * omega * rod.internal_damping
    limit = 2.0 / omega / (math.hypot(1.0, ratio) + ratio)
    if limit < sys.float_info.min:
        raise _refused("step limit", f"{limit} s")
    return limit


def _refused(what: str, got: str) -> ModelError:
    return ModelError(
        explain(
            f"CosseratRod, {what}",
            got,
            "a number that floating point can hold",
            "the longest stable step follows from it.",
            "give lengths, stiffness and density in SI units.",
        )
    )
