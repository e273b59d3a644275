"""Lists of kernels with the types of their arguments, as text, for ahead-of-time compilation.

A line is "module:name types" with types separated by blanks. A kernel that a function returns for
integers is "module:function(1,2)". Scalars are those of `_SCALARS`, such as ``i8``, ``f8``, ``b1``.
An array has the type of its entries, a colon, its dimension and its layout: ``f8:2C``, and ``!`` if
it is read-only. A structured array has its fields in place of the type: ``time=f8,place=f8x3:1C``
with a vector of three. A pointer is ``*`` and its type, a named tuple "module:Class(types)",
another tuple "(types)". A line with ``->`` is a C function; the type of its result follows the
arrow. `ahead_of_time` compiles such lines.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.np.numpy_support import from_dtype

from stiction.numerics import jit
from stiction.numerics.compiling.digest import size_of
from stiction.numerics.compiling.linking import C_FUNCTIONS, c_function, outer

__all__ = ["compile_line", "lines", "size_of_line", "type_of_text", "type_text"]

types: Any = numba_types

_SCALARS = {
    "i8": types.int64,
    "i4": types.int32,
    "i2": types.int16,
    "i1": types.int8,
    "u8": types.uint64,
    "u1": types.uint8,
    "f8": types.float64,
    "b1": types.boolean,
    "void": types.void,
    "none": types.none,
}
_NAMES = {kind: name for name, kind in _SCALARS.items()}
# tokens of a line: a named tuple up to its parenthesis, a type, a pointer, a parenthesis, a blank
_TOKEN = re.compile(r"[\w.]+:\w+\(|[\w.=,]+(?::\d\w?!?)?|\*|[() ]")


def lines() -> list[str]:
    """Return a line for each kernel that was called from Python, and each C function, so far.

    Kernels without a name and arguments without a text are left out: they are compiled when called.
    """
    made = set()
    for one in jit.KERNELS:
        name = _name_of(one) if "compiled" in vars(one) else None
        if name is None:
            continue
        for given in one.compiled.signatures:
            # a random generator has no text
            with contextlib.suppress(ValueError):
                made.add(f"{name} {' '.join(map(type_text, given))}")
    for function, (arguments, result) in C_FUNCTIONS:
        if "<" not in function.__qualname__:
            given = " ".join(map(type_text, arguments))
            made.add(f"{_name(function)} {given} -> {type_text(result)}")
    return sorted(made)


def compile_line(line: str) -> None:
    """Compile the kernel of a line, or load it from the cache."""
    name, _, given = line.partition(" ")
    function = _resolve(name)
    if " -> " in given:
        given, _, result = given.partition(" -> ")
        c_function(function, (tuple(_types(given)), type_of_text(result)))
    else:
        outer(function).compile(tuple(_types(given)))


def size_of_line(line: str) -> int:
    """Return the number of Python instructions of the kernel of a line and its callees."""
    return size_of(_resolve(line.partition(" ")[0]))


def _name(function: Any) -> str:
    """Return "module:name" of a function or class."""
    return f"{function.__module__}:{function.__qualname__}"


def _name_of(kernel: Any) -> str | None:
    """Return the name of a kernel, or "module:factory(1,2)" for one that a function returns.

    The parameters of that function must be integers that the kernel uses; else the result is None.
    """
    plain = kernel.py_func
    factory, inside, _ = plain.__qualname__.partition(".<locals>.")
    if not inside:
        return _name(plain)
    made_by = vars(importlib.import_module(plain.__module__)).get(factory)
    # a function without parameters does not return one kernel for each argument
    if made_by is None or not inspect.signature(made_by).parameters:
        return None
    cells = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
    values = {name: cell.cell_contents for name, cell in cells}
    given = [values.get(name) for name in inspect.signature(made_by).parameters]
    if not all(type(value) is int for value in given) or made_by(*given) is not kernel:
        return None
    return f"{plain.__module__}:{factory}({','.join(map(str, given))})"


def _resolve(name: str) -> Any:
    """Return the object behind "module:name" or "module:factory(1,2)"."""
    module, _, attribute = name.partition(":")
    factory, _, given = attribute.rstrip(")").partition("(")
    value = getattr(importlib.import_module(module), factory)
    return value(*map(int, given.split(","))) if given else value


# ---- types as text


def type_text(kind: Any) -> str:
    """Return a type as text.

    Raises
    ------
    ValueError : for a type that has no text
    """
    if kind in _NAMES:
        return _NAMES[kind]
    if isinstance(kind, types.NestedArray):
        return "x".join([type_text(kind.dtype), *map(str, kind.shape)])
    if isinstance(kind, types.Array):
        write = "" if kind.mutable else "!"
        return f"{type_text(kind.dtype)}:{kind.ndim}{kind.layout}{write}"
    if isinstance(kind, types.Record):
        text = ",".join(f"{name}={type_text(kind.typeof(name))}" for name in kind.fields)
        if _entries(text) == kind:
            return text
    if isinstance(kind, types.BaseNamedTuple):
        inside = " ".join(map(type_text, kind.types))
        return f"{_name(kind.instance_class)}({inside})"
    if isinstance(kind, types.BaseTuple):
        return f"({' '.join(map(type_text, kind.types))})"
    if isinstance(kind, types.CPointer):
        return f"*{type_text(kind.dtype)}"
    raise ValueError(
        f"the type {kind} of a kernel's argument has no notation in kernels.txt, so the kernel "
        "cannot be compiled ahead of time; add one to type_text and type_of_text"
    )


def type_of_text(text: str) -> Any:
    """Return the type behind `type_text`."""
    (kind,) = _types(text)
    return kind


def _types(text: str) -> list[Any]:
    """Return the types behind several texts, separated by blanks."""
    tokens = iter(_TOKEN.findall(text))
    return list(_read(tokens))


def _read(tokens: Iterator[str]) -> Iterator[Any]:
    """Yield types up to the end or a closing parenthesis."""
    for token in tokens:
        if token == ")":
            return
        if token == "*":
            yield types.CPointer(next(_read(tokens)))
        elif token == "(":
            yield types.Tuple(tuple(_read(tokens)))
        elif token.endswith("("):
            inside = tuple(_read(tokens))
            yield _named(inside, _resolve(token[:-1]))
        elif ":" in token:
            entries, _, shape = token.partition(":")
            write = not shape.endswith("!")
            layout = shape.rstrip("!")[1:]
            yield types.Array(_entries(entries), int(shape[0]), layout, readonly=not write)
        elif token != " ":
            yield _entries(token)


def _entries(text: str) -> Any:
    """Return a scalar type, or that of entries with fields."""
    if "=" not in text:
        return _SCALARS[text]
    fields = []
    for field in text.split(","):
        name, kind = field.split("=")
        entries, *shape = kind.split("x")
        fields.append((name, entries, tuple(map(int, shape))))
    return from_dtype(np.dtype(fields))


def _named(inside: tuple[Any, ...], made: type) -> Any:
    """Return the type of a named tuple of class `made` with entries of the types `inside`."""
    uniform = len(set(inside)) == 1
    return (
        types.NamedUniTuple(inside[0], len(inside), made)
        if uniform
        else types.NamedTuple(inside, made)
    )
