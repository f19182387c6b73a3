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
from phistar.backends.code.native import arrays_used, module_text, tree_of
from phistar.backends.links.link_frames import LinkFrames, link_frames
from phistar.backends.machine import cache
from phistar.backends.machine.jit import Target, compile_object, gufunc, host, load_object
from phistar.backends.machine.rows import Signature
from phistar.backends.pairwise.forms import FORMS, Form, record_of, whole_numbers
from phistar.backends.pairwise.steps import stages
from phistar.backends.rolled.code import kinds_of, operations_per_link, stage_calls
from phistar.backends.rolled.loop import TABLES, Sizes, loop_text, pointer
from phistar.backends.rolled.memory import Memory, Rooms, laid_out, needed
from phistar.backends.rolled.steps import Kind
from phistar.backends.rolled.tables import Areas, Given, link_tables, over_links
from phistar.model import Model


def pair_kernel(
    name: str, model: Model, signature: Signature, target: Target | None = None, lanes: int | None = None
) -> tuple[Any, Callable[[], int]]:
    """The gufunc of a table of `FORMS` for a model with single axes (`common_frame.single_axes`) and without spinning
    rotors, and what counts its operations."""
    form, target = FORMS[name], target or host()
    lanes = lanes or target.lanes
    frames = _with_second_moments(link_frames(model))
    kinds, numbers = kinds_of(model, frames)
    alone = model.parents.count(-1) == 1
    armature = any(np.any(joint.kind.armature_diagonal) for joint in model.joints)
    key = cache.key("pairs", name, [kind.key for kind in kinds], alone, armature, target, lanes)
    found = cache.load(key)
    if found is None:
        text, memory, per_link = _text(form, kinds, signature, alone, armature, lanes, target.fma)
        header = {"operations": per_link, "memory": memory.data(), "form": name}
        header["arrays"] = list(_placed(form, _arrays(form)))
        code = compile_object(text, target, _loops_text(form))
        cache.store(key, header, code)
    else:
        header, code = found
    rooms = Rooms.from_data(header["memory"])
    data = _data(form, model, frames, numbers, rooms, signature, header["arrays"], 2 * lanes)
    function = gufunc(load_object(code), signature, name, f"{name} of {model.name}, compiled link by link.", data)
    return function, partial(pair_operations, header, model)


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
    outputs = range(inputs, signature.arrays)
    given = ", ".join(f"ptr %base{a}, i64 %s{a}, i64 %k{a}x0, i64 %k{a}x1" for a in outputs)
    call = f"  call void @finish(ptr %data, ptr %work, i64 %first, i64 %last, {given})"
    loop = loop_text(code.calls, axes, inputs, sizes, call)
    text = "\n".join([*code.functions, loop, *_finish(form, outputs, signature.arrays, memory.lanes)])
    return text, memory, operations_per_link(made)


def _loops_text(form: Form) -> str:
    main = form.loops[-1].__name__
    text = module_text(form.loops, {}, {}).replace(f"define internal void @{main}(", f"define void @{main}(")
    return text.replace("contract reassoc ", "contract ")  # sums in two halves are to stay so: half as long to wait for


def _arrays(form: Form) -> list[str]:
    """The names of the arrays that the loops are given, in order."""
    trees = {function.__name__: tree_of(function) for function in form.loops}
    return arrays_used(trees[form.loops[-1].__name__], trees)


