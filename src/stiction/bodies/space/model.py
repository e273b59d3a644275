"""The model of rigid bodies in space: bodies, supports, gravity, friction and restitution.

The classes check and store the input; `space.mechanics.SpatialMechanics` converts it to arrays, and
`methods.TimeStepper` computes the motion. Where surfaces touch, with normal and tangential
impulses r_n, r_t and velocities u_n, u_t, hold Signorini's condition 0 <= r_n _|_ u_n >= 0,
Coulomb's law |r_t| <= mu r_n, against u_t at its bound, and an impact law, such as u_n+ = -e u_n-
with the restitution e. Vectors have components x, y, z in the axes of space; orientations are
quaternions (w, x, y, z). `bodies.model` has the same classes for the plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.contacts import refuse_overlap
from stiction.bodies.model import ROUNDED, ContactPair, Hinge, Spring
from stiction.bodies.parts import IMPACT_LAW, PAIRS, RESTITUTION, BodySystem
from stiction.bodies.space.shapes import Cuboid, HalfSpace, SpatialShape
from stiction.core.fields import (
    Components,
    Declared,
    Flag,
    Part,
    Parts,
    Positive,
)
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.numerics.checks import floats_of, shape_of

if TYPE_CHECKING:
    from stiction.bodies.joints.springs import Springs

__all__ = ["SpatialBodies", "SpatialBody", "SpatialHinge", "SpatialSpring", "SpatialSupport"]

Floats = npt.NDArray[np.float64]
Three = Sequence[float] | Floats

_PLACE = Components("m", "the centre of mass starts at this position.")
_VELOCITY = Components("m/s", "a velocity has components along x, y and z.")
_SPIN = Components("rad/s", "the body rotates about an axis at this rate.")
_FORCE = Components("N", "the force acts at the centre of mass, along x, y and z.")
_MOMENT = Components("N m", "a moment has components about x, y and z.")
_GRAVITY = Components("m/s^2", "gravity accelerates all bodies.")
_TURNED = Components(
    "1", "a quaternion (w, x, y, z) turns the shape.",
    "give [1, 0, 0, 0], or [cos(a/2), 0, 0, sin(a/2)] for an angle a about z.",
    counts=(4,), direction=True,
)  # fmt: skip
_MASS = Positive("kg", "a body without mass has no motion of its own.", "give 1.0.")
_SHAPE = Part("contact needs a surface.", "give Sphere(0.1), Capsule(), Cuboid() or ConvexHull().")
_SURFACE = Part("contact needs a surface.", "give HalfSpace(), Cuboid() or Sphere(0.1).")
_BODIES = Parts(
    "the run computes the motion of these bodies.",
    "give a list of SpatialBody objects.",
    "SpatialBody objects",
    1,
)
_SUPPORTS = Parts("supports carry the bodies.", "give a list of SpatialSupport objects.")
_SPRINGS = Parts("springs connect bodies.", "give a list of SpatialSpring objects.")
_HINGES = Parts("hinges join parts.", "give a list of SpatialHinge objects.")
_POINT = Components("m", "an end of the spring is fixed at this point of the part.")
_PIN = Components("m", "the pin starts at this position.")
_AXIS = Components(
    "1", "the parts turn about this axis.", "give [0, 0, 1], or leave this value out for a ball "
    "joint.",
    direction=True,
)  # fmt: skip
_SLIDES = Flag(
    "True makes the hinge a slider, False a pin or a ball joint.", "leave this value out."
)
_SPAN = Positive(
    "m", "a moment across the axis is a bearing force times this distance.", "leave this value out."
)
_LAW = Part("the law bounds the tangential force of a contact.", "give Coulomb(0.5).")


@dataclass(frozen=True, eq=False, repr=False)
class SpatialBody(Declared):
    """A rigid body in space.

    Parameters
    ----------
    shape : Sphere, Capsule, Cuboid or ConvexHull
    mass : [kg]
    position : of the centre of mass [m]
    orientation : quaternion (w, x, y, z) that turns the frame of the shape to that of space; its
        length does not matter
    velocity : of the centre of mass [m/s]
    spin : angular velocity, in the axes of space [rad/s]
    inertia : (3, 3) about the centre of mass in the frame of the shape [kg m^2]; None for an even
        mass
    force, moment : constant in the axes of space, beside gravity [N], [N m]
    """

    shape: Annotated[SpatialShape, _SHAPE] = field(default_factory=Cuboid)
    mass: Annotated[float, _MASS] = 1.0
    position: Annotated[Three, _PLACE] = (0.0, 0.0, 0.0)
    orientation: Annotated[Three, _TURNED] = (1.0, 0.0, 0.0, 0.0)
    velocity: Annotated[Three, _VELOCITY] = (0.0, 0.0, 0.0)
    spin: Annotated[Three, _SPIN] = (0.0, 0.0, 0.0)
    inertia: Floats | None = None
    force: Annotated[Three, _FORCE] = (0.0, 0.0, 0.0)
    moment: Annotated[Three, _MOMENT] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.shape, HalfSpace):
            why, try_ = (
                "a half space has no finite mass.",
                "give the half space to a SpatialSupport.",
            )
            raise ModelError("SpatialBody.shape", "a HalfSpace", "a finite shape", why, try_)
        if self.inertia is not None:
            object.__setattr__(self, "inertia", _checked_inertia(self.inertia))
        moments = np.diag(self.moments_of_inertia)
        if not (moments.min() > 0.0 and np.isfinite(moments).all()):
            got = f"moments of inertia {moments.tolist()} kg m^2"
            why = "the squares of the sizes of the body overflow or underflow."
            raise ModelError(
                "SpatialBody.shape", got, "finite numbers > 0 [kg m^2]", why, "change the unit."
            )

    @property
    def moments_of_inertia(self) -> Floats:
        """(3, 3) about the centre of mass in the frame of the shape [kg m^2]."""
        return self.mass * self.shape.inertia if self.inertia is None else self.inertia


def _checked_inertia(given: object) -> Floats:
    """Return a symmetric and positive definite matrix of inertia (3, 3), or raise an error."""
    where, why = "SpatialBody.inertia", "a rotation about any axis has a positive energy."
    needs, try_ = "a symmetric positive definite matrix (3, 3) [kg m^2]", "give np.diag([x, y, z])."
    if shape_of(given) != (3, 3):
        raise ModelError(where, f"an array of shape {shape_of(given)}", needs, why, try_)
    matrix = floats_of(given)
    if not np.isfinite(matrix).all():
        raise ModelError(where, "an entry that is not a finite number", needs, why, try_)
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ModelError(where, "a matrix that is not symmetric", needs, why, try_)
    matrix = 0.5 * (matrix + matrix.T)
    least, other, largest = np.linalg.eigvalsh(matrix).tolist()
    if not least > 0.0:
        raise ModelError(where, f"a matrix with the eigenvalue {least:.3g}", needs, why, try_)
    if largest > (least + other) * (1.0 + 1e-9):
        got = f"principal moments {least:.6g}, {other:.6g} and {largest:.6g}"
        needs, why = (
            "no moment larger than the sum of the other two",
            "the mass density is nowhere negative.",
        )
        raise ModelError(where, got, needs, why, try_)
    matrix.flags.writeable = False
    return matrix


@dataclass(frozen=True, eq=False, repr=False)
class SpatialSupport(Declared):
    """A surface in space whose motion is given: at rest, or at constant velocity, such as a belt.

    Parameters
    ----------
    shape : HalfSpace, Sphere, Capsule, Cuboid or ConvexHull
    position : of the origin of its frame [m]
    orientation : quaternion (w, x, y, z); its length does not matter
    velocity : of its surface [m/s]; the shape of a half space that moves along itself stays
    """

    shape: Annotated[SpatialShape, _SURFACE] = field(default_factory=HalfSpace)
    position: Annotated[Three, _PLACE] = (0.0, 0.0, 0.0)
    orientation: Annotated[Three, _TURNED] = (1.0, 0.0, 0.0, 0.0)
    velocity: Annotated[Three, _VELOCITY] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class SpatialSpring(Spring):
    """A linear spring with a damper, along the line between points of two parts in space.

    Parameters
    ----------
    first, second : numbers of the parts from 1: bodies in their order, then supports
    on_first, on_second : where it is fixed, in the frame of the part [m]
    stiffness : [N/m]
    damping : force per rate of its length [N s/m]
    length : without a force [m]; None for the length at the start
    """

    on_first: Annotated[Three, _POINT] = (0.0, 0.0, 0.0)
    on_second: Annotated[Three, _POINT] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class SpatialHinge(Hinge):
    """A joint of two parts: a pin with an axis, a slider or a ball; no contact between them.

    Parameters
    ----------
    first, second : numbers of the parts from 1: bodies in their order, then supports
    at : place of the joint at the start, in the axes of space [m]
    axis : direction of the pin or slider at the start, in the axes of space; None for a ball joint
    radius : of the pin [m]; without friction it has no effect
    span : distance of the two bearings of the joint, which lie on both sides of its place, of a
        slider on the first part [m]; None for no friction by moments across the axis
    slides : True for a slider: parts move along the axis and do not turn about each other
    law : Coulomb friction, but not of ball joints; None for no friction. The moment of friction of
        a pin is at most radius sin(arctan(mu)) times the sum of the magnitudes of the forces of
        both bearings, which share the axial force; the friction of a slider mu times that sum

    Verified by: tests/unit/bodies/space/test_hinges.py::test_a_door_stops_by_friction,
    tests/unit/bodies/space/test_hinges.py::test_a_spherical_pendulum

    Examples
    --------
    >>> import stiction as st
    >>> door = st.bodies.SpatialBody(
    ...     st.bodies.Cuboid(0.8, 0.04, 2.0), position=[0.4, 0.0, 1.0], force=[0.0, 1.0, 0.0]
    ... )
    >>> frame = st.bodies.SpatialSupport(st.bodies.Cuboid(0.1, 0.1, 2.0), position=[0.0, 0.0, 1.0])
    >>> hinge = st.bodies.SpatialHinge(1, 2, at=[0.0, 0.0, 1.0], axis=[0.0, 0.0, 1.0])
    >>> system = st.bodies.SpatialBodies([door], [frame], hinges=[hinge])
    >>> st.solve(system, t_span=(0.0, 0.2)).audit.ok
    True
    """

    at: Annotated[Three, _PIN] = (0.0, 0.0, 0.0)
    axis: Annotated[Three | None, _AXIS] = None
    span: Annotated[float | None, _SPAN] = None
    slides: Annotated[bool, _SLIDES] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axis is None and (self.law is not None or self.slides):
            got = "a slider without an axis" if self.slides else "friction of a ball joint"
            why = "a slider moves along its axis, and friction acts between a pin and its hole."
            try_ = "give `axis`, or leave `law` and `slides` out."
            raise ModelError("SpatialHinge.axis", got, "an axis", why, try_)


@dataclass(frozen=True, eq=False, repr=False)
class SpatialBodies(BodySystem):
    """Rigid bodies in space, with impacts and Coulomb friction where they touch.

    Parameters
    ----------
    bodies : in the order of their numbers
    supports : surfaces whose motion is given
    gravity : [m/s^2]
    law : Coulomb friction of all contacts, but for those of `pairs`
    restitution : coefficient of their impacts, from 0 to 1 [1]
    springs : between bodies and supports
    hinges : that join bodies with bodies and supports
    pairs : pairs of parts with friction or restitution of their own
    impact_law : "newton" if restitution is the ratio of normal velocities after and before an
        impact, "poisson" if that of normal impulses in expansion and compression

    Raises
    ------
    ModelError : if bodies overlap at the start, a spring has no effect or no direction, a pair
        is listed twice, or hinges lock or do not agree with the velocities.

    Examples
    --------
    >>> import stiction as st
    >>> floor = st.bodies.SpatialSupport(st.bodies.HalfSpace([0.0, 0.0, 1.0]))
    >>> cube = st.bodies.SpatialBody(
    ...     st.bodies.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.5], velocity=[2.0, 1.0, 0.0]
    ... )
    >>> run = st.solve(st.bodies.SpatialBodies([cube], [floor]), t_span=(0.0, 1.0))
    >>> run.variables["velocity"].values[-1].tolist()
    [[0.0, 0.0, 0.0]]
    """

    default_method: ClassVar[str] = "TimeStepper"

    bodies: Annotated[Sequence[SpatialBody], _BODIES] = field(
        default_factory=lambda: [SpatialBody()]
    )
    supports: Annotated[Sequence[SpatialSupport], _SUPPORTS] = ()
    gravity: Annotated[Three, _GRAVITY] = (0.0, 0.0, -9.81)
    law: Annotated[Coulomb, _LAW] = field(default_factory=lambda: Coulomb(0.5))
    restitution: Annotated[float, RESTITUTION] = 0.0
    springs: Annotated[Sequence[SpatialSpring], _SPRINGS] = ()
    hinges: Annotated[Sequence[SpatialHinge], _HINGES] = ()
    pairs: Annotated[Sequence[ContactPair], PAIRS] = ()
    impact_law: Annotated[str, IMPACT_LAW] = "newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_laws()
        self._check_hinges()
        self._check_pairs()
        self._check_springs()
        from stiction.bodies.joints.hinges import refuse_hinges
        from stiction.bodies.space.mechanics import SpatialMechanics

        m = SpatialMechanics(self)
        refuse_hinges("SpatialBodies", m, ROUNDED)
        contacts = m.contacts(m.pose(0.0, m.start()[0]), 0.0)
        other = ", or give a ContactPair with contact = False for parts that never touch"
        refuse_overlap("SpatialBodies.bodies", contacts, self.n, ROUNDED * self.size, other)

    @property
    def state_size(self) -> int:
        """Numbers in one saved state."""
        return 13 * self.n

    def springs_at_start(self) -> tuple[Springs, Floats]:
        """Return the springs, and (m, 7) places of bodies and supports, at the start."""
        from stiction.bodies.space.mechanics import SpatialMechanics

        m = SpatialMechanics(self)
        assert m.springs is not None
        return m.springs, m.pose(0.0, m.start()[0])

    def start(self) -> tuple[Floats, Floats]:
        """Return (n, 7) places and quaternions, and (n, 6) velocities and spins, at the start."""
        q = np.array([[*b.position, *b.orientation] for b in self.bodies], dtype=np.float64)
        v = np.array([[*b.velocity, *b.spin] for b in self.bodies], dtype=np.float64)
        return q, v
