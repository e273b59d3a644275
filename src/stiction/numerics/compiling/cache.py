"""Compiled kernels on disk, each under a name that says all that went into it.

Numba dates a cached function by its own file alone: a caller goes on running callees that were
edited since. Here the name of an entry is a digest of the kernel, of every kernel it can reach, of
the constants they freeze, of the types of the arguments, of the versions of Python, Numba, llvmlite
and NumPy, and of the processor. So an entry is right or it is not found, two processes that compile
the same kernel write the same file, and what is edited is compiled again while the rest is not.

An entry is a short head (a word, a checksum) and Numba's own pickle. The checksum covers the name,
so a file under the name of another entry is a damaged one. Loading an entry runs code, so only
folders are read that nobody but the user or root can write to. A package may bring entries for a
kind of processor, which every such processor reads.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm
from numba.core import compiler, config, serialize
from numba.core.registry import cpu_target

from stiction.numerics.compiling import clock
from stiction.numerics.compiling.digest import digest_of, plain_function, size_of, text_of_type
from stiction.numerics.compiling.folders import (
    CANNOT_KEEP,
    PACKAGED,
    alone,
    folder_for,
    folders_to_read,
    is_safe,
    report_once,
    why_unusable,
)

__all__ = ["TARGETS", "KernelCache"]

_MARK = b"stiction kernel 9\n"
_SUFFIX, _INNER = ".kernel", ".inner"
# how many entries one kernel may have; those go that were used longest ago
_MOST_ENTRIES = 24
# age at which a file that was never finished is left over from a process that was killed [s]
_ABANDONED = 600.0
_DAY = 86400.0
# what a process that compiles for a package calls its processor
_TARGET = "STICTION_TARGET"
# kinds of processors a package can bring kernels for, and what they must be able to do
TARGETS = {
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "arm64": ("neon",),
}

# ---- the cache of one kernel


@contextlib.contextmanager
def _loading(generator: Any, loaded: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Let the generator make libraries by `loaded`, from what they kept; may be nested."""
    before = generator.unserialize_library
    generator.unserialize_library = functools.partial(loaded, generator)
    try:
        yield
    finally:
        generator.unserialize_library = before


@functools.cache
def _versions() -> str:
    tags = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    return " ".join([*map(str, tags), platform.system(), platform.machine(), *_asked_for()])


def _asked_for() -> list[str]:
    """Return what the environment asks of the compiler beyond the default, such as bounds checks.

    Code with such checks is kept apart: it is slower, and code without them checks nothing.
    """
    wanted = {"BOUNDSCHECK": (None, 0), "OPT": (3,), "DEBUGINFO_DEFAULT": (0,)}
    given = {name: getattr(config, name, usual[0]) for name, usual in wanted.items()}
    return [f"{name}={given[name]}" for name, usual in wanted.items() if given[name] not in usual]


def _processor(generator: Any) -> object:
    """Return what code of a generator runs on: this processor, or the kind a package is for."""
    return os.environ.get(_TARGET) or generator.magic_tuple()


@functools.cache
def _packaged_target() -> str | None:
    """Return the kind of processor whose kernels the package brought and this one can run."""
    given = vars(config).get("CPU_NAME")
    for target, needs in TARGETS.items():
        # a user who names a processor gets code for that one
        if given is not None or os.environ.get(_TARGET) or not is_safe(PACKAGED / target):
            continue
        can = llvm.get_host_cpu_features()
        if all(can.get(feature, False) for feature in needs):
            return target
    return None


