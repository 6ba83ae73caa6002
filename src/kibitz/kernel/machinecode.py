"""From the code that numba makes of a function to optimised code, and to machine code.

Two forms of a kernel are told apart. What is called, by Python or by symbol, is optimised well and
becomes machine code. What is copied into other kernels is only made smaller, as LLVM optimises each
copy with its surroundings, and the cache keeps it without machine code. Both go through LLVM's
standard pipeline once; numba would do so twice, to count references that kernels do not have.

Inner parts of numba: `JITCodeLibrary` is the code of one function, made by the target's `codegen`,
whose `set_env` gives machine code the Python objects that it uses. Functions that are no kernels
are compiled as ever.
"""

from __future__ import annotations

import gc
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import codegen, event
from numba.core.registry import cpu_target

_config: Any = numba.config

CALLED, COPIED = "called", "copied"  # forms of a kernel
LIGHT = 1  # level of optimisation of what is copied
SELDOM = 100_000  # objects made between two collections of garbage


class _Forms(event.Listener):
    """Which form is being compiled.

    Meanwhile garbage is collected seldom: there is little of it among the objects of a compiler.
    """

    def __init__(self) -> None:
        self._forms: list[str] = []  # of functions that are compiled, one for another
        self._thresholds = gc.get_threshold()

    @property
    def current(self) -> str:
        """The form, empty where it is no kernel."""
        return self._forms[-1] if self._forms else ""

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, perhaps for another one."""
        if not self._forms:
            self._thresholds = gc.get_threshold()
            gc.set_threshold(SELDOM, *self._thresholds[1:])
        self._forms.append(getattr(event.data["dispatcher"], "form", ""))

    def on_end(self, _event: Any) -> None:
        """Numba has compiled a function, or has failed to."""
        self._forms.pop()
        if not self._forms:
            gc.set_threshold(*self._thresholds)


_forms = _Forms()
event.register("numba:compile", _forms)


class _Library(codegen.JITCodeLibrary):
    """The code of one function; with `copied` set it has no machine code."""

    copied = False

    def finalize(self) -> None:
        """Optimise the code and what is linked into it."""
        self.copied = _forms.current == COPIED
        super().finalize()

    def _optimize_functions(self, module: Any) -> None:
        if _forms.current:
            module.data_layout = self._codegen._data_layout
        else:
            super()._optimize_functions(module)

    def _optimize_final_module(self) -> None:
        if not _forms.current:
            super()._optimize_final_module()
            return
        options, level = llvm.create_pipeline_tuning_options(), int(_config.OPT)
        options.speed_level = min(level, LIGHT) if self.copied else level
        options.loop_vectorization = not self.copied and bool(_config.LOOP_VECTORIZE)
        options.slp_vectorization = not self.copied and bool(_config.SLP_VECTORIZE)
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        if self.copied:
            self._verify_declare_only_symbols()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        """Return what the cache keeps."""
        keep = super().serialize_using_object_code
        return self.serialize_using_bitcode() if self.copied else keep()

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "bitcode":
            return super()._unserialize(codegen, state)
        library = cls(codegen, name)
        library.copied, library._final_module = True, llvm.parse_bitcode(data)
        library._finalize_final_module()
        return library


def _use_libraries(target: Any) -> None:
    """Have numba make our libraries, and expect no machine code of what is copied."""
    target._library_class, set_env = _Library, target.set_env

    def set_if_defined(name: str, env: Any) -> None:
        if target._engine.is_symbol_defined(name):
            set_env(name, env)

    target.set_env = set_if_defined


_use_libraries(cpu_target.target_context.codegen())
