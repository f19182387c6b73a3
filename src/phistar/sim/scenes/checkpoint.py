"""Checkpoints: a run saved half-way and resumed bit for bit; data only, written atomically, with a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from phistar.control.sampled import Switch
from phistar.errors import FileError
from phistar.plant.session import PlantState
from phistar.safe_files import MEGABYTE, read_bytes
from phistar.sim.motion import Event, Moment, Touching
from phistar.sim.scenes.run_folder import CHECKPOINT, whole
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.serialize import check_alike, pack_tree, unpack_tree
from phistar.sim.time_loop import TimeLoop
from phistar.sim.world import World

LARGEST = 2048 * MEGABYTE
_WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError, MemoryError)
MAGIC, ANY = b"phistar checkpoint 4 ", b"phistar checkpoint "
LOGGED = ("books", "rows", "events", "phases", "nearest", "lowest", "peak", "unsettled", "held", "is_open")
CONTACTS = ("contact_pair", "contact_point", "contact_vector", "contact_moment")
TOGETHER = (CONTACTS, ("met_pair", "met_normal"), ("given_pair", "given"))  # each of one number in a row
VARYING = (*(name for names in TOGETHER for name in names), "sensed", "facts")
LAWFUL = ("memory", "command", "values", "clipped", "switches")


def write(loop: TimeLoop, scene: Scene, folder: Path) -> Path:
    """Write FOLDER/checkpoint, replacing any earlier one."""
    held = bytearray()
    tree = json.dumps(pack_tree(_state(loop, scene), held)).encode()
    payload = len(tree).to_bytes(8, "little") + tree + held
    head = MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    return whole(folder / CHECKPOINT, lambda path: path.write_bytes(head + payload))


def read(folder: Path) -> dict[str, Any]:
    """Read and check a checkpoint: its tree, its bytes and its head, for `resumed`."""
    path = folder / CHECKPOINT
    content = read_bytes(path, "a checkpoint (--checkpoint SECONDS writes one)", LARGEST)
    head, _, payload = content.partition(b"\n")
    if head.startswith(ANY) and not head.startswith(MAGIC):
        raise FileError(
            f"{path} is a checkpoint of another version of phistar, whose contacts remembered other things; run the "
            "scene from its start."
        )
    if not head.startswith(MAGIC):
        raise FileError(f"{path} is not a checkpoint of this version of phistar.")
    if hashlib.sha256(payload).hexdigest().encode() != head.removeprefix(MAGIC):
        raise FileError(f"{path} is damaged: its checksum is another.")
    try:
        end = 8 + int.from_bytes(payload[:8], "little")
        tree, held = json.loads(payload[8:end]), payload[end:]
        head = unpack_tree(tree["dict"][0][1], held, frozenset())
        told = {name: head[name] for name in ("scene", "source", "seed", "content")}
        if type(told["seed"]) is not int or told["seed"] < 0 or not isinstance(told["source"], str):
            raise ValueError("its seed or its source is none")
        return {"tree": tree, "held": held, "path": path, "head": told}
    except _WRONG as error:
        raise FileError(f"{path} cannot be understood: {error!s:.200}.") from None


def resume_loop(kept: dict[str, Any], scene: Scene, begun: Callable[[int], TimeLoop]) -> TimeLoop:
    """Restore the time loop of a checkpoint; its scene and its controller must be the same. `begun` makes the loop of a
    seed."""
    head, path = kept["head"], kept["path"]
    if head["content"] != scene.digest:
        raise FileError(f"{path} is of the scene {head['scene']} as it was; what is given is another, or was changed.")
    loop = begun(head["seed"])
    controller = loop.driving.controller
    modules = set() if controller is None else {type(controller).__module__}
    try:
        state = unpack_tree(kept["tree"], kept["held"], frozenset(modules))
        _check(state, begun(head["seed"]), scene)
        _restore(loop, state)
    except _WRONG as error:
        raise FileError(f"{path} cannot be taken up: {error!s:.200}.") from None
    return loop


def _check(state: Any, begun: TimeLoop, scene: Scene) -> None:
    """Refuse a state not structured like a new loop's; `begun` is a new loop, and advances by a sample."""
    next(begun.rows())
    fresh = _state(begun, scene)
    if state["sampled"] != fresh["sampled"]:
        raise ValueError("its controller lived in samples and this one does not, or the other way round")
    log, own = dict(state["log"]), dict(fresh["log"])
    check_alike(_plain(state["moment"]), _plain(fresh["moment"]), "its moment")
    own |= {"events": [Event(0.0, "", "")], "phases": [(0.0, "")]}
    for row in log["rows"]:  # facts may be others at each sample
        check_alike(list(row.get("facts", {}).items()), [("", 0.0)], "facts")
    log["rows"] = [row | {"facts": None} for row in log["rows"]]
    own["rows"] = [row | {"facts": None} for row in own["rows"]]
    for name in LOGGED:
        check_alike(log[name], own[name], name)
    _check_sizes(log, own, len(begun.world.pairs))
    for name in LAWFUL if fresh["sampled"] else ():
        check_alike(state["law"][name], fresh["law"][name], name)
    if fresh["sampled"]:
        check_alike(list(state["law"]["switches"]), [Switch(0.0, "", "", "")], "switches")
    times, moment = begun.schedule.times, state["moment"]
    reached, ended = state["reached"], state["end"]
    if type(reached) is not int or not 0 <= reached < len(times):
        raise ValueError("it has reached no time of the run")
    if not times[reached] - 1e-9 <= moment.time <= times[min(reached + 1, len(times) - 1)] + 1e-9:
        raise ValueError("its time is another than it has reached")
    if not all(isinstance(each, int | float) and each >= 0.0 for each in (ended, state["spent"])):
        raise ValueError("its times are none")
    if (
        not np.isfinite(moment.state.q).all()
        or not np.isfinite(moment.state.v).all()
        or not 0.0 < moment.wanted < np.inf
    ):
        raise ValueError("its state is not finite")
    own = fresh["moment"].state
    for each in (moment.state, moment.before):
        if each.q.shape != own.q.shape or each.v.shape != own.v.shape:
            raise ValueError("its state has another size")
    like = *own.memory[:4], *begun.motion.session.engine.exact(), own.q, own.v
    _check_memory(moment.state.memory, like, len(begun.world.system.shapes))
    _check_touching(moment.touching, begun.world)


