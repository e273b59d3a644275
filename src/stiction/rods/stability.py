"""Stability limit of explicit steps of a rod, from its highest discrete frequency.

The limit of velocity Verlet is h < 2/w with the highest angular frequency w of small motions.
In an infinite straight rod of elements ds the highest frequency belongs to the shortest wave, whose
neighbouring nodes have opposite phase: w^2 = (2/ds)^2 EA/m for axial waves, (2/ds)^2 GJ/(2 j) for
twist, and the larger root of a quadratic equation for coupled shear and bending. Here m is the mass
and j the inertia about a diameter, per length. Called by `leapfrog.steps`, `contact.state` and
`plane.run`.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.rods.assembly import end_lengths, tributary_lengths
from stiction.rods.rod import Clamped, CosseratRod, Driven, Free, RodEnd, Turned

__all__ = ["fastest_frequency", "step_limit"]

Floats = npt.NDArray[np.float64]

# number of elements of the parts at the ends into which a long rod is divided
_END_ELEMENTS = 20
# relative difference of the squared frequencies of elements that count as equally fast. Chosen:
# nodes on a curve have chords of slightly different lengths, and ends change the limit by as little
_AS_FAST = 0.02


def fastest_frequency(rod: CosseratRod) -> float:
    """Return an upper bound of the angular frequencies of small motions of a rod [rad/s].

    It is the highest frequency of an infinite straight rod with the initial stretch of any element:
    of axial, twist, or shear-bending waves with neighbouring nodes in opposite phase. With an
    `end_correction` ends may vibrate faster. Then it is the largest of this and the frequencies of
    the rod with its ends, or of its first and last 20 elements if it has more than 40. The bound
    holds to 1 %: clamped ends without a correction, and unequal elements, may exceed it by less.

    Raises
    ------
    ModelError : if it is zero, or not finite.

    Source: formulas sheet (docs/formulas/rods.md), section 6, from the discrete equations.
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
    """Return the highest angular frequency [rad/s]; it may be infinite or NaN."""
    section, ds = rod.section, rod.rest_length / rod.elements
    lengths = np.linalg.norm(np.diff(rod.nodes(), axis=0), axis=1)
    # NumPy numbers overflow to infinity, where Python numbers raise an error
    stretches = lengths / np.float64(ds)
    mass, inertia = np.float64(section.line_density), np.float64(section.line_inertia)
    shear, steep = np.float64(section.shear_stiffness), (2.0 / np.float64(ds)) ** 2
    longest = steep * section.axial_stiffness / mass
    twist = steep * section.twist_stiffness / (2.0 * inertia)
    # shear-bending of the shortest wave: the displacement w of nodes and the rotation phi of frames
    # have the strain (2/ds) w - stretch phi, so that omega^2 is an eigenvalue of the matrix
    # [[a, c], [c, b]], with the rotation scaled by the root of inertia over mass
    a = steep * shear / mass

    def wave(stretch: Floats) -> tuple[Floats, Floats, Floats]:
        """Return b, c^2 and the larger eigenvalue, for the stretch of an element."""
        tension = section.axial_stiffness * (stretch - 1.0)
        b = (shear * stretch**2 - tension * stretch + steep * section.bending_stiffness) / inertia
        c2 = steep * (shear * stretch - tension) ** 2 / (mass * inertia)
        return b, c2, 0.5 * (a + b) + np.sqrt(0.25 * (a - b) ** 2 + c2)

    # the fastest wave may be that of any element. Where all are as fast, that of the longest one
    most, every = np.argmax(stretches), wave(stretches)[2]
    if not np.max(every) <= every[most] * (1.0 + _AS_FAST):
        most = np.argmax(every)
    b, c2, across = wave(stretches[most])
    fastest = np.max([longest, twist, across])
    if rod.end_correction is None or not 0.0 < fastest < math.inf:
        return float(np.sqrt(fastest))
    # stiffness over mass, or inertia, of one element; differences of the shortest wave are twice
    # its amplitude, hence the factors 1/4 and 1/2
    scale = np.array(
        [
            [0.25 * longest, 0.25 * a],
            [0.5 * np.sqrt(c2), b - steep * section.bending_stiffness / inertia],
        ]
    )
    bend = 0.25 * steep * section.bending_stiffness / inertia
    return float(np.sqrt(fastest * max(1.0, _at_ends(rod, scale / fastest, bend / fastest))))


