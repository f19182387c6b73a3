"""The code of `call_doors.py`, in the kernel language."""

from __future__ import annotations

from collections.abc import Callable

from phistar.backends.kernels import I1, I32, I64, PLACE, Code, Func, Local, Memory, Module, kernel_ir
from phistar.backends.machine.call_doors import _TYPE, KNOWN, MOST

_SLOW = 1  # where `self` has the function for all other calls


def doors_module() -> Module:
    """`stated` and `held`; `known` is filled in when the code is loaded."""
    memory = (Memory("known", PLACE, len(KNOWN), inner=False),)
    return Module((_Stated().function(), _Held().function()), (), memory)


class _Door:
    """A function (self, args, n, names) of Python objects, METH_FASTCALL | METH_KEYWORDS, as it is written."""

    def __init__(self, name: str) -> None:
        self.code = code = Code(name, self=PLACE, args=PLACE.to, n=I64, names=PLACE)
        code.inner, code.result = False, PLACE
        table = code.table("known", PLACE.to)
        self.known = {name: table.at(number).load(kind=PLACE) for number, name in enumerate(KNOWN)}

    def ask(self, name: str, *given: Local | int, kind: kernel_ir.Type = PLACE) -> Local:
        return self.code.result_of(kind, self.known[name], *given)

    def own(self, number: int) -> Local:
        """The objects that the function was made with."""
        return self.ask("PyTuple_GetItem", self.code["self"], number)

    def null(self) -> Local:
        return self.code.like(0, PLACE)

    def differs(self, one: Local, other: Local | int) -> Local:
        return self.code.let(I1, "ne", one, self.code.like(other, one.type))

    def slow_if(self, test: Local, before: Callable[[], object] | None = None) -> None:
        """Leave the call to Python where a test holds."""

        def leave() -> None:
            if before is not None:
                before()
            code = self.code
            code.give(self.ask("PyObject_Vectorcall", self.own(_SLOW), code["args"], code["n"], code["names"]))

        self.code.put(kernel_ir.If(test.value, self.code.record(leave), rare=True))

    def give(self, entry: Local, given: Local, count: Local) -> None:
        """Return what an entry gives, unless it gives NotImplemented."""
        made = self.ask("PyObject_Vectorcall", entry, given, count, self.null())
        refused = made.same(self.known["otherwise"])
        self.slow_if(refused, lambda: self.code.call(self.known["Py_DecRef"], made))
        self.code.give(made)

    def count(self, named: int) -> Local:
        """Number of arguments: by name none, or one at the place where `self` has that name."""
        code = self.code
        total, none = code.let(I64.to, "local"), code["names"].same(self.null())
        total.store(code["n"])

        def by_name() -> None:
            self.slow_if(self.differs(self.ask("PyTuple_Size", code["names"], kind=I64), 1))
            self.slow_if(self.differs(self.ask("PyTuple_GetItem", code["names"], 0), self.own(named)))
            total.store(code["n"] + 1)

        code.branch(none, lambda: None, by_name)
        return total.load()


class _Stated(_Door):
    """The entry that a model keeps under a slot and a key."""

    def __init__(self) -> None:
        super().__init__("stated")

    def function(self) -> Func:
        code = self.code
        self.slow_if(code["n"] < 1)
        total = self.count(4)
        self.slow_if(total > MOST)
        kept = self.ask("PyObject_GenericGetDict", code["args"].load(kind=PLACE), self.null())
        self.slow_if(kept.same(self.null()), lambda: code.call(self.known["PyErr_Clear"]))
        entries = self.ask("PyDict_GetItem", kept, self.own(0))
        code.call(self.known["Py_DecRef"], kept)  # the model has it
        self.slow_if(entries.same(self.null()))
        frame, forces = (self.ask("PyLong_AsSsize_t", self.own(place), kind=I64) for place in (2, 3))
        loaded = (forces > 0) & total.same(forces + 1)
        self.slow_if(self.differs(code["names"], self.null()) & loaded.same(code.like(False, I1)))
        code.branch(loaded, lambda: self.at_force(entries, forces))
        code.branch(frame > 0, lambda: self.at_frame(entries, frame, total))
        self.find(entries, self.known["none"], code["args"].at(1), total - 1)
        return code.function

    def find(self, entries: Local, key: Local, given: Local, count: Local) -> None:
        entry = self.ask("PyDict_GetItem", entries, key)
        self.slow_if(entry.same(self.null()))
        self.give(entry, given, count)

    def at_frame(self, entries: Local, frame: Local, total: Local) -> None:
        """The arguments but for the model and the frame."""
        code, taken = self.code, self.code.room(MOST, 8, kind=PLACE.to)
        self.slow_if(total <= frame)
        with code.loop(1, frame) as i:
            taken.at(i - 1).store(code["args"].at(i).load(kind=PLACE))
        with code.loop(frame + 1, total) as i:
            taken.at(i - 2).store(code["args"].at(i).load(kind=PLACE))
        self.find(entries, code["args"].at(frame).load(kind=PLACE), taken, total - 2)

    def at_force(self, entries: Local, forces: Local) -> None:
        """The arguments before the dictionary, then the one force in it."""
        code, taken = self.code, self.code.room(MOST, 8, kind=PLACE.to)
        given = code["args"].at(forces).load(kind=PLACE)
        self.slow_if(self.differs(given.bytes(_TYPE).load(kind=PLACE), self.known["dict"]))
        self.slow_if(self.differs(self.ask("PyDict_Size", given, kind=I64), 1))
        place, pair = code.room(1, 8, kind=I64.to), code.room(2, 8, kind=PLACE.to)
        place.store(0)
        self.ask("PyDict_Next", given, place, pair, pair.at(1), kind=I32)
        with code.loop(1, forces) as i:
            taken.at(i - 1).store(code["args"].at(i).load(kind=PLACE))
        taken.at(forces - 1).store(pair.at(1).load(kind=PLACE))
        self.find(entries, pair.load(kind=PLACE), taken, forces)


class _Held(_Door):
    """The two entries that came with the function: for new results, and for the caller's arrays."""

    def __init__(self) -> None:
        super().__init__("held")

    def function(self) -> Func:
        code = self.code
        total = self.count(3)
        named = self.differs(code["names"], self.null())
        code.branch(named, lambda: self.give(self.own(2), code["args"], total))
        self.give(self.own(0), code["args"], total)
        return code.function
