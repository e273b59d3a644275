"""A user's functions with the arithmetic of compiled code, for runs in plain Python.

Where Python raises an exception (``1.0 / 0.0``, ``math.log(0.0)``, ``math.exp(1e3)``), compiled
code continues with inf or NaN, as C does. `as_compiled` copies a user's function such that Python
does the same: its float constants become NumPy numbers, and functions of `math` return inf or NaN
instead of raising. `callback` calls it for runs in mode "plain", so that both modes of kernels give
the same numbers. A function whose own code raises or handles exceptions is not copied.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import types
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from stiction.numerics.compiling.digest import codes

__all__ = ["as_compiled"]

Call = Callable[..., Any]


def _keeps(function: Call) -> bool:
    """Return whether a function is not to be copied: its code raises or handles exceptions."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return code is None or _raises(code)


@functools.lru_cache(maxsize=256)
def _raises(code: types.CodeType) -> bool:
    """Return whether byte code has instructions that raise or handle exceptions."""
    raising = ("RAISE_VARARGS", "CHECK_EXC_MATCH")
    return any(op.opname in raising for op in dis.get_instructions(code))


def as_compiled(function: Call) -> Call:
    """Return a copy of `function` with the arithmetic of compiled code.

    Verified by: tests/unit/numerics/test_c_arithmetic.py::test_plain_gives_what_compiled_code_gives
    """
    if _keeps(function):
        return function
    usual = _copied(function, False, {})
    with_integers: list[Call] = []

    @functools.wraps(function)
    def going_on(*arguments: Any) -> Any:
        try:
            return usual(*arguments)
        except ZeroDivisionError:
            # only after a first division by zero integers become NumPy numbers, which are slower
            if not with_integers:
                with_integers.append(_copied(function, True, {}))
            with np.errstate(all="ignore"):
                return with_integers[0](*arguments)

    return going_on


def _copied(function: Any, whole: bool, made: dict[int, Call]) -> Call:
    """Return a copy with NumPy floats, and NumPy integers if `whole`.

    made : copies by the id of their originals, for functions that call each other
    """
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, types.FunctionType) or _keeps(plain):
        return cast(Call, plain)
    if id(plain) in made:
        return made[id(plain)]
    scope: dict[str, Any] = {"__builtins__": builtins}
    cells = tuple(types.CellType() for _ in plain.__closure__ or ())
    code = _with_numbers(plain.__code__, whole)
    copy = types.FunctionType(code, scope, plain.__name__, None, cells or None)
    # registered before its references are copied, because it may be recursive
    made[id(plain)] = copy
    if whole:
        scope["int"] = np.int64
    for name in {name for one in codes(plain.__code__) for name in one.co_names}:
        if name in plain.__globals__:
            scope[name] = _replaced(plain.__globals__[name], whole, made)
    for cell, old in zip(cells, plain.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _replaced(old.cell_contents, whole, made)
        except ValueError:  # an empty cell
            continue
    copy.__defaults__ = _replaced(plain.__defaults__, whole, made)
    given = plain.__kwdefaults__ or {}
    copy.__kwdefaults__ = {name: _replaced(given[name], whole, made) for name in given}
    copy.__module__, copy.__qualname__ = plain.__module__, plain.__qualname__
    return copy


def _with_numbers(code: types.CodeType, whole: bool) -> types.CodeType:
    """Return the byte code with NumPy numbers as constants, in nested functions too."""
    constants = tuple(
        _with_numbers(value, whole) if isinstance(value, types.CodeType) else _number(value, whole)
        for value in code.co_consts
    )
    return code.replace(co_consts=constants)


def _number(value: Any, whole: bool) -> Any:
    """Return a float, and if `whole` an integer, as a NumPy number; other values unchanged."""
    if type(value) is float:
        return np.float64(value)
    if whole and type(value) is int and abs(value) < 2**63:
        return np.int64(value)
    return value


def _replaced(value: Any, whole: bool, made: dict[int, Call]) -> Any:
    """Return the replacement for a referenced object: `math`, its functions, users' functions."""
    if value is math:
        return _MATH
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math":
        return getattr(_MATH, value.__name__)
    if type(value) is tuple:
        return tuple(_replaced(entry, whole, made) for entry in value)
    plain = getattr(value, "py_func", value)
    library = (getattr(plain, "__module__", "") or "").partition(".")[0] in ("numpy", "numba")
    if isinstance(plain, types.FunctionType) and not library:
        return _copied(plain, whole, made)
    return _number(value, whole)


# ---- functions of `math` without exceptions


def _gamma(x: float) -> float:
    """Return the gamma function; infinite where it overflows or at zero, NaN at other poles."""
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        # +-inf at zero, NaN at the negative poles
        return math.copysign(math.inf, x) if x == 0.0 else math.nan


def _lgamma(x: float) -> float:
    """Return the logarithm of the absolute gamma function; infinite at its poles."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def _going_on(exact: Call, beyond: Call) -> Call:
    """Return a function that calls `exact`, and NumPy's function `beyond` if that raises."""

    def call(*arguments: Any) -> Any:
        try:
            found = exact(*arguments)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return np.float64(beyond(*arguments))
        # NumPy floats, so that division by the result does not raise
        return np.float64(found) if type(found) is float else found

    return call


def _log(x: float, *base: float) -> Any:
    """Return the logarithm, of a base if one is given; -inf of zero, NaN of negative numbers."""
    if not base:
        return np.log(np.float64(x))
    return np.divide(_MATH.log(x), _MATH.log(base[0]))


def _made() -> Any:
    """Return a replacement of the module `math`, with C arithmetic."""
    found = types.SimpleNamespace(**vars(math))
    same: tuple[str, ...] = (
        "sqrt",
        "exp",
        "exp2",
        "expm1",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
    )
    same += ("sinh", "cosh", "cbrt", "fmod", "hypot", "ldexp")
    other = {"asin": "arcsin", "acos": "arccos", "acosh": "arccosh", "atanh": "arctanh"}
    other |= {"pow": "float_power", **{name: name for name in same}}
    for name in vars(math):
        exact = getattr(math, name)
        if not callable(exact) or isinstance(exact, type):
            continue
        beyond = getattr(np, other[name]) if name in other else _log if name == "log" else None
        if beyond is not None:
            setattr(found, name, _going_on(exact, beyond))
    found.gamma, found.lgamma = _gamma, _lgamma
    return found


_MATH = _made()
