"""Multi-point constraints: the displacement that each of them eliminates.

A constraint sum_i c_i u_i = g(t) eliminates one free displacement. Gaussian elimination subtracts
earlier constraints; the pivot is the free displacement with the largest remaining factor. If none
remains, the constraint depends on earlier ones: it is redundant if its value g equals theirs, and
refused by name if it contradicts them. Constraints have few terms, so rows of the elimination are
dictionaries {component: factor}. `boundary_conditions` calls `eliminate` once per stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = ["Constraint", "Substitution", "eliminate", "unprescribed"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# factors below this are rounding
_ROUNDOFF = 1e-10
# difference of two values, over the largest prescribed displacement, up to which they are equal
_SAME = 1e-9


class Constraint(NamedTuple):
    """One linear constraint: the sum of factors times displacements has a value.

    Parameters
    ----------
    number : of its condition
    description : of its condition, for messages
    components : (k,) displacement components, numbered d * node + axis
    factors : (k,) the largest is 1 in size; for the place of a condition between control points
        the weights of its mean, whose sum is 1
    value : the sum at a time [m]
    scale : the given factors over `factors`, for messages
    """

    number: int
    description: str
    components: Ints
    factors: Floats
    value: Callable[[float], float]
    scale: float = 1.0


class Substitution(NamedTuple):
    """A constraint, and the displacement component that it replaces by its sum as unknown."""

    component: int
    constraint: Constraint


class _Eliminated(NamedTuple):
    """A constraint after elimination.

    Parameters
    ----------
    free : {component: factor} of the free displacements that remain
    constraints : {index: factor} of the original constraints of which it is a combination
    """

    free: dict[int, float]
    constraints: dict[int, float]


def unprescribed(_t: float) -> float:
    """Return NaN: the value of a sum that is not prescribed."""
    return float("nan")


def eliminate(
    constraints: Sequence[Constraint],
    points: Sequence[Substitution],
    fixed: npt.NDArray[np.bool_],
    prescribed: Callable[[float], Floats],
    describe_owner: Callable[[int], str],
    times: Floats,
) -> list[Substitution]:
    """Return the component that each constraint eliminates; redundant constraints have none.

    Parameters
    ----------
    constraints : in the order of their conditions
    points : places of conditions between control points, whose displacements are means of those of
        control points; they are eliminated before the constraints
    fixed : (components,) whose values are prescribed, those of points left out
    prescribed : values of the fixed ones at a time
    describe_owner : words for the condition that prescribes a component
    times : kinks of the programs, at which values are compared: programs are linear in between

    Raises
    ------
    ModelError : for constraints that contradict each other or prescribed values.

    Verified by: tests/unit/solids/equilibria/test_constraints.py::test_against_a_dense_solution
    """
    reduced: dict[int, _Eliminated] = {}
    substitutions = []
    constraints = [*(point.constraint for point in points), *constraints]
    for j, one in enumerate(constraints):
        remaining = {
            int(i): float(c)
            for i, c in zip(one.components, one.factors, strict=True)
            if not fixed[i]
        }
        combination = {j: 1.0}
        # subtract earlier constraints until no pivot of theirs remains; one that is subtracted may
        # contain pivots of others
        while pivots := [i for i in remaining if i in reduced]:
            i = pivots[0]
            earlier, factor = reduced[i], remaining[i] / reduced[i].free[i]
            for k, c in earlier.free.items():
                remaining[k] = remaining.get(k, 0.0) - factor * c
                if abs(remaining[k]) <= _ROUNDOFF:
                    del remaining[k]
            remaining.pop(i, None)
            for k, c in earlier.constraints.items():
                combination[k] = combination.get(k, 0.0) - factor * c
        pivot = max(remaining, key=lambda i: abs(remaining[i]), default=None)
        if j < len(points):
            # a place has the component that `Unknowns` chose, if elimination has not removed it
            own = points[j].component
            pivot = own if abs(remaining.get(own, 0.0)) > _ROUNDOFF else pivot
        if pivot is None or abs(remaining[pivot]) <= _ROUNDOFF:
            _compare(constraints, combination, fixed, prescribed, describe_owner, times)
            continue
        reduced[pivot] = _Eliminated(remaining, combination)
        if j >= len(points):
            substitutions.append(Substitution(pivot, one))
    return substitutions


def _compare(
    constraints: Sequence[Constraint],
    combination: dict[int, float],
    fixed: npt.NDArray[np.bool_],
    prescribed: Callable[[float], Floats],
    describe_owner: Callable[[int], str],
    times: Floats,
) -> None:
    """Refuse a combination of constraints without free components if its two sides differ.

    combination : {index: factor} of the constraints; other arguments are those of `eliminate`
    """
    last = constraints[max(combination)]
    undetermined = [
        constraints[j].description for j in combination if constraints[j].value is unprescribed
    ]
    if undetermined:
        why = f"this condition depends on a displacement between control points: {undetermined[0]}."
        try_ = "name the boundary instead of the point, or a node that is not on this boundary."
        needs = "constraints that do not determine a free point between control points"
        raise ModelError("Solid.boundary_conditions", last.description, needs, why, try_)
    # sum over the constraints: of fixed displacements (actual) and of prescribed values (needed)
    for t in times:
        values = prescribed(float(t))
        actual = needed = size = 0.0
        for j, factor in combination.items():
            one = constraints[j]
            fixed_here = fixed[one.components]
            actual += factor * float(one.factors[fixed_here] @ values[one.components[fixed_here]])
            needed += factor * one.value(float(t))
            size = max(size, abs(one.value(float(t))), float(np.abs(values).max()))
        if abs(actual - needed) > _SAME * size:
            others = [
                constraints[j].description
                for j in sorted(combination)
                if constraints[j] is not last
            ]
            owners = [
                describe_owner(int(i))
                for j in combination
                for i in constraints[j].components
                if fixed[i] and describe_owner(int(i))
            ]
            with_ = "; ".join(dict.fromkeys([*others, *owners])) or "no displacement is free"
            # the last constraint has the factor 1 in the combination
            needs = (
                f"a sum of {last.scale * actual:.6g} at time {t:.6g}, as other conditions prescribe"
            )
            why = f"the displacements of this condition are already prescribed: {with_}."
            raise ModelError(
                "Solid.boundary_conditions",
                f"{last.description}, a sum of {last.scale * needed:.6g}",
                needs,
                why,
                "leave one of these conditions out, or name smaller boundaries: Mesh.split.",
            )
