"""One state at a time: the kernels of a public function, by frames, found on the model and called at once.

A control loop pays for everything between its call and the machine code. What a function computes with which kernel is
seen at its first call: when what it returns is what the kernel made of just its arguments, the next call goes there
straight. Functions that do more with what their statements give are recorded whole, and their kernel is the entry. An
entry is stored on disk too, so that a later process uses it from its first call, without importing the compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.choice import VARIABLE
from phistar.backends.machine import cache
from phistar.backends.machine.call_doors import Kernel, description, found_kernel, layout_is_known, stated_door
from phistar.backends.machine.jit import host
from phistar.backends.machine.threads import STATES_PER_THREAD
from phistar.model import Model

AT = " at"  # after a slot's name: the entries by their frames


@dataclass(frozen=True, eq=False)
class Passed:
    """A kernel that was run: on what, and what it gave."""

    model: Model
    given: tuple[Any, ...]  # q and the vectors, as the function was given them
    f_ext: Any
    frames: tuple[str, ...]
    kernel: Any
    order: tuple[str, ...]
    flipped: bool
    result: Any


class Entry(NamedTuple):
    """A kernel that a function's results come from: what a call needs to go there straight."""

    single: Callable[..., Any]  # for one state, or a plain batch; NotImplemented where it does not fit
    into: Callable[..., Any]  # the same for one state, with the caller's array last
    function: Any
    count: int  # of arrays that it takes
    size: int  # entries of q from which a batch goes to several threads
    flipped: bool
    order: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None  # from the function's arguments to the kernel's
    shapes: list[tuple[int, ...]]
    structure: Callable[..., Any] | None = None  # what holds several results

    @property
    def call(self) -> Callable[..., Any]:
        """`single` of the function's arguments, in their order."""
        single, order, structure = self.single, self.order, self.structure
        if structure is not None:
            return lambda *arrays: made if (made := single(*arrays)) is NotImplemented else structure(*made)
        return single if order is None else lambda *arrays: single(*order(arrays))

    @property
    def call_into(self) -> Callable[..., Any]:
        """`into` of the function's arguments, in their order, and the caller's array."""
        into, order = self.into, self.order
        return into if order is None else lambda *arrays: into(*order(arrays[:-1]), arrays[-1])


def entry_of(kernel: Kernel) -> Entry:
    """Return the entry of a kernel whose arguments and results are a function's own, in their order; it is entered with
    room for the results only."""
    return Entry(_never, kernel.into, kernel.function, 1 + len(kernel.inputs), 0, False, None, list(kernel.shapes))


