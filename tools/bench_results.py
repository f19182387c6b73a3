"""Measure anew what the site and README.md show of speed: `phistar bench`, kept with its date.

python tools/bench_results.py [any option of `phistar bench`]

Writes benchmarks/results.json, from which docs/generate_benchmarks.py makes the page and the table in README.md.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from phistar.cli.app import run

KEPT = Path(__file__).resolve().parent.parent / "benchmarks" / "results.json"


def main() -> int:
    code = run(["bench", "--json", str(KEPT), *sys.argv[1:]])
    if code == 0:
        facts = json.loads(KEPT.read_text("utf-8"))
        KEPT.write_text(json.dumps({"date": f"{datetime.now(UTC):%Y-%m-%d}", **facts}, indent=1) + "\n", "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
