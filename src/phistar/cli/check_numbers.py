"""Random mechanisms in many digits, every operator from its definition in the papers: the numbers of `phistar check`.
What the algebra says holds for any transitions φ(p,k), any axes H(k), any masses M(k) > 0; all of them are drawn."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from mpmath import mp, mpf

from phistar.errors import StatementError

N = 3  # links


def unit(n: int) -> np.ndarray:
    return np.eye(n, dtype=object) * mpf(1)


def inverted(matrix: np.ndarray) -> np.ndarray:
    try:
        result = np.array((mp.matrix(matrix.tolist()) ** -1).tolist(), dtype=object) if matrix.size else matrix
    except ZeroDivisionError:
        result = np.full(matrix.shape, mp.inf)
    if np.abs(result).max(initial=0) > 10**30:
        raise StatementError("something that is inverted is singular on a random mechanism.")
    return result.reshape(matrix.shape)


class Mechanism:
    """Three links in a row or branching, with frames on them, as the certificate's mechanism has it."""

    def __init__(self, symbols: list[Any], facts: dict[str, Any], rng: Random) -> None:
        self.symbols, self.rng, self.known, self.unit = symbols, rng, {}, unit(6 * N)
        self.parents = [-1, 0, 1] if facts["serial"] else [-1, 0, 0]
        at = [2] if facts["serial"] and facts["tips"] else [1, 2] if facts["tips"] else [1, 2, 0]
        frames = [at[i % len(at)] for i in range(facts["frames"])]
        self.dofs = ([2, 2, 2] if at == [2] else [3, 3, 0]) if facts["nonredundant"] else [5, 4, 5]
        nv, task = sum(self.dofs), 6 * len(frames)
        self.size = {"Forces": 6 * N, "TaskForces": task, "ClosureForces": min(3, task), "BaseForces": 6, "Scalars": 1}
        self.size |= {name.replace("Forces", "Motions"): n for name, n in self.size.items()} | {
            "Rates": nv,
            "Torques": nv,
        }
        way = [self.draw((6, 6)) for _ in range(N)]
        self.shift = np.block([[way[k] * (p == i) for k, p in enumerate(self.parents)] for i in range(N)])
        self.phi = self.unit + self.shift + self.shift @ self.shift  # (I − ℰφ)⁻¹ of three links
        self.E = np.hstack([way[k] * (p < 0) for k, p in enumerate(self.parents)])
        self.B = self.draw((6 * N, task)) * (np.repeat(range(N), 6)[:, None] == np.repeat(frames, 6)[None, :])
        self.H = self.drawn("H", [nv, 6 * N], ["memoryless"])
        self.made = {"E_phi": self.shift, "phi": self.phi, "E": self.E, "B": self.B, "H": self.H, "U": unit(nv)}
        self.made |= {"U_task": unit(task), "J": self.B.T @ self.phi.T @ self.H.T}

    def draw(self, shape: Any) -> np.ndarray:
        numbers = [mpf(self.rng.getrandbits(400)) / mpf(2) ** 399 - 1 for _ in range(int(np.prod(shape)))]
        return np.array(numbers, dtype=object).reshape(shape)

    def diagonal(self, of: np.ndarray) -> np.ndarray:
        return of * np.kron(np.eye(N, dtype=int), np.ones((6, 6), dtype=int))

    def apply(self, x: list[Any], y: np.ndarray, starred: bool = False) -> np.ndarray:
        """What an operator, given as nested lists, makes of y."""
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

    def kept(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def value(self, symbol: dict[str, Any]) -> np.ndarray:
        """The matrix of a symbol: by its definition, or drawn, with the structure that it has."""
        name, traits, of = symbol["name"], symbol["traits"], symbol["of"]
        parts = [self.apply(x, unit(len(self.H) if i else 6 * N)) for i, x in enumerate(of)]
        if name in self.made:
            return self.made[name]
        if len(parts) >= 2:
            return self.kept(f"riccati {of}", lambda: self.riccati(*parts))[name]
        if name in ("C", "g", "Jdot_v", "V", "Gamma", "r"):
            return self.physical(name, *parts)
        if name in ("a", "b", "A", "M", "S", "a0", "Q", "R") or "vector" in traits or "own" in traits:
            return self.drawn(name, [self.size[symbol[side]] for side in ("codomain", "domain")], traits)
        raise StatementError(f"{symbol['shown']} is none of the operators that are evaluated here.")

    def drawn(self, name: str, sizes: list[int], traits: list[str]) -> np.ndarray:
        x = self.kept(f"drawn {name}", lambda: self.draw((sizes[0], sizes[1])))
        x = x @ x.T + unit(len(x)) if "positive" in traits else x
        if "memoryless" in traits:
            at = [np.repeat(range(N), [6] * N if n == 6 * N else self.dofs) for n in sizes]
            x = x * (at[0][:, None] == at[1][None, :])
        return (x + x.T) / 2 if "symmetric" in traits else x

    def physical(self, name: str, *parts: np.ndarray) -> np.ndarray:
        """RJK91 (4), KJR92 (41), (44), (46), R87 (29) and §XIV."""
        h, phi, result = self.H, self.phi, 0 * self.unit
        if name in ("Gamma", "r"):
            for _ in range(N):
                inner, outer = self.shift @ result @ self.shift.T, self.diagonal(self.shift.T @ result @ self.shift)
                result = inner + parts[0] if name == "r" else outer + h.T @ h
            return result
        sizes = {"v": len(h), "a": 6 * N, "b": 6 * N, "a0": len(self.B.T)}
        v, a, b, a0 = (self.drawn(x, [n, 1], []) for x, n in sizes.items())
        m = self.drawn("M", [6 * N, 6 * N], ["memoryless", "symmetric", "positive"])
        lift = self.E.T @ self.drawn("a_g", [6, 1], [])
        made = {"C": h @ phi @ (m @ phi.T @ a + b), "g": h @ phi @ m @ phi.T @ lift, "V": phi.T @ h.T @ v}
        return (made | {"Jdot_v": self.B.T @ phi.T @ a + a0})[name]

    def riccati(self, m: np.ndarray, a: np.ndarray, *rotors: np.ndarray) -> dict[str, np.ndarray]:
        """KJR92 (24)-(29), (34), (42), (57), with armature and rotors; Ω and Δ block by block on trees."""
        h, phi, p, s, shift = self.H, self.phi, 1 * m, sum(rotors) + 0 * m[:, : len(a)], self.shift
        d, g, omega = 0 * a, 0 * s, 0 * m
        for k in reversed(range(N)):
            link, joint = slice(6 * k, 6 * k + 6), slice(sum(self.dofs[:k]), sum(self.dofs[: k + 1]))
            d[joint, joint] = h[joint, link] @ p[link, link] @ h[joint, link].T + a[joint, joint]
            g[link, joint] = (p[link, link] @ h[joint, link].T + s[link, joint]) @ inverted(d[joint, joint])
            across = p[link, link] - g[link, joint] @ d[joint, joint] @ g[link, joint].T
            p = p + shift[:, link] @ across @ shift[:, link].T
        kept, source = self.unit - g @ h, h.T @ inverted(d) @ h
        e = shift @ kept
        for _ in range(N):
            omega = self.diagonal(e.T @ omega @ e) + source
        coupled = h @ (phi - self.unit) @ s
        made = {"P": p, "D": d, "G": g, "K": shift @ g, "E_psi": e, "psi": self.unit + e + e @ e}
        made |= {"W": self.E @ kept, "Omega": omega, "Delta": self.diagonal(shift.T @ omega @ shift)}
        return made | {"mass": h @ phi @ m @ phi.T @ h.T + a + coupled + coupled.T}
