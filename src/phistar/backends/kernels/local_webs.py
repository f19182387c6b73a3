"""Which stores to a local its loads may see. Stores that share a load are one web: a name used twice for different
things, as `i` of two loops, is two of them."""

from __future__ import annotations

from collections.abc import Iterable

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import Func, Let, Store

Reaching = dict[str, frozenset[int]]  # the stores of each local that are seen here, by the identity of the statement


class Webs:
    """The webs of a function, each named by one of its stores."""

    def __init__(self, function: Func) -> None:
        found = (s for s in kernel_ir.statements(function.body) if type(s) is Let and s.operation == "local")
        self.locals = {s.target.name: s.target.type for s in found}
        self._next: dict[int, int] = {}  # of a store, another of the same web; one of each has itself
        self._seen: dict[str, int] = {}  # of a load, by the name of its result, a store that it sees
        self._ends: list[tuple[list[Reaching], list[Reaching]]] = []  # what is seen at `Break` and `Continue`
        self._block(function.body, {})

    def of_store(self, store: Store) -> int:
        return self._root(id(store))

    def of_load(self, load: Let) -> int:
        return self._root(self._seen[str(load.target.name)])

    def _root(self, store: int) -> int:
        while self._next.setdefault(store, store) != store:
            store = self._next[store]
        return store

    def _block(self, body: Iterable[kernel_ir.Statement], state: Reaching | None) -> Reaching | None:
        """Return the stores that are seen behind a block, or None if nothing comes there."""
        for statement in body:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _statement(self, statement: kernel_ir.Statement, state: Reaching) -> Reaching | None:
        match statement:
            case Let(target=target, operation="load", operands=(place,)) if place.name in self.locals:
                for store in state[str(place.name)]:
                    self._next[self._root(store)] = self._root(self._seen.setdefault(str(target.name), store))
            case Store(place=place) if place.name in self.locals:
                return {**state, str(place.name): frozenset({self._root(id(statement)), id(statement)})}
            case kernel_ir.If(then=then, otherwise=otherwise):
                return _either([self._block(then, state), self._block(otherwise, state)])
            case kernel_ir.While():
                return self._loop(statement, state)
            case kernel_ir.Break() | kernel_ir.Continue():
                self._ends[-1][isinstance(statement, kernel_ir.Continue)].append(state)
                return None
            case kernel_ir.Return():
                return None
        return state

    def _loop(self, loop: kernel_ir.While, state: Reaching) -> Reaching | None:
        begun: Reaching | None = state
        while True:
            tested = self._block(loop.before, begun)
            self._ends.append(([], []))
            end = self._block(loop.body, tested)
            broken, continued = self._ends.pop()
            again = _either([begun, self._block(loop.after, _either([end, *continued]))])
            if again == begun:
                return _either([None if loop.test.name is True else tested, *broken])
            begun = again


def _either(states: Iterable[Reaching | None]) -> Reaching | None:
    given = [state for state in states if state is not None]
    names = {name for state in given for name in state}
    return {n: frozenset[int]().union(*(s.get(n, frozenset()) for s in given)) for n in names} if given else None
