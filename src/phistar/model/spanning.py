"""Loops added to a mechanism and taken away."""

from __future__ import annotations

from phistar.errors import ModelError
from phistar.model.assemble import make_loop, passive_force_warning, passive_parts
from phistar.model.joints import CutKind, JointKind
from phistar.model.model import WORLD_FRAME, Model
from phistar.model.parts import WORLD


def with_loop(model: Model, name: str, frame_a: str, frame_b: str | None, joint: JointKind | CutKind) -> Model:
    """The model with one more cut joint or coupling; see Model.with_loop."""
    if model.embedding is not None:
        raise ModelError(f"{model.name} is in independent rates; add loops to model.embedding.closed and embed again.")
    if not isinstance(name, str) or not name:
        raise ModelError(f"A loop needs a name, text that is not empty; it was given {name!r:.200}.")
    if any(loop.name == name for loop in model.loops):
        raise ModelError(f"{model.name} has a loop called '{name}' already; give the new one another name.")
    if not isinstance(joint, (JointKind, CutKind)):
        raise ModelError(f"The loop '{name}' needs a joint such as Revolute or Coupling; it was given {joint!r:.200}.")
    frames = {WORLD: WORLD_FRAME, **model.frames}
    loop = make_loop(name, frame_a, frame_b, joint, frames, {each.name: each.kind for each in model.joints})
    passive = passive_parts(joint)
    warnings = (*model.warnings, passive_force_warning(name, passive)) if passive else model.warnings
    return model._with(loops=(*model.loops, loop), warnings=warnings)


def without_loops(model: Model, names: tuple[str, ...]) -> Model:
    """The model without some of its loops; see Model.without."""
    if not names:
        raise ModelError(f"{model.name}.without needs the name of a loop; without all of them it is model.tree.")
    dropped = {model.loop(name).name for name in names}
    return model._with(loops=tuple(loop for loop in model.loops if loop.name not in dropped))
