"""The laws certified: a Knuth-Bendix completion of ten axioms proves them, and the rewriter's own rules reach them."""

from fractions import Fraction
from functools import cache

import pytest

import phistar.identities.rewriter  # noqa: F401 - registers the laws
from phistar.identities.completion import Rule, Rules, complete, overlaps, reduce_terms, reduces_to_zero
from phistar.identities.inverses import cancel
from phistar.identities.justify import Instance
from phistar.identities.law import ANY_TO_FORCES, LAWS, TREE, Law
from phistar.identities.match import _is_wild, everywhere, word_rules
from phistar.identities.polynomial import expand, letters
from phistar.identities.riccati import lemma_3
from phistar.operators.nodes import Inverse, Node, Sum, Symbol, product
from phistar.operators.show import text
from phistar.operators.symbols import Symbols

SYMBOLS = {"plain": Symbols(armature=False), "armature": Symbols(), "rotors": Symbols(rotors=True)}
ANY_JOINTS = pytest.mark.parametrize("symbols", SYMBOLS.values(), ids=SYMBOLS)
DEFINITIONS = {  # what a physical quantity is in operators: certified by matrices (test_laws), not by algebra
    *("jacobian", "link_velocities", "newton_euler_factorization", "coriolis_forces", "gravity_forces"),
    *("coriolis_forces_of_reference", "jacobian_rate", "articulated_shift", "costate_covariance_update"),
    *("axes_carried", "axes_turned_by_their_joint", "axes_accelerated", "spatial_accelerations", "coriolis_block"),
    *("own_axes_do_not_turn_their_own_rate", "base_kills_gain"),
}


ABOUT_MOTION = {  # what brackets are, certified by matrices
    *("velocities_add", "bracket_is_carried", "motion_against_itself", "joint_against_itself", "coriolis_operator"),
    "momentum_turned_by_its_own_motion",
}


def axioms(s: Symbols) -> dict[str, Node]:
    """Ten equations, each written as what is zero; the adjoint of an axiom is one too. S is that of geared rotors."""
    return {
        "D D⁻¹ = I": s.D @ s.D.inv - s.I,
        "D⁻¹ D = I": s.D.inv @ s.D - s.I,
        "φ = I + φℰφ": s.phi - s.I - s.phi @ s.E_phi,
        "φ = I + ℰφφ": s.phi - s.I - s.E_phi @ s.phi,
        "ψ = I + ψ(ℰφ − KH)": s.psi - s.I - s.psi @ (s.E_phi - s.K @ s.H),
        "ψ = I + (ℰφ − KH)ψ": s.psi - s.I - (s.E_phi - s.K @ s.H) @ s.psi,
        "K = ℰφG": s.K - s.E_phi @ s.G,
        "GD = PH* + S": s.G @ s.D - s.P @ s.H.T - s.S,
        "D = HPH* + A, that is HG = I − (A − HS)D⁻¹": s.H @ s.G - s.I + (s.A - s.H @ s.S) @ s.D.inv,
        "Riccati's equation": s.M - s.P + s.E_phi @ s.P @ s.E_phi.T - s.K @ s.D @ s.K.T,
    }


def composite_axioms(s: Symbols) -> list[Node]:
    """What R87 §VI needs: φ and the recursion of composite bodies."""
    known = axioms(s)
    return [known["φ = I + φℰφ"], known["φ = I + ℰφφ"], s.M - s.r + s.E_phi @ s.r @ s.E_phi.T]


def coriolis_axioms(s: Symbols) -> list[Node]:
    """What 𝒴 is, beside the ten."""
    return [*axioms(s).values(), s.B_v - s.Y + (s.E_phi - s.K @ s.H) @ s.Y @ s.E_phi.T]


def motion_axioms(s: Symbols) -> list[Node]:
    """Brackets pass the shift with what they are of, V = V_p + V_J, and no axis turns itself; composites of 𝓑."""
    turned = [s.V_tilde - s.V_p_tilde - s.V_J_tilde, s.E_phi.T @ s.V_tilde - s.V_p_tilde @ s.E_phi.T]
    return [
        *composite_axioms(s),
        *turned,
        s.B_v - s.r_v + s.E_phi @ s.r_v @ s.E_phi.T,
        (s.Psi_prime - 2 * s.Psi_dot) @ s.v,
    ]


