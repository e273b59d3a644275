"""Cache of compiled kernels on disk; the name of an entry is a digest of all its inputs.

Numba's own cache compares the file of a function only, and misses edits of its callees. Here the
name of an entry is a digest of the kernel, of all kernels that it can call and their constants, of
the types of the arguments, of the versions of Python, Numba, llvmlite and NumPy, and of the
processor. So an entry is never stale, concurrent processes write identical files, and an edit
recompiles only the kernels that depend on it.

An entry has a header (magic word and checksum) and Numba's pickle. The checksum includes the name,
so that a renamed entry counts as damaged. Loading an entry executes code; so entries are read only
from folders to which nobody but the user or root can write (`folders`). A wheel may contain entries
for a kind of processor. `linking` gives each kernel a `KernelCache`.
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
    CANNOT_CACHE,
    PACKAGED,
    alone,
    folder_for,
    folders_to_read,
    is_safe,
    report_once,
    why_unusable,
)

__all__ = ["TARGETS", "KernelCache"]

_MAGIC = b"stiction kernel 9\n"
_SUFFIX, _INNER = ".kernel", ".inner"
# largest number of entries of a kernel; the least recently used are removed
_MOST_ENTRIES = 24
# age of a temporary file above which its process was killed [s]
_ABANDONED = 600.0
_DAY = 86400.0
# environment variable: processor for which a package is compiled
_TARGET = "STICTION_TARGET"
# kinds of processors for which wheels contain kernels, with the features that they require
TARGETS = {
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "arm64": ("neon",),
}

# ---- the cache of one kernel


@contextlib.contextmanager
def _loading(generator: Any, loaded: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Set the function by which the code generator restores libraries, in a with statement."""
    before = generator.unserialize_library
    generator.unserialize_library = functools.partial(loaded, generator)
    try:
        yield
    finally:
        generator.unserialize_library = before


@functools.cache
def _versions() -> str:
    """Return the versions, the system and the options that determine machine code."""
    tags = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    return " ".join(
        [*map(str, tags), platform.system(), platform.machine(), *_environment_options()]
    )


def _environment_options() -> list[str]:
    """Return options of the compiler that the environment sets, such as bounds checks.

    Code with such options has separate entries in the cache.
    """
    wanted = {"BOUNDSCHECK": (None, 0), "OPT": (3,), "DEBUGINFO_DEFAULT": (0,)}
    given = {name: getattr(config, name, usual[0]) for name, usual in wanted.items()}
    return [f"{name}={given[name]}" for name, usual in wanted.items() if given[name] not in usual]


def _processor(generator: Any) -> object:
    """Return the processor of a generator: this one, or the kind of a package."""
    return os.environ.get(_TARGET) or generator.magic_tuple()


@functools.cache
def _packaged_target() -> str | None:
    """Return the kind of packaged kernels that this processor can run; None if there is none."""
    given = vars(config).get("CPU_NAME")
    for target, needs in TARGETS.items():
        # not if the user selects a processor
        if given is not None or os.environ.get(_TARGET) or not is_safe(PACKAGED / target):
            continue
        can = llvm.get_host_cpu_features()
        if all(can.get(feature, False) for feature in needs):
            return target
    return None


