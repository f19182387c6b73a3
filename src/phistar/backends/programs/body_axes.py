"""Between the axes of the bodies, in which users speak, and those of the links of rolled kernels (`link_frames.py`).

A program is written as though both were the same; here it is made to say where they are not: what is given over the
links is brought to their axes before anything reads it, what is wanted over the links is brought back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.values import rotate_symmetric
from phistar.sweeps import ir
from phistar.sweeps.ir import Call, Field, Program, Statement, Sweep

Frame = tuple[np.ndarray, np.ndarray]  # the link's frame in the body's: rotation and origin
INERTIA, MOVED, LIFT = "inertia", "π", "lift"
_ENTERING = {"Motions": "motion_of_body", "Forces": "force_of_body"}
_LEAVING = {"Motions": "motion_in_body", "Forces": "force_in_body"}


def _moved_inertia(frame: Frame, parameters: np.ndarray) -> np.ndarray:
    """m, R*(h − mp) and R*(J − 2(h·p) + hp* + ph* + m(p·p − pp*))R of mass, first moment and tensor, (10, 1)."""
    rotation, point = frame
    mass, moment, tensor = parameters[0], parameters[1:4, 0], parameters[4:, 0]
    half = mass * point - 2.0 * moment  # so that both terms are one product with p
    full = np.stack([np.stack([tensor[i] for i in row]) for row in ((0, 1, 3), (1, 2, 4), (3, 4, 5))])
    outer = point[:, None] * (mass * point - moment)[None, :] - moment[:, None] * point[None, :]
    shifted = full + np.eye(3) * np.sum(half * point) - outer
    back = np.swapaxes(rotation, -1, -2)
    about = rotate_symmetric(back, link.mirror_upper(shifted))
    entries = [about[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.array([*mass, *np.matmul(back, moment - mass * point), *entries], dtype=object)[:, None]


AXES: Mapping[str, Callable[[Frame, Any], Any]] = {
    "motion_of_body": lambda frame, x: link.outward(*frame, x),
    "force_of_body": lambda frame, x: link.inward(*link.reversed_step(*frame), x),
    "motion_in_body": lambda frame, x: link.outward(*link.reversed_step(*frame), x),
    "force_in_body": lambda frame, x: link.inward(*frame, x),
    "inertia_of_body": _moved_inertia,
}
"""Calls that a step may make, on its link's frame in the body and a block."""


def in_body_axes(program: Program, spaces: Mapping[str, str], parameters: tuple[str, ...] = ()) -> Program:
    """The program for vectors over the links in body axes, and inertias and gravity (`parameters`) that are given.

    `spaces` says of each field over the links that is given or wanted whether it holds motions or forces.
    """
    inputs, entering = [], []
    for name, space in program.inputs:
        if space == "links":
            entering.append(Statement(name, Call(_ENTERING[spaces[name]], (Field(f"{name} of bodies"),))))
            inputs.append((f"{name} of bodies", space))
        elif name != "a_g" or "gravity" not in parameters:
            inputs.append((name, space))
    if INERTIA in parameters:
        entering.append(Statement(MOVED, Call("inertia_of_body", (Field(INERTIA),))))
        inputs.append((INERTIA, "parameters"))
    sweeps = _prepend_statements(program.sweeps, entering)
    if "gravity" in parameters:
        inputs.append(("gravity", "gravity"))
        if "a_g" in dict(program.inputs):
            sweeps = (Sweep("flat", (Statement("a_g", Call(LIFT, (Field("gravity"),))),)), *sweeps)
    leaving = {name: Call(_LEAVING[spaces[name]], (Field(name),)) for name, over in program.outputs if over == "links"}
    columns = tuple(f"{name} of bodies" if dict(program.inputs)[name] == "links" else name for name in program.columns)
    return replace(
        program,
        inputs=tuple(inputs),
        sweeps=_follow(sweeps, leaving),
        outputs=tuple((f"{name} in bodies" if name in leaving else name, over) for name, over in program.outputs),
        results=tuple((public, f"{name} in bodies" if name in leaving else name) for public, name in program.results),
        columns=columns,
    )


def _prepend_statements(sweeps: tuple[Sweep, ...], statements: list[Statement]) -> tuple[Sweep, ...]:
    """The sweeps with some statements before all others."""
    if not statements:
        return sweeps
    first, *others = sweeps if sweeps and sweeps[0].direction != "flat" else (Sweep(ir.OUTWARD, ()), *sweeps)
    return Sweep(first.direction, (*statements, *first.statements)), *others


def _follow(sweeps: tuple[Sweep, ...], leaving: Mapping[str, Call]) -> tuple[Sweep, ...]:
    """The sweeps with what leaves them made where it is known."""
    result = []
    for sweep in sweeps:
        targets = [s.target for s in sweep.statements if s.target in leaving]
        more = tuple(Statement(f"{name} in bodies", leaving[name]) for name in targets)
        result.append(Sweep(sweep.direction, (*sweep.statements, *more)))
    return tuple(result)
