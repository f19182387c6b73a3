"""A tree too long to be written out, in the step's tables: kernels of its statements that run link by link.

Forces to rates by ℳ⁻¹ with what a step adds to D(k), as many columns at once as the step has directions; momentum ℳθ̇;
bias forces; joints kind by kind. ℳ itself is made only where a step is solved in all rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phistar.backends.armature_table import armature_entries, constants_of, move_constants, with_motors
from phistar.backends.executor import executor
from phistar.backends.kernel_calls import KernelCall, kernel_call
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.one_state import state_kernel
from phistar.backends.rolled_kernel import compile_rolled
from phistar.backends.traces.arrays import traced
from phistar.constraints import columns as c
from phistar.dynamics import bias, force_response, gravity_load, mass_matrix
from phistar.loops.closing_kinds import JointKinds
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.spatial.value import digest
from phistar.stated import states

# `long_wholes`: calls of kernels (address and argument), where the tree's columns, factors and unknowns begin, the
# calls of its joints' kinds (first, last) and of those on quaternions, operations of a column and of ℳ
RESPONSE, MOMENTUM, MOMENTUM_AFTER, BIAS, WEIGHT, MATRIX = range(0, 12, 2)
COLUMNS_AT, FACTOR_AT, SPAN_AT, SPAN_ROWS_AT, KINDS, KINDS_END, CURVED, CURVED_END = range(12, 20)
COLUMN_COST, MATRIX_COST, LIST_AT = range(20, 23)
LONG_WHOLES = 23
# `kind_calls` and `curved_calls`: address, argument, where coordinates, rates and results begin, how many
CALL, GIVEN, GATHERED, GATHERED_END, RATES_BEGIN, RATES_END = range(6)
KIND_WHOLES = 6
TURNED = 7  # rows of `mass_given`: rates, and what the axes of a root that floats turn, or its six unit motions


@states(lambda s: s.mass @ s.qdd)
def joint_momentum(model: Model, q: Any, v: Any) -> Any:
    """Momentum ℳθ̇ that each joint sees, (…, nv), in O(n)."""
    return joint_momentum.evaluate(model, q, {"qdd": v})


def has_long_kernels(model: Model) -> bool:
    """Whether a tree has kernels that run link by link."""
    if has_wide_links(model) or not model.nv:
        return False
    return compile_rolled(force_response.statements_for(with_motors(model), ())[0]) is not None


class LongTrees:
    """The long trees of a plant, one after the other, in its tables; `kept` is what their calls need."""

    def __init__(self, table: dict[str, np.ndarray], trees: Sequence[tuple[int, Model, int, int]]) -> None:
        """`trees`: of each its node, its model, and where its coordinates and bodies begin."""
        self.table, self.kept = table, list[KernelCall]()
        sizes = [model.nv for _, model, _, _ in trees]
        unknowns = sum(int(x) for x in table["nodes"][:, c.OWN])
        kernels = [compile_rolled(force_response.statements_for(with_motors(model), ())[0]) for _, model, _, _ in trees]
        lengths = [constants_of(kernel.function).size for kernel in kernels if kernel]
        _make(table, trees, sizes, sum(lengths))
        at = {"column": 0, "factor": 0, "span": unknowns, "constant": 0, "list": 0, "rows": len(table["row_jacobian"])}
        table["row_jacobian"] = np.zeros(at["rows"] + sum(n * n for n in sizes))
        for number, ((node, model, place, body), kernel) in enumerate(zip(trees, kernels, strict=True)):
            n, whole = model.nv, table["long_wholes"][number]
            table["nodes"][node, c.LONG] = number + 1
            whole[[COLUMNS_AT, FACTOR_AT, SPAN_AT]] = at["column"], at["factor"], at["span"]
            whole[[SPAN_ROWS_AT, LIST_AT]] = at["rows"], at["list"]
            assert kernel is not None
            self._respond(number, node, model, place, kernel, at)
            self._call(number, node, model, place)
            self._number(model, body)
            self._joints(number, model, node, place, body)
            at["column"], at["factor"] = at["column"] + n * (n + 1), at["factor"] + (n + 2) * (n + 2)
            at["span"], at["rows"], at["list"] = at["span"] + n, at["rows"] + n * n, at["list"] + n

    def _respond(self, number: int, node: int, model: Model, place: int, kernel: Any, at: dict[str, int]) -> None:
        """ℳ⁻¹ of columns, with a table of armatures."""
        table, n, whole = self.table, model.nv, self.table["long_wholes"][number]
        size = constants_of(kernel.function).size
        constants = table["constants"][at["constant"] : at["constant"] + size]
        move_constants(kernel.function, constants)
        own = self._own(node)
        table["motor_at"][own] = at["constant"] + armature_entries(kernel.function, model)
        table["armature"][own] = model.armature
        at["constant"] += size
        columns = slice(at["column"], at["column"] + n * (n + 1))
        given, made = (table[name][columns].reshape(n + 1, n) for name in ("columns", "responses"))
        self._keep(number, RESPONSE, kernel.function, [self._q(model, place), given], [made], rows=0)
        whole[COLUMN_COST] = kernel.operations

    def _call(self, number: int, node: int, model: Model, place: int) -> None:
        """Momentum, bias, weight and, where it is asked for, ℳ."""
        table, own, n = self.table, self._own(node), model.nv
        q, ahead = self._q(model, place), table["tree_next"][place : place + model.nq]
        block = int(table["nodes"][node, c.BLOCK])
        wanted = [each.statements_for(model, ())[0] for each in (joint_momentum, bias, gravity_load)]
        momentum, biased, weight = (compile_rolled(each) or executor(each) for each in wanted)
        given, made = (table[name][TURNED * own.start : TURNED * own.stop] for name in ("mass_given", "mass_made"))
        given, made = given.reshape(TURNED, n), made.reshape(TURNED, n)
        self._keep(number, MOMENTUM, momentum.function, [q, given], [made], rows=1)
        self._keep(number, MOMENTUM_AFTER, momentum.function, [ahead, given], [made], rows=1)
        self._keep(number, BIAS, biased.function, [q, table["before"][own]], [table["bias"][own]])
        self._keep(number, WEIGHT, weight.function, [q], [table["load"][own]])
        matrix, _ = mass_matrix.kernel(model, ())
        self._keep(number, MATRIX, matrix.function, [q], [table["inertias"][block : block + n * n]])
        table["long_wholes"][number, MATRIX_COST] = matrix.operations

    def _keep(self, number: int, to: int, function: Any, given: Any, made: Any, rows: int | None = None) -> None:
        counted = None if rows is None else self.table["long_rows"][number, rows : rows + 1]
        call = kernel_call(function, given, made, counted)
        self.kept.append(call)
        self.table["long_wholes"][number, [to, to + 1]] = call.address, call.given

    def _number(self, model: Model, body: int) -> None:
        """Masses of bodies, and where joints are placed."""
        table, kinds = self.table, JointKinds(model)
        bodies = slice(body, body + len(model.bodies))
        table["body_mass"][bodies] = [[b.inertia.mass, *(b.inertia.mass * b.inertia.com)] for b in model.bodies]
        for name in ("before", "after", "shift"):
            table[f"joint_{name}"][bodies] = kinds.tables[name]

    def _joints(self, number: int, model: Model, node: int, place: int, body: int) -> None:
        """The kernels of joints' kinds, and how quaternions move."""
        table, own, whole = self.table, self._own(node), self.table["long_wholes"][number]
        for first, last, name in ((KINDS, KINDS_END, "kind_calls"), (CURVED, CURVED_END, "curved_calls")):
            whole[first] = whole[last] = int((table[name][:, CALL] != 0).sum())
        at, made = int(table["gathered"][0]), int(table["gathered"][1])
        for kernel, joints, coordinates, rates in JointKinds(model).kinds:
            kind, count = model.joints[joints[0]].kind, len(joints)
            nq, size = kind.nq, 12 + 6 * kind.nv
            given = table["joint_q"][at : at + count * nq].reshape(count, nq)
            found = table["joint_made"][made : made + count * size].reshape(count, size)
            table["joint_q_from"][at : at + count * nq] = place + coordinates.reshape(-1)
            table["joint_at"][body + np.array(joints)] = made + size * np.arange(count)
            call = kernel_call(kernel.function, [given], [found], np.full(1, count, np.int64))
            self.kept.append(call)
            table["kind_calls"][whole[KINDS_END]] = [call.address, call.given, at, at + count * nq, 0, 0]
            whole[KINDS_END] += 1
            if not kind.flat:
                self._integrate_quaternions(number, kind, (at, count), own.start + rates)
            at, made = at + count * nq, made + count * size
        table["gathered"][:] = at, made

    def _integrate_quaternions(self, number: int, kind: Any, gathered: tuple[int, int], rates: np.ndarray) -> None:
        """q ⊕ hθ̇ of joints on quaternions."""
        table, (at, count), whole = self.table, gathered, self.table["long_wholes"][number]
        start = int(table["gathered_rates"][0])
        table["joint_rate_from"][start : start + len(rates)] = rates
        given = table["joint_q"][at : at + count * kind.nq].reshape(count, kind.nq)
        moved = table["joint_rates"][start : start + len(rates)].reshape(count, kind.nv)
        made = table["joint_moved"][at : at + count * kind.nq].reshape(count, kind.nq)
        step = table["numbers"][c.STEP : c.STEP + 1]
        call = kernel_call(_integrate(kind), [given, moved, step], [made], np.full(1, count, np.int64))
        self.kept.append(call)
        row = [call.address, call.given, at, at + count * kind.nq, start, start + len(rates)]
        table["curved_calls"][whole[CURVED_END]] = row
        whole[CURVED_END] += 1
        table["gathered_rates"][0] += len(rates)

    def _own(self, node: int) -> slice:
        at, size = (int(x) for x in self.table["nodes"][node, [c.OWN_AT, c.OWN]])
        return slice(at, at + size)

    def _q(self, model: Model, place: int) -> np.ndarray:
        return self.table["tree_q"][place : place + model.nq]


