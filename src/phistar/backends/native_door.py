"""Loops written in Python as a function of arrays: compiled once, kept on disk, called with little ado."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from phistar.backends.code.native import arrays_used, module_text, tree_of
from phistar.backends.machine import cache
from phistar.backends.machine.jit import Code, compile_object, host, load_object
from phistar.backends.machine.rows import Signature
from phistar.backends.machine.single import method_of, single_text
from phistar.backends.one_state import fresh
from phistar.errors import ShapeError

MOST_KEPT = 64  # functions; others are found on disk again
Shapes = Mapping[str, tuple[int, ...]]
Named = tuple[tuple[str, tuple[int, ...]], ...]


def native(
    functions: Sequence[Callable[..., Any]], inputs: Shapes, outputs: Shapes, constants: Mapping[str, float]
) -> Callable[..., tuple[np.ndarray, ...]]:
    """The last of `functions`, which takes Arrays alone, as `made(*inputs) → outputs`: contiguous float64 vectors, as
    long as the inputs' shapes say, go in, in their order; the outputs are made, and filled by it."""
    return _made(tuple(functions), tuple(inputs.items()), tuple(outputs.items()), tuple(sorted(constants.items())))


@lru_cache(maxsize=MOST_KEPT)
def _made(
    functions: tuple[Callable[..., Any], ...], inputs: Named, outputs: Named, constants: tuple[tuple[str, float], ...]
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Kept: to read sources takes longer than to load what was made from them."""
    shapes = dict(inputs) | dict(outputs)
    columns = {name: prod(shape[1:]) for name, shape in shapes.items() if len(shape) > 1}
    signature = Signature(tuple(prod(shape) for _, shape in inputs), tuple(shape for _, shape in outputs))
    text = module_text(functions, dict(constants), columns)
    doors = _doors(functions, list(shapes))
    return _loaded(f"{text}\n{doors}\n{single_text(signature)}\nattributes #0 = {{ nounwind }}\n", signature)


@lru_cache(maxsize=MOST_KEPT)
def _loaded(text: str, signature: Signature) -> Callable[..., tuple[np.ndarray, ...]]:
    target = host()
    name = cache.key("native", text, target)
    found = cache.load(name)
    data = found[1] if found else compile_object("", target, text)
    if not found:
        cache.store(name, {}, data)
    code = load_object(data)
    single, plain = method_of(code, "native"), _plain(code, signature)

    def call(*inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        made = single(*inputs)
        if made is NotImplemented:
            made = single(*(fresh(vector) for vector in inputs))
        return made if made is not NotImplemented else plain(*inputs)

    return call


def _doors(functions: Sequence[Callable[..., Any]], names: Sequence[str]) -> str:
    """`block`, which the door for one state calls, and `plain`, for a Python whose arrays are laid out otherwise."""
    trees = {function.__name__: tree_of(function) for function in functions}
    main = functions[-1].__name__
    given = ", ".join(f"ptr %{name}, i64 %{name}.s" for name in names)
    pointers = ", ".join(f"ptr %{name}" for name in names)
    used = ", ".join(f"ptr %{name}" for name in arrays_used(trees[main], trees))
    call = f"  call void @{main}({used})\n  ret void\n}}"
    return (
        f"define internal void @block({given}, i64 %first, i64 %last) #0 {{\n{call}\n"
        f"define void @plain({pointers}) #0 {{\n{call}\ndefine void @loop() #0 {{\n  ret void\n}}"
    )


def _plain(code: Code, signature: Signature) -> Callable[..., tuple[np.ndarray, ...]]:
    """Through ctypes: arrays of any layout, on any Python."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * signature.arrays)(code.engine.get_function_address("plain"))
    function.code = code  # type: ignore[attr-defined]  # ctypes keeps its address alone

    def call(*inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        given = [np.ascontiguousarray(x, dtype=np.float64).reshape(-1) for x in inputs]
        sizes = tuple(x.size for x in given)
        if sizes != signature.inputs:
            raise ShapeError(f"Arrays of {', '.join(map(str, signature.inputs))} entries are needed, not of {sizes}.")
        outputs = tuple(np.empty(shape) for shape in signature.outputs)
        function(*(x.ctypes.data for x in (*given, *outputs)))
        return outputs

    return call
