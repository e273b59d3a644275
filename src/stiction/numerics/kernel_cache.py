"""Compiled kernels on disk, each under a name that says all that went into it.

Numba dates a cached function by its own file alone: a caller goes on running callees that were
edited since. Here the name of an entry is a digest of the kernel, of every kernel it can reach, of
the constants they freeze, of the types of the arguments, of the versions of Python, Numba, llvmlite
and NumPy, and of the processor. So an entry is right or it is not found, two processes that compile
the same kernel write the same file, and what is edited is compiled again while the rest is not.

An entry is a short head (a word, a checksum) and Numba's own pickle. Loading it runs code, so only
folders are read that nobody but the user or root can write to.
"""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import hashlib
import os
import pickle
import platform
import stat
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize

__all__ = ["KernelCache", "digest_of", "folder_for", "is_safe"]

_MARK = b"stiction kernel 2\n"
_FOLDER = "STICTION_CACHE_DIR"
_SUFFIX = ".kernel"


# ---- what a kernel is made of


def digest_of(function: Callable[..., object]) -> str:
    """Return a digest of a plain function, of all kernels it can reach and of their constants.

    Names of variables, comments, docstrings and line numbers do not count.

    Verified by: tests/unit/numerics/test_kernel_cache.py::test_an_edited_callee_changes_its_callers
    """
    first = _plain(function)
    found: dict[types.FunctionType, bytes] = {}
    waiting = [first]
    while waiting:
        plain = waiting.pop()
        if plain not in found:
            found[plain], callees = _body(plain)
            waiting += callees
    # the order in which kernels were met says nothing
    others = sorted(body for plain, body in found.items() if plain is not first)
    return hashlib.sha256(found[first] + b"".join(others)).hexdigest()


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


def _plain(function: Any) -> types.FunctionType:
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


# ---- where kernels are kept


def is_safe(folder: Path) -> bool:
    """Return whether nobody but the user or root can have put code into `folder`.

    It must belong to one of the two and not be writable for others; for its group only where
    that is the user's own.

    Verified by: tests/unit/numerics/test_kernel_cache.py::test_code_is_read_from_safe_folders_only
    """
    if os.name != "posix":
        return True
    try:
        about = folder.stat()
    except OSError:
        return False
    if about.st_uid not in (0, os.getuid()) or about.st_mode & stat.S_IWOTH:
        return False
    return not (about.st_mode & stat.S_IWGRP) or about.st_gid in (0, *_private_groups())


@functools.cache
def _private_groups() -> tuple[int, ...]:
    """Return the group that has the user's own name and no other member, where there is one."""
    import grp
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
        group = grp.getgrgid(os.getgid())
    except KeyError:
        return ()
    return (group.gr_gid,) if group.gr_name == name and set(group.gr_mem) <= {name} else ()


def folder_for(source: str) -> Path | None:
    """Return the folder in which kernels of a source file are kept; None where there is none.

    It is ``$STICTION_CACHE_DIR`` or ``$NUMBA_CACHE_DIR`` when one is set, `__pycache__` beside the
    source where that can be written, else a folder of the user's.
    """
    given = os.environ.get(_FOLDER) or os.environ.get("NUMBA_CACHE_DIR")
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stiction"
    places = [Path(given)] if given else [Path(source).parent / "__pycache__", own]
    return next((place for place in places if _usable(place)), None)


@functools.cache
def _usable(folder: Path) -> bool:
    """Return whether files can be written to a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return False
    return is_safe(folder)


@functools.cache
def _tell(text: str) -> None:
    """Say once, on stderr, what costs time."""
    sys.stderr.write(f"stiction: {text}\n")


# ---- the cache of one kernel


@contextlib.contextmanager
def _loading(generator: Any, loaded: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Let the generator make libraries by `loaded`, from what they kept."""
    generator.unserialize_library = functools.partial(loaded, generator)
    try:
        yield
    finally:
        del generator.unserialize_library


@functools.cache
def _versions() -> str:
    tags = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    return " ".join([*map(str, tags), platform.system(), platform.machine()])