def _at_ends(rod: CosseratRod, scale: Floats, bend: float) -> float:
    """Return a bound of the squared frequencies of a straight rod with ends, in units of `scale`.

    A long rod is divided at nodes. The rotation of a joint is the difference of two frames, and its
    square is at most twice the sum of their squares. So a part with half of the node, and a joint
    of half the length to a fixed frame, is stiffer than in the rod. Hence the highest frequency of
    the rod is at most that of a part. The frequencies of the middle part are those of waves.

    Parameters
    ----------
    scale : (2, 2) stiffness over mass of an element: of stretch and shear; of the coupling of shear
        and rotation, and of rotation
    bend : stiffness of a joint over the inertia of an element
    """
    n = rod.elements
    tributary, lengths, ends = tributary_lengths(rod), end_lengths(rod), (rod.left, rod.right)
    if n <= 2 * _END_ELEMENTS:
        return _fastest_of_part(tributary, lengths, ends, scale, bend)
    frequencies = []
    for end, weights, long in (
        (ends[0], tributary, lengths),
        (ends[1], tributary[::-1], lengths[::-1]),
    ):
        weights, long = weights[: _END_ELEMENTS + 1].copy(), long[: _END_ELEMENTS + 1].copy()
        weights[-1] = long[-1] = 0.5
        frequencies.append(_fastest_of_part(weights, long, (end, Free()), scale, bend))
    return max(frequencies)


def _fastest_of_part(
    tributary: Floats, lengths: Floats, ends: tuple[RodEnd, RodEnd], scale: Floats, bend: float
) -> float:
    """Return the largest squared frequency of a part of a rod with n elements and its end joints.

    tributary, lengths : (n + 1,) weights of node masses, and lengths of joints, in elements
    scale, bend : as of `_at_ends`
    """
    n = len(tributary) - 1
    (stretch, shear), (couple, turn) = scale
    difference = np.diff(np.eye(n + 1), axis=0) / np.sqrt(tributary)
    # difference of each frame and the one before; frames outside the part are fixed
    joint = np.diff(np.vstack([np.zeros(n), np.eye(n), np.zeros(n)]), axis=0)
    stiff = np.divide(bend, lengths, out=np.zeros(n + 1), where=lengths > 0.0)
    along, across = np.ones(n + 1, dtype=bool), np.ones(2 * n + 1, dtype=bool)
    for end, nodes, frame in zip(ends, ((0, 1), (n, n - 1)), (0, n - 1), strict=True):
        whole = isinstance(end, Clamped | Driven) and end.hold == "element"
        fixed = list(nodes[: 2 if whole else 1])
        if not isinstance(end, Free):
            across[fixed] = False
            along[fixed] = isinstance(end, Turned) and end.slides
        if whole:
            across[n + 1 + frame] = False
    by_turn = turn * np.eye(n) + joint.T @ (stiff[:, None] * joint)
    by_shear, both = shear * difference.T @ difference, couple * difference.T
    waves = np.block([[by_shear, -both], [-both.T, by_turn]])[np.ix_(across, across)]
    lengthwise = (stretch * difference.T @ difference)[np.ix_(along, along)]
    return float(max(np.linalg.eigvalsh(waves)[-1], np.linalg.eigvalsh(lengthwise)[-1]))


def step_limit(rod: CosseratRod) -> float:
    """Return the longest stable step of the leapfrog for a rod [s].

    It is 2 / omega with the highest frequency omega, and less with internal damping.

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
    """Return the error for a quantity that floating point cannot represent."""
    return ModelError(
        f"CosseratRod, {what}",
        got,
        f"a finite number above {sys.float_info.min:.0e} in floating point",
        "this quantity follows from the lengths, the stiffness and the density of the rod.",
        "give lengths, stiffness and density in SI units.",
    )
