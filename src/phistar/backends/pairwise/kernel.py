"""The kernel of a table over pairs of joint rates of a long mechanism: sweeps over blocks of states, a state per lane,
then loops over pairs, state by state, neighbouring columns abreast.

The code knows the kinds of links that occur; all else is data, so that it compiles in the same time at any length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.code.counts import operations
from phistar.backends.code.native import Layout, arrays_used, loops_module, tree_of
from phistar.backends.kernels import F64, I64, U32, Module, Outside, llvm_text
from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.link_frames import LinkFrames, link_frames
from phistar.backends.machine.compiler import Source, machine_code
from phistar.backends.machine.jit import Target, gufunc, host
from phistar.backends.machine.rows import Signature
from phistar.backends.pairwise.forms import FORMS, Factors, Form, record_of, whole_numbers
from phistar.backends.pairwise.steps import stages
from phistar.backends.rolled.code import kinds_of, operations_per_link, stage_calls
from phistar.backends.rolled.link_loops import TABLES, Block, Sizes, loop_functions
from phistar.backends.rolled.link_memory import Memory, Rooms, laid_out, needed
from phistar.backends.rolled.steps import Kind
from phistar.backends.rolled.tables import Areas, Given, link_tables, over_links
from phistar.model import Model


def pair_kernel(
    name: str,
    model: Model,
    signature: Signature,
    target: Target | None = None,
    lanes: int | None = None,
    factors: Factors = (1.0,) * 3,
) -> tuple[Any, Callable[[], int]]:
    """The gufunc of the tables of a form of `FORMS`, each times a factor, for a model with single axes
    (`common_frame.single_axes`) and without spinning rotors, and what counts its operations."""
    form, target = FORMS[name], target or host()
    lanes = lanes or target.lanes
    frames = _with_second_moments(link_frames(model))
    kinds, numbers = kinds_of(model, frames)
    alone = model.parents.count(-1) == 1
    armature = any(np.any(joint.kind.armature_diagonal) for joint in model.joints)

    def source() -> Source:
        text, memory, per_link = _text(form, kinds, signature, alone, armature, lanes, target.fma)
        header = {"operations": per_link, "memory": memory.data(), "form": name}
        return Source(text, header | {"arrays": list(_placed(form, _arrays(form)))}, _loops_text(form))

    made_from = name, [kind.key for kind in kinds], alone, armature, lanes
    header, code = machine_code("pairs", made_from, target, source)
    rooms = Rooms.from_data(header["memory"])
    data = _data(form, model, frames, numbers, rooms, signature, header["arrays"], 2 * lanes, factors)
    function = gufunc(code, signature, name, f"{name} of {model.name}, compiled link by link.", data)
    return function, partial(pair_operations, header, model)


def pair_counts(name: str, model: Model) -> int:
    """Operations per state of a kernel that has yet to be compiled."""
    form, placed = FORMS[name], single_axes(without_roundoff(model))
    kinds, numbers = kinds_of(placed, _with_second_moments(link_frames(placed)))
    made = needed(stages(kinds, form.program, placed.parents.count(-1) == 1, True), form.fields, set())
    per_link = sum(stage.steps[kind].trace.operations for stage in made for kind in numbers)
    return per_link + operations(form.loops, whole_numbers(placed))


def pair_operations(header: Mapping[str, Any], model: Model) -> int:
    """Operations per state of a kernel with that header: of its sweeps at every link, and of its loops."""
    form = FORMS[header["form"]]
    return header["operations"] * len(model.bodies) + operations(form.loops, whole_numbers(model))


def _with_second_moments(frames: LinkFrames) -> LinkFrames:
    """The links with ∫xx* dm = tr(J)/2 − J where their tensors J were."""
    inertia = frames.inertia.copy()
    half = 0.5 * (inertia[:, 4] + inertia[:, 6] + inertia[:, 9])
    inertia[:, 4:] = -inertia[:, 4:]
    inertia[:, [4, 6, 9]] += half[:, None]
    return replace(frames, inertia=inertia)


_FIXED = ("sizes", "steps", "place", "runs", "armature", "drift", "factors")  # arrays that are the same for all states


def _text(
    form: Form, kinds: list[Kind], signature: Signature, alone: bool, armature: bool, lanes: int, fma: bool
) -> tuple[str, Memory, int]:
    """The module but for the loops; where the sweeps keep their numbers; their operations a link."""
    made = needed(stages(kinds, form.program, alone, armature), form.fields, set())
    made = [stage for stage in made if any(step.stores for step in stage.steps)]
    memory = laid_out(made, len(kinds), {"a_g": (6, 1)}, Memory(2 * lanes, 1))
    code = stage_calls(made, memory, lanes, fma)
    axes, inputs = [len(shape) for shape in signature.shapes], len(signature.inputs)
    sizes = Sizes(memory.lanes, code.scratch, max(len(memory.slot), 1), 0, 1, None)
    finish = partial(_finish, form=form, outputs=range(inputs, signature.arrays))
    main = form.loops[-1].__name__
    loop = tuple(loop_functions(code.calls, axes, inputs, sizes, finish))
    elsewhere = Outside(main, tuple(F64.read if x in _FIXED else F64.to for x in _arrays(form)))
    text = llvm_text(code.module.with_(Module(loop, outside=(elsewhere,))))
    return text, memory, operations_per_link(made)


def _loops_text(form: Form) -> str:
    # Sums in two halves are to stay so: half as long to wait for.
    return llvm_text(loops_module(form.loops, {}, Layout(entry=form.loops[-1].__name__, in_order=True)))


def _arrays(form: Form) -> list[str]:
    """Names of the loops' array arguments, in order."""
    trees = {function.__name__: tree_of(function) for function in form.loops}
    return arrays_used(trees[form.loops[-1].__name__], trees)