class KernelCache:
    """What Numba asks for compiled code of one kernel, and gives it to keep.

    Parameters
    ----------
    function : the plain function
    options : what it is compiled with besides
    library : class of the library that holds the code, of `linking`; Numba's own by default

    Verified by: tests/unit/numerics/test_kernel_cache.py::test_kernels_are_compiled_once
    """

    def __init__(
        self, function: Callable[..., object], options: str = "", library: Any = None
    ) -> None:
        self._function, self._options = _plain(function), options
        self._library = library

    @functools.cached_property
    def _digest(self) -> str:
        # when a kernel is first called: modules are complete, callees can be found
        return digest_of(self._function)

    @functools.cached_property
    def _folder(self) -> Path | None:
        folder = folder_for(self._function.__code__.co_filename)
        if folder is None:
            _tell("no folder can keep compiled kernels; they are compiled again in every process")
        return folder

    @property
    def cache_path(self) -> str:
        """The folder, as text."""
        return str(self._folder or "")

    def name(self, signature: object, codegen: Any) -> str:
        """Return the name of the entry for a signature on the processor of `codegen`."""
        key = (self._digest, self._options, str(signature), _versions(), codegen.magic_tuple())
        short = self._function.__qualname__.replace("<", "").replace(">", "")[-40:]
        return f"{short}-{hashlib.sha256(repr(key).encode()).hexdigest()[:40]}{_SUFFIX}"

    def load_overload(self, signature: object, target: Any) -> Any:
        """Return the compiled kernel, or None when it has to be compiled."""
        target.refresh()
        if self._folder is None:
            return None
        path = self._folder / self.name(signature, target.codegen())
        try:
            data = path.read_bytes()
        except OSError:
            return None
        head = len(_MARK) + 32
        whole = (
            data.startswith(_MARK)
            and hashlib.sha256(data[head:]).digest() == data[len(_MARK) : head]
        )
        if not whole:
            _tell(f"a damaged kernel is compiled again ({path.name})")
            return None
        try:
            found = self._rebuilt(target, pickle.loads(data[head:]))
        except Exception as error:  # noqa: BLE001
            # whatever hinders it, compiling is the way out
            _tell(f"a kernel cannot be loaded and is compiled again ({path.name}: {error})")
            return None
        self._name(found.library, signature)
        return found

    def _rebuilt(self, target: Any, kept: Any) -> Any:
        if self._library is None:
            return compiler.CompileResult._rebuild(target, *kept)
        with _loading(target.codegen(), self._library.loaded):
            return compiler.CompileResult._rebuild(target, *kept)

    def _name(self, library: Any, signature: object) -> None:
        """Tell an inner library where it is found again."""
        plain, given = self._function, cast(Any, getattr(signature, "args", signature))
        if hasattr(library, "origin") and "<" not in plain.__qualname__:
            library.origin = plain.__module__, plain.__qualname__, tuple(given)

    def save_overload(self, signature: object, result: Any) -> None:
        """Keep a compiled kernel; a disk that is full or closed costs time later, nothing now."""
        self._name(result.library, signature)
        cannot = any(not part.can_cache for part in result.lifted)
        cannot |= any(one.origin is None for one in getattr(result.library, "callees", ()))
        # what exec made could not be found again
        cannot |= self._function.__module__ not in sys.modules
        if self._folder is None or cannot or result.library.has_dynamic_globals:
            return
        body = serialize.dumps(result._reduce())
        path = self._folder / self.name(signature, result.codegen)
        partial = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(prefix=f".{path.stem[:20]}", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MARK + hashlib.sha256(body).digest() + body)
            os.replace(partial, path)
        except OSError as error:
            _tell(f"compiled kernels cannot be kept ({error.strerror or error}); runs go on")
            if partial is not None:
                with contextlib.suppress(OSError):
                    os.unlink(partial)

    def enable(self) -> None:
        """Do nothing: it always is."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Remove the entries of this kernel."""
        for path in (
            self._folder.glob(f"{self._function.__qualname__}-*{_SUFFIX}") if self._folder else ()
        ):
            path.unlink(missing_ok=True)
