"""How a kernel becomes code: numba's compiler without the work that kernels do not need.

    Python function -> types -> **inner form, LLVM code to be linked** -> outer form, machine code

A kernel that only kernels call (its inner form) is linked into its callers and optimised there,
with all that they know about its arguments. It is not optimised by itself and gets no machine
code, which would take a quarter of a first start. See `kernelcache` for who needs which form.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import caching, compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager
from numba.core.types.functions import BaseFunction

# Closures that are inlined and array expressions allocate, as no kernel may.
UNNEEDED_PASSES = frozenset({"inline_closure_likes", "nopython_rewrites"})

# Types of calls that were asked for before, by the flags of the compilation.
_answers: dict[str, dict[Any, Any]] = {}


class InnerCode(JITCodeLibrary):
    """LLVM code of a kernel and of all that it calls, good for linking into a caller."""

    def finalize(self) -> None:
        """Link in what is called; the caller optimises."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Refuse: there is no machine code."""
        raise RuntimeError(f"{name} has an inner form only, which cannot be called from Python")

    def bitcode(self) -> bytes:
        """The code as it is kept on disk."""
        self._ensure_finalized()
        return bytes(self._final_module.as_bitcode())

    @classmethod
    def from_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> InnerCode:
        """The code as it was kept on disk."""
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalized = True
        return library


class OuterCode(JITCodeLibrary):
    """Machine code of a kernel and of all that it calls, optimised in one go."""

    packed = False  # whether neighbouring operations become one on vectors

    def _optimize_final_module(self) -> None:
        # Numba's extra first round is there to prune reference counts; kernels have none.
        passes, builder = self._codegen._module_pass_manager(slp_vectorize=self.packed)
        passes.run(self._final_module, builder)


class PackedCode(OuterCode):
    """The same, with neighbouring operations, as on the boards of a position, done in vectors."""

    packed = True


class KernelCompiler(compiler.Compiler):
    """Numba's compiler of one function, for kernels; inner forms are those without a wrapper."""

    outer_code = OuterCode

    def compile_extra(self, func: Any) -> Any:
        """Compile `func` into the kind of code that its form needs."""
        state = self.state
        codegen, flags = state.targetctx.codegen(), state.flags
        flags.no_compile = flags.no_cpython_wrapper
        if flags.no_compile:
            state.library = InnerCode(codegen, func.__qualname__)
        else:
            state.library = self.outer_code(codegen, func.__qualname__)
            state.library.enable_object_caching()
        answers = _answers.setdefault(flags.summary(), {})
        state.typingctx = _RememberingContext(state.typingctx, answers)
        return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Numba's passes but for those that have nothing to do in kernels."""
        (default,) = super().define_pipelines()
        passes = PassManager(default.pipeline_name)
        for kind, description in default.passes:
            if kind.name() not in UNNEEDED_PASSES:
                passes.add_pass(kind, description)
        passes.finalize()
        return [passes]


class PackedKernelCompiler(KernelCompiler):
    """The same, for kernels whose neighbouring operations become vectors."""

    outer_code = PackedCode


class _RememberingContext:
    """Numba's typing context, but no question about an operation is worked out twice.

    The kernels of a search ask 5 000 times, and in all for 400 different answers.
    """

    def __init__(self, context: Any, answers: dict[Any, Any]) -> None:
        self._context, self._answers = context, answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """The signature with which `function` takes these types, None if it does not."""
        question = function, tuple(arguments)
        rememberable = isinstance(function, BaseFunction) and not keywords
        answer = self._answers.get(question) if rememberable else None
        if answer is None:
            answer = self._context.resolve_function_type(function, arguments, keywords)
            if rememberable and answer is not None:
                self._answers[question] = answer
        return answer


def register_inner(result: Any) -> Any:
    """Let other kernels call a compiled inner form; numba finds it by its `entry_point`."""
    if result.entry_point is not None:  # read from the disk, registered by numba
        return result
    result = result._replace(entry_point=result.library)
    result.target_context.insert_user_function(result.library, result.fndesc, [result.library])
    return result


def bind_environments(result: Any) -> None:
    """Give an outer form the Python constants of the inner forms that were linked into it."""
    for environment in result._find_referenced_environments():
        result.library.codegen.set_env(environment.env_name, environment)


class InnerFiles(caching.CompileResultCacheImpl):
    """How inner forms are kept on disk; outer forms are kept as numba keeps them."""

    def reduce(self, result: Any) -> tuple[Any, ...]:
        """What is written to the file."""
        result.fndesc.typemap = result.fndesc.calltypes = None  # as numba does: large, not needed
        return (
            result.library.name,
            result.library.bitcode(),
            result.fndesc,
            result.environment,
            result.signature,
            result.reload_init,
            tuple(result._find_referenced_environments()),
        )

    def rebuild(self, target_context: Any, reduced_data: tuple[Any, ...]) -> Any:
        """The compiled form from what was written."""
        name, bitcode, fndesc, environment, signature, reload_init, environments = reduced_data
        for initialise in reload_init:
            initialise()
        library = InnerCode.from_bitcode(target_context.codegen(), name, bitcode)
        return compiler.compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=library,
            signature=signature,
            objectmode=False,
            lifted=(),
            fndesc=fndesc,
            library=library,
            environment=environment,
            reload_init=reload_init,
            referenced_envs=environments,
        )
