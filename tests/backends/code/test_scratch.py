"""Kernels take little of the stack, whatever they work on. Each program runs in a process of its own: it may die."""

import subprocess
import sys

import pytest

from phistar.backends.kernels.llvm_values import MOST_ON_STACK, Scratch

MANY_INPUTS = """
import numpy as np, phistar as ps
count = 1_000_000
f = ps.compile(lambda x: x[:3] + x[-3:], ps.chain(2), rows={"x": count})
x = np.arange(count, dtype=float)
for given in (x, np.stack([x] * 5), np.stack([x] * 2, axis=-1).T):
    assert np.array_equal(f(given), np.broadcast_to(x[:3] + x[-3:], (*given.shape[:-1], 3)))
"""

MANY_RESULTS = """
import numpy as np, phistar as ps
f = ps.compile(lambda x: np.concatenate([x, 2.0 * x]), ps.chain(2), rows={"x": 20_000})
x = np.arange(20_000.0)
assert np.array_equal(f(x), np.concatenate([x, 2 * x]))
"""

LOOPS = """
import numpy as np, phistar as ps
b, links, above = ps.ModelBuilder("ladder"), 48, "world"
for k in range(links):
    joint = ps.Revolute(axis=(0, 1, 0) if k % 2 else (1, 0, 0))
    inertia = ps.Inertia(1.0, (0, 0, 0.1), 0.01 * np.eye(3))
    b.body(f"l{k}", parent=above, joint=joint, placement=ps.Pose(xyz=(0, 0, 0.2)), inertia=inertia)
    b.frame(f"f{k}", body=f"l{k}", placement=ps.Pose(xyz=(0.1, 0, 0.1)))
    above = f"l{k}"
for k in range(0, links, 2):
    b.loop(f"d{k}", f"f{k}", f"f{k + 1}", joint=ps.Distance(0.4))
model = b.build()
q = np.full(links, 0.1)
assert np.isfinite(ps.forward_dynamics(model, q, q, q)).all()
"""

IN_A_THREAD = """
import threading, numpy as np, phistar as ps
model = ps.load("freeflyer")
rng, found = np.random.default_rng(0), []
q, v, tau = model.random(rng, (40,)), rng.standard_normal((40, model.nv)), rng.standard_normal((40, model.nv))
x = np.ones(5000)
wide = ps.compile(lambda x: np.concatenate([x, 2.0 * x]), model, rows={"x": 5000})
def work():
    for rows in (slice(None), 0):
        found.append(ps.forward_dynamics(model, q[rows], v[rows], tau[rows]))
        found.append(ps.mass_matrix_inverse(model, q[rows]))
        found.extend(ps.forward_dynamics_derivatives(model, q[rows], v[rows], tau[rows]))
    found.append(wide(x))
    found.append(ps.rollout(model, q[0], v[0], tau[:9], 1e-3, 9).q)
work()
expected, found = found, []
threading.stack_size(192 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(found) == len(expected) and all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", [MANY_INPUTS, MANY_RESULTS, LOOPS, IN_A_THREAD])
def test_no_kernel_outgrows_the_stack(program):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))\n"
    done = subprocess.run([sys.executable, "-c", limited + program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("entries", [10, MOST_ON_STACK // 8, MOST_ON_STACK // 8 + 1])
def test_memory_beyond_the_bound_is_taken_from_the_heap_and_given_back(entries):
    scratch = Scratch({"in": entries}, 32)
    text = "\n".join([*scratch.opening(), *scratch.closing()])
    large = 8 * entries > MOST_ON_STACK
    assert ("malloc" in text, "free" in text, "alloca" in text) == (large, large, not large)


MANY_PARTS = """
import numpy as np, phistar as ps
from phistar.backends import choice
choice.SHORT_PART = 2
def long(x):
    y = x
    for _ in range(9000):
        y = 0.5 * y + x * x[::-1]
    return y
x = np.linspace(0.1, 0.9, 2)
f = ps.compile(long, ps.chain(2), rows={"x": 2})
np.testing.assert_allclose(f(np.stack([x] * 19)), [long(x)] * 19, rtol=1e-13)
"""


@pytest.mark.slow
def test_compiling_thousands_of_parts_takes_little_of_the_stack():
    done = subprocess.run([sys.executable, "-c", MANY_PARTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
