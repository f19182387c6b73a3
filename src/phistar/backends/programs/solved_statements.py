"""Second derivatives of accelerations as ℳ⁻¹ times tables over three rates, word by word of their statements."""

from __future__ import annotations

from fractions import Fraction

from phistar.backends.programs.derivations import Nodes, derive, spell_statements
from phistar.backends.programs.derivative_program import multiple
from phistar.errors import StatementError
from phistar.identities.derivative_laws import joint_forces, second_inverse_derivatives
from phistar.identities.polynomial import Word, expand
from phistar.operators.linearized import PLACE, VELOCITY, partial
from phistar.operators.nodes import Inverse, Node, Symbol, product
from phistar.operators.own import own_vector
from phistar.operators.rate_letters import HELD, RATE, rate
from phistar.operators.spaces import RATES
from phistar.operators.symbols import Symbols
from phistar.sweeps.regions import SolvedStatement, SolvedTerm
from phistar.sweeps.triples import Form, triple_form


def solved_statements(nodes: Nodes, symbols: Symbols) -> tuple[SolvedStatement, ...]:
    """The terms of statements that are bilinear in x and w."""

    def make() -> tuple[SolvedStatement, ...]:
        lowering = _Lowering(symbols)
        return tuple(SolvedStatement(name, lowering.terms(node)) for name, node in nodes)

    return derive(("solved", spell_statements(nodes, symbols)), make)


class _Lowering:
    def __init__(self, symbols: Symbols) -> None:
        self.s, self.w = symbols, own_vector("w", RATES)
        self.tables = {name: triple_form(x, symbols) for name, x in second_inverse_derivatives(symbols).items()}

    def terms(self, node: Node) -> tuple[SolvedTerm, ...]:
        found: dict[tuple[str, str, bool], Fraction] = {}
        for word, c in expand(node).terms.items():
            factor, key = self.term(word)
            found[key] = found.get(key, Fraction(0)) + c * factor
        return tuple(SolvedTerm(c, *key) for key, c in found.items() if c)

    def term(self, word: Word) -> tuple[Fraction, tuple[str, str, bool]]:
        """The factor of a word; its table, what stands right of it, and whether x and w are exchanged."""
        inverse, letter, *inner = word[0], word[1] if len(word) > 2 else None, *word[2:-1]
        solved = multiple(inverse.of, self.s.mass, self.s) if isinstance(inverse, Inverse) else None
        if solved is None or not isinstance(letter, Symbol) or letter.name != RATE:
            raise StatementError(f"{product(*word)!r} is not ℳ⁻¹ times a table over three rates.")
        along = letter.of[2] if letter.of[1] is HELD else letter.of[1]
        factor, table = self.table(letter, along)
        more, right = self.right(tuple(inner))
        return factor * more / solved, (table, right, along is not self.w)

    def table(self, letter: Symbol, along: Node) -> tuple[Fraction, str]:
        whole = rate(letter.of[0], HELD, self.w) if letter.of[1] is HELD else rate(letter.of[0], self.w)  # type: ignore[arg-type]
        form = triple_form(whole, self.s)
        for name, known in self.tables.items():
            factor = _ratio(form, known)
            if factor is not None:
                return factor, name
        raise StatementError(f"{letter!r} is no multiple of a second derivative of joint forces.")

    def right(self, word: Word) -> tuple[Fraction, str]:
        """c and the first derivative of θ̈ that c times is the product."""
        if not word:
            return Fraction(1), ""
        solved = multiple(word[0].of, self.s.mass, self.s) if isinstance(word[0], Inverse) else None
        if solved is not None and len(word) == 1:
            return 1 / solved, "dtau"
        for name, by in (("dq", PLACE), ("dv", VELOCITY)):
            factor = multiple(product(*word[1:]), partial(joint_forces(self.s), by), self.s)
            if solved is not None and factor is not None:
                return -factor / solved, name
        raise StatementError(f"{product(*word)!r} is no first derivative of the joint accelerations.")


def _ratio(form: Form, other: Form) -> Fraction | None:
    if not form:
        return Fraction(0)
    if form.keys() != other.keys():
        return None
    ratios = {c / other[key] for key, c in form.items()}
    return ratios.pop() if len(ratios) == 1 else None
