"""`phistar check`: replays a certificate and evaluates it, apart from the program that wrote it. Each step is replayed
exactly, each law and step evaluated to fifty digits on random mechanisms. Nothing of phistar is imported but errors and
the reader of files."""

import random
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from phistar.cli.certificate_files import read_certificate, spelled
from phistar.errors import StatementError

DIGITS, GUARD = 50, 70
MOST_TERMS, MOST_LETTERS, MOST_WORDS = 20_000, 1_000, 5_000_000  # of a side, of a word, multiplied in all
Polynomial = dict[tuple[Any, ...], Fraction]


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate, as derivation.certificate() gives it.")],
    mechanisms: Annotated[int, typer.Option(min=1, max=100, help="How many random mechanisms to evaluate on.")] = 2,
) -> None:
    """Check a certificate: replay every step exactly, and evaluate it to 50 digits on random mechanisms.

    \b
    Examples:
      phistar check proof.json    what phistar derive "inv(mass)" --certificate proof.json writes
    """
    try:
        data, worst = checked(file, mechanisms)
    except StatementError as error:
        typer.echo(f"{file} does not hold: {error}", err=True)
        raise typer.Exit(1) from None
    said = " = ".join(spelled(data[side], data["symbols"]) for side in ("start", "result"))
    typer.echo(f"{said} holds: {len(data['steps'])} steps replayed exactly,")
    typer.echo(f"evaluated on {mechanisms} random mechanisms to {DIGITS} digits (largest difference {worst:.0e}).")