def _checksum(name: str, body: bytes | memoryview) -> bytes:
    """Return the checksum of an entry and its name, because code of another kernel would crash."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(body)
    return digest.digest()


def _by_age(paths: Iterable[Path]) -> list[tuple[float, Path]]:
    """Return (time of last use, path), the oldest first."""
    times = []
    for path in paths:
        # another process may remove it meanwhile
        with contextlib.suppress(OSError):
            times.append((path.stat().st_mtime, path))
    return sorted(times)


def _remove(path: Path) -> None:
    """Remove a file, unless another process has done so."""
    with contextlib.suppress(OSError):
        path.unlink()


class KernelCache:
    """Cache of one kernel, with the interface that Numba expects.

    Parameters
    ----------
    function : the Python function of the kernel
    options : options of the compiler, as text
    library : class of its code library, see `linking`; Numba's own by default

    Verified by: tests/unit/numerics/compiling/test_cache.py::test_kernels_are_compiled_once
    """

    def __init__(
        self, function: Callable[..., object], options: str = "", library: Any = None
    ) -> None:
        self._function, self._options = plain_function(function), options
        self._library = library

    @functools.cached_property
    def _digest(self) -> str:
        """Digest of the kernel and its callees."""
        # computed at the first call of a kernel, when all modules are loaded
        return digest_of(self._function)

    @functools.cached_property
    def _folder(self) -> Path | None:
        """Folder to which entries are written; None, with a message, if there is none."""
        source = self._function.__code__.co_filename
        folder = folder_for(source)
        if folder is None:
            text = "compiled kernels cannot be cached; they are compiled again in every process"
            report_once(text, why_unusable(source))
        return folder

    @property
    def cache_path(self) -> str:
        """The folder, as text."""
        return str(self._folder or "")

    def name(self, signature: object, processor: object) -> str:
        """Return the name of the entry for a signature on a processor."""
        key = (_MAGIC, self._digest, self._options, text_of_type(signature), _versions(), processor)
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:40]
        return f"{self._short}-{digest}{self._suffix}"

    @property
    def _suffix(self) -> str:
        """End of the names of entries."""
        # inner libraries have another suffix and are not packaged
        return _SUFFIX if getattr(self._library, "emits", True) else _INNER

    @property
    def _short(self) -> str:
        """Name of the kernel as the begin of the names of its entries."""
        return self._function.__qualname__.replace("<", "").replace(">", "")[-40:]

    def _places(self, signature: object, generator: Any) -> Iterator[Path]:
        """Yield the possible files of the kernel: those of the user, then the packaged one."""
        for folder in folders_to_read(self._function.__code__.co_filename):
            yield folder / self.name(signature, _processor(generator))
        target = _packaged_target()
        if target is not None:
            yield PACKAGED / target / self.name(signature, target)

    def turn(self, given: object) -> contextlib.AbstractContextManager[object]:
        """Return a context in which no other worker of a pool compiles the same entry.

        Outside a pool it has no effect.
        """
        if self._folder is None or not clock.silent():
            return contextlib.nullcontext()
        name = self.name(given, _processor(cpu_target.target_context.codegen()))
        return alone(self._folder / f".{self._short[:20]}-{name[-20:]}.turn")

    def load_overload(self, signature: object, target: Any) -> Any:
        """Return the compiled kernel from the cache; None if it must be compiled."""
        with clock.compiling():
            if self._library is None or not self._library.emits:
                # linking needs all registered types of Numba; machine code does not
                target.refresh()
            for path in self._places(signature, target.codegen()):
                result = self._load(path, target)
                if result is not None:
                    self._name(result.library, signature)
                    return result
        if getattr(self._library, "emits", False) and not clock.nested():
            name = self._function.__name__
            clock.announce(self._function.__module__, name, size_of(self._function))
        return None

    def _load(self, path: Path, target: Any) -> Any:
        """Return the compiled kernel in a file; None if the file is absent or damaged."""
        try:
            data = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + 32
        body = memoryview(data)[head:]
        if not data.startswith(_MAGIC) or _checksum(path.name, body) != data[len(_MAGIC) : head]:
            report_once("a damaged kernel is compiled again", path.name)
            return None
        try:
            result = self._rebuilt(target, pickle.loads(body))
        except Exception as error:  # noqa: BLE001
            # on any error: compile again
            report_once("a kernel cannot be loaded and is compiled again", f"{path.name}: {error}")
            return None
        with contextlib.suppress(OSError):
            # renew the time of last use: the oldest entries are removed first
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
        return result

    def _rebuilt(self, target: Any, state: Any) -> Any:
        """Return the compiled kernel from its pickled state."""
        if self._library is None:
            return compiler.CompileResult._rebuild(target, *state)
        with _loading(target.codegen(), self._library.loaded):
            return compiler.CompileResult._rebuild(target, *state)

    def _name(self, library: Any, signature: object) -> None:
        """Set the origin of an inner or separate library, by which other processes find it."""
        plain, given = self._function, cast(Any, getattr(signature, "args", signature))
        if hasattr(library, "origin") and "<" not in plain.__qualname__:
            library.origin = plain.__module__, plain.__qualname__, tuple(given)

    def save_overload(self, signature: object, result: Any) -> None:
        """Save a compiled kernel; a full disk is reported, and the run continues."""
        self._name(result.library, signature)
        cannot = any(not part.can_cache for part in result.lifted)
        cannot |= any(one.origin is None for one in getattr(result.library, "callees", ()))
        # functions made by exec have no origin
        cannot |= self._function.__module__ not in sys.modules
        if self._folder is None or cannot or result.library.has_dynamic_globals:
            return
        # without the source with type annotations, which is slow to write
        body = serialize.dumps(result._replace(type_annotation="")._reduce())
        path = self._folder / self.name(signature, _processor(result.codegen))
        partial = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(prefix=f".{self._short[:20]}", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _checksum(path.name, body) + body)
                # readable for all users, as for kernels compiled by root
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), 0o644)
            os.replace(partial, path)
        except OSError as error:
            report_once(CANNOT_CACHE, str(error.strerror or error))
            if partial is not None:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
        else:
            self._forget_old(self._folder)

    def _forget_old(self, folder: Path) -> None:
        """Remove the oldest entries of this kernel, and temporary files of killed processes."""
        now = time.time()
        for age, partial in _by_age(folder.glob(f".{self._short[:20]}*")):
            if now - age > _ABANDONED:
                _remove(partial)
        entries = _by_age(folder.glob(f"{self._short}-*{self._suffix}"))
        for _, entry in entries[:-_MOST_ENTRIES]:
            _remove(entry)

    def enable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Remove the entries of this kernel."""
        for path in self._folder.glob(f"{self._short}-*{self._suffix}") if self._folder else ():
            path.unlink(missing_ok=True)
