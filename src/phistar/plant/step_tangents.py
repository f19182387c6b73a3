"""Tables of a step's derivative, beside those of the step, and the calls that fill them."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.kernel_calls import KernelCall, kernel_call, python_call
from phistar.backends.native_door import bind_call
from phistar.constraints import columns as c
from phistar.derivatives import inverse_derivatives_kernel
from phistar.geometry.place_changes import PLACE_CHANGE, VARYING, place_change_loops
from phistar.plant.batch_loop import ENTRIES
from phistar.plant.bending_tangents import bending_formula
from phistar.plant.loop_tangents import loop_formula
from phistar.plant.stations import node_rows
from phistar.plant.tangent_columns import (
    BODY_FLOATS,
    COLUMNS_OF,
    ENTRIES_OF,
    FORCES_OF,
    FRESH_STATE,
    GROUP_WHOLES,
    GROUPS_OF,
    RATES_OF,
    SCREWS_OF,
    TANGENT_COUNTS,
    TREE_CALLS,
)
from phistar.plant.tangent_loops import TANGENTS
from phistar.plant.tree_columns import TREE_NQ, TREE_Q
from phistar.plant.tree_kernels import TreeKernels

SOLVING, ENDING = range(2)
_BY_DYNAMICS = "by_place", "by_rate", "by_inertia"


class StepTangents:
    """The derivative of an engine's step: its tables, which are as large as the engine's, and its loops."""

    def __init__(self, engine: Any, forces: bool) -> None:
        self.engine, self.forces, self.kept = engine, forces, list[KernelCall]()
        table, model = engine.tables, engine.system.model
        self.rates, self.entries = model.nv, int(table["batch"][ENTRIES])
        self.columns = 2 * self.rates + self.entries + (self.rates if forces else 0)
        self.own = self._tables() | self._numbers() | self._bends() | self._groups()
        trees = np.array(self._trees(), dtype=np.int64).reshape(-1, TREE_CALLS)
        self.own["tangent_calls"] = trees if trees.size else np.zeros((1, TREE_CALLS), np.int64)
        doubled = {f"{name}_d": np.zeros_like(table[name]) for name in VARYING}
        extra = {"place_changes": np.zeros((len(table["contacts"]), PLACE_CHANGE)), "direction": np.zeros(2, np.int64)}
        self.call = bind_call((*place_change_loops(), *TANGENTS), table | doubled | extra | self.own, {})
        self.made_for = table["contacts"]
        self.system = self.own["system"].reshape(self.rates, self.rates)
        self.sides = self.own["sides"].reshape(self.rates, self.columns)

    @staticmethod
    def of(engine: Any, forces: bool) -> StepTangents:
        """Tangents of an engine, made anew only where its tables have grown."""
        kept = engine.tangents
        if kept is None or kept.made_for is not engine.tables["contacts"] or kept.forces != forces:
            engine.tangents = kept = StepTangents(engine, forces)
        return kept

    def solve(self, fresh: bool) -> None:
        """N and its sides, of the step that the engine has solved and not moved."""
        self.own["tangent_counts"][FRESH_STATE], self.own["tangent_mode"][0] = fresh, SOLVING
        self.call()
        self.engine.check()

    def finish(self, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂x⁺ by the state, by the command and by forces (2nv, …), with ∂v⁺ solved and the engine where it ended."""
        self.own["solved"].reshape(solved.shape)[...], self.own["tangent_mode"][0] = solved, ENDING
        self.call()
        answer, first = self.own["answer"].reshape(2 * self.rates, self.columns), 2 * self.rates
        last = first + self.entries
        return answer[:, :first].copy(), answer[:, first:last].copy(), answer[:, last:].copy()

    def _tables(self) -> dict[str, np.ndarray]:
        table, n, w = self.engine.tables, max(self.rates, 1), max(self.columns, 1)
        nodes, free, bodies = len(table["nodes"]), len(table["center"]), len(table["pose"])
        rows, tendons = len(table["rows"]), len(table["tendon_length"])
        floats = {"system": n * n, "turned_by": n * n, "sides": n * w, "solved": n * w, "made": 2 * n * w}
        floats |= {"answer": 2 * n * w, "wrench_rates": 6 * nodes * n, "wrench_place": 6 * nodes * n}
        floats |= {"wrench_given": 6 * nodes * w, "free_moment": 3 * free * w, "speed_by": rows * n}
        floats |= {"inertia_by": rows * n, "met_inertia": rows, "start_turn": 9 * free, "start_moment": 3 * free}
        floats |= {"start_rates": n, "start_momentum": 12 * n, "momentum_by": 12 * n, "owed_by": 6 * w}
        floats |= {"composite": 36 * bodies, "held_momentum": 6 * bodies, "accelerations": n, "row_entries": n}
        floats |= {name: len(table["mass"]) for name in (*_BY_DYNAMICS, "mass_slopes")}
        floats |= {"tendon_pull": tendons, "tendon_inertia": tendons, "tendon_speed_by": tendons * n}
        floats |= {"tendon_inertia_by": tendons * n, "twisted": 6, "carried": 6, "by_law": 28, "place_by": 51}
        floats |= {"base": 24, "contact_twist": 6, "contact_force": 6, "tail": 6, "root_push": 6, "turned_center": 3}
        floats |= {"turning": 135, "turned_axes": 9, "stretch_unit": 3, "stretch_by": 3}
        floats |= dict.fromkeys(("flow_of", "flow_term", "flow_next", "flow_whole", "flow_mean"), 36)
        made = {name: np.zeros(size) for name, size in floats.items()}
        made |= {name: np.zeros((n, 6)) for name in ("relative", "other", "end_by")}
        made["axes"] = np.zeros(table["screws"].shape)
        made |= {"involved": np.zeros(n, np.int64), "tangent_mode": np.zeros(1, np.int64)}
        return made | {"start_touched": np.zeros(free, np.int64)}

    def _numbers(self) -> dict[str, np.ndarray]:
        """Numbers of rates, bodies and joints."""
        engine, table, order = self.engine, self.engine.tables, self.engine.rate_order
        system, count = engine.system, np.zeros(TANGENT_COUNTS, np.int64)
        count[[RATES_OF, COLUMNS_OF, ENTRIES_OF]] = self.rates, self.columns, self.entries
        count[FORCES_OF], count[GROUPS_OF] = self.rates if self.forces else 0, len(engine.moves.loops)
        n, numbers = max(self.rates, 1), table["body_number"]
        nodes, bodies, sizes, places = (np.zeros(n, np.int64) for _ in range(4))
        for node, (at, size) in enumerate(table["nodes"][:, [c.OWN_AT, c.OWN]].tolist()):
            nodes[at : at + size] = node
        filled = np.zeros((len(table["pose"]), BODY_FLOATS))
        for body in (body for tree in system.trees for body in tree):
            first, last = (int(table[name][numbers[body]]) for name in ("first_rate", "last_rate"))
            bodies[first:last], sizes[first:last] = numbers[body], last - first
            own = system.model.bodies[body].inertia
            filled[numbers[body]] = [own.mass, *own.com, *np.asarray(own.tensor).reshape(-1)]
        places[order.rates] = np.arange(self.rates)
        made = {"tangent_counts": count, "node_of_rate": nodes, "body_of_rate": bodies, "joint_size": sizes}
        made |= {"place_of_rate": places, "rate_in_model": np.resize(order.rates, n).astype(np.int64)}
        count[SCREWS_OF] = len(table["screws"])
        flat = {"screw_rows": order.screws.reshape(-1).copy(), "comes_before": order.before.reshape(-1).copy()}
        return made | flat | {"body_numbers": filled}

    def _bends(self) -> dict[str, np.ndarray]:
        """Where the changes of modes' screws at nodes stand, tree after tree."""
        table, total, at = self.engine.tables, self.rates, 0
        rows = np.full((len(table["screws"]) - total, 2), -1, np.int64)
        system = self.engine.system
        for (body, _), first in node_rows(system).items():
            modes = system.model.bodies[body].modes
            for i in range(modes):
                rows[first - total + i] = first, at
                at += 6 * modes
        return {"bend_rows": rows, "bends": np.zeros(max(at, 1))}

    def _trees(self) -> list[list[int]]:
        """The kernels of every tree: of ∂ID, and of what bends."""
        made, table, engine = [], self.engine.tables, self.engine
        for number, own in enumerate(engine.moves.kernels):
            node = number + len(engine.system.free)
            at, size, block = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN, c.BLOCK]])
            first, count = (int(x) for x in table["tree_wholes"][number, [TREE_Q, TREE_NQ]])
            rates, square = slice(at, at + size), slice(block, block + size * size)
            given = [table["tree_q"][first : first + count], table["before"][rates], self.own["accelerations"][rates]]
            outputs = [self.own[name][square] for name in _BY_DYNAMICS]
            call = kernel_call(inverse_derivatives_kernel(own.model).function, given, outputs)
            self.kept.append(call)
            made.append([call.address, call.given, *self._bending(node, own, given[:2], rates, square)])
        return made

    def _bending(
        self, node: int, tree: TreeKernels, given: list[np.ndarray], rates: slice, square: slice
    ) -> tuple[int, int]:
        """The kernel of what bends in a tree; 0 where nothing is asked of it."""
        engine, table = self.engine, self.engine.tables
        weighed = bool(engine.system.tendons)
        if not tree.bending or not (weighed or tree.nodes or tree.roots.bodies):
            return 0, 0
        formula, outputs = bending_formula(tree, weighed), list[np.ndarray]()
        if tree.roots.bodies:
            outputs.append(self.own["momentum_by"][12 * rates.start : 12 * rates.stop])
        if tree.nodes:
            number = int(table["nodes"][node, c.BODY]) + tree.places.index(tree.nodes[0])
            first = int(table["first_screw"][number]) - self.rates
            at = int(self.own["bend_rows"][first, 1])
            outputs.append(self.own["bends"][at : at + formula.shapes[len(outputs)][0]])
        if weighed:
            outputs.append(self.own["mass_slopes"][square])
        if tree.is_compiled:
            call = kernel_call(formula.kernel, given, outputs)
        else:
            call = python_call(formula.function, given, outputs, engine.moves.keep_error)
        self.kept.append(call)
        return call.address, call.given

    def _groups(self) -> dict[str, np.ndarray]:
        """The kernels of the groups of loops."""
        engine, table, loops = self.engine, self.engine.tables, self.engine.moves.loops
        own: dict[str, np.ndarray] = {}
        rows = sum(len(each.rows) for each in loops)
        rates, made = sum(each.model.nv for each in loops), sum(_entry_count(each) for each in loops)
        floats = {"group_forces": rows, "group_speeds": rates, "group_made": made}
        own |= {name: np.zeros(max(size, 1)) for name, size in floats.items()}
        own["group_wholes"] = np.zeros((max(len(loops), 1), GROUP_WHOLES), np.int64)
        own["group_row"], own["group_rate"] = np.zeros(max(rows, 1), np.int64), np.zeros(max(rates, 1), np.int64)
        places = {rate: number for number, rate in enumerate(engine.rate_order.rates.tolist())}
        row = rate = out = q = 0
        for number, each in enumerate(loops):
            nv, count, size = each.model.nv, len(each.rows), _entry_count(each)
            formula = loop_formula(each)
            inputs = [table["loop_q"][q : q + each.model.nq], own["group_forces"][row : row + count]]
            inputs.append(own["group_speeds"][rate : rate + nv])
            outputs = [own["group_made"][out : out + size]]
            call = (
                kernel_call(formula.kernel, inputs, outputs)
                if each.is_compiled
                else python_call(formula.function, inputs, outputs, engine.moves.keep_error)
            )
            self.kept.append(call)
            own["group_wholes"][number] = call.address, call.given, row, count, rate, nv, out
            own["group_row"][row : row + count] = each.rows
            own["group_rate"][rate : rate + nv] = [places[x] for x in each.v_index.tolist()]
            row, rate, out, q = row + count, rate + nv, out + size, q + each.model.nq
        return own


def _entry_count(loops: Any) -> int:
    """Entries that a group's kernel makes."""
    return (loops.model.nv + 7 * len(loops.rows)) * loops.model.nv
