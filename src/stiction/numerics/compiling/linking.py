"""How kernels are compiled: each is lowered once, and optimised once with all that it calls.

Numba optimises every function with everything below it and makes machine code of the whole, so a
kernel at depth d is optimised and written out d times, of which all but one are thrown away. Here
a kernel that others call (an inner one) is lowered and no more; one that Python calls (an outer
one) links the inner ones it reaches, each once, and is optimised as a whole. Arithmetic is the
same to the last bit: nothing here may reorder it.

Symbols are named by digests, so that inner kernels kept on disk by one process can be linked by
another. Imported only when something is compiled or loaded.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import bytecode, codegen, compiler, errors
from numba.core import types as kinds
from numba.core.ccallback import CFunc
from numba.core.extending import register_jitable
from numba.core.funcdesc import default_mangler
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.untyped_passes import ExtractByteCode

from stiction.numerics.compiling import clock
from stiction.numerics.compiling.cache import KernelCache
from stiction.numerics.compiling.digest import digest_of, plain_function, text_of_type

__all__ = [
    "C_FUNCTIONS",
    "InnerLibrary",
    "OuterLibrary",
    "SeparateLibrary",
    "c_function",
    "inner",
    "outer",
]


# what Numba takes for an address that is good in this process alone
_NOT_TO_KEEP = '@"numba.dynamic.globals.apart" = weak_odr constant i8 0'
# every C function that was made in this process, with its types
C_FUNCTIONS: list[tuple[Any, Any]] = []


class _Silent:
    """A code generator that leaves out what can only be done to machine code."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def set_env(self, name: str, env: object) -> None:
        """Do nothing: there is no code yet that has an environment."""


