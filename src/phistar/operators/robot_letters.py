"""Statements about several robots: what is said of one robot is a letter, and letters meet at common points.

Each robot has links, joints and rates of its own; task frames of different robots are the same points, so that their
task spaces are one. A letter holds a node of its robot, and letters of one robot that meet become one.
"""

from __future__ import annotations

from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
    inverse,
    product,
    summation,
)
from phistar.operators.spaces import SCALARS, Space

ROBOT = "robot"
"""The trait of a letter that holds what is said of one robot; its name is the robot's."""


def robot_letter(robot: str, node: Node) -> Symbol:
    """A robot's own node as one letter, between its own spaces and those that robots share."""
    assert node.domain is not None and node.codomain is not None
    traits = {ROBOT} | ({"vector"} if node.domain == SCALARS else set())
    traits |= {"symmetric"} if adjoint(node) is node else set()
    return Symbol(
        robot, _shared_space(node.domain, robot), _shared_space(node.codomain, robot), frozenset(traits), (node,)
    )


def _shared_space(space: Space, robot: str) -> Space:
    """A task space is that of points which robots share; other spaces are the robot's own."""
    if space == SCALARS:
        return space
    points = tuple(f"point {i + 1}" for i in range(len(space.frames or ("",)))) if space.over == "task" else (robot,)
    return Space(space.name, space.over, space.dual_name, points)


def merge_letters(node: Node) -> Node:
    """Letters of one robot that meet, as one letter: products, sums, adjoints and inverses of them."""
    match node:
        case Adjoint(of=inner):
            inside = merge_letters(inner)
            return robot_letter(inside.name, adjoint(inside.of[0])) if isinstance(inside, Symbol) else adjoint(inside)
        case Inverse(of=inner):
            inside = merge_letters(inner)
            return robot_letter(inside.name, inverse(inside.of[0])) if isinstance(inside, Symbol) else inverse(inside)
        case Product(factors=factors):
            return _product([merge_letters(factor) for factor in factors])
        case Sum(terms=terms, source=source, target=target):
            return _sum([(c, merge_letters(term)) for c, term in terms], Sum((), source, target))
    return node


def _product(factors: list[Node]) -> Node:
    kept: list[Node] = []
    for factor in factors:
        last = kept[-1] if kept else None
        if isinstance(last, Symbol) and isinstance(factor, Symbol) and last.name == factor.name:
            kept[-1] = robot_letter(last.name, product(last.of[0], factor.of[0]))
        else:
            kept.append(factor)
    return product(*kept)


def _sum(terms: list[tuple], none: Sum) -> Node:
    """Terms of one robot added to one letter, where it stands first."""
    robots: dict[str, list[tuple]] = {}
    for c, term in terms:
        if isinstance(term, Symbol):
            robots.setdefault(term.name, []).append((c, term.of[0]))
    kept: list[tuple] = [(1, none)]
    for c, term in terms:
        if not isinstance(term, Symbol):
            kept.append((c, term))
        elif term.name in robots:
            parts = robots.pop(term.name)
            kept.append((c, term) if len(parts) == 1 else (1, robot_letter(term.name, summation(parts))))
    return summation(kept)


def letters_of_robots(node: Node) -> tuple[Symbol, ...]:
    """The letters of a statement about several robots, inside inverses too, once, as they come."""
    match node:
        case Symbol():
            return (node,)
        case Product(factors=parts):
            found = parts
        case Sum(terms=terms):
            found = tuple(term for _, term in terms)
        case Adjoint(of=inner) | Inverse(of=inner):
            found = (inner,)
        case Identity():
            found = ()
        case _:
            raise AssertionError(type(node))
    return tuple(dict.fromkeys(letter for part in found for letter in letters_of_robots(part)))


def replace_letters(node: Node, robots: dict[Symbol, Symbol]) -> Node:
    """A statement with other letters."""
    match node:
        case Symbol():
            return robots.get(node, node)
        case Product(factors=parts):
            return product(*(replace_letters(part, robots) for part in parts))
        case Sum(terms=terms, source=source, target=target):
            return summation([(1, Sum((), source, target)), *((c, replace_letters(term, robots)) for c, term in terms)])
        case Adjoint(of=inner):
            return adjoint(replace_letters(inner, robots))
        case Inverse(of=inner):
            return inverse(replace_letters(inner, robots))
    return node
