"""A derivation: the statement, each law that was used, and where it led; printed as text or LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from phistar.identities.cost import Cost, cost
from phistar.operators.nodes import Node
from phistar.operators.show import latex, text


@dataclass(frozen=True)
class Step:
    before: Node
    after: Node
    law: str
    citation: str


@dataclass(frozen=True, eq=False)
class Derivation:
    """From `start` to `result`, law by law; `str()` is the text form. Programs are made of the result alone: `told`
    makes the steps as a person reads them."""

    start: Node
    result: Node
    told: Callable[[], tuple[Step, ...]]
    matrix: bool = False

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return self.told()

    def cost(self, node: Node) -> Cost:
        return cost(node, self.matrix)

    def __str__(self) -> str:
        lines = [f"  {text(self.start)}    [{self.cost(self.start)}]"]
        for step in self.steps:
            source = f"{step.law}, {step.citation}" if step.citation else step.law
            lines.append(f"= {text(step.after)}    [{self.cost(step.before)} → {self.cost(step.after)}]    {source}")
        if not self.steps:
            lines.append("  No law makes this cheaper.")
        return "\n".join(lines)

    def latex(self) -> str:
        rows = [rf"& {latex(self.start)}"]
        for step in self.steps:
            label = f"{step.law}, {step.citation}" if step.citation else step.law
            classes = rf"{self.cost(step.before).latex} \to {self.cost(step.after).latex}"
            rows.append(rf"={{}}& {latex(step.after)} && \text{{{label}}} && {classes}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def as_dict(self) -> dict[str, Any]:
        def row(node: Node) -> dict[str, Any]:
            return {"statement": text(node), "latex": latex(node), "cost": str(self.cost(node))}

        steps = [{"law": s.law, "citation": s.citation, **row(s.after)} for s in self.steps]
        return {"start": row(self.start), "steps": steps, "result": row(self.result), "improved": bool(self.steps)}
