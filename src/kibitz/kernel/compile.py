"""The one way kernels are compiled: `@kernel`, and tables that all kernels share.

Every compiled room stands on this module. It decides, in one place, what the disk cache of
compiled kernels depends on: the source of a kernel's module and of every kibitz module that
module imports, the versions of numba and Python, and the debugging flags. (Numba itself looks
at a kernel's own file only, and would serve old code after an edit in another file.)

Environment: `KIBITZ_CACHE` moves the cache folder, `KIBITZ_BOUNDSCHECK=1` compiles bounds
checks in, `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import extending

from kibitz.kernel import cache, passes

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
BOUNDSCHECK = os.environ.get("KIBITZ_BOUNDSCHECK", "") not in ("", "0")
HAS_PEXT = COMPILED and bool(llvm.get_host_cpu_features().get("bmi2", False))

# A sum may be reordered into vector lanes, but infinities and NaN keep their meaning.
REASSOCIATE = frozenset({"reassoc", "contract", "nsz"})

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first call, cached on disk, without the GIL and without raising.

    Kernels do not allocate: reference counts, which numba would keep for every array passed on,
    are atomic operations and cost more than the work of a small kernel.
    """
    return _compiled(function, fastmath=False)


def inlined_kernel(function: F) -> F:
    """Like `kernel`, for what is written apart only to be read: its code becomes its caller's.

    Each kernel is optimised with all that it calls, and again with every kernel that calls it, so
    that long chains of calls compile slowly.
    """
    return _compiled(function, fastmath=False, inline="always")


def packed_kernel(function: F) -> F:
    """Like `kernel`, with neighbouring operations done in vectors, in all that it calls, too.

    It makes some 3 % more playouts, but generates moves no faster: measure before choosing it.
    """
    return _compiled(function, fastmath=False, compiler=passes.PackedKernelCompiler)


def sum_kernel(function: F) -> F:
    """Like `kernel`, for dot products: floating-point sums may be reassociated into vectors."""
    return _compiled(function, fastmath=set(REASSOCIATE))


def _compiled(
    function: F, fastmath: Any, inline: str = "never", compiler: Any = passes.KernelCompiler
) -> F:
    if not COMPILED:
        return function
    decorate: Any = numba.njit  # its stub does not know _nrt
    dispatcher = decorate(
        nogil=True,
        error_model="numpy",
        boundscheck=BOUNDSCHECK,
        fastmath=fastmath,
        inline=inline,
        no_cfunc_wrapper=True,
        _nrt=False,
        pipeline_class=compiler,
    )(function)
    flags = f"bounds={BOUNDSCHECK},fast={fastmath},compiler={compiler.__name__}"
    cache.attach(dispatcher, function, flags=flags)
    return dispatcher  # type: ignore[no-any-return]


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
