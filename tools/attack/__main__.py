"""`python -m tools.attack`: how many cases of each kind loaded, were refused, or failed; exit code 1 if any failed."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tools.attack.targets import TARGETS
from tools.attack.trial import Tally


def attack(kind: str, cases: range, seed: int = 0) -> Tally:
    """Try cases of one kind; the same number and seed give the same case."""
    tally, (case, _) = Tally(), TARGETS[kind]
    with tempfile.TemporaryDirectory() as place:
        for number in cases:
            tally.add(number, case(Random(f"{seed} {kind} {number}"), Path(place)))
    return tally


def shares(cases: int) -> dict[str, int]:
    """How many of all cases each kind gets."""
    total = sum(share for _, share in TARGETS.values())
    return {kind: max(1, round(cases * share / total)) for kind, (_, share) in TARGETS.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.attack", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=TARGETS, help="this kind alone")
    parser.add_argument("--case", type=int, help="this case of it alone, with its traceback")
    given = parser.parse_args()
    if given.kind and given.case is not None:
        with tempfile.TemporaryDirectory() as place:
            TARGETS[given.kind][0](Random(f"{given.seed} {given.kind} {given.case}"), Path(place))()
        return 0
    wanted = {given.kind: given.cases} if given.kind else shares(given.cases)
    failed = 0
    for kind, count in wanted.items():
        began = time.perf_counter()
        tally = attack(kind, range(count), given.seed)
        seconds = time.perf_counter() - began
        told = ", ".join(f"{tally.outcomes[each]} {each}" for each in ("loaded", "refused", "failed"))
        print(f"{kind:10} {count:6} cases in {seconds:6.1f} s: {told}", flush=True)
        for number, why in tally.failures[:20]:
            print(f"    --kind {kind} --seed {given.seed} --case {number}: {why}", flush=True)
        failed += len(tally.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
