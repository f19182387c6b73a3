"""One link's work in one common frame, traced once per kind of link.

All frames lie on the world's axes, so that φ = 1 between links: a first sweep places the link and gives H* and M there;
from then on the sweeps are those of the program.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links.common_frame import inertia_parameters, moved_moments, moved_subspace
from phistar.backends.links.values import Links, inertia_matrix, mirror_upper, rotate_symmetric
from phistar.backends.rolled.link_memory import Stage
from phistar.backends.rolled.plan import Plan, accumulator
from phistar.backends.rolled.recorder import Place, Recorder, Step, constant_pattern
from phistar.backends.rolled.steps import Kind, StepLink, StepTracer, symbolic_link
from phistar.backends.traces.solve import Block
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate_sweep
from phistar.sweeps.ir import ONE, OUTWARD, Data, Plus, Program, Sweep, parts

UPPER = np.triu_indices(6)
PLACE, SUBSPACE, MASS = "frame", "H* of the link", "M of the link"


def stages(program: Program, kinds: list[Kind], alone: bool, armature: bool) -> tuple[list[Stage], list[CommonTracer]]:
    """The sweeps of a program, for all kinds of links, and what each link then has."""
    plan = Plan(program, 0)
    links = [CommonTracer(plan, kind, alone, armature) for kind in kinds]
    sweeps = list(program.passes)
    if not sweeps or sweeps[0].direction != OUTWARD:
        sweeps.insert(0, Sweep(OUTWARD, ()))
    return [Stage(sweep.direction, [link.trace(sweep) for link in links], "pairs") for sweep in sweeps], links


def rigid_fields(program: Program) -> frozenset[str]:
    """Fields that are rigid-body masses, given by ten parameters: the links' own, and their sums."""
    found = set()
    for statement in program.statements:
        terms = statement.term.terms if isinstance(statement.term, Plus) else ((ONE, statement.term),)
        if all(c == 1 and part in (Data("M"), ir.Move(ir.CHILDREN, ir.INERTIA, statement.target)) for c, part in terms):
            found.add(statement.target)
    return frozenset(found)


class CommonTracer(StepTracer):
    """A link whose frame is the common one. `alone`: it is the only one on the world, and the common origin is its own.
    `armature`: any joint has one."""

    def __init__(self, plan: Plan, kind: Kind, alone: bool, armature: bool) -> None:
        super().__init__(plan, kind)
        self.joint, self.alone, self.armature = kind, alone, armature

    @cached_property
    def rigid(self) -> frozenset[str]:
        return rigid_fields(self.plan.program)

    def trace(self, sweep: Sweep) -> Step:
        self.record = Recorder(self.turns)
        self.made: dict[str, Block] = {}
        given = self.places() if SUBSPACE not in self.earlier else []
        h, mass = self.field(SUBSPACE), self.field(MASS)
        own = {"subspace": (h,), "inertias": mass[None, :10, 0], "second_moments": (mass[10:].reshape(3, 3),)}
        self.link, self.at = StepLink(Links(self.joint.model, None, (), (), paths=((),), **own), self.record), 0
        evaluate_sweep(sweep, self)
        stores = [*given, *self.fields(), *self.terms_for_parent(sweep)]
        self.earlier |= {name: constant_pattern(value) for name, value in self.made.items()}
        return self.record.finish(stores)

    def places(self) -> list[tuple[Place, Any]]:
        """H*, and of M ten parameters and second moments, in the common frame; the place is passed on."""
        path, links = symbolic_link(self.record, self.joint)
        if not self.kind.is_root:
            above = self.record.array("passed", PLACE, (12,))
            rotation, origin = moves.end_frame(path, above[:9].reshape(3, 3), above[9:])
        else:
            rotation, origin = moves.end_frame(path, np.eye(3), np.zeros(3))
            origin = np.zeros(3) if self.alone else origin
        mass, moment, second = links.mass_parts(0)  # the table of constants has second moments where a tensor would be
        moment, second = moved_moments(
            origin, mass, np.matmul(rotation, moment), mirror_upper(rotate_symmetric(rotation, second))
        )
        self.made[SUBSPACE] = moved_subspace(rotation, origin, links.subspace[0])
        self.made[MASS] = np.concatenate([inertia_parameters(mass, moment, second), second.reshape(-1)])[:, None]
        return [(("passing", PLACE, i), x) for i, x in enumerate([*rotation.reshape(-1), *origin])]

    def terms_for_parent(self, sweep: Sweep) -> list[tuple[Place, Any]]:
        result: list[tuple[Place, Any]] = []
        if self.kind.is_root:
            return result
        terms = dict.fromkeys(x for s in sweep.statements for x in parts(s.term) if ir.is_sent(x, ir.CHILDREN))
        for term in terms:
            block = self.pack(term, self.field(term.name))
            result += [(("siblings", accumulator(term), i), x) for i, x in enumerate(block.reshape(-1))]
        return result

    def pack(self, term: ir.Term, block: Block) -> np.ndarray:
        """Block as sent to parents: ten parameters of a composite M, a triangle of P⁺, the nonzero half of a 𝓑."""
        match term:
            case ir.Move(ir.CHILDREN, ir.INERTIA, name) if name in self.rigid:
                lever = [block[2, 4], block[0, 5], block[1, 3]]
                tensor = [block[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
                return np.array([block[3, 3], *lever, *tensor], dtype=object)
            case ir.Move(act=ir.INERTIA):
                return block[UPPER]
            case ir.Move(act=ir.CARRIED):
                return block[:, :3]
        return np.zeros((6, 1)) if block is None else block

    def move(self, term: ir.Term, at: int) -> Block:
        match term:
            case ir.Move(ir.CHILDREN, ir.INERTIA, name) if name in self.rigid:
                return inertia_matrix(self.record.array("children", accumulator(term), (10,)))
            case ir.Move(act=ir.CARRIED):
                half = self.record.array("children", accumulator(term), (6, 3))
                return np.concatenate([half, np.zeros((6, 3))], axis=1)
        return super().move(term, at)

    def data(self, name: str, at: int) -> Block:
        if name == "A" and not self.armature:
            return None
        return super().data(name, at)
