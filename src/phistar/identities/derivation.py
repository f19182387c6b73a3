"""A derivation: the statement, each law that was used, and where it led; printed as text or LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from phistar.identities.certificate import certificate
from phistar.identities.justify import Step
from phistar.identities.law import TREE, Setting
from phistar.identities.statement_cost import Cost, cost
from phistar.operators.interned import walks_both_ends
from phistar.operators.nodes import Node
from phistar.operators.show import latex, text


@dataclass(frozen=True, eq=False)
class Derivation:
    """From `start` to `result`, law by law; `str()` is the text form. Programs are made of the result alone: `told`
    makes the steps as a person reads them."""

    start: Node
    result: Node
    told: Callable[[], tuple[Step, ...]]
    matrix: bool = False
    setting: Setting = TREE
    frames: int = 1

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return self.told()

    @walks_both_ends
    def certificate(self) -> dict[str, Any]:
        """The derivation as plain data that can be written as JSON and checked apart from what found it.

        Each step has its law, where it was used and what its letters stood for; `phistar check FILE` replays the steps
        exactly and evaluates them to 50 digits on random mechanisms.

        Returns
        -------
        dict
            The contents of the file that `phistar check` reads.

        Example
        -------
        >>> import phistar as ps
        >>> proof = ps.algebra().mass.inv.derivation().certificate()
        >>> [step["law"] for step in proof["steps"]]
        ['newton euler factorization', 'lemma 1', 'inverse of a product', 'lemma 2']
        """
        return certificate(self.start, self.result, self.steps, self.setting, self.frames)

    def cost(self, node: Node) -> Cost:
        return cost(node, self.matrix)

    @walks_both_ends
    def __str__(self) -> str:
        lines = [f"  {text(self.start)}    [{self.cost(self.start)}]"]
        for step in self.steps:
            source = f"{step.law}, {step.citation}" if step.citation else step.law
            lines.append(f"= {text(step.after)}    [{self.cost(step.before)} → {self.cost(step.after)}]    {source}")
        if not self.steps:
            lines.append("  No law makes this cheaper.")
        return "\n".join(lines)

    @walks_both_ends
    def latex(self) -> str:
        rows = [rf"& {latex(self.start)}"]
        for step in self.steps:
            label = f"{step.law}, {step.citation}" if step.citation else step.law
            classes = rf"{self.cost(step.before).latex} \to {self.cost(step.after).latex}"
            rows.append(rf"={{}}& {latex(step.after)} && \text{{{label}}} && {classes}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    @walks_both_ends
    def as_dict(self) -> dict[str, Any]:
        def row(node: Node) -> dict[str, Any]:
            return {"statement": text(node), "latex": latex(node), "cost": str(self.cost(node))}

        steps = [{"law": s.law, "citation": s.citation, **row(s.after)} for s in self.steps]
        return {"start": row(self.start), "steps": steps, "result": row(self.result), "improved": bool(self.steps)}
