"""The one way kernels are compiled: `@kernel`, and tables that all kernels share.

Every compiled room stands on this module. It decides, in one place, what the disk cache of
compiled kernels depends on: the source of a kernel's module and of every kibitz module that
module imports, the versions of numba and Python, and the debugging flags. (Numba itself looks
at a kernel's own file only, and would serve old code after an edit in another file.)

Environment: `KIBITZ_CACHE` moves the cache folder, `KIBITZ_BOUNDSCHECK=1` compiles bounds
checks in, `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast, get_args, get_type_hints

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils, event

from kibitz.jit import cache
from kibitz.jit.target import has_feature

_config: Any = numba.config  # its stub names no setting
COMPILED = not _config.DISABLE_JIT
HAS_PEXT = COMPILED and has_feature("bmi2")

# Kernels do not allocate. Numba would keep a reference count for every array that is passed on, by
# atomic operations: without them the first prototype made 3 times the playouts (research/log).
# There is no public option for it; `_nrt` is in every version from 0.60 to 0.68.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": cache.BOUNDSCHECK,
    "no_cfunc_wrapper": True,  # kernels are not called from C
    "_nrt": False,
}

# A sum may be reordered into vector lanes, but infinities and NaN keep their meaning.
REASSOCIATE = frozenset({"reassoc", "contract", "nsz"})

SELDOM = 100_000  # objects made between two collections of garbage
FULL = int(_config.OPT)
LIGHT = 1  # level of optimisation; at 0 dead constants keep some kernels out of the cache

NO_ADDRESS = 1  # an address, in a process that runs nothing

_HINTS = {
    int: types.int64,
    bool: types.boolean,
    float: types.float64,
    np.float32: types.float32,
    type(None): types.none,
}

F = TypeVar("F", bound=Callable[..., Any])


def _load_without_scipy(module: str) -> None:
    """Import a module of numba's that asks whether SciPy can be imported; kernels need none of it.

    That alone was a tenth of a start. Without it `np.convolve` of compiled code, a user's own
    perhaps, is a plain loop; what needs BLAS asks again when it is compiled.
    """
    asked, modules = "scipy.linalg.cython_blas", cast(dict[str, Any], sys.modules)
    if asked in modules:
        return
    modules[asked] = None  # so Python marks what cannot be imported
    try:
        importlib.import_module(module)
    finally:
        del modules[asked]


_load_without_scipy("numba.np.arraymath")


class Kernel:
    """A compiled function, in two forms: one that Python calls, and one that other kernels call.

    Only the first has the code that turns Python's objects into machine words, which takes as long
    to compile as a small kernel. Most kernels are called by kernels only.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.py_func: Any = function
        self._options = options

    @functools.cached_property
    def for_python(self) -> Any:
        """The form that Python calls; made when it is asked for, as most never are in a process."""
        return self._form(self.py_func)

    @functools.cached_property
    def for_kernels(self) -> Any:
        """The form that other kernels call."""
        form = self._form(_twin(self.py_func), no_cpython_wrapper=True)
        form.kernel = self
        return form

    def _form(self, function: Callable[..., Any], **options: Any) -> Any:
        decorate: Any = numba.njit  # its stub does not know _nrt
        form = decorate(**OPTIONS, **self._options, **options)(function)
        cache.attach(form)
        return form

    def __call__(self, *arguments: Any) -> Any:
        """Call the form for Python."""
        return self.for_python(*arguments)

    @property
    def nopython_signatures(self) -> list[Any]:
        """Signatures that either form has been compiled for."""
        return [*self.for_python.nopython_signatures, *self.for_kernels.nopython_signatures]

    def inspect_llvm(self) -> dict[Any, str]:
        """LLVM code by signature, of the form for Python."""
        code: dict[Any, str] = self.for_python.inspect_llvm()
        return code


