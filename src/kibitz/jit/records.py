"""Records: how compiled rooms hold state and reach large arrays.

A record is one row of a structured array: one pointer to a kernel, with named fields. Large arrays
hang on a record by address (`address_of`), and kernels read them through accessors made by
`record_at` and `value_at`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from kibitz.jit.cache import BOUNDSCHECK
from kibitz.jit.compile import COMPILED, intrinsic

CACHE_LINE = 64  # bytes; threads that write into the same one wait for each other

_plain_arrays: dict[int, np.ndarray] = {}  # only filled when the compiler is off


def address_of(array: np.ndarray) -> int:
    """Address to store in a record; the code that stores it keeps the array alive."""
    address = int(array.ctypes.data)
    if not COMPILED:
        _plain_arrays[address] = array
    return address


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that start on a line of the cache."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    array: np.ndarray = memory[start : start + size].view(dtype).reshape(shape)
    return array


def plain_array(address: int) -> np.ndarray:
    """The array behind an address, where the compiler is off."""
    return _plain_arrays[int(address)]


def one_record(dtype: np.dtype) -> Any:
    """A zeroed record, usable alike by kernels and by plain Python."""
    return np.zeros(1, dtype=dtype).view(np.recarray)[0]


def as_record(numbers: NamedTuple) -> Any:
    """A NamedTuple of numbers and NamedTuples as a record of the same field names.

    The first field of the record is named after the class, so that kernels can be chosen by it.
    """
    record = one_record(_dtype_of(numbers))
    _fill(record, numbers)
    return record


def class_name_of(record_type: Any) -> str:
    """Name of the class a record was made from, given the record or its numba type."""
    if isinstance(record_type, types.Record):
        return next(iter(record_type.fields))
    return str(record_type.dtype.names[0])


class _KernelByClass:
    def __init__(
        self, kernels: Mapping[str, Callable[..., Any]], default: Callable[..., Any] | None
    ) -> None:
        self._kernels, self._default = kernels, default

    def __call__(self, *arguments: Any) -> Any:
        return self.choose(arguments[0])(*arguments)

    def choose(self, record: Any) -> Callable[..., Any]:
        """Return the kernel for a record or its numba type."""
        name = class_name_of(record)
        if self._default is None:
            return self._kernels[name]
        return self._kernels.get(name, self._default)


class _KernelByClassType(types.Callable, types.Dummy):
    """What such a function is to numba: at every call the kernel that is chosen there."""

    def __init__(self, function: _KernelByClass) -> None:
        self._choose = function.choose
        super().__init__(f"kernel by class {id(function)}")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        return numba.typeof(self._choose(args[0])).get_call_type(context, args, kws)

    def get_call_signatures(self) -> Any:
        """Return no signatures: any call may be one."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return what numba finds the compiled kernel by."""
        return numba.typeof(self._choose(sig.args[0])).get_impl_key(sig)


extending.register_model(_KernelByClassType)(extending.models.OpaqueModel)


@extending.typeof_impl.register(_KernelByClass)
def _type_of_kernel_by_class(function: _KernelByClass, _context: Any) -> Any:
    return _KernelByClassType(function)


