"""Cheapest place for the bias accelerations of forward dynamics: passes over its program before tracing.

The laws bring Pa into z (RJK91 eqs. 14, 15). Behind the joint it costs less, because P⁺ = P − GU* has the joint's rows
zero: with ε = T − Hz free of it, z⁺ = z + P⁺a + Gε and θ̈ = D⁻¹ε − G*(φ*λ + a) (Featherstone, Rigid Body Dynamics
Algorithms 2008, table 7.1). And of a(k) the part ω × (ω × ℓ) of the way from the parent's origin need not meet P at
all: whatever a = a′ + a″, ρ = φ*a″ gives φMφ*a = φMφ*a′ + φMρ, and ρ has no angular part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from phistar.sweeps.ir import (
    Call,
    Data,
    Field,
    Invert,
    Move,
    Plus,
    Program,
    Statement,
    Term,
    Times,
    Transpose,
    fields_anywhere,
    from_parent,
    plus,
    rebuild,
    times,
)
from phistar.sweeps.passes import order, validate

Terms = Mapping[str, Term]
ONE = Fraction(1)
WAY, WITHOUT_WAY = "reaching_acceleration", "joint_acceleration"
"""Of a(k): ω × (ω × ℓ) of the way from the parent's origin, and the rest."""
H, MASS = Data("H"), Data("M")
KAPPA, RHO = Field("κ"), Field("ℓ̈")  # names that no recursion has


@dataclass(frozen=True)
class Riccati:
    """The fields of a Riccati equation U = PH*, G = UD⁻¹, P⁺ = P − GU*; with rotors there is one more term."""

    p: Field
    p_plus: Field
    g: Field
    d_inverse: Field


@dataclass(frozen=True)
class Bias:
    """z = Σφz⁺ + sign·Px + …, z⁺ = z + Ge with e = … − Hz, ν = sign·D⁻¹e and y = ν − G*φ*λ."""

    of: Riccati
    x: Term
    sign: Fraction
    z: str
    z_plus: str
    y: str
    carried: str  # φ*λ
    changed: frozenset[str]  # what will have other values: z, e, ν and, without the way's part, z⁺


def cheap_biases(program: Program) -> Program:
    """The same results; programs without such biases stay as they are."""
    terms = program.terms
    biases = (_bias_of(terms, z, of) for of in _riccati_equations(terms) for z in terms)
    found = next((bias for bias in biases if bias), None)
    if found is None or found.changed & {name for name, _ in program.outputs}:
        return program
    return validate(order(_along_the_way(_behind_the_joint(program, found), found)))


def _riccati_equations(terms: Terms) -> Iterator[Riccati]:
    """Every G = UD⁻¹ with U = PH*, where P⁺ = P − GU* is made."""
    for name, term in terms.items():
        match term:
            case Times(left=Field() as u, right=Field() as d_inverse) if isinstance(terms.get(d_inverse.name), Invert):
                made, g = terms.get(u.name), Field(name)
                if isinstance(made, Times) and isinstance(made.left, Field) and made.right is Transpose(H):
                    kept = plus([(ONE, made.left), (-ONE, times(g, Transpose(u)))])
                    yield from (Riccati(made.left, Field(x), g, d_inverse) for x, y in terms.items() if y is kept)


def _bias_of(terms: Terms, z: str, of: Riccati) -> Bias | None:
    """The bias in z, where only z⁺ and y come to know of it."""
    biased = [(c, part.right) for c, part in _parts(terms[z]) if isinstance(part, Times) and part.left is of.p]
    sent = [part.name for _, part in _parts(terms[z]) if isinstance(part, Move) and part.is_plain]
    if len(biased) != 1 or len(sent) != 1 or abs(biased[0][0]) != 1 or _readers(terms, sent[0]) != {z}:
        return None
    (sign, x), (z_plus,) = biased[0], sent
    between = {name for name in _readers(terms, z) if name != z_plus and _factor(terms[name], of.d_inverse) is None}
    e = _factor(plus([(ONE, _inline(terms, z_plus, between)), (-ONE, Field(z))]), of.g)
    if e is None or [part for part in _parts(e) if z in fields_anywhere(part[1])] != [(-ONE, times(H, Field(z)))]:
        return None
    innovation = times(of.d_inverse, plus([(sign, e)]))
    rates = {name for name in terms if _inline(terms, name, between) is innovation}
    known = between.union(*(_readers(terms, name) for name in (z, *between)))
    if len(rates) != 1 or not known <= between | rates | {z_plus}:
        return None
    changed = frozenset({z, z_plus, *between, *rates})
    return _with_result(terms, Bias(of, x, sign, z, z_plus, "", "", changed), *rates)


