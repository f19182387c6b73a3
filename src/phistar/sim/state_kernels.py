"""Formulas of a state as machine code, compiled once for all runs of a scene: masses that are drawn do not matter."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from phistar.backends.choice import compilable
from phistar.backends.machine.recent import Recent
from phistar.backends.one_state import door
from phistar.compiled import compile
from phistar.model import Model
from phistar.model.equal import first_equal
from phistar.spatial.inertia import MASSLESS

_made: Recent[Callable[..., np.ndarray]] = Recent()


def moving(model: Model) -> Model:
    """The model as motion sees it: without masses but those of bodies that bend, and without gravity; one for all runs
    of a scene."""
    rigid = {body.name: MASSLESS for body in model.bodies if not body.modes}
    return first_equal(model.replace(inertias=rigid, gravity=np.zeros(3)))


def kernel(
    formulas: Callable[..., Any], model: Model, rows: Mapping[str, int], *about: Hashable
) -> Callable[..., np.ndarray]:
    """`formulas` of one state of a model, compiled where that is small enough.

    Two that have the same name, model and `about` must be the same: the second is not compiled again.
    """
    if not compilable(model):
        return formulas
    key = (formulas.__qualname__, model.key, *about)
    return _made.get(key, lambda: door(compile(formulas, model, rows=rows).kernel.function))


def with_inertias(function: Callable[..., np.ndarray], model: Model) -> Callable[..., np.ndarray]:
    """A stated function of (q, v), states along leading axes, with the inertias (10 bodies,) of a model last."""
    key = (function.__name__, model.key)
    return _made.get(key, lambda: compile(function, model, parameters=("inertia",)))
