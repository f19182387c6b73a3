"""A law is a function from the symbols to both sides of an equation; the decorator says where it is from.

`as_rule` tells the rewriter what to do with it: "always" (left to right wherever it matches), "inverse" (on what is to
be inverted), "motion" (on what differentiation gives), "choice" (tried, kept when the cost falls) or "never" (true and
tested, but a consequence of others). Side conditions are part of the law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from phistar.errors import SpaceError
from phistar.operators.nodes import Node, Symbol, spelling
from phistar.operators.spaces import FORCES, MOTIONS, TORQUES
from phistar.operators.symbols import Symbols

Equation = tuple[Node, Node]
Use = Literal["always", "inverse", "motion", "choice", "never"]
Condition = Literal["serial", "tips", "one_frame", "no_armature", "nonredundant", "constant_axes"]

SENTENCES: dict[str, str] = {
    "serial": "the mechanism is a serial chain",
    "tips": "every task frame is on a link without children",
    "one_frame": "there is one task frame",
    "no_armature": "the joints have no armature",
    "nonredundant": "the arm has as many dofs as its tip",
    "constant_axes": "H* is constant in every link (universal and planar joints are told axis by axis)",
}

# A wild symbol stands for any product of memoryless letters; one per direction between the dual link spaces,
# and one from links to joints.
ANY_TO_MOTIONS = Symbol("X", FORCES, MOTIONS, frozenset({"memoryless", "causal", "wild"}))
ANY_TO_FORCES = Symbol("X", MOTIONS, FORCES, frozenset({"memoryless", "causal", "wild"}))
ANY_TO_TORQUES = Symbol("X_joints", MOTIONS, TORQUES, frozenset({"memoryless", "causal", "wild"}))


@dataclass(frozen=True)
class Setting:
    """Facts about the mechanism; a law applies when its needs are met."""

    serial: bool = True
    tips: bool = True
    one_frame: bool = True
    no_armature: bool = True
    nonredundant: bool = False
    constant_axes: bool = True

    def meets(self, needs: tuple[Condition, ...]) -> bool:
        return all(getattr(self, need) for need in needs)


TREE = Setting(serial=False, tips=False, one_frame=False, no_armature=False)
"""Nothing known: any tree, any frames, armature; joints told axis by axis where their axes move in the link."""


@dataclass(frozen=True)
class Law:
    name: str
    citation: str
    statement: Callable[[Symbols], Equation]
    needs: tuple[Condition, ...]
    as_rule: Use
    group: str
    doc: str
    apart: bool = False  # whether it is chosen on adjoints apart from where it stands as written
    own: bool = False  # whether a user added it

    def __str__(self) -> str:
        return f"{self.name.replace('_', ' ')} ({self.citation})"

    @cache  # noqa: B019 - laws live as long as the program
    def sides(self, symbols: Symbols) -> Equation:
        return self.statement(symbols)

    def speaks_of(self, symbols: Symbols) -> bool:
        """Whether it composes with a Riccati set: laws of joint forces do not with one of links that move freely."""
        if symbols.axes_space == TORQUES:
            return True
        try:
            self.sides(symbols)
        except SpaceError:
            return False
        return True


LAWS: list[Law] = []


def laws_of_users() -> tuple[str, ...]:
    """The laws that users added, spelled out: what is derived with them is kept apart from what is not."""
    return tuple(
        f"{law.name} {law.needs} {law.as_rule} {' = '.join(spelling(side) for side in law.sides(Symbols()))}"
        for law in LAWS
        if law.own
    )


def law(
    citation: str, *needs: Condition, as_rule: Use = "always", group: str = "", apart: bool = False, own: bool = False
) -> Callable[[Callable[[Symbols], Equation]], Law]:
    """Register a law. Nothing else has to be edited: tests, rewriter, docs and `phistar derive` read the registry.

    Laws of choice with the same `group` are tried together; `apart`, on what is written so and on adjoints apart.
    """

    def register(statement: Callable[[Symbols], Equation]) -> Law:
        doc = (statement.__doc__ or "").strip()
        name = statement.__name__
        LAWS.append(Law(name, citation, statement, needs, as_rule, group or name, doc, apart, own))
        return LAWS[-1]

    return register
