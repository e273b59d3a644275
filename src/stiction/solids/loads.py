"""What acts on boundaries and partners beside forces at points: tractions, springs, spin."""

from __future__ import annotations

from dataclasses import dataclass, field

from stiction.errors import ModelError
from stiction.numerics.checks import number
from stiction.solids.conditions import (
    Condition,
    Program,
    Rigid,
    Where,
    check_component,
    check_program,
    check_where,
)
from stiction.solids.contact.partners import Boundary

__all__ = ["Pressure", "Spring", "Traction", "Turned"]


def _check_boundary(name: str, where: object, does: str) -> None:
    """Refuse what is no boundary."""
    if not isinstance(where, Boundary):
        try_ = "for example Boundary(0, 'top')."
        raise ModelError(f"{name}.where", repr(where), "a Boundary", does, try_)


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

    where: Boundary = field(default_factory=Boundary)
    component: int = 1
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        _check_boundary("Traction", self.where, "a traction acts on a boundary.")
        component = check_component("Traction.component", self.component, 1)
        object.__setattr__(self, "component", component)
        check_program("Traction", self.program)


@dataclass(frozen=True, eq=False, repr=False)
class Pressure(Condition):
    """A pressure on a boundary: it follows the surface as that turns and stretches.

    Parameters
    ----------
    where : the boundary
    program : force per current area over time [Pa], positive into the body

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_a_thick_ring

    Examples
    --------
    >>> import stiction as st
    >>> top = st.solids.Boundary(0, "top")
    >>> st.solids.Pressure(top, st.solids.Program([0.0, 1.0], [0.0, 2e3])).where.name
    'top'
    """

    where: Boundary = field(default_factory=Boundary)
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        _check_boundary("Pressure", self.where, "a pressure acts on a boundary.")
        check_program("Pressure", self.program)


@dataclass(frozen=True, eq=False, repr=False)
class Spring(Condition):
    """A linear spring along x or y between a place and the ground, whose end follows a program.

    On a boundary it is spread over the reference length, a foundation; with `Tied` for the same
    component the boundary moves as one, and the spring is a single one.

    Parameters
    ----------
    where : a boundary, a node, or a rigid partner
    component : 0 for x, 1 for y
    stiffness : force over displacement, of the whole boundary [N/m per metre of width]
    program : displacement of the far end over time [m]

    Verified by: tests/unit/solids/equilibria/test_springs.py::test_stiff_springs_are_drives
    """

    where: Where | Boundary = field(default_factory=Boundary)
    component: int = 1
    stiffness: float = 1.0
    program: Program = field(default_factory=lambda: Program((0.0,), (0.0,)))

    def __post_init__(self) -> None:
        check_where("Spring", self.where)
        component = check_component("Spring.component", self.component, 1)
        object.__setattr__(self, "component", component)
        value = number(
            "Spring.stiffness",
            self.stiffness,
            rule="positive",
            unit="Pa",
            why="it is force per width over displacement.",
            try_="use Driven where nothing gives way.",
        )
        object.__setattr__(self, "stiffness", value)
        check_program("Spring", self.program)


@dataclass(frozen=True, eq=False, repr=False)
class Turned(Condition):
    """A rigid circle that turns about its axis: a drum, or a wheel that also moves.

    Friction is felt against the surface as it moves: slip is that of the body over the material
    of the circle.

    Parameters
    ----------
    where : the rigid partner, a `RigidCircle`
    program : angle over time [rad], positive counter-clockwise

    Verified by: tests/unit/solids/contact/test_turning.py::test_a_drum_drags_a_block
    """

    where: Rigid = field(default_factory=Rigid)
    program: Program = field(default_factory=Program)

    def __post_init__(self) -> None:
        where: object = self.where
        if not isinstance(where, Rigid):
            why, try_ = "rigid circles turn.", "give Rigid(0) for the partner of contact 0."
            raise ModelError("Turned.where", repr(where), "a Rigid partner", why, try_)
        check_program("Turned", self.program)
