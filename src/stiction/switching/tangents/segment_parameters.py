"""Parameters of a flow by name: their values, and the numbers that kernels read beside them.

`p.mu` and `p[0]` are parameters of `PiecewiseSmooth`. Every other system names its fields, such
as `belt_speed`, `mass[1]`.
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
from stiction.switching.tangents.segment_kernels import LEVELS, STEPS, Stencil
from stiction.switching.user_functions import values_of

__all__ = ["parameter_names", "parameter_of", "stencil_of", "system_with"]

Floats = npt.NDArray[np.float64]

_INDEXED = re.compile(r"(\w+)\[(\d+)\]")
# a difference begins with steps of this fraction of a parameter, or of 1 where it is zero
_STEP = 0.015625
_START = ("x0", "mode")


def _of_functions(system: Any) -> bool:
    """Return whether functions read the parameters, as those of `PiecewiseSmooth` do."""
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
            "derivatives and continuation change it.",
            nearest(name, known) if known else "give `parameters` when the model is made.",
        )
    indexed = _INDEXED.fullmatch(name)
    if indexed is not None:
        return indexed[1], int(indexed[2])
    return name.removeprefix("p."), None


def parameter_of(system: Any, name: str) -> float:
    """Return the value of a parameter.

    Raises
    ------
    ModelError : if the flow has no such parameter.
    """
    field, index = _checked(system, name)
    if _of_functions(system):
        given: Any = system.parameters
        return float(given[field if index is None else index])
    value = getattr(system, field)
    return float(value if index is None else np.ravel(value)[index])


def system_with(system: Any, name: str, value: float) -> Any:
    """Return the flow with another value of a parameter; what it refuses is a ModelError."""
    field, index = _checked(system, name)
    why, try_ = "a parameter is a number.", "give a finite one."
    value = number(f"{type(system).__name__}.{name}", value, why=why, try_=try_)
    if _of_functions(system):
        if index is None:
            return system.with_parameters({field: value})
        row = np.array(system.parameters, dtype=np.float64)
        row[index] = value
        return system.with_parameters(row)
    return dataclasses.replace(system, **{field: _with(getattr(system, field), index, value)})


def _with(old: Any, index: int | None, value: float) -> Any:
    if index is None:
        return value
    row = np.array(old, dtype=np.float64)
    row.reshape(-1)[index] = value
    return row


def _numbers(system: Any, name: str, value: float) -> tuple[Floats, Floats | None]:
    """Return what kernels read beside a value that needs not be valid, and gradients of planes."""
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
        # differences of a plane are exact over any distance; far points round least
        far, at = 64.0 * np.asarray(compiled.scale), system.start_state()
        place = row.ctypes.data
        gradients(compiled.surface, compiled.gradient, m, n, place, far, at, plane, work)
        return row, plane.reshape(m, n)
    other = copy.copy(system)
    for key in set(vars(other)) - {one.name for one in dataclasses.fields(other)}:
        # what was computed from the old value
        del other.__dict__[key]
    object.__setattr__(other, field, _with(getattr(system, field), index, value))
    made = other.compile()
    return np.asarray(made.params, dtype=np.float64), made.plane


def stencil_of(system: Any, names: Sequence[str], numbers: Floats) -> Stencil:
    """Return the parameters at the points of the differences.

    Parameters
    ----------
    numbers : (size,) array whose address the kernels hand to the functions
    """
    compiled = system.compiled
    wide = compiled.m * compiled.n
    plane = np.zeros((compiled.m, compiled.n)) if compiled.plane is None else compiled.plane
    q, points = len(names), 8 * LEVELS
    lengths = np.ones((q, LEVELS))
    values = np.tile(numbers, (points, q, 1))
    normals = np.tile(np.ravel(plane), (points, q, 1))
    for j, name in enumerate(names):
        value = parameter_of(system, name)
        lengths[j] = _STEP * (abs(value) or 1.0) * 0.0625 ** np.arange(LEVELS)
        for row in range(points):
            step = STEPS[row % 8] * lengths[j, row // 8]
            values[row, j], normal = _numbers(system, name, value + step)
            if normal is not None:
                normals[row, j] = np.ravel(normal)
    home = numbers.copy()[None, :]
    return Stencil(numbers, values, normals, lengths, home, np.array(plane).reshape(1, wide))
