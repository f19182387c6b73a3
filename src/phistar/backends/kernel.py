"""A statement compiled for a robot: traced, emitted, compiled (or found on disk) and wrapped as a gufunc."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from phistar.backends.choice import Tally, budget, is_composite, may_be_fewest
from phistar.backends.code.packed import module_text
from phistar.backends.links.concise import (
    grouped_inertias,
    is_about_motion,
    is_tip_heavy,
    moved_origins,
    without_roundoff,
)
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import has_rotors, in_small_moves, links_at, mirror_upper, with_translations
from phistar.backends.machine import cache as stored
from phistar.backends.machine.call_doors import Kernel
from phistar.backends.machine.jit import Signature, Source, Target, gufunc, host, machine_code, size
from phistar.backends.operator_inputs import OperatorInput
from phistar.backends.programs.biases import cheap_biases
from phistar.backends.programs.derivations import ARTICULATED, COMPOSITE, Taken
from phistar.backends.programs.interpret import run
from phistar.backends.programs.program import BLOCKS, Wanted, equal_forms, identity, program_of
from phistar.backends.traces.order import arrange
from phistar.backends.traces.trace import ShortTape, Tape, Trace, finish, unless_too_long
from phistar.identities.law import Setting, laws_of_users
from phistar.model import Model
from phistar.operators.nodes import Node, adjoint, spelling
from phistar.operators.spaces import RANKS
from phistar.operators.symbols import Symbols
from phistar.spatial.value import digest
from phistar.sweeps.ir import Program

Recording = tuple[Trace, list[str], Signature]
"""Instructions, the names of the inputs after q, and the shapes."""
Written = dict[tuple[str, Taken], Recording]
"""Recordings by form."""


@dataclass(frozen=True, eq=False)
class Statements:
    """Named statements over common symbols, to be compiled for one robot."""

    nodes: tuple[tuple[str, Node], ...]
    symbols: Symbols
    setting: Setting
    matrix: Wanted
    model: Model
    operators: Mapping[str, Any]
    parameters: tuple[str, ...] = ()  # what is an input instead of a constant of the robot
    form: str = ARTICULATED
    flipped: bool = False  # whether these are the adjoints of what is wanted
    taken: Taken = ()

    @property
    def frames(self) -> tuple[str, ...]:
        return self.symbols.frames or ()

    def program(self) -> Program:
        return program_of(self.nodes, self.symbols, self.setting, bool(self.matrix), self.form, self.taken)

    def forms(self) -> list[Statements]:
        """Equal statements to choose from: the forms that laws offer, and for few links those by composite bodies (R87,
        Fig. 4). The latter lose more digits where a light link carries a heavy one."""
        if self.form != ARTICULATED or self.taken:
            return [self]
        worth = is_composite(self.model, bool(self.matrix)) and not is_tip_heavy(self.model)
        known = equal_forms(self.nodes, self.symbols, self.setting, bool(self.matrix))
        return [replace(self, form=form, taken=taken) for form, taken in known if form != COMPOSITE or worth]

    def cheapest(self) -> Recording:
        """The instructions of the form that needs fewest, the names of the inputs after q, and the shapes."""
        best = self.tallies[0]
        known = self.__dict__.get("traces", {}).get((best.form, best.taken))
        return known or trace_statements(replace(self, form=best.form, taken=best.taken))

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """The operations of each form written out, fewest first; kept on disk, so that no later start counts them."""
        name = stored.key("forms", self.key, budget())  # forms that take longer to compile are not counted
        found = stored.load(name, stored.PROGRAM)
        if found is not None:
            return _from_list(found[0]["forms"])
        made = _tally(self.traces)
        stored.store(name, {"forms": _list_tallies(made)}, b"", stored.PROGRAM)
        return made

    @cached_property
    def traces(self) -> Written:
        """The recording of each form, arranged where it may have the fewest instructions."""
        return _arrange_best({(each.form, each.taken): record_statements(each) for each in self.forms()})

    def tally_within(
        self, most: int, hopeless: float = math.inf, forms: Sequence[Statements] | None = None
    ) -> Tally | None:
        """Operations of the form that has fewest of some with at most so many instructions, dead ones included; where
        one has more operations than there is hope with, of those before it."""
        found, many = Written(), False
        for each in self.forms() if forms is None else forms:
            with unless_too_long():
                made = found[each.form, each.taken] = record_statements(each, most)
                many = made[0].operations > hopeless
            if many:
                return _tally(found)[0]  # arranged or not: by more than that too slow
        if not found:
            return None
        self.__dict__["traces"] = _arrange_best(found)
        return self.tallies[0]

    @property
    def is_plain_table(self) -> bool:
        """Whether operators themselves are wanted, of the robot as it is, without spinning rotors."""
        plain = self.matrix is True and self.form == ARTICULATED and not (self.parameters or self.operators)
        return plain and not has_rotors(self.model)

    @property
    def is_about_motion(self) -> bool:
        """Whether link frames are free to choose, and to which of its two links mass on a joint's axis counts."""
        given = set(self.operators) - {"Q"} or {"inertia", "placement"} & set(self.parameters)
        return not given and is_about_motion([node for _, node in self.nodes], self.symbols)

    @property
    def over_joints(self) -> bool:
        """Whether every statement is an operator from the joints."""
        return all(node.domain is not None and node.domain.over in ("joints", "inner") for _, node in self.nodes)

    @property
    def key(self) -> tuple[Any, ...]:
        """Cache key of the code."""
        named = [(name, spelling(node)) for name, node in self.nodes]
        operators = [
            (name, repr(x)) if isinstance(x, OperatorInput) else (name, np.shape(x), np.asarray(x).tobytes())
            for name, x in self.operators.items()
        ]
        form = self.form, self.taken, laws_of_users()
        context = (self.symbols.spelling, self.setting, self.matrix, self.parameters, form, self.flipped)
        return named, context, self.model_key, operators

    @property
    def model_key(self) -> bytes:
        """Cache key of the robot, without the parameters that are inputs."""
        if not self.parameters:
            return self.model.key
        kept = [(body.parent, body.joint, body.placement) for body in self.model.bodies]
        inertias = [] if "inertia" in self.parameters else [body.inertia for body in self.model.bodies]
        gravity = [] if "gravity" in self.parameters else self.model.gravity
        return digest(kept, self.model.frame_list, inertias, gravity)


