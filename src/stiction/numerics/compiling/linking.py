"""Compilation of kernels: each is lowered once, and optimised once together with its callees.

Numba optimises each function with all its callees and emits machine code for it, so that a kernel
at depth d of the call graph is optimised d times. Here three kinds of code libraries avoid this. An
inner kernel, which kernels call, is only lowered to the intermediate representation of LLVM (IR).
An outer kernel, which Python calls, links the inner kernels that it can call, each once, and is
optimised as a whole. A separate kernel has its own machine code, to which its callers jump. No
option permits a reordering of arithmetic, so that results are the same to the last bit.

Symbols are named by digests, so that a process can link inner kernels from the cache of another
one. `jit` imports this module only when a kernel is compiled or loaded.
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


# symbol in a module that makes Numba treat the library as valid in this process only
_NOT_CACHEABLE = '@"numba.dynamic.globals.apart" = weak_odr constant i8 0'
# all C functions that this process has compiled, with their types
C_FUNCTIONS: list[tuple[Any, Any]] = []


class _Silent:
    """A code generator without its operations on machine code, for inner kernels."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def set_env(self, name: str, env: object) -> None:
        """Do nothing: there is no machine code."""


class InnerLibrary(codegen.JITCodeLibrary):
    """The unoptimised LLVM IR of one inner kernel.

    Attributes
    ----------
    callees : libraries of the kernels that it calls
    origin : module and name of the kernel and the types of its arguments, by which another
        process finds it
    emits : whether machine code is emitted
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
        """The code generator."""
        return self._silent

    def finalize(self) -> None:
        """Link libraries other than kernels; neither optimise nor emit."""
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
        """Return the IR of this kernel without its callees, for repeated linking."""
        self._ensure_finalized()
        if self._own is None:
            self._own = _shared(self._final_module.clone())
        return self._own

    def reached(self) -> list[InnerLibrary | SeparateLibrary]:
        """Return this library and all its direct and indirect callees, each once.

        Callees of separate kernels are not included.
        """
        reached: dict[InnerLibrary | SeparateLibrary, None] = {}
        waiting: list[InnerLibrary | SeparateLibrary] = [self]
        while waiting:
            library = waiting.pop()
            if library not in reached:
                library._ensure_finalized()
                reached[library] = None
                waiting += library.callees if isinstance(library, InnerLibrary) else []
        return list(reached)

    def _get_module_for_linking(self) -> Any:
        """Return the IR with that of all callees, for libraries of Numba."""
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
        """Return the IR of this kernel without its callees, and the origins of the callees."""
        return "inner", self.own().as_bitcode(), tuple(one.origin for one in self.callees)

    @classmethod
    def loaded(cls, generator: Any, state: Any) -> InnerLibrary:
        """Restore a library from the state of `serialize_using_object_code`."""
        _, code, origins = state
        self = cls(generator, "inner")
        self._final_module = self._own = llvm.parse_bitcode(code)
        self._finalized = True
        self.callees = _found_again(origins)
        return self


def _found_again(origins: Any) -> list[Any]:
    """Return the libraries of kernels by their origins; compile those that are not cached."""
    libraries = []
    for module, name, given in origins:
        dispatcher = inner(getattr(importlib.import_module(module), name))
        dispatcher.compile(given)
        libraries.append(dispatcher.overloads[given].library)
    return libraries


class OuterLibrary(codegen.JITCodeLibrary):
    """The machine code of an outer kernel, with all its callees except separate ones.

    Attributes
    ----------
    callees : libraries of separate kernels, to which it jumps
    """

    emits = True

    def __init__(self, generator: Any, name: str) -> None:
        super().__init__(generator, name)
        self.callees: list[SeparateLibrary] = []
        # functions defined in this library
        self._own_names: list[str] = []

    def finalize(self) -> None:
        """Link each library once, optimise the module, emit machine code."""
        self._raise_if_finalized()
        modules: dict[Any, Callable[[], Any]] = {}
        separate: dict[SeparateLibrary, None] = {}
        for library in self._linking_libraries:
            below: list[Any] = [library]
            if isinstance(library, InnerLibrary):
                below = [*library.reached()]
            for one in below:
                if isinstance(one, SeparateLibrary):
                    separate[one] = None
                elif isinstance(one, InnerLibrary):
                    modules[one] = one.own
                else:
                    modules[one] = one._get_module_for_linking
        self.callees = list(separate)
        self._own_names = [one.name for one in self._final_module.functions if _made_here(one)]
        for module in modules.values():
            self._final_module.link_in(module(), preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        """Return the machine code, its defined symbols, and its undefined ones."""
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
        """Restore a library from the state of `serialize_using_object_code`."""
        _, code, names, foreign, called = state
        callees = _found_again(called)
        target = cpu_target.target_context
        rtsys.initialize(target)
        if any(llvm.address_of_symbol(name) is None for name in foreign):
            # load Numba's helpers (random numbers, linear algebra) only if needed: it takes long
            target.refresh()
        self = cls(generator, "outer")
        self.callees = callees
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        generator._engine._defined_symbols.update(names)
        return self


class SeparateLibrary(OuterLibrary):
    """The machine code of a separate kernel, with all its callees except separate ones.

    Attributes
    ----------
    origin : module, name and types of arguments, as for an inner kernel
    """

    def __init__(self, generator: Any, name: str) -> None:
        super().__init__(generator, name)
        self.origin: tuple[str, str, Any] | None = None

    def finalize(self) -> None:
        """Emit machine code, and register its symbols, by which callers jump to it."""
        super().finalize()
        self._publish()

    def _publish(self) -> None:
        """Register the symbols of the functions of this library in the process."""
        for name in self._own_names:
            llvm.add_symbol(name, self.get_pointer_to_function(name))

    def _get_module_for_linking(self) -> Any:
        """Return a marker that makes libraries of Numba not cacheable.

        In another process they would jump to a missing symbol and crash.
        """
        return llvm.parse_assembly(_NOT_CACHEABLE)

    def serialize_using_object_code(self) -> Any:
        """Return the state of an outer library, and the published symbols."""
        return *super().serialize_using_object_code(), self._own_names

    @classmethod
    def loaded(cls, generator: Any, state: Any) -> SeparateLibrary:
        """Restore a library from the state of `serialize_using_object_code`."""
        *whole, names = state
        self = super().loaded(generator, whole)
        assert isinstance(self, cls)
        self._own_names = names
        self._publish()
        return self


def _made_here(function: Any) -> bool:
    """Return whether a function of a module is defined in it and visible outside."""
    return not function.is_declaration and function.linkage == llvm.Linkage.external


def _shared(module: Any) -> Any:
    """Set the linkage that allows a definition in several modules, and removes it if unused."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "linkonce_odr"
    return module


