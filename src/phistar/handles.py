"""A public function bound to one robot and one frame, for control loops: no argument is looked up twice, and results go
into arrays that the caller keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from phistar.entries import AT
from phistar.errors import ShapeError
from phistar.model import Model

Result = TypeVar("Result")


class Handle(Generic[Result]):
    """`handle(q, …)` is `function(model, q, …, frame)`; with `out=` the result is written there and returned.

    Parameters
    ----------
    function : callable
        A public function such as `ps.jacobian`.
    slot : str
        Where the function keeps its compiled kernels on a model.
    model : Model
    frame : str, tuple of str or None
        The frame or frames of functions that take one.
    """

    def __init__(self, function: Callable[..., Result], slot: str, model: Model, frame: Any, place: int) -> None:
        self._function, self._slot, self._model, self._frame, self._place = function, slot, model, frame, place
        self._key = () if frame is None else frame
        self._single: Callable[..., Any] = _unknown_yet

    def __repr__(self) -> str:
        at = "" if self._frame is None else f", frame={self._frame!r}"
        return f"<{getattr(self._function, '__name__', 'function')} on {self._model.name!r}{at}>"

    def __call__(self, *arrays: Any, out: Any = None) -> Result:
        if out is None:
            result = self._single(*arrays)
            return self._long_way(arrays) if result is NotImplemented else result
        return out if self._written(arrays, out) else _copied(self._long_way(arrays), out, repr(self))

    def _long_way(self, arrays: tuple[Any, ...]) -> Result:
        """The function itself, which says what is wrong with the arguments and leaves its kernel on the model."""
        result = self._function(*self._arguments(arrays))
        single, *_, order = self._model.__dict__.get(self._slot + AT, {}).get(self._key, (_unknown_yet, None))
        self._single = _unknown_yet if order else single
        return result

    def _arguments(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """The function's own arguments: the frame stands at its place among them."""
        if self._frame is None:
            return (self._model, *arrays)
        return (self._model, *arrays[: self._place - 1], self._frame, *arrays[self._place - 1 :])

    def _written(self, arrays: tuple[Any, ...], out: Any) -> bool:
        """Whether the kernel, once it is known, wrote its result straight into `out`."""
        entry = self._model.__dict__.get(self._slot + AT, {}).get(self._key)
        if entry is None or not isinstance(out, np.ndarray) or self._model.quaternions:
            return False  # not compiled yet, or the long way looks at the arguments first
        _, function, count, _, flipped, order = entry
        if len(arrays) != count or out.dtype != np.float64:
            return False
        given = order(arrays) if order else arrays
        try:
            function(*given, out=out.swapaxes(-1, -2) if flipped else out)
        except (ValueError, TypeError):
            return False  # the long way says what is wrong with the arguments
        return True


def _unknown_yet(*arrays: Any) -> Any:
    """The entry of a kernel that has not been compiled yet."""
    return NotImplemented


def _copied(result: Any, out: Any, name: str) -> Any:
    """`out`, holding what was computed: an array, or one for each of several results."""
    several = isinstance(result, tuple)
    results, rooms = (result, out) if several else ((result,), (out,))
    fits = isinstance(rooms, tuple) and len(rooms) == len(results)
    for room, made in zip(rooms, results, strict=True) if fits else ():
        shape = np.shape(made)
        fits = fits and isinstance(room, np.ndarray) and room.shape == shape and room.dtype == np.float64
    if not fits:
        wanted = ", ".join(str(np.shape(made)) for made in results)
        found = ", ".join(str(np.shape(room)) for room in (rooms if isinstance(rooms, tuple) else (rooms,)))
        raise ShapeError(f"out= of {name} needs float64 arrays of shape {wanted}; it was given {found}.")
    for room, made in zip(rooms, results, strict=True):
        room[...] = made
    return out