def compile_statements(wanted: Statements, target: Target | None = None, lanes: int | None = None) -> Kernel:
    """The kernel of some statements: from the disk if it is there, else traced and compiled."""
    target = target or host()
    lanes = lanes or target.lanes
    header, code = machine_code("statements", (wanted.key, lanes), target, lambda: _source(wanted, lanes, target))
    rows, shapes = header["signature"]
    signature = Signature(tuple(rows), tuple(tuple(shape) for shape in shapes), units_of(wanted.model), wanted.flipped)
    title = " ".join(header["outputs"])
    function = gufunc(code, signature, title, f"{title} of {wanted.model.name}, compiled.")
    inputs, outputs = tuple(header["inputs"]), tuple(header["outputs"])
    made = signature.outputs, _from_list(header["forms"]), signature.inputs
    return Kernel(function, inputs, outputs, header["operations"], *made, flipped=wanted.flipped)


def _source(wanted: Statements, lanes: int, target: Target) -> Source:
    """The form that needs fewest operations, as a module."""
    trace, inputs, signature = wanted.cheapest()
    header = {
        "inputs": inputs,
        "outputs": [public for public, _ in wanted.nodes],
        "signature": [signature.inputs, signature.outputs],
        "operations": trace.operations,
        "forms": _list_tallies(wanted.tallies),
    }
    return Source(module_text(trace, signature, lanes, target.fma), header)


def _arrange_best(traces: Written) -> Written:
    """The form that needs fewest instructions as it is best compiled, and what others may need as few."""
    made, fewest = dict(traces), math.inf
    for form, (trace, names, signature) in sorted(traces.items(), key=lambda each: each[1][0].operations):
        if may_be_fewest(trace.operations, fewest):
            made[form] = arrange(trace), names, signature
            fewest = min(fewest, made[form][0].operations)
    return made


def _tally(traces: Written) -> tuple[Tally, ...]:
    found = [Tally(trace.operations, 0, form, taken) for (form, taken), (trace, _, _) in traces.items()]
    return tuple(sorted(found, key=lambda each: each.operations))


def _list_tallies(tallies: tuple[Tally, ...]) -> list[list[Any]]:
    return [[each.form, each.taken, each.operations] for each in tallies]


def _from_list(listed: list[list[Any]]) -> tuple[Tally, ...]:
    return tuple(Tally(operations, 0, form, tuple(taken)) for form, taken, operations in listed)


def units_of(model: Model, array: int = 0) -> tuple[tuple[int, int], ...]:
    """Starts of the unit quaternions in a configuration, argument `array` of a kernel."""
    return tuple((array, start) for _, start in model.quaternions)


