"""Derivatives of the dynamics from their statements: the program of the tables, run in one common frame.

The statements −ℳ⁻¹∂τ/∂θ, ∂τ/∂θ̇, … are differentiated and brought to products over pairs of joints by the laws
(`identities/differentiate.py`, `sweeps/tables.py`); with H, r, r_v, Ψ̇, Ψ́, Ψ̈ and F̂ link by link these are

    ∂τ/∂θ̈ = HφMφ*H* + A
    ∂τ/∂θ̇ = Hφ(Mφ*Ψ́ + 2𝓑φ*H*)
    ∂τ/∂θ = Hφ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + Hφ̃F̂H*

(Singh, Russell, Wensing, Robotics and Automation Letters 2022). In one frame φ = 1 between links: sweeps only add up,
and a pair of joints is a product of two blocks, which loops of the kernel may make (`code/pairs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from phistar.backends.code.pairs import PRODUCTS, Pairs
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.links.brackets import bracket
from phistar.backends.links.common_frame import CommonFrame
from phistar.backends.links.values import Links, mirrored
from phistar.backends.machine import cache as stored
from phistar.backends.programs.interpret import tabled
from phistar.backends.traces.trace import Scalar
from phistar.errors import StatementError
from phistar.identities.law import TREE
from phistar.identities.linearized import composite_acceleration, composite_mass
from phistar.identities.rewriter import simplify
from phistar.operators.nodes import Node, Product, Sum, product, spelling
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Program, Table
from phistar.sweeps.stored import program_from, to_data
from phistar.sweeps.tables import lower_tables

Statements = Callable[[Symbols], Mapping[str, Node]]
TABLES = "dq", "dv"  # the statements that are tables; the third is ℳ or ℳ⁻¹
MASS_OF_PLACE = "[rH*]", "[Ψ̈]"  # the product by which ∂τ/∂θ has HφMφ*Ψ̈ in it, with the columns that ℳ is made of


# From statements to programs


@cache
def tables_program(statements: Statements, symbols: Symbols) -> Program:
    """The program of derivatives by θ and θ̇, of −ℳ⁻¹X that of X, and of ℳ. Derivations do not depend on the robot, so
    it is kept on disk."""
    found = statements(symbols)
    nodes = {name: _without_inverse(found[name], symbols) for name in TABLES}

    def made() -> Program:
        tables = {name: simplify(node, symbols, TREE, True).result for name, node in nodes.items()}
        return lower_tables(tables, symbols, {"mass": composite_mass(symbols)})

    return kept_program((symbols.spelling, *map(spelling, nodes.values())), made)


def kept_program(named: tuple[str, ...], made: Callable[[], Program]) -> Program:
    """A program found on disk by an exact name of what it is made from, or made and stored."""
    name = stored.key("tables", named)
    found = stored.load(name, stored.PROGRAM)
    if found is not None:
        return program_from(found[0])
    program = made()
    stored.store(name, to_data(program), b"", stored.PROGRAM)
    return program


def moved_by_forces(symbols: Symbols) -> Symbols:
    """The symbols with θ̈ as joint forces give it, by composite bodies."""
    return symbols.accelerated(composite_acceleration(symbols))


def _without_inverse(node: Node, s: Symbols) -> Node:
    """X of −ℳ⁻¹X."""
    match node:
        case Sum(terms=((-1, Product(factors=(inverse, *others))),)) if inverse is s.mass.inv:
            return product(*others)
    return node


# From programs to numbers


def inverse_dynamics_derivatives(program: Program, frame: CommonFrame, v: Any, a: Any) -> Unsolved:
    """∂τ/∂θ, ∂τ/∂θ̇, ∂τ/∂θ̈ at v and a, (…, nv)."""
    at = Tables.at(program, frame, {"θ̇": v, "θ̈": a})
    by_q, by_v, pairs = at.tables(1.0)
    return Unsolved(at.mass, (by_q, by_v, at.mass), (), pairs)


def forward_dynamics_derivatives(program: Program, frame: CommonFrame, v: Any, tau: Any) -> Unsolved:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇, ℳ⁻¹ at the acceleration that tau, (…, nv), gives."""
    at = Tables.at(program, frame, {"θ̇": v, "T": tau})
    by_q, by_v, pairs = at.tables(-1.0)
    known = falling(frame) if by_q.dtype == object and MASS_OF_PLACE in program.tables[0].carried else {}
    for column, values in known.items():
        by_q[:, column] = values
    return replace(unsolved(at.mass, by_q, by_v, pairs), known=frozenset((0, column) for column in known))