def base_axioms(s: Symbols) -> list[Node]:
    """Nothing is inboard of a base link: ℰφ kills every memoryless X on E*, here X, P, GHX, GHP and GS*; W's meaning;
    and rotors do not feel uniform gravity, nor what their own joint's rate adds across their axis."""
    memoryless = [s.E_phi @ x for x in (ANY_TO_FORCES, s.P)] + [s.K @ s.H @ x for x in (ANY_TO_FORCES, s.P)]
    nothing = [x @ s.E.T for x in (*memoryless, s.K @ s.S.T)]
    unfelt = [s.S.T @ s.a, s.S.T @ s.E.T @ s.a_g, s.S.T @ s.phi.T @ s.E.T @ s.a_g]
    return [*axioms(s).values(), *nothing, *unfelt, s.W - s.E + s.E @ s.G @ s.H]


def by_weight(weights: dict[Node, int], ranks: list[Node]):
    """The heavier word first; among equals, the letters' ranks from the left. Compatible with products."""
    place = {letter: i for i, letter in enumerate(ranks)}
    return lambda word: (sum(weights[x] for x in word), tuple(place[x] for x in word))


def order_of(s: Symbols):
    """Light letters are those that normal forms are made of; M falls into P, P H* into G D."""
    weights = {s.K: 1, s.H: 1, s.D: 1, s.D.inv: 1, s.psi: 1, s.phi: 1, s.B: 1, s.E: 1, s.W: 1, s.a: 1, s.b: 1}
    weights |= {s.a0: 1, s.a_g: 1, s.T: 1, s.f: 1, s.v: 1, s.qdd: 1, s.Q: 1, s.G: 6, s.E_phi: 3, s.P: 8, s.r: 8}
    weights |= {ANY_TO_FORCES: 8, s.M: 18, s.Delta: 8, s.a_b: 1} | {
        x: 1 for x in (s.A, s.S, s.b_r) if isinstance(x, Symbol)
    }
    weights |= {
        s.V_J_tilde: 1,
        s.V_p_tilde: 8,
        s.V_tilde: 18,
        s.Psi_dot: 1,
        s.Psi_prime: 8,
        s.B_v: 18,
        s.r_v: 8,
        s.Y: 8,
    }
    ranks = [x for letter in weights for x in dict.fromkeys((letter, letter.T))]
    return by_weight({x: weights.get(x) or weights[x.T] for x in ranks}, ranks)


@cache
def completed(symbols: Symbols, which: str) -> Rules:
    chosen = {"riccati": list(axioms(symbols).values()), "composite": composite_axioms(symbols)}
    chosen |= {"coriolis": coriolis_axioms(symbols), "motion": motion_axioms(symbols)}
    zeros = chosen.get(which) or base_axioms(symbols)
    return complete([Instance("axiom", "", node, 0 * node) for node in zeros], order_of(symbols))


def written_out(node: Node, s: Symbols) -> Node:
    """Definitions filled in, ℳ⁻¹ by lemma 3: what is left are letters of the axioms."""
    definitions = dict(law.sides(s) for law in LAWS if law.name in DEFINITIONS)
    for filling in (dict([lemma_3.sides(s)]), definitions | {left.T: right.T for left, right in definitions.items()}):
        while (new := everywhere(node, filling.get)) is not None:
            node = new
    return node


def claims(law: Law, s: Symbols) -> list[Node]:
    """What has to be zero. X⁻¹ = Y says XY = I and YX = I."""
    left, right = law.sides(s)
    if isinstance(left, Inverse):
        inner, outer = written_out(left.of, s), written_out(right, s)
        return [inner @ outer - s.I, outer @ inner - s.I]
    return [written_out(left, s) - written_out(right, s)]


# The two-way laws are about where masses are, which these axioms do not say: test_proof proves them from others.
ABOUT_ROOTS = {"root_of_innovation_inertia", "root_undoes_its_square", "energy_of_residuals"}  # proved in test_proof
GIVEN = DEFINITIONS | ABOUT_MOTION | ABOUT_ROOTS
PROVABLE = [law for law in LAWS if not law.needs and law.name not in GIVEN and "RJ2W" not in law.citation]


def axioms_for(law: Law, s: Symbols) -> str:
    found = {x.name for side in law.sides(s) for x in letters(side) if isinstance(x, Symbol)}
    if found & {"B_v", "V_tilde"}:
        return "coriolis" if "Y" in found else "motion"
    return "composite" if "r" in found else "base" if found & {"E", "W", "X", "g"} else "riccati"


# Completion


@ANY_JOINTS
def test_ten_axioms_complete_to_the_papers_identities(symbols):
    s, rules = symbols, completed(symbols, "riccati")
    assert len(axioms(s)) == 10
    assert all(reduces_to_zero(axiom, rules) for axiom in axioms(s).values())
    pairs = [pair for one in rules.by_lead.values() for two in rules.by_lead.values() for pair, _ in overlaps(one, two)]
    assert len(pairs) > 20 and not any(reduce_terms(pair, rules) for pair in pairs)
    shown = {text(product(*left)) for left in rules.by_lead}
    assert {"ψG", "φG", "φKHψ", "ψKHφ", "ℰφG", "PH*", "M"} <= shown
    assert len(rules.by_lead) == 25


