"""Certificates replayed exactly, and evaluated in many digits, apart from the program that wrote them.

Replayed, operators are noncommutative polynomials: a step follows where it changes Σ c·u(L − R)v of laws. Evaluated,
they are matrices of three random links by `definitions.toml`, to fifty digits; a derivative is a difference.
"""

import json
import re
import tomllib
from copy import copy
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from phistar.errors import FileError, StatementError
from phistar.safe_files import read_text

N, DIGITS, BITS, STEP = 3, 50, 480, 100  # links; digits asked; bits kept; differences are of a step 2^-100
MOST_BYTES, MOST_PARTS, MOST_FRAMES = 16 * 2**20, 200_000, 12  # of a stranger's file
MOST_TERMS, MOST_LETTERS, MOST_WORDS = 20_000, 1_000, 5_000_000  # of a side, of a word, multiplied in all
TABLES = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8"))
DEFINED, DERIVATIVES = TABLES["operators"], TABLES["derivatives"]
NUMBER = re.compile(r"-?\d{1,200}(/[1-9]\d{0,199})?")
Polynomial = dict[tuple[Any, ...], Any]
Matrix = np.ndarray


def check_certificate(file: Path, mechanisms: int) -> tuple[str, dict[str, Any], float]:
    """The statement that holds, its certificate, and the largest relative difference met; else StatementError."""
    text = read_text(file, "a certificate of phistar", MOST_BYTES)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict) or (data.get("format"), data.get("format_version")) != ("phistar certificate", 1):
        raise FileError(f"{file} is no certificate of phistar, format version 1.")
    try:
        frames = data["mechanism"]["frames"]
        if type(frames) is not int or not 0 < frames <= MOST_FRAMES or text.count("[") > MOST_PARTS:
            raise FileError(f"{file}: a certificate has 1 to {MOST_FRAMES} frames and at most {MOST_PARTS} parts.")
        replay(data)
        worst = max(evaluate(data, seed) for seed in range(mechanisms))
        return " = ".join(spell(data[side], data["symbols"]) for side in ("start", "result")), data, worst
    except RecursionError:
        raise StatementError("its statements are nested too deep to be replayed.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StatementError(f"it is damaged ({type(error).__name__}: {str(error)[:100]}).") from None


def spell(x: list[Any], symbols: list[dict[str, Any]]) -> str:
    """An operator in words: what was checked, not what the file says of itself."""
    kind, *parts = x
    if kind == "add":
        words = [(c, spell(y, symbols)) for c, y in parts]
        return " + ".join(word if c == "1" else f"{c} * ({word})" for c, word in words)
    if kind in ("mul", "adj", "inv"):
        loose = {"mul": ("add",), "adj": ("add", "mul"), "inv": ()}[kind]
        words = [(y[0], spell(y, symbols)) for y in (parts if kind == "mul" else parts[:1])]
        inner = " @ ".join(f"({word})" if head in loose else word for head, word in words)
        return {"mul": inner, "adj": f"{inner}.T", "inv": f"inv({inner})"}[kind]
    return str(symbols[parts[0]]["name"]) if kind == "sym" else "I" if kind == "id" else "0"


def replay(data: dict[str, Any]) -> None:
    """Follow the steps from start to result; each law holds for this mechanism, each lemma by the laws before it."""
    replayed, laws, here = Replay(data), data["laws"], data["start"]
    for number, law in enumerate(laws):
        if not all(data["mechanism"].get(need) for need in law["needs"]):
            raise StatementError(f"the law {law['name']} needs {law['needs']}, which the mechanism is not.")
        by_algebra = law["kind"] == "algebra" and replayed.is_inverse(law)
        if law["kind"] != "law" and not by_algebra and not replayed.follows(law, number, "left", "right"):
            raise StatementError(f"the {law['kind']} {law['name']} does not follow from the laws before it.")
    for number, step in enumerate(data["steps"], start=1):
        if replayed.expand(here) != replayed.expand(step["before"]):
            raise StatementError(f"step {number} does not begin where the one before it ended.")
        if not replayed.follows(step, len(laws), "before", "after"):
            raise StatementError(f"step {number} ({step['law']}) does not follow from the laws it names.")
        here = step["after"]
    if replayed.expand(here) != replayed.expand(data["result"]):
        raise StatementError("the last step does not end in the result.")


class Replay:
    """Operators as polynomials: words of numbered letters with coefficients; an inverse is a letter, by its inside."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.laws, self.symmetric = data["laws"], ["symmetric" in symbol["traits"] for symbol in data["symbols"]]
        self.words, self.numbers = 0, dict[Any, int]()  # multiplied so far; of the letters

    def expand(self, x: list[Any], starred: bool = False) -> Polynomial:
        match x:
            case ["sym", int(i)]:
                key: Any = (i, starred and not self.symmetric[i])
            case ["id" | "zero" as kind, *_]:
                return {(): 1} if kind == "id" else {}
            case ["adj", inner]:
                return self.expand(inner, not starred)
            case ["inv", inner, _]:
                key = frozenset(self.expand(inner, starred).items())
            case ["mul", *factors]:
                parts = (self.expand(f, starred) for f in (reversed(factors) if starred else factors))
                return reduce(self.times, parts, {(): 1})
            case ["add", *terms]:
                return total([(fraction(c), self.expand(t, starred)) for c, t in terms])
            case _:
                raise StatementError(f"{str(x)[:60]} is no operator.")
        return {(self.numbers.setdefault(key, len(self.numbers)),): 1}

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        count, longest = len(left) * len(right), sum(max(map(len, x), default=0) for x in (left, right))
        self.words += count * (1 + longest // 10)
        if count > MOST_TERMS or longest > MOST_LETTERS or self.words > MOST_WORDS:
            raise StatementError(f"a side has more than {MOST_TERMS} terms, or all of them come to {MOST_WORDS} words.")
        return total([(c, {u + v: d for v, d in right.items()}) for u, c in left.items()])

    def follows(self, step: dict[str, Any], known: int, before: str, after: str) -> bool:
        """Whether before − after = Σ c·u(L − R)v, of the laws up to the number that are known."""
        parts: list[Any] = [(1, self.expand(step[before])), (-1, self.expand(step[after]))]
        for use in step["uses"]:
            law, c = self.laws[:known][use["law"]], fraction(use["coefficient"])
            for scale, side in ((-c, law["left"]), (c, law["right"])):
                turned = ["adj", side] if use["adjoint"] else side
                parts.append((scale, self.expand(["mul", use["before"], turned, use["after"]])))
        return not total(parts)

    def is_inverse(self, law: dict[str, Any]) -> bool:
        """Whether a law is X X⁻¹ = I or X⁻¹X = I."""
        x, y = law["substitution"]["X"], ["inv", law["substitution"]["X"], ""]
        pairs = [self.expand(["mul", x, y]), self.expand(["mul", y, x])]
        return self.expand(law["right"]) == {(): 1} and self.expand(law["left"]) in pairs


def fraction(text: str) -> Fraction | int:
    if not NUMBER.fullmatch(text):
        raise StatementError(f"{text[:40]} is no coefficient; a fraction such as -1/2 was expected.")
    return Fraction(text) if "/" in text else int(text)


def total(parts: list[tuple[Any, Polynomial]]) -> Polynomial:
    result: Polynomial = {}
    for scale, part in parts:
        for word, c in part.items():
            result[word] = result.get(word, 0) + scale * c
    return {word: c for word, c in result.items() if c}


def evaluate(data: dict[str, Any], seed: int) -> float:
    """The largest relative difference between sides of laws and of steps, on one random mechanism."""
    mechanism, worst = Mechanism(data["symbols"], data["mechanism"], Random(seed)), 0.0
    own = ((["sym", i], x["domain"]) for i, x in enumerate(data["symbols"]) if "symmetric" in x["traits"])
    pairs = [("that a symbol is its own adjoint", x, ["adj", x], space) for x, space in own]
    pairs += [(f"the law {law['name']}", law["left"], law["right"], law["domain"]) for law in data["laws"]]
    pairs += [(f"step {i}", x["before"], x["after"], x["domain"]) for i, x in enumerate(data["steps"], start=1)]
    for what, left, right, domain in pairs:
        x = mechanism.draw((mechanism.size[domain], 1))
        one, other = mechanism.apply(left, x), mechanism.apply(right, x)
        error, scale = np.abs(one - other).max(initial=0), np.abs(one).max(initial=2**BITS // 10**9)
        if one.shape != other.shape or error * 10**DIGITS > scale:
            raise StatementError(f"{what} is false on a random mechanism: its sides differ by {error / 2**BITS:.3g}.")
        worst = max(worst, error / scale)
    return worst


class Fixed(np.ndarray):
    """Numbers with BITS binary places, as Python's integers: sums are exact, products rounded to the last place."""

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self.view(np.ndarray), other.view(np.ndarray)).view(Fixed) >> BITS


