"""Resolution of inverses: (AB)⁻¹ = B⁻¹A⁻¹, and the innovations factorization of anything like a mass matrix."""

from __future__ import annotations

from fractions import Fraction

from phistar.errors import StatementError
from phistar.identities.factor import factor
from phistar.identities.justify import (
    Instance,
    Rewrite,
    Use,
    by_right_inverse,
    in_inverse,
    inverse_on_the_left,
    inverse_on_the_right,
    product_of,
    scale_uses,
    use,
)
from phistar.identities.law import SENTENCES, Setting
from phistar.identities.match import everywhere, instance_of
from phistar.identities.polynomial import Polynomial, Word, expand, is_memoryless
from phistar.identities.riccati import lemma_1
from phistar.operators.interned import collect, without_zeros
from phistar.operators.nodes import (
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
    identity,
    inverse,
    product,
    summation,
)
from phistar.operators.spaces import FORCES, MOTIONS, RANKS, RATES, TORQUES
from phistar.operators.symbols import Symbols


def split_product(node: Node) -> Rewrite | None:
    """(AB)⁻¹ = B⁻¹A⁻¹ where every factor is square."""
    if not (isinstance(node, Inverse) and isinstance(node.of, Product)):
        return None
    factors = node.of.factors
    if not all(f.domain and f.codomain and f.domain.over == f.codomain.over for f in factors):
        return None
    check_invertible(node.of)
    split = product(*(Inverse(f) if not isinstance(f, Inverse) else f.of for f in reversed(factors)))
    return Rewrite(split, lambda: _uses_of_split_product(node.of, factors, split))


def _uses_of_split_product(whole: Node, factors: tuple[Node, ...], split: Node) -> tuple[Use, ...]:
    """Multiplied back, factor by factor from the inside: X₁…XₙXₙ⁻¹…X₁⁻¹ = I."""
    unit, before, after = [], product_of(()), product_of(())
    for f in factors:
        is_inverse = isinstance(f, Inverse)
        unit.append(use(inverse_on_the_left(f.of) if is_inverse else inverse_on_the_right(f), before, after))
        before, after = before @ f, (f.of if is_inverse else Inverse(f)) @ after
    return by_right_inverse(Inverse(whole), split, unit)


def split_sum(node: Node) -> Rewrite | None:
    """(cX⁻¹ + dY⁻¹)⁻¹ = X(dX + cY)⁻¹Y, one inverse in place of three; block by block it is for `split_blocks`."""
    return None if is_memoryless(node) else _split_sum(node)


def split_blocks(node: Node) -> Rewrite | None:
    """The same of operators that are block diagonal: after the lemmas, which take a symmetric operator as it stands."""
    return _split_sum(node) if is_memoryless(node) else None


def _split_sum(node: Node) -> Rewrite | None:
    inner = node.of if isinstance(node, Inverse) else None
    if not isinstance(inner, Sum) or len(inner.terms) != 2:
        return None
    (c, one), (d, other) = inner.terms
    if not (isinstance(one, Inverse) and isinstance(other, Inverse)):
        return None
    x, y = one.of, other.of
    whole = d * x + c * y
    if isinstance(whole, Sum) and not whole.terms:
        return None
    for (e, one), (f, other) in (((c, x), (d, y)), ((d, y), (c, x))):
        if is_memoryless(Inverse(other)) and not is_memoryless(Inverse(one)):
            return _split_off(inner, (e, one), (f, other), whole)
    split = product(x, inverse(whole), y)
    return Rewrite(split, lambda: _uses_of_split_sum(inner, (c, x), (d, y), whole, split))


def _split_off(inner: Node, first: tuple[Fraction, Node], second: tuple[Fraction, Node], whole: Node) -> Rewrite:
    """(cX⁻¹ + dY⁻¹)⁻¹ = (Y − cYS⁻¹Y)/d with S = dX + cY, where Y is memoryless: X is not applied."""
    (c, x), (d, y) = first, second
    rest = product(inverse(whole), y)
    split = summation([(1 / d, y), (-c / d, product(y, rest))])

    def why() -> tuple[Use, ...]:
        """Multiplied back, by YY⁻¹ = I, XX⁻¹ = I and SS⁻¹ = I."""
        unit = (
            use(inverse_on_the_left(y)),
            *scale_uses((use(inverse_on_the_left(y), None, rest),), -c),
            *scale_uses((use(inverse_on_the_left(x), None, rest),), c),
            *scale_uses((use(inverse_on_the_right(whole), Inverse(x), y),), -c / d),
        )
        return by_right_inverse(Inverse(inner), split, unit)

    return Rewrite(split, why)


def _uses_of_split_sum(
    inner: Node, first: tuple[Fraction, Node], second: tuple[Fraction, Node], whole: Node, split: Node
) -> tuple[Use, ...]:
    """Multiplied back: (cX⁻¹ + dY⁻¹)X(dX + cY)⁻¹Y = I."""
    (c, x), (_, y) = first, second
    rest = product(inverse(whole), y)
    unit = (
        *scale_uses((use(inverse_on_the_left(x), None, rest),), c),
        *scale_uses((use(inverse_on_the_left(y), None, rest),), -c),
        use(inverse_on_the_right(whole), Inverse(y), y),
        use(inverse_on_the_left(y)),
    )
    return by_right_inverse(Inverse(inner), split, unit)