def _finish(block: Block, form: Form, outputs: range) -> None:
    """The records of a block's states, then the loops on each. Of the table of offsets, the first three are where
    records begin, how many numbers each has, and where scratch begins; then those of the arrays."""
    code, names, arrays = block.code, _arrays(form), block.arrays
    data = code["data"].at(len(TABLES) + outputs.stop)
    places, offsets, fixed = (data.at(i).load(kind=x.read) for i, x in enumerate((U32, I64, F64)))
    start, entries, scratch, *numbers = (offsets.at(i).load() for i in range(3 + len(_placed(form, names))))
    record, ahead, most = block.work.at(start), block.last - block.first, block.sizes.lanes - 1
    most = (ahead < most).select(ahead, most)
    code.call("unpack", record, entries * 8, entries * 8, 8, entries, entries, places, block.work, 0, most)
    strides = code.room(2 * len(outputs), 8)
    for number, step in enumerate(step for a in outputs for step in (arrays[a].row, arrays[a].column)):
        strides.at(number).store((code.like(step, I64) // 8).floating())
    with code.loop(0, most + 1) as i:
        starts = {"own": record.at(i * entries), "scratch": block.work.at(scratch), "fixed": fixed}
        known = {
            name: starts[where].at(n) for (name, where), n in zip(_placed(form, names).items(), numbers, strict=True)
        }
        rows = {f"out{n}": x.base.bytes((block.first + i) * x.state) for n, x in enumerate(arrays[a] for a in outputs)}
        code.call(form.loops[-1].__name__, *({**known, **rows, "strides": strides}[name] for name in names))


def _placed(form: Form, names: list[str]) -> dict[str, str]:
    """Named arrays whose places are in the table of offsets, in order, and the base these count from."""
    columns = {
        letter if components == 1 else f"{letter}{component}": "own"
        for letter, (_, components) in form.columns.items()
        for component in range(components)
    }
    known = {"rows": "own"} | columns | dict.fromkeys(form.scratch, "scratch")
    known |= dict.fromkeys(_FIXED, "fixed")
    return {name: known[name] for name in names if name in known}


def _data(
    form: Form,
    model: Model,
    frames: LinkFrames,
    kinds: list[int],
    rooms: Rooms,
    signature: Signature,
    names: list[str],
    lanes: int,
    factors: Factors,
) -> list[Any]:
    """The tables of the links, then the places of records, the offsets of arrays, and what is fixed."""
    areas = Areas(model, kinds, rooms, ())
    record = record_of(form, model, kinds, areas, rooms, factors)
    sizes = [[joint.nq if name == "q" else joint.nv for joint in model.joints] for name in ("q", *form.inputs)]
    arrays = [over_links(kinds, areas.own, rooms, name, n) for name, n in zip(("q", *form.inputs), sizes, strict=True)]
    entries = len(record.places)
    beyond = lanes * entries + record.scratch_size
    lift = range(rooms.flat["a_g"], rooms.flat["a_g"] + 6)
    given = Given(
        [*arrays, *([] for _ in signature.outputs)],
        [*signature.inputs, *(1 for _ in signature.outputs)],
        list(lift),
        [0.0, 0.0, 0.0, *(-model.gravity)],
        -(-beyond // lanes),
    )
    start = lanes * areas.room
    places = {"own": record.record, "scratch": record.scratch, "fixed": record.fixed}
    offsets = [places[where][name] for name, where in _placed(form, names).items()]
    return [
        *link_tables(model, frames, kinds, areas, given, (), lanes),
        (lanes * record.places).astype(np.uint32),
        np.array([start, entries, start + lanes * entries, *offsets], dtype=np.int64),
        record.numbers,
    ]
