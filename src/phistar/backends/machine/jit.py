"""Machine code in this process: compile a module for this CPU, load object code, make a NumPy gufunc of it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.machine.rows import Signature


@dataclass(frozen=True)
class Target:
    """A CPU to compile for."""

    triple: str
    cpu: str
    features: str

    @property
    def lanes(self) -> int:
        """States per vector: what the widest registers hold."""
        if "+avx512f" in self.features:
            return 8
        return 4 if "+avx," in self.features + "," else 2

    @property
    def fma(self) -> bool:
        return "+fma," in self.features + "," or self.triple.startswith(("aarch64", "arm64"))


LONG = 3_000_000  # characters of a module: what a compiler does more thoroughly takes a second here and gains nothing


@cache
def host() -> Target:
    import llvmlite.binding as llvm

    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def _ready() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def compile_object(text: str, target: Target, loops: str = "") -> bytes:
    """Object code of a module; `loops` is a second one that it calls, which LLVM's passes make faster: loops are to be
    vectorised, and locals to be in registers."""
    machine, module = _parsed(text, target)
    if loops:
        optimised, called = _parsed(loops, target)
        _run_passes(optimised, called)
        module.link_in(called)
    return machine.emit_object(module)


def _run_passes(machine: Any, module: Any) -> None:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def assembly(text: str, target: Target) -> str:
    """The instructions of a module as a person reads them."""
    machine, module = _parsed(text, target)
    return machine.emit_assembly(module)


def _parsed(text: str, target: Target) -> tuple[Any, Any]:
    import llvmlite.binding as llvm

    _ready()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=1 if len(text) > LONG else 2, reloc="pic", codemodel="small"
    )
    module.data_layout = str(machine.target_data)
    return machine, module


@dataclass(frozen=True, eq=False)
class Code:
    """Loaded object code; lives as long as the functions made from it."""

    engine: Any
    address: int
    keep: list[Any] = field(default_factory=list)


def load_object(data: bytes) -> Code:
    """Object code placed in this process; the address is that of `loop`."""
    import llvmlite.binding as llvm

    _ready()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return Code(engine, engine.get_function_address("loop"))


_UFUNC_FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's ufunc C API
_DOUBLE = 12


def gufunc(code: Code, signature: Signature, name: str, doc: str, tables: list[np.ndarray] | None = None) -> Any:
    """A real NumPy gufunc whose inner loop is the loaded code; `tables` are the data it is given at each call."""
    inputs, outputs = len(signature.inputs), len(signature.outputs)
    functions = (ctypes.c_void_p * 1)(code.address)
    pointers = (ctypes.c_void_p * max(len(tables or ()), 1))(*(table.ctypes.data for table in tables or ()))
    data = (ctypes.c_void_p * 1)(ctypes.addressof(pointers))
    types = (ctypes.c_char * (inputs + outputs))(*[bytes([_DOUBLE])] * (inputs + outputs))
    texts = [name.encode(), doc.encode(), signature.text.encode()]
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p),
    )(_ufunc_api()[_UFUNC_FROM_SIGNATURE])
    made = make(functions, data, types, 1, inputs, outputs, -1, texts[0], texts[1], 0, texts[2])
    # NumPy keeps the pointers it was given; they must outlive the gufunc, which nothing can tell it.
    _alive[made] = code, functions, data, types, texts, pointers, tables
    return made


_alive: dict[Any, Any] = {}


def code_of(function: Any) -> Code:
    """The code that a gufunc was made of."""
    return _alive[function][0]


@cache
def _ufunc_api() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(_multiarray_umath._UFUNC_API, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


assert np.dtype(np.float64).num == _DOUBLE
