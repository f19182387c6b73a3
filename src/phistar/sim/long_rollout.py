"""The kernel of a rollout of a robot too long to be written out: forward dynamics link by link, and around it the time
loop, in which every link steps its own joint (`link_steps.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory as State
from phistar.backends.code.timeloop import Phase, TimeSignature
from phistar.backends.kernels import Module, llvm_text
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.machine.jit import Source, Target, gufunc, host, machine_code
from phistar.backends.rolled.code import operations_per_link, stage_calls, traced_stages
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.link_loops import Sizes, TraceStage
from phistar.backends.rolled.link_memory import Memory, Rooms, Stage, drop_unneeded, number_entries
from phistar.backends.rolled.link_rollout import Phases, time_functions
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled.robot_tables import (
    Areas,
    Given,
    built_tables,
    entry_places,
    initial_numbers,
    link_tables,
)
from phistar.backends.rolled.rolled_links import RolledLinks, rolled_links
from phistar.backends.rolled_kernel import rolled_plan
from phistar.backends.wide_kernel import in_fewest_operations
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.integrators import method_named
from phistar.sim.link_steps import CLOCK, FORCES, GAINS, WEIGHTS, LinkSteps
from phistar.sim.passive import Passive

PASSIVE = ("damping", "stiffness", "rest", "ahead", "back")


def long_rollout(
    model: Model,
    method: str,
    state: State,
    control: Phase | None,
    controls: bool,
    target: Target | None = None,
    lanes: int | None = None,
) -> Any:
    """The gufunc (q0, v0, times[, controls, flat][, parameters]) → (q, v), kept on the model; None where there is none:
    for loops but in independent rates, and for a method that keeps the momentum of a floating robot. Without `control`
    and `controls` the joint forces are zero."""
    store = model.__dict__.setdefault("_kernels", {})
    key = ("long rollout", method, state, control, controls, target, lanes)
    if key not in store:
        whole = LongRollout(model, method, state, control, controls)
        store[key] = whole.function(target or host(), lanes) if whole.plan is not None else None
    return store[key]


class LongRollout:
    """Rollout of a long robot; `plan` is None where the time loop cannot enclose link-by-link dynamics."""

    def __init__(self, model: Model, method: str, state: State, control: Phase | None, controls: bool) -> None:
        self.model, self.method, self.state, self.control = model, method, state, control
        self.chosen, self.signature = method_named(method), TimeSignature(state, controls)
        fits = model.nv and not model.loops and not self.chosen.floating(model) and Passive(model).traceable
        self.plan = self._plan() if fits else None
        self.acting = acting(model.tree) if self.plan is not None else {}

    def _plan(self) -> Plan | None:
        wanted = forward_dynamics.statements_for(self.model, ())[0]
        return rolled_plan(in_fewest_operations(wanted) if has_wide_links(self.model) else wanted)

    def function(self, target: Target, lanes: int | None) -> Any:
        assert self.plan is not None
        model, lanes, plan = self.model, lanes or target.lanes, self.plan
        links = rolled_links(model, (), plan.keeps_origins, plan.is_decoupled)
        kinds, numbers = links.kinds, links.numbers
        steps = LinkSteps(plan, self.chosen, self.signature.controls or self.control is not None, tuple(self.acting))
        how = self.method, self.chosen.weights, self.signature.names, steps.forces, steps.acting
        own = (model.key, self.control, self.state) if self.control else None  # a controller is about one robot

        def source() -> Source:
            stages = _stages(steps, kinds, plan)
            text, memory = self._text(stages, links, lanes, target.fma)
            header = {"operations": [self._operations(stages)], "by_column": [], "memory": memory.data()}
            return Source(text, header, quick=True)

        made_from = plan, [kind.key for kind in kinds], how, own, lanes
        header, code = machine_code("long rollout", made_from, target, source)
        rooms = Rooms.from_data(header["memory"])
        areas = Areas(model, numbers, rooms, ())
        given = self._arguments(links, areas, rooms, plan)
        if links.frames is not None:
            data = link_tables(model, links.frames, numbers, areas, given, (), 2 * lanes)
        else:
            data = built_tables(links, areas, given, 2 * lanes)
        title = f"rollout of {model.name} by {self.method}, compiled link by link."
        signature: Any = self.signature
        return gufunc(code, signature, "rollout", title, data)

    def _text(self, stages: list[Stage], links: RolledLinks, lanes: int, fma: bool) -> tuple[str, Memory]:
        """The module, and where it keeps its numbers."""
        assert self.plan is not None
        memory = Memory(2 * lanes, 1)
        flat = {**FlatTracer(self.plan).shapes, CLOCK: (2, 1), WEIGHTS: (2, 1), GAINS: (self.state.gains, 1)}
        number_entries(stages, len(links.kinds), flat, memory)
        made = stage_calls(stages, memory, lanes, fma)
        rooms = Rooms.from_data(memory.data())
        control = self._controller(links, rooms, lanes, fma) if self.control else None
        scratch = max(made.scratch, control.body.slot_count if control else 0)
        sizes = Sizes(memory.lanes, scratch, max(len(memory.slot), 1), 0, 1, None)
        phases = Phases(1, len(stages) - 2, self.chosen.weights, memory.flat[WEIGHTS])
        own = control.body.module() if control else Module(())
        calls = [*made.calls, *([control] if control else [])]
        loop = Module(tuple(time_functions(calls, phases, self.signature, sizes, control is not None)))
        return llvm_text(made.module.with_(own, loop)), memory

    def _controller(self, links: RolledLinks, rooms: Rooms, lanes: int, fma: bool) -> TraceStage:
        """The recorded controller, on the links' memory."""
        assert self.control is not None
        vectors, phase = self._vectors(links, rooms), self.control
        loads, stores = ([vectors[place] for place in places] for places in (phase.loads, phase.stores))
        return TraceStage("control", phase.trace, loads, stores, lanes, fma)

    def _operations(self, stages: list[Stage]) -> int:
        """Operations per link and step, without those of a controller."""
        return len(self.chosen.weights) * operations_per_link(stages[1:-1]) + operations_per_link(stages[-1:])

    def _places(self, links: RolledLinks, areas: Areas, rooms: Rooms) -> dict[str, np.ndarray]:
        """Memory vectors of the inputs and outputs."""
        flat = {"t": (CLOCK, 2), "g": (GAINS, self.state.gains)}
        places = {name: np.arange(rooms.flat[at], rooms.flat[at] + size) for name, (at, size) in flat.items()}
        rates, nq, nv = link_rates(self.model), self.model.nq, self.model.nv
        for name, field, entries, size in (
            ("q", "xq", links.coordinates, nq),
            ("v", "xv", rates, nv),
            ("c", FORCES, rates, nv),
        ):
            places[name] = entry_places(links.numbers, areas.own, rooms, field, entries, size)
        return places

    def _vectors(self, links: RolledLinks, rooms: Rooms) -> dict[tuple[str, int], int]:
        """Arrays from which a controller takes its numbers and into which it writes the joint forces."""
        found = self._places(links, Areas(self.model, links.numbers, rooms, ()), rooms)
        named = {"x": [*found["q"], *found["v"]], "clock": found["t"], "gains": found["g"], "u": found["c"]}
        return {(name, i): int(vector) for name, vectors in named.items() for i, vector in enumerate(vectors)}

    def _arguments(self, links: RolledLinks, areas: Areas, rooms: Rooms, plan: Plan) -> Given:
        """Arguments for states, times and joint forces; constants of the joints stand in the links' memory."""
        found, numbers = self._places(links, areas, rooms), links.numbers
        arrays = [found[name] for name in self.signature.names]
        initial, values = initial_numbers(self.model, numbers, areas.own, plan, rooms)
        for name, constants in self.acting.items():
            rates = member_rates(self.model)
            initial = [*initial, *entry_places(numbers, areas.own, rooms, name, rates, self.model.tree.nv)]
            values = [*values, *constants]
        return Given(arrays, [len(x) for x in arrays], initial, values, motors=plan.motors)


