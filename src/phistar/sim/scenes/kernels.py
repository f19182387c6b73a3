"""Formulas of a state as machine code, compiled once for all runs of a scene: masses that are drawn do not matter."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from phistar.backends.kernel import compilable
from phistar.backends.machine.single import single_of
from phistar.compiled import compile
from phistar.model import Model
from phistar.model.equal import first_equal
from phistar.spatial.inertia import MASSLESS

MOST = 64  # that are remembered
_made: dict[Hashable, Callable[..., np.ndarray]] = {}


def moving(model: Model) -> Model:
    """The model as motion sees it: without masses, and without gravity; one for all runs of a scene."""
    return first_equal(model.replace(inertias={body.name: MASSLESS for body in model.bodies}, gravity=np.zeros(3)))


def kernel(
    formulas: Callable[..., Any], model: Model, rows: Mapping[str, int], *about: Hashable
) -> Callable[..., np.ndarray]:
    """`formulas` of one state of a model, compiled where that is small enough.

    Two that have the same name, model and `about` must be the same: the second is not compiled again.
    """
    if not compilable(model):
        return formulas
    key = (formulas.__qualname__, model.key, *about)
    if key not in _made:
        if len(_made) >= MOST:
            _made.clear()
        _made[key] = _door(compile(formulas, model, rows=rows).kernel.function)
    return _made[key]


def with_inertias(function: Callable[..., np.ndarray], model: Model) -> Callable[..., np.ndarray]:
    """A stated function of (q, v) with the inertias (10 bodies,) of a model as its last input."""
    key = (function.__name__, model.key)
    if key not in _made:
        _made[key] = _door(compile(function, model, parameters=("inertia",)).kernel.function)
    return _made[key]


def _door(whole: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """For one state at a time, as quick as it can be called."""
    single = single_of(whole)

    def one(*arrays: np.ndarray) -> np.ndarray:
        found = single(*arrays)
        return whole(*arrays) if found is NotImplemented else found

    return one
