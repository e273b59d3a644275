"""Linear constraints between displacements: planes of symmetry, boundaries that stay straight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, numbers
from stiction.solids.conditions import (
    Condition,
    Program,
    Where,
    check_component,
    check_program,
    check_where,
)
from stiction.solids.contact.partners import Boundary

__all__ = ["Linear", "Symmetry", "Term", "Tied"]

# components of a direction in space
_SPACE = 3


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry(Condition):
    """A boundary that stays in its plane: of symmetry, or a wall without friction.

    Parameters
    ----------
    where : the boundary
    normal : of the plane; need not have length one. None takes that of the boundary, which
        must be straight then

    Verified by: tests/unit/solids/equilibria/test_constraining.py::test_symmetry_in_any_direction
    """

    where: Boundary = field(default_factory=Boundary)
    normal: Sequence[float] | None = None

    def __post_init__(self) -> None:
        where: object = self.where
        if not isinstance(where, Boundary):
            why, try_ = "a boundary lies in the plane.", "for example Boundary(0, 'left')."
            raise ModelError("Symmetry.where", repr(where), "a Boundary", why, try_)
        if self.normal is None:
            return
        why, try_ = "the plane is across it.", "give (1, 0) for an upright plane."
        plane = np.size(self.normal) != _SPACE
        wide = 2 if plane else _SPACE
        n = numbers("Symmetry.normal", self.normal, size=wide, why=why, try_=try_)
        size = math.hypot(*n)
        if not size > 0.0:
            raise ModelError("Symmetry.normal", "(0, 0)", "a direction", why, try_)
        object.__setattr__(self, "normal", tuple(float(x / size) for x in n))


@dataclass(frozen=True, eq=False, repr=False)
class Tied(Condition):
    """A boundary all of whose places have the same displacement along x or y.

    Parameters
    ----------
    where : the boundary
    component : 0 for x, 1 for y

    Verified by: tests/unit/solids/equilibria/test_constraining.py::test_a_tied_boundary
    """

    where: Boundary = field(default_factory=Boundary)
    component: int = 1

    def __post_init__(self) -> None:
        where: object = self.where
        if not isinstance(where, Boundary):
            why, try_ = "a boundary moves as one.", "for example Boundary(0, 'top')."
            raise ModelError("Tied.where", repr(where), "a Boundary", why, try_)
        component = check_component("Tied.component", self.component)
        object.__setattr__(self, "component", component)


@dataclass(frozen=True, eq=False, repr=False)
class Term(Record):
    """One displacement in a linear constraint, with its factor.

    Parameters
    ----------
    where : a node, a rigid partner, or a boundary, of which it is the mean over the length
    component : 0 for x, 1 for y
    factor : [1]

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Term(st.solids.Nearest(0, (0.0, 0.5)), component=1, factor=-0.5).factor
    -0.5
    """

    where: Where | Boundary = field(default_factory=Boundary)
    component: int = 1
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_where("Term", self.where)
        object.__setattr__(self, "component", check_component("Term.component", self.component))
        why, try_ = "the displacement counts this much.", "give 1, or -1."
        value = number("Term.factor", self.factor, why=why, try_=try_)
        object.__setattr__(self, "factor", value)


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Condition):
    """A sum of displacements that follows a program.

    Parameters
    ----------
    terms : displacements with their factors
    program : their sum over time [m]

    Verified by: tests/unit/solids/equilibria/test_constraining.py::test_linear_constraints

    Examples
    --------
    >>> import stiction as st
    >>> left, right = st.solids.Boundary(0, "left"), st.solids.Boundary(0, "right")
    >>> ends = [st.solids.Term(left, 0, -1.0), st.solids.Term(right, 0, 1.0)]
    >>> stretch = st.solids.Linear(ends, st.solids.Program([0.0, 1.0], [0.0, 0.1]))
    >>> [term.factor for term in stretch.terms]
    [-1.0, 1.0]
    """

    terms: Sequence[Term] = ()
    program: Program = field(default_factory=lambda: Program((0.0,), (0.0,)))

    def __post_init__(self) -> None:
        given: object = self.terms
        terms = (given,) if isinstance(given, Term) else tuple(self.terms)
        wrong: list[object] = [t for t in terms if not issubclass(type(t), Term)]
        if wrong or not terms:
            got = repr(wrong[0]) if wrong else "none"
            why = "it says which displacements are summed, and with which factors."
            try_ = "for example [Term(Rigid(0), 1, 1.0), Term(Boundary(0, 'top'), 1, -1.0)]."
            raise ModelError("Linear.terms", got, "a list of Term objects", why, try_)
        if not any(t.factor for t in terms):
            why, try_ = "it would hold nothing.", "give 1, or -1."
            raise ModelError("Linear.terms", "factors of 0", "others than 0", why, try_)
        object.__setattr__(self, "terms", terms)
        check_program("Linear", self.program)
