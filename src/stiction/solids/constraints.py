"""Linear constraints between displacements, sum_i c_i u_i = g(t) (multi-point constraints).

`Symmetry` sets the displacement normal to a plane to zero, `Tied` gives all points of a boundary
the same displacement along one axis, and `Linear` is the general form. The c_i are constants [1],
u_i are displacements [m] of nodes, rigid partners or boundaries. Each constraint eliminates one
unknown, see `equilibria.multi_point_constraints`. Rotations cannot be constrained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Components, Declared, Finite, Part, Parts
from stiction.errors import ModelError
from stiction.solids.conditions import COMPONENT, PROGRAM, WHERE, Condition, Program, Where
from stiction.solids.contact.partners import Boundary

__all__ = ["Linear", "Symmetry", "Term", "Tied"]

_STRAIGHT = Part("this boundary stays in its plane.", "for example Boundary(0, 'left').")
_NORMAL = Components(
    "1",
    "this vector is normal to the plane of symmetry.",
    "give (1, 0) for an upright plane.",
    counts=(2, 3),
    direction=True,
)
_TIED = Part(
    "all points of this boundary have one displacement.", "for example Boundary(0, 'top')."
)
_FACTOR = Finite("1", "the factor multiplies the displacement.", "give 1, or -1.")
_TERMS = Parts(
    "the constraint is the sum of these terms.",
    "for example [Term(Rigid(0), 1, 1.0), Term(Boundary(0, 'top'), 1, -1.0)].",
    "a list of Term objects",
    least=1,
)


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(Condition):
    """A boundary that stays in its plane: a plane of symmetry, or a frictionless wall.

    Parameters
    ----------
    where : the boundary
    normal : normal of the plane, of any length. None, in the plane alone, takes the normal of the
        boundary, which must then be straight

    Verified by: tests/unit/solids/equilibria/test_constraints.py::test_symmetry_in_any_direction
    """

    where: Annotated[Boundary, _STRAIGHT] = field(default_factory=Boundary)
    normal: Annotated[Sequence[float] | None, _NORMAL] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normal is not None:
            size = math.hypot(*self.normal)
            object.__setattr__(self, "normal", tuple(float(x / size) for x in self.normal))


@dataclass(frozen=True, eq=False, repr=False)
class Tied(Condition):
    """A boundary whose points all have the same displacement along one axis.

    Parameters
    ----------
    where : the boundary
    component : 0 for x, 1 for y

    Verified by: tests/unit/solids/equilibria/test_constraints.py::test_a_tied_boundary
    """

    where: Annotated[Boundary, _TIED] = field(default_factory=Boundary)
    component: Annotated[int, COMPONENT] = 1


@dataclass(frozen=True, eq=False, repr=False)
class Term(Declared):
    """One displacement in a linear constraint, with its factor.

    Parameters
    ----------
    where : a node, a rigid partner, or a boundary, whose mean displacement over its length counts
    component : 0 for x, 1 for y
    factor : c_i [1]

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Term(st.solids.Nearest(0, (0.0, 0.5)), component=1, factor=-0.5).factor
    -0.5
    """

    where: Annotated[Where | Boundary, WHERE] = field(default_factory=Boundary)
    component: Annotated[int, COMPONENT] = 1
    factor: Annotated[float, _FACTOR] = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Condition):
    """A linear constraint: a weighted sum of displacements follows a program g(t).

    Parameters
    ----------
    terms : displacements u_i with their factors c_i
    program : g, the sum of c_i u_i over time [m]

    Verified by: tests/unit/solids/equilibria/test_constraints.py::test_linear_constraints

    Examples
    --------
    >>> import stiction as st
    >>> left, right = st.solids.Boundary(0, "left"), st.solids.Boundary(0, "right")
    >>> ends = [st.solids.Term(left, 0, -1.0), st.solids.Term(right, 0, 1.0)]
    >>> stretch = st.solids.Linear(ends, st.solids.Program([0.0, 1.0], [0.0, 0.1]))
    >>> [term.factor for term in stretch.terms]
    [-1.0, 1.0]
    """

    terms: Annotated[Sequence[Term], _TERMS] = ()
    program: Annotated[Program, PROGRAM] = field(default_factory=lambda: Program((0.0,), (0.0,)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(term.factor for term in self.terms):
            why, try_ = "a sum of zeros constrains no displacement.", "give 1, or -1."
            raise ModelError("Linear.terms", "factors of 0", "a factor other than 0", why, try_)