def _finish(form: Form, outputs: range, arrays: int, lanes: int) -> list[str]:
    """`finish`: the records of a block's states, then the loops on each. Of the table of offsets, the first three are
    where records begin, how many numbers each has, and where scratch begins; then those of the arrays, in bytes."""
    names = _arrays(form)
    placed = _placed(form, names)
    given = ", ".join(f"ptr %base{a}, i64 %s{a}, i64 %k{a}x0, i64 %k{a}x1" for a in outputs)
    lines = [f"define internal void @finish(ptr %data, ptr %work, i64 %first, i64 %last, {given}) #0 {{", "entry:"]
    for position, name in enumerate(("places", "offsets", "fixed")):
        lines += [pointer(f"{name}.p", "data", str(8 * (len(TABLES) + arrays + position)))]
        lines += [f"  %{name} = load ptr, ptr %{name}.p, align 8"]
    for position, name in enumerate(("start", "entries", "scratch.o", *(f"m.{name}.o" for name in placed))):
        lines += [pointer(f"{name}.q", "offsets", str(8 * position)), f"  %{name} = load i64, ptr %{name}.q, align 8"]
    lines += [pointer("record", "work", "%start"), pointer("scratch", "work", "%scratch.o")]
    lines += ["  %row = mul i64 %entries, 8", "  %ahead = sub i64 %last, %first"]
    lines += [f"  %few = icmp slt i64 %ahead, {lanes - 1}", f"  %most = select i1 %few, i64 %ahead, i64 {lanes - 1}"]
    copied = "ptr %record, i64 %row, i64 %row, i64 8, i64 %entries, i64 %entries, ptr %places, ptr %work"
    lines += [f"  call void @unpack({copied}, i64 0, i64 %most)"]
    lines += [f"  %m.strides = alloca [{2 * len(outputs)} x double], align 8"]
    for number, name in enumerate(f"k{a}x{axis}" for a in outputs for axis in range(2)):
        lines += [f"  %{name}.n = sdiv i64 %{name}, 8", f"  %{name}.d = sitofp i64 %{name}.n to double"]
        lines += [
            pointer(f"{name}.p", "m.strides", str(8 * number)),
            f"  store double %{name}.d, ptr %{name}.p, align 8",
        ]
    lines += ["  br label %state", "state:", "  %i = phi i64 [0, %entry], [%i2, %state]"]
    lines += ["  %own.o = mul i64 %i, %row", pointer("own", "record", "%own.o"), "  %now = add i64 %first, %i"]
    for number, a in enumerate(outputs):
        lines += [f"  %to{a} = mul i64 %now, %s{a}", pointer(f"m.out{number}", f"base{a}", f"%to{a}")]
    for name, where in placed.items():
        lines += [pointer(f"m.{name}", where, f"%m.{name}.o")]
    lines += [f"  call void @{form.loops[-1].__name__}({', '.join(f'ptr %m.{name}' for name in names)})"]
    lines += ["  %i2 = add i64 %i, 1", "  %more = icmp sle i64 %i2, %most"]
    lines += ["  br i1 %more, label %state, label %done", "done:", "  ret void", "}"]
    declared = f"declare void @{form.loops[-1].__name__}({', '.join('ptr' for _ in names)})"
    return [declared, "\n".join(lines)]


def _placed(form: Form, names: list[str]) -> dict[str, str]:
    """Of the named arrays those whose places are in the table of offsets, in order, and from where these count."""
    columns = {
        letter if components == 1 else f"{letter}{component}": "own"
        for letter, (_, components) in form.columns.items()
        for component in range(components)
    }
    known = {"rows": "own"} | columns | dict.fromkeys(form.scratch, "scratch")
    known |= dict.fromkeys(("sizes", "steps", "place", "runs", "armature", "drift"), "fixed")
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
) -> list[Any]:
    """The tables of the links, then the places of records, the offsets of arrays, and what is fixed."""
    areas = Areas(model, kinds, rooms, ())
    record = record_of(form, model, kinds, areas, rooms)
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
    start = 8 * lanes * areas.room
    places = {"own": record.record, "scratch": record.scratch, "fixed": record.fixed}
    offsets = [8 * places[where][name] for name, where in _placed(form, names).items()]
    return [
        *link_tables(model, frames, kinds, areas, given, (), lanes),
        (8 * lanes * record.places).astype(np.uint32),
        np.array([start, entries, start + 8 * lanes * entries, *offsets], dtype=np.int64),
        record.numbers,
    ]
