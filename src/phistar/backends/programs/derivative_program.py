"""Derivatives of the dynamics from their statements: the program of the tables, run in one common frame.

The statements −ℳ⁻¹∂τ/∂θ, ∂τ/∂θ̇, … are differentiated and brought to products over pairs of joints by the laws
(`identities/vector_derivatives.py`, `sweeps/tables.py`); with H, r, r_v, Ψ̇, Ψ́, Ψ̈ and F̂ link by link these are

    ∂τ/∂θ̈ = HφMφ*H* + A
    ∂τ/∂θ̇ = Hφ(Mφ*Ψ́ + 2𝓑φ*H*)
    ∂τ/∂θ = Hφ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + Hφ̃F̂H*

(Singh, Russell, Wensing, Robotics and Automation Letters 2022). In one frame φ = 1 between links: sweeps only add up,
and a pair of joints is a product of two blocks, which loops of the kernel may make (`code/pair_table_loop.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.code.pair_table_loop import Pairs, Products
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.links.brackets import bracket
from phistar.backends.links.common_frame import CommonFrame
from phistar.backends.links.values import Links, mirror_upper
from phistar.backends.programs.derivations import Nodes, derive, spell_statements
from phistar.backends.programs.interpret import run_tables
from phistar.backends.traces.trace import Scalar
from phistar.errors import StatementError
from phistar.identities.derivative_laws import composite_acceleration, composite_mass, joint_forces
from phistar.identities.law import TREE
from phistar.identities.rewriter import simplify
from phistar.operators.linearized import PLACE, partial
from phistar.operators.nodes import Inverse, Node, Product, Sum, product
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Program, Table
from phistar.sweeps.regions import TableProgram, TableStatement
from phistar.sweeps.tables import lower_tables, pair_form, ratio

MASS, UNIT = "ℳ", "I"


# From statements to programs


def tables_program(nodes: Nodes, symbols: Symbols) -> TableProgram:
    """The program of operators between joints, each a table or ℳ⁻¹ times one."""

    def make() -> TableProgram:
        tables: dict[str, Node] = {}
        found = [_table_statement(name, node, symbols, tables) for name, node in nodes]
        return TableProgram(lower_tables(tables, symbols, {"mass": composite_mass(symbols)}), tuple(found))

    return derive(("tables", spell_statements(nodes, symbols)), make)


def _table_statement(name: str, node: Node, s: Symbols, tables: dict[str, Node]) -> TableStatement:
    """The statement; what is neither ℳ nor I is one more table."""
    factor, whole = _content(node)
    factors = whole.factors if isinstance(whole, Product) else (whole,)
    solved = isinstance(factors[0], Inverse)
    if solved and multiple(factors[0].of, s.mass, s) is None:  # type: ignore[attr-defined]
        raise StatementError(f"{node!r} is no table over pairs of joints: only ℳ is inverted there.")
    if solved:
        factor /= multiple(factors[0].of, s.mass, s)  # type: ignore[attr-defined, operator]
    if solved and len(factors) == 1:
        return TableStatement(factor, True, UNIT, False)
    more, rest = _content(product(*factors[solved:]))
    mass = multiple(rest, s.mass, s)
    if mass is not None:
        return TableStatement(factor * more * mass, solved, MASS, False)
    falls = multiple(rest, partial(joint_forces(s), PLACE), s)
    tables[name] = simplify(rest, s, TREE, True).result
    return TableStatement(factor * more, solved, name, falls == 1)


def _content(node: Node) -> tuple[Fraction, Node]:
    """c and X of cX."""
    return node.terms[0] if isinstance(node, Sum) and len(node.terms) == 1 else (Fraction(1), node)


@cache
def multiple(node: Node, other: Node, s: Symbols) -> Fraction | None:
    """c where a statement is, by the laws, c times another."""
    if node is other:
        return Fraction(1)
    return ratio(*(pair_form(simplify(x, s, TREE, True).result, s) for x in (node, other)))


def symbols_under_forces(symbols: Symbols) -> Symbols:
    """The symbols with θ̈ as joint forces give it, by composite bodies."""
    return symbols.with_acceleration(composite_acceleration(symbols))


# From programs to numbers


def evaluate(stated: TableProgram, frame: CommonFrame, vectors: dict[str, Any]) -> Unsolved:
    """The statements at vectors θ̇, θ̈ or T, (…, nv)."""
    at = Tables.at(stated.program, frame, vectors)
    signs = {s.table: float(s.factor) for s in stated.statements}
    sign = -1.0 if any(c < 0 for c in signs.values()) else 1.0
    made, pairs = at.tables(sign)
    tables, blocks, known = [], [], set()
    for number, statement in enumerate(stated.statements):
        scale = float(statement.factor) * (sign if statement.table in made else 1.0)
        table = made.get(statement.table, at.mass)
        if statement.table == UNIT:
            table = np.eye(at.mass.shape[-1])
        if statement.falls and statement.solved and pairs is not None:
            for column, values in falling(frame).items():
                table[:, column] = -sign * values
                known.add((number, column))
        tables.append(table if scale == 1.0 else _scale(table, scale, pairs))
        if statement.solved:
            blocks.append(Block(number, symmetric=statement.table == UNIT and scale == 1.0))
    return Unsolved(at.mass, tuple(tables), tuple(blocks), pairs, frozenset(known))


def _scale(table: np.ndarray, scale: float, pairs: Pairs | None) -> np.ndarray:
    """A table with what loops would make of it written out, times a number."""
    return scale * (table if pairs is None else pairs.fill(table))


def derivatives_to_solve(mass: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, factor: float = 1.0) -> Unsolved:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇ and ℳ⁻¹, times a factor, from ℳ and −∂τ."""
    blocks = Block(0), Block(1), Block(2, symmetric=factor == 1.0)
    return Unsolved(mass, (by_q, by_v, factor * np.eye(mass.shape[-1])), blocks)


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
        whole, fields = run_tables(program, frame.links, given)
        return Tables(program, frame.links, mirror_upper(whole["mass"]), fields)

    def tables(self, sign: float) -> tuple[dict[str, np.ndarray], Pairs | None]:
        """The tables by name, times ±1; of traced scalars with the products over pairs of joints left open."""
        tables = self.program.tables
        if not tables:
            return {}, None
        left, right, products = sides(tables)
        pairs = Pairs(self.by_rates(left), self.by_rates(right), self.carried_pairs(), sign, products)
        own = {table.name: sign * self.own(table) for table in tables}
        is_open = next(iter(own.values())).dtype == object
        make = pairs.table if is_open else pairs.dense
        made = {name: make(x, 2 * i, 2 * i + 1) for i, (name, x) in enumerate(own.items())}
        return made, pairs if is_open else None

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
        return _stack(rows)

    def by_rates(self, names: tuple[str, ...]) -> np.ndarray:
        """Fields (…, 6, r) of the links as rows of joint rates, (…, nv, 6·fields)."""
        stacks = [_stack([np.swapaxes(x, -1, -2) for x in self.blocks(name)]) for name in names]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in stacks))
        return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in stacks], axis=-1)

    def carried_pairs(self) -> tuple[tuple[int, int], ...]:
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
def sides(tables: tuple[Table, ...]) -> tuple[tuple[str, ...], tuple[str, ...], Products]:
    """The fields of the carrying and of the carried joint, and of each table the products of these, above and below."""
    terms = [part for x in tables for part in (x.carries, tuple((b, a) for a, b in x.carried))]
    left, right = (tuple(dict.fromkeys(pair[side] for part in terms for pair in part)) for side in (0, 1))
    return left, right, tuple(tuple((left.index(a), right.index(b)) for a, b in part) for part in terms)


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


def _stack(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-2)
