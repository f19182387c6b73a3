"""Memory layout of a widened module's arrays: one for all lanes, or the lanes' entries side by side.

What no function writes is shared: whole arrays, columns of tables, and entries of vectors that are known by number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import Func, Let, Module, Store, Value


@dataclass(frozen=True)
class Access:
    """An entry of an array: its index, and the column of it if that is a number."""

    array: str
    index: Value
    column: int | None


@dataclass(frozen=True)
class LaneMemory:
    """`columns` are the row lengths of tables, `plain` the arrays that lie as they are though lanes write to them, each
    to entries of its own; `written` what is written of every other: columns, or None where some are not known."""

    columns: Mapping[str, int]
    plain: Collection[str]
    written: Mapping[str, frozenset[int | None]]

    @staticmethod
    def of(
        module: Module, columns: Mapping[str, int], plain: Collection[str], outside: Collection[str] = ()
    ) -> LaneMemory:
        """Arrays that a module writes; the functions it calls write to the arrays that are named `outside`."""
        written: dict[str, set[int | None]] = {name: {None} for name in outside}
        for function in module.functions:
            places = accesses(function, columns)
            for statement in kernel_ir.statements(function.body):
                if type(statement) is Store and statement.place.name in places:
                    place = places[str(statement.place.name)]
                    written.setdefault(place.array, set()).add(place.column)
        kept = {name: frozenset(found) for name, found in written.items() if name not in plain}
        return LaneMemory(columns, plain, kept)

    def is_shared(self, place: Access) -> bool:
        """Whether an entry is the same in all lanes, at the same index."""
        found = self.written.get(place.array, frozenset())
        return not found or (None not in found and place.column is not None and place.column not in found)

    def has_lanes(self, array: str) -> bool:
        """Whether there is an entry for every lane."""
        return array in self.written

    def has_shared(self, array: str) -> bool:
        return None not in self.written.get(array, frozenset())


def accesses(function: Func, columns: Mapping[str, int]) -> dict[str, Access]:
    """The entries of arrays that a function points to, by the names of the pointers."""
    arrays = {str(x.name) for x in function.parameters if x.type.pointers}
    made = {str(s.target.name): s for s in kernel_ir.statements(function.body) if type(s) is Let}
    found = {}
    for name, statement in made.items():
        if statement.operation == "at" and statement.operands[0].name in arrays:
            array, index = str(statement.operands[0].name), statement.operands[1]
            inside = index
            if array in columns:  # row · length + column
                inside = made[str(index.name)].operands[1] if isinstance(index.name, str) else index
            found[name] = Access(array, index, inside.name if isinstance(inside.name, int) else None)
    return found
