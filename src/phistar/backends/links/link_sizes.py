"""Sizes of links: bodies, width w(k) and rates, for single or compound, rigid or bending links."""

from __future__ import annotations

from collections.abc import Iterable

from phistar.model import Body, Model

PARAMETERS = 10  # inertial parameters of a rigid body


def links_of(model: Model) -> tuple[tuple[int, ...], ...]:
    """The bodies of each link."""
    if model.embedding is not None:
        return tuple(group.bodies for group in model.embedding.groups)
    return tuple((k,) for k in range(len(model.bodies)))


def link_parents(model: Model) -> tuple[int, ...]:
    """The link that each link hangs on; −1 for the world."""
    return model.parents if model.embedding is None else tuple(group.parent for group in model.embedding.groups)


def link_size(model: Model, k: int) -> tuple[int, int, int]:
    """Width, rates and bodies of a link."""
    if model.embedding is None:
        body = model.bodies[k]
        return 6 + body.modes, body.joint.nv + body.modes, 1
    return model.embedding.width(k), model.embedding.choices[k].shape[-1], len(model.embedding.groups[k].bodies)


def parameter_count(bodies: Iterable[Body]) -> int:
    """Inertial parameters of the bodies of a link: ten of a rigid one, the scale of its mass of one that bends."""
    return sum(1 if body.modes else PARAMETERS for body in bodies)


def freedoms(model: Model, frames: tuple[str, ...]) -> int:
    """How many rates move some frames: those of joints on their ways, of modes where a node on the way bends with them,
    and of compound links."""
    rates, bodies = set[int](), set[int]()
    for frame in map(model.frame, frames):
        body, node = frame.body, frame.node
        while body >= 0:
            own, joint = model.bodies[body], model.joints[body]
            bodies.add(body)
            rates.update(range(joint.v_slice.start, joint.v_slice.stop))
            if node >= 0:
                rates.update(range(own.mode_slice.start, own.mode_slice.stop))
            body, node = own.parent, own.node
    if model.embedding is None:
        return len(rates)
    links = [k for k, group in enumerate(model.embedding.groups) if bodies & set(group.bodies)]
    return sum(model.embedding.choices[k].shape[-1] for k in links)


def has_wide_links(model: Model) -> bool:
    """Whether some link is not six wide: a body that bends, or a compound link."""
    return model.is_flexible or model.embedding is not None


def link_rows(model: Model, space: str) -> list[int]:
    """Rows of each link's part of a space over the links; joints on the world are not between links ("inner")."""
    sizes = [link_size(model, k) for k in range(len(links_of(model)))]
    if space == "links":
        return [width for width, _, _ in sizes]
    if space == "parameters":
        return [parameter_count(model.bodies[k] for k in bodies) for bodies in links_of(model)]
    inner = space == "inner"
    return [
        0 if inner and parent < 0 else rates for (_, rates, _), parent in zip(sizes, link_parents(model), strict=True)
    ]


def space_sizes(model: Model, frames: tuple[str, ...]) -> dict[str, int]:
    """Rows of the spaces that a robot and frames on it give, by what they are over."""
    over_links = {space: sum(link_rows(model, space)) for space in ("joints", "inner", "links", "parameters")}
    return {**over_links, "root": 6 * link_parents(model).count(-1), "base": 6, "task": 6 * len(frames)}
