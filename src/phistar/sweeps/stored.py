"""Programs as plain data and back: what is derived once can be kept."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from phistar.sweeps import ir, regions
from phistar.sweeps.ir import Program

_NAMED = {**vars(ir), **vars(regions)}
_KINDS = {kind.__name__: kind for kind in _NAMED.values() if isinstance(kind, type) and is_dataclass(kind)}


def to_data(value: Any) -> Any:
    """Lists, strings and numbers; a term or a part of a program is {its kind: [its fields]}."""
    if isinstance(value, tuple):
        return [to_data(part) for part in value]
    if isinstance(value, Fraction):
        return {"Fraction": [value.numerator, value.denominator]}
    if is_dataclass(value) and type(value).__name__ in _KINDS:
        return {type(value).__name__: [to_data(getattr(value, field.name)) for field in fields(value)]}
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{value!r} is no part of a program")


def from_data(data: Any) -> Any:
    """Inverse of `to_data`; equal terms are again one object."""
    if isinstance(data, list):
        return tuple(from_data(part) for part in data)
    if isinstance(data, dict):
        ((kind, parts),) = data.items()
        return Fraction(*parts) if kind == "Fraction" else _KINDS[kind](*(from_data(part) for part in parts))
    return data


def program_from(data: Any) -> Program:
    program = from_data(data)
    assert isinstance(program, Program)
    return program
