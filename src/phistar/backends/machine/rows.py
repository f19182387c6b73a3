"""Rows of arrays that a kernel works on: each state is one row of every input and output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """Row length of each input and shape of each output; one state is one row of each. `units` locates the unit
    quaternions among the inputs: (input, first entry)."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    units: tuple[tuple[int, int], ...] = ()
    flipped: bool = False  # whether the entry for one state gives matrices as their transposes

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
    def strides(self) -> list[int]:
        """Bytes between the entries of each array along each of its axes, where they are contiguous."""
        return [8 * size(shape[axis + 1 :]) for shape in self.shapes for axis in range(len(shape))]


def size(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result