def link_rates(model: Model) -> list[Sequence[int]]:
    """The entries of v that are each link's own."""
    if model.embedding is None:
        return [body.rates for body in model.bodies]
    return [range(own.start, own.stop) for own in model.embedding.rates]


def member_rates(model: Model) -> list[Sequence[int]]:
    """The same of the spanning tree's rates."""
    return link_rates(model) if model.embedding is None else [group.rates for group in model.embedding.groups]


def _stages(steps: LinkSteps, kinds: Sequence[Any], plan: Plan) -> list[Stage]:
    """Begin; what is asked of the dynamics, the dynamics, what its answer makes; finish."""
    dynamics = traced_stages(plan, kinds, FlatTracer(plan))
    begin, asked, advanced, finished = (
        Stage("outward", [made(kind) for kind in kinds])
        for made in (steps.begin, steps.ask, steps.advance, steps.finish)
    )
    return drop_unneeded([begin, asked, *dynamics, advanced, finished], {"xq", "xv"}, set())


def acting(model: Model) -> dict[str, np.ndarray]:
    """The numbers of passive forces, (nv,) each, of the kinds that act on any joint."""
    passive = Passive(model)
    ahead, back = passive.friction
    rest, (flat_q, flat_v) = np.zeros(model.nv), Coordinates(model).flat
    rest[flat_v] = passive.rest[flat_q]
    known: Mapping[str, np.ndarray] = dict(
        zip(PASSIVE, (passive.damping, passive.stiffness, rest, ahead, back), strict=True)
    )
    used = {"damping": ("damping",), "stiffness": ("stiffness", "rest"), "friction": ("ahead", "back")}
    wanted = [each for name, parts in used.items() if np.any(getattr(passive, name)) for each in parts]
    return {name: known[name] for name in wanted}
