"""How a statement is computed for a robot: written out as instructions, rolled for long mechanisms, or in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, Statements, compilable, compile_statements
from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.concise import is_about_origins
from phistar.backends.links.link_frames import link_frames
from phistar.backends.links.values import has_rotors
from phistar.backends.machine import cache
from phistar.backends.machine.jit import Target, compile_object, gufunc, host, load_object
from phistar.backends.machine.rows import Signature
from phistar.backends.machine.threads import spread
from phistar.backends.pairwise.forms import has_many_pairs
from phistar.backends.pairwise.kernel import pair_kernel
from phistar.backends.programs.body_axes import in_body_axes
from phistar.backends.programs.program import BLOCKS, Evaluation
from phistar.backends.rolled.code import kinds_of, rolled_text
from phistar.backends.rolled.columns import column_by_column
from phistar.backends.rolled.memory import Rooms
from phistar.backends.rolled.plan import Plan, over_all_joints, poses_first, siblings_by_parents
from phistar.backends.rolled.tables import tables
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN
from phistar.sweeps.passes import OPERAND


@dataclass(frozen=True, eq=False)
class Columns:
    """Operators from the joints of a long mechanism to its links: the kernel that applies them, on all unit vectors at
    once."""

    applied: Kernel

    def __call__(self, q: Any, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        kernel = self.applied
        units = [np.eye(rows) if name not in vectors else None for name, rows in zip(kernel.inputs, kernel.rows[1:])]
        given = [
            unit if unit is not None else np.asarray(vectors[name])[..., None, :]
            for name, unit in zip(kernel.inputs, units, strict=True)
        ]
        results = spread(kernel.function, (np.asarray(q)[..., None, :], *given), list(kernel.shapes))
        whole = results if len(kernel.outputs) > 1 else (results,)
        return {name: np.swapaxes(x, -1, -2) for name, x in zip(kernel.outputs, whole, strict=True)}

    def kernel(self) -> Kernel:
        """The same as a function of arrays: (q, *inputs) → the matrix of the one operator."""
        given = list(zip(self.applied.inputs, self.applied.rows[1:], strict=True))
        ((operand, count),) = [(name, rows) for name, rows in given if name == OPERAND]
        inputs = tuple(name for name, _ in given if name != operand)

        def function(q: Any, *vectors: Any, out: Any = None) -> np.ndarray:
            (made,) = self(q, dict(zip(inputs, vectors, strict=True))).values()
            if out is None:
                return made
            (room,) = out if isinstance(out, tuple) else (out,)
            np.copyto(room, made, casting="same_kind")
            return room

        shapes = tuple((*rows, count) for rows in self.applied.shapes)
        rows = (self.applied.rows[0], *(rows for name, rows in given if name != operand))
        return Kernel(function, inputs, self.applied.outputs, count * self.applied.operations, shapes, {}, rows)


@dataclass(frozen=True, eq=False)
class BetweenLinks:
    """A kernel over all joints for vectors over those between links: the base's joint is given zeros, and its entries,
    the first `start`, are dropped."""

    kernel: Any
    start: int
    inputs: frozenset[str]
    rows: frozenset[str]  # results whose rows, and whose columns, are over such joints
    columns: frozenset[str]
    matrices: tuple[str, ...]

    def __call__(self, q: Any, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        given = {name: self._stretched(x) if name in self.inputs else x for name, x in vectors.items()}
        return {name: self._kept(name, x) for name, x in self.kernel(q, given).items()}

    def _kept(self, name: str, x: np.ndarray) -> np.ndarray:
        first = self.start * (name in self.rows)
        return x[..., first:, self.start * (name in self.columns) :] if name in self.matrices else x[..., first:]

    def _stretched(self, x: Any) -> np.ndarray:
        array = np.asarray(x)
        return np.concatenate([np.zeros((*array.shape[:-1], self.start)), array], axis=-1)


def executor(wanted: Statements) -> Any:
    """Machine code where it can be had: written out, or rolled for long mechanisms; else link by link in NumPy."""
    is_short = compilable(wanted.model)
    if (has_many_pairs(wanted.model) or not is_short) and (table := _over_pairs(wanted)) is not None:
        return table
    if is_short:
        return compile_statements(wanted)
    rolled = compile_rolled(wanted) if wanted.model.nv and not _has_several_bases(wanted) else None
    if rolled is None and wanted.matrix is True and wanted.model.nv and wanted.over_joints:
        applied = compile_rolled(replace(wanted, matrix=False))
        rolled = Columns(applied) if applied else None
    return (rolled and between_links(rolled, wanted)) or Evaluation(
        wanted.program(), wanted.model, wanted.frames, wanted.operators, wanted.matrix == BLOCKS
    )


def _over_pairs(wanted: Statements) -> Kernel | None:
    """ℳ itself, by composites r in one frame: HrH* + Hφ̃rH* + (Hφ̃rH*)* + A (R87 eq. 31); or ℳ⁻¹, by
    (1 − HψK)*D⁻¹(1 − HψK) (RJK91 lemma 3); of all pairs of joints at once."""
    masses, model = (wanted.symbols.mass, replace(wanted.symbols, armature=True).mass), wanted.model
    (public, node), *others = wanted.nodes
    known = dict.fromkeys(masses, "mass_matrix") | dict.fromkeys((mass.inv for mass in masses), "mass_matrix_inverse")
    name = known.get(node)
    if name is None or others or wanted.matrix is not True or wanted.parameters or has_rotors(model) or not model.nv:
        return None
    signature = Signature((model.nq,), ((model.nv, model.nv),))
    function, operations = pair_kernel(name, single_axes(without_roundoff(model)), signature)
    return Kernel(function, (), (public,), operations, signature.outputs, {}, signature.inputs)


def _has_several_bases(wanted: Statements) -> bool:
    """Whether "the joints between links" are not simply all but the first."""
    program = wanted.program()
    inner = any(space == "inner" for _, space in (*program.inputs, *program.outputs))
    return inner and wanted.model.parents.count(-1) != 1


def between_links(rolled: Any, wanted: Statements) -> Any:
    """The kernel itself, or where statements speak of the joints between links, made to fit those."""
    program = wanted.program()
    inputs = frozenset(name for name, space in program.inputs if space == "inner")
    rows = frozenset(name for name, node in wanted.nodes if node.codomain and node.codomain.over == "inner")
    columns = frozenset(name for name, node in wanted.nodes if node.domain and node.domain.over == "inner")
    if not (inputs or rows or columns):
        return rolled
    return BetweenLinks(rolled, wanted.model.joints[0].nv, inputs, rows, columns, program.matrices)


def compile_rolled(wanted: Statements, target: Target | None = None, lanes: int | None = None) -> Kernel | None:
    """The kernel of the statements of a long mechanism, or None where they have no rolled form."""
    title, plan = " ".join(public for public, _ in wanted.nodes), rolled_plan(wanted)
    fixed = is_about_origins(node for _, node in wanted.nodes)
    return plan and compile_plan(plan, wanted.model, wanted.frames, title, target, lanes, fixed)


def rolled_plan(wanted: Statements) -> Plan | None:
    """How the program of some statements runs link by link, or None where it does not. Operators over the joints are
    made column by column; those of the adjoint are their rows, which is how they lie in memory."""
    if wanted.matrix == BLOCKS:
        return None
    plan = Plan(poses_first(_rolled_program(wanted)), len(wanted.frames))
    if not plan.rollable and wanted.matrix is True and wanted.to_joints:
        rows = tuple((name, node if node.domain == SCALARS else adjoint(node)) for name, node in wanted.nodes)
        found = column_by_column(poses_first(_rolled_program(replace(wanted, nodes=rows))), len(wanted.frames))
        plan = found or plan
    distinct = len(plan.program.results) == len(plan.program.outputs)
    placed = not plan.at_root or _has_plain_root(wanted.model)
    return plan if plan.rollable and distinct and placed else None


def _has_plain_root(model: Model) -> bool:
    """Whether one link hangs on the world, by a joint without axis: its frame is then its body's (`link_frames`)."""
    return model.parents.count(-1) == 1 and not hasattr(model.joints[0].kind, "axis")


