"""Functions of the kernel language widened to several lanes, one run of them a lane: numbers become vectors, tests that
differ become masks, and a loop goes on until every lane is done (as ISPC does it).

Whole numbers that a function is given are the same in all its lanes: where they differ at a call, it is called once for
every group of lanes that agree. So indices are mostly common to all lanes, and an entry of each is one vector in
memory. A function has as its last argument the lanes that it runs in; what is outside is asked with them as bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.build import Code, Local
from phistar.backends.kernels.kernel_ir import I1, I64, Func, Let, Module, Store, Type, Value
from phistar.backends.kernels.lane_memory import Access, LaneMemory
from phistar.backends.kernels.uniform import Uniform
from phistar.errors import StatementError

MASK = "mask"
LANED = ".lanes"  # behind the name of an array that has an entry for every lane


def widen(module: Module, lanes: int, memory: LaneMemory) -> Module:
    """The module in lanes. Of an array x of which lanes have their own a function takes x.lanes, of which entry i of
    lane l is i·lanes + l; of one of which some columns are only read, x for these, in front of it."""
    known = {function.name: function for function in module.functions}
    made = tuple(_Widened(function, known, memory, lanes).function() for function in module.functions)
    return replace(module, functions=made)


def lane_arrays(array: str, memory: LaneMemory) -> list[str]:
    """The parameters that an array becomes."""
    shared = [array] if memory.has_shared(array) else []
    return [*shared, array + LANED] if memory.has_lanes(array) else [array]


class _Widened:
    """One function as it is written anew."""

    def __init__(self, function: Func, known: Mapping[str, Func], memory: LaneMemory, lanes: int) -> None:
        self.old, self.known, self.memory, self.lanes = function, known, memory, lanes
        self.uniform = Uniform(function, memory)
        self.mask_type, given = Type("i1", lanes), {}
        for name, kind in function.parameters:
            if kind.pointers:
                for each in lane_arrays(str(name), memory):
                    given[each] = Type(kind.kind, lanes, 1) if each.endswith(LANED) else kind
            else:
                given[str(name)] = kind if kind == I64 else Type(kind.kind, lanes)
        self.code = Code(function.name, **given, **{MASK: self.mask_type})
        self.code.prefix = "w."
        self.values: dict[str, Local] = {name: self.code[name] for name, kind in given.items() if not kind.pointers}
        self.webs: dict[int, Local] = {}
        self.mask = self._local(self.mask_type)
        self.mask.store(self.code[MASK])
        self.result = None if function.result is None else self._local(Type(function.result.kind, lanes))
        self.loops: list[tuple[Local, Local] | None] = []  # lanes that broke off and that went on to the next turn

    def function(self) -> Func:
        code = self.code
        self._block(self.old.body)
        if not isinstance(code.blocks[-1][-1], kernel_ir.Return):
            code.give(None if self.result is None else self._get(self.result))
        arrays = frozenset(x for x, place in code.given.items() if place.type.pointers)
        result = None if self.result is None else Type(self.result.type.kind, self.lanes)
        apart = arrays if self.old.apart else frozenset[str]()
        return replace(self.old, parameters=code.parameters, body=code.function.body, result=result, apart=apart)

    # Values

    def _local(self, kind: Type) -> Local:
        """A place for a number of every lane, known throughout the function."""
        place = self.code.new_local(kind.to)
        self.code.blocks[0].insert(0, Let(place.value, "local", ()))
        return place

    def _get(self, place: Local) -> Local:
        return self.code.let(Type(place.type.kind, place.type.lanes), "load", place, detail=8)

    def _vector(self, kind: str) -> Type:
        return Type(kind, self.lanes)

    def _of(self, value: Value) -> Local:
        """A value as it is: of one lane for all, or of every lane."""
        return self.values[value.name] if isinstance(value.name, str) else Local(self.code, value)

    def _wide(self, value: Value | Local) -> Local:
        """A value in every lane."""
        given = value if isinstance(value, Local) else self._of(value)
        if given.type.lanes:
            return given
        kind = self._vector(given.type.kind)
        if not isinstance(given.value.name, str):
            return Local(self.code, Value(given.value.name, kind))
        return self.code.let(kind, "every", given)

    def _here(self) -> Local:
        """The lanes that are here."""
        return self._get(self.mask)

    def _none(self) -> Local:
        return Local(self.code, Value(False, self.mask_type))

    def _without(self, one: Local, other: Local) -> Local:
        """Lanes of one mask that are not in another."""
        turned = self.code.let(self.mask_type, "xor", other, Local(self.code, Value(True, self.mask_type)))
        return self.code.let(self.mask_type, "and", one, turned)

    def _both(self, name: str, one: Local, other: Local) -> Local:
        return self.code.let(self.mask_type, name, one, other)

    def _any(self, mask: Local) -> Local:
        return self.code.let(I1, "any", mask)

    # Statements

    def _block(self, body: Iterable[kernel_ir.Statement]) -> None:
        rest = list(body)
        while rest:
            statement = rest.pop(0)
            if type(statement) is Let:
                self._let(statement)
            elif type(statement) is Store:
                self._store(statement)
            else:
                self._statement(statement)
            if rest and id(statement) in self.uniform.left:
                self.code.branch(self._any(self._here()), partial(self._block, tuple(rest)))
                return

    def _statement(self, statement: kernel_ir.Statement) -> None:
        match statement:
            case kernel_ir.Call(function=function, arguments=arguments):
                self._call(function, arguments, None)
            case kernel_ir.If():
                self._masked_branch(statement) if id(statement) in self.uniform.parted else self._uniform_branch(
                    statement
                )
            case kernel_ir.While():
                self._loop(statement)
            case kernel_ir.Break() | kernel_ir.Continue():
                self._leave_turn(statement)
            case kernel_ir.Return():
                self._return(statement)
            case _:
                raise StatementError(f"{self.old.name}: a {type(statement).__name__} has no form in lanes.")

    def _let(self, let: Let) -> None:
        target, operation, operands, detail = let
        name = str(target.name)
        if operation == "local" or name in self.uniform.places:
            return
        if operation == "load":
            self.values[name] = self._load(let)
        elif operation == "call":
            made = self._call(detail or operands[0], operands if detail else operands[1:], target.type)
            assert made is not None
            self.values[name] = made
        elif name not in self.uniform.varying:
            self.values[name] = self.code.let(target.type, operation, *map(self._of, operands), detail=detail)
        else:
            self.values[name] = self._widely(target, operation, operands, detail)

    def _widely(self, target: Value, operation: str, operands: Sequence[Value], detail: Any) -> Local:
        given = [self._wide(x) for x in operands]
        if operation in ("sdiv", "srem"):  # where no lane is, a divisor may be 0
            one = Local(self.code, Value(1, given[1].type))
            given[1] = self.code.let(given[1].type, "select", self._here(), given[1], one)
        return self.code.let(self._vector(target.type.kind), operation, *given, detail=detail)

    # Memory

    def _load(self, let: Let) -> Local:
        (place,) = let.operands
        if place.name in self.uniform.webs.locals:
            return self._get(self._web(self.uniform.webs.of_load(let), let.target.type))
        if place.name not in self.uniform.places:
            return self.code.let(let.target.type, "load", self._of(place), detail=let.detail)
        found = self.uniform.places[str(place.name)]
        index, kind = self._of(found.index), self._vector(let.target.type.kind)
        own = not self.memory.is_shared(found)
        if index.type.lanes:
            array, at = self._apart(found, index, own)
            return self.code.let(kind, "gather", array, at, self._here())
        if not own:
            return self.code.let(let.target.type, "load", self._at(self.code[found.array], index), detail=8)
        return self.code.let(kind, "load", self._at(self.code[found.array + LANED], index), detail=8 * self.lanes)

    def _at(self, array: Local, index: Local) -> Local:
        return self.code.let(array.type, "at", array, index, detail="fits")

    def _apart(self, place: Access, index: Local, own: bool) -> tuple[Local, Local]:
        """An array as numbers, and where in it the entries of the lanes lie."""
        if not own:
            return self.code[place.array], index
        code = self.code
        each = code.let(index.type, "mul", index, Local(code, Value(self.lanes, index.type)), detail="fits")
        at = code.let(index.type, "add", each, code.let(index.type, "lane"), detail="fits")
        return code[place.array + LANED], at

    def _store(self, store: Store) -> None:
        value, place = store.value, store.place
        if place.name in self.uniform.webs.locals:
            web = self.uniform.webs.of_store(store)
            kind = Type(value.type.kind)
            self._set(self._web(web, kind), self._of(value), web in self.uniform.blended)
        elif place.name not in self.uniform.places:  # a fault, the same in all lanes
            self.code.put(Store(self._of(value).value, self._of(place).value, store.align, store.whole, store.offset))
        else:
            self._write(self.uniform.places[str(place.name)], self._wide(value))

    def _write(self, place: Access, value: Local) -> None:
        index, own = self._of(place.index), place.array not in self.memory.plain
        if index.type.lanes or not own:
            array, at = self._apart(place, self._wide(index), own)
            self.code.put(kernel_ir.Scatter(value.value, array.value, at.value, self._here().value))
        else:
            at = self._at(self.code[place.array + LANED], index)
            self.code.put(kernel_ir.Masked(value.value, at.value, self._here().value))

    def _web(self, web: int, kind: Type) -> Local:
        if web not in self.webs:
            self.webs[web] = self._local(self._vector(kind.kind) if web in self.uniform.varying else kind)
        return self.webs[web]

    def _set(self, place: Local, value: Local, blended: bool) -> None:
        if place.type.lanes:
            value = self._wide(value)
        if blended:
            value = self.code.let(value.type, "select", self._here(), value, self._get(place))
        place.store(value)

    # Where lanes part

    def _uniform_branch(self, statement: kernel_ir.If) -> None:
        """All lanes go one way."""
        code, ends = self.code, []

        def way(body: tuple[Any, ...], joined: list[Value]) -> tuple[Any, ...]:
            def write() -> None:
                self._block(body)
                ends.append([self._wide(x) if wide else self._of(x) for x, wide in zip(joined, varies, strict=True)])

            return code.record(write)

        varies = [x.value.name in self.uniform.varying for x in statement.joined]
        then = way(statement.then, [x.then for x in statement.joined])
        otherwise = way(statement.otherwise, [x.otherwise for x in statement.joined])
        made = []
        for number, x in enumerate(statement.joined):
            self.values[str(x.value.name)] = value = code.new_local(ends[0][number].type)
            made.append(kernel_ir.Joined(value.value, ends[0][number].value, ends[1][number].value))
        code.put(kernel_ir.If(self._of(statement.test).value, then, otherwise, tuple(made), statement.rare))

    def _masked_branch(self, statement: kernel_ir.If) -> None:
        """Either way with the lanes that go it."""
        code, test, here = self.code, self._wide(statement.test), self._here()
        kept = self._local(self.mask_type)
        made = [self._local(self._vector(x.value.type.kind)) for x in statement.joined]
        kept.store(self._none())

        def way(body: tuple[Any, ...], values: Sequence[Value]) -> None:
            self._block(body)
            for place, value in zip(made, values, strict=True):
                self._set(place, self._of(value), True)
            kept.store(self._both("or", self._get(kept), self._here()))

        ways = (self._both("and", here, test), statement.then, [x.then for x in statement.joined])
        other = (self._without(here, test), statement.otherwise, [x.otherwise for x in statement.joined])
        for lanes, body, values in (ways, other):
            if not body and not values:
                kept.store(self._both("or", self._get(kept), lanes))
                continue
            self.mask.store(lanes)
            code.branch(self._any(lanes), lambda body=body, values=values: way(body, values))
        self.mask.store(self._get(kept))
        for x, place in zip(statement.joined, made, strict=True):
            self.values[str(x.value.name)] = self._get(place)

    def _loop(self, loop: kernel_ir.While) -> None:
        if id(loop) not in self.uniform.parted:
            self._together(loop)
            return
        left, again, tests = self._local(self.mask_type), self._local(self.mask_type), []
        left.store(self._none())

        def test() -> None:
            self._block(loop.before)
            here, holds = self._here(), self._wide(loop.test)
            left.store(self._both("or", self._get(left), self._without(here, holds)))
            on = self._both("and", here, holds)
            self.mask.store(on)
            again.store(self._none())
            tests.append(self._any(on))

        def after() -> None:
            self.mask.store(self._both("or", self._here(), self._get(again)))
            self._block(loop.after)

        before = self.code.record(test)
        self.loops.append((left, again))
        body = self.code.record(lambda: self._block(loop.body))
        self.loops.pop()
        self.code.put(kernel_ir.While(before, tests[0].value, body, self.code.record(after), loop.short))
        self.mask.store(self._get(left))

    def _together(self, loop: kernel_ir.While) -> None:
        """A loop that all lanes go through as often as each other."""
        before = self.code.record(partial(self._block, loop.before))
        self.loops.append(None)
        body = self.code.record(partial(self._block, loop.body))
        self.loops.pop()
        after = self.code.record(partial(self._block, loop.after))
        self.code.put(kernel_ir.While(before, self._of(loop.test).value, body, after, loop.short))

    def _leave_turn(self, statement: kernel_ir.Break | kernel_ir.Continue) -> None:
        if self.loops[-1] is None:
            self.code.put(statement)
            return
        place = self.loops[-1][isinstance(statement, kernel_ir.Continue)]
        place.store(self._both("or", self._get(place), self._here()))
        self.mask.store(self._none())

    def _return(self, statement: kernel_ir.Return) -> None:
        value = None if statement.value is None else self._wide(statement.value)
        if id(statement) not in self.uniform.parted:
            self.code.give(value)
            return
        if value is not None and self.result is not None:
            self._set(self.result, value, True)
        self.mask.store(self._none())

    # Calls

    def _call(self, function: str | Value, arguments: Sequence[Value], result: Type | None) -> Local | None:
        if not isinstance(function, str):  # outside, with the lanes as bits
            given = [self._of(x) for x in (function, *arguments)]
            if any(x.type.lanes for x in given):
                raise StatementError(f"{self.old.name}: asks something else in every lane.")
            return self.code.result_of(I64, *given, self.code.let(I64, "bits", self._here()))
        arrays, given = [], list[Local]()
        for parameter, argument in zip(self.known[function].parameters, arguments, strict=True):
            if parameter.type.pointers:
                arrays += [self.code[name] for name in lane_arrays(str(argument.name), self.memory)]
            else:
                given.append(self._of(argument) if parameter.type == I64 else self._wide(argument))
        if not any(x.type.kind == "i64" and x.type.lanes for x in given):
            return self._call_result(function, [*arrays, *given, self._here()], result)
        return self._in_groups(function, arrays, given, result)

    def _call_result(self, function: str, given: list[Local], result: Type | None) -> Local | None:
        if result is None:
            self.code.call(function, *given)
            return None
        return self.code.result_of(self._vector(result.kind), function, *given)

    def _in_groups(self, function: str, arrays: list[Local], given: list[Local], result: Type | None) -> Local | None:
        """A call for every group of lanes whose whole numbers agree."""
        code, left = self.code, self._local(self.mask_type)
        made = None if result is None else self._local(self._vector(result.kind))
        left.store(self._here())
        test = code.new_local(I1)
        waiting = code.new_local(self.mask_type)
        before = (
            Let(waiting.value, "load", (left.value,), 8),
            Let(test.value, "any", (waiting.value,)),
        )

        def group() -> None:
            first, own, same = code.let(I64, "first", waiting), list[Local](), waiting
            for x in given:
                if x.type.kind == "i64" and x.type.lanes:
                    x_first = code.let(I64, "pick", x, first)
                    same = self._both("and", same, code.let(self.mask_type, "eq", x, self._wide(x_first)))
                    own.append(x_first)
                else:
                    own.append(x)
            found = self._call_result(function, [*arrays, *own, same], result)
            if made is not None and found is not None:
                made.store(code.let(found.type, "select", same, found, self._get(made)))
            left.store(self._without(waiting, same))

        code.put(kernel_ir.While(before, test.value, code.record(group)))
        return None if made is None else self._get(made)