@ANY_JOINTS
@pytest.mark.parametrize("law", PROVABLE, ids=lambda law: law.name)
def test_the_law_follows_from_the_axioms(law, symbols):
    rules = completed(symbols, axioms_for(law, symbols))
    for claim in claims(law, symbols):
        assert reduces_to_zero(claim, rules), text(claim)


def test_completion_proves_nothing_that_is_false():
    """Each law with a sign turned is not a consequence."""
    s = SYMBOLS["armature"]
    for law in PROVABLE:
        left, right = law.sides(s)
        if not isinstance(left, Inverse) and not (isinstance(right, Sum) and not right.terms):
            false = written_out(left, s) + written_out(right, s)
            assert not reduces_to_zero(false, completed(s, axioms_for(law, s))), law.name


# The rewriter's own rules


def own_normal_form(node: Node, s: Symbols) -> Node:
    """Rewritten by the rules that the rewriter always applies, until none applies."""
    polynomial = expand(node)
    for _ in range(200):
        before = polynomial
        polynomial = cancel(polynomial)
        for rule in word_rules(s, TREE, "always"):
            polynomial = rule.apply(polynomial)
        if polynomial.same_as(before):
            return polynomial
    raise AssertionError(f"the rules do not end on {text(node)}")


# Laws that the always-rules alone do not reduce to zero, and why that is meant.
LEFT_TO_OTHERS = {
    "gains_back_to_masses": "Riccati's equation the other way, tried where it pays",
    "riccati_equation": "defines P: as a rule it would rewrite M for ever",
    "articulated_inertia": "Riccati's equation again, in Joseph's form",
    "lemma_1": "used on what is to be inverted, where it pays",
    "composite_recursion": "defines r",
    "composite_decomposition": "a choice, made by cost",
    "composite_mass_matrix": "φMφ* by composite bodies is a choice",
    "composite_bias_forces": "φMφ* by composite bodies is a choice",
    "bracket_crosses_phi": "used on what differentiation gives",
    "coriolis_composite_recursion": "defines r_v",
    "coriolis_composite_decomposition": "a choice, made by cost",
    "coriolis_articulated_recursion": "defines 𝒴",
    "composite_spatial_bias": "φMφ* by composite bodies is a choice",
    "base_stops_phi": "a choice, made by cost",
    "base_kills_shift": "a choice, made by cost",
    "base_stops_psi": "a choice, made by cost",
    "articulated_base": "a choice, made by cost",
    "base_identity": "needs the choices at the base",
    "operational_gravity": "needs the choices at the base",
    "filter_and_smoother": "needs the choices at the base",
    "sweep_method": "needs the choices at the base",
}


@ANY_JOINTS
@pytest.mark.parametrize("law", PROVABLE, ids=lambda law: law.name)
def test_the_rewriters_own_rules_reduce_a_law_to_zero_unless_it_is_left_to_others(law, symbols):
    reduces = all(not own_normal_form(claim, symbols).terms for claim in claims(law, symbols))
    assert reduces == (law.name not in LEFT_TO_OTHERS)


def test_every_reason_names_a_law():
    assert set(LEFT_TO_OTHERS) | GIVEN <= {law.name for law in LAWS}


@ANY_JOINTS
def test_the_rewriters_own_rules_are_confluent_but_for_what_only_riccatis_equation_knows(symbols):
    """Wherever two rules meet in a word, both ways lead to one normal form, or to two that differ by M's own equation
    (which as a rule would rewrite M everywhere)."""
    rules = {rule.left: dict(rule.right.terms) for rule in word_rules(symbols, TREE, "always")}
    one, d = {(): Fraction(1)}, symbols.D
    rules |= {(d, d.inv): one, (d.inv, d): one}
    none = Instance("", "", d, d)
    tame = {left: Rule(left, right, none) for left, right in rules.items() if not any(map(_is_wild, left))}
    always = Rules.of(tame)
    pairs = [pair for one in tame.values() for two in tame.values() for pair, _ in overlaps(one, two)]
    left_open = [rest for pair in pairs if (rest := reduce_terms(pair, always))]
    assert len(tame) > 30
    for rest in left_open:
        assert any(letter in word for word in rest for letter in (symbols.M, symbols.B_v, symbols.B_v.T))
        assert not reduce_terms(rest, completed(symbols, "coriolis"))
