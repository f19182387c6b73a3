"""Sections of machine code come to lie near each other, wherever a process has gaps between its libraries."""

import subprocess
import sys

import pytest

SPREAD = """
import mmap
import numpy as np
import phistar as ps
from phistar.backends.machine.near_memory import FAR, _address, _mapped, keep_sections_near

def apart():
    small, large = _mapped(mmap.PAGESIZE), _mapped(1 << 20)
    found = abs(_address(small) - _address(large))
    small.close(), large.close()
    return found

gap, wall = _mapped(64 * mmap.PAGESIZE), mmap.mmap(-1, 5 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
gap.close()
before = apart()  # mostly far: the system lays processes out anew each time
keep_sections_near(1 << 20)
assert apart() < FAR, before
print(ps.forward_dynamics(ps.chain(7), *np.zeros((3, 7))).shape)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are the system's own")
def test_a_small_gap_far_from_the_others_is_taken_before_code_is_loaded():
    done = subprocess.run([sys.executable, "-c", SPREAD], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(7,)\n"