# ---- pipelines


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection while compiling, which saves a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _symbol(name: str, given: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """Return the symbol of a function, which is the same in every process.

    Numba's own symbols contain numbers of structured types, in the order of their use in a process.
    """
    types = hashlib.sha256(text_of_type(given).encode()).hexdigest()[:16]
    symbol: str = default_mangler(f"{name}_{types}", (), abi_tags=abi_tags, uid=uid)
    return symbol


class _Pipeline(compiler.Compiler):
    """The compiler passes of Numba, with names of functions that are the same in every process."""

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
            # Numba's own type names are not unique
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


# compiler pipeline of each kind of library
_PIPELINES = {one.library_class: one for one in (_InnerPipeline, _OuterPipeline, _SeparatePipeline)}


def inner(kernel: Any) -> Any:
    """Return the dispatcher of a kernel for calls by other kernels."""
    return _dispatcher(kernel, SeparateLibrary if kernel.separate else InnerLibrary)


def outer(kernel: Any) -> Any:
    """Return the dispatcher of a kernel for calls from Python."""
    return _dispatcher(kernel, SeparateLibrary if kernel.separate else OuterLibrary)


@functools.cache
def _dispatcher(kernel: Any, library: Any) -> Any:
    """Return the dispatcher of a kernel, without fast-math and with division as in C."""
    # reference counting is an option of each kernel, independent of its caller
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
    """Compile a separate kernel, or wait for another worker that compiles it."""
    if isinstance(given, tuple) and given in dispatcher.overloads:
        return dispatcher.overloads[given].entry_point
    with dispatcher._cache.turn(given):
        return type(dispatcher).compile(dispatcher, given)


def _call_template(dispatcher: Any, arguments: Any, keywords: Any) -> Any:
    """Return the call template for general types: literal integers need no own compilation."""
    template = type(dispatcher).get_call_template
    general = tuple(kinds.unliteral(kind) for kind in arguments)
    try:
        return template(dispatcher, general, keywords)
    except errors.TypingError:
        # a literal that must remain one, such as an index of a tuple
        return template(dispatcher, arguments, keywords)


def c_function(function: Callable[..., object], kind: Any) -> Any:
    """Return `function` as a C function; `kind` has the types of its arguments and its result."""
    options = {"error_model": "numpy"}
    if str(function.__module__).startswith("stiction."):
        C_FUNCTIONS.append((function, kind))
    _allow_helpers(plain_function(function))
    made: Any = CFunc(function, kind, locals={}, options=options, pipeline_class=_OuterPipeline)
    made._cache = KernelCache(function, "C function", OuterLibrary)
    made.compile()
    return made


def _allow_helpers(function: FunctionType) -> None:
    """Register the plain functions of the same file that `function` calls."""
    for name in function.__code__.co_names:
        helper = function.__globals__.get(name)
        if isinstance(helper, FunctionType) and helper.__module__ == function.__module__:
            _allow(helper)


@functools.cache
def _allow(helper: FunctionType) -> None:
    """Register a function and those that it calls for compilation by Numba, once."""
    _allow_helpers(helper)
    register_jitable(helper)