def to_fixed(numbers: Any) -> Matrix:
    return np.array(numbers, dtype=object).view(Fixed)


def unit(n: int) -> Matrix:
    return to_fixed(np.eye(n, dtype=int)) << BITS


def inverse(x: Matrix) -> Matrix:
    rows = np.hstack([x, unit(len(x))])
    for k in range(n := len(x)):
        at = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, at]] = rows[[at, k]]
        rows[k] = (rows[k] << BITS) // (rows[k, k] or 1)
        rows[np.arange(n) != k] -= (rows[np.arange(n) != k, k : k + 1] * rows[k]) >> BITS
    if np.abs(rows).max(initial=0) > 10**30 << BITS:
        raise StatementError("something that is inverted is singular on a random mechanism.")
    return to_fixed(rows[:, n:])


def skew(x: Any) -> Matrix:
    return to_fixed([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def diagonal(x: Matrix) -> Matrix:
    return x * np.kron(np.eye(len(x) // 6, dtype=int), np.ones((6, 6), dtype=int)).astype(object)


def bracket(formula: str, x: Matrix) -> Matrix:
    """A block for every six numbers, on the diagonal."""
    halves = [map(skew, part) for part in x.reshape(-1, 2, 3)]
    rows = [np.block(eval(formula, {"w": w, "v": v, "o": 0 * w})) for w, v in halves]
    return diagonal(to_fixed(np.vstack([np.hstack([row] * len(rows)) for row in rows])))


FUNCTIONS = {name: partial(bracket, formula) for name, formula in TABLES["brackets"].items()} | {
    "inv": inverse,
    "diagonal": diagonal,
    "root": lambda x: reduce(lambda y, _: (y + x @ inverse(y)) // 2, range(24), unit(len(x))),  # Newton's
    "together": lambda x: x,
    "axial": lambda x: to_fixed([[np.trace(x @ FUNCTIONS["tilde"](e))] for e in np.split(unit(len(x)), len(x))]),
}


class Mechanism:
    """Three links in a row or branching, with frames on them, as the certificate's mechanism has it."""

    def __init__(self, symbols: list[Any], facts: dict[str, Any], rng: Random) -> None:
        self.symbols, self.rng, self.known = symbols, rng, {}
        up = np.eye(N, k=1, dtype=int) if facts["serial"] else np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
        at = [2] if facts["serial"] and facts["tips"] else [1, 2] if facts["tips"] else [1, 2, 0]
        frames = [at[i % len(at)] for i in range(facts["frames"])]
        few = [2, 2, 2] if at == [2] else [3, 3, 0]
        self.dofs = few if facts["nonredundant"] else [3, 3, 2] if len(frames) == 1 else [5, 4, 5]
        nv, task = sum(self.dofs), 6 * len(frames)
        size = {"Forces": 6 * N, "TaskForces": task, "ClosureForces": min(3, task), "BaseForces": 6, "RootForces": 6}
        size |= {"Torques": nv, "InnerTorques": nv - self.dofs[0], "Scalars": 1, **{f"R{n}": n for n in range(1, 65)}}
        self.size = size | {x.replace("Forces", "Motions").replace("Torques", "Rates"): n for x, n in size.items()}
        self.made = {"I": unit(6 * N), "U": unit(nv), "U_task": unit(task), "N": unit(nv)[self.dofs[0] :]}
        links = {"up": up, "all": np.ones((1, N), dtype=int), "Pi_b": np.diag(1 - up.any(axis=1))}
        self.made |= {name: to_fixed(np.kron(x, unit(6))) for name, x in links.items()}
        self.made["X"] = diagonal(to_fixed(np.hstack([np.vstack([self.displacement()] * N) for _ in range(N)])))
        self.made["B"] = self.draw((6 * N, task)) * (np.repeat(range(N), 6)[:, None] == np.repeat(frames, 6))
        for name, (source, target, *traits) in TABLES["drawn"].items():
            self.made[name] = self.draw_operator(source, target, traits)
        self.about, self.key = {"M": self.made["M"], "A": 0 * unit(nv)}, ""
        given = [x for x in symbols if x["name"] in ("A", "S", "Q", "R", "L") or {"vector", "own"} & set(x["traits"])]
        for x in (x for x in given if x["name"] not in self.made | DEFINED):
            self.made[x["name"]] = self.draw_operator(x["domain"], x["codomain"], x["traits"])

    def draw(self, shape: Any) -> Matrix:
        return to_fixed([self.rng.randrange(-(2**BITS), 2**BITS) for _ in range(int(np.prod(shape)))]).reshape(shape)

    def displacement(self) -> Matrix:
        """Transform of forces along a rigid link: a rotation, by Cayley's formula, and an arm."""
        spin, arm = skew(self.draw(3)), skew(self.draw(3))
        turn = inverse(unit(3) - spin) @ (unit(3) + spin)
        return to_fixed(np.block([[turn, arm @ turn], [0 * turn, turn]]))

    def draw_operator(self, source: str, target: str, traits: list[str]) -> Matrix:
        x = self.draw((self.size[target], self.size[source]))
        x = x @ x.T + unit(len(x)) if "positive" in traits else x
        if "memoryless" in traits:
            at = [np.repeat(range(N), [6] * N if n == 6 * N else self.dofs) for n in x.shape]
            x = x * (at[0][:, None] == at[1][None, :])
        return (x + x.T) // 2 if "symmetric" in traits else x

    def __getitem__(self, name: str) -> Any:
        """The function that a definition calls by a name, or the operator of the masses and armature it is about."""
        if name not in DEFINED:
            return (self.made | FUNCTIONS | {"S": 0 * self.about.get("H", self.made["H"]).T} | self.about)[name]
        if (self.key, name) not in self.known:
            self.known[self.key, name] = self.made["I"]
            for _ in range(N if re.search(rf"\b{name}\b", DEFINED[name]) else 1):  # a recursion along the links
                self.known[self.key, name] = eval(DEFINED[name], {}, self)  # type: ignore[arg-type]
        return self.known[self.key, name]

    def apply(self, x: list[Any], y: Matrix, starred: bool = False) -> Matrix:
        """Apply an operator, given as nested lists, to y."""
        match x:
            case ["sym" | "inv", inner, *space]:
                if str(x) not in self.known:
                    inside = self.apply(inner, unit(self.size[space[0]])) if space else None
                    self.known[str(x)] = self.value(self.symbols[inner]) if inside is None else inverse(inside)
                found = self.known[str(x)]
            case ["zero", source, target]:
                found = to_fixed(np.zeros((self.size[target], self.size[source]), dtype=int))
            case ["mul", *parts]:
                return reduce(lambda z, part: self.apply(part, z, starred), parts if starred else reversed(parts), y)
            case ["add", *terms]:
                parts = ((Fraction(c), self.apply(t, y, starred)) for c, t in terms)
                return reduce(np.add, (x * c.numerator // c.denominator for c, x in parts))
            case ["adj", inner]:
                return self.apply(inner, y, not starred)
            case _:
                return y
        return (found.T if starred else found) @ y

    def value(self, symbol: dict[str, Any]) -> Matrix:
        """The matrix of a symbol: as it was drawn, as a difference, or by its definition."""
        name, of, spaces = symbol["name"], symbol["of"], symbol["of_domains"]
        if name in DERIVATIVES or name in self.made:
            return self.derivative(name, of, spaces) if name in DERIVATIVES else self.made[name]
        parts = [self.apply(x, unit(self.size[space])) for x, space in zip(of, spaces, strict=True)]
        if name in FUNCTIONS:
            return FUNCTIONS[name](parts[0])
        if name not in DEFINED:
            raise StatementError(f"{symbol['shown']} is none of the operators that are evaluated here.")
        other, extra = copy(self), ("H" if space == "Forces" else "S" for space in spaces[2:])  # other axes, rotors
        other.about, other.key = self.about | dict(zip(("M", "A", *extra), parts, strict=False)), str(of)
        return other[name]

    def derivative(self, name: str, of: list[Any], spaces: list[str]) -> Matrix:
        """Along a motion, or by every rate, column by column."""

        def difference(along: Matrix, **changes: Matrix) -> Matrix:
            ends = [self.step_along(sign, along, changes).apply(of[0], unit(self.size[spaces[0]])) for sign in (1, -1)]
            return (ends[0] - ends[1]) << (STEP - 1)

        if name == "rate":
            along, *faster = [self.apply(x, unit(1)) for x in of[1:]]
            return difference(along, **({"v": faster[0]} if faster else {}))
        vector, rates = {"partial_v": "v", "partial_qdd": "qdd"}.get(name), unit(self.size["Rates"])
        found = [difference(0 * e, **{vector: e}) if vector else difference(e) for e in np.split(rates, len(rates), 1)]
        if name == "log_det_gradient":
            whole = inverse(self.apply(of[0], unit(self.size[spaces[0]])))
            found = [to_fixed([[np.trace(whole @ x)]]) for x in found]
        return to_fixed(np.hstack(found) if "partial" in name else np.hstack(found).T)

    def step_along(self, sign: int, along: Matrix, changes: dict[str, Matrix]) -> "Mechanism":
        """A step further: joints turn what passes them, frames turn with their links (RJK91 §6)."""
        other, made = copy(self), self.made
        turn = made["I"] - (sign * FUNCTIONS["tilde"](made["H"].T @ along).T >> STEP)
        frames = made["U_task"] + (sign * FUNCTIONS["frame_turn"](self["J"] @ along).T >> STEP)
        other.made, other.known = made | {"X": made["X"] @ turn, "B": made["B"] @ frames}, {}
        other.made |= {name: made[name] + (sign * x >> STEP) for name, x in changes.items()}
        return other
