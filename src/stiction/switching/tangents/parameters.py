"""Parameters of a flow by name: their values, and the derivatives of the numbers of its kernels.

`p.mu` and `p[0]` are parameters of a `PiecewiseSmooth`. Every other system has the names of its
fields, such as `belt_speed` or `mass[1]`. The compiled functions f(x; N) and h(x; N) of a system
read an array of numbers N(p), which depend on the parameters p. The variational equation needs
df/dp, a difference of f(x; N + l N') over l. `stencil_of` computes N' by central differences

    N'(p) = sum_k w_k (N(p + k l) - N(p - k l)) / l,    k = 1 .. 4,

and stores them in a `Stencil`, by which `tangents.kernels` change the numbers.

Source: Fornberg 1988, Math. Comp. 51, 699, for the weights w.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.numerics.checks import number
from stiction.switching.flow.geometry import gradients
from stiction.switching.tangents.kernels import Stencil
from stiction.switching.user_functions import values_of

__all__ = ["parameter_names", "parameter_of", "stencil_of", "system_with"]

Floats = npt.NDArray[np.float64]

_INDEXED = re.compile(r"(\w+)\[(\d+)\]")
# first step of differences over the parameter, or over 1 if it is zero; number of shorter steps
_STEP, _LEVELS = 0.015625, 6
# weights of central differences of orders 8 and 6, and the relative difference of both that is
# small enough; a relative error of rounding above that calls for a longer step
_WEIGHTS = ((4 / 5, 3 / 4), (-1 / 5, -3 / 20), (4 / 105, 1 / 60), (-1 / 280, 0.0))
_RESOLVED, _ROUNDED = 1e-10, 1e-6
_START = ("x0", "mode")


def _of_functions(system: Any) -> bool:
    """Return whether the user's functions read the parameters, as in `PiecewiseSmooth`."""
    return hasattr(system, "parameters")


def parameter_names(system: Any) -> tuple[str, ...]:
    """Return the names of all parameters."""
    if _of_functions(system):
        given = system.parameters
        if isinstance(given, Mapping):
            return tuple(f"p.{name}" for name in given)
        return tuple(f"p[{i}]" for i in range(0 if given is None else len(given)))
    names: list[str] = []
    for field in dataclasses.fields(system):
        value = getattr(system, field.name)
        if field.name in _START or isinstance(value, (bool, str)):
            continue
        if isinstance(value, float):
            names.append(field.name)
        elif isinstance(value, (np.ndarray, tuple, list)) and np.size(value):
            names += [f"{field.name}[{i}]" for i in range(np.size(value))]
    return tuple(names)


def _checked(system: Any, name: str) -> tuple[str, int | None]:
    """Return the field, or the parameter of a `PiecewiseSmooth`, and the index in it."""
    known = parameter_names(system)
    if name not in known:
        owner = type(system).__name__
        raise ModelError(
            f"{owner}.parameter",
            repr(name),
            "the name of a parameter of the flow",
            "derivatives and continuation vary a parameter that the flow has.",
            nearest(name, known) if known else "give `parameters` when the model is created.",
        )
    indexed = _INDEXED.fullmatch(name)
    if indexed is not None:
        return indexed[1], int(indexed[2])
    return name.removeprefix("p."), None


def _component(system: Any, name: str) -> int | None:
    """Return the component of the start that `x0[i]` names; None for another name."""
    indexed = _INDEXED.fullmatch(name)
    if indexed is None or indexed[1] != "x0" or int(indexed[2]) >= len(system.start_names):
        return None
    return int(indexed[2])


def parameter_of(system: Any, name: str) -> float:
    """Return the value of a parameter, or of a component `x0[i]` of the start.

    Raises
    ------
    ModelError : if the flow has no such parameter.
    """
    place = _component(system, name)
    if place is not None:
        return float(system.x0[place])
    field, index = _checked(system, name)
    if _of_functions(system):
        given: Any = system.parameters
        return float(given[field if index is None else index])
    value = getattr(system, field)
    return float(value if index is None else np.ravel(value)[index])


def system_with(system: Any, name: str, value: float) -> Any:
    """Return the flow with another value of a parameter; ModelError if the flow refuses it."""
    why, try_ = "a parameter is a number.", "give a finite number."
    value = number(f"{type(system).__name__}.{name}", value, why=why, try_=try_)
    place = _component(system, name)
    if place is not None:
        return system.at_state(_with(system.x0, place, value))
    field, index = _checked(system, name)
    if _of_functions(system):
        if index is None:
            return system.with_parameters({field: value})
        row = np.array(system.parameters, dtype=np.float64)
        row[index] = value
        return system.with_parameters(row)
    return dataclasses.replace(system, **{field: _with(getattr(system, field), index, value)})


