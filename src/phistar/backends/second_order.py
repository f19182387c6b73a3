"""Second derivatives of long mechanisms: how the gradient of a number changes along a direction, link by link.

w*τ is a number that one outward sweep makes: V_r*(Mα + b) + w*Aθ̈ with V_r = φ*H*w, and what the spin of rotors adds.
Every link's traced step is differentiated as it stands, backward and then forward (`differentiate.py`): what an outward
sweep passes on, its gradient sends inward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, units_of
from phistar.backends.kernels import Module, llvm_text
from phistar.backends.links.link_frames import ROOT, LinkFrames, link_frames
from phistar.backends.links.values import has_rotors
from phistar.backends.machine.jit import Signature, Source, Target, gufunc, host, machine_code
from phistar.backends.rolled.code import operations_per_link, stage_calls
from phistar.backends.rolled.link_loops import Sizes, loop_functions
from phistar.backends.rolled.link_memory import Memory, Rooms, Stage, drop_unneeded, number_entries
from phistar.backends.rolled.plan import Plan, total
from phistar.backends.rolled.robot_tables import Areas, Given, link_tables, over_links
from phistar.backends.rolled.rolled_links import kinds_of
from phistar.backends.rolled.steps import Kind, Place, Recorder, Step, StepTracer
from phistar.backends.traces.differentiate import Sparse, adjoints, matrix, tangent_map, tangents, values_of
from phistar.backends.traces.trace import Tape, Trace, finish
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.sweeps import ir
from phistar.sweeps.lower import GIVEN, lower_all

ARGUMENTS = {"q": "δq", GIVEN["v"]: "δv", GIVEN["qdd"]: "δa"}  # fields with what they change along
INPUTS = ("q", GIVEN["v"], GIVEN["qdd"], GIVEN["v_ref"], *ARGUMENTS.values())
OUTPUTS = ("∂q", "∂v", "∂a")


def weighted_forces(s: Symbols) -> Node:
    """w*τ = V_r*(Mα + b) + w*Aθ̈, and (Sθ̈ + b_r)*ℰφ*V_r + w*S*ℰφ*α of rotors; w is θ̇_r."""
    alpha = s.phi.T @ (s.H.T @ s.qdd + s.a + s.E.T @ s.a_g)
    rigid = s.V_ref.T @ (s.M @ alpha + s.b) + s.v_ref.T @ s.A @ s.qdd
    if not s.rotors:
        return rigid
    carried = s.E_phi.T @ s.V_ref
    return rigid + s.qdd.T @ s.S.T @ carried + s.b_r.T @ carried + s.v_ref.T @ s.S.T @ s.E_phi.T @ alpha


def compile_hessian_product(model: Model, target: Target | None = None, lanes: int | None = None) -> Kernel:
    """∇²(w*τ)·(δq, δv, δa) of (q, v, a, w, δq, δv, δa): a kernel of two sweeps."""
    return _compile(Gradient("inverse_dynamics_hessian_product", INPUTS, True), model, target, lanes)


def compile_gradient(model: Model, target: Target | None = None, lanes: int | None = None) -> Kernel:
    """∇(w*τ) of (q, v, a, w), tangent in q: a kernel of two sweeps. At a unit vector w, a row of ∂τ."""
    return _compile(Gradient("inverse_dynamics_gradient", INPUTS[:4], False), model, target, lanes)


@dataclass(frozen=True)
class Gradient:
    """Name and inputs of a gradient kernel, and whether it gives the gradient's tangent."""

    title: str
    inputs: tuple[str, ...]
    changes: bool


def _compile(wanted: Gradient, model: Model, target: Target | None, lanes: int | None) -> Kernel:
    target = target or host()
    lanes = lanes or target.lanes
    plan = Plan(lower_all({"y": weighted_forces(Symbols(armature=True, rotors=has_rotors(model)))}), 0)
    frames = link_frames(model)
    kinds, numbers = kinds_of(model, frames)
    signature = Signature((model.nq, *(model.nv for _ in wanted.inputs[1:])), ((model.nv,),) * 3, units_of(model))

    def source() -> Source:
        text, memory, operations = _text(wanted, plan, kinds, lanes, target.fma)
        return Source(text, {"operations": operations, "memory": memory.data()})

    header, code = machine_code("second order", (wanted, plan, [kind.key for kind in kinds], lanes), target, source)
    data = _data(wanted, model, frames, numbers, Rooms.from_data(header["memory"]), 2 * lanes)
    doc = f"{wanted.title} of {model.name}, compiled link by link."
    function = gufunc(code, signature, wanted.title, doc, data)
    operations, names = header["operations"] * len(model.bodies), ("v", "a", "w", "dq", "dv", "da")
    return Kernel(function, names[: len(wanted.inputs) - 1], ("dq", "dv", "da"), operations, signature.outputs)