class InnerLibrary(codegen.JITCodeLibrary):
    """The code of one kernel that others call, as it was lowered.

    Attributes
    ----------
    callees : libraries of the kernels that it calls
    origin : module and name of the kernel and the types of its arguments, by which another
        process finds it
    emits : whether machine code is made of it
    """

    emits = False

    def __init__(self, generator: Any, name: str) -> None:
        super().__init__(generator, name)
        self.callees: list[InnerLibrary | SeparateLibrary] = []
        self.origin: tuple[str, str, Any] | None = None
        self._own: Any = None
        self._silent = _Silent(generator)

    @property
    def codegen(self) -> Any:
        """What makes code."""
        return self._silent

    def finalize(self) -> None:
        """Link what is not an inner kernel; neither optimise nor emit."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if isinstance(library, InnerLibrary | SeparateLibrary):
                self.callees.append(library)
            else:
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    def own(self) -> Any:
        """Return the code of this kernel alone, in a form that may be linked many times."""
        self._ensure_finalized()
        if self._own is None:
            self._own = _shared(self._final_module.clone())
        return self._own

    def reached(self) -> list[InnerLibrary | SeparateLibrary]:
        """Return this library and all below it, each once; of what is apart nothing below."""
        found: dict[InnerLibrary | SeparateLibrary, None] = {}
        waiting: list[InnerLibrary | SeparateLibrary] = [self]
        while waiting:
            library = waiting.pop()
            if library not in found:
                library._ensure_finalized()
                found[library] = None
                waiting += library.callees if isinstance(library, InnerLibrary) else []
        return list(found)

    def _get_module_for_linking(self) -> Any:
        """Return all the code below, for a library that knows nothing of this one."""
        if self._shared_module is None:
            module = self._final_module.clone()
            for library in self.reached()[1:]:
                if isinstance(library, InnerLibrary):
                    module.link_in(library.own(), preserve=True)
                else:
                    module.link_in(library._get_module_for_linking(), preserve=True)
            self._shared_module = _shared(module)
        return self._shared_module

    # ---- on disk

    def serialize_using_object_code(self) -> Any:
        """Return the code of this kernel alone, and where those that it calls are found."""
        return "inner", self.own().as_bitcode(), tuple(one.origin for one in self.callees)

    @classmethod
    def loaded(cls, generator: Any, state: Any) -> InnerLibrary:
        """Return what `serialize_using_object_code` kept."""
        _, code, origins = state
        self = cls(generator, "inner")
        self._final_module = self._own = llvm.parse_bitcode(code)
        self._finalized = True
        self.callees = _found_again(origins)
        return self


def _found_again(origins: Any) -> list[Any]:
    """Return the libraries of kernels that others call, compiled where nothing is kept of them."""
    found = []
    for module, name, given in origins:
        dispatcher = inner(getattr(importlib.import_module(module), name))
        dispatcher.compile(given)
        found.append(dispatcher.overloads[given].library)
    return found


class OuterLibrary(codegen.JITCodeLibrary):
    """The code of a kernel that Python calls, with every kernel below it but those apart.

    Attributes
    ----------
    callees : libraries of the kernels that stay apart, which it jumps to
    """

    emits = True

    def __init__(self, generator: Any, name: str) -> None:
        super().__init__(generator, name)
        self.callees: list[SeparateLibrary] = []
        # functions that were in no other library
        self._own_names: list[str] = []

    def finalize(self) -> None:
        """Link every library once, optimise the whole, and make machine code of it."""
        self._raise_if_finalized()
        modules: dict[Any, Callable[[], Any]] = {}
        apart: dict[SeparateLibrary, None] = {}
        for library in self._linking_libraries:
            below: list[Any] = [library]
            if isinstance(library, InnerLibrary):
                below = [*library.reached()]
            for one in below:
                if isinstance(one, SeparateLibrary):
                    apart[one] = None
                elif isinstance(one, InnerLibrary):
                    modules[one] = one.own
                else:
                    modules[one] = one._get_module_for_linking
        self.callees = list(apart)
        self._own_names = [one.name for one in self._final_module.functions if _made_here(one)]
        for module in modules.values():
            self._final_module.link_in(module(), preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        """Return machine code, the names in it, and those that it needs: nobody links it."""
        self._ensure_finalized()
        module = self._final_module
        values = (*module.functions, *module.global_variables)
        names = tuple(value.name for value in values if not value.is_declaration)
        needed = (value.name for value in module.functions if value.is_declaration)
        foreign = tuple(name for name in needed if not name.startswith("llvm."))
        called = tuple(one.origin for one in self.callees)
        return "outer", self._get_compiled_object(), names, foreign, called

    @classmethod
    def loaded(cls, generator: Any, state: Any) -> OuterLibrary:
        """Return what `serialize_using_object_code` kept."""
        _, code, names, foreign, called = state
        callees = _found_again(called)
        target = cpu_target.target_context
        rtsys.initialize(target)
        if any(llvm.address_of_symbol(name) is None for name in foreign):
            # what Numba brings along for numbers at random, linear algebra, ... takes long to load
            target.refresh()
        self = cls(generator, "outer")
        self.callees = callees
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        generator._engine._defined_symbols.update(names)
        return self


class SeparateLibrary(OuterLibrary):
    """The machine code of a kernel that others jump to, with what it calls that is not apart.

    Attributes
    ----------
    origin : as that of an inner kernel
    """

    def __init__(self, generator: Any, name: str) -> None:
        super().__init__(generator, name)
        self.origin: tuple[str, str, Any] | None = None

    def finalize(self) -> None:
        """Make machine code, and let all code from now on find it by its name."""
        super().finalize()
        self._publish()

    def _publish(self) -> None:
        for name in self._own_names:
            llvm.add_symbol(name, self.get_pointer_to_function(name))

    def _get_module_for_linking(self) -> Any:
        """Return a mark for a library that knows nothing of this one: it must not be kept.

        In another process it would jump to what is not there, and that ends a process.
        """
        return llvm.parse_assembly(_NOT_TO_KEEP)

    def serialize_using_object_code(self) -> Any:
        """Return what any library of machine code keeps, and the names that others jump to."""
        return *super().serialize_using_object_code(), self._own_names

    @classmethod
    def loaded(cls, generator: Any, state: Any) -> SeparateLibrary:
        """Return what `serialize_using_object_code` kept."""
        *whole, names = state
        self = super().loaded(generator, whole)
        assert isinstance(self, cls)
        self._own_names = names
        self._publish()
        return self


def _made_here(function: Any) -> bool:
    return not function.is_declaration and function.linkage == llvm.Linkage.external


def _shared(module: Any) -> Any:
    """Let definitions stand in many modules, and be dropped where nothing calls them."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "linkonce_odr"
    return module


