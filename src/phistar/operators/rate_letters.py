"""Rates of operators along a direction of motion: the letter ∂_w X itself, and the letters that it is made of.

A direction is a vector w of joint rates, q → q ⊕ εw. A joint that gives way by H*w turns what passes it, so that with
N = (H*w)~ (link by link) ∂_wℰφ = −ℰφN*; a task frame turns in the world's axes by the angular part of Jw.
"""

from __future__ import annotations

from phistar.operators.linearized import motion_bracket
from phistar.operators.nodes import Node, Symbol, zero
from phistar.operators.spaces import FORCES, MOTIONS, RATES, SCALARS, TORQUES

RATE, AXES_RATE, FRAME_TURN, FRAME_SWEEP = "rate", "H_rate", "frame_turn", "frame_sweep"
AXIAL, AXES_AXIAL, LOG_DET, GRADIENT = "axial", "axes_axial", "log_det_gradient", "gradient"
RECURSIVE = ("P", "D", "G", "Omega", "Delta", "r", "Gamma")
"""Symbols that a recursion defines: their rates are letters with a recursion of their own."""

_MEMORYLESS = frozenset({"memoryless", "causal"})


HELD = zero(SCALARS, RATES)
"""The direction of a mechanism whose place is held while its joint rates change."""


def rate(node: Node, along: Node, of_rates: Symbol | None = None) -> Symbol:
    """∂_w of a node; with `of_rates`, the rate of its joint rates: the rate in time of a motion q̇ = θ̇, θ̇˙ = θ̈, or
    where the place is held, along a direction of the joint rates alone."""
    assert node.domain is not None and node.codomain is not None
    traits = frozenset({"vector"}) if node.domain == SCALARS else frozenset()
    if isinstance(node, Symbol) and node.name in RECURSIVE:
        traits = node.traits - {"positive"}
    return Symbol(RATE, node.domain, node.codomain, traits, (node, along, *([] if of_rates is None else [of_rates])))


def is_recursive_rate(node: object) -> bool:
    """Whether a letter is the rate of a symbol that a recursion defines."""
    if not isinstance(node, Symbol) or node.name != RATE:
        return False
    return isinstance(node.of[0], Symbol) and node.of[0].name in RECURSIVE


def joint_turn(along: Node, h: Symbol) -> Symbol:
    """N = (H*w)~: what a joint's own motion does to what passes it."""
    own = isinstance(along, Symbol) and along.name == "v"
    return motion_bracket("V_J_tilde" if own else "tilde", h.T @ along)


def axes_rate(along: Node) -> Symbol:
    """∂_wH*, Rates → Motions; zero but for universal and planar joints, whose axes move in the link."""
    return Symbol(AXES_RATE, RATES, MOTIONS, _MEMORYLESS, (along,))


def frame_turn(motion: Node) -> Symbol:
    """[ω~, 0; 0, ω~] of task motions [ω; ẋ], frame by frame: how the frames turn in the world's axes."""
    space = motion.codomain
    assert space is not None
    return Symbol(FRAME_TURN, space, space, _MEMORYLESS, (motion,))


def frame_sweep(vector: Node) -> Symbol:
    """[y]∘ = [y₁~, 0; y₂~, 0] of y = [y₁; y₂] at each frame: y turned by −β is [y]∘β, of task motions β."""
    space = vector.codomain
    assert space is not None
    motions = space if space.name == "TaskMotions" else space.dual
    return Symbol(FRAME_SWEEP, motions, space, _MEMORYLESS, (vector,))


def axial(node: Node) -> Symbol:
    """The forces f with f*m = tr(X m~) for every motion m, link by link, of a memoryless X: Motions → Motions."""
    return Symbol(AXIAL, SCALARS, FORCES, frozenset({"vector"}), (node,))


def axes_axial(node: Node) -> Symbol:
    """The joint forces t with t*w = tr(X ∂_wH*) for every w, of a memoryless X: Motions → Rates; zero where the axes
    are constant in the link."""
    return Symbol(AXES_AXIAL, SCALARS, TORQUES, frozenset({"vector"}), (node,))


def log_det_gradient(node: Node, diagonal: Symbol) -> Symbol:
    """∂ log det X/∂θ, joint forces, of an X = LDL* with unit triangular L and the block-diagonal D that is given."""
    return Symbol(LOG_DET, SCALARS, TORQUES, frozenset({"vector"}), (node, diagonal))


def gradient(node: Node) -> Symbol:
    """(∂x/∂θ)* of a number x, joint forces."""
    assert (node.domain, node.codomain) == (SCALARS, SCALARS), node
    return Symbol(GRADIENT, SCALARS, TORQUES, frozenset({"vector"}), (node,))
