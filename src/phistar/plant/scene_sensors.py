"""Sensors in files: the keys of each kind, and the sensors of a plant that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.model.geometry import Shape
from phistar.plant.plant import Plant
from phistar.plant.scene_schema import SensorEntry, ShapeEntry
from phistar.plant.scene_sentences import unknown_key

NOISES: Mapping[str, tuple[str, ...]] = {
    "joints": ("noise", "rate_noise"),
    "wrist": ("moment_noise", "noise"),
    "pose": ("noise", "turn_noise", "spin_noise", "rate_noise"),
}
SUBJECTS: Mapping[str, str] = {"joints": "part", "wrist": "frame", "tactile": "shapes"}
MORE: Mapping[str, tuple[str, ...]] = {"pose": ("seen_from", "turn_bias"), "touch": ("zone",)}
ALWAYS = ("name", "kind", "noise", "bias", "delay", "period", "rate", "rows")


def sense_all(
    plant: Plant, entries: Sequence[SensorEntry], where: str, zone_of: Callable[[ShapeEntry, str], Shape]
) -> None:
    """Gives a plant the sensors of a file, their names unlike; `zone_of` reads the shape that feels a touch."""
    names = [entry.name for entry in entries if entry.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise FileError(f"{where}: two sensors are called {name!r}; give each its own name.")
    for number, entry in enumerate(entries):
        place = f"{where}, [[sensors]] {(entry.name or number + 1)!s:.60}"
        try:
            _sense(plant, entry, place, zone_of)
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{place}: {error}") from None


def _sense(plant: Plant, entry: SensorEntry, where: str, zone_of: Callable[[ShapeEntry, str], Shape]) -> None:
    kind, subject = entry.kind, SUBJECTS.get(entry.kind, "of")
    known = {*ALWAYS, subject, *NOISES.get(kind, ()), *MORE.get(kind, ())}
    for key in sorted(entry.model_fields_set - known):
        raise FileError(unknown_key(where, key, known))
    if entry.name is None and kind in (*SUBJECTS, "pose"):
        raise FileError(f"{where}: name is missing.")
    if entry.name is not None and ("/" in entry.name or entry.name in (".", "..")):  # kept as sensed/NAME
        raise FileError(f"{where}, name: a name without / was expected; it is {entry.name!r:.100}.")
    of = getattr(entry, subject)
    if not of:
        missing = f"{where}: {subject} is missing."
        raise FileError(f"{where}, shapes: a list of names of shapes was expected; it is []." if of == [] else missing)
    if entry.rate is not None and entry.period is not None:
        raise FileError(f"{where}: readings come at a rate or with a period; it has both.")
    rate = entry.rate if entry.period is None else 1.0 / entry.period
    sizes = _sizes(plant, kind, of, where)
    noise, bias = _noise(entry, sizes), _bias(entry, sizes, where)
    given: dict[str, Any] = {"noise": noise, "bias": bias, "rate": rate, "delay": entry.delay}
    zone = None if entry.zone is None else zone_of(entry.zone, f"{where}, zone")
    plant.sense(kind, of, entry.name or "", **given, seen_from=entry.seen_from or "world", rows=entry.rows, zone=zone)


def _sizes(plant: Plant, kind: str, of: Any, where: str) -> tuple[int, ...]:
    """Size of each noise of a kind of sensor."""
    if kind != "joints":
        return {"wrist": (3, 3), "pose": (3, 3, 3, 3)}.get(kind, ())
    view = plant[of]
    if not len(view.places):
        raise FileError(f"{where}, part: {view.name} has no joints to sense.")
    return len(view.places), len(view.rates)


def _noise(entry: SensorEntry, sizes: tuple[int, ...]) -> float | list[float]:
    """One standard deviation for each number; a list in the file has them all."""
    if isinstance(entry.noise, list) or not sizes:
        return 0.0 if entry.noise is None else entry.noise
    own = [getattr(entry, key) or 0.0 for key in NOISES[entry.kind]]
    return np.repeat(own, sizes).tolist() if any(own) else 0.0


def _bias(entry: SensorEntry, sizes: tuple[int, ...], where: str) -> float | list[float]:
    """Constant errors, of joints and poses in q and xyz, which a turn may follow; a list in the file may have all."""
    bias, turn, total = entry.bias, entry.turn_bias, sum(sizes)
    if not sizes:
        return 0.0 if bias is None else bias
    first = total if entry.kind == "wrist" else sizes[0]
    if bias is not None and (not isinstance(bias, list) or len(bias) not in (first, total)):
        count = len(bias) if isinstance(bias, list) else 1
        told = f"{first} numbers were expected; it has {count}"
        told = f"a list of {first} numbers was expected; it is {bias!r:.100}" if entry.kind != "joints" else told
        raise FileError(f"{where}, bias: {told}.")
    made = np.zeros(total)
    if isinstance(bias, list):
        made[: len(bias)] = bias
    if turn is not None:
        made[3:6] = turn
    return made.tolist() if made.any() else 0.0
