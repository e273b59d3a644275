"""Two straight crossed rods in rolling contact, linearised: an independent reference solution.

The discretisation is that of `rods`: nodes and frames are staggered, and the cubic B-spline
interpolates at the contact. The equations are linearised about straight, stretched rods at rest.
The motion of the contact point has no influence on them to first order, so the rolling constraint
is linear with constant coefficients, and the motion is a sum of normal modes without a time step.
This module shares no code with the nonlinear rods, which are tested against it.

With the unknowns x the equations are M x'' + K x = J^T lam, J x' = 0: M diagonal masses and moments
of inertia, K the stiffness with the tension at rest, J x' the slip velocity, lam the contact force.
The unknowns are, in this order: displacements of the nodes of rod 1, of
rod 2, rotation vectors of the frames of rod 1, of rod 2, three components each in the axes of the
rod; `_node` and `_frame` return their indices.

Source: formulas sheet (docs/formulas/rods.md), sections 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Finite, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import Record, numbers, shape_of
from stiction.rods.section import DENSITY, POISSON, RADIUS, SHEAR_FACTOR, YOUNG

__all__ = ["CrossedRods", "LinearMotion", "linear_crossed_rods"]

Floats = npt.NDArray[np.float64]

# least number of elements between the contact and each end, for the spline and the clamps
_ROOM = 8
_WHY_ROOM = "at least eight nodes must lie between the contact and an end."
_ELEMENTS = Count(
    2 * _ROOM, f"{_WHY_ROOM[:-1]}, and all normal modes are computed.", "give 40.", most=400
)
_LENGTH = Positive("m", "both rods have this length.")
_STRETCH = Finite(
    "1",
    "compressed rods may buckle, and the law is that of small strain.",
    "give 0.02.",
    least=0.0,
    below=0.5,
)
_ANGLE = Finite("rad", "the rods cross at this angle.", "give pi / 3.")
_CONTACT = Finite("m", _WHY_ROOM, "give the middle of both rods.", per="rod", size=2)


@dataclass(frozen=True, eq=False, repr=False)
class CrossedRods(Declared):
    """Two equal straight rods in contact, which cross at an angle and are clamped at their ends.

    Rod 1 lies along x at z = 0, rod 2 along (cos angle, sin angle, 0) at z = 2 radius. The first
    two and last two nodes, and the first and last frames of both are fixed.

    Parameters
    ----------
    elements : number of elements of each rod
    length : unstretched length [m]
    radius : of the section [m]
    young : Young's modulus [Pa]
    poisson : Poisson's ratio [1]
    density : [kg/m^3]
    stretch : strain of the rods at rest [1], 0.02 for 2 %
    angle : between the rods [rad], from 10 to 170 degrees
    shear_factor : shear correction k [1]
    contact : (2,) positions of the contact along the rods, in unstretched length [m]

    Source: formulas sheet (docs/formulas/rods.md), sections 1 and 3; reference case G.
    Verified by: tests/unit/rods/test_linear_rods.py::test_stiffness_is_the_hessian_of_the_energy
    """

    elements: Annotated[int, _ELEMENTS] = 40
    length: Annotated[float, _LENGTH] = 1.0
    radius: Annotated[float, RADIUS] = 0.02
    young: Annotated[float, YOUNG] = 1e6
    poisson: Annotated[float, POISSON] = 0.5
    density: Annotated[float, DENSITY] = 1000.0
    stretch: Annotated[float, _STRETCH] = 0.02
    angle: Annotated[float, _ANGLE] = np.pi / 3.0
    shear_factor: Annotated[float, SHEAR_FACTOR] = 27.0 / 28.0
    contact: Annotated[Sequence[float] | Floats, _CONTACT] = (0.5, 0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.radians(10.0) - 1e-12 <= self.angle <= np.radians(170.0) + 1e-12:
            why = "nearly parallel rods have no single contact point."
            needs = "an angle [rad] between 10 and 170 degrees"
            _refuse("angle", self.angle, needs, why, "give pi / 3.")
        spacing = self.length / self.elements
        for place in self.contact:
            if not _ROOM * spacing <= place <= self.length - _ROOM * spacing:
                needs = f"a position at least {_ROOM * spacing:.6g} m from both ends"
                _refuse("contact", place, needs, _WHY_ROOM, "give the middle.")

    @property
    def directions(self) -> Floats:
        """(2, 3) unit vectors along the rods."""
        return np.array([[1.0, 0.0, 0.0], [np.cos(self.angle), np.sin(self.angle), 0.0]])

    @property
    def section(self) -> tuple[Floats, Floats, float, Floats]:
        """S, B, mass and inertia of the section.

        S (3,) stiffness of shear, shear, stretch [N], B (3,) of bending, bending, twist [N m^2],
        mass per length [kg/m], (3,) moments of inertia per length [kg m].
        """
        area = np.pi * self.radius**2
        inertia = 0.25 * np.pi * self.radius**4
        shear = self.young / (2.0 * (1.0 + self.poisson))
        by_shear = self.shear_factor * shear * area
        stiff = np.array([by_shear, by_shear, self.young * area])
        bend = np.array([self.young * inertia, self.young * inertia, 2.0 * shear * inertia])
        turn = self.density * np.array([inertia, inertia, 2.0 * inertia])
        return stiff, bend, self.density * area, turn


@dataclass(frozen=True, eq=False, repr=False)
class LinearMotion(Record):
    """Motion of crossed rods to first order in their amplitude.

    Parameters
    ----------
    time : (t,) [s]
    s1, s2 : (t,) positions of the contact, in unstretched length [m]
    contact_force : (t, 3) force on rod 1 [N]; the z component is the normal force, tension > 0
    displacement : (t, 2, node, 3) of the nodes of both rods [m]
    rotation : (t, 2, element, 3) rotation vectors of their frames [rad]
    kinetic : kinetic energy at the start [J]
    frequencies : angular frequencies of the constrained normal modes [rad/s]
    """

    time: Floats
    s1: Floats
    s2: Floats
    contact_force: Floats
    displacement: Floats
    rotation: Floats
    kinetic: float
    frequencies: Floats


def linear_crossed_rods(
    rods: CrossedRods, time: Floats, velocity: Floats, spin: Floats
) -> LinearMotion:
    """Return the motion of two crossed rods in rolling contact, to first order in the velocity.

    Parameters
    ----------
    time : (t,) times [s]; the rods start straight at 0
    velocity : (2, elements + 1, 3) of the nodes at the start [m/s], in space
    spin : (2, elements, 3) angular velocity of the frames at the start [rad/s], in space

    Returns
    -------
    The motion. Velocities at the clamps are set to zero, and the others are projected on the
    rolling constraint, orthogonally in the metric of kinetic energy.

    Raises
    ------
    ModelError : if an array has another shape, or holds a number that is not finite.

    Notes
    -----
    With displacements and rotations x, M x'' + K x = J^T lam and J x' = 0 with constant J: to first
    order rolling is a holonomic constraint. K contains the tension of the rods at rest.

    Source: formulas sheet (docs/formulas/rods.md), sections 2 and 3; docs/theory/strings.md.
    Verified by: tests/unit/rods/test_linear_rods.py::test_equations_of_motion_by_differences,
    tests/convergence/test_linear_rods.py::test_difference_is_of_second_order

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> from stiction.rods.linear_rods import CrossedRods
    >>> rest = np.zeros((2, 21, 3)), np.zeros((2, 20, 3))
    >>> rods = CrossedRods(elements=20)
    >>> motion = st.rods.linear_crossed_rods(rods, np.linspace(0.0, 1e-3, 3), *rest)
    >>> bool(np.all(motion.contact_force == 0.0))  # what is at rest stays at rest
    True
    """
    n = rods.elements
    speeds = _shaped("velocity", velocity, (2, n + 1, 3))
    spins = _shaped("spin", spin, (2, n, 3))
    why, try_ = "the motion is computed at these times.", "give [0.0, 1e-3]."
    times = numbers("linear_crossed_rods.time", time, unit="s", why=why, try_=try_)
    mass, stiffness, free = _matrices(rods)
    roll = _rolling(rods)
    axes = np.stack([_axes(t) for t in rods.directions])
    # components of both in the axes of their rod
    local = [np.einsum("rij,rkj->rki", axes, values).ravel() for values in (speeds, spins)]
    rate = np.concatenate(local)
    root = np.sqrt(mass[free])  # modes of y = M^(1/2) x, in the null space of J M^(-1/2)
    limited = roll[:, free] / root
    orthogonal = np.linalg.svd(limited)[2]
    basis = orthogonal[3:].T
    reduced = basis.T @ (stiffness[np.ix_(free, free)] / np.outer(root, root)) @ basis
    squares, shapes = np.linalg.eigh(0.5 * (reduced + reduced.T))
    modes = basis @ shapes
    start = modes.T @ (root * rate[free])
    omega = np.sqrt(np.maximum(squares, 0.0))
    # sin(w t) / w, which is t for a mode without stiffness
    swing = times[:, None] * np.sinc(omega * times[:, None] / np.pi)
    x = np.zeros((times.size, mass.size))
    x[:, free] = ((swing * start) @ modes.T) / root
    # J M^-1 (J^T lam - K x) = 0
    pull = (limited / root) @ stiffness[free]
    force = np.asarray(np.linalg.solve(limited @ limited.T, pull @ x.T).T, dtype=np.float64)
    displacements = _contact_places(rods, x)
    nodes = x[:, : 6 * (n + 1)].reshape(-1, 2, n + 1, 3)
    frames = x[:, 6 * (n + 1) :].reshape(-1, 2, n, 3)
    return LinearMotion(
        time=times,
        s1=rods.contact[0] + displacements[:, 0],
        s2=rods.contact[1] + displacements[:, 1],
        contact_force=force,
        displacement=np.einsum("rji,trkj->trki", axes, nodes),
        rotation=np.einsum("rji,trkj->trki", axes, frames),
        kinetic=0.5 * float(start @ start),
        frequencies=omega,
    )


def _refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise the ModelError of a field."""
    raise ModelError(f"CrossedRods.{name}", got, needs, why, try_)


