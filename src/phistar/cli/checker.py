"""Certificates replayed exactly, and evaluated in many digits, apart from the program that wrote them.

A certificate's operators are nested lists. Replayed, they are noncommutative polynomials, and a step follows where what
it changes is Σ c·u(L − R)v of its laws. Evaluated, they are the matrices of a random mechanism, by the definitions of
`definitions.toml`: three rigid links with any axes and masses, to fifty digits; a derivative is a difference.
"""

import json
import re
import tomllib
from collections.abc import Callable
from copy import copy
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from mpmath import mp, mpf

from phistar.errors import FileError, StatementError
from phistar.safe_files import read_text

DIGITS, GUARD = 50, 70
MOST_BYTES, MOST_PARTS, MOST_FRAMES = 16 * 2**20, 200_000, 12  # of a stranger's file
MOST_TERMS, MOST_LETTERS, MOST_WORDS = 20_000, 1_000, 5_000_000  # of a side, of a word, multiplied in all
N, STEP = 3, mpf(10) ** -30  # links; a central difference errs by the square of its step
TABLES = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8"))
DEFINED, DERIVATIVES = TABLES["operators"], TABLES["derivatives"]
NUMBER, ONE = re.compile(r"-?\d{1,200}(/[1-9]\d{0,199})?"), Fraction(1)
Polynomial = dict[tuple[Any, ...], Fraction]
Matrix = np.ndarray