# ---- pipelines


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Compile without looking for garbage, of which there is little: a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _symbol(name: str, given: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """Return the symbol of a function, the same in every process.

    Numba counts types of structured arrays as a process meets them, and names symbols so.
    """
    types = hashlib.sha256(text_of_type(given).encode()).hexdigest()[:16]
    symbol: str = default_mangler(f"{name}_{types}", (), abi_tags=abi_tags, uid=uid)
    return symbol


class _Pipeline(compiler.Compiler):
    """Numba's own passes, with names that are the same in every process."""

    library_class: Any = None

    def __init__(
        self,
        typing: Any,
        target: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Any,
        local_types: Any,
    ) -> None:
        if library is None:
            library = self.library_class(target.codegen(), self.library_class.__name__)
            library.enable_object_caching()
        target = target.subtarget(mangler=_symbol)
        super().__init__(typing, target, library, args, return_type, flags, local_types)

    def compile_extra(self, func: Any) -> Any:
        """Return the compiled function."""
        with clock.compiling(), _no_collection():
            identity = bytecode.FunctionIdentity.from_function(func)
            # Numba's own names of types do not distinguish all of them
            whole = f"{digest_of(func)} {text_of_type(self.state.args)}"
            digest = hashlib.sha256(whole.encode()).hexdigest()[:24]
            kind = self.library_class.__name__[0]
            identity.unique_id = f"{kind}{digest}"
            identity.unique_name = f"{identity.func_qualname}${kind}{digest}"
            self.state.func_id = identity
            ExtractByteCode().run_pass(self.state)
            self.state.lifted, self.state.lifted_from = (), None
            return self._compile_bytecode()


class _InnerPipeline(_Pipeline):
    library_class = InnerLibrary


class _OuterPipeline(_Pipeline):
    library_class = OuterLibrary


class _SeparatePipeline(_Pipeline):
    library_class = SeparateLibrary


_PIPELINES = {one.library_class: one for one in (_InnerPipeline, _OuterPipeline, _SeparatePipeline)}


def inner(kernel: Any) -> Any:
    """Return the dispatcher of a kernel for calls by other kernels."""
    return _dispatcher(kernel, SeparateLibrary if kernel.separate else InnerLibrary)


def outer(kernel: Any) -> Any:
    """Return the dispatcher of a kernel for calls from Python."""
    return _dispatcher(kernel, SeparateLibrary if kernel.separate else OuterLibrary)


@functools.cache
def _dispatcher(kernel: Any, library: Any) -> Any:
    """Return what Numba calls: with wrappers for Python alone, no fast-math, division as in C."""
    # references are counted or not as each kernel says, not as its caller does
    options = {"error_model": "numpy", "no_cfunc_wrapper": True, **kernel.options}
    if library is InnerLibrary:
        options["no_cpython_wrapper"] = True
    made: Any = numba.njit(pipeline_class=_PIPELINES[library], **options)(kernel.py_func)
    made._cache = KernelCache(kernel.py_func, str(sorted(options.items())), library)
    if library is not OuterLibrary:
        made.get_call_template = functools.partial(_call_template, made)
    if kernel.separate:
        made.compile = functools.partial(_compile_in_turn, made)
    return made


def _compile_in_turn(dispatcher: Any, given: Any) -> Any:
    """Compile a kernel that many need, or wait for a worker beside this one that is at it."""
    if isinstance(given, tuple) and given in dispatcher.overloads:
        return dispatcher.overloads[given].entry_point
    with dispatcher._cache.turn(given):
        return type(dispatcher).compile(dispatcher, given)


def _call_template(dispatcher: Any, arguments: Any, keywords: Any) -> Any:
    """Return how kernels call this one: compiled once for all whole numbers, constants too."""
    template = type(dispatcher).get_call_template
    general = tuple(kinds.unliteral(kind) for kind in arguments)
    try:
        return template(dispatcher, general, keywords)
    except errors.TypingError:
        # a constant that must stay one, such as the place in a tuple
        return template(dispatcher, arguments, keywords)


def c_function(function: Callable[..., object], kind: Any) -> Any:
    """Return `function` as a C function of a kind: types of arguments, type of result."""
    options = {"error_model": "numpy"}
    if str(function.__module__).startswith("stiction."):
        C_FUNCTIONS.append((function, kind))
    _allow_helpers(plain_function(function))
    made: Any = CFunc(function, kind, locals={}, options=options, pipeline_class=_OuterPipeline)
    made._cache = KernelCache(function, "C function", OuterLibrary)
    made.compile()
    return made


def _allow_helpers(function: FunctionType) -> None:
    """Let compiled code call the plain functions of the same file that `function` calls."""
    for name in function.__code__.co_names:
        helper = function.__globals__.get(name)
        if isinstance(helper, FunctionType) and helper.__module__ == function.__module__:
            _allow(helper)


@functools.cache
def _allow(helper: FunctionType) -> None:
    _allow_helpers(helper)
    register_jitable(helper)
