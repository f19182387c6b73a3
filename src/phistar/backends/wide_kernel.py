"""Statements about links of any width: run on arrays, or recorded and compiled where they are short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.backends.choice import is_wide_written
from phistar.backends.kernel import Kernel, Statements, compile_trace
from phistar.backends.links.values import space_sizes
from phistar.backends.links.wide import wide_links
from phistar.backends.machine.rows import Signature
from phistar.backends.programs.any_width import Mechanism, link_poses, run_any_width
from phistar.backends.traces.arrays import is_traced, traced
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.errors import StatementError
from phistar.model import Model


def evaluated(wanted: Statements, slot: str, q: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The value of each statement: vectors (…, rows), operators (…, rows, columns); given are vectors by field name."""
    model = wanted.model
    if is_traced(q, *given.values()):
        return {name: traced(value) for name, value in values_over_links(wanted, q, given).items()}
    if is_wide_written(model):
        key = ("any width", slot, wanted.frames, tuple(given))
        with np.errstate(invalid="ignore"):  # a NaN spoils its own row
            made = model.kept(key, lambda: _compiled(wanted, tuple(given)))(q, given)
    else:
        made = values_over_links(wanted, q, given)
    if model.embedding is not None and not all(np.isfinite(x).all() for x in made.values()):
        model.embedding.check(q)
    return made


def has_wide_links(model: Model) -> bool:
    """Whether some link is not six wide: a body that bends, or a compound link."""
    return model.is_flexible or model.embedding is not None


def link_rows(model: Model) -> int:
    """Rows of a vector over the links: Σ w(k), six for each rigid one."""
    if model.embedding is not None:
        return sum(model.embedding.width(k) for k in range(len(model.embedding.groups)))
    return sum(6 + body.modes for body in model.bodies)


def any_links(model: Model, q: np.ndarray, frames: tuple[str, ...]) -> Mechanism:
    """The links at q: bodies that bend, or compound links of loops."""
    return wide_links(model, q, frames) if model.embedding is None else model.embedding.mechanism(q, frames)


def values_over_links(wanted: Statements, q: np.ndarray, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The value of each statement, link by link on arrays; given are vectors by field name."""
    program, model = wanted.program(), wanted.model
    links = any_links(model, q, wanted.frames)
    inputs: dict[str, Any] = {"a_g": np.concatenate([np.zeros(3), -model.gravity])[:, None]}
    inputs |= {name: np.asarray(value)[..., None] for name, value in given.items()}
    sizes = _sizes(wanted)
    for name, space in program.inputs:
        if space not in (*sizes, "scalars", "closures"):
            raise StatementError(
                f"{model.name} has bodies that bend, for which statements over its {space} are not there."
            )
        if name in program.columns:
            inputs[name] = np.eye(sizes[space])
    outputs = run_any_width(program, links, wanted.frames, inputs, wanted.operators)
    plain = [x.shape[:-2] for name, x in inputs.items() if name not in program.columns]
    batch = np.broadcast_shapes(q.shape[:-1], *plain)
    result = {}
    for public, name in program.result_names.items():
        whole = np.broadcast_to(outputs[name], (*batch, *outputs[name].shape[-2:]))
        if public in program.matrices:
            result[public] = np.array(whole)
        else:
            result[public] = np.array(whole[..., 0, 0] if program.is_scalar(public) else whole[..., 0])
    return result


def _sizes(wanted: Statements) -> dict[str, int]:
    """Rows of the spaces that a statement may be over."""
    return space_sizes(wanted.model, wanted.frames) | {"links": link_rows(wanted.model)}


def _traced(wanted: Statements, order: tuple[str, ...]) -> tuple[Trace, Signature]:
    """The instructions of one state over (q, vectors in order), and the shapes of inputs and results."""
    tape, spaces, sizes = Tape(), dict(wanted.program().inputs), _sizes(wanted)
    rows = [wanted.model.nq, *(sizes[spaces[name]] if name in spaces else wanted.model.nv for name in order)]
    arrays = [tape.inputs((n,)) for n in rows]
    made = values_over_links(wanted, arrays[0], dict(zip(order, arrays[1:], strict=True)))
    entries = [x for value in made.values() for x in np.asarray(value).reshape(-1)]
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in entries])
    return trace, Signature(tuple(rows), tuple(np.shape(value) for value in made.values()))


def _compiled(wanted: Statements, order: tuple[str, ...]) -> Kernel:
    trace, signature = _traced(wanted, order)
    names, rows = tuple(name for name, _ in wanted.nodes), signature.inputs
    kernel = compile_trace(trace, list(rows), list(signature.outputs), " ".join(names), names)
    return Kernel(kernel.function, order, names, kernel.counted, kernel.shapes, {}, rows)


def statement_kernel(wanted: Statements) -> Kernel:
    """A statement over links of any width, compiled whatever its length: (q, operand, vectors…)."""
    if wanted.parameters:
        raise _constants(wanted)
    return _compiled(wanted, inputs_of(wanted))


def statement_trace(wanted: Statements) -> tuple[Trace, tuple[str, ...], Signature]:
    """The instructions of one state, the names of the inputs after q, and the shapes."""
    if wanted.parameters:
        raise _constants(wanted)
    order = inputs_of(wanted)
    trace, signature = _traced(wanted, order)
    return trace, order, signature


def _constants(wanted: Statements) -> StatementError:
    return StatementError(
        f"{wanted.model.name} has links of any width, whose {' and '.join(wanted.parameters)} are constants; change "
        "the model instead."
    )


def inputs_of(wanted: Statements) -> tuple[str, ...]:
    """The vectors that a statement takes, by their fields."""
    program = wanted.program()
    return tuple(name for name, _ in program.inputs if name != "a_g" and name not in program.columns)


def wide_frame_poses(model: Model, q: np.ndarray, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The pose of each of some frames, (…, 4, 4), of floats or traced numbers."""
    links = wide_links(model, q, frames)
    poses, result = link_poses(links), {}
    for frame in frames:
        k = links.link_of(frame)
        turn, shift = links.frame_pose(frame, poses[k] if k >= 0 else None)
        whole = np.zeros((*q.shape[:-1], 4, 4), dtype=np.result_type(turn, shift, q))
        whole[..., :3, :3], whole[..., :3, 3], whole[..., 3, 3] = turn, shift, 1.0
        result[frame] = traced(whole) if is_traced(whole) else whole
    return result