def split_shared_factor(node: Node) -> Rewrite | None:
    """(XA + XB)⁻¹ = (A + B)⁻¹X⁻¹ and (AX + BX)⁻¹ = X⁻¹(A + B)⁻¹ for a square X."""
    inner = node.of if isinstance(node, Inverse) else None
    if not isinstance(inner, Sum) or len(inner.terms) < 2 or is_memoryless(node):
        return None
    words = [(c, x.factors if isinstance(x, Product) else (x,)) for c, x in inner.terms]
    for at in (0, -1):
        ends = {factors[at] for _, factors in words}
        shared = next(iter(ends))
        if len(ends) > 1 or isinstance(shared, Identity) or shared.domain is None or shared.codomain is None:
            continue
        if shared.domain.over != shared.codomain.over:
            continue
        rests = [(c, factors[1:] if at == 0 else factors[:-1]) for c, factors in words]
        rest = summation((c, product(*x) if x else identity()) for c, x in rests)
        whole = product(shared, rest) if at == 0 else product(rest, shared)
        return split_product(Inverse(whole))
    return None


def _is_positive_sum(node: Node) -> bool:
    """Whether joints have positive weights, given by their numbers; A aside, which may be zero."""
    terms = node.terms if isinstance(node, Sum) else ((1, node),)
    positive = [x for c, x in terms if c > 0 and isinstance(x, Symbol) and "positive" in x.traits and x.name != "A"]
    return bool(positive) and all(c > 0 for c, _ in terms)


def innovations_of(node: Node, symbols: Symbols, setting: Setting) -> tuple[Rewrite, Symbols] | None:
    """(HφXφ*H* + R)⁻¹ with X, R memoryless becomes ((I+HφK)D(I+HφK)*)⁻¹ for the pair (X, R), by lemma 1; rotors
    join the pair as a third. Over the links H is I."""
    if not isinstance(node, Inverse) or node.domain not in (TORQUES, FORCES):
        return None
    pair = mass_and_armature(expand(node.of), symbols)
    if pair is None:
        return None
    if not _has_mass_everywhere(expand(pair[0])) and not _is_positive_sum(pair[1]):
        _need(setting, "nonredundant", node)
    chosen = symbols.with_pair(*pair)
    left, right = lemma_1.sides(chosen)
    why = use(instance_of(lemma_1, left, right))
    return Rewrite(Inverse(right), lambda: in_inverse((why,), node.of, right)), chosen


def _has_mass_everywhere(masses: Polynomial) -> bool:
    """Whether X holds a positive operator over all links: HφXφ*H* is then positive, whatever else frames add to it."""
    return any(not any(isinstance(x, Symbol) and x.name == "B" for x in word) for word in masses.terms)


def mass_and_armature(polynomial: Polynomial, symbols: Symbols) -> tuple[Node, ...] | None:
    """X and R of HφXφ*H* + R, and S where Hφ̃S + S*φ̃*H* is added, or None."""
    head = _axes_before_phi(polynomial, symbols)
    if head is None:
        return None
    tail = tuple(adjoint(x) for x in reversed(head))
    inside: dict[Word, Fraction] = {}
    outside: dict[Word, Fraction] = {}
    spins: dict[Word, Fraction] = {}
    for word, c in polynomial.terms.items():
        n = len(head)
        if word[:n] == head and word[-n:] == tail and _block_diagonal(word[n:-n]):
            inside[word[n:-n]] = c
        elif word and all(is_memoryless(x) for x in word):
            outside[word] = c
        elif word[:n] == head and _block_diagonal(word[n:]):
            spins[word[n:]] = c
        elif not (word[-n:] == tail and _block_diagonal(word[:-n])):
            return None
    if not inside or not polynomial.same_as(polynomial.adjoint()):
        return None
    mass = factor(Polynomial(inside, MOTIONS, MOTIONS.dual))
    rest = Polynomial(outside, polynomial.source, polynomial.target)
    axes = product(*head[:-1]) if len(head) > 1 else identity(FORCES)
    other = () if axes is symbols.H else (axes,)
    if not spins:
        return mass, factor(rest), *other
    if axes.codomain != TORQUES:
        return None
    spin = factor(Polynomial(spins, RATES, MOTIONS.dual))
    coupled = axes @ spin
    return mass, factor(rest + expand(coupled + coupled.T)), spin, *other


def _axes_before_phi(polynomial: Polynomial, symbols: Symbols) -> Word | None:
    """Hφ, or XHφ with memoryless letters X over the joints, that a polynomial begins with; φ of one over the links."""
    if polynomial.target == FORCES:
        return (symbols.phi,)
    for word in polynomial.terms:
        if symbols.phi in word:
            before = word[: word.index(symbols.phi)]
            if before and before[-1] is symbols.H and all(_is_over_joints(x) for x in before[:-1]):
                return (*before, symbols.phi)
    return None


