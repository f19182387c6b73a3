"""Machine code in this process: the one door to the compiler, loaded object code, and NumPy gufuncs made of it.

What is compiled is kept on disk by what it is made from; the name of an entry is made here alone (`machine_code`), from
the kind of code, what it is made from, and the processor it is for.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache as once
from itertools import count
from time import perf_counter
from typing import Any
from weakref import finalize

import numpy as np

from phistar.backends.machine import cache
from phistar.roomy import with_room


@dataclass(frozen=True)
class Signature:
    """Row length of each input and shape of each output; one state is one row of each. `units` locates the unit
    quaternions among the inputs: (input, first entry). `kind`: as the kernel language names the numbers in them."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    units: tuple[tuple[int, int], ...] = ()
    flipped: bool = False  # whether the entry for one state gives matrices as their transposes
    kind: str = "f64"

    @property
    def text(self) -> str:
        """NumPy's gufunc signature with frozen core dimensions."""
        left = ",".join(f"({n})" for n in self.inputs)
        right = ",".join(f"({','.join(str(n) for n in shape)})" for shape in self.outputs)
        return f"{left}->{right}"

    @property
    def arrays(self) -> int:
        return len(self.inputs) + len(self.outputs)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [(n,) for n in self.inputs] + list(self.outputs)

    @property
    def item(self) -> int:
        """Bytes of an entry."""
        return dtype_of(self.kind).itemsize

    @property
    def strides(self) -> list[int]:
        """Bytes between the entries of each array along each of its axes, where they are contiguous."""
        return [self.item * size(shape[axis + 1 :]) for shape in self.shapes for axis in range(len(shape))]


def size(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result


_log = logging.getLogger("phistar")


@dataclass(frozen=True)
class Target:
    """A CPU to compile for."""

    triple: str
    cpu: str
    features: str
    abi: str = ""  # where the triple leaves it open
    reloc: str = "pic"
    model: str = "small"  # how far code and data may lie from each other

    @property
    def lanes(self) -> int:
        """States per vector: the numbers of 64 bits that the widest registers hold."""
        if "+avx512f" in self.features:
            return 8
        return 4 if "+avx," in self.features + "," else 2

    def lanes_of(self, kind: str) -> int:
        """The same of any kind of numbers."""
        return self.lanes * 8 // dtype_of(kind).itemsize

    @property
    def fma(self) -> bool:
        return "+fma," in self.features + "," or self.triple.startswith(("aarch64", "arm64"))


ASIDE = ("block.aside", "loop.aside")
"""Globals of a module that may point to memory that its functions have laid aside: freed with the code."""
LONG = 3_000_000  # characters of a module: what a compiler does more thoroughly takes a second here and gains nothing


@once
def host() -> Target:
    import llvmlite.binding as llvm

    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@once
def _ready() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def compile_object(text: str, target: Target, loops: str = "", quick: bool = False) -> bytes:
    """Object code of a module; `loops` is a second one that it calls, which LLVM's passes make faster: loops are to be
    vectorised, and locals to be in registers. `quick`: in two thirds of the time, where the rest gains nothing."""
    return with_room(lambda: _compile(text, target, loops, quick))


def _compile(text: str, target: Target, loops: str, quick: bool) -> bytes:
    began = perf_counter()
    machine, module = _parse(text, target, quick)
    if loops:
        optimised, called = _parse(loops, target)
        _run_passes(optimised, called)
        module.link_in(called)
    made = machine.emit_object(module)
    _log.debug("Machine code was compiled in %.3f s: %d bytes for %s.", perf_counter() - began, len(made), target.cpu)
    return made


def portable_object(texts: list[str], target: Target) -> bytes:
    """Object file of modules that call each other, for any processor that LLVM knows; its loops are made faster."""
    import llvmlite.binding as llvm

    def make() -> bytes:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine, module = _parse(texts[0], target)
        for text in texts[1:]:
            module.link_in(_parse(text, target)[1])
        _run_passes(machine, module)
        return machine.emit_object(module)

    return with_room(make)


def _run_passes(machine: Any, module: Any) -> None:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def assembly(text: str, target: Target) -> str:
    """Assembly listing of a module."""

    def write() -> str:
        machine, module = _parse(text, target)
        return machine.emit_assembly(module)

    return with_room(write)


def _parse(text: str, target: Target, quick: bool = False) -> tuple[Any, Any]:
    import llvmlite.binding as llvm

    _ready()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    effort = 1 if quick or len(text) > LONG else 2
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=effort,
        reloc=target.reloc,
        codemodel=target.model,
        abiname=target.abi,
    )
    module.data_layout = str(machine.target_data)
    return machine, module


@dataclass(frozen=True, eq=False)
class Code:
    """Loaded object code; lives as long as the functions made from it."""

    library: Any
    address: int  # of the function that it was loaded for
    name: str = ""  # of its entry on disk
    keep: list[Any] = field(default_factory=list)  # what it calls or reads that is elsewhere

    def address_of(self, name: str) -> int:
        """Return the address of a function or a global of this code, or 0 where it has none of that name."""
        try:
            found = _linker().lookup(self.library.name, name)
        except RuntimeError as error:
            if "Symbols not found" not in str(error):
                raise
            return 0
        found.detach()  # or the library would go with it
        return found[name]