def kernel_by_class(
    kernels: Mapping[str, Callable[..., Any]], default: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function that calls the kernel named after the class of its first argument, a record.

    Of a class that the table has not, the kernel is the default, if there is one. Numba
    picks the kernel when the caller is compiled; the table may be filled until then.
    """
    return _KernelByClass(kernels, default)


def _dtype_of(numbers: Any) -> np.dtype:
    kinds: list[Any] = [(type(numbers).__name__, np.int64)]
    for name, value in zip(numbers._fields, numbers, strict=True):
        nested = isinstance(value, tuple)
        number = np.float64 if isinstance(value, float) else np.int64
        kinds.append((name, _dtype_of(value) if nested else number))
    return np.dtype(kinds, align=True)


def _fill(record: Any, numbers: Any) -> None:
    for name, value in zip(numbers._fields, numbers, strict=True):
        if isinstance(value, tuple):
            _fill(record[name], value)
        else:
            record[name] = value


# --- arrays behind a record -----------------------------------------------------------------------


def _element(
    builder: Any, owner: Any, arguments: Any, field: str, size: int, checked: bool = BOUNDSCHECK
) -> Any:
    """Address of element `arguments[1]` of the array whose address is in the owner's `field`."""
    word = ir.IntType(64)
    place = cgutils.get_record_member(builder, arguments[0], owner.offset(field), word)
    base = builder.load(place)
    base.set_metadata("invariant.load", builder.module.add_metadata([]))
    index = arguments[1]
    if checked:
        index = _checked(builder, owner, arguments, field)
    return builder.add(base, builder.mul(index, word(size)))


def _checked(builder: Any, owner: Any, arguments: Any, field: str) -> Any:
    """In debug builds an index out of bounds counts as a fault and becomes 0."""
    word = ir.IntType(64)
    sizes = cgutils.get_record_member(builder, arguments[0], owner.offset(f"{field}_size"), word)
    outside = builder.icmp_unsigned(">=", arguments[1], builder.load(sizes))
    faults = cgutils.get_record_member(builder, arguments[0], owner.offset("faults"), word)
    builder.atomic_rmw("add", faults, builder.zext(outside, word), "monotonic")
    return builder.select(outside, word(0), arguments[1])


def record_at(dtype: np.dtype, field: str) -> Callable[[Any, int], Any]:
    """Accessor `at(owner, index)`: the record at `index` of the array `field` leads to.

    The owner has the fields `<field>` (address), `<field>_size` (elements) and `faults`.
    """
    record_type = numba.from_dtype(dtype)

    def plain(owner: Any, index: int) -> Any:
        return plain_array(owner[field]).view(dtype).view(np.recarray)[index]

    def generate(_context: Any, owner: Any, _index: Any) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address = _element(builder, owner, arguments, field, dtype.itemsize)
            return builder.inttoptr(address, target.get_value_type(record_type))

        return record_type(owner, types.int64), code

    return intrinsic(plain)(generate)


def value_at(dtype: Any, field: str) -> Callable[[Any, int], Any]:
    """Accessor `at(owner, index)`: the number at `index` of the array `field` leads to."""
    number_type = numba.from_dtype(np.dtype(dtype))

    def plain(owner: Any, index: int) -> Any:
        return plain_array(owner[field])[index]

    def generate(_context: Any, owner: Any, _index: Any) -> Any:
        def code(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            size = np.dtype(dtype).itemsize
            address = _element(builder, owner, arguments, field, size)
            pointer = target.get_value_type(number_type).as_pointer()
            return builder.load(builder.inttoptr(address, pointer))

        return number_type(owner, types.int64), code

    return intrinsic(plain)(generate)


def prefetch_at(dtype: np.dtype, field: str, *, write: bool = False) -> Callable[[Any, int], None]:
    """Return `prefetch(owner, index)`: it loads the cache line of a record ahead of its use.

    No promise to the program: results are the same without it, and any index does no harm. To
    `write`, the line is taken away from other processors.
    """

    def plain(owner: Any, index: int) -> None:
        """Memory is where it is."""

    def generate(_context: Any, owner: Any, _index: Any) -> Any:
        def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            byte = ir.IntType(8).as_pointer()
            address = _element(builder, owner, arguments, field, dtype.itemsize, checked=False)
            kind = ir.FunctionType(ir.VoidType(), [byte, *[ir.IntType(32)] * 3])
            fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            how, keep, data = (ir.IntType(32)(word) for word in (int(write), 3, 1))
            builder.call(fetch, [builder.inttoptr(address, byte), how, keep, data])

        return types.void(owner, types.int64), code

    return intrinsic(plain)(generate)
