"""Digests of kernels, from everything that determines their machine code.

A digest covers the byte code of a kernel, of all kernels that it can call, their constants, and the
types of arguments. `cache` names its entries by digests, so that an edited kernel is compiled again
together with its callers.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import importlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# libraries whose versions are part of a cache key
LIBRARIES = ("llvmlite", "math", "numba", "numpy", "scipy")

__all__ = [
    "LIBRARIES",
    "bytes_of",
    "code_parts",
    "codes",
    "digest_of",
    "followed",
    "plain_function",
    "reached_by",
    "size_of",
    "text_of_type",
]


def digest_of(function: Callable[..., object]) -> str:
    """Return a digest of a function, of all kernels that it can call, and of their constants.

    Names of local variables, comments, docstrings and line numbers do not enter. Names of
    arguments, which calls may use, and options of compilation do.

    Verified by: tests/unit/numerics/compiling/test_digest.py::test_what_counts
    """
    reached = reached_by(function)
    place = {plain: k for k, plain in enumerate(reached)}
    digest = hashlib.sha256()
    for plain in reached:
        body, callees = _body(plain)
        # record which function each name refers to: functions of the same name may differ
        digest.update(body + repr([place[callee] for callee in callees]).encode())
    return digest.hexdigest()


def text_of_type(kind: Any) -> str:
    """Return a type of Numba, or several, as text that determines the machine code.

    Numba's own text of a named tuple has neither its fields nor its module, and that of a function
    has its memory address.

    Verified by: tests/unit/numerics/compiling/test_digest.py::test_types_are_distinguished
    """
    if isinstance(kind, tuple | list):
        return f"[{', '.join(map(text_of_type, kind))}]"
    signature = getattr(kind, "args", None), getattr(kind, "return_type", None)
    if None not in signature:
        return f"{text_of_type(signature[0])} -> {text_of_type(signature[1])}"
    made, inside = getattr(kind, "instance_class", None), getattr(kind, "types", None)
    dispatcher = getattr(kind, "dispatcher", None)
    if isinstance(inside, tuple) and isinstance(made, type):
        return f"{bytes_of(made).decode()}{text_of_type(inside)}"
    if dispatcher is not None and hasattr(dispatcher, "py_func"):
        return f"function {digest_of(dispatcher)}"
    if isinstance(inside, tuple):
        return f"tuple {text_of_type(inside)}"
    return str(kind)


def size_of(function: Callable[..., object]) -> int:
    """Return the number of Python instructions of a kernel and of all kernels that it can call."""
    return sum(len(plain.__code__.co_code) // 2 for plain in reached_by(function))


def reached_by(function: Callable[..., object]) -> list[types.FunctionType]:
    """Return the Python functions of a kernel, first, and of all kernels that it can call."""
    found: dict[types.FunctionType, None] = {}
    waiting = [plain_function(function)]
    while waiting:
        plain = waiting.pop()
        if plain not in found:
            found[plain] = None
            waiting += _body(plain)[1]
    return list(found)


def _body(plain: types.FunctionType) -> tuple[bytes, tuple[types.FunctionType, ...]]:
    """Return a digest of one function and of its references, and the kernels that it calls.

    Only digests of functions of this package are cached: the references of a user's function may
    change between runs.
    """
    ours = str(plain.__module__).startswith("stiction.")
    return _cached_body(plain) if ours else _body_now(plain)


@functools.cache
def _cached_body(plain: types.FunctionType) -> tuple[bytes, tuple[types.FunctionType, ...]]:
    """Return `_body_now`, computed once."""
    return _body_now(plain)


def _body_now(plain: types.FunctionType) -> tuple[bytes, tuple[types.FunctionType, ...]]:
    """Return `_body` of a function with its present references."""
    callees: list[types.FunctionType] = []
    # functions made by `exec` may have no module
    parts = [str(plain.__module__).encode(), plain.__qualname__.encode(), *code_parts(plain)]
    for name, value in _outer_values(plain):
        inner = _inner_function(value)
        if inner is not None:
            callees.append(inner)
            options = getattr(value, "options", None) or ""
            value = f"calls {inner.__module__}.{inner.__qualname__}{options}"
        parts += [name.encode(), bytes_of(value)]
    return hashlib.sha256(b"\0".join(parts)).digest(), tuple(callees)


def plain_function(function: Any) -> types.FunctionType:
    """Return the Python function behind a kernel."""
    found = getattr(function, "py_func", function)
    assert isinstance(found, types.FunctionType)
    return found


def _inner_function(value: object) -> types.FunctionType | None:
    """Return the Python function of a kernel, or of an intrinsic of this package; else None."""
    native = getattr(value, "native_name", None)
    if isinstance(native, str):
        # the intrinsic is compiled, not its plain body
        module, _, name = native.partition(":")
        value = getattr(importlib.import_module(module), name)
    for attribute in ("py_func", "_defn", "_pyfunc"):
        inner = getattr(value, attribute, None)
        if isinstance(inner, types.FunctionType):
            value = inner
            break
    if not isinstance(value, types.FunctionType):
        return None
    return None if str(value.__module__).partition(".")[0] in LIBRARIES else value


def code_parts(function: types.FunctionType) -> Iterator[bytes]:
    """Yield the instructions, names and constants of a body."""
    yield bytes_of(function.__defaults__ or ())
    yield bytes_of(sorted((function.__kwdefaults__ or {}).items()))
    for code in codes(function.__code__):
        yield code.co_code
        yield code.co_exceptiontable
        yield " ".join(code.co_names).encode()
        count = code.co_argcount + code.co_kwonlyargcount
        kinds = (code.co_posonlyargcount, code.co_argcount, code.co_flags)
        yield repr((code.co_varnames[:count], *kinds)).encode()
        # skip the docstring, the first constant
        first = code.co_consts[0] if code.co_consts else None
        skipped = code is function.__code__ and isinstance(first, str) and first == function.__doc__
        for value in code.co_consts[skipped:]:
            if not isinstance(value, types.CodeType):
                yield bytes_of(value)


def _outer_values(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals and closure values of a function, and the attributes of modules it names.

    A name may match attributes of several modules; all of them are yielded. One too many costs an
    unnecessary compilation, but a missing one would leave a stale entry in the cache.
    """
    for cell_name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell_name, cell.cell_contents
    for code in codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield from followed(name, function.__globals__[name], code.co_names)