class CalledKernel(Kernel):
    """A kernel that is compiled once and called; other kernels are copied into their callers.

    Its annotation says what it returns. So a process that runs nothing of what it compiles can
    compile what calls it first, and has `postponed`: the called kernels that are left to compile.
    """

    postponed: list[tuple[CalledKernel, Any]] | None = None

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        self._symbols: dict[Any, str] = {}

    def returned(self) -> Any:
        """The type that is returned, by the annotation."""
        return _type_of_hint(get_type_hints(self.py_func)["return"])

    def form(self, kinds: Any) -> cache.Form:
        """Return the name of the compiled form for such types, in any process."""
        return self.__module__, self.py_func.__qualname__, kinds

    def bind(self, kinds: Any) -> str:
        """Make a compiled form known to numba and LLVM by the name that is returned."""
        if kinds not in self._symbols:
            if self.postponed is None:
                address = self._address(kinds)
            else:
                address = NO_ADDRESS
                self.postponed.append((self, kinds))
            text = hashlib.sha256(str(kinds).encode()).hexdigest()[:16]
            symbol = f"{self.__module__}.{self.py_func.__qualname__}.{text}"
            llvm.add_symbol(symbol, address)
            extending.lower_builtin(symbol, *kinds)(_call_of(symbol))
            self._symbols[kinds] = symbol
        return self._symbols[kinds]

    def _address(self, kinds: Any) -> int:
        self.for_kernels.compile(kinds)
        compiled = self.for_kernels.overloads[kinds]
        if compiled.signature.return_type != self.returned():
            raise TypeError(f"{self.__module__}.{self.py_func.__qualname__}: {compiled.signature}")
        address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        return address


def _type_of_hint(hint: Any) -> Any:
    if hint in _HINTS:
        return _HINTS[hint]
    return types.Tuple([_type_of_hint(part) for part in get_args(hint)])


def _call_of(symbol: str = "", itself: CalledKernel | None = None) -> Any:
    def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention, kinds = target.call_conv, (signature.return_type, signature.args)
        kind, function = convention.get_function_type(*kinds), builder.function
        if itself is None:
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
        elif _twin_name(itself.py_func.__name__) not in function.name:
            raise TypeError(f"{itself.py_func.__name__} is called by what it calls")
        status, result = convention.call_function(builder, function, *kinds, arguments)
        with cgutils.if_unlikely(builder, status.is_error):  # bounds checks may raise
            convention.return_status_propagate(builder, status)
        return result

    return code


def _twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function under another name, by which the cache keeps its form apart."""
    code, scope, cells = function.__code__, function.__globals__, function.__closure__
    twin = FunctionType(code, scope, function.__name__, function.__defaults__, cells)
    twin.__qualname__ = _twin_name(function.__qualname__)
    twin.__module__ = function.__module__
    return twin


def _twin_name(name: str) -> str:
    return f"{name}_for_kernels"


class _KernelType(types.Dispatcher):
    """What a kernel is to numba while it compiles another one."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call; constants are numbers like others, not forms apart."""
        numbers = tuple(map(types.unliteral, args))
        dispatcher: Any = self.dispatcher
        called = isinstance(dispatcher.kernel, CalledKernel)
        if called and CalledKernel.postponed is not None:
            signature: Any = dispatcher.kernel.returned()(*numbers)
        else:
            signature = super().get_call_type(context, numbers, kws)
        if called:
            cache.needs.note({dispatcher.kernel.form(signature.args)})
        else:
            cache.needs.note(cache.needs.of(dispatcher.overloads[signature.args]))
        return signature

    def get_impl_key(self, sig: Any) -> Any:
        """Return what numba finds the code of a call by."""
        dispatcher: Any = self.dispatcher
        if isinstance(dispatcher.kernel, CalledKernel):
            return dispatcher.kernel.bind(sig.args)
        return super().get_impl_key(sig)


class _RecursionType(types.Callable, types.Dummy):
    """What a called kernel is to numba inside itself, where its annotation says what it returns.

    Numba by itself would infer all types of the kernel anew at every call.
    """

    def __init__(self, kernel: CalledKernel) -> None:
        self._kernel = kernel
        super().__init__(f"recursion of {kernel.__module__}.{kernel.py_func.__qualname__}")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:  # noqa: ARG002
        """Return the signature of a call."""
        return self._kernel.returned()(*map(types.unliteral, args))

    def get_call_signatures(self) -> Any:
        """Return no signatures: any call may be one."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return what numba finds the code of a call by."""
        extending.lower_builtin(self.name, *sig.args)(_call_of(itself=self._kernel))
        return self.name


