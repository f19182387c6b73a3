"""How long derivations and proofs take: the site's derivations, the papers' equations, and their certificates.

python benchmarks/proofs.py [ROUNDS]

Each statement is derived or proved with empty caches, its certificate made, and replayed as `phistar check` does; times
are of the processor, of the best round. To reach: each derivation or proof within 1 s, each certificate checked within
5 s. The last line is what `import phistar` costs beyond NumPy, in fresh processes.
"""

import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.expression import Expression
from phistar.identities.derivation import Derivation
from phistar.operators.parse import parse
from phistar.operators.symbols import NAMES

ROOT = Path(__file__).resolve().parent.parent
DERIVED, CHECKED = 1.0, 5.0  # s, to reach
SHOWN = 5  # the slowest ones
SITE = runpy.run_path(str(ROOT / "docs" / "generate_derivations.py"))
IMPORT = "import numpy, time; start = time.process_time(); import phistar; print(time.process_time() - start)"
Named = tuple[str, Callable[[], Derivation]]


def seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = act()
    return time.process_time() - start, found


def forget() -> None:
    """Empty every cache of the algebra; derivations are shared between robots and would be found there."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("phistar.identities", "phistar.sweeps", "phistar.expression")):
            for each in vars(module).values():
                if isinstance(each, _lru_cache_wrapper):
                    each.cache_clear()


def derivations() -> Iterator[Named]:
    """The site's statements, on chains and on trees."""
    chain, tree = ps.algebra(nonredundant=True), ps.algebra(tree=True, armature=True, nonredundant=True)
    for where, algebra in (("chain", chain), ("tree", tree)):
        for entry in SITE["ENTRIES"]:
            statement = entry.statement(algebra)
            yield f"{entry.title} ({where})", lambda s=statement, e=entry: s.derivation(matrix=e.matrix)


def proofs() -> Iterator[Named]:
    """The papers' numbered equations, as the tests list them."""
    printed = runpy.run_path(str(ROOT / "tests" / "identities" / "printed.py"))
    algebra = ps.algebra()
    symbols = {name: getattr(algebra, name).node for name in NAMES}
    symbols |= {name: rate(algebra).node for name, rate in printed["RATES"].items()}
    for name, pair in printed["PRINTED"].items():
        left, right = (algebra.expression(parse(side, symbols)) for side in pair)
        yield name, lambda left=left, right=right: proof_of(left, right)


def proof_of(left: Expression, right: Expression) -> Derivation:
    found = left.equals(right).derivation
    if found is None:
        raise SystemExit(f"{left.show()} = {right.show()} is not proved.")
    return found


def check(certificate: dict[str, Any]) -> None:
    """What `phistar check` does."""
    replay(certificate)
    evaluate(certificate, 0)


def measure(make: Callable[[], Derivation], rounds: int) -> tuple[float, float, int]:
    """Seconds to derive and to check, and the steps, of the best round."""
    found = []
    for _ in range(rounds):
        forget()
        deriving, derivation = seconds(make)
        certificate = derivation.certificate()
        checking, _ = seconds(lambda c=certificate: check(c))
        found.append((deriving, checking, len(certificate["steps"])))
    return min(each[0] for each in found), min(each[1] for each in found), found[0][2]


def report(title: str, statements: Iterator[Named], rounds: int) -> None:
    rows = [(name, *measure(make, rounds)) for name, make in statements]
    print(f"\n{title}: {len(rows)}; the slowest of each kind:")
    for heading, at, goal in (("found", 1, DERIVED), ("certificate checked", 2, CHECKED)):
        slowest = sorted(rows, key=lambda row: float(row[at]), reverse=True)[:SHOWN]
        print(f"  {heading} (to reach: {goal:g} s)")
        for row in slowest:
            print(f"    {row[at]:7.3f} s  {row[3]:3d} steps  {row[0]}")


def main(arguments: list[str]) -> int:
    rounds = int(arguments[0]) if arguments else 3
    report("Derivations of the site", derivations(), rounds)
    report("Equations of the papers, proved", proofs(), rounds)
    runs = [subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True) for _ in "12345"]
    print(f"\nimport phistar, beyond NumPy: {1e3 * min(float(run.stdout) for run in runs):.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