def checked(file: Path, mechanisms: int) -> tuple[dict[str, Any], float]:
    """A certificate that holds, and the largest relative difference met; StatementError where it does not hold."""
    data = read_certificate(file)
    try:
        replay(data)
        worst = max(evaluate(data, seed) for seed in range(mechanisms))
    except RecursionError:
        raise StatementError("its statements are nested too deep to be replayed.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StatementError(f"it is damaged ({type(error).__name__}: {str(error)[:100]}).") from None
    return data, worst


class Expand:
    """Nested lists multiplied out: words of letters with coefficients; an inverse is a letter that holds its inside."""

    def __init__(self, symbols: list[dict[str, Any]]) -> None:
        self.symmetric = ["symmetric" in symbol["traits"] for symbol in symbols]
        self.words = 0  # multiplied so far

    def __call__(self, x: list[Any]) -> Polynomial:
        match x:
            case ["sym", int(i)]:
                return {(("s", i, False),): Fraction(1)}
            case ["id", _]:
                return {(): Fraction(1)}
            case ["zero", _, _]:
                return {}
            case ["adj", inner]:
                return self.starred(self(inner))
            case ["inv", inner, _]:
                return {(("i", tuple(sorted(self(inner).items(), key=repr))),): Fraction(1)}
            case ["mul", *factors]:
                return reduce(self.times, (self(f) for f in factors), {(): Fraction(1)})
            case ["add", *terms]:
                return total([(Fraction(c), self(t)) for c, t in terms])
        raise StatementError(f"{str(x)[:60]} is no operator.")

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        count, longest = len(left) * len(right), sum(max(map(len, x), default=0) for x in (left, right))
        self.words += count * (1 + longest // 10)
        if count > MOST_TERMS or longest > MOST_LETTERS or self.words > MOST_WORDS:
            raise StatementError(f"a side has more than {MOST_TERMS} terms, or all of them come to {MOST_WORDS} words.")
        return total([(c * d, {u + v: Fraction(1)}) for u, c in left.items() for v, d in right.items()])

    def starred(self, polynomial: Polynomial) -> Polynomial:
        return {tuple(self.letter(y) for y in reversed(word)): c for word, c in polynomial.items()}

    def letter(self, y: tuple[Any, ...]) -> tuple[Any, ...]:
        if y[0] == "i":
            return "i", tuple(sorted(self.starred(dict(y[1])).items(), key=repr))
        return y if self.symmetric[y[1]] else ("s", y[1], not y[2])


def total(parts: list[tuple[Fraction, Polynomial]]) -> Polynomial:
    result: Polynomial = {}
    for scale, part in parts:
        for word, c in part.items():
            result[word] = result.get(word, Fraction(0)) + scale * c
    return {word: c for word, c in result.items() if c}


def replay(data: dict[str, Any]) -> None:
    """Follow the steps from start to result; each law holds for this mechanism, each lemma by the laws before it."""
    expand, laws, here = Expand(data["symbols"]), data["laws"], data["start"]
    for number, law in enumerate(laws):
        if not all(data["mechanism"].get(need) for need in law["needs"]):
            raise StatementError(f"the law {law['name']} needs {law['needs']}, which the mechanism is not.")
        proved = follows(law["left"], law["right"], law["uses"], laws[:number], expand)
        if law["kind"] != "law" and not (is_algebra(law, expand) if law["kind"] == "algebra" else proved):
            raise StatementError(f"the {law['kind']} {law['name']} does not follow from the laws before it.")
    for number, step in enumerate(data["steps"], start=1):
        if expand(here) != expand(step["before"]):
            raise StatementError(f"step {number} does not begin where the one before it ended.")
        if not follows(step["before"], step["after"], step["uses"], laws, expand):
            raise StatementError(f"step {number} ({step['law']}) does not follow from the laws it names.")
        here = step["after"]
    if expand(here) != expand(data["result"]):
        raise StatementError("the last step does not end in the result.")


def follows(before: Any, after: Any, uses: list[Any], laws: list[Any], expand: Expand) -> bool:
    """Whether before − after = Σ c·u(L − R)v."""
    parts = [(Fraction(1), expand(before)), (Fraction(-1), expand(after))]
    for use in uses:
        law, c = laws[use["law"]], Fraction(use["coefficient"])
        for scale, side in ((-c, law["left"]), (c, law["right"])):
            whole = ["mul", use["before"], ["adj", side] if use["adjoint"] else side, use["after"]]
            parts.append((scale, expand(whole)))
    return not total(parts)


def is_algebra(law: dict[str, Any], expand: Expand) -> bool:
    """X X⁻¹ = I, X⁻¹X = I or (X₁…Xₙ)⁻¹ = Xₙ⁻¹…X₁⁻¹, where (X⁻¹)⁻¹ is X."""
    parts, right = list(law["substitution"].values()), expand(law["right"])
    inverses = [part[1] if part[0] == "inv" else ["inv", part, ""] for part in parts]
    pairs = [["mul", parts[0], inverses[0]], ["mul", inverses[0], parts[0]]] if len(parts) == 1 else []
    if right == {(): 1}:
        return any(expand(law["left"]) == expand(pair) for pair in pairs)
    whole = ["inv", ["mul", *parts], ""], ["mul", *reversed(inverses)]
    return expand(law["left"]) == expand(whole[0]) and right == expand(whole[1])


def evaluate(data: dict[str, Any], seed: int) -> float:
    """The largest relative difference between sides of laws and of steps, on one random mechanism."""
    from phistar.cli.check_numbers import Mechanism, mp

    with mp.workdps(DIGITS + GUARD):
        mechanism, worst = Mechanism(data["symbols"], data["mechanism"], random.Random(seed)), 0.0
        own = [(["sym", i], x["domain"]) for i, x in enumerate(data["symbols"]) if "symmetric" in x["traits"]]
        pairs = [("that a symbol is its own adjoint", x, ["adj", x], domain) for x, domain in own]
        pairs += [(f"the law {law['name']}", law["left"], law["right"], law["domain"]) for law in data["laws"]]
        pairs += [(f"step {i}", x["before"], x["after"], x["domain"]) for i, x in enumerate(data["steps"], start=1)]
        for what, left, right, domain in pairs:
            x = mechanism.draw((mechanism.size[domain], 1))
            one, other = mechanism.apply(left, x), mechanism.apply(right, x)
            error, scale = np.abs(one - other).max(initial=0), np.abs(one).max(initial=10**-9)
            if one.shape != other.shape or error > scale * mp.mpf(10) ** -DIGITS:
                raise StatementError(f"{what} is false on a random mechanism: its sides differ by {float(error):.3g}.")
            worst = max(worst, float(error / scale))
    return worst
