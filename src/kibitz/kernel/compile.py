"""The one way kernels are compiled: `@kernel`, and tables that all kernels share.

Every compiled room stands on this module. It decides, in one place, what the disk cache of
compiled kernels depends on: the source of a kernel's module and of every kibitz module that
module imports, the versions of numba and Python, and the debugging flags. (Numba itself looks
at a kernel's own file only, and would serve old code after an edit in another file.)

Environment: `KIBITZ_CACHE` moves the cache folder, `KIBITZ_BOUNDSCHECK=1` compiles bounds
checks in, `NUMBA_DISABLE_JIT=1` runs every kernel as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import extending

from kibitz.kernel import cache

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
HAS_PEXT = COMPILED and bool(llvm.get_host_cpu_features().get("bmi2", False))

# Kernels do not allocate. Numba would keep a reference count for every array that is passed on, by
# atomic operations: without them the first prototype made 3 times the playouts (docs/log.md). There
# is no public option for it; `_nrt` is in every version from 0.60 to 0.68.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": cache.BOUNDSCHECK,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C
    "_nrt": False,
}

# A sum may be reordered into vector lanes, but infinities and NaN keep their meaning.
REASSOCIATE = frozenset({"reassoc", "contract", "nsz"})

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first call, cached on disk, without the GIL and without raising."""
    return _compiled(function)


def inlined_kernel(function: F) -> F:
    """Like `kernel`, for a piece of one large kernel: numba copies its source into the caller.

    Other kernels are inlined by LLVM, after they have been compiled by themselves. What is called
    from one place only compiles faster as a part of its caller.
    """
    return _compiled(function, inline="always")


def sum_kernel(function: F) -> F:
    """Like `kernel`, for dot products: floating-point sums may be reassociated into vectors."""
    return _compiled(function, fastmath=set(REASSOCIATE))


def _compiled(function: F, **options: Any) -> F:
    if not COMPILED:
        return function
    decorate: Any = numba.njit  # its stub does not know _nrt
    dispatcher = decorate(**OPTIONS, **options)(function)
    cache.attach(dispatcher)
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