def _text(wanted: Gradient, plan: Plan, kinds: list[Kind], lanes: int, fma: bool) -> tuple[str, Memory, int]:
    """The module, where it keeps its numbers, and its operations a link."""
    links = [_Differentiated(plan, kind, wanted.changes) for kind in kinds]
    state = list(dict.fromkeys(place[1:] for each in links for place in each.step.stores if place[0] == "passing"))
    stages = [
        Stage(ir.OUTWARD, [each.forward() for each in links]),
        Stage(ir.INWARD, [each.backward(state) for each in links]),
    ]
    made = drop_unneeded(stages, set(OUTPUTS), set())
    memory = number_entries(made, len(kinds), {"a_g": (6, 1)}, Memory(2 * lanes, 1))
    code = stage_calls(made, memory, lanes, fma)
    sizes = Sizes(memory.lanes, code.scratch, max(len(memory.slot), 1), 0, 1, None)
    arrays = len(wanted.inputs) + len(OUTPUTS)
    loop = Module(tuple(loop_functions(code.calls, [1] * arrays, len(wanted.inputs), sizes)))
    return llvm_text(code.module.with_(loop)), memory, operations_per_link(made)


def _data(wanted: Gradient, model: Model, frames: LinkFrames, kinds: list[int], rooms: Rooms, lanes: int) -> list[Any]:
    areas, names = Areas(model, kinds, rooms, ()), (*wanted.inputs, *OUTPUTS)
    sizes = {name: [joint.nq if name == "q" else joint.nv for joint in model.joints] for name in names}
    arrays = [over_links(kinds, areas.own, rooms, name, counts) for name, counts in sizes.items()]
    lift = list(range(rooms.flat["a_g"], rooms.flat["a_g"] + 6))
    given = Given(arrays, [len(x) for x in arrays], lift, [0.0, 0.0, 0.0, *(-model.gravity)])
    return link_tables(model, frames, kinds, areas, given, (), lanes)


def _add_prime(name: str) -> str:
    return f"{name}′"


def _adjoint(name: str) -> str:
    return f"λ {name}"


