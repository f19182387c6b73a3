"""Serialization of a scene's content as TOML text that reads back the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from phistar.sim.scenes.chance import is_drawn


def text_of(content: Mapping[str, Any]) -> str:
    """TOML text: numbers, texts and lists of them first, then tables, then lists of tables, each in order."""
    return "\n".join(_lines(content, "")) + "\n"


def _lines(table: Mapping[str, Any], place: str) -> Iterator[str]:
    order = sorted(table, key=lambda key: _rank(table[key]))  # which keeps the order of equals
    for key in order:
        value, name = table[key], f"{place}{_key(key)}"
        rank = _rank(value)
        if rank == 0:
            yield f"{_key(key)} = {_value(value)}"
        elif rank == 1:
            yield from ("", f"[{name}]", *_lines(value, f"{name}."))
        else:
            for each in value:
                yield from ("", f"[[{name}]]", *_lines(each, f"{name}."))


def _rank(value: Any) -> int:
    """0 for what stands behind its key, 1 for a table, 2 for a list of tables."""
    if _is_table(value):
        return 1
    return 2 if isinstance(value, list) and value and all(map(_is_table, value)) else 0


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and not is_drawn(value)


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _value(key)


def _value(value: Any) -> str:
    """Texts and flags are in TOML what they are in JSON, but for a letter; numbers may be infinite."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool) else str(value)  # dates and times are as Python writes them
