"""Writes docs/algebra: index.md, derivations.md and laws.md: what the program derives, printed by the program itself.

Run by the docs build before Sphinx: `python docs/generate_derivations.py [FOLDER]`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import phistar as ps
from phistar.cli.checker import DIGITS, evaluate, replay
from phistar.expression import Algebra, Expression
from phistar.identities.derivation import Derivation
from phistar.identities.law import LAWS, SENTENCES, Law
from phistar.operators.show import latex
from phistar.operators.symbols import Symbols


@dataclass(frozen=True)
class Entry:
    """A statement worth a page's attention; `matrix`: the operator itself is wanted, not its action on a vector."""

    title: str
    statement: Callable[[Algebra], Expression]
    remark: str
    matrix: bool = False


ENTRIES = (
    Entry("The inverse of the mass matrix", lambda a: a.mass.inv, "RJK91 lemmas 1-3, found from the statement alone."),
    Entry(
        "Forward dynamics",
        lambda a: a.mass.inv @ (a.T - a.C - a.g),
        "RJK91 eqs. 14, 15 with the biases inside: the filter inward, the smoother outward.",
    ),
    Entry("Inverse dynamics", lambda a: a.mass @ a.qdd + a.C + a.g, "Newton and Euler, two sweeps."),
    Entry("Coriolis and centrifugal forces", lambda a: a.C, "RJK91 eq. 4."),
    Entry("Gravity forces", lambda a: a.g, "KJR92 eq. 44: gravity is an acceleration of the base."),
    Entry(
        "The inverse of the operational-space inertia",
        lambda a: a.J @ a.mass.inv @ a.J.T,
        "RJK91 eqs. 19, 20; KJR92 eqs. 56-60. On a serial chain it comes down to one block of Ω.",
        matrix=True,
    ),
    Entry(
        "Operational-space Coriolis forces, c(0)",
        lambda a: a.Lambda @ (a.J @ a.mass.inv @ a.C - a.Jdot_v),
        "KJR92 eq. 64, and on a serial chain one sweep shorter than there.",
    ),
    Entry("Operational-space gravity forces, g(0)", lambda a: a.Lambda @ a.J @ a.mass.inv @ a.g, "KJR92 eq. 71."),
    Entry(
        "What a force exerted by the tip does to the accelerations",
        lambda a: -(a.mass.inv @ a.J.T @ a.f),
        "RJK91 eq. 18.",
    ),
    Entry(
        "The inertia of a closed chain",
        lambda a: (a.Q @ a.J @ a.mass.inv @ a.J.T @ a.Q.T).inv,
        "RJK91 eq. 26, for any closures Q between task frames.",
        matrix=True,
    ),
    Entry("Lemma 2", lambda a: (a.I + a.H @ a.phi @ a.K).inv, "RJK91 eq. 12."),
    Entry("Lemma 4", lambda a: (a.I - a.H @ a.psi @ a.K) @ a.H @ a.phi, "RJK91 eq. 16."),
    Entry(
        "A mixed congruence",
        lambda a: a.psi @ a.M @ a.phi.T,
        "KJR92 eq. 54: cheaper as a matrix; one vector is cheaper through ψMφ* as it stands.",
        matrix=True,
    ),
    Entry("JJ*", lambda a: a.J @ a.U @ a.J.T, "R87 §XIV: one outward sweep.", matrix=True),
    Entry("J*J", lambda a: a.J.T @ a.U_task @ a.J, "The metric of the task, pulled back to the joints."),
    Entry(
        "The inverse of J*J, for a nonredundant arm",
        lambda a: (a.J.T @ a.U_task @ a.J).inv,
        "The factorization of the mass matrix again, with BUB* for M: the Riccati set of that pair carries a prime.",
    ),
    Entry(
        "How joint forces change with the configuration",
        lambda a: a.expression(ps.inverse_dynamics_derivatives.nodes(a.symbols)["dq"]),
        "The product rule, and brackets brought past φ*: Hφ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + Hφ̃F̂H* (SRW22), found.",
        matrix=True,
    ),
    Entry(
        "How joint forces change with the rates",
        lambda a: a.expression(ps.inverse_dynamics_derivatives.nodes(a.symbols)["dv"]),
        "Hφ(Mφ*Ψ́ + 2𝓑φ*H*), then by composite bodies.",
        matrix=True,
    ),
    Entry(
        "How accelerations change with the rates",
        lambda a: a.expression(ps.forward_dynamics_derivatives.nodes(a.symbols)["dv"]),
        "The inverse of the mass matrix meets ∂τ: P for M and 𝒴 for 𝓑, one elimination for both.",
        matrix=True,
    ),
    Entry("The mass matrix", lambda a: a.mass, "As a matrix: by composite bodies (R87 eqs. 27-31).", matrix=True),
)
SIZES = (7, 100)