def unsolved(mass: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, pairs: Pairs | None = None) -> Unsolved:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇ and ℳ⁻¹ from ℳ and −∂τ."""
    return Unsolved(mass, (by_q, by_v, np.eye(mass.shape[-1])), (Block(0), Block(1), Block(2, symmetric=True)), pairs)


@dataclass(frozen=True, eq=False)
class Tables:
    """The fields of a program that has run, and ℳ."""

    program: Program
    links: Links
    mass: np.ndarray
    fields: dict[str, Any]

    @staticmethod
    def at(program: Program, frame: CommonFrame, vectors: dict[str, Any]) -> Tables:
        given = {name: np.asarray(x)[..., None] for name, x in vectors.items()}
        given |= {"a_g": frame.base_acceleration[..., None], "x": np.eye(frame.links.model.nv)}
        whole, fields = tabled(program, frame.links, given)
        return Tables(program, frame.links, mirrored(whole["mass"]), fields)

    def tables(self, sign: float) -> tuple[np.ndarray, np.ndarray, Pairs | None]:
        """The two tables, times ±1; of traced scalars with the products over pairs of joints left open."""
        own = [sign * self.own(table) for table in self.program.tables]
        left, right = sides(self.program.tables)
        pairs = Pairs(self.by_rates(left), self.by_rates(right), self.carried(), sign)
        if own[0].dtype == object:
            return pairs.table(own[0], 0, 1), pairs.table(own[1], 2, 3), pairs
        return pairs.dense(own[0], 0, 1), pairs.dense(own[1], 2, 3), None

    def blocks(self, name: str) -> list[np.ndarray]:
        """A field, zeros where it is zero by structure."""
        sizes = [joint.nv for joint in self.links.model.joints]
        return [np.zeros((6, n)) if x is None else x for n, x in zip(sizes, self.fields[name], strict=True)]

    def own(self, table: Table) -> np.ndarray:
        """The blocks of joints with themselves, (…, nv, nv)."""
        rows = []
        for joint, block in zip(self.links.model.joints, self.fields[table.own], strict=True):
            shape = () if block is None else block.shape[:-2]
            row = np.full((*shape, joint.nv, self.links.model.nv), 0.0, dtype=float if block is None else block.dtype)
            row[..., joint.v_slice] = 0.0 if block is None else block
            rows.append(row)
        return _stacked(rows)

    def by_rates(self, names: tuple[str, ...]) -> np.ndarray:
        """Fields (…, 6, r) of the links as rows of joint rates, (…, nv, 6·fields)."""
        stacks = [_stacked([np.swapaxes(x, -1, -2) for x in self.blocks(name)]) for name in names]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in stacks))
        return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in stacks], axis=-1)

    def carried(self) -> tuple[tuple[int, int], ...]:
        """Pairs of joint rates, the first of a joint that carries the second's."""
        result, model = [], self.links.model
        rates = [range(*joint.v_slice.indices(model.nv)) for joint in model.joints]
        for body, own in enumerate(rates):
            k = model.parents[body]
            while k >= 0:
                result += [(i, j) for i in rates[k] for j in own]
                k = model.parents[k]
        return tuple(result)


@cache
def sides(tables: tuple[Table, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of the carrying and of the carried joint, in the order in which `PRODUCTS` counts them."""
    terms = [[x, tuple((b, a) for a, b in y)] for x, y in ((table.carries, table.carried) for table in tables)]
    products = [product for pair in terms for product in pair]
    left, right = (dict.fromkeys(pair[side] for product in products for pair in product) for side in (0, 1))
    wanted = [set(product) for product in PRODUCTS]
    for inner in permutations(left):
        for outer in permutations(right):
            if [{(inner.index(a), outer.index(b)) for a, b in product} for product in products] == wanted:
                return inner, outer
    raise StatementError(f"The loops over pairs of joints do not know the products {products}.")


def falling(frame: CommonFrame) -> dict[int, np.ndarray]:
    """Columns of −ℳ⁻¹∂τ/∂θ, (nv,), for joints on the world that hold nothing: all six motions, in the common frame
    constant, and no armature. There V_p = Ψ̇ = 0 and Ψ̈ = H*Y, so that ∂τ/∂θ = HφMφ*H*Y and only their own acceleration
    changes, by −Y: what carries a mechanism may be turned as one likes, it falls as before."""
    result: dict[int, np.ndarray] = {}
    links, model = frame.links, frame.links.model
    for k, (joint, parent) in enumerate(zip(model.joints, model.parents, strict=True)):
        h = links.subspace[k]
        moving = any(isinstance(x, Scalar) for x in h.reshape(-1))
        if parent >= 0 or joint.nv < 6 or moving or np.any(links.armature(k)):
            continue
        motions = np.linalg.inv(np.asarray(h, dtype=float))
        own = -np.matmul(motions, np.matmul(bracket(frame.base_acceleration[..., None]), h))
        placed = np.full((model.nv, 6), 0.0, dtype=object)
        placed[joint.v_slice] = own
        result |= {joint.v_slice.start + i: placed[:, i] for i in range(6)}
    return result


def _stacked(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-2)
