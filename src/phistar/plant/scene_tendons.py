"""[[tendons]] of files and the actuators that pull them, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.plant.actuators import Actuator
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import ActuatorEntry, TendonEntry
from phistar.plant.scene_sentences import unknown_key
from phistar.plant.tendons import JointTerm, Stretch, Tendon

OF_JOINTS = ("joints", "delay")


def add_tendons(plant: Plant, entries: list[TendonEntry], where: str) -> None:
    """Gives a plant the tendons of a file."""
    for entry in entries:
        own = f"{where}, [[tendons]] {entry.name:.60}"
        if (entry.joints is None) == (entry.frames is None):
            raise FileError(f"{own}: a tendon runs over joints, or through frames; give one of the two.")
        over: Any = entry.joints if entry.frames is None else entry.frames
        given = entry.model_dump(exclude={"name", "joints", "frames"}, exclude_none=True)
        if isinstance(entry.rest, list):
            given["rest"] = tuple(entry.rest)
        try:
            plant.add_tendon(entry.name, over, **given)
        except PhistarError as error:
            raise FileError(f"{own}: {error}") from None


def pull(plant: Plant, entry: ActuatorEntry, where: str) -> None:
    """Gives a tendon the actuator of an entry."""
    known = set(ActuatorEntry.model_fields) - {"part", *OF_JOINTS}
    for key in OF_JOINTS:
        if key in entry.model_fields_set:
            raise FileError(unknown_key(where, key, known))
    given: dict[str, Any] = entry.model_dump(exclude={"tendon", "part", *OF_JOINTS}, exclude_none=True)
    limits = given.pop("limits", None)
    if limits is not None:
        pair = [-limits, limits] if isinstance(limits, int | float) else limits
        if len(pair) != 2:
            raise FileError(f"{where}, limits: the least and the largest force were expected; it has {len(pair)}.")
        given["limits"] = tuple(pair)
    plant.actuate_tendon(entry.tendon or "", **given)


def tendon_table(tendon: Tendon) -> dict[str, Any]:
    """The entry of a tendon that `plant.add_tendon` made."""
    made: dict[str, Any] = {"name": tendon.name}
    over = [term for term in tendon.terms if isinstance(term, JointTerm)]
    ways = [term for term in tendon.terms if isinstance(term, Stretch)]
    if over:
        made["joints"] = {term.joint: float(term.factor) for term in over}
    else:
        made["frames"] = [ways[0].start, *(way.end for way in ways)]
    made |= {key: float(getattr(tendon, key)) for key in ("stiffness", "damping", "friction") if getattr(tendon, key)}
    made |= {"rest": list(tendon.rest)} if any(tendon.rest) else {}
    made |= {"limits": list(tendon.limits)} if np.isfinite(tendon.limits).any() else {}
    return made | ({} if tendon.held is None else {"held": float(tendon.held)})


def pull_table(actuator: Actuator, tendon: str) -> dict[str, Any]:
    """The entry of an actuator that `plant.actuate_tendon` made."""
    made: dict[str, Any] = {"tendon": tendon, "kind": actuator.kind, "gear": float(actuator.gear)}
    made |= {"name": actuator.name} if actuator.name != tendon else {}
    made |= {key: float(getattr(actuator, key)) for key in ("stiffness", "damping") if getattr(actuator, key)}
    forces = actuator.force_range
    made |= {"limits": list(forces)} if forces is not None and np.isfinite(forces).any() else {}
    return made | ({"command_range": list(actuator.command_range)} if np.isfinite(actuator.command_range).any() else {})