def _with_result(terms: Terms, bias: Bias, rate: str) -> Bias | None:
    for y in _readers(terms, rate):
        carried = _factor(plus([(ONE, Field(rate)), (-ONE, terms[y])]), Transpose(bias.of.g))
        if isinstance(carried, Field) and isinstance(sent := terms.get(carried.name), Move) and sent.is_plain:
            return replace(bias, y=y, carried=carried.name) if len(_readers(terms, rate)) == 1 else None
    return None


def _behind_the_joint(program: Program, bias: Bias) -> Program:
    """z without Px, z⁺ with P⁺x; κ = φ*λ + x in the place of φ*λ in y, and of both in λ."""
    sum_of_both = plus([(ONE, Field(bias.carried)), (ONE, bias.x)])

    def change(name: str, term: Term) -> Term:
        if name == bias.z:
            return plus([(ONE, term), (-bias.sign, times(bias.of.p, bias.x))])
        if name == bias.z_plus:
            return plus([(ONE, term), (bias.sign, times(bias.of.p_plus, bias.x))])
        if name == bias.y:
            back = Transpose(bias.of.g)
            return plus([(ONE, term), (ONE, times(back, Field(bias.carried))), (-ONE, times(back, KAPPA))])
        less = plus([(ONE, term), (-ONE, sum_of_both)])
        shorter = len(_parts(less)) == len(_parts(term)) - len(_parts(sum_of_both))
        return plus([(ONE, less), (ONE, KAPPA)]) if shorter else term

    return _change_terms(program, change, bias.y, Statement(KAPPA.name, sum_of_both))


def _along_the_way(program: Program, bias: Bias) -> Program:
    """a without the way's part; ρ = φ*ρ + that part, where b = [ω × ; ω ×]M[ω; 0] stands beside Mρ."""
    terms = program.terms
    if not _is_private(program, terms, bias):
        return program
    for part in (part for _, part in _parts(bias.x) if isinstance(part, Field)):
        call = terms.get(part.name)
        if isinstance(call, Call) and call.function == "bias_acceleration":
            force = (bias.sign, Call("bias_force", (MASS, call.arguments[0])))
            fits = force in _parts(terms[bias.z]) and (ONE, MASS) in _parts(terms[bias.of.p.name])
            if fits and _readers(terms, part.name) == {bias.z_plus, KAPPA.name}:
                return _split(program, bias, part.name, call)
    return program


def _is_private(program: Program, terms: Terms, bias: Bias) -> bool:
    """Whether λ, which is to be without ρ, makes nothing but y: no frame's acceleration, no result."""
    carried = terms[bias.carried]
    assert isinstance(carried, Move)
    accelerations = {bias.carried, KAPPA.name, carried.name}
    known = set().union(*(_readers(terms, name) for name in accelerations))
    return known <= accelerations | {bias.y} and not accelerations & {name for name, _ in program.outputs}


def _split(program: Program, bias: Bias, name: str, call: Call) -> Program:
    def change(target: str, term: Term) -> Term:
        if target == bias.z:
            return plus([(ONE, term), (bias.sign, times(MASS, RHO))])
        return Call(WITHOUT_WAY, call.arguments) if target == name else term

    along = plus([(ONE, from_parent(RHO.name)), (ONE, Call(WAY, call.arguments))])
    return _change_terms(program, change, name, Statement(RHO.name, along))


def _readers(terms: Terms, name: str) -> set[str]:
    return {reader for reader, term in terms.items() if name in fields_anywhere(term)}


def _parts(term: Term) -> tuple[tuple[Fraction, Term], ...]:
    return term.terms if isinstance(term, Plus) else ((ONE, term),)


def _factor(term: Term, left: Term) -> Term | None:
    """x where the term is `left` times x."""
    return term.right if isinstance(term, Times) and term.left is left else None


def _inline(terms: Terms, name: str, between: set[str]) -> Term:
    """A term with some fields written out."""

    def change(part: Term) -> Term:
        return terms[part.name] if isinstance(part, Field) and part.name in between else rebuild(part, change)

    return rebuild(terms[name], change)


def _change_terms(program: Program, change: Callable[[str, Term], Term], beside: str, added: Statement) -> Program:
    """The program with each term changed, and one more statement in the sweep of the field `beside`."""
    sweeps = []
    for sweep in program.sweeps:
        new = [replace(s, term=change(s.target, s.term)) for s in sweep.statements]
        new += [added] if any(s.target == beside for s in sweep.statements) else []
        sweeps.append(replace(sweep, statements=tuple(new)))
    return replace(program, sweeps=tuple(sweeps))
