"""Fields of scene files by name: [[fields]] with a kind and its own keys. `phistar.space` registers those it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from phistar.errors import FileError
from phistar.plant.fields import Field

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

HOMES = ("phistar.space.scene_fields",)  # what they import registers itself


class FieldKind(NamedTuple):
    """A field in files: `make(settings, plant, where)` reads its table, `describe(field)` gives the table again."""

    of: type
    make: Callable[[Mapping[str, Any], Plant, str], Field]
    describe: Callable[[Any], dict[str, Any]]


_kinds: dict[str, FieldKind] = {}


def register_field(name: str, kind: FieldKind) -> None:
    """Register a field under the name that scene files know it by."""
    _kinds[name] = kind


def read_field(name: str, settings: Mapping[str, Any], plant: Plant, where: str) -> Field:
    """Make the field of a file's table, for a plant whose bodies are all there."""
    known = _all_kinds()
    if name not in known:
        raise FileError(f"{where}, kind: one of {', '.join(known)} was expected; it is {name!r:.100}.")
    return known[name].make(settings, plant, where)


def described_field(field: Field) -> dict[str, Any] | None:
    """Return the table of a field, or None where it is Python's alone."""
    for name, kind in _all_kinds().items():
        if isinstance(field, kind.of):
            return {"kind": name, **kind.describe(field)}
    return None


def _all_kinds() -> Mapping[str, FieldKind]:
    for home in HOMES:
        import_module(home)
    return _kinds