@dataclass
class _Differentiated:
    """The one step of a kind of link, and what is made of it; with how that `changes`, or without."""

    plan: Plan
    kind: Kind
    changes: bool

    def __post_init__(self) -> None:
        (sweep,) = self.plan.program.passes
        self.step: Step = StepTracer(self.plan, self.kind).trace(sweep)
        self.turns: dict[Any, int] = {}

    def forward(self) -> Step:
        """Outputs of the step and their tangents, kept for the children and for the backward sweep."""
        record, trace, stores = Recorder(self.turns), self.step.trace, []
        values = values_of(trace, self._load(record))
        slopes = tangents(trace, values, self._seeds(record)) if self.changes else None
        for position, (memory, name, i) in enumerate(self.step.stores):
            if memory == "passing":
                constant, place = trace.output_is_constant[position], trace.outputs[position]
                stores.append((("own", name, i), place if constant else values[int(place)]))
                if slopes is not None:
                    stores.append((("own", _add_prime(name), i), slopes[position].get(0, 0.0)))
        return record.finish(stores)

    def backward(self, state: list[tuple[Any, int]]) -> Step:
        """Gradient by what the parent passed on, and tangents of it and of that by the link's own arguments; or the
        latter gradient itself."""
        gradient, record = self._gradient(state), Recorder(self.turns)
        if not self.changes:
            return self._pull(gradient, record, state)
        received = [record.load("children", _adjoint(name), i) for name, i in state]
        turned = [record.load("children", _add_prime(_adjoint(name)), i) for name, i in state]
        count, seeds = len(self.step.loads), dict(self._seeds(record))
        seeds |= {count + i: {0: x} for i, x in enumerate(turned)}
        values = values_of(gradient, [*self._load(record), *received])
        changes = matrix(tangents(gradient, values, seeds), 1)[:, 0]
        stores: list[tuple[Place, Any]] = []
        if self.kind.role != ROOT:
            for (name, i), place, fixed, change in zip(
                state, gradient.outputs, gradient.output_is_constant, changes, strict=False
            ):
                stores.append((("siblings", _adjoint(name), i), place if fixed else values[int(place)]))
                stores.append((("siblings", _add_prime(_adjoint(name)), i), change))
        own = changes[len(state) :].reshape(len(OUTPUTS), -1)
        stores += [(("own", name, i), x) for name, row in zip(OUTPUTS, own, strict=True) for i, x in enumerate(row)]
        return record.finish(stores)

    def _pull(self, gradient: Trace, record: Recorder, state: list[tuple[Any, int]]) -> Step:
        received = [record.load("children", _adjoint(name), i) for name, i in state]
        values = values_of(gradient, [*self._load(record), *received])
        found = zip(gradient.outputs, gradient.output_is_constant, strict=True)
        made = [place if fixed else values[int(place)] for place, fixed in found]
        stores: list[tuple[Place, Any]] = []
        if self.kind.role != ROOT:
            stores += [(("siblings", _adjoint(name), i), x) for (name, i), x in zip(state, made, strict=False)]
        own = made[len(state) :]
        nv = len(own) // len(OUTPUTS)
        return record.finish([*stores, *((("own", OUTPUTS[i // nv], i % nv), x) for i, x in enumerate(own))])

    def _gradient(self, state: list[tuple[Any, int]]) -> Trace:
        """From what the step loads and the gradient by what it passes on to the gradient by what the parent passed on,
        and by q (tangent), v and a."""
        tape, step, nv = Tape(), self.step, self.kind.model.nv
        loads, received = tape.inputs((len(step.loads),)), tape.inputs((len(state),))
        weights: list[Sparse] = []
        for memory, name, i in step.stores:
            known = {0: received[state.index((name, i))]} if memory == "passing" else {}
            weights.append({0: self._totals[name]} if memory == "total" else known)
        pulled = adjoints(step.trace, values_of(step.trace, list(loads)), weights)
        slopes = {place: pulled.get(number, {}).get(0, 0.0) for number, place in enumerate(step.loads)}
        by_q: list[Any] = [0.0] * nv
        for i, row in enumerate(self._tangent(dict(zip(step.loads, loads, strict=True)))):
            for j, x in row.items():
                by_q[j] = by_q[j] + x * slopes.get(("own", "q", i), 0.0)
        above = [slopes.get(("passed", name, i), 0.0) for name, i in state]
        others = [slopes.get(("own", name, i), 0.0) for name in (GIVEN["v"], GIVEN["qdd"]) for i in range(nv)]
        return finish(tape, [*above, *by_q, *others])

    @property
    def _totals(self) -> Mapping[str, float]:
        """Weight of each sum over the links."""
        (statement,) = (s for sweep in self.plan.program.sweeps if sweep.direction == "flat" for s in sweep.statements)
        terms = statement.term.terms if isinstance(statement.term, ir.Plus) else ((1, statement.term),)
        return {total(term): float(weight) for weight, term in terms}

    def _load(self, record: Recorder) -> list[Any]:
        return [record.load("parent" if memory == "passed" else memory, *rest) for memory, *rest in self.step.loads]

    def _tangent(self, known: Mapping[Place, Any]) -> list[Sparse]:
        """∂q/∂δ, with zero for entries of q that the step does not load."""
        q = np.array([known.get(("own", "q", i), 0.0) for i in range(self.kind.model.nq)], dtype=object)
        return tangent_map(self.kind.model, q)

    def _seeds(self, record: Recorder) -> dict[int, Sparse]:
        """Tangent of each load."""
        rows = self._tangent({place: record.load(*place) for place in self.step.loads if place[1] == "q"})
        moved = [sum((record.load("own", "δq", j) * x for j, x in row.items()), 0.0) for row in rows]
        seeds: dict[int, Sparse] = {}
        for number, (memory, name, i) in enumerate(self.step.loads):
            if memory == "passed":
                seeds[number] = {0: record.load("parent", _add_prime(name), i)}
            elif name == "q":
                seeds[number] = {0: moved[i]}
            elif name in ARGUMENTS:
                seeds[number] = {0: record.load("own", ARGUMENTS[name], i)}
        return seeds
