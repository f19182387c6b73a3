"""An exported function as an object file for another processor, and what it takes there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from phistar.backends.code.c import CFunction
from phistar.backends.machine.jit import Target
from phistar.errors import StatementError
from phistar.export.files import steps_of
from phistar.recording import Recording

MOST_ON_STACK = 512  # numbers that a function takes of a small processor's stack
_HOSTED = "unknown-linux-gnu"


@dataclass(frozen=True)
class Processor:
    """What to compile for, and in words what it has; `numbers` are the floats that it computes with by itself."""

    target: Target
    about: str
    numbers: tuple[str, ...] = ("f64", "f32")


PROCESSORS = {
    **{
        f"x86-64-{level}": Processor(Target(f"x86_64-{_HOSTED}", f"x86-64-{level}", ""), f"x86-64-{level}, Linux")
        for level in ("v2", "v3", "v4")
    },
    "aarch64": Processor(Target(f"aarch64-{_HOSTED}", "generic", ""), "AArch64, Linux"),
    "cortex-m4": Processor(
        Target("thumbv7em-none-eabihf", "cortex-m4", "", reloc="static"), "ARMv7E-M, floats of 32 bits", ("f32",)
    ),
    "cortex-m7": Processor(Target("thumbv7em-none-eabihf", "cortex-m7", "", reloc="static"), "ARMv7E-M"),
    "cortex-m33": Processor(
        Target("thumbv8m.main-none-eabihf", "cortex-m33", "", reloc="static"), "ARMv8-M, floats of 32 bits", ("f32",)
    ),
    "rv32imafc": Processor(
        Target("riscv32-unknown-none-elf", "generic-rv32", "+m,+a,+f,+c", "ilp32f", "static", "medium"),
        "RISC-V of 32 bits, floats of 32 bits",
        ("f32",),
    ),
    "rv64gc": Processor(
        Target("riscv64-unknown-none-elf", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d", "static", "medium"),
        "RISC-V of 64 bits",
    ),
}


def processor_named(name: str) -> Processor:
    """A processor of the list; others are refused."""
    if name not in PROCESSORS:
        raise StatementError(f"There is no target {name!r:.100}; it is one of {', '.join(PROCESSORS)}.")
    return PROCESSORS[name]


def footprint(data: bytes) -> tuple[int, int]:
    """Bytes of code in an object file, and of constants beside it."""
    import llvmlite.binding as llvm

    code = constants = 0
    for section in llvm.ObjectFileRef.from_data(data).sections():
        name = (section.name() or b"").decode()
        code += section.size() if section.is_text() else 0
        constants += section.size() if name.startswith((".rodata", ".srodata", ".data", ".sdata")) else 0
    return code, constants


def describe_object(found: Recording, code: CFunction, target: str, data: bytes) -> list[str]:
    """Lines about an object: its sizes, and what every call takes: there is no branch that could make one longer."""
    chosen, (size, constants) = processor_named(target), footprint(data)
    item = {"f64": 8, "f32": 4}[code.kind]
    lines = [
        f"Object file for {target} ({chosen.about}): {size} bytes of code, {constants} of constants.",
        f"Each call, the longest too: {', '.join(_operations(found))}.",
        f"Memory: {item * code.stacked} bytes of the stack between its parts, and what the compiler keeps there.",
    ]
    if code.kind not in chosen.numbers:
        lines.append("The processor has no doubles: every operation is a call of the compiler's library. See dtype.")
    names = "sin, cos, sqrt" if code.kind == "f64" else "sinf, cosf, sqrtf"
    return [
        *lines,
        f"Of the C library it may call {names}, memset and memcpy. It allocates nothing and keeps no state.",
    ]


def _operations(found: Recording) -> Iterator[str]:
    """Numbers of operations of each kind in straight-line code, then of those in loops."""
    counts, looped = dict[str, int](), 0
    for step in steps_of(found):
        own = getattr(step.work, "counts", None)
        if own is None:
            looped += step.operations
            continue
        for name, count in own().items():
            counts[name] = counts.get(name, 0) + count
    words = {"add": "additions", "sub": "subtractions", "mul": "multiplications", "div": "divisions"}
    words |= {"neg": "negations", "sin": "sines", "cos": "cosines", "sqrt": "square roots", "sign": "signs"}
    yield from (f"{counts[name]} {word}" for name, word in words.items() if counts.get(name))
    if looped:
        yield f"{looped} operations in loops of fixed length"