def _checksum(name: str, body: bytes | memoryview) -> bytes:
    """Return what binds an entry to its name: the code of another kernel ends a process."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(body)
    return digest.digest()


def _by_age(paths: Iterable[Path]) -> list[tuple[float, Path]]:
    """Return when files were last written or used, and the files, the oldest first."""
    found = []
    for path in paths:
        # another process may remove it meanwhile
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path))
    return sorted(found)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


class KernelCache:
    """What Numba asks for compiled code of one kernel, and gives it to keep.

    Parameters
    ----------
    function : the plain function
    options : what it is compiled with besides
    library : class of the library that holds the code, of `linking`; Numba's own by default

    Verified by: tests/unit/numerics/compiling/test_cache.py::test_kernels_are_compiled_once
    """

    def __init__(
        self, function: Callable[..., object], options: str = "", library: Any = None
    ) -> None:
        self._function, self._options = plain_function(function), options
        self._library = library

    @functools.cached_property
    def _digest(self) -> str:
        # when a kernel is first called: modules are complete, callees can be found
        return digest_of(self._function)

    @functools.cached_property
    def _folder(self) -> Path | None:
        source = self._function.__code__.co_filename
        folder = folder_for(source)
        if folder is None:
            text = "no folder can keep compiled kernels; they are compiled again in every process"
            report_once(text, why_unusable(source))
        return folder

    @property
    def cache_path(self) -> str:
        """The folder, as text."""
        return str(self._folder or "")

    def name(self, signature: object, processor: object) -> str:
        """Return the name of the entry for a signature on a processor."""
        key = (_MARK, self._digest, self._options, text_of_type(signature), _versions(), processor)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:40]
        return f"{self._short}-{digest}{self._suffix}"

    @property
    def _suffix(self) -> str:
        # linked libraries have names of their own: a package brings none of them
        return _SUFFIX if getattr(self._library, "emits", True) else _INNER

    @property
    def _short(self) -> str:
        return self._function.__qualname__.replace("<", "").replace(">", "")[-40:]

    def _places(self, signature: object, generator: Any) -> Iterator[Path]:
        """Yield the files that may hold the kernel: the user's, then what the package brought."""
        for folder in folders_to_read(self._function.__code__.co_filename):
            yield folder / self.name(signature, _processor(generator))
        target = _packaged_target()
        if target is not None:
            yield PACKAGED / target / self.name(signature, target)

    def turn(self, given: object) -> contextlib.AbstractContextManager[object]:
        """Return a context in which no other worker of a pool compiles the same entry."""
        if self._folder is None or not clock.silent():
            return contextlib.nullcontext()
        name = self.name(given, _processor(cpu_target.target_context.codegen()))
        return alone(self._folder / f".{self._short[:20]}-{name[-20:]}.turn")

    def load_overload(self, signature: object, target: Any) -> Any:
        """Return the compiled kernel, or None when it has to be compiled."""
        with clock.compiling():
            if self._library is None or not self._library.emits:
                # what is linked needs all that Numba knows; machine code does not
                target.refresh()
            for path in self._places(signature, target.codegen()):
                found = self._load(path, target)
                if found is not None:
                    self._name(found.library, signature)
                    return found
        if getattr(self._library, "emits", False) and not clock.nested():
            name = self._function.__name__
            clock.announce(self._function.__module__, name, size_of(self._function))
        return None

    def _load(self, path: Path, target: Any) -> Any:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        head = len(_MARK) + 32
        body = memoryview(data)[head:]
        if not data.startswith(_MARK) or _checksum(path.name, body) != data[len(_MARK) : head]:
            report_once("a damaged kernel is compiled again", path.name)
            return None
        try:
            found = self._rebuilt(target, pickle.loads(body))
        except Exception as error:  # noqa: BLE001
            # whatever hinders it, compiling is the way out
            report_once("a kernel cannot be loaded and is compiled again", f"{path.name}: {error}")
            return None
        with contextlib.suppress(OSError):
            # what is used stays: the oldest go first
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
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
        # the source with a type at each name is for people to read, and takes long to write
        body = serialize.dumps(result._replace(type_annotation="")._reduce())
        path = self._folder / self.name(signature, _processor(result.codegen))
        partial = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(prefix=f".{self._short[:20]}", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MARK + _checksum(path.name, body) + body)
                # all may read what root compiles; who may write is up to the folder
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), 0o644)
            os.replace(partial, path)
        except OSError as error:
            report_once(CANNOT_KEEP, str(error.strerror or error))
            if partial is not None:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
        else:
            self._forget_old(self._folder)

    def _forget_old(self, folder: Path) -> None:
        """Remove the oldest entries of this kernel, and what a process left that was killed."""
        now = time.time()
        for age, partial in _by_age(folder.glob(f".{self._short[:20]}*")):
            if now - age > _ABANDONED:
                _remove(partial)
        entries = _by_age(folder.glob(f"{self._short}-*{self._suffix}"))
        for _, entry in entries[:-_MOST_ENTRIES]:
            _remove(entry)

    def enable(self) -> None:
        """Do nothing: it always is."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Remove the entries of this kernel."""
        for path in self._folder.glob(f"{self._short}-*{self._suffix}") if self._folder else ():
            path.unlink(missing_ok=True)