def _plain(moment: Moment) -> Moment:
    """A moment without the memory of contacts, whose sizes change."""
    return moment._replace(state=moment.state._replace(memory=()))


def _check_memory(memory: Any, own: tuple[np.ndarray, ...], shapes: int) -> None:
    """Check that arrays match those of a new state; contacts vary in number, and name existing shapes."""
    if type(memory) is not tuple or len(memory) not in (4, len(own)):
        raise ValueError("its contacts are not what they should be")
    for number, (each, like) in enumerate(zip(memory, own, strict=False)):
        start = 1 if number in (0, 1, 3) else 0  # contacts, and commands on their way, come and go
        if type(each) is not np.ndarray or each.dtype != like.dtype or each.shape[start:] != like.shape[start:]:
            raise ValueError("its contacts are not what they should be")
    wholes, floats = memory[:2]
    if len(wholes) != len(floats) or not ((wholes >= 0) & (wholes < max(shapes, 1))).all():
        raise ValueError("its contacts are of no shapes")
    if len(memory) > 4 and sorted(memory[5].tolist()) != sorted(own[5].tolist()):
        raise ValueError("its shapes are not in order")
    if not all(np.isfinite(each).all() for each in memory):
        raise ValueError("its contacts are not finite")


def _check_touching(touching: Touching, world: World) -> None:
    pairs, stops = len(world.pairs), len(world.stops[1])
    for numbers, count in ((touching.pairs, pairs), (touching.slipping, pairs), (touching.stops, stops)):
        if not all(type(number) is int and 0 <= number < count for number in numbers):
            raise ValueError("what touches is not there")


def _check_sizes(log: dict[str, Any], fresh: dict[str, Any], pairs: int) -> None:
    """Check that all entries of a row but contacts keep their size, and that contacts are of pairs there are."""
    for row in log["rows"]:
        for name, value in fresh["rows"][0].items():
            if name not in VARYING and np.shape(row[name]) != np.shape(value):
                raise ValueError(f"{name} has another size")
        for names in TOGETHER:
            found, own = ([np.shape(each[name]) for name in names] for each in (row, fresh["rows"][0]))
            if len({shape[:1] for shape in found}) > 1 or [x[1:] for x in found] != [x[1:] for x in own]:
                raise ValueError("what a row tells of contacts is not of one number of them")
            numbers = row[names[0]]
            if numbers.dtype.kind != "i" or (numbers.size and not 0 <= numbers.min() <= numbers.max() < pairs):
                raise ValueError("its contacts are of no pairs")
    if len(log["unsettled"]) != len(fresh["unsettled"]):
        raise ValueError("unsettled is no pair")


def _state(loop: TimeLoop, scene: Scene) -> dict[str, Any]:
    moment, driving, recorder = loop.moment, loop.driving, loop.recorder
    assert moment is not None
    head = {"scene": scene.name, "source": scene.source, "seed": loop.experiment.seed, "content": scene.digest}
    state = {"head": head, "reached": loop.reached, "end": loop.end, "spent": loop.spent}
    now = moment.state if moment.state.memory else loop.motion.now()
    before = PlantState(moment.before.q, moment.before.v)
    state["moment"] = moment._replace(step=None, events=(), state=now, before=before)
    state["log"] = {name: getattr(recorder, name) for name in LOGGED}
    state["sampled"] = driving.controller is not None
    if driving.controller is not None:
        state["law"] = {name: getattr(driving, name) for name in LAWFUL}
    noise = None if loop.line.generator is None else loop.line.generator.bit_generator.state
    state["line"] = (loop.line.past, loop.line.count, noise)
    return state


def _restore(loop: TimeLoop, state: dict[str, Any]) -> None:
    loop.reached, loop.end, loop.spent = state["reached"], state["end"], state["spent"]
    loop.moment = state["moment"]
    for name in LOGGED:
        setattr(loop.recorder, name, state["log"][name])
    if loop.driving.controller is not None:
        for name in LAWFUL:
            setattr(loop.driving, name, state["law"][name])
    past, count, generator = state["line"]
    if loop.line.generator is not None:
        loop.line.generator.bit_generator.state = generator
    loop.line = loop.line._replace(past=past, count=count)
