"""One error type per kind of mistake; each message says what was given, what was expected, and what to do."""

import re

_LONGEST_WORD, _LONGEST = 250, 2000  # characters
_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


class PhistarError(Exception):
    """Anything phistar refuses; the message is a sentence for a person.

    Names and values that strangers chose are echoed in sentences, so that their length is bounded here, once for all.
    """

    def __init__(self, sentence: object = "", *more: object) -> None:
        super().__init__(_shorten(str(sentence)), *more)


def _shorten(text: str) -> str:
    """The text with words and the whole cut in the middle where they are longer than anyone reads."""
    if len(text) > _LONGEST_WORD:
        text = _WORD.sub(lambda found: _cut(found[0], _LONGEST_WORD), text)
    return _cut(text, _LONGEST) if len(text) > _LONGEST else text


def _cut(text: str, longest: int) -> str:
    half = longest // 2
    return f"{text[:half]}…{text[-half:]}"


class ModelError(PhistarError):
    """An impossible mechanism: unphysical inertia, zero axis, cycle, duplicate name."""


class FileError(PhistarError):
    """A robot or scene file that cannot be read; names the file and, where known, the line."""


class UnknownNameError(PhistarError, LookupError):
    """A body, joint, frame, symbol or robot that does not exist; suggests the nearest ones."""


class ShapeError(PhistarError, ValueError):
    """An array of the wrong shape."""


class SpaceError(PhistarError, TypeError):
    """Operators composed across spaces that do not match."""


class StatementError(PhistarError, ValueError):
    """A meaningless operator statement: unknown symbol, singular inverse, syntax."""


class InfeasibleError(PhistarError, ValueError):
    """An impossible motion: limits, durations or poses that no path meets; says by how much."""
