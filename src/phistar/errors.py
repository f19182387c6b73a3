"""One error type per kind of mistake; each message says what was given, what was expected, and what to do."""


class PhistarError(Exception):
    """Anything phistar refuses; the message is a sentence for a person."""


class ModelError(PhistarError):
    """A mechanism that cannot be: impossible inertia, zero axis, cycle, duplicate name."""


class FileError(PhistarError):
    """A robot or scene file that cannot be read; names the file and, where known, the line."""


class UnknownNameError(PhistarError, LookupError):
    """A body, joint, frame, symbol or robot that does not exist; suggests the nearest ones."""


class ShapeError(PhistarError, ValueError):
    """An array of the wrong shape."""


class SpaceError(PhistarError, TypeError):
    """Operators composed across spaces that do not match."""


class StatementError(PhistarError, ValueError):
    """An operator statement that means nothing: unknown symbol, singular inverse, syntax."""


class InfeasibleError(PhistarError, ValueError):
    """A motion that cannot be: limits, durations or poses that no path meets; says by how much."""