def _shaped(name: str, values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array of the required shape; ModelError otherwise."""
    where, try_ = f"linear_crossed_rods.{name}", "give zeros for the rod that rests."
    why = "both rods have a velocity per node and an angular velocity per element."
    if shape_of(values) != shape:
        got, needs = f"an array of shape {shape_of(values)}", f"finite numbers of shape {shape}"
        raise ModelError(where, got, needs, why, try_)
    return numbers(where, np.ravel(values), why=why, try_=try_).reshape(shape)


def _spline(u: Floats) -> Floats:
    """Return the cubic B-spline with unit knot spacing, centred at 0."""
    r = np.abs(u)
    inner = 2.0 / 3.0 - r**2 + 0.5 * r**3
    outer = np.maximum(2.0 - r, 0.0) ** 3 / 6.0
    return np.asarray(np.where(r < 1.0, inner, outer))


def _spline_slope(u: Floats) -> Floats:
    """Return the derivative of the cubic B-spline."""
    r = np.abs(u)
    inner = -2.0 * r + 1.5 * r**2
    outer = -0.5 * np.maximum(2.0 - r, 0.0) ** 2
    return np.asarray(np.sign(u) * np.where(r < 1.0, inner, outer))


def _hat(v: Floats) -> Floats:
    """Return the matrix of v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _node(rods: CrossedRods, rod: int, k: int) -> slice:
    """Return the unknowns of node k of a rod, 0 or 1."""
    first = 3 * (rod * (rods.elements + 1) + k)
    return slice(first, first + 3)


def _frame(rods: CrossedRods, rod: int, e: int) -> slice:
    """Return the unknowns of frame e of a rod, 0 or 1."""
    first = 6 * (rods.elements + 1) + 3 * (rod * rods.elements + e)
    return slice(first, first + 3)


def _axes(t: Floats) -> Floats:
    """Return the axes of a rod along t as rows, right-handed; the third is t."""
    return np.array([[-t[1], t[0], 0.0], [0.0, 0.0, 1.0], t])


def _matrices(rods: CrossedRods) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Return the diagonal of M, the matrix K, and the indices of free unknowns.

    For n unknowns they are (n,), (n, n) and (free unknowns,). Displacements w and rotations th have
    components in the axes of their rod, with t = (0, 0, 1). With the strain p at rest, g = w' - (1
    + p) th x t and T = EA p, the energy per length of an element is 1/2 g.S g - T t.(th x w') - 1/2
    T (1 + p) |t x th|^2, that of a joint 1/2 th'.B th'.
    """
    n, spacing, p = rods.elements, rods.length / rods.elements, rods.stretch
    stiff, bend_stiffness, line, inertia_per_length = rods.section
    tension, across = stiff[2] * p, _hat(np.array([0.0, 0.0, 1.0]))
    # strain of one element from (w_k, w_k+1, th)
    strain = np.hstack([-np.eye(3) / spacing, np.eye(3) / spacing, (1.0 + p) * across])
    pair = np.zeros((9, 9))
    pair[6:, :6] = tension * across @ strain[:, :6]
    pair += pair.T
    pair[6:, 6:] += tension * (1.0 + p) * across @ across
    block = spacing * (strain.T @ np.diag(stiff) @ strain + pair)
    joint = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag(bend_stiffness / spacing))
    size = 6 * (n + 1) + 6 * n
    stiffness, fixed = np.zeros((size, size)), np.zeros(size, dtype=bool)
    for rod in range(2):
        for e in range(n):
            at = np.r_[_node(rods, rod, e), _node(rods, rod, e + 1), _frame(rods, rod, e)]
            stiffness[np.ix_(at, at)] += block
        for e in range(1, n):
            at = np.r_[_frame(rods, rod, e - 1), _frame(rods, rod, e)]
            stiffness[np.ix_(at, at)] += joint
        for k in (0, 1, n - 1, n):
            fixed[_node(rods, rod, k)] = True
        for e in (0, n - 1):
            fixed[_frame(rods, rod, e)] = True
    mass = spacing * np.concatenate(
        [np.full(6 * (n + 1), line), np.tile(inertia_per_length, 2 * n)]
    )
    return mass, stiffness, np.flatnonzero(~fixed)


def _rolling(rods: CrossedRods) -> Floats:
    """Return J (3, unknowns): the slip velocity of rod 1 over rod 2 is J times all velocities."""
    n, spacing = rods.elements, rods.length / rods.elements
    arm = _hat(np.array([0.0, 0.0, 2.0 * rods.radius]))
    roll = np.zeros((3, 6 * (n + 1) + 6 * n))
    for rod, t in enumerate(rods.directions):
        to_space, position = _axes(t).T, rods.contact[rod] / spacing
        sign = 1.0 if rod == 0 else -1.0
        for k, weight in enumerate(_spline(position - np.arange(n + 1.0))):
            roll[:, _node(rods, rod, k)] = sign * weight * to_space
        # both levers are D / 2 with the same sign: 1/2 w x D for either rod
        for e, weight in enumerate(_spline(position - np.arange(float(n)) - 0.5)):
            roll[:, _frame(rods, rod, e)] = -0.5 * weight * arm @ to_space
    return roll


def _contact_places(rods: CrossedRods, x: Floats) -> Floats:
    """Return (t, 2) displacements of the contact along both rods [m], from D.t1 = D.t2 = 0.

    To first order A ds = -(D . t1, D . t2), with the matrix A of straight rods (sheet, section 2).
    """
    n, spacing, along = rods.elements, rods.length / rods.elements, 1.0 + rods.stretch
    nodes = x[:, : 6 * (n + 1)].reshape(-1, 2, n + 1, 3)
    moved, slopes = [], []
    for rod, t in enumerate(rods.directions):
        position = rods.contact[rod] / spacing - np.arange(n + 1.0)
        in_space = nodes[:, rod] @ _axes(t)
        moved.append(np.einsum("k,tki->ti", _spline(position), in_space))
        slopes.append(np.einsum("k,tki->ti", _spline_slope(position) / spacing, in_space))
    relative = moved[1] - moved[0]
    residual = np.stack(
        [
            along * (relative @ t) + 2.0 * rods.radius * slope[:, 2]
            for t, slope in zip(rods.directions, slopes, strict=True)
        ],
        axis=1,
    )
    cosine = np.cos(rods.angle)
    tangency = along**2 * np.array([[-1.0, cosine], [-cosine, 1.0]])
    return np.asarray(-np.linalg.solve(tangency, residual.T).T)
