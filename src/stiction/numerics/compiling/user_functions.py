"""Compilation of a user's functions together with the plain Python functions that they call.

Numba compiles a function only if all functions that it calls are compiled too. `compiled_user`
copies a function with its globals and closure, and recursively replaces the plain functions in them
by compiled ones; modules with such functions are copied, and lists become tuples. As always in
Numba, globals are frozen at compilation. `culprit` returns the reason if a function cannot be
compiled. `callback` calls this module.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import itertools
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stiction.numerics.compiling.digest import (
    LIBRARIES,
    bytes_of,
    code_parts,
    codes,
    followed,
)

__all__ = ["compiled_user", "culprit", "fingerprint", "may_raise", "returning_tuples"]

# values that Numba freezes
_CONSTANTS = (bool, int, float, complex, str, bytes, types.NoneType)


@functools.cache
def _loaded(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of the globals that a code object loads, without names of attributes."""
    steps = dis.get_instructions(code)
    return tuple(sorted({s.argval for s in steps if s.opname in ("LOAD_GLOBAL", "LOAD_NAME")}))


def outer_values(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals and closure values of a function, and attributes of modules it names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # an empty cell
            yield name, cell.cell_contents
    for code in codes(function.__code__):
        for name in _loaded(code):
            if name in function.__globals__:
                yield from followed(name, function.__globals__[name], code.co_names)


def may_raise(function: Callable[..., object]) -> bool:
    """Return whether a function must run in Python, because it raises or handles exceptions.

    Compiled code would lose its exceptions.
    """
    return _raising(function) is not None


def _raising(function: Callable[..., object]) -> Any:
    """Return the first function, among it and its callees, that raises or has no Python code.

    None if there is no such function.
    """
    for plain in _reached(function):
        if not isinstance(plain, types.FunctionType):
            return plain
        ops = (op for code in codes(plain.__code__) for op in dis.get_instructions(code))
        # RAISE_VARARGS raises an exception, CHECK_EXC_MATCH handles one
        if any(op.opname in ("RAISE_VARARGS", "CHECK_EXC_MATCH") for op in ops):
            return plain
    return None


def _reached(
    function: Callable[..., object], ends: Callable[[object], object] = lambda value: False
) -> Iterator[Any]:
    """Yield a function and all plain Python functions that it can call, each once.

    Parameters
    ----------
    ends : whether a called function is left out together with those that it calls
    """
    waiting, seen = [getattr(function, "py_func", function)], set()
    while waiting:
        plain = waiting.pop()
        if id(plain) in seen:
            continue
        seen.add(id(plain))
        yield plain
        if isinstance(plain, types.FunctionType):
            inner = (getattr(v, "py_func", v) for _, v in outer_values(plain))
            waiting += [v for v in inner if _is_users(v) and not ends(v)]


def _is_users(value: object) -> bool:
    """Return whether it is a Python function that no library in `LIBRARIES` defines."""
    if not isinstance(value, types.FunctionType):
        return False
    return (value.__module__ or "").partition(".")[0] not in LIBRARIES


def _name(value: object) -> str:
    """Return the name of a function or of the class of an object, for messages."""
    return str(getattr(value, "__qualname__", type(value).__qualname__)).replace("<locals>.", "")


# ---- copies that Numba can compile


def compiled_user(function: Callable[..., object], made: dict[int, Any] | None = None) -> Any:
    """Return a dispatcher of Numba for `function`, in which all functions it calls are compiled.

    Parameters
    ----------
    made : dispatchers by the id of their functions, for functions with common callees

    Verified by: tests/unit/numerics/compiling/test_user_functions.py::test_helpers_are_compiled_too
    """
    import numba

    made = {} if made is None else made
    if hasattr(function, "py_func") or not isinstance(function, types.FunctionType):
        return function if hasattr(function, "py_func") else numba.njit(function)
    if id(function) in made:
        return made[id(function)]
    scope: dict[str, Any] = {}
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    name = function.__name__ if function.__name__.isidentifier() else "function"
    copy = types.FunctionType(function.__code__, scope, name, function.__defaults__, cells or None)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    # registered before its references are copied, because it may be recursive
    made[id(function)] = numba.njit(error_model="numpy")(copy)
    given = function.__globals__
    names = {name for code in codes(function.__code__) for name in code.co_names}
    used = {name for code in codes(function.__code__) for name in _loaded(code)}
    for name in used | {"__builtins__", "__name__"}:
        if name in given:
            scope[name] = _replaced(given[name], names, made)
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _replaced(old.cell_contents, names, made)
        except ValueError:  # an empty cell
            continue
    return made[id(function)]


def returning_tuples(function: Callable[..., object]) -> Callable[..., object]:
    """Return `function` such that ``return [a, b]`` returns the tuple (a, b).

    In compiled code a tuple is in registers. A list is allocated, which takes longer than a field
    of a few states.

    Verified by: tests/unit/numerics/compiling/test_user_functions.py::test_a_list_that_is_returned
    """
    if not isinstance(function, types.FunctionType):
        return function
    code, steps = function.__code__, list(dis.get_instructions(function.__code__))
    changed = bytearray(code.co_code)
    for step, after in itertools.pairwise(steps):
        if step.opname == "BUILD_LIST" and after.opname == "RETURN_VALUE":
            changed[step.offset] = dis.opmap["BUILD_TUPLE"]
    if bytes(changed) == code.co_code:
        return function
    copy = types.FunctionType(
        code.replace(co_code=bytes(changed)),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def _replaced(value: Any, names: set[str], made: dict[int, Any], depth: int = 3) -> Any:
    """Return the replacement for a referenced value."""
    if _is_users(value):
        return compiled_user(value, made)
    if isinstance(value, list) and value and all(isinstance(v, _CONSTANTS) for v in value):
        return tuple(value)
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_replaced(v, names, made, depth) for v in value)
    if isinstance(value, types.ModuleType) and depth > 0:
        if value.__name__.partition(".")[0] in LIBRARIES or value.__name__ == "builtins":
            return value
        contents = vars(value)
        new = {n: _replaced(contents[n], names, made, depth - 1) for n in names if n in contents}
        if any(new[n] is not contents[n] for n in new):
            copy = types.ModuleType(value.__name__)
            vars(copy).update(contents)
            vars(copy).update(new)
            return copy
    return value


# ---- fingerprints


def fingerprint(
    function: Callable[..., object], *, objects: bool = False
) -> tuple[object, ...] | None:
    """Return the code and all references of a function, for comparisons.

    Two functions with the same fingerprint compile to the same code. It is the same in every
    process if all classes and built-in functions that it refers to are of a library. It is None if
    a reference cannot be compared.

    Parameters
    ----------
    objects : whether objects, such as splines, are compared by their pickled state; they may
        compile to different code

    Verified by: tests/unit/numerics/compiling/test_user_functions.py::test_fingerprints
    """
    own = _library_name(function)
    if own:
        return (own,)
    if isinstance(function, functools.partial):
        given = _unfolded((function.args, function.keywords))
        inner = fingerprint(function.func, objects=objects)
        if _is_plain_data(given):
            return (*inner, bytes_of(given)) if inner else None
        state = _state_of(given) if objects else None
        return (*inner, *state) if inner and state else None
    parts: list[object] = []
    for plain in _reached(function, _library_name):
        if not isinstance(plain, types.FunctionType):
            state = _state_of(plain) if objects else None
            if state is None:
                return None
            parts += state
            continue
        parts += [plain.__qualname__, tuple(code_parts(plain))]
        parts += [code.co_varnames for code in codes(plain.__code__)]
        defaults = (plain.__defaults__, tuple(sorted((plain.__kwdefaults__ or {}).items())))
        for name, value in [("", defaults), *outer_values(plain)]:
            value = _unfolded(value)
            known = _library_name(getattr(value, "py_func", value))
            if known:
                parts += [name, known]
            elif _is_users(getattr(value, "py_func", value)):
                parts.append(name)
            elif _is_plain_data(value):
                parts += [name, bytes_of(value)]
            elif isinstance(value, types.ModuleType):
                parts += [name, value.__name__]
            elif _is_of_library(value):
                parts += [name, id(value), bytes_of(value)]
            else:
                state = _state_of(value) if objects else None
                if state is None:
                    return None
                parts += [name, *state]
    return tuple(parts)


def _state_of(value: object) -> tuple[object, ...] | None:
    """Return the code of a class, and the pickled state of an object; None if it has no pickle."""
    kind = value if isinstance(value, type) else type(value)
    parts: list[object] = [kind.__module__, kind.__qualname__]
    for name, entry in vars(kind).items() if _library_name(kind) is None else ():
        if isinstance(entry, types.FunctionType):
            parts += [name, *code_parts(entry)]
        elif not name.startswith("__") and _is_plain_data(entry):
            parts += [name, bytes_of(entry)]
    if kind is value:
        return tuple(parts)
    if _library_name(kind):
        # an object of the library itself, such as os.environ, is known by its name
        held = vars(sys.modules[kind.__module__])
        names = [name for name, entry in held.items() if entry is value]
        if names:
            return (kind.__module__, names[0])
    try:
        # the second pickle has the same bytes in every process to which the object is sent
        data = pickle.dumps(pickle.loads(pickle.dumps(value)))
    except Exception:  # noqa: BLE001 - of a class of the user
        return None
    return (*parts, hashlib.sha256(data).hexdigest())


def _unfolded(value: object, above: tuple[int, ...] = ()) -> object:
    """Return a value with tuples in place of dictionaries; one that contains itself is left."""
    if id(value) in above:
        return value
    above = (*above, id(value))
    if type(value) is dict:
        return tuple((key, _unfolded(entry, above)) for key, entry in value.items())
    if isinstance(value, tuple | list):
        return tuple(_unfolded(entry, above) for entry in value)
    return value


def _library_name(value: object) -> str | None:
    """Return module and name of an object of a library, Python or stiction; else None."""
    # the universal functions of SciPy do not know their module
    ufunc = "scipy.special" if type(value).__name__ == "ufunc" else ""
    module = getattr(value, "__module__", None) or ufunc
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    root = str(module).partition(".")[0]
    if root not in (*LIBRARIES, "stiction") and root not in sys.stdlib_module_names:
        return None
    defined: object = sys.modules.get(module)
    for part in str(name).split("."):
        defined = getattr(defined, part, None)
    return f"{module}.{name}" if getattr(defined, "py_func", defined) is value else None


def _is_plain_data(value: object) -> bool:
    """Return whether a value is a number, text, array of numbers, or a tuple or list of these."""
    import numpy as np

    if isinstance(value, tuple | list):
        return all(_is_plain_data(v) for v in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufc"
    return isinstance(value, (*_CONSTANTS, np.generic))


def _is_of_library(value: object) -> bool:
    """Return whether Numba may support a value: of NumPy or the language, or a named tuple."""
    if isinstance(value, type) and issubclass(value, tuple):
        return True
    module = getattr(value, "__module__", None) or ""
    known = type(value).__module__.partition(".")[0] in ("builtins", "numpy", "numba")
    return known and module.partition(".")[0] in (*LIBRARIES, "builtins") and callable(value)


# ---- reasons


def culprit(parts: Sequence[Callable[..., object]], error: BaseException | None = None) -> str:
    """Return in a few words why one of the functions `parts` cannot be compiled.

    Parameters
    ----------
    error : error of Numba, used if the code does not show the reason

    Verified by: tests/unit/numerics/compiling/test_user_functions.py::test_culprits_have_names
    """
    for part in parts:
        plain = _raising(part)
        if isinstance(plain, types.FunctionType):
            return f"{_name(plain)}, which raises exceptions that compiled code would lose"
        if plain is not None:
            return f"{_name(plain)}, {_kind(plain)}"
        first = getattr(part, "py_func", part)
        for plain in _reached(part):
            for name, value in outer_values(plain):
                if not (_is_users(getattr(value, "py_func", value)) or _is_known(value)):
                    where = "" if plain is first else f", to which {_name(plain)} refers"
                    return f"{name!r}, {_kind(value)}{where}"
    return _first_line(error)


def _is_known(value: object) -> bool:
    """Return whether Numba may support a value that a function refers to."""
    if isinstance(value, types.ModuleType) or hasattr(value, "_numba_type_"):
        return True
    return _is_plain_data(value) or _is_of_library(value)


def _kind(value: object) -> str:
    """Return the class of an object in words, such as "a dict"."""
    kind = type(value)
    builtin = kind.__module__ == "builtins"
    return f"a {kind.__name__}" if builtin else f"a {kind.__module__}.{kind.__qualname__}"


def _first_line(error: BaseException | None) -> str:
    """Return Numba's message and its place, without the surrounding text."""
    if error is None:
        return "its code"
    skip = ("Failed in", "During:", "Invalid use", "There are", "- Of which", "Overload")
    lines = [line.strip(" \t>") for line in str(error).splitlines()]
    shown = [s for s in lines if s and not s.startswith(skip) and not s.startswith("File ")]
    places = [s for s in lines if s.startswith("File ") and ", line " in s]
    where = f" ({places[-1].rstrip(':')})" if places else ""
    return (shown[0].rstrip(".:") if shown else type(error).__name__) + where
