"""Values that are the same in all lanes of a function that runs in several at once, and where lanes part.

A value varies if it is made of such, if it is read from memory of lanes, or if it is a local that lanes see the stores
of which not all of them made. Lanes part at tests that vary; they are together again behind the statement, but for
those that left it by a break, a continue or a return.
"""

from __future__ import annotations

from collections.abc import Iterable

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import F64, I1, Func, Let, Store
from phistar.backends.kernels.lane_memory import LaneMemory, accesses
from phistar.backends.kernels.local_webs import Webs

Path = tuple[tuple[int, int], ...]  # the regions that a statement stands in, each of fewer lanes than the one before
THEN, OTHERWISE, AGAIN, BEHIND = range(4)


class Uniform:
    """`varying` are the names of a function's values, and its webs of locals, that differ between lanes; `parted` the
    statements, by their identity, at which lanes part, and `left` those behind which not all may go on; the stores of
    `blended` webs must keep what other lanes had."""

    def __init__(self, function: Func, memory: LaneMemory) -> None:
        self.function, self.memory, self.webs = function, memory, Webs(function)
        self.places = accesses(function, memory.columns)
        self.varying: set[str | int] = {str(x.name) for x in function.parameters if x.type in (F64, I1)}
        self.parted: set[int] = set()
        self.left: set[int] = set()
        self.blended: set[int] = set()
        size = -1
        while size != (size := sum(map(len, (self.varying, self.parted, self.left, self.blended)))):
            self._stores: dict[int, set[Path]] = {}
            self._loads: dict[int, set[Path]] = {}
            self._loops: list[tuple[int, Path]] = []
            self._block(function.body, ())
            self._blend()

    def _block(self, body: Iterable[kernel_ir.Statement], path: Path) -> set[int]:
        """The statements around that some lanes leave in the block, 0 for the function; the path narrows behind one."""
        gone: set[int] = set()
        for statement in body:
            if type(statement) is Let:
                self._let(statement, path)
            elif type(statement) is Store:
                self._store(statement, path)
            else:
                left = self._statement(statement, path)
                left.discard(id(statement))
                if left and isinstance(statement, kernel_ir.If | kernel_ir.While):
                    self.left.add(id(statement))
                    path = (*path, (id(statement), BEHIND))
                gone |= left
        return gone

    def _let(self, let: Let, path: Path) -> None:
        target, operation, operands, _ = let
        if operation == "load" and operands[0].name in self.webs.locals:
            web = self.webs.of_load(let)
            self._loads.setdefault(web, set()).add(path)
            varies = web in self.varying
        elif operation == "load" and operands[0].name in self.places:
            place = self.places[str(operands[0].name)]
            varies = place.index.name in self.varying or not self.memory.is_shared(place)
        elif operation == "call":
            varies = bool(let.detail)
        else:
            varies = any(x.name in self.varying for x in operands)
        if varies:
            self.varying.add(str(target.name))

    def _store(self, store: Store, path: Path) -> None:
        if store.place.name in self.webs.locals:
            web = self.webs.of_store(store)
            self._stores.setdefault(web, set()).add(path)
            if store.value.name in self.varying:
                self.varying.add(web)

    def _statement(self, statement: kernel_ir.Statement, path: Path) -> set[int]:
        match statement:
            case kernel_ir.If(test=test):
                return self._branch(statement, path, test.name in self.varying)
            case kernel_ir.While():
                return self._loop(statement, path)
            case kernel_ir.Break() | kernel_ir.Continue():
                loop, around = self._loops[-1]
                return {loop} if path != around or loop in self.parted else set()
            case kernel_ir.Return():
                if path == ():
                    return set()
                self.parted.add(id(statement))
                return {0}
        return set()

    def _branch(self, statement: kernel_ir.If, path: Path, parts: bool) -> set[int]:
        if parts:
            self.parted.add(id(statement))
        paths = [(*path, (id(statement), way)) if parts else path for way in (THEN, OTHERWISE)]
        left = self._block(statement.then, paths[0]) | self._block(statement.otherwise, paths[1])
        for x in statement.joined:
            if parts or x.then.name in self.varying or x.otherwise.name in self.varying:
                self.varying.add(str(x.value.name))
        return left

    def _loop(self, loop: kernel_ir.While, path: Path) -> set[int]:
        inside = (*path, (id(loop), AGAIN)) if id(loop) in self.parted else path
        left = self._block(loop.before, inside)
        self._loops.append((id(loop), inside))
        left |= self._block(loop.body, inside)
        self._loops.pop()
        left |= self._block(loop.after, inside)
        if left or loop.test.name in self.varying:
            self.parted.add(id(loop))
        return left

    def _blend(self) -> None:
        """A store that stands in fewer lanes than a load of it leaves the others what they had."""
        for web, stores in self._stores.items():
            loads = self._loads.get(web, set())
            if any(load[: len(store)] != store for store in stores for load in loads):
                self.blended.add(web)
                self.varying.add(web)
