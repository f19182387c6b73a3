"""A run with its verdicts, and in words what exactly was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from phistar.cli.benchmark import peer_mujoco, peer_pinocchio
from phistar.cli.benchmark.benchmark_plan import Plan
from phistar.cli.benchmark.measure import BATCH_CALL, measure
from phistar.cli.benchmark.targets import verdicts

Facts = dict[str, Any]
AGREES = 1e-8  # relative; what differs by more is not the same quantity


def report(plan: Plan, tell: Callable[[str], None]) -> Facts:
    facts = measure(plan, tell)
    facts["problems"] += list(_problems(facts))
    facts["targets"] = verdicts(facts)
    facts["notes"] = list(_notes(facts))
    return facts


def _problems(facts: Facts) -> Iterator[str]:
    for row in facts["results"]:
        where = f"{row['robot']}, {row['function']}"
        if row["difference"] is not None and row["difference"] > AGREES:
            yield f"{where}: ours and the peer's results differ by {row['difference']:.1e}; the ratio means nothing."


def _notes(facts: Facts) -> Iterator[str]:
    yield (
        "ours: the public function on a batch, one thread, results allocated anew; ns per state of the best of many "
        "short runs that alternate with the peers'. × is the peer's time over ours."
    )
    if peer_pinocchio.is_installed():
        yield (
            "pin C++: Pinocchio's abaInParallel and rneaInParallel on one thread, results written in place; ≈ where it "
            "has no batch call, its Python call less the same call on a one-joint robot." + _estimate_check(facts)
        )
        yield "Python: Pinocchio's Python call; operational_space: Λ alone, by its functions and NumPy."
    else:
        yield "Pinocchio is not installed: pip install 'phistar[peers]' to compare with it."
    if peer_mujoco.is_installed():
        yield (
            "MuJoCo: mj_forward and mj_inverse from Python on a state already in place; mujoco.rollout in C++ on one "
            "thread, semi-implicit Euler; contacts and constraints off."
        )
    else:
        yield "MuJoCo is not installed: pip install 'phistar[peers]' to compare with it."
    if facts["float32"]:
        yield (
            "float32 against float64: ps.compile(function, model, dtype=np.float32) and the same without, on a batch "
            "of 1,024; bound: what may be lost at most, relative to the largest entry, as the compiled function says; "
            "lost: what was, of these states."
        )
    yield (
        "ops: multiplications, additions, divisions, sines (one each) per state. peak: ops per second over the FMA "
        "peak measured in this run. first, cached: the first call after the imports of a fresh process, compiling and "
        "not (a process for each robot, its functions in this order). code: object code on disk."
    )
    if facts["profiles"]:
        yield (
            "Where the time goes: least is the time of the multiplications and multiply-adds alone, sines and cosines "
            "included, at the rate of the peak; busy is its share of ours; the last column is the ratio to Pinocchio "
            "that nothing but fewer multiplications could surpass on this processor. Loads and stores beyond the rows "
            "themselves are values that its registers cannot hold."
        )
    differences = [row["difference"] for row in facts["results"] if row["difference"] is not None]
    if differences:
        yield f"Ours and the peers' results differ by at most {max(differences):.1e}, relative to the largest entry."


def _estimate_check(facts: Facts) -> str:
    """Test of the estimate where the truth is known."""
    rows = [row for row in facts["results"] if row["pin_cpp_is"] == BATCH_CALL and row["pin_estimate_ns"]]
    known = [row["pin_estimate_ns"] / row["pin_cpp_ns"] for row in rows if row["dof"] > 1]
    if not known:
        return ""
    return f" Where there is a batch call, this estimate is {min(known):.2f} to {max(known):.2f} of it."
