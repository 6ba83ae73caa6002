"""How lanes are compiled: numba's type of them, their operators, and code written for registers.

Lanes are an LLVM vector. They may be longer than a register: the compiler splits them. The
operations that kernels call are in vectors.py.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from kibitz.jit.compile import COMPILED

I32, I64 = ir.IntType(32), ir.IntType(64)
Code = Any  # llvmlite values and types
F = TypeVar("F", bound=Callable[..., Any])

OPERATORS = {  # LLVM's names for integers and for floats
    "add": ("add", "fadd"),
    "sub": ("sub", "fsub"),
    "mul": ("mul", "fmul"),
    "truediv": ("", "fdiv"),
    "and": ("and_", ""),
    "or": ("or_", ""),
    "lshift": ("shl", ""),
    "rshift": ("ashr", ""),
}
COMPARISONS = {"lt": "<", "gt": ">", "eq": "=="}


class Lanes(types.Type):
    """Numba's type of lanes; those of comparisons are booleans."""

    def __init__(self, element: Any, count: int) -> None:
        self.element, self.count = element, count
        super().__init__(name=f"lanes({element} x {count})")


@extending.register_model(Lanes)
class _LanesModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


class Writer:
    """Where the code of a call is written, and the types of its arguments and its result."""

    def __init__(self, target: Any, builder: Any, signature: Any) -> None:
        self.target, self.builder = target, builder
        self.result, self.kinds = signature.return_type, signature.args

    def pointer(self, address: Code, kind: Lanes) -> Code:
        """An address as a pointer to lanes."""
        return self.builder.inttoptr(address, self.target.get_value_type(kind).as_pointer())

    def load(self, address: Code, kind: Lanes) -> Code:
        """Lanes from memory; they start on a multiple of their element's size."""
        return self.builder.load(self.pointer(address, kind), align=kind.element.bitwidth // 8)

    def as_lanes(self, value: Code, given: Any, wanted: Lanes) -> Code:
        """Lanes as they are, or a number in all lanes."""
        if isinstance(given, Lanes):
            return value
        number = self.target.cast(self.builder, value, given, wanted.element)
        empty = ir.Constant(ir.VectorType(number.type, 1), ir.Undefined)
        return self.take(self.builder.insert_element(empty, number, I32(0)), [0] * wanted.count)

    def alike(self, *values: Code) -> list[Code]:
        """The last arguments as lanes of the one type that they have in common."""
        kinds = self.kinds[-len(values) :]
        wanted = common(*kinds)
        return [self.as_lanes(*pair, wanted) for pair in zip(values, kinds, strict=True)]

    def take(self, lanes: Code, places: Any, others: Code = None) -> Code:
        """Chosen lanes of one vector, or of two laid end to end."""
        places = [*places]
        mask = ir.Constant(ir.VectorType(I32, len(places)), places)
        return self.builder.shuffle_vector(lanes, lanes if others is None else others, mask)

    def split(self, lanes: Code, count: int) -> list[Code]:
        """Pieces of `count` lanes."""
        starts = range(0, lanes.type.count, count)
        return [self.take(lanes, range(start, start + count)) for start in starts]

    def join(self, pieces: list[Code]) -> Code:
        """Pieces of equal length, a power of two of them, end to end."""
        while len(pieces) > 1:
            both = range(2 * pieces[0].type.count)
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [self.take(first, both, second) for first, second in pairs]
        return pieces[0]

    def combine(self, name: str, kind: Any, first: Code, second: Code) -> Code:
        """An operator, "larger" or "smaller", on lanes of a numba type."""
        if name in ("larger", "smaller"):  # of equals the second
            mask = self.combine("gt" if name == "larger" else "lt", kind, first, second)
            return self.builder.select(mask, first, second)
        floating = isinstance(kind, types.Float)
        if name in COMPARISONS:
            if floating:
                return self.builder.fcmp_ordered(COMPARISONS[name], first, second)
            compare = self.builder.icmp_signed if kind.signed else self.builder.icmp_unsigned
            return compare(COMPARISONS[name], first, second)
        instruction = OPERATORS[name][floating]
        if instruction == "ashr" and not kind.signed:
            instruction = "lshr"
        return getattr(self.builder, instruction)(first, second)

    def call(self, name: str, result: Code, *arguments: Code) -> Code:
        """A call of one of LLVM's own functions."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, arguments)


def declare(function: Any, result: Any, code: Any, *formal: Any) -> None:
    """Tell numba of a function: the type of its result, None for wrong arguments, and its code."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = inspect.signature(function).parameters

    def typing(_context: Any) -> Any:
        def typer(*kinds: Any) -> Any:
            return result(*kinds)

        parameters = [inspect.Parameter(name, kind) for name in names]
        typer.pysig = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return typer

    def lower(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return code(Writer(target, builder, signature), *arguments)

    extending.type_callable(function)(typing)
    extending.lower_builtin(function, *(formal or [types.Any] * len(names)))(lower)


def operation(result: Any, code: Any) -> Callable[[F], F]:
    """Decorate an operation on NumPy arrays: kernels get lanes and LLVM code instead."""

    def chosen(plain: F) -> F:
        if COMPILED:
            declare(plain, result, code)
        return plain

    return chosen


def common(*kinds: Any) -> Any:
    """The type of lanes that all arguments have, or take on if they are numbers."""
    shared = {kind for kind in kinds if isinstance(kind, Lanes)}
    fitting = all(isinstance(kind, Lanes | types.Number) for kind in kinds)
    return shared.pop() if len(shared) == 1 and fitting else None


def _declare_operator(name: str) -> None:
    def result(first: Any, second: Any) -> Any:
        kind = common(first, second)
        return Lanes(types.boolean, kind.count) if kind and name in COMPARISONS else kind

    def code(writer: Writer, *values: Code) -> Code:
        return writer.combine(name, common(*writer.kinds).element, *writer.alike(*values))

    for spelling in (f"__{name}__", f"__i{name}__"):
        for formal in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):
            if hasattr(operator, spelling):
                declare(getattr(operator, spelling), result, code, *formal)


if COMPILED:
    for _name in (*OPERATORS, *COMPARISONS):
        _declare_operator(_name)
