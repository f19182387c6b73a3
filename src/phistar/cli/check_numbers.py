"""Random mechanisms in many digits, every operator as definitions.toml has it: the numbers of `phistar check`.
Three rigid links, any axes, any masses; all of them drawn. A derivative is a difference."""

import ast
import operator
import tomllib
from collections.abc import Callable
from copy import copy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from mpmath import mp, mpf

from phistar.errors import StatementError

N, STEP = 3, mpf(10) ** -30  # links; a central difference errs by the square of its step
DEFINED = tomllib.loads(Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8"))
DERIVATIVES = ("rate", "partial_q", "partial_v", "partial_qdd", "gradient", "log_det_gradient")
Matrix = np.ndarray


def unit(n: int) -> Matrix:
    return np.eye(n, dtype=object) * mpf(1)


def inverted(matrix: Matrix) -> Matrix:
    try:
        result = np.array((mp.matrix(matrix.tolist()) ** -1).tolist(), dtype=object) if matrix.size else matrix
    except ZeroDivisionError:
        result = np.full(matrix.shape, mp.inf)
    if np.abs(result).max(initial=0) > 10**30:
        raise StatementError("something that is inverted is singular on a random mechanism.")
    return result.reshape(matrix.shape)


def skew(x: Matrix) -> Matrix:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]], dtype=object)


def bracket(make: Callable[[Matrix, Matrix], list[Any]]) -> Callable[[Matrix], Matrix]:
    """A block for every six numbers, on the diagonal."""

    def whole(x: Matrix) -> Matrix:
        made = [np.block(make(*map(skew, part))) for part in x.reshape(-1, 2, 3)]
        return np.block([[y if i == j else 0 * y for j in range(len(made))] for i, y in enumerate(made)])

    return whole


TILDE = ("tilde", "V_tilde", "V_p_tilde", "V_J_tilde", "alpha_p_tilde")
FUNCTIONS: dict[str, Callable[[Matrix], Matrix]] = {
    **dict.fromkeys(TILDE, bracket(lambda w, v: [[w, 0 * w], [v, w]])),
    **dict.fromkeys(("hat", "F_hat"), bracket(lambda n, f: [[-n, -f], [-f, 0 * f]])),
    "frame_turn": bracket(lambda w, _: [[w, 0 * w], [0 * w, w]]),
    "frame_sweep": bracket(lambda w, v: [[w, 0 * w], [v, 0 * w]]),
    "sweep": bracket(lambda w, _: [[0 * w, 0 * w], [0 * w, w]]),
    "inv": inverted,
    "diagonal": lambda x: x * np.kron(np.eye(N, dtype=int), np.ones((6, 6), dtype=int)),
    "cholesky": lambda x: np.array(mp.cholesky(mp.matrix(x.tolist())).tolist(), dtype=object).T,
    "together": lambda x: x,
    "axial": lambda x: np.array([[np.trace(x @ FUNCTIONS["tilde"](e))] for e in np.split(unit(len(x)), len(x))]),
}
OPERATIONS = {ast.MatMult: operator.matmul, ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv}


