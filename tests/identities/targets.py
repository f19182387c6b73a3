"""The papers' abstract statements and the forms the rewriter must find for them, unaided."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np

from phistar.identities.law import TREE, Setting
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from tests.trees import Mechanism, mechanism

# The papers' mechanism: a serial chain, one tip, no armature. And the least that can be known of one.
CHAIN = Symbols(armature=False), Setting(nonredundant=True)
ANY = Symbols(armature=True), replace(TREE, nonredundant=True)


@dataclass(frozen=True)
class Target:
    """`chain` is the form on a serial chain with one tip and no armature, `tree` on any tree with any frames."""

    statement: Callable[[Symbols], Node]
    chain: str
    tree: str = ""
    sweeps: tuple[int, int] = (2, 2)  # on a chain, on a tree
    inverts: str = ""  # the space that has to be regular: task, closures or joints (nonredundant)

    @property
    def forms(self) -> tuple[tuple[Symbols, Setting, str, int], ...]:
        on_tree = self.tree or self.chain
        return (*CHAIN, self.chain, self.sweeps[0]), (*ANY, on_tree, self.sweeps[1])


def _omega(s: Symbols) -> Node:
    return s.J @ s.mass.inv @ s.J.T


TARGETS = {
    "mass matrix inverse": Target(lambda s: s.mass.inv, "(I − HψK)*D⁻¹(I − HψK)"),
    "inverse operational inertia": Target(_omega, "B*ΩB", "B*ψ*H*D⁻¹HψB", (2, 3)),
    "Coriolis forces": Target(lambda s: s.C, "Hφ(Mφ*a + b)"),
    "gravity forces": Target(lambda s: s.g, "HφMφ*E* a_g"),
    "c(0)": Target(
        lambda s: _omega(s).inv @ (s.J @ s.mass.inv @ s.C - s.Jdot_v),
        "(B*ΩB)⁻¹(B*ψ*(Ω(b + Pa) − a) − a(0))",
        "(B*ψ*H*D⁻¹HψB)⁻¹(B*ψ*(H*D⁻¹Hψ(b + Pa) − a) − a(0))",
        (2, 3),
        "task",
    ),
    "g(0)": Target(
        lambda s: _omega(s).inv @ s.J @ s.mass.inv @ s.g,
        "(B*ΩB)⁻¹B*(φ*E* − ψ*W*) a_g",
        "(B*ψ*H*D⁻¹HψB)⁻¹B*(φ*E* − ψ*W*) a_g",
        (2, 3),
        "task",
    ),
    "tip force accelerations": Target(lambda s: -(s.mass.inv @ s.J.T @ s.f), "−(I − HψK)*D⁻¹HψBf(0)", sweeps=(3, 3)),
    "closed-chain inertia": Target(
        lambda s: (s.Q @ _omega(s) @ s.Q.T).inv, "(QB*ΩBQ*)⁻¹", "(QB*ψ*H*D⁻¹HψBQ*)⁻¹", (2, 3), "closures"
    ),
    "lemma 4": Target(lambda s: (s.I - s.H @ s.psi @ s.K) @ s.H @ s.phi, "Hψ", sweeps=(1, 1)),
    "lemma 2": Target(lambda s: (s.I + s.H @ s.phi @ s.K).inv, "I − HψK", sweeps=(1, 1)),
    "mixed congruence": Target(lambda s: s.psi @ s.M @ s.phi.T, "ψMφ*"),
    "forward dynamics": Target(
        lambda s: s.mass.inv @ (s.T - s.C - s.g),
        "(I − HψK)*D⁻¹(T − Hψ(KT + b + P(a + E* a_g))) − K*ψ*(a + E* a_g)",
        sweeps=(3, 3),
    ),
    "JJ*": Target(lambda s: s.J @ s.U @ s.J.T, "B*ΓB", "B*φ*H*UHφB", (1, 3)),
    "J*J": Target(lambda s: s.J.T @ s.U_task @ s.J, "HφBUB*φ*H*"),
    "J*J inverse": Target(
        lambda s: (s.J.T @ s.U_task @ s.J).inv, "(I − Hψ′K′)*D′⁻¹(I − Hψ′K′)", sweeps=(3, 3), inverts="joints"
    ),
    "inverse dynamics": Target(
        lambda s: s.mass @ s.qdd + s.C + s.g,
        "HφMφ*H* θ̈ + Hφ(Mφ*a + b) + HφMφ*E* a_g",
        "(HφMφ*H* + A) θ̈ + Hφ(Mφ*a + b) + HφMφ*E* a_g",
    ),
}


def is_regular(case: Mechanism, space: str) -> bool:
    """Whether what a target inverts exists, far from singular."""
    s = case.symbols
    omega = s.J @ s.mass.inv @ s.J.T
    wanted = {"task": omega, "closures": s.Q @ omega @ s.Q.T, "joints": s.J.T @ s.U_task @ s.J}.get(space, s.D)
    return case.setting.nonredundant >= (space == "joints") and np.linalg.cond(case.dense(wanted)) < 1e4


def regular_mechanisms(target: Target, number: int, **asked) -> Iterator[Mechanism]:
    """Random mechanisms for which the target's inverse exists."""
    if target.inverts == "joints":
        asked["bodies"] = 2
    drawn = (mechanism(seed, **asked) for seed in count(500))
    return islice((case for case in drawn if is_regular(case, target.inverts)), number)