def _with(old: Any, index: int | None, value: float) -> Any:
    """Return `value`, or a copy of the array `old` with `value` at the index."""
    if index is None:
        return value
    row = np.array(old, dtype=np.float64)
    row.reshape(-1)[index] = value
    return row


def _numbers(system: Any, name: str, value: float) -> tuple[Floats, Floats | None]:
    """Return the numbers of the kernels, and the gradients of planes, for a value of a parameter.

    The value is not validated: differences may need values outside the valid range.
    """
    field, index = _checked(system, name)
    compiled = system.compiled
    if _of_functions(system):
        row = values_of(system.parameters)
        known = list(system.parameters) if isinstance(system.parameters, Mapping) else []
        row[known.index(field) if index is None else index] = value
        if compiled.plane is None:
            return row, None
        m, n = compiled.m, compiled.n
        plane, work = np.empty(m * n), np.empty((2, m + compiled.k + n))
        # differences of a plane are exact over any distance; a large one has the least rounding
        far, at = 64.0 * np.asarray(compiled.scale), system.start_state()
        place = row.ctypes.data
        gradients(compiled.surface, compiled.gradient, m, n, place, far, at, plane, work)
        return row, plane.reshape(m, n)
    other = copy.copy(system)
    for key in set(vars(other)) - {one.name for one in dataclasses.fields(other)}:
        # delete what was computed from the old value
        del other.__dict__[key]
    object.__setattr__(other, field, _with(getattr(system, field), index, value))
    made = other.compile()
    return np.asarray(made.params, dtype=np.float64), made.plane


def stencil_of(system: Any, names: Sequence[str], numbers: Floats) -> Stencil:
    """Return the numbers of the kernels and their derivatives by the q parameters `names`.

    Gradients of planes, (m, n) for m surfaces and n states, are constants of a system that kernels
    do not compute; they depend on the parameters like the numbers.

    Parameters
    ----------
    numbers : (size,) array at whose address the functions of the system read their numbers
    """
    compiled, q = system.compiled, len(names)
    wide = compiled.m * compiled.n
    plane = np.zeros(wide) if compiled.plane is None else np.ravel(compiled.plane)
    along, normals = np.zeros((q, numbers.size)), np.zeros((q, wide))
    lengths = np.ones(q)
    for j, name in enumerate(names):
        lengths[j] = _STEP * (abs(parameter_of(system, name)) or 1.0)
        along[j], normals[j] = _derivatives(system, name, lengths[j])
    changed = [np.flatnonzero(row) for row in along]
    first = np.array([row[0] if row.size else 0 for row in changed], dtype=np.int64)
    end = np.array([row[-1] + 1 if row.size else 0 for row in changed], dtype=np.int64)
    turns = np.array(normals.any(axis=1), dtype=np.int64)
    unchanged = numbers.copy(), np.array(plane)
    return Stencil(numbers, *unchanged, along, normals, first, end, turns, lengths)


def _derivatives(system: Any, name: str, length: float) -> tuple[Floats, Floats]:
    """Return the derivatives of the numbers and of the gradients of planes by a parameter.

    They are central differences of order 8, exact for numbers that are linear in the parameter. For
    others the points move closer until the orders 8 and 6 agree. For a small parameter that is
    added to larger numbers they first move apart.
    """
    value, wide = parameter_of(system, name), system.compiled.m * system.compiled.n
    level = 0
    while level < _LEVELS:
        high, low = np.zeros(()), np.zeros(())
        for k, (eighth, sixth) in enumerate(_WEIGHTS, 1):
            ends = [_numbers(system, name, value + side * k * length) for side in (1.0, -1.0)]
            rows = [np.append(x, np.zeros(wide) if p is None else np.ravel(p)) for x, p in ends]
            change = (rows[0] - rows[1]) / length
            high, low = high + eighth * change, low + sixth * change
        noise = np.abs(rows[0])
        noise[-wide:] = noise[-wide:].max()
        noise *= 1e-13 / length
        lost = noise > _ROUNDED * np.abs(high)
        if level == 0 and length < _STEP and (lost[high != 0.0].any() or not high.any()):
            length = min(64.0 * length, _STEP)
            continue
        if (np.abs(high - low) <= _RESOLVED * np.abs(high) + noise).all():
            break
        length, level = 0.0625 * length, level + 1
    # smaller differences are rounding
    found: Floats = np.where(np.abs(high) > noise, high, 0.0)
    return found[:-wide], found[-wide:]
