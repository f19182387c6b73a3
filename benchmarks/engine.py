"""The engine against its peers: `phistar bench`, with the figures kept in build/bench.json and build/bench.svg.

python benchmarks/engine.py [--quick] [any option of `phistar bench`]
"""

import sys
from pathlib import Path

from phistar.cli.app import run

if __name__ == "__main__":
    build = Path(__file__).resolve().parents[1] / "build"
    build.mkdir(exist_ok=True)
    kept = ["--json", str(build / "bench.json"), "--plot", str(build / "bench.svg")]
    sys.exit(run(["bench", *kept, *sys.argv[1:]]))
