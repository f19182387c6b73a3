"""Armature of a kernel that runs link by link, as numbers that its caller may change between calls.

D(k) = HPH* + A (RJK91 eq. 13): what a step adds to a joint's own inertia, damping and stiffness made implicit, enters
here, so that the same code answers for ℳ and for ℳ + hB + h²K.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from phistar.backends.machine.jit import objects_of
from phistar.backends.rolled.link_loops import TABLES
from phistar.backends.rolled.steps import ARMATURE
from phistar.model import Model

_LINKS, _CONSTANTS = TABLES.index("links"), TABLES.index("constants")


def with_motors(model: Model) -> Model:
    """The model with an armature on every joint: its kernels then have a place for one, whatever it is."""
    bodies = []
    for body in model.bodies:
        kind = body.joint.kind
        driven = replace(kind, armature=np.ones(kind.nv)) if kind.nv else kind
        bodies.append(replace(body, joint=replace(body.joint, kind=driven)))
    return replace(model, bodies=tuple(bodies))


def constants_of(function: Any) -> np.ndarray:
    """The constants of all links, as a rolled kernel reads them."""
    return objects_of(function).memory[-1][_CONSTANTS]


def armature_entries(function: Any, model: Model) -> np.ndarray:
    """(nv,): where the armature of each rate stands in the constants of a kernel of `with_motors(model)`."""
    starts = objects_of(function).memory[-1][_LINKS][:, -1].astype(np.int64)
    places = [start + ARMATURE + np.arange(joint.nv) for start, joint in zip(starts, model.joints, strict=True)]
    return np.concatenate(places).astype(np.int64)


def move_constants(function: Any, to: np.ndarray) -> None:
    """Let a rolled kernel read its constants from `to`, which gets them and must live as long as the kernel."""
    kept = objects_of(function)
    to[:] = constants_of(function)
    kept.memory[-2][_CONSTANTS] = to.ctypes.data
