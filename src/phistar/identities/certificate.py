"""A derivation as plain data: every step with the instances of laws it uses, where, and what they stand for.

The data say all that is needed to replay the steps and to evaluate them; `phistar check` does both, and knows nothing
of the rewriter. Operators are nested lists, ["mul", …], ["add", [c, …], …], ["adj", x], ["inv", x, domain], ["id",
space], ["zero", domain, codomain] and ["sym", number], where numbers count the list of symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from phistar.identities.justify import Instance, Step, Uses
from phistar.identities.law import Setting
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol
from phistar.operators.show import text
from phistar.operators.spaces import Space

FORMAT, VERSION = "phistar certificate", 1


def certificate(start: Node, result: Node, steps: Iterable[Step], setting: Setting, frames: int) -> dict[str, Any]:
    """Everything that `phistar check` needs."""
    writer = _Writer()
    written = [writer.step(step) for step in steps]
    ends = writer.node(start), writer.node(result)
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "mechanism": asdict(setting) | {"frames": frames},
        "statement": text(start),
        "result_text": text(result),
        "symbols": writer.symbols,
        "laws": writer.laws,
        "start": ends[0],
        "steps": written,
        "result": ends[1],
    }


class _Writer:
    """Numbers symbols and instances of laws as they come."""

    def __init__(self) -> None:
        self.symbols: list[dict[str, Any]] = []
        self.laws: list[dict[str, Any]] = []
        self._symbols: dict[Symbol, int] = {}
        self._laws: dict[tuple[Any, ...], int] = {}

    def node(self, node: Node) -> list[Any]:
        match node:
            case Symbol():
                return ["sym", self.symbol(node)]
            case Identity(space=space):
                return ["id", _space(space)]
            case Product(factors=factors):
                return ["mul", *(self.node(f) for f in factors)]
            case Sum(terms=()):
                return ["zero", _space(node.domain), _space(node.codomain)]
            case Sum(terms=terms):
                return ["add", *([str(c), self.node(t)] for c, t in terms)]
            case Adjoint(of=inner):
                return ["adj", self.node(inner)]
            case Inverse(of=inner):
                return ["inv", self.node(inner), _space(inner.domain)]
        raise AssertionError(type(node))

    def symbol(self, symbol: Symbol) -> int:
        if symbol not in self._symbols:
            made_from = [self.node(part) for part in symbol.of]
            self._symbols[symbol] = len(self.symbols)
            self.symbols.append(
                {
                    "name": symbol.name,
                    "shown": text(symbol),
                    "domain": _space(symbol.source),
                    "codomain": _space(symbol.target),
                    "traits": sorted(symbol.traits),
                    "of": made_from,
                    "of_domains": [_space(part.domain) for part in symbol.of],
                }
            )
        return self._symbols[symbol]

    def law(self, instance: Instance) -> int:
        """The number of an instance; a lemma's own uses are written before it."""
        key = (instance.name, instance.left, instance.right)
        if key not in self._laws:
            uses = self.uses(instance.uses)
            self._laws[key] = len(self.laws)
            self.laws.append(
                {
                    "name": instance.name.replace("_", " "),
                    "citation": instance.citation,
                    "kind": instance.kind,
                    "needs": list(instance.needs),
                    "domain": _space(instance.left.domain),
                    "left": self.node(instance.left),
                    "right": self.node(instance.right),
                    "substitution": {name: self.node(part) for name, part in instance.substitution},
                    "uses": uses,
                }
            )
        return self._laws[key]

    def uses(self, uses: Uses) -> list[dict[str, Any]]:
        return [
            {
                "law": self.law(u.instance),
                "coefficient": str(u.c),
                "before": self.node(u.before),
                "after": self.node(u.after),
                "adjoint": u.adjoint,
            }
            for u in uses
        ]

    def step(self, step: Step) -> dict[str, Any]:
        return {
            "law": step.law,
            "citation": step.citation,
            "before": self.node(step.before),
            "after": self.node(step.after),
            "shown": text(step.after),
            "domain": _space(step.before.domain),
            "uses": self.uses(step.uses()),
        }


def _space(space: Space | None) -> str:
    return "" if space is None else space.name


def summary(data: Mapping[str, Any]) -> str:
    """One line on a certificate."""
    return f"{data['statement']} = {data['result_text']}: {len(data['steps'])} steps"