def _rolled_program(wanted: Statements) -> Program:
    program = siblings_by_parents(over_all_joints(wanted.program()))
    return in_body_axes(program, _over_links(wanted), wanted.parameters)


def _over_links(wanted: Statements) -> dict[str, str]:
    """Of the fields over the links that are given or wanted, whether they hold motions or forces."""
    program, nodes = wanted.program(), dict(wanted.nodes)
    spaces = {name: nodes[public].codomain for public, name in program.results}
    spaces |= {field: getattr(wanted.symbols, name).codomain for name, field in GIVEN.items()}
    operands = [name for name, _ in program.inputs if name not in spaces]
    spaces |= dict.fromkeys(operands, next(iter(nodes.values())).domain)
    return {name: space.name for name, space in spaces.items() if space is not None}


def compile_plan(
    plan: Plan,
    model: Model,
    frames: tuple[str, ...],
    title: str,
    target: Target | None = None,
    lanes: int | None = None,
    fixed: bool = False,
) -> Kernel:
    """The kernel of a program that runs link by link; `fixed`: about the links' own origins."""
    target = target or host()
    lanes = lanes or target.lanes
    program = plan.program
    outputs = [public for field, _ in program.outputs for public, made_as in program.results if made_as == field]
    placed = link_frames(model, fixed or plan.keeps_origins)
    kinds, numbers = kinds_of(model, placed)
    signature, inputs = _rolled_signature(plan, model)
    name = cache.key("rolled", plan, [kind.key for kind in kinds], target, lanes)
    found = cache.load(name)
    if found is None:
        axes = [len(shape) for shape in signature.shapes]
        made = rolled_text(plan, kinds, axes, len(signature.inputs), lanes, target.fma)
        header = {"operations": made.operations_per_link, "memory": made.memory.data(), "by_column": made.by_column}
        code = compile_object(made.text, target, quick=True)
        cache.store(name, header, code)
    else:
        header, code = found
    doc = f"{title} of {model.name}, compiled link by link."
    data = tables(model, placed, numbers, plan, Rooms.from_data(header["memory"]), frames, 2 * lanes)
    function = gufunc(load_object(code), signature, title, doc, data)
    counted = rolled_operations(header, model)
    return Kernel(function, inputs, tuple(outputs), counted, signature.outputs, {}, signature.inputs)


def rolled_operations(header: Mapping[str, Any], model: Model) -> int:
    """Operations per state of a rolled kernel with that header."""
    return len(model.bodies) * (header["operations"] + model.nv * header["by_column"])


def _rolled_signature(plan: Plan, model: Model) -> tuple[Signature, tuple[str, ...]]:
    """Shapes of what a rolled kernel takes and gives, and the names of the inputs after q."""
    program, bodies = plan.program, len(model.bodies)
    sizes = {"joints": model.nv, "links": 6 * bodies, "parameters": 10 * bodies, **plan.flat_rows}
    inner = ("a_g", plan.operand, *program.columns)
    given = [(name, space) for name, space in program.inputs if name not in inner]
    matrices = {program.result_names[public] for public in program.matrices}
    shapes = []
    for name, space in program.outputs:
        rows = () if space == "scalars" else (sizes[space],)
        shapes.append((*rows, plan.columns(name)) if name in matrices else rows)
        if name in plan.by_column:
            shapes[-1] = (model.nv, *rows)
    rows = (model.nq, *(sizes[space] for _, space in given))
    return Signature(rows, tuple(shapes)), tuple(name.removesuffix(" of bodies") for name, _ in given)