def _is_over_joints(letter: Node) -> bool:
    return is_memoryless(letter) and letter.domain == letter.codomain == TORQUES


def _block_diagonal(word: Word) -> bool:
    """Memoryless letters, or B·U·B*: forces at the frames of a link stay on that link."""
    if len(word) == 3 and isinstance(word[0], Symbol) and word[0].name == "B" and word[2] is adjoint(word[0]):
        return is_memoryless(word[1])
    return bool(word) and all(is_memoryless(x) for x in word)


def inverses(node: Node) -> list[Inverse]:
    """Every inverse in a node, inner ones first."""
    found: dict[Inverse, None] = {}

    def collect(part: Node) -> None:
        if isinstance(part, Inverse):
            found[part] = None

    everywhere(node, collect)
    return list(found)


def open_inverses(node: Node) -> list[Inverse]:
    """Inverses of more than one letter."""
    return [x for x in inverses(node) if not isinstance(x.of, Symbol)]


def check_inverses(node: Node) -> None:
    for found in inverses(node):
        check_invertible(found.of)


def cancel(polynomial: Polynomial, uses: list[Use] | None = None) -> Polynomial:
    """X X⁻¹ = X⁻¹X = I for a letter, or for a whole word whose inverse stands beside it; told to `uses`."""
    short = {word: _cancel_word(word) for word in polynomial.terms}
    if all(word is same for word, same in short.items()):
        return polynomial
    if uses is not None:
        for word, c in polynomial.terms.items():
            uses += scale_uses(_cancel_uses(word), c)
    terms: dict[Word, Fraction] = {}
    for word, c in polynomial.terms.items():
        collect(terms, short[word], c)
    return Polynomial(without_zeros(terms), polynomial.source, polynomial.target)


def _cancel_word(word: Word) -> Word:
    found = _inverse_beside(word)
    return word if found is None else _cancel_word(word[: found[0]] + word[found[1] :])


def _cancel_uses(word: Word) -> list[Use]:
    uses: list[Use] = []
    while (found := _inverse_beside(word)) is not None:
        start, stop, instance = found
        uses.append(use(instance, product_of(word[:start]), product_of(word[stop:])))
        word = word[:start] + word[stop:]
    return uses


def _inverse_beside(word: Word) -> tuple[int, int, Instance] | None:
    """Position of an inverse beside its own argument."""
    for i, letter in enumerate(word):
        if isinstance(letter, Inverse):
            inner = expand(letter.of)
            if len(inner.terms) == 1 and next(iter(inner.terms.values())) == 1:
                (body,) = inner.terms
                if word[i + 1 : i + 1 + len(body)] == body:
                    return i, i + 1 + len(body), inverse_on_the_left(letter.of)
                if i >= len(body) and word[i - len(body) : i] == body:
                    return i - len(body), i + 1, inverse_on_the_right(letter.of)
    return None


def check_invertible(node: Node) -> None:
    """Refuse what no configuration can invert: a detour through a smaller space, or a nilpotent operator."""
    factors = node.factors if isinstance(node, Product) else (node,)
    size = {"links": 3, "joints": 2, "task": 1, "base": 1, "closures": 1}
    outer = node.domain.over if node.domain else ""
    for i, f in enumerate(factors[:-1]):
        inner = f.domain.over if f.domain else ""
        if (outer == "links" and size.get(inner, 9) < size[outer]) or (inner in RANKS and outer in ("links", "joints")):
            raise StatementError(
                f"({node!r})⁻¹ is structurally singular: between {f!r} and {factors[i + 1]!r} it passes through "
                f"{f.domain}, which is smaller than {node.domain}."
            )
    if _nilpotent(expand(node)) or _nilpotent(expand(node).adjoint()):
        raise StatementError(f"({node!r})⁻¹ is structurally singular: {node!r} is strictly causal (nilpotent).")


def _nilpotent(polynomial: Polynomial) -> bool:
    """Causal, with nothing on the diagonal: its powers die out, whatever the links. φ and ψ have I there."""
    on_diagonal = Fraction(0)
    for word, c in polynomial.terms.items():
        if not all(_causal(letter) for letter in word):
            return False
        if any(isinstance(x, Symbol) and "strict" in x.traits for x in word):
            continue
        if not all(isinstance(x, Symbol) and x.name in ("phi", "psi") for x in word):
            return False
        on_diagonal += c
    return bool(polynomial.terms) and on_diagonal == 0


def _causal(letter: Node) -> bool:
    return is_memoryless(letter) or (isinstance(letter, Symbol) and "causal" in letter.traits)


def _need(setting: Setting, condition: str, node: Node) -> None:
    if not getattr(setting, condition):
        raise StatementError(
            f"{node!r} exists only where {SENTENCES[condition]}; say so with ps.algebra({condition}=True), "
            "or bind the algebra to a model for which it is true."
        )