def followed(
    name: str, value: object, names: tuple[str, ...], depth: int = 3
) -> Iterator[tuple[str, object]]:
    """Yield a value with its name; for a module instead its attributes among `names`."""
    if not isinstance(value, types.ModuleType):
        yield name, value
    elif depth > 0 and value.__name__.partition(".")[0] not in LIBRARIES:
        for inner in names:
            if inner in vars(value):
                yield from followed(f"{name}.{inner}", vars(value)[inner], names, depth - 1)
    else:
        yield from ((f"{name}.{inner}", inner) for inner in names if inner in vars(value))


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of all functions that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def bytes_of(value: object) -> bytes:
    """Return bytes that depend on the value of a constant only, in every process."""
    if isinstance(value, np.ndarray):
        fields = value.dtype.descr if value.dtype.names else value.dtype.str
        return str((fields, value.shape)).encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        # Numba freezes scalars of NumPy as it freezes numbers
        return f"{value.dtype.str} ".encode() + value.tobytes()
    if isinstance(value, np.dtype):
        # the layout of structured data that a kernel reads
        return f"dtype {value.descr} {value.itemsize}".encode()
    if isinstance(value, slice):
        return b"slice" + bytes_of((value.start, value.stop, value.step))
    if isinstance(value, enum.Enum):
        return bytes_of(type(value)) + value.name.encode()
    if isinstance(value, tuple) and type(value) is not tuple:
        return bytes_of(type(value)) + bytes_of(tuple(value))
    if isinstance(value, tuple | list):
        return b"(" + b",".join(bytes_of(entry) for entry in value) + b")"
    if isinstance(value, frozenset):
        return b"{" + b",".join(sorted(bytes_of(entry) for entry in value)) + b"}"
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return str([(member.name, member.value) for member in value]).encode()
    if isinstance(value, type):
        layout = getattr(value, "fields_type", None)
        fields = getattr(value, "_fields", ()) if layout is None else bytes_of(layout).decode()
        return f"{value.__module__}.{value.__qualname__}{fields}".encode()
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return f"{type(value).__name__} {value!r}".encode()
    # functions of libraries, ufuncs, types of Numba: versions of libraries are in the key
    return str(getattr(value, "__qualname__", type(value).__qualname__)).encode()
