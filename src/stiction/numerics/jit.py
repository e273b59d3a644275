"""One decorator for kernels, which run compiled or as the plain Python they are written in.

A process runs all kernels in one mode, "compiled" unless it says otherwise. Plain kernels need no
compiler, nor Numba at all; what exists only in compiled code has a plain body beside it. Numba
sees a kernel as the dispatcher that it stands for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

__all__ = [
    "GIVEN",
    "KERNELS",
    "Kernel",
    "Mode",
    "kernel",
    "mode",
    "native",
    "py_function",
    "quiet",
    "running",
    "use",
]

F = TypeVar("F", bound=Callable[..., object])
G = TypeVar("G", bound=Callable[..., object])
Mode = Literal["compiled", "plain"]

_VARIABLE = "STICTION_KERNELS"
# every kernel that was made, in order
KERNELS: list[Kernel] = []


class Kernel:
    """A function that runs compiled or plain, as the process says.

    Attributes
    ----------
    py_func : the function as it is written, which is what Numba compiles
    plain : what runs without a compiler; the same, unless another body was given
    views : whether Python always runs the plain one
    separate : whether those that call it jump to one machine code
    options : more for ``numba.njit``

    Verified by: tests/unit/numerics/test_jit.py::test_both_modes_give_the_same
    """

    def __init__(
        self,
        function: Callable[..., Any],
        plain: Callable[..., Any] | None,
        views: bool = False,
        separate: bool = False,
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.plain = function, plain or function
        self.views, self.separate, self.options = views, separate, options
        self._run: Callable[..., Any] = self._first
        KERNELS.append(self)
        self.set_mode(_now)

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        return self._run(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"

    def set_mode(self, mode: Mode) -> None:
        """Run compiled or plain from now on."""
        self._run = self.plain if self.views or mode == "plain" else self._first

    def _first(self, *arguments: Any) -> Any:
        self._run = self.compiled
        return self._run(*arguments)

    @functools.cached_property
    def compiled(self) -> Any:
        """What compiles at its first call from Python, and keeps the code on disk."""
        from stiction.numerics.compiling.linking import outer

        return outer(self)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """What Numba takes this object for when a kernel calls it."""
        from stiction.numerics.compiling.linking import inner

        return inner(self)._numba_type_


class _Native:
    """Something that only compiled code can do, with a plain body for when there is none."""

    def __init__(self, plain: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, plain)
        self.py_func, self.native_name = plain, name

    def __call__(self, *arguments: Any) -> Any:
        """Run the plain body."""
        return self.py_func(*arguments)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        module, _, name = self.native_name.partition(":")
        found = getattr(importlib.import_module(module), name)
        # what was imported just now is registered, and not yet known
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(found)


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(
    *,
    plain: Callable[..., Any] | None = None,
    nogil: bool = False,
    allocates: bool = False,
    inline: bool = False,
    views: bool = False,
    separate: bool = False,
) -> Callable[[F], F]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    plain: Callable[..., Any] | None = None,
    nogil: bool = False,
    allocates: bool = False,
    inline: bool = False,
    views: bool = False,
    separate: bool = False,
) -> Any:
    """Return `function` as a kernel, compiled by Numba at its first call and cached on disk.

    Parameters
    ----------
    plain : another body for runs without a compiler, to the same answer
    nogil : whether compiled code lets other threads run
    allocates : whether it makes arrays, returns one, or draws at random. Such a kernel counts
        references to all its arrays, which can take longer than its work; any other one borrows
        what its caller holds
    inline : whether its code is put into every kernel that calls it: for a few lines in a loop
        that take less time than a call
    views : whether it returns parts of the arrays it is given, for kernels that borrow. Its code
        is put into these; Python runs it as it is written
    separate : whether it is made into machine code once and all that call it jump there: for what
        several kernels reach and takes long to compile
    """
    options = {"_nrt": allocates}
    if nogil:
        options["nogil"] = True
    if inline or views:
        options["forceinline"] = True
    if function is None:
        return lambda inner: Kernel(inner, plain, views, separate, **options)
    return Kernel(function, plain, views, separate, **options)


def native(name: str) -> Callable[[G], G]:
    """Return a decorator: in compiled code the function is "module:name", an intrinsic of Numba."""

    def made(plain: G) -> G:
        return cast(G, _Native(plain, name))

    return made


def py_function(compiled: F) -> F:
    """Return the plain Python function behind a kernel, for tests and for fallbacks."""
    return cast(F, getattr(compiled, "py_func", compiled))


# ---- the mode of the process


def _given_mode() -> Mode | None:
    """Return what the user's environment asks for."""
    given = os.environ.get(_VARIABLE, "").strip().lower()
    if given not in ("", "auto", "compiled", "plain"):
        shown = f"{_VARIABLE}={given}: expected auto, compiled or plain; it is left aside."
        warnings.warn(shown, stacklevel=2)
    if given in ("compiled", "plain"):
        return cast(Mode, given)
    return "plain" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else None


GIVEN: Mode | None = _given_mode()
_now: Mode = GIVEN or "compiled"


def mode() -> Mode:
    """Return whether kernels run compiled or plain in this process."""
    return _now


def use(wanted: Mode) -> None:
    """Run all kernels of this process compiled or plain from now on."""
    global _now
    _now = wanted
    for one in KERNELS:
        one.set_mode(wanted)


@contextlib.contextmanager
def running(wanted: Mode) -> Iterator[None]:
    """Run kernels in this mode inside a with statement."""
    before = mode()
    use(wanted)
    try:
        yield
    finally:
        use(before)


def quiet() -> contextlib.AbstractContextManager[object]:
    """Return a context in which arithmetic warns of inf and nan as little as compiled code."""
    return np.errstate(all="ignore") if _now == "plain" else contextlib.nullcontext()
