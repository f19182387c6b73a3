"""Loops added to a mechanism and taken away; what is defined for trees alone."""

from __future__ import annotations

from phistar.errors import ModelError
from phistar.model.assemble import make_loop, passive_force_warning, passive_parts
from phistar.model.check import check_robot
from phistar.model.joints import CutKind, JointKind
from phistar.model.model import WORLD_FRAME, Model
from phistar.model.parts import WORLD


def require_tree(model: Model, what: str) -> None:
    """Refuse a model with loops where `what` has no meaning for closed chains."""
    check_robot(what, (model,))
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops[:5]) + (", …" if len(model.loops) > 5 else "")
        raise ModelError(
            f"{model.name} has loops ({names}), for which {what} is not defined: its joints do not move independently. "
            "model.embedded() is the same mechanism in independent coordinates, model.tree its spanning tree."
        )


def require_rigid(model: Model, what: str) -> None:
    """Refuse a model with bodies that bend where `what` is there for rigid ones alone."""
    check_robot(what, (model,))
    if model.embedding is not None:
        raise ModelError(
            f"{model.name} is in independent rates, for which {what} is not there yet; take the model with its loops, "
            "model.embedding.closed, or functions of dynamics."
        )
    if model.is_flexible:
        names = ", ".join(repr(body.name) for body in model.bodies if body.modes)
        raise ModelError(
            f"{model.name} has bodies that bend ({names}), for which {what} is not there yet; give them rigid inertias "
            "(model.replace(inertias={name: body.flexible.rigid})), or take the functions of dynamics."
        )


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
