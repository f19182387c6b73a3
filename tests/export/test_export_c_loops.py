"""C of long robots: loops over the links with the robot as data; strict C99 that computes what phistar computes."""

import math
import subprocess

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.c import MOST_ON_STACK
from phistar.backends.rolled_kernel import rolled_call
from phistar.recording import record
from tests.backends.kernels.interpreter import Machine, Pointer
from tests.export.test_export_c import COMPILER, STRICT, called, compiled, needs_compiler
from tests.trees import mechanism, relative

CHAIN = ps.chain(100)
TREE = mechanism(84, floating=True, bodies=44).model
CASES = [(CHAIN, "forward_dynamics"), (CHAIN, "inverse_dynamics"), (CHAIN, "mass_matrix"), (CHAIN, "kinetic_energy")]
CASES += [(TREE, "forward_dynamics"), (TREE, "mass_matrix_inverse"), (TREE, "momentum")]
VECTORS = {"forward_dynamics": 2, "inverse_dynamics": 2, "kinetic_energy": 1, "momentum": 1}


def loops_in(path):
    return path.read_text().count("for (long")


@pytest.mark.sampled(6)
@needs_compiler
@pytest.mark.parametrize(("model", "name"), CASES, ids=[f"{name} of {model.name}" for model, name in CASES])
def test_loops_compute_what_phistar_computes(model, name, tmp_path):
    rng, function = np.random.default_rng(0), getattr(ps, name)
    paths = ps.export_c(function, model, tmp_path)
    assert loops_in(paths[0]) > 3
    state = [model.random(rng), *rng.normal(size=(VECTORS.get(name, 0), model.nv))]
    expected = np.asarray(function(model, *state))
    (result,) = called(compiled(paths), state, [expected.size])
    assert relative(result, np.ravel(expected)) < 1e-10


@needs_compiler
@pytest.mark.parametrize("name", ["jacobian", "jacobian_dot_v", "mobility"])
def test_quantities_of_a_frame_of_a_long_chain(name, tmp_path):
    rng, function = np.random.default_rng(0), getattr(ps, name)
    frame = list(CHAIN.frames)[-1]
    paths = ps.export_c(function, CHAIN, tmp_path, frame)
    assert (loops_in(paths[0]) > 3) == (name != "jacobian")  # which is as fast written out
    q, v = CHAIN.random(rng), rng.normal(size=100)
    state = [q, v] if name == "jacobian_dot_v" else [q]
    expected = function(CHAIN, *state, frame)
    (result,) = called(compiled(paths), state, [expected.size])
    assert relative(result, np.ravel(expected)) < 1e-10


@needs_compiler
def test_a_function_of_one_s_own_calls_the_loops(tmp_path):
    def law(q, v, target):
        weight = ps.bias(CHAIN, q, v)
        return ps.inverse_dynamics(CHAIN, q, v, target - 2.0 * v) + 0.1 * np.sin(weight)

    law.rows = {"target": 100}
    q, v, target = np.random.default_rng(0).normal(size=(3, 100))
    paths = ps.export_c(law, CHAIN, tmp_path)
    text = paths[0].read_text()
    assert text.count("_kernel(work, ") == 2
    (result,) = called(compiled(paths), [q, v, target], [100])
    assert relative(result, law(q, v, target)) < 1e-10


@needs_compiler
def test_statements_of_long_robots_are_loops(tmp_path):
    statement = ps.algebra(CHAIN).mass
    q, x = np.random.default_rng(0).normal(size=(2, 100))
    paths = ps.export_c(statement, CHAIN, tmp_path)
    assert loops_in(paths[0]) > 3
    (result,) = called(compiled(paths), [q, x], [100])
    assert relative(result, ps.mass_matrix(CHAIN, q) @ x) < 1e-10


@pytest.mark.slow
def test_a_longer_chain_has_longer_tables_and_the_same_code(tmp_path):
    texts = []
    for n in (50, 80):
        path = ps.export_c(ps.forward_dynamics, ps.chain(n), tmp_path / str(n), name="f")[0]
        lines = path.read_text().splitlines()
        texts.append(
            [line for line in lines if line.startswith(("static void", "void", "    for", "    const double"))]
        )
    assert [len(text) for text in texts] == [len(texts[0])] * 2 and len(texts[0]) > 300


@needs_compiler
@pytest.mark.parametrize("option", ["-O0", "-O2"])
def test_every_bit_is_the_kernel_program_s(option, tmp_path):
    """No compiler changes a result: no sum is taken in another order, nothing is fused."""
    model = mechanism(85, serial=False, floating=True, bodies=42).model
    kernel, *_ = (step.work for step in record(ps.inverse_dynamics, model, calls=rolled_call).steps)
    made = kernel.export()
    rng = np.random.default_rng(0)
    q, v, a = model.random(rng), *rng.normal(size=(2, model.nv))
    out = [math.nan] * model.nv
    given = [Pointer([math.nan] * made.work), *(Pointer(x.tolist()) for x in (q, v, a)), Pointer(out)]
    Machine(made.functions, made.tables).call(made.functions[-1].name, *given)
    code = compiled(ps.export_c(ps.inverse_dynamics, model, tmp_path), option, "-ffp-contract=off")
    (result,) = called(code, [q, v, a], [model.nv])
    assert [x.hex() for x in result.tolist()] == [x.hex() for x in out]


@needs_compiler
def test_what_no_stack_should_hold_is_lent_by_the_caller(tmp_path):
    model = ps.chain(3000)
    paths = ps.export_c(ps.forward_dynamics, model, tmp_path, name="f")
    (line,) = [line for line in paths[1].read_text().splitlines() if line.startswith(" * work[")]
    assert int(line.split("[")[1].split("]")[0]) > MOST_ON_STACK
    command = [COMPILER, *STRICT, "-O1", "-o", tmp_path / "example", paths[2], paths[0], "-lm"]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
    assert subprocess.run([tmp_path / "example"], capture_output=True).returncode == 0