class Entries:
    """The entries of one function, in two slots of the model: by frames, as `Entry`, and as what the function's door
    looks up (`call_doors.py`), by the frame, the one frame with a force, or None."""

    def __init__(self, function: Callable[..., Any], slot: str) -> None:
        names = list(signature(function).parameters)
        self.slot, self.own = slot, function.__module__.startswith("phistar.")
        self.frame = names.index("frame") if "frame" in names else 0
        self.forces = names.index("f_ext") if "f_ext" in names else 0

    def door(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The function as Python is to call it, once there is an entry; `slow` takes all other calls."""
        return stated_door(self.slot, slow, self.frame, self.forces) if layout_is_known() else slow

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result where there is an entry for these frames that takes the arguments; else NotImplemented, or one of
        the errors that arguments of other kinds give."""
        key, given = self.split(args, kwargs)
        entry: Entry = args[0].__dict__[self.slot + AT][key]
        made = entry.call(*given)
        if made is not NotImplemented or len(given) != entry.count or getattr(given[0], "size", 0) >= entry.size:
            return made
        made = entry.function(*(entry.order(given) if entry.order else given))
        if entry.structure is not None:
            return entry.structure(*made)
        return made.swapaxes(-1, -2) if entry.flipped else made

    def split(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """The frames, and what the kernel takes; a KeyError where other arguments are named."""
        if self.frame:
            if len(kwargs) > 1:
                raise KeyError
            frame = kwargs["frame"] if kwargs else args[self.frame]
            given = args[1:] if kwargs else args[1 : self.frame] + args[self.frame + 1 :]
            return tuple(frame) if type(frame) is list else frame, given
        by_place = self.forces and len(args) > self.forces
        if kwargs and (not self.forces or by_place or len(kwargs) > 1):
            raise KeyError
        f_ext = args[self.forces] if by_place else kwargs["f_ext"] if kwargs else None
        if f_ext is None or f_ext == {}:
            return (), args[1 : self.forces or None]
        forces = tuple(f_ext.values())
        if len(forces) > 1 and any(force.shape[-1:] != (6,) for force in forces):
            raise ValueError  # 5 numbers and 7 are 12 as well
        force = forces[0] if len(forces) == 1 else np.concatenate(forces, axis=-1)
        return tuple(f_ext), (*args[1 : self.forces], force)

    def learn(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], passed: Passed, result: Any) -> bool:
        """Keep an entry if the result is what a kernel gave, made of these arguments in their order."""
        kernel, model = passed.kernel, passed.model
        plain = isinstance(kernel, Kernel) and kernel.outputs == ("y",) and set(kernel.inputs) == set(passed.order)
        if not args or not plain or passed.result is not result or model is not args[0]:
            return False
        try:
            key, given = self.split(args, kwargs)
            hash(key)
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            return False
        own = given[:-1] if passed.f_ext and key else given
        same = len(own) == len(passed.given) and all(a is b for a, b in zip(own, passed.given, strict=True))
        if not same or passed.frames != ((key,) if isinstance(key, str) else key):
            return False
        self.keep(model, key, kernel, (0, *(1 + passed.order.index(name) for name in kernel.inputs)), passed.flipped)
        return True

    def recall(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether there is a new entry for these arguments, as an earlier process told of it on disk."""
        key, _ = self.split(args, kwargs)
        model, name = args[0], ""
        if (self.slot, key) not in args[0].__dict__.setdefault("_sought", set()):
            args[0].__dict__["_sought"].add((self.slot, key))
            name = self._name(model, key)
        if not name or key in model.__dict__.get(self.slot + AT, {}):
            return False
        found = cache.load(name, cache.PROGRAM)
        kernel = None if found is None else found_kernel(found[0]["kernel"], self.slot)
        if found is None or kernel is None:
            return False
        flipped = found[0]["flipped"]
        if found[0]["statement"]:
            frames = (key,) if isinstance(key, str) else tuple(key)
            model.kept((self.slot, frames), lambda: (kernel, flipped))
        self._set(model, key, kernel, tuple(found[0]["places"]), flipped)
        return True

    def _name(self, model: Model, key: Any) -> str:
        """Name of an entry on disk; none where laws of a user's own may have changed what is compiled."""
        law = sys.modules.get("phistar.identities.law")
        if not self.own or not isinstance(model, Model) or (law is not None and law.laws_of_users()):
            return ""
        return cache.key("entry", self.slot, key, model.key, os.environ.get(VARIABLE, ""), host())

    def keep(
        self,
        model: Model,
        key: Any,
        kernel: Kernel,
        places: tuple[int, ...],
        flipped: bool = False,
        whole: Callable[..., Any] | bool = False,
    ) -> None:
        """Keep the kernel of a model's results at some frames, here and, where it gives one array, on disk; `places`
        are those of its arguments among the function's; `whole`: it is that of the whole function, and of several
        results what holds them."""
        structure = None if isinstance(whole, bool) else whole
        self._set(model, key, kernel, places, flipped, structure)
        name, told = self._name(model, key), None if structure is not None else description(kernel)
        if name and told is not None and cache.load(name, cache.PROGRAM) is None:
            told = {"kernel": told, "places": places, "flipped": flipped, "statement": whole is False}
            cache.store(name, told, b"", cache.PROGRAM)

    def _set(
        self,
        model: Model,
        key: Any,
        kernel: Kernel,
        places: tuple[int, ...],
        flipped: bool,
        structure: Callable[..., Any] | None = None,
    ) -> None:
        order = itemgetter(*places) if places != tuple(range(len(places))) else None
        size = 0 if model.quaternions else 2 * STATES_PER_THREAD * model.nq  # quaternions are looked at first
        doors = _doors(kernel) if flipped == kernel.flipped else (_never, _never)
        entry = Entry(*doors, kernel.function, len(places), size, flipped, order, list(kernel.shapes), structure)
        model.__dict__.setdefault(self.slot + AT, {})[key] = entry
        if self.frame or len(key) < 2:
            looked_up = key if self.frame else key[0] if key else None
            model.__dict__.setdefault(self.slot, {})[looked_up] = entry.call


def _doors(kernel: Kernel) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A kernel's ways in for one state; of several kernels in turn (`staged_kernel.py`), the one that they have."""
    if isinstance(kernel.function, np.ufunc):
        return kernel.single, kernel.into
    return getattr(kernel.function, "single", _never), _never


def _never(*arrays: Any) -> Any:
    return NotImplemented