def compile_trace(
    trace: Trace,
    rows: Sequence[int],
    shapes: Sequence[tuple[int, ...]],
    title: str,
    outputs: tuple[str, ...],
    units: tuple[tuple[int, int], ...] = (),
    lanes: int | None = None,
    kind: str = "f64",
) -> Kernel:
    """The kernel of instructions recorded elsewhere, known by what they are; `units` and `kind` as a Signature has
    them."""
    target, signature = host(), Signature(tuple(rows), tuple(shapes), units, kind=kind)
    lanes = lanes or target.lanes_of(kind)
    source = partial(module_text, trace, signature, lanes, target.fma)
    _, code = machine_code("trace", (trace, signature, lanes), target, lambda: Source(source()))
    function = gufunc(code, signature, title, f"{title}, compiled.")
    return Kernel(function, (), outputs, trace.operations, signature.outputs, (), signature.inputs)


def trace_statements(wanted: Statements) -> Recording:
    """The instructions of one state as they are best compiled, the names of the inputs after q, and the gufunc's
    shapes."""
    trace, names, signature = record_statements(wanted)
    return arrange(trace), names, signature


def record_statements(wanted: Statements, most: int | None = None) -> Recording:
    """The same as they are recorded; TooLong where there are more than `most`."""
    program, model = cheap_biases(wanted.program()), without_roundoff(wanted.model)
    tape = Tape() if most is None else ShortTape(most)
    concise = wanted.is_about_motion
    if concise:
        model = moved_origins(model)
    q = tape.inputs((model.nq,))
    arrays: dict[str, np.ndarray] = {"a_g": np.concatenate([np.zeros(3), -model.gravity])[:, None]}
    sizes = space_sizes(model, wanted.frames)
    sizes |= {"closures": len(wanted.operators.get("Q", ())), **RANKS}
    names: list[str] = []
    for name, space in program.inputs:
        if name in program.columns:
            arrays[name] = identity(model, space, sizes[space], wanted.matrix == BLOCKS)
        elif name not in arrays:
            arrays[name] = tape.inputs((sizes[space], 1))
            names.append(name)
    operators = dict(wanted.operators)
    for key, given in operators.items():
        if isinstance(given, OperatorInput):
            names.append(given.name)
            arrays[given.name] = tape.inputs((len(given.entries),))
            operators[key] = given.as_matrix(arrays[given.name])
    links = links_at(model, q, wanted.frames)
    if "placement" in wanted.parameters:
        names.append("placement")
        arrays["placement"] = tape.inputs((3 * (len(model.bodies) + len(wanted.frames)),))
        links = with_translations(links, arrays["placement"].reshape(-1, 3))
    links = in_small_moves(links)
    if concise:
        links = replace(links, inertias=grouped_inertias(model))
    if "inertia" in wanted.parameters:
        names.append("inertia")
        arrays["inertia"] = tape.inputs((10 * len(model.bodies),))
        links = replace(links, inertias=arrays["inertia"].reshape(-1, 10))
    if "gravity" in wanted.parameters:
        names.append("gravity")
        arrays["gravity"] = tape.inputs((3,))
        arrays["a_g"] = np.concatenate([np.zeros(3), -arrays["gravity"]])[:, None]
    outputs = run(program, RigidLinks(links), arrays, operators)
    results = program.result_names
    found = {public: outputs[results[public]] for public, _ in wanted.nodes}
    # A vector that is zero by structure has as many columns as the operators beside it; one is its own.
    own = {public: x if public in program.matrices else x[..., :1] for public, x in found.items()}
    blocks = [_one_triangle(node, own[public]) for public, node in wanted.nodes]
    shapes = tuple(_core_shape(program, public, x) for (public, _), x in zip(wanted.nodes, blocks, strict=True))
    values = [entry for block in blocks for entry in block.reshape(-1)]
    assert len(values) == sum(size(shape) for shape in shapes)
    rows = (model.nq, *(arrays[name].shape[0] for name in names))
    return finish(tape, values), names, Signature(rows, shapes, units_of(model), wanted.flipped)


def _core_shape(program: Program, public: str, block: np.ndarray) -> tuple[int, ...]:
    if public in program.matrices:
        return block.shape[-2:]
    return () if program.is_scalar(public) else block.shape[-2:-1]


def _one_triangle(node: Node, block: np.ndarray) -> np.ndarray:
    """Copy one triangle of a self-adjoint operator to the other, which is not computed."""
    symmetric = adjoint(node) is node and block.shape[-1] == block.shape[-2] > 1
    return mirror_upper(block) if symmetric else block
