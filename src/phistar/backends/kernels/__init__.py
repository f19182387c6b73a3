"""The kernel language and its emitters; `kernel_ir.py` lists its constructs and follows one number to machine code.

A function is written down by a `Code`, whose `Local` values record statements as Python computes with them, or as
statements one by one; functions, tables and memory make a `Module`, of which `llvm_text` makes LLVM IR, `c_text` C99
and `wasm_module` WebAssembly, all after `validate`. `show` prints a function.
"""

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.build import Code, Local, transpose_vectors
from phistar.backends.kernels.copies import (
    COPIED_IN_LINE,
    Rows,
    Tile,
    copy_function,
    copy_one_function,
    fill_function,
    tiles,
)
from phistar.backends.kernels.emit_c import LIBRARY, c_header, c_prototype, c_source, c_text, number
from phistar.backends.kernels.emit_llvm import llvm_text
from phistar.backends.kernels.emit_wasm import Unit, wasm_module
from phistar.backends.kernels.kernel_ir import (
    ANY_ORDER,
    F64,
    FREE,
    I1,
    I32,
    I64,
    IN_ORDER,
    PLACE,
    PLANNED,
    TABLES,
    U32,
    Func,
    If,
    Joined,
    Let,
    Memory,
    Module,
    Outside,
    Statement,
    Store,
    Table,
    Type,
    Value,
    vector,
)
from phistar.backends.kernels.lane_memory import LaneMemory
from phistar.backends.kernels.show_kernel import show
from phistar.backends.kernels.validate import validate
from phistar.backends.kernels.widen import LANED, lane_arrays, widen

__all__ = [
    "ANY_ORDER",
    "COPIED_IN_LINE",
    "F64",
    "FREE",
    "I1",
    "I32",
    "I64",
    "IN_ORDER",
    "LANED",
    "LIBRARY",
    "PLACE",
    "PLANNED",
    "TABLES",
    "U32",
    "Code",
    "Func",
    "If",
    "Joined",
    "LaneMemory",
    "Let",
    "Local",
    "Memory",
    "Module",
    "Outside",
    "Rows",
    "Statement",
    "Store",
    "Table",
    "Tile",
    "Type",
    "Unit",
    "Value",
    "c_header",
    "c_prototype",
    "c_source",
    "c_text",
    "copy_function",
    "copy_one_function",
    "fill_function",
    "kernel_ir",
    "lane_arrays",
    "llvm_text",
    "number",
    "show",
    "tiles",
    "transpose_vectors",
    "validate",
    "vector",
    "wasm_module",
    "widen",
]
