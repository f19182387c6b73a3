"""The links of a model as kernels that run link by link take them: each of some kind, its numbers a row of data.

Rigid links have frames that suit a loop (`links/link_frames.py`) and are told apart by their joints and by how they are
placed; links of any width are told apart by how they are built (`built_kinds.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links.link_frames import LinkFrames, link_frames
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.links.single_out import SingledLink, singled_links
from phistar.backends.rolled.built_kinds import BuiltKind, group_by_kind
from phistar.backends.rolled.steps import Kind, LinkKind
from phistar.model import Model
from phistar.spatial import Pose
from phistar.spatial.value import digest

_Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class RolledLinks:
    """Kinds of links, which each link is, and the entries of q that are its own; `frames` of rigid links, or the links
    `singled` out."""

    model: Model
    kinds: Sequence[LinkKind]
    numbers: list[int]
    coordinates: Sequence[Sequence[int]]
    frames: LinkFrames | None = None
    singled: tuple[SingledLink, ...] = ()

    @property
    def key(self) -> list[bytes]:
        """Cache key of the code."""
        return [kind.key for kind in self.kinds]

    def own_constants(self) -> tuple[np.ndarray, np.ndarray]:
        """The constants in which links of a kind differ, link after link, and where each link's begin."""
        kinds = [kind for kind in self.kinds if isinstance(kind, BuiltKind)]
        rows = [link.constants[kinds[kind].varies] for link, kind in zip(self.singled, self.numbers, strict=True)]
        ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        return np.concatenate([np.zeros(0), *rows, np.zeros(1)]), ends[:-1]


def rolled_links(
    model: Model, frames: tuple[str, ...], keep_origins: bool = False, decoupled: bool = False
) -> RolledLinks:
    """The links of a model with some task frames; `keep_origins`: about the bodies' own origins; `decoupled`: bodies
    that bend in coordinates in which few modes move their ends."""
    if has_wide_links(model):
        return built_links(model, frames, decoupled)
    placed = link_frames(model, keep_origins)
    coordinates = [range(joint.q_slice.start, joint.q_slice.stop) for joint in model.joints]
    return RolledLinks(model, *kinds_of(model, placed), coordinates, placed)


def built_links(model: Model, frames: tuple[str, ...], decoupled: bool = False) -> RolledLinks:
    """The links of a model, of whatever width, told apart by how they are built."""
    links = tuple(singled_links(model, frames, decoupled))
    kinds, numbers = group_by_kind(links)
    return RolledLinks(model, kinds, numbers, [link.coordinates for link in links], singled=links)


def kinds_of(model: Model, frames: LinkFrames) -> tuple[list[Kind], list[int]]:
    """The kinds of links that occur, and which each link is."""
    found: dict[bytes, int] = {}
    kinds: list[Kind] = []
    seen: dict[tuple[int, str], int] = {}
    numbers = []
    for body, role in zip(model.bodies, frames.roles, strict=True):
        joint = body.joint.kind
        quick = (id(joint), role)
        if quick not in seen:
            turned = replace(joint, axis=_Z) if hasattr(joint, "axis") else joint
            key = digest(_shape_key(turned), role.encode())
            if key not in found:
                found[key] = len(kinds)
                kinds.append(Kind(_one_body(body, turned), role, key))
            seen[quick] = found[key]
        numbers.append(seen[quick])
    return kinds, numbers


def _shape_key(kind: Any) -> bytes:
    """Cache key of a joint: its kind and geometry, not its pitch, inertia, limits or friction."""
    names = ("axis", "axis1", "axis2", "normal")
    return digest(type(kind).__name__, [(name, getattr(kind, name)) for name in names if hasattr(kind, name)])


def _one_body(body: Any, kind: Any) -> Model:
    joint = replace(body.joint, kind=kind, body=0, q_slice=slice(0, kind.nq), v_slice=slice(0, kind.nv))
    return Model("one", (replace(body, parent=-1, joint=joint, placement=Pose()),), ())
