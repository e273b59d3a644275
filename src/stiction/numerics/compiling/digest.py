"""What went into a kernel, as one digest: its code, all kernels it can reach, their constants."""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import hashlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["digest_of", "plain_function", "reached_by", "size_of"]


def digest_of(function: Callable[..., object]) -> str:
    """Return a digest of a plain function, of all kernels it can reach and of their constants.

    Names of variables, comments, docstrings and line numbers do not count.

    Verified by: tests/unit/numerics/test_kernel_cache.py::test_an_edited_callee_changes_its_callers
    """
    first, *others = (_body(plain)[0] for plain in reached_by(function))
    # the order in which kernels were met says nothing
    return hashlib.sha256(first + b"".join(sorted(others))).hexdigest()


def size_of(function: Callable[..., object]) -> int:
    """Return how many instructions a kernel has with all that it can reach."""
    return sum(len(plain.__code__.co_code) // 2 for plain in reached_by(function))


def reached_by(function: Callable[..., object]) -> list[types.FunctionType]:
    """Return the plain functions of a kernel and of all kernels it can reach, itself first."""
    found: dict[types.FunctionType, None] = {}
    waiting = [plain_function(function)]
    while waiting:
        plain = waiting.pop()
        if plain not in found:
            found[plain] = None
            waiting += _body(plain)[1]
    return list(found)


@functools.cache
def _body(plain: types.FunctionType) -> tuple[bytes, tuple[types.FunctionType, ...]]:
    """Return a digest of one function and what it uses, and the kernels that it calls."""
    callees: list[types.FunctionType] = []
    parts = [plain.__module__.encode(), plain.__qualname__.encode(), *_code_parts(plain.__code__)]
    for name, value in _outer_values(plain):
        inner = _inner_function(value)
        if inner is not None:
            callees.append(inner)
            value = f"calls {inner.__module__}.{inner.__qualname__}"
        parts += [name.encode(), _bytes_of(value)]
    return hashlib.sha256(b"\0".join(parts)).digest(), tuple(callees)


def plain_function(function: Any) -> types.FunctionType:
    """Return the Python function behind a kernel."""
    found = getattr(function, "py_func", function)
    assert isinstance(found, types.FunctionType)
    return found


def _inner_function(value: object) -> types.FunctionType | None:
    """Return the Python function behind a kernel or an intrinsic of ours; None for others."""
    for attribute in ("py_func", "_defn", "_pyfunc"):
        inner = getattr(value, attribute, None)
        if isinstance(inner, types.FunctionType):
            return inner
    ours = isinstance(value, types.FunctionType) and value.__module__.partition(".")[0] not in (
        "numba",
        "numpy",
        "math",
    )
    return value if ours else None  # type: ignore[return-value]


def _code_parts(code: types.CodeType) -> Iterator[bytes]:
    """Yield what a body does: its instructions, names and constants."""
    for step in dis.get_instructions(code):
        if isinstance(step.argval, types.CodeType):
            yield from _code_parts(step.argval)
        elif step.opname not in ("RESUME", "PRECALL", "CACHE", "NOP"):
            told = _bytes_of(step.argval) if step.opname.endswith("CONST") else str(step.argval)
            yield step.opname.encode()
            yield told if isinstance(told, bytes) else told.encode()


def _outer_values(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals and closed-over values that a function uses, modules followed."""
    for cell_name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        with contextlib.suppress(ValueError):  # a cell that is empty still
            yield cell_name, cell.cell_contents
    for code in _codes(function.__code__):
        path, value = "", None
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":
                path, value = str(step.argval), function.__globals__.get(step.argval)
            elif isinstance(value, types.ModuleType) and step.opname in (
                "LOAD_ATTR",
                "LOAD_METHOD",
            ):
                path = f"{path}.{step.argval}"
                value = getattr(value, str(step.argval), None)
            else:
                continue
            if not isinstance(value, types.ModuleType):
                yield path, value


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _bytes_of(value: object) -> bytes:
    """Return bytes that are the same for the same constant, in every process."""
    if isinstance(value, np.ndarray):
        return str((value.dtype.str, value.shape)).encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, tuple):
        return b"(" + b",".join(_bytes_of(entry) for entry in value) + b")"
    if isinstance(value, frozenset):
        return b"{" + b",".join(sorted(_bytes_of(entry) for entry in value)) + b"}"
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return str([(member.name, member.value) for member in value]).encode()
    if isinstance(value, type):
        fields = getattr(value, "_fields", ())
        return f"{value.__module__}.{value.__qualname__}{fields}".encode()
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return f"{type(value).__name__} {value!r}".encode()
    # functions of libraries, ufuncs, types of Numba: their versions are part of the key
    return str(getattr(value, "__qualname__", type(value).__qualname__)).encode()
