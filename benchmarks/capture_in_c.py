"""A capture's controller as C against the same controller in Python, over whole runs: time of a sample, and how far the
joint forces are apart.

    python benchmarks/capture_in_c.py [SCENE [SEED]]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from phistar.onboard.capture_c import CaptureCode
from tests.onboard.test_capture_c import InC, recorded


def main(name: str = "grapple", seed: str = "1") -> None:
    controller, rows = recorded(name, int(seed), pytest.MonkeyPatch())
    with tempfile.TemporaryDirectory() as folder:
        own, spent, apart = InC(controller, Path(folder), "-O2"), [], []
        for t, sensed, plan, command, _ in rows:
            begun = time.thread_time()
            own.step(t, sensed, plan)
            spent.append(1e6 * (time.thread_time() - begun))
            apart.append(np.abs(own.tau - command.tau).max())
    largest = max(np.abs(command.tau).max() for *_, command, _ in rows)
    print(f"{name}, seed {seed}: {len(rows)} samples, {CaptureCode(controller, 'grip').operations} operations at most")
    print(f"a sample with its call from Python: {np.median(spent):.1f} µs, 99 of 100 in {np.percentile(spent, 99):.1f}")
    print(f"joint forces differ by up to {max(apart) / largest:.1e} of the largest")


if __name__ == "__main__":
    main(*sys.argv[1:])
