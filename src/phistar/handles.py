"""A public function bound to one robot and one frame, for control loops: no argument is looked up twice, and results go
into arrays that the caller keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from phistar.backends.machine.call_doors import held_door, layout_is_known
from phistar.backends.machine.threads import spread
from phistar.entries import Entry
from phistar.errors import ShapeError
from phistar.model import Model

Result = TypeVar("Result")


class Handle(Generic[Result]):
    """`handle(q, …)` is `function(model, q, …, frame)`; with `out=` the result is written there and returned.

    Parameters
    ----------
    function : callable
        A public function such as `ps.jacobian`.
    model : Model
    frame : str, tuple of str or None
        The frame or frames of functions that take one.
    place : int
        Which argument of the function is the frame; 0 where it takes none.
    entry : callable
        Gives the kernel that the function's results come from, of a model and frames, or None as long as none is known.
    """

    __slots__ = ("__call__", "_entry", "_frame", "_function", "_key", "_model", "_place")

    def __init__(
        self,
        function: Callable[..., Result],
        model: Model,
        frame: Any,
        place: int,
        entry: Callable[[Model, Any], Entry | None],
    ) -> None:
        self._function, self._model, self._frame, self._place, self._entry = function, model, frame, place, entry
        self._key = () if frame is None else frame
        self.__call__: Callable[..., Result] = self._slow_call

    def __repr__(self) -> str:
        at = "" if self._frame is None else f", frame={self._frame!r}"
        return f"<{getattr(self._function, '__name__', 'function')} on {self._model.name!r}{at}>"

    def _slow_call(self, *arrays: Any, out: Any = None) -> Result:
        """The function's value, the long way."""
        if out is None:
            return self._long_way(arrays)
        return out if self._write_into(arrays, out) else _copy_into(self._long_way(arrays), out, repr(self))

    def _long_way(self, arrays: tuple[Any, ...]) -> Result:
        """The function itself, which says what is wrong with the arguments and leaves its kernel on the model: later
        calls go there first."""
        result = self._function(*self._arguments(arrays))
        entry = self._entry(self._model, self._key)
        if entry is not None and self.__call__ == self._slow_call and layout_is_known():
            self.__call__ = held_door(entry.call, entry.call_into, self._slow_call)
        return result

    def _arguments(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """The function's own arguments: the frame stands at its place among them."""
        if self._frame is None:
            return (self._model, *arrays)
        return (self._model, *arrays[: self._place - 1], self._frame, *arrays[self._place - 1 :])

    def _write_into(self, arrays: tuple[Any, ...], out: Any) -> bool:
        """Whether the kernel, once it is known, wrote its results straight into `out`."""
        entry = self._entry(self._model, self._key)
        rooms = out if isinstance(out, tuple) else (out,)
        if entry is None or len(arrays) != entry.count or not all(map(_is_room, rooms)):
            return False  # not compiled yet, or the long way says what is wrong
        try:
            if self._model.quaternions:
                arrays = (self._model.checked_q(arrays[0]), *arrays[1:])
            given = entry.order(arrays) if entry.order else arrays
            if entry.flipped:
                rooms = tuple(room.swapaxes(-1, -2) for room in rooms)
            spread(entry.function, given, entry.shapes, rooms)
        except (ValueError, TypeError, ShapeError):
            return False  # the long way says what is wrong with the arguments
        return True


def _is_room(room: Any) -> bool:
    return isinstance(room, np.ndarray) and room.dtype == np.float64


def _copy_into(result: Any, out: Any, name: str) -> Any:
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