class Mechanism:
    """Three links in a row or branching, with frames on them, as the certificate's mechanism has it."""

    def __init__(self, symbols: list[Any], facts: dict[str, Any], rng: Random) -> None:
        self.symbols, self.rng, self.known, self.about = symbols, rng, {}, ([], "")
        parents = [-1, 0, 1] if facts["serial"] else [-1, 0, 0]
        at = [2] if facts["serial"] and facts["tips"] else [1, 2] if facts["tips"] else [1, 2, 0]
        frames = [at[i % len(at)] for i in range(facts["frames"])]
        few = [2, 2, 2] if at == [2] else [3, 3, 0]
        self.dofs = few if facts["nonredundant"] else [3, 3, 2] if len(frames) == 1 else [5, 4, 5]
        nv, task = sum(self.dofs), 6 * len(frames)
        size = {"Forces": 6 * N, "TaskForces": task, "ClosureForces": min(3, task), "BaseForces": 6, "RootForces": 6}
        size |= {"Torques": nv, "InnerTorques": nv - self.dofs[0], "Scalars": 1}
        self.size = size | {x.replace("Forces", "Motions").replace("Torques", "Rates"): n for x, n in size.items()}
        way, one, none = [self.displacement() for _ in range(N)], unit(6), 0 * unit(6)
        back, links = [inverted(x) for x in way], list(enumerate(parents))
        tables = {
            "E_phi": [[way[j] if q == i else none for j, q in links] for i, _ in links],
            "E_phi_b": [[back[i] if p == j else none for j, _ in links] for i, p in links],
            "E_s": [[back[i] @ way[j] if p == q and i != j else none for j, q in links] for i, p in links],
            "Pi_f": [[one if i == j and p < 0 else none for j, _ in links] for i, p in links],
            "Pi_b": [[one if i == j and i not in parents else none for j, _ in links] for i, _ in links],
            "E": [[way[k] if p < 0 else none for k, p in links]],
        }
        on = np.repeat(range(N), 6)[:, None] == np.repeat(frames, 6)[None, :]
        self.made = {name: np.block(table) for name, table in tables.items()} | {"I": unit(6 * N), "U": unit(nv)}
        self.made |= {"B": self.draw((6 * N, task)) * on, "pi_f": unit(6 * N)[:6], "N": unit(nv)[self.dofs[0] :]}
        self.drawn("H", "Forces", "Torques", ["memoryless"])
        self.drawn("M", "Motions", "Forces", ["memoryless", "symmetric", "positive"])
        self.made |= {"U_task": unit(task), "A": 0 * unit(nv), "S": 0 * self.made["H"].T}
        for name, space in (("v", "Rates"), ("qdd", "Rates"), ("a_g", "BaseMotions"), ("a0", "TaskMotions")):
            self.drawn(name, "Scalars", space, [])
        for x in symbols:
            if x["name"] in ("A", "S", "Q", "R") or {"vector", "own"} & set(x["traits"]):
                self.drawn(f"given {x['name']}", x["domain"], x["codomain"], x["traits"])

    def draw(self, shape: Any) -> Matrix:
        numbers = [mpf(self.rng.getrandbits(400)) / mpf(2) ** 399 - 1 for _ in range(int(np.prod(shape)))]
        return np.array(numbers, dtype=object).reshape(shape)

    def displacement(self) -> Matrix:
        """How a rigid link carries forces: a rotation, by Cayley's formula, and an arm."""
        spin, arm = skew(self.draw(3)), skew(self.draw(3))
        turn = inverted(unit(3) - spin) @ (unit(3) + spin)
        return np.block([[turn, arm @ turn], [0 * turn, turn]])

    def drawn(self, name: str, source: str, target: str, traits: list[str]) -> None:
        x = self.draw((self.size[target], self.size[source]))
        x = x @ x.T + unit(len(x)) if "positive" in traits else x
        if "memoryless" in traits:
            at = [np.repeat(range(N), [6] * N if n == 6 * N else self.dofs) for n in x.shape]
            x = x * (at[0][:, None] == at[1][None, :])
        self.made[name] = (x + x.T) / 2 if "symmetric" in traits else x

    def named(self, name: str) -> Matrix:
        """An operator by its definition, of the masses that `about` has."""
        parts, key = self.about
        if name not in DEFINED:
            return parts["MAS".index(name)] if name in "MAS" and "MAS".index(name) < len(parts) else self.made[name]
        if (key, name) not in self.known:
            whole, self.known[key, name] = ast.parse(DEFINED[name], mode="eval").body, 0 * self.made["I"]
            for _ in range(N if any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(whole)) else 1):
                self.known[key, name] = self.read(whole)
        return self.known[key, name]

    def read(self, x: ast.expr) -> Any:
        match x:
            case ast.Name(id=name):
                return self.named(name)
            case ast.Attribute(value=inner):
                return self.read(inner).T
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATIONS[type(op)](self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id=name), args=[inner]):
                return (FUNCTIONS | {"updated": self.updated})[name](self.read(inner))
        return ast.literal_eval(x)

    def updated(self, p: Matrix) -> Matrix:
        """P⁺ = P − GDG*, of the joints that a recursion has come to."""
        h = self.named("H")
        d, g = h @ p @ h.T + self.named("A"), p @ h.T + self.named("S")
        at = [i for i in range(len(d)) if d[i, i]]
        return p - g[:, at] @ inverted(d[np.ix_(at, at)]) @ g[:, at].T

    def apply(self, x: list[Any], y: Matrix, starred: bool = False) -> Matrix:
        """Apply an operator, given as nested lists, to y."""
        match x:
            case ["sym", i]:
                matrix = self.kept(f"symbol {i}", lambda: self.value(self.symbols[i]))
            case ["inv", inner, space]:
                matrix = self.kept(str(x), lambda: inverted(self.apply(inner, unit(self.size[space]))))
            case ["zero", source, target]:
                matrix = np.zeros((self.size[target], self.size[source]), dtype=object)
            case ["mul", *parts]:
                for part in parts if starred else reversed(parts):
                    y = self.apply(part, y, starred)
                return y
            case ["add", *terms]:
                return np.sum([mp.mpmathify(c) * self.apply(t, y, starred) for c, t in terms], axis=0)
            case ["adj", inner]:
                return self.apply(inner, y, not starred)
            case _:
                return y
        return (matrix.T if starred else matrix) @ y

    def kept(self, key: str, make: Callable[[], Matrix]) -> Matrix:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def value(self, symbol: dict[str, Any]) -> Matrix:
        """The matrix of a symbol: by its definition, as a difference, or drawn, with the structure that it has."""
        name, of, spaces = symbol["name"], symbol["of"], symbol["of_domains"]
        if name in DERIVATIVES:
            return self.derivative(name, of, spaces)
        parts = [self.apply(x, unit(self.size[space])) for x, space in zip(of, spaces, strict=True)]
        if name in FUNCTIONS:
            return FUNCTIONS[name](parts[0])
        if name in DEFINED or (name in self.made and name not in "AS"):
            other = copy(self)
            other.about = parts, str(of)
            return other.named(name)
        if f"given {name}" in self.made:
            return self.made[f"given {name}"]
        raise StatementError(f"{symbol['shown']} is none of the operators that are evaluated here.")

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
        frames = made["U_task"] + step * FUNCTIONS["frame_turn"](self.named("J") @ along).T
        other.made = made | {"E_phi": made["E_phi"] @ turn, "E": made["E"] @ turn, "B": made["B"] @ frames}
        other.made |= {name: made[name] + step * x for name, x in changes.items()}
        other.known = {}
        return other
