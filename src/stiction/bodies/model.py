"""The model of rigid bodies in the plane: bodies, supports, gravity, friction and restitution.

`RigidBodies` has bodies of finite mass and supports whose motion is given. Where surfaces touch,
with normal and tangential impulses r_n, r_t and velocities u_n, u_t, hold Signorini's condition
0 <= r_n _|_ u_n >= 0, Coulomb's law |r_t| <= mu r_n, against u_t at its bound, and an impact law,
such as u_n+ = -e u_n- with the restitution e. The classes only check and store the input:
`mechanics.Mechanics` converts it to arrays, and the methods of `methods` compute the motion. A
place is (x, y, angle) [m], [rad], a velocity (v_x, v_y, spin) [m/s], [rad/s].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.joints.springs import Springs, springs_of
from stiction.bodies.parts import IMPACT_LAW, PAIRS, RESTITUTION, BodySystem
from stiction.bodies.shapes import Box, HalfPlane, RigidShape
from stiction.core.fields import (
    Components,
    Count,
    Declared,
    Finite,
    Flag,
    NonNegative,
    Part,
    Parts,
    Positive,
)
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb

__all__ = ["ContactPair", "Hinge", "RigidBodies", "RigidBody", "Spring", "Support"]

Floats = npt.NDArray[np.float64]
Pair = Sequence[float] | Floats

_PLACE = Components("m", "the centre of mass starts at this position.", counts=(2,))
_VELOCITY = Components("m/s", "a velocity in the plane has components along x and y.", counts=(2,))
_FORCE = Components("N", "the force acts at the centre of mass, along x and y.", counts=(2,))
_GRAVITY = Components("m/s^2", "gravity accelerates all bodies.", counts=(2,))
_ANGLE = Finite("rad", "the shape is turned by this angle.", "give 0.0.")
_SPIN = Finite("rad/s", "the body rotates at this rate.", "give 0.0.")
_MOMENT = Finite("N m", "the moment accelerates the rotation of the body.", "give 0.0.")
_MASS = Positive("kg", "a body without mass has no motion of its own.", "give 1.0.")
_INERTIA = Positive(
    "kg m^2",
    "the moment of inertia resists rotation.",
    "leave this value out for a uniform density.",
)
_SHAPE = Part("contact needs a surface.", "give Disc(0.1), Box(1.0, 1.0) or Polygon(...).")
_SURFACE = Part("contact needs a surface.", "give HalfPlane(), Box(1.0, 1.0) or Disc(0.1).")
_BODIES = Parts(
    "the run computes the motion of these bodies.",
    "give a list of RigidBody objects.",
    "RigidBody objects",
    1,
)
_SUPPORTS = Parts("supports carry the bodies.", "give a list of Support objects.")
_SPRINGS = Parts("springs connect bodies.", "give a list of Spring objects.")
_HINGES = Parts("hinges join parts at points.", "give a list of Hinge objects.")
_END = Count(
    1,
    "parts are numbered: first the bodies, then the supports.",
    "give 1.",
)
_POINT = Components("m", "an end of the spring is fixed at this point of the part.", counts=(2,))
_PIN = Components("m", "the pin starts at this position.", counts=(2,))
_RADIUS = NonNegative("m", "the friction moment is proportional to the radius.", "give 0.01.")
_TOUCH = Flag(
    "True lets the two parts touch; False is for parts in different planes.", "give True."
)
_PIN_LAW = Part("the law bounds the friction between pin and hole.", "leave this value out.")
_STIFFNESS = NonNegative("N/m", "a spring opposes its elongation.", "give 100.0.")
_DAMPING = NonNegative("N s/m", "a damper dissipates energy.", "leave this value out.")
_LENGTH = NonNegative("m", "at this length the spring exerts no force.", "leave this value out.")
_LAW = Part("the law bounds the tangential force of a contact.", "give Coulomb(0.5).")
# gap over the smallest size of a body below which surfaces touch, of either sign: users write
# coordinates with six digits
ROUNDED = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class RigidBody(Declared):
    """A rigid body in the plane.

    Parameters
    ----------
    shape : Disc, Box or Polygon
    mass : [kg]
    position : of the centre of mass [m]
    angle : of the shape, counterclockwise [rad]
    velocity : of the centre of mass [m/s]
    spin : angular velocity [rad/s]
    inertia : moment of inertia about the centre of mass [kg m^2]; None for an even mass
    force, moment : constant, beside gravity [N], [N m]
    """

    shape: Annotated[RigidShape, _SHAPE] = field(default_factory=Box)
    mass: Annotated[float, _MASS] = 1.0
    position: Annotated[Pair, _PLACE] = (0.0, 0.0)
    angle: Annotated[float, _ANGLE] = 0.0
    velocity: Annotated[Pair, _VELOCITY] = (0.0, 0.0)
    spin: Annotated[float, _SPIN] = 0.0
    inertia: Annotated[float | None, _INERTIA] = None
    force: Annotated[Pair, _FORCE] = (0.0, 0.0)
    moment: Annotated[float, _MOMENT] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.shape, HalfPlane):
            why, try_ = "a half plane has no finite mass.", "give the half plane to a Support."
            raise ModelError("RigidBody.shape", "a HalfPlane", "a finite shape", why, try_)
        if not 0.0 < self.moment_of_inertia < math.inf:
            got = f"a moment of inertia of {self.moment_of_inertia:g} kg m^2"
            why = "the square of the size of the body overflows or underflows."
            raise ModelError(
                "RigidBody.shape", got, "a finite number > 0 [kg m^2]", why, "change the unit."
            )

    @property
    def moment_of_inertia(self) -> float:
        """About the centre of mass [kg m^2]."""
        radius = self.shape.radius_of_gyration
        return self.inertia or self.mass * (radius * radius)


@dataclass(frozen=True, eq=False, repr=False)
class Support(Declared):
    """A surface whose motion is given: at rest, or at constant velocity, such as a belt.

    Parameters
    ----------
    shape : HalfPlane, Disc, Box or Polygon
    position : of the origin of its frame [m]
    angle : counterclockwise [rad]
    velocity : of its surface [m/s]; the shape of a half plane that moves along itself stays
    """

    shape: Annotated[RigidShape, _SURFACE] = field(default_factory=HalfPlane)
    position: Annotated[Pair, _PLACE] = (0.0, 0.0)
    angle: Annotated[float, _ANGLE] = 0.0
    velocity: Annotated[Pair, _VELOCITY] = (0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Spring(Declared):
    """A linear spring with a damper, along the line between points of two parts.

    Parameters
    ----------
    first, second : numbers of the parts from 1: bodies in their order, then supports
    on_first, on_second : where it is fixed, in the frame of the part [m]
    stiffness : [N/m]
    damping : force per rate of its length [N s/m]
    length : without a force [m]; None for the length at the start
    """

    first: Annotated[int, _END] = 1
    second: Annotated[int, _END] = 2
    on_first: Annotated[Pair, _POINT] = (0.0, 0.0)
    on_second: Annotated[Pair, _POINT] = (0.0, 0.0)
    stiffness: Annotated[float, _STIFFNESS] = 100.0
    damping: Annotated[float, _DAMPING] = 0.0
    length: Annotated[float | None, _LENGTH] = None


@dataclass(frozen=True, eq=False, repr=False)
class Hinge(Declared):
    """A pin that joins two parts; they turn about it, and do not touch each other elsewhere.

    Parameters
    ----------
    first, second : numbers of the parts from 1: bodies in their order, then supports
    at : place of the pin at the start, in the axes of the system and not of a part [m]
    radius : of the pin [m]; without friction it has no effect
    law : Coulomb friction between pin and hole; None for no friction. The moment of friction is at
        most radius sin(arctan(mu)) times the force of the hinge

    Verified by: tests/unit/bodies/test_hinges.py::test_a_pendulum,
    tests/unit/bodies/test_hinges.py::test_friction_of_a_pin

    Examples
    --------
    >>> import stiction as st
    >>> bar = st.bodies.RigidBody(st.bodies.Box(1.0, 0.1), position=[0.5, 0.0])
    >>> wall = st.bodies.Support(st.bodies.Disc(0.1))
    >>> system = st.bodies.RigidBodies([bar], [wall], hinges=[st.bodies.Hinge(1, 2)])
    >>> run = st.solve(system, t_span=(0.0, 0.5))
    >>> run.audit.ok
    True
    """

    first: Annotated[int, _END] = 1
    second: Annotated[int, _END] = 2
    at: Annotated[Pair, _PIN] = (0.0, 0.0)
    radius: Annotated[float, _RADIUS] = 0.0
    law: Annotated[Coulomb | None, _PIN_LAW] = None


@dataclass(frozen=True, eq=False, repr=False)
class ContactPair(Declared):
    """Friction and restitution of one pair of parts, in place of those of the system.

    Parameters
    ----------
    first, second : numbers of the parts from 1, in any order: bodies in their order, then supports
    law : Coulomb friction of the pair; None for that of the system
    restitution : coefficient of the pair, from 0 to 1 [1]; None for that of the system
    contact : False for parts that never touch, as links of a mechanism in different planes

    Verified by: tests/exact/test_contact_pairs.py::test_a_box_slides_on_a_box_that_slides

    Examples
    --------
    >>> import stiction as st
    >>> box = st.bodies.RigidBody(st.bodies.Box(1.0, 1.0), position=[0.0, 0.5])
    >>> ice = st.bodies.ContactPair(1, 2, law=st.Coulomb(0.02))
    >>> system = st.bodies.RigidBodies([box], [st.bodies.Support()], pairs=[ice])
    >>> round(st.bodies.steepest_rest(system), 6)
    0.019997
    """

    first: Annotated[int, _END] = 1
    second: Annotated[int, _END] = 2
    law: Annotated[Coulomb | None, _LAW] = None
    restitution: Annotated[float | None, RESTITUTION] = None
    contact: Annotated[bool, _TOUCH] = True


@dataclass(frozen=True, eq=False, repr=False)
class RigidBodies(BodySystem):
    """Rigid bodies in the plane, with impacts and Coulomb friction where they touch.

    Parameters
    ----------
    bodies : in the order of their numbers
    supports : surfaces whose motion is given
    gravity : [m/s^2]
    law : Coulomb friction of all contacts, but for those of `pairs`
    restitution : coefficient of their impacts, from 0 to 1 [1]
    springs : between bodies and supports
    hinges : that join bodies with bodies and supports; by `TimeStepper` only
    pairs : pairs of parts with friction or restitution of their own
    impact_law : "newton" if restitution is the ratio of normal velocities after and before an
        impact, "poisson" if that of normal impulses in expansion and compression

    Raises
    ------
    ModelError : if bodies overlap at the start, a spring has no effect or no direction, a pair
        is listed twice or never touches, or hinges lock or do not agree with the velocities.

    Examples
    --------
    >>> import stiction as st
    >>> floor = st.bodies.Support()
    >>> box = st.bodies.RigidBody(st.bodies.Box(1.0, 1.0), position=[0.0, 0.5], velocity=[2.0, 0.0])
    >>> run = st.solve(st.bodies.RigidBodies([box], [floor]), t_span=(0.0, 1.0))
    >>> run.variables["velocity"].values[-1].tolist()
    [[0.0, 0.0]]
    """

    default_method: ClassVar[str] = "TimeStepper"

    bodies: Annotated[Sequence[RigidBody], _BODIES] = field(default_factory=lambda: [RigidBody()])
    supports: Annotated[Sequence[Support], _SUPPORTS] = ()
    gravity: Annotated[Pair, _GRAVITY] = (0.0, -9.81)
    law: Annotated[Coulomb, _LAW] = field(default_factory=lambda: Coulomb(0.5))
    restitution: Annotated[float, RESTITUTION] = 0.0
    springs: Annotated[Sequence[Spring], _SPRINGS] = ()
    hinges: Annotated[Sequence[Hinge], _HINGES] = ()
    pairs: Annotated[Sequence[ContactPair], PAIRS] = ()
    impact_law: Annotated[str, IMPACT_LAW] = "newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_laws()
        self._check_hinges()
        self._check_pairs()
        self._check_springs()
        if self.hinges:
            from stiction.bodies.joints.hinges import refuse_hinges
            from stiction.bodies.mechanics import Mechanics

            refuse_hinges("RigidBodies", Mechanics(self), ROUNDED)
        self._check_overlap()

    @property
    def state_size(self) -> int:
        """Numbers in one saved state."""
        return 6 * self.n

    def springs_at_start(self) -> tuple[Springs, Floats]:
        """Return the springs, and (m, 3) places of bodies and supports, at the start."""
        return springs_of(self), self.places()

    def start(self) -> tuple[Floats, Floats]:
        """Return (n, 3) positions with angles, and velocities with spins, at the start."""
        q = np.array([[*body.position, body.angle] for body in self.bodies], dtype=np.float64)
        v = np.array([[*body.velocity, body.spin] for body in self.bodies], dtype=np.float64)
        return q, v

    def places(self) -> Floats:
        """Return (m, 3) positions with angles of bodies, then of supports, at the start."""
        parts: list[RigidBody | Support] = [*self.bodies, *self.supports]
        return np.array([[*part.position, part.angle] for part in parts], dtype=np.float64)

    def loads(self) -> Floats:
        """Return (n, 3) constant forces and moments: gravity and those of the bodies [N], [N m]."""
        own = np.array([[*b.force, b.moment] for b in self.bodies], dtype=np.float64)
        mass = np.array([[b.mass, b.mass, 0.0] for b in self.bodies])
        return np.asarray(own + mass * np.array([*self.gravity, 0.0]))

    def _check_overlap(self) -> None:
        """Raise an error if parts that may touch overlap at the start."""
        from stiction.bodies.contacts import refuse_overlap, surfaces_of

        found = surfaces_of(self).contacts(self.places(), 0.0)
        found = found[~self.separate()[found["first"], found["second"]]]
        other = ", or give a ContactPair with contact = False for parts in different planes"
        refuse_overlap("RigidBodies.bodies", found, self.n, ROUNDED * self.size, other)