def _integrate(kind: Any) -> Any:
    """q ⊕ hθ̇ of one joint, as a kernel."""
    from phistar.model import Body, Joint
    from phistar.spatial import Inertia, Pose

    joint = Joint("joint", kind, 0, slice(0, kind.nq), slice(0, kind.nv))
    coordinates = Coordinates(Model("joint", (Body("body", -1, joint, Pose(), Inertia(1.0)),), ()))

    def formulas(q: Any, w: Any, h: Any) -> tuple[Any]:
        return (traced(coordinates.unit(coordinates.add(np.asarray(q), np.asarray(h[0] * w)))),)

    key = digest(type(kind).__name__, kind.nq, kind.nv)
    return state_kernel("a joint after a step", key, [kind.nq, kind.nv, 1], [(kind.nq,)], formulas)


def _make(table: dict[str, np.ndarray], trees: Sequence[Any], sizes: Sequence[int], constants: int) -> None:
    """The tables of long trees."""
    rates, bodies = len(table["v"]), len(table["pose"])
    largest, count = max(sizes, default=1), max(len(trees), 1)
    coordinates = max(sum(model.nq for _, model, _, _ in trees), 1)
    made = sum(12 + 6 * joint.nv for _, model, _, _ in trees for joint in model.joints)
    floats: dict[str, Any] = {"columns": sum(n * (n + 1) for n in sizes), "constants": constants, "joint_made": made}
    floats |= {"responses": floats["columns"], "factor": sum((n + 2) ** 2 for n in sizes), "gram": (largest + 2) ** 2}
    floats |= {"mass_given": TURNED * rates, "mass_made": TURNED * rates, "bias": rates, "load": rates}
    floats |= {"armature": rates, "drawn": largest + 2, "remaining": largest + 2, "joint_rates": rates}
    floats |= {"joint_q": coordinates, "joint_moved": coordinates, "body_mass": (bodies, 4), "root_inertia": 48}
    floats |= {"joint_before": (bodies, 9), "joint_after": (bodies, 9), "joint_shift": (bodies, 3), "turned": 24}
    floats |= {"root_center": (len(table["nodes"]), 3)}
    wholes: dict[str, Any] = {"long_wholes": (count, LONG_WHOLES), "long_rows": (count, 2), "motor_at": rates}
    kinds = max(sum(len(model.joints) for _, model, _, _ in trees), 1)
    wholes |= {"kind_calls": (kinds, KIND_WHOLES), "curved_calls": (kinds, KIND_WHOLES), "joint_q_from": coordinates}
    wholes |= {"joint_at": bodies, "joint_rate_from": rates, "gathered": 2, "gathered_rates": 1, "span_of": bodies}
    wholes |= {"span_list": sum(sizes), "pivots": largest + 2}
    for name, shape in floats.items():
        table[name] = np.zeros(np.maximum(shape, 1))
    for name, shape in wholes.items():
        table[name] = np.zeros(np.maximum(shape, 1), np.int64)
    for name in ("v", "before", "free", "given", "side", "slope", "pushed"):
        table[name] = np.concatenate([table[name][:rates], np.zeros(sum(sizes))])