extending.register_model(_KernelType)(extending.models.OpaqueModel)
extending.register_model(_RecursionType)(extending.models.OpaqueModel)


@extending.typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _context: Any) -> Any:
    if isinstance(kernel, CalledKernel) and kernel.for_kernels.is_compiling:
        return _RecursionType(kernel)
    return _KernelType(kernel.for_kernels)


class _Levels(event.Listener):
    """Optimises what other kernels take in only lightly, as LLVM optimises it again there.

    Meanwhile garbage is collected seldom: there is little of it among the objects of a compiler.
    """

    def __init__(self) -> None:
        self._levels: list[Any] = []  # of the functions being compiled, one for another
        self._thresholds = gc.get_threshold()

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, perhaps for another one."""
        if not self._levels:
            self._thresholds = gc.get_threshold()
            gc.set_threshold(SELDOM, *self._thresholds[1:])
        called = isinstance(getattr(event.data["dispatcher"], "kernel", None), CalledKernel)
        self._levels.append(_config.OPT)
        _config.OPT = self._levels[0] if called or len(self._levels) == 1 else min(LIGHT, FULL)

    def on_end(self, _event: Any) -> None:
        """Numba has compiled a function, or has failed to."""
        _config.OPT = self._levels.pop()
        if not self._levels:
            gc.set_threshold(*self._thresholds)


event.register("numba:compile", _Levels())


def kernel(function: F) -> F:
    """Compile `function` on first call, cached on disk, without the GIL and without raising."""
    return cast(F, Kernel(function)) if COMPILED else function


def called_kernel(function: F) -> F:
    """Like `kernel`, for what is large and has several callers: it is optimised once."""
    return cast(F, CalledKernel(function)) if COMPILED else function


def inlined_kernel(function: F) -> F:
    """Like `kernel`, for a piece of one large kernel: numba copies its source into the caller.

    Other kernels are inlined by LLVM, after they have been compiled by themselves, if it finds them
    small enough. What is called from one place only compiles faster as a part of its caller, and
    pieces that are often called run faster: their arguments need not go through memory.
    """
    if not COMPILED:
        return function
    decorate: Any = numba.njit
    dispatcher = decorate(**OPTIONS, inline="always")(function)
    cache.attach(dispatcher)
    return cast(F, dispatcher)


def sum_kernel(function: F) -> F:
    """Like `kernel`, for dot products: floating-point sums may be reassociated into vectors."""
    return cast(F, Kernel(function, fastmath=set(REASSOCIATE))) if COMPILED else function


def intrinsic(plain: F) -> Callable[[Callable[..., Any]], F]:
    """Decorate an LLVM code generator that replaces `plain` inside kernels.

    `plain` is the same operation in Python: it serves when the compiler is off, and it is the
    oracle in tests.
    """

    def choose(generator: Callable[..., Any]) -> F:
        return cast(F, extending.intrinsic(prefer_literal=True)(generator)) if COMPILED else plain

    return choose


# --- tables shared by all kernels ------------------------------------------------------------

_tables: dict[str, np.ndarray] = {}


def static_table(name: str, table: np.ndarray) -> Callable[[int], Any]:
    """Give kernels read access to `table` (one-dimensional) as `reader(index)`.

    A global array would be frozen into every cached kernel, an argument would burden every
    signature. The address is bound by symbol name instead, when a kernel is loaded; the contents
    must not change afterwards.
    """
    _tables[name] = table
    llvm.add_symbol(f"kibitz_{name}", table.ctypes.data)
    numba_type = numba.from_dtype(table.dtype)

    def read(index: int) -> Any:
        return table[index]

    def generate(_context: Any, index: Any) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            llvm_type = target.get_data_type(numba_type)
            symbol = f"kibitz_{name}"
            base = builder.module.globals.get(symbol) or ir.GlobalVariable(
                builder.module, llvm_type, symbol
            )
            value = builder.load(builder.gep(base, [arguments[0]]))
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        return numba_type(index), code

    return intrinsic(read)(generate)
