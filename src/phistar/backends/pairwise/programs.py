"""Programs of operators between joints as sweeps and regions over pairs: what laws find, with composites in it."""

from __future__ import annotations

from phistar.backends.programs.derivations import Nodes, derive, spell_statements
from phistar.errors import StatementError
from phistar.identities.factor import factor
from phistar.identities.law import TREE
from phistar.identities.match import WordRule, word_rules
from phistar.identities.polynomial import Polynomial, Word, expand, is_memoryless
from phistar.identities.rewriter import simplify
from phistar.identities.smoothing import closed_form_inverse
from phistar.operators.nodes import Node, adjoint, product, zero
from phistar.operators.spaces import RATES, SCALARS
from phistar.operators.symbols import PHI, Symbols
from phistar.sweeps.lower import lower_all
from phistar.sweeps.pairs import to_pair_program
from phistar.sweeps.regions import PairProgram


def pair_program(nodes: Nodes, symbols: Symbols, serial: bool = False) -> PairProgram | None:
    """The program of some operators, of serial chains or any trees; None where they have no such form."""

    def make() -> PairProgram | None:
        try:
            return _pair_program(nodes, symbols, serial)
        except StatementError:
            return None

    return derive(("pairs", spell_statements(nodes, symbols), serial), make)


def _pair_program(nodes: Nodes, symbols: Symbols, serial: bool) -> PairProgram:
    stated = {name: with_composites(simplify(node, symbols, TREE, True).result, symbols) for name, node in nodes}
    mirrored = {name for name, x in stated.items() if expand(x).adjoint().same_as(expand(x))}
    if serial:
        stated |= {name: in_closed_form(stated[name], symbols) for name in mirrored}
    return to_pair_program(lower_all(stated, True), mirrored)


def in_closed_form(node: Node, s: Symbols) -> Node:
    """A statement about a serial chain with what (I − HψK)*D⁻¹(I − HψK) takes in and out again by the covariances that
    close ℳ⁻¹ (R87 eqs. 69-72, 83): K*ψ*H*D⁻¹HψK = c − D⁻¹ + (d + D⁻¹H)ψK + ((d + D⁻¹H)ψK)*."""
    there = s.H @ s.psi @ s.K
    once = s.D.inv @ there
    twice = there.T @ once
    (word,) = expand(twice).terms
    closed = closed_form_inverse.sides(s)[1] - s.D.inv + once + once.T
    given = expand(node)
    found = WordRule(closed_form_inverse, word, closed).apply(given)
    return node if found is given else factor(found)


def with_composites(node: Node, symbols: Symbols) -> Node:
    """φXφ* as composites (R87 eqs. 27, 28): of M and 𝓑 by their laws, of any symmetric X by that of M."""
    given = polynomial = expand(node)
    for mass in (symbols.M, *_between(polynomial)):
        for rule in word_rules(Symbols(mass_symbol=mass), TREE, "choice"):
            if rule.law.group == "composite":
                polynomial = rule.apply(polynomial)
    return node if polynomial is given else factor(polynomial)


def _between(polynomial: Polynomial) -> list[Node]:
    """Symmetric memoryless products between φ and φ*."""
    found: dict[Word, Node] = {}
    for word in polynomial.terms:
        for start in (i for i, letter in enumerate(word) if letter is PHI):
            stop = start + 1
            while stop < len(word) and is_memoryless(word[stop]):
                stop += 1
            inside = word[start + 1 : stop]
            if inside and stop < len(word) and word[stop] is PHI.T and adjoint(product(*inside)) is product(*inside):
                found[inside] = product(*inside)
    return list(found.values())


def symbols_under_forces(s: Symbols) -> Symbols:
    """The symbols with θ̈ = (I − HψK)*D⁻¹(T − Hψ(KT + Mα + 𝓑V)), α at rest (RJK91 eqs. 14, 15)."""
    rest = s.M @ s.with_acceleration(zero(SCALARS, RATES)).alpha + s.B_v @ s.V
    return s.with_acceleration(s.whitening.T @ s.D.inv @ (s.T - s.H @ s.psi @ (s.K @ s.T + rest)))
