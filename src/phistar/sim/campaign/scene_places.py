"""Places in a scene's content, named as the columns of a campaign's rows are: parts.satellite.mass, sensors.0.noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phistar.model.names import unknown


def with_value(content: Any, place: str, value: Any) -> Any:
    """Return a scene's content with the value at a place exchanged; entries of lists go by name or number."""
    return _with(content, place.split("."), value, place)


def _with(content: Any, path: list[str], value: Any, place: str) -> Any:
    if not path:
        return value
    keys = _keys(content)
    key, *rest = path
    if key not in keys:
        if isinstance(content, Mapping) and not rest:  # an entry that the file leaves at its default
            return {**content, key: value}
        raise unknown("entry", key, keys, f"The scene, asked for {place},")
    inner = _with(content[keys[key]], rest, value, place)
    if isinstance(content, Mapping):
        return {**content, key: inner}
    return [*content[: keys[key]], inner, *content[keys[key] + 1 :]]


def _keys(content: Any) -> dict[str, Any]:
    if isinstance(content, Mapping):
        return {key: key for key in content}
    if isinstance(content, list):
        named = ((entry.get("name") if isinstance(entry, Mapping) else None, i) for i, entry in enumerate(content))
        return {name if isinstance(name, str) else str(i): i for name, i in named}
    return {}