def checked(file: Path, mechanisms: int) -> tuple[str, dict[str, Any], float]:
    """What holds, the certificate that says so, and the largest relative difference met; else StatementError."""
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
        return " = ".join(spelled(data[side], data["symbols"]) for side in ("start", "result")), data, worst
    except RecursionError:
        raise StatementError("its statements are nested too deep to be replayed.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StatementError(f"it is damaged ({type(error).__name__}: {str(error)[:100]}).") from None


def spelled(x: list[Any], symbols: list[dict[str, Any]]) -> str:
    """An operator in words: what was checked, not what the file says of itself."""
    kind, *parts = x
    if kind == "add":
        words = [(c, spelled(y, symbols)) for c, y in parts]
        return " + ".join(word if c == "1" else f"{c} * ({word})" for c, word in words)
    if kind in ("mul", "adj", "inv"):
        inner = [spelled(y, symbols) for y in (parts if kind == "mul" else parts[:1])]
        if kind != "inv":
            loose = ("add",) if kind == "mul" else ("add", "mul")
            inner = [f"({word})" if y[0] in loose else word for y, word in zip(parts, inner, strict=False)]
        return {"mul": " @ ".join(inner), "adj": f"{inner[0]}.T", "inv": f"inv({inner[0]})"}[kind]
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
    """Operators as polynomials: words of letters with coefficients; an inverse is a letter that holds its inside."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.laws, self.symmetric = data["laws"], ["symmetric" in symbol["traits"] for symbol in data["symbols"]]
        self.words = 0  # multiplied so far

    def expand(self, x: list[Any], starred: bool = False) -> Polynomial:
        match x:
            case ["sym", int(i)]:
                return {((i, starred and not self.symmetric[i]),): ONE}
            case ["id", _]:
                return {(): ONE}
            case ["zero", _, _]:
                return {}
            case ["adj", inner]:
                return self.expand(inner, not starred)
            case ["inv", inner, _]:
                return {(frozenset(self.expand(inner, starred).items()),): ONE}
            case ["mul", *factors]:
                parts = (self.expand(f, starred) for f in (reversed(factors) if starred else factors))
                return reduce(self.times, parts, {(): ONE})
            case ["add", *terms]:
                return total([(fraction(c), self.expand(t, starred)) for c, t in terms])
        raise StatementError(f"{str(x)[:60]} is no operator.")

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        count, longest = len(left) * len(right), sum(max(map(len, x), default=0) for x in (left, right))
        self.words += count * (1 + longest // 10)
        if count > MOST_TERMS or longest > MOST_LETTERS or self.words > MOST_WORDS:
            raise StatementError(f"a side has more than {MOST_TERMS} terms, or all of them come to {MOST_WORDS} words.")
        return total([(c * d, {u + v: ONE}) for u, c in left.items() for v, d in right.items()])

    def follows(self, step: dict[str, Any], known: int, before: str, after: str) -> bool:
        """Whether before − after = Σ c·u(L − R)v, of the laws up to the number that are known."""
        parts = [(ONE, self.expand(step[before])), (-ONE, self.expand(step[after]))]
        for use in step["uses"]:
            law, c = self.laws[:known][use["law"]], fraction(use["coefficient"])
            for scale, side in ((-c, law["left"]), (c, law["right"])):
                whole = ["mul", use["before"], ["adj", side] if use["adjoint"] else side, use["after"]]
                parts.append((scale, self.expand(whole)))
        return not total(parts)

    def is_inverse(self, law: dict[str, Any]) -> bool:
        """Whether a law is X X⁻¹ = I or X⁻¹X = I."""
        x, y = law["substitution"]["X"], ["inv", law["substitution"]["X"], ""]
        pairs = [self.expand(["mul", x, y]), self.expand(["mul", y, x])]
        return self.expand(law["right"]) == {(): ONE} and self.expand(law["left"]) in pairs


def fraction(text: str) -> Fraction:
    if not NUMBER.fullmatch(text):
        raise StatementError(f"{text[:40]} is no coefficient; a fraction such as -1/2 was expected.")
    return Fraction(text)


def total(parts: list[tuple[Fraction, Polynomial]]) -> Polynomial:
    result: Polynomial = {}
    for scale, part in parts:
        for word, c in part.items():
            result[word] = result.get(word, Fraction(0)) + scale * c
    return {word: c for word, c in result.items() if c}


def evaluate(data: dict[str, Any], seed: int) -> float:
    """The largest relative difference between sides of laws and of steps, on one random mechanism."""
    with mp.workdps(DIGITS + GUARD):
        mechanism, worst = Mechanism(data["symbols"], data["mechanism"], Random(seed)), 0.0
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


def unit(n: int) -> Matrix:
    return np.eye(n, dtype=object) * mpf(1)


def inverted(matrix: Matrix) -> Matrix:
    try:
        made = (mp.matrix(matrix.tolist()) ** -1).tolist() if matrix.size else []
    except ZeroDivisionError:
        made = [[mp.inf]]
    if made and np.abs(made).max() > 10**30:
        raise StatementError("something that is inverted is singular on a random mechanism.")
    return np.array(made, dtype=object).reshape(matrix.shape)


def skew(x: Matrix) -> Matrix:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]], dtype=object)


def diagonal(x: Matrix) -> Matrix:
    return x * np.kron(np.eye(len(x) // 6, dtype=int), np.ones((6, 6), dtype=int))


def bracket(formula: str, x: Matrix) -> Matrix:
    """A block for every six numbers, on the diagonal."""
    halves = [map(skew, part) for part in x.reshape(-1, 2, 3)]
    rows = [np.block(eval(formula, {"w": w, "v": v, "o": 0 * w})) for w, v in halves]
    return diagonal(np.vstack([np.hstack([row] * len(rows)) for row in rows]))


FUNCTIONS: dict[str, Callable[[Matrix], Matrix]] = {
    **{name: partial(bracket, formula) for name, formula in TABLES["brackets"].items()},
    "inv": inverted,
    "diagonal": diagonal,
    "cholesky": lambda x: np.array(mp.cholesky(mp.matrix(x.tolist())).tolist(), dtype=object).T,
    "together": lambda x: x,
    "axial": lambda x: np.array([[np.trace(x @ FUNCTIONS["tilde"](e))] for e in np.split(unit(len(x)), len(x))]),
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
        self.made |= {name: np.kron(x, unit(6)) for name, x in links.items()}
        self.made["X"] = diagonal(np.hstack([np.vstack([self.displacement()] * N) for _ in range(N)]))
        self.made["B"] = self.draw((6 * N, task)) * (np.repeat(range(N), 6)[:, None] == np.repeat(frames, 6))
        for name, (source, target, *traits) in TABLES["drawn"].items():
            self.made[name] = self.drawn(source, target, traits)
        self.about, self.key = {"M": self.made["M"], "A": 0 * unit(nv), "S": 0 * self.made["H"].T}, ""
        given = [x for x in symbols if x["name"] in ("A", "S", "Q", "R", "L") or {"vector", "own"} & set(x["traits"])]
        for x in (x for x in given if x["name"] not in self.made | DEFINED):
            self.made[x["name"]] = self.drawn(x["domain"], x["codomain"], x["traits"])

    def draw(self, shape: Any) -> Matrix:
        numbers = [mpf(self.rng.getrandbits(400)) / mpf(2) ** 399 - 1 for _ in range(int(np.prod(shape)))]
        return np.array(numbers, dtype=object).reshape(shape)

    def displacement(self) -> Matrix:
        """How a rigid link carries forces: a rotation, by Cayley's formula, and an arm."""
        spin, arm = skew(self.draw(3)), skew(self.draw(3))
        turn = inverted(unit(3) - spin) @ (unit(3) + spin)
        return np.block([[turn, arm @ turn], [0 * turn, turn]])

    def drawn(self, source: str, target: str, traits: list[str]) -> Matrix:
        x = self.draw((self.size[target], self.size[source]))
        x = x @ x.T + unit(len(x)) if "positive" in traits else x
        if "memoryless" in traits:
            at = [np.repeat(range(N), [6] * N if n == 6 * N else self.dofs) for n in x.shape]
            x = x * (at[0][:, None] == at[1][None, :])
        return (x + x.T) / 2 if "symmetric" in traits else x

    def __getitem__(self, name: str) -> Any:
        """The function that a definition calls by a name, or the operator of the masses and armature it is about."""
        if name not in DEFINED:
            return (self.made | FUNCTIONS | self.about)[name]
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
                    self.known[str(x)] = self.value(self.symbols[inner]) if inside is None else inverted(inside)
                matrix = self.known[str(x)]
            case ["zero", source, target]:
                matrix = np.zeros((self.size[target], self.size[source]), dtype=object)
            case ["mul", *parts]:
                return reduce(lambda z, part: self.apply(part, z, starred), parts if starred else reversed(parts), y)
            case ["add", *terms]:
                return np.sum([mp.mpmathify(c) * self.apply(t, y, starred) for c, t in terms], axis=0)
            case ["adj", inner]:
                return self.apply(inner, y, not starred)
            case _:
                return y
        return (matrix.T if starred else matrix) @ y

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

        def whole(at: Mechanism) -> Matrix:
            x = at.apply(of[0], unit(self.size[spaces[0]]))
            return np.array([[mp.log(abs(mp.det(mp.matrix(x.tolist()))))]]) if name == "log_det_gradient" else x

        def difference(along: Matrix, **changes: Matrix) -> Matrix:
            return (whole(self.moved(STEP, along, changes)) - whole(self.moved(-STEP, along, changes))) / (2 * STEP)

        if name == "rate":
            along, *faster = [self.apply(x, unit(1)) for x in of[1:]]
            return difference(along, **({"v": faster[0]} if faster else {}))
        vector, rates = {"partial_v": "v", "partial_qdd": "qdd"}.get(name), unit(self.size["Rates"])
        found = [difference(0 * e, **{vector: e}) if vector else difference(e) for e in np.split(rates, len(rates), 1)]
        return np.hstack(found) if "partial" in name else np.hstack(found).T

    def moved(self, step: Any, along: Matrix, changes: dict[str, Matrix]) -> "Mechanism":
        """A step further: joints turn what passes them, frames turn with their links (RJK91 §6)."""
        other, made = copy(self), self.made
        turn = made["I"] - step * FUNCTIONS["tilde"](made["H"].T @ along).T
        frames = made["U_task"] + step * FUNCTIONS["frame_turn"](self["J"] @ along).T
        other.made = made | {"X": made["X"] @ turn, "B": made["B"] @ frames}
        other.made |= {name: made[name] + step * x for name, x in changes.items()}
        other.known = {}
        return other