def certified(entry: Entry, derivation: Derivation, folder: Path) -> str:
    """Writes the certificate of a derivation, checks it as `phistar check` does, and says what holds."""
    proof = derivation.certificate()
    name = re.sub(r"[^a-z0-9]+", "-", entry.title.lower()).strip("-")
    path = folder / "certificates" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(proof, ensure_ascii=False), encoding="utf-8")
    replay(proof)
    count = len(proof["steps"])
    checked = (
        f"The {{download}}`certificate <certificates/{path.name}>` was checked when this page was made: "
        f"{count} step{'s' if count != 1 else ''} replayed exactly"
    )
    evaluate(proof, 0)
    return f"{checked} and evaluated to {DIGITS} digits on a random mechanism."


def section(entry: Entry, folder: Path) -> str:
    """One statement: derivation, recursion and cost on a serial chain; the form on any tree."""
    chain = entry.statement(ps.algebra(nonredundant=True))
    tree = entry.statement(ps.algebra(tree=True, armature=True, nonredundant=True))
    algorithm, cost = chain.algorithm(entry.matrix), chain.cost_polynomial(entry.matrix)
    counts = "; ".join(f"{cost(n).total} operations for n = {n}" for n in SIZES)
    parts = [
        f"## {entry.title}",
        entry.remark,
        fenced(json.dumps(chain.derivation(entry.matrix).as_dict(), ensure_ascii=False), "{derivation}"),
        certified(entry, chain.derivation(entry.matrix), folder),
        f"The recursion, {len(chain.program(entry.matrix).passes)} sweeps over the links:",
        fenced(str(algorithm)),
        f"{cost}. That is {counts}.",
    ]
    on_tree = tree.simplify(entry.matrix).show()
    if on_tree != chain.simplify(entry.matrix).show():
        formula = tree.simplify(entry.matrix).latex()
        parts.append(f"On any tree, with armature and frames anywhere, it ends in ${formula}$.")
    return "\n\n".join(parts)


def fenced(body: str, language: str = "text") -> str:
    return f"```{language}\n{body}\n```"


def derivations(folder: Path) -> str:
    introduction = (
        "# Derivations\n\nEach statement below is given to the rewriter as it stands; what follows is what the program "
        "prints. Each step folds out to the law that was used with its citation, and the class of cost before and "
        "after. "
        "Every derivation carries a certificate, plain data that `phistar check FILE` replays without the rewriter. "
        "The mechanism is the papers': a serial chain of n links, one tip, no armature. Operations are counted on the "
        "program, for revolute joints, not timed.\n\nPapers: RJK91 is Rodriguez, Jain and Kreutz-Delgado 1991; KJR92 "
        "is Kreutz-Delgado, Jain and Rodriguez 1992; R87 is Rodriguez 1987; SRW22 is Singh, Russell and Wensing 2022; "
        "EW21 is Echeandia and Wensing 2021."
    )
    return "\n\n".join([introduction, *(section(entry, folder) for entry in ENTRIES)]) + "\n"


def laws() -> str:
    """The registry as a table."""
    rows = ["| law | equation | where from | holds where |", "|---|---|---|---|", *(row(law) for law in LAWS)]
    introduction = (
        "# Laws\n\nEvery law the rewriter knows, from the registry. The tests evaluate both sides of each on 200 "
        "random mechanisms, and show a mechanism on which it fails for every condition in the last column. "
        "X is any block-diagonal operator."
    )
    return introduction + "\n\n" + "\n".join(rows) + "\n"


def row(law: Law) -> str:
    left, right = law.sides(Symbols())
    where = ", ".join(SENTENCES[need] for need in law.needs) or "always"
    equation = f"{latex(left)} = {latex(right)}".replace("|", "\\vert ")
    return f"| {law.name.replace('_', ' ')} | ${equation}$ | {law.citation} | {where} |"


INDEX = """\
---
orphan: true
---

# The algebra

A dynamical quantity is one statement of spatial operators; the rewriter brings it to its cheapest form and says how. \
These pages are printed by the program when the site is built.

```{toctree}
:maxdepth: 1

derivations
laws
certificates
```
"""


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index.md": INDEX, "derivations.md": derivations(folder), "laws.md": laws()}
    for name, content in pages.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in pages]


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "algebra")
