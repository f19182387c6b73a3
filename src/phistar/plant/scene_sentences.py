"""Errors in files of plants and scenes, as sentences that name the file, the table and the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, ValidationError

from phistar.errors import FileError

EntryType = TypeVar("EntryType", bound=BaseModel)


def validate_entry(kind: type[EntryType], content: Any, where: str) -> EntryType:
    """The entry of a table's content; what is missing, unknown or of the wrong kind raises FileError."""
    if not isinstance(content, Mapping):
        raise FileError(f"{where}: a table was expected; it is {content!r:.100}.")
    try:
        return kind.model_validate(content)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False)
        order = {"missing": 0, "extra_forbidden": 1}
        first = min(errors, key=lambda error: order.get(error["type"], 2))
        raise FileError(_sentence(kind, content, where, first)) from None


class _Place(NamedTuple):
    """A key of a table of a file: how it is called, what the table's class is, and what stands there."""

    where: str
    table: type[BaseModel]
    key: str
    content: Any


def _sentence(kind: type[BaseModel], content: Any, where: str, error: Any) -> str:
    place = _place(kind, content, where, error["loc"])
    if error["type"] == "missing":
        return f"{place.where}: {place.key} is missing."
    if error["type"] == "extra_forbidden":
        return unknown_key(place.where, place.key, place.table.model_fields)
    info = place.table.model_fields.get(place.key)
    expected = "a table" if info is None else _expectation(info.annotation, info.metadata, place.key)
    if expected.startswith("a number from") and not isinstance(place.content, int | float):
        expected = "a number"
    return f"{place.where}, {place.key}: {expected} was expected; it is {place.content!r:.100}."


def unknown_key(where: str, key: str, known: Iterable[str]) -> str:
    """The sentence about a key that a table does not have."""
    names = sorted(known)
    near = get_close_matches(str(key), names, n=1)
    told = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}."
    return f"{where}: {key!s:.100} is not known here; {told}"


def table_name(where: str, key: str, content: Any, number: int) -> str:
    """One table of a list [[key]]: by its name, where it has one."""
    name = content.get("name") if isinstance(content, Mapping) else None
    return f"{where}, [[{key}]] {name[:60] if isinstance(name, str) else number + 1}"


def _place(kind: type[BaseModel], content: Any, where: str, location: Sequence[Any]) -> _Place:
    """The innermost table that an error is in, and its key."""
    key, rest = location[0], list(location[1:])
    value = content.get(key) if isinstance(content, Mapping) else None
    inner = _entry_of(kind.model_fields[key].annotation) if key in kind.model_fields else None
    if inner is not None:
        if rest and isinstance(rest[0], int) and isinstance(value, list):
            own = value[rest[0]]
            if len(rest) > 1 and isinstance(own, Mapping):
                return _place(inner, own, table_name(where, str(key), own, rest[0]), rest[1:])
            return _Place(f"{where}, [[{key}]] {rest[0] + 1}", kind, str(key), own)
        if rest and isinstance(value, Mapping):
            return _place(inner, value, f"{where}, [{key}]", rest)
    return _Place(where, kind, str(key), value)


def _entry_of(annotation: Any) -> type[BaseModel] | None:
    """The class of the tables that a field holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _entry_of(each)) is not None), None)


def _expectation(annotation: Any, metadata: Sequence[Any], key: str) -> str:
    """Values a field takes, in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _expectation(arguments[0], [*_flat(arguments[1:]), *metadata], key)
    if origin in (Union, UnionType):
        return " or ".join(
            dict.fromkeys(_expectation(each, metadata, key) for each in arguments if each is not type(None))
        )
    if origin is Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is list:
        return _list(arguments[0], _flat(metadata), key)
    if _entry_of(annotation) is not None:
        return "a table"
    return {float: _range(_flat(metadata)), bool: "true or false", str: "a text without control characters"}.get(
        annotation, "something else"
    )


def _flat(metadata: Iterable[Any]) -> list[Any]:
    """Constraints one by one, out of pydantic's fields too."""
    return [own for each in metadata for own in (getattr(each, "metadata", None) or [each])]


def _range(metadata: Sequence[Any]) -> str:
    low = next((each.ge for each in metadata if isinstance(each, Ge)), None)
    high = next((each.le for each in metadata if isinstance(each, Le)), None)
    if low is None:
        return "a number"
    return f"a number from {low:g} on" if high is None else f"a number from {low:g} to {high:g}"


def _list(inner: Any, metadata: Sequence[Any], key: str) -> str:
    size = next((each.min_length for each in metadata if isinstance(each, MinLen)), None)
    while get_origin(inner) is Annotated:
        inner = get_args(inner)[0]
    if _entry_of(inner) is not None:
        return f"a list of tables, [[{key}]],"
    if inner is str:
        return "two names" if size == 2 else "a list of texts"
    if get_origin(inner) is list:
        return "a list of pairs of names" if key == "ignored" else "a list of lists of numbers"
    return f"a list of {size or 'some'} numbers"
