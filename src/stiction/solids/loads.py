"""Loads besides point forces: tractions, pressures and springs on boundaries, rotation of partners.

Each is a `Condition` with a `Program` over time. Tractions are dead loads, per reference area;
pressures follow the deformed surface. `equilibria.boundary_loads` integrates them into forces and
tangents. Loads are spread over boundaries of plane bodies alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Part, Positive
from stiction.solids.conditions import (
    PLANE_COMPONENT,
    PROGRAM,
    WHERE,
    Condition,
    Program,
    Rigid,
    Where,
)
from stiction.solids.contact.partners import Boundary

__all__ = ["Pressure", "Spring", "Traction", "Turned"]

_TRY = "for example Boundary(0, 'top')."
_PULLED = Part("a traction acts on a boundary.", _TRY)
_PRESSED = Part("a pressure acts on a boundary.", _TRY)
_STIFFNESS = Positive(
    "Pa",
    "the stiffness is force per width divided by displacement.",
    "use Driven for a rigid connection.",
)
_TURNED = Part(
    "only rigid circles rotate.", "give Rigid(0) for the partner of contact 0.", "a Rigid partner"
)


@dataclass(frozen=True, eq=False, repr=False)
class Traction(Condition):
    """A traction on a boundary that keeps its direction and its force: a dead load.

    Parameters
    ----------
    where : the boundary
    component : 0 for x, 1 for y
    program : force per reference area over time [Pa]

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_a_bar_under_traction

    Examples
    --------
    >>> import stiction as st
    >>> right = st.solids.Boundary(0, "right")
    >>> st.solids.Traction(right, 0, st.solids.Program([0.0, 1.0], [0.0, 1e3])).where.name
    'right'
    """

    where: Annotated[Boundary, _PULLED] = field(default_factory=Boundary)
    component: Annotated[int, PLANE_COMPONENT] = 1
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


@dataclass(frozen=True, eq=False, repr=False)
class Pressure(Condition):
    """A pressure on a boundary: it follows the surface as that turns and stretches.

    Parameters
    ----------
    where : the boundary
    program : force per current area over time [Pa], positive into the body. In plane stress the
        area is current length times initial thickness

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_a_thick_ring

    Examples
    --------
    >>> import stiction as st
    >>> top = st.solids.Boundary(0, "top")
    >>> st.solids.Pressure(top, st.solids.Program([0.0, 1.0], [0.0, 2e3])).where.name
    'top'
    """

    where: Annotated[Boundary, _PRESSED] = field(default_factory=Boundary)
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)


@dataclass(frozen=True, eq=False, repr=False)
class Spring(Condition):
    """A linear spring along x or y between a place and the ground, whose end follows a program.

    On a boundary it is distributed over the reference length, as an elastic foundation. With `Tied`
    for the same component it acts as a single spring on the boundary.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    component : 0 for x, 1 for y
    stiffness : force over displacement, of the whole boundary [N/m per metre of width]
    program : displacement of the far end over time [m]

    Verified by: tests/unit/solids/equilibria/test_springs.py::test_stiff_springs_are_drives
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    component: Annotated[int, PLANE_COMPONENT] = 1
    stiffness: Annotated[float, _STIFFNESS] = 1.0
    program: Annotated[Program, PROGRAM] = field(default_factory=lambda: Program((0.0,), (0.0,)))


@dataclass(frozen=True, eq=False, repr=False)
class Turned(Condition):
    """A rigid circle that turns about its axis: a drum, or a wheel that also moves.

    Slip is the displacement of the body relative to the material points of the rotating circle.

    Parameters
    ----------
    where : the rigid partner, a `RigidCircle`
    program : angle over time [rad], positive counter-clockwise

    Verified by: tests/unit/solids/contact/test_turning.py::test_a_drum_drags_a_block
    """

    where: Annotated[Rigid, _TURNED] = field(default_factory=Rigid)
    program: Annotated[Program, PROGRAM] = field(default_factory=Program)
