"""Kernels that run link by link: the plan of some statements, its machine code, the data of a robot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phistar.backends.kernel import Kernel, Statements, units_of
from phistar.backends.links.concise import is_about_origins
from phistar.backends.links.link_sizes import has_wide_links, link_parents, link_rows, link_size, space_sizes
from phistar.backends.machine.jit import Signature, Source, Target, gufunc, host, machine_code
from phistar.backends.operator_inputs import OperatorInput
from phistar.backends.programs.body_axes import in_body_axes
from phistar.backends.programs.program import BLOCKS, Evaluation
from phistar.backends.rolled.code import COLUMNS, rolled_text, traced_stages
from phistar.backends.rolled.exported import Exported, export_functions
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.link_memory import Rooms, drop_unneeded
from phistar.backends.rolled.operator_columns import column_by_column
from phistar.backends.rolled.plan import Plan, poses_first, siblings_by_parents
from phistar.backends.rolled.robot_tables import tables
from phistar.backends.rolled.rolled_links import rolled_links
from phistar.backends.rolled.surrounding import Surrounding, surrounded_memory
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.sweeps.ir import INWARD, OUTWARD, Program
from phistar.sweeps.lower import GIVEN


def compile_rolled(wanted: Statements, target: Target | None = None, lanes: int | None = None) -> Kernel | None:
    """The kernel of the statements of a long mechanism, or None where they have no rolled form."""
    title, plan = " ".join(public for public, _ in wanted.nodes), rolled_plan(wanted)
    return plan and compile_plan(plan, wanted.model, wanted.frames, title, target, lanes, _is_fixed(wanted))


def _is_fixed(wanted: Statements) -> bool:
    return is_about_origins(node for _, node in wanted.nodes)


def rolled_plan(wanted: Statements) -> Plan | None:
    """Plan that runs the program of some statements link by link, or None. Operators over the joints are made column by
    column; the columns of the adjoint are their rows, which is how they lie in memory."""
    wide = has_wide_links(wanted.model)
    if any(isinstance(x, OperatorInput) for x in wanted.operators.values()) or (wide and wanted.matrix == BLOCKS):
        return None
    plan = _plan(wanted)
    if not plan.rollable and wanted.matrix is True:
        plan = _one_after_the_other(wanted, plan) or plan
    distinct = len(plan.program.results) == len(plan.program.outputs)
    placed = not plan.at_root or _has_plain_root(wanted.model)
    return plan if wanted.model.nv and plan.rollable and distinct and placed else None


def _plan(wanted: Statements) -> Plan:
    operators = tuple((name, tuple(map(tuple, np.asarray(x).tolist()))) for name, x in wanted.operators.items())
    blocks = max(link_rows(wanted.model, "joints")) if wanted.matrix == BLOCKS else 0
    return Plan(poses_first(_rolled_program(wanted)), len(wanted.frames), operators=operators, blocks=blocks)


def _one_after_the_other(wanted: Statements, plan: Plan) -> Plan | None:
    """The rows of operators by the columns of their adjoints, which is how they lie in memory, or where these are
    fewer, their own columns."""
    rows = tuple((name, node if node.domain == SCALARS else adjoint(node)) for name, node in wanted.nodes)
    found = [column_by_column(_plan(replace(wanted, nodes=rows, taken=()))), column_by_column(plan, across=True)]
    known = [plan for plan in found if plan is not None]
    return min(known, key=lambda plan: plan.entries(plan.operand, wanted.model), default=None)


def _has_plain_root(model: Model) -> bool:
    """Whether one link of six motions hangs on the world, and its frame is its body's: of rigid links in frames that
    suit a loop (`link_frames`), by a joint without axis."""
    one = link_parents(model).count(-1) == 1 and link_size(model, 0)[0] == 6
    return one and (has_wide_links(model) or not hasattr(model.joints[0].kind, "axis"))


def _rolled_program(wanted: Statements) -> Program:
    if has_wide_links(wanted.model):
        return wanted.program()  # whose links have the axes of their bodies, and no way back over φ
    program = siblings_by_parents(wanted.program())
    return in_body_axes(program, _over_links(wanted), wanted.parameters)


def _over_links(wanted: Statements) -> dict[str, str]:
    """Space, motions or forces, of each field over the links that is given or wanted."""
    program, nodes = wanted.program(), dict(wanted.nodes)
    spaces = {name: nodes[public].codomain for public, name in program.results}
    spaces |= {field: getattr(wanted.symbols, name).codomain for name, field in GIVEN.items()}
    return {name: space.name for name, space in spaces.items() if space is not None} | dict(program.operands)


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
    outputs = _result_names(plan.program)
    links = rolled_links(model, frames, fixed or plan.keeps_origins, plan.is_decoupled)
    signature, inputs = _rolled_signature(plan, model)

    def source() -> Source:
        axes = [len(shape) for shape in signature.shapes]
        made = rolled_text(plan, links.kinds, axes, len(signature.inputs), lanes, target.fma)
        header = {"operations": made.operations, "memory": made.memory.data(), "by_column": made.by_column}
        return Source(made.text, header, quick=True)

    header, code = machine_code("rolled", (plan, links.key, lanes), target, source)
    doc = f"{title} of {model.name}, compiled link by link."
    data = tables(links, plan, Rooms.from_data(header["memory"]), frames, 2 * lanes)
    function = gufunc(code, signature, title, doc, data)
    columns = plan.entries(plan.operand, model) if plan.operand else 0
    counted = sum(header["operations"][kind] + columns * header["by_column"][kind] for kind in links.numbers)
    made = Kernel(function, inputs, tuple(outputs), counted, signature.outputs, (), signature.inputs)
    if plan.operand:
        return made

    def surround(law: Surrounding, title: str, names: tuple[str, ...], units: tuple[tuple[int, int], ...]) -> Kernel:
        own = surrounded_memory(law, signature, data, units, 2 * lanes)
        stages = own.stages(law, lanes, target.fma)
        axes = [len(shape) for shape in own.signature.shapes]

        def source() -> Source:
            given = plan, links.kinds, axes, len(own.signature.inputs), lanes, target.fma, stages
            return Source(rolled_text(*given).text, quick=True)

        told = [(x.name, x.trace, list(x.loads), list(x.stores)) for each in stages for x in each]
        _, code = machine_code("surrounded", (plan, links.key, axes, told, lanes), target, source)
        called = gufunc(code, own.signature, title, f"{title}, around {made.outputs[0]} link by link.", own.tables)
        total = counted + sum(x.trace.operations for each in stages for x in each)
        return Kernel(called, (), names, total, own.signature.outputs, (), own.signature.inputs)

    return replace(made, surrounded=surround)


@dataclass(frozen=True, eq=False)
class RolledCall:
    """Statements that run link by link, callable from a recording: the names of the inputs after q and of the results,
    the sizes of the inputs, the shapes of the results."""

    wanted: Statements
    plan: Plan
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """The results at one state, by the program on arrays."""
        wanted = self.wanted
        run = Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators, wanted.matrix == BLOCKS)
        made = run(arrays[0], dict(zip(self.inputs, arrays[1:], strict=True)))
        return tuple(made[name] for name in self.outputs)

    def export(self) -> Exported:
        """Functions of the kernel for the robot, on plain arrays."""
        wanted = self.wanted
        fixed, decoupled = _is_fixed(wanted) or self.plan.keeps_origins, self.plan.is_decoupled
        links = rolled_links(wanted.model, wanted.frames, fixed, decoupled)
        return export_functions(self.plan, links, wanted.frames, len(self.rows), len(self.shapes))

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return rolled_counts(self.wanted, self.plan)[0]


def rolled_call(wanted: Statements) -> RolledCall | None:
    """Statements callable from a recording; None where they do not run link by link."""
    plan = rolled_plan(wanted) if not wanted.parameters else None
    if plan is None:
        return None
    signature, inputs = _rolled_signature(plan, wanted.model)
    return RolledCall(wanted, plan, inputs, tuple(_result_names(plan.program)), signature.inputs, signature.outputs)


def _result_names(program: Program) -> list[str]:
    return [public for field, _ in program.outputs for public, made_as in program.results if made_as == field]


def rolled_counts(wanted: Statements, plan: Plan) -> tuple[int, int]:
    """Operations per state of the kernel of a plan, without compiling it: in all, and those of one column of it."""
    model = wanted.model
    links = rolled_links(model, wanted.frames, _is_fixed(wanted) or plan.keeps_origins, plan.is_decoupled)
    kinds, numbers = links.kinds, links.numbers
    flat = {name for name, _ in plan.program.outputs if name not in plan.outputs}
    stages = drop_unneeded(traced_stages(plan, kinds, FlatTracer(plan)), set(plan.outputs), flat)
    found = {True: 0, False: 0}
    for stage in stages:
        counts = [step.trace.operations for step in stage.steps]
        of_links = sum(counts[kind] for kind in numbers) if stage.direction in (INWARD, OUTWARD) else 0
        times = plan.frames if stage.direction == "frames" else 1
        found[stage.name == COLUMNS] += of_links or times * counts[0]
    columns = plan.entries(plan.operand, model) if plan.operand else 0
    return found[False] + columns * found[True], found[True]


def _rolled_signature(plan: Plan, model: Model) -> tuple[Signature, tuple[str, ...]]:
    """Shapes of a rolled kernel's inputs and results, and the names of the inputs after q."""
    program, sizes = plan.program, space_sizes(model, ()) | plan.flat_rows
    inner = ("a_g", plan.operand, *program.columns)
    given = [(name, space) for name, space in program.inputs if name not in inner]
    matrices = {program.result_names[public] for public in program.matrices}
    shapes = []
    for name, space in program.outputs:
        rows = () if space == "scalars" else (sizes[space],)
        shapes.append((*rows, plan.columns(name)) if name in matrices else rows)
        if name in plan.by_column:
            count = plan.entries(plan.operand, model)
            shapes[-1] = (*rows, count) if plan.across else (count, *rows)
    rows = (model.nq, *(sizes[space] for _, space in given))
    return Signature(rows, tuple(shapes), units_of(model)), tuple(name.removesuffix(" of bodies") for name, _ in given)
