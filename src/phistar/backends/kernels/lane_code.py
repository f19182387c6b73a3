"""A function in lanes as it is written: values of one lane for all or of every lane, and the lanes that are here."""

from __future__ import annotations

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.build import Code, Local
from phistar.backends.kernels.kernel_ir import I1, I64, Let, Store, Type, Value


class LaneCode:
    """`full`: all lanes are known to be here, so that nothing must be kept apart from them."""

    def __init__(self, code: Code, lanes: int, given: Local | None) -> None:
        self.code, self.lanes, self.full = code, lanes, given is None
        self.mask_type = Type("i1", lanes)
        self._mask = self.local(self.mask_type)
        self.go_on(given or self.every(True))

    def vector(self, kind: str) -> Type:
        return Type(kind, self.lanes)

    def every(self, truth: bool) -> Local:
        """All lanes, or none."""
        return Local(self.code, Value(truth, self.mask_type))

    # Places for numbers, known throughout the function

    def local(self, kind: Type) -> Local:
        place = self.code.named(kind.to)
        self.code.blocks[0].insert(0, Let(place.value, "local", ()))
        return place

    def get(self, place: Local) -> Local:
        return self.code.let(Type(place.type.kind, place.type.lanes), "load", place, detail=8)

    def put(self, place: Local, value: Local, blended: bool) -> None:
        """A value to a place; `blended`: lanes that are not here keep what they had."""
        value = self.wide(value) if place.type.lanes else value
        if blended and not self.full:
            value = self.code.let(value.type, "select", self.here(), value, self.get(place))
        place.store(value)

    def wide(self, given: Local) -> Local:
        """A value in every lane."""
        if given.type.lanes:
            return given
        kind = self.vector(given.type.kind)
        if not isinstance(given.value.name, str):
            return Local(self.code, Value(given.value.name, kind))
        return self.code.let(kind, "every", given)

    # Masks

    def here(self) -> Local:
        """The lanes that are here."""
        return self.every(True) if self.full else self.get(self._mask)

    def go_on(self, mask: Local) -> None:
        """These lanes are here from now on."""
        self._mask.store(mask)

    def without(self, one: Local, other: Local) -> Local:
        """Lanes of one mask that are not in another."""
        return self.both("and", one, self.both("xor", other, self.every(True)))

    def both(self, name: str, one: Local, other: Local) -> Local:
        return self.code.let(self.mask_type, name, one, other)

    def any(self, mask: Local) -> Local:
        return self.code.let(I1, "any", mask)

    def all(self, mask: Local) -> Local:
        return self.code.let(I64, "bits", mask).same(2**self.lanes - 1)

    # Memory

    def store(self, value: Local, place: Local) -> None:
        """To an entry of every lane, side by side."""
        if self.full:
            self.code.put(Store(value.value, place.value, 8 * self.lanes))
        else:
            self.code.put(kernel_ir.Masked(value.value, place.value, self.here().value))

    def gather(self, kind: Type, array: Local, index: Local) -> Local:
        return self.code.let(kind, "gather", array, index, self.here())

    def scatter(self, value: Local, array: Local, index: Local) -> None:
        self.code.put(kernel_ir.Scatter(value.value, array.value, index.value, self.here().value))