def load_object(data: bytes, entry: str = "loop", name: str = "") -> Code:
    """Object code placed in this process, all of it in one piece; its address is that of the function `entry`, `name`
    that of its entry on disk."""
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process().export_symbol(entry)
    library = builder.link(_linker(), f"{next(_libraries)}")
    code = Code(library, library[entry], name)
    if laid := [place for name in ASIDE if name.encode() in data and (place := code.address_of(name))]:
        finalize(code, _free, laid).atexit = False
    return code


@once
def _linker() -> Any:
    """Return the linker of this process. It lays the sections of an object side by side: they refer to each other by
    distances of 32 bits, and a loader that asks the system for each of them ends processes with gaps far apart."""
    import llvmlite.binding as llvm

    _ready()
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


_libraries = count()  # names of what was linked; none may be used twice


def _free(places: list[int]) -> None:
    """Free the memory that functions laid aside; none of them runs any more."""
    free = ctypes.CDLL(None).free if sys.platform != "win32" else ctypes.cdll.msvcrt.free
    free.argtypes = [ctypes.c_void_p]
    for place in places:
        free(ctypes.c_void_p.from_address(place).value)


_UFUNC_FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's ufunc C API
_NUMBERS = {"f64": (12, np.float64), "f32": (11, np.float32)}  # how NumPy counts its types
_FUNCTIONS, _OBJECT = 32, 88  # where a ufunc has `functions`, and `obj`, a reference that it gives up when it goes


@dataclass(eq=False)
class Kept:
    """Objects kept alive for a gufunc, since NumPy holds bare pointers to them. `tables` is the address of the data
    pointers passed to the code, or 0; `entries` are the single-state entry points requested so far."""

    code: Code
    signature: Signature
    tables: int
    memory: tuple[Any, ...]
    entries: dict[str, Any] = field(default_factory=dict)


def gufunc(code: Code, signature: Signature, name: str, doc: str, tables: list[np.ndarray] | None = None) -> Any:
    """A real NumPy gufunc whose inner loop is the loaded code; `tables` are the data it is given at each call."""
    inputs, outputs = len(signature.inputs), len(signature.outputs)
    functions = (ctypes.c_void_p * 1)(code.address)
    pointers = (ctypes.c_void_p * max(len(tables or ()), 1))(*(table.ctypes.data for table in tables or ()))
    data = (ctypes.c_void_p * 1)(ctypes.addressof(pointers))
    number = bytes([_NUMBERS[signature.kind][0]])
    types = (ctypes.c_char * (inputs + outputs))(*[number] * (inputs + outputs))
    texts = [name.encode(), doc.encode(), signature.text.encode()]
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p),
    )(_ufunc_api()[_UFUNC_FROM_SIGNATURE])
    made = make(functions, data, types, 1, inputs, outputs, -1, texts[0], texts[1], 0, texts[2])
    memory = functions, data, types, texts, pointers, tables
    given = ctypes.addressof(pointers) if tables else 0
    _keep(made, ctypes.addressof(functions), Kept(code, signature, given, memory))
    return made


def _keep(made: Any, functions: int, kept: Kept) -> None:
    """Let the gufunc own what it points to: the code is unloaded with the last reference to it."""
    slot = ctypes.c_void_p.from_address(id(made) + _OBJECT) if sys.implementation.name == "cpython" else None
    if slot is None or slot.value or ctypes.c_void_p.from_address(id(made) + _FUNCTIONS).value != functions:
        _alive[made] = kept  # a NumPy whose ufuncs are laid out otherwise: for ever
        return
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    slot.value = id(kept)


_alive: dict[Any, Kept] = {}


def objects_of(function: Any) -> Kept:
    """Objects kept alive by a gufunc made here; TypeError for other functions."""
    if function in _alive:
        return _alive[function]
    owns = isinstance(function, np.ufunc) and ctypes.c_void_p.from_address(id(function) + _OBJECT).value
    kept = ctypes.py_object.from_address(id(function) + _OBJECT).value if owns else None
    if not isinstance(kept, Kept):
        raise TypeError(f"{function!r:.100} is not a gufunc of loaded code")
    return kept


@once
def _ufunc_api() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(_multiarray_umath._UFUNC_API, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def dtype_of(kind: str) -> np.dtype[Any]:
    """NumPy's name for a kind of numbers of the kernel language."""
    return np.dtype(_NUMBERS[kind][1])


assert all(dtype_of(kind).num == number for kind, (number, _) in _NUMBERS.items())


@dataclass(frozen=True)
class Source:
    """Compiler input: a module as text, a header of plain data stored with its code, and, as `compile_object` takes
    them, the loops that it calls and whether to compile quickly."""

    text: str
    header: Mapping[str, Any] = field(default_factory=dict)
    loops: str = ""
    quick: bool = False


def machine_code(
    kind: str, made_from: tuple[Any, ...], target: Target, source: Callable[[], Source], entry: str = "loop"
) -> tuple[Mapping[str, Any], Code]:
    """Header and loaded code of what is `made_from` these parts, at the address of its function `entry`; `source` is
    called if it is not on disk."""
    name = cache.key(kind, *made_from, target)
    found = cache.load(name)
    if found is not None:
        return found[0], load_object(found[1], entry, name)
    with _pause_collection():
        made = source()
    data = compile_object(made.text, target, made.loops, made.quick)
    cache.store(name, dict(made.header), data)
    return made.header, load_object(data, entry, name)


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Suspend garbage collection while code is made: its hundreds of thousands of tuples are all needed until the text
    is written, and scanning them takes longer than making them."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
