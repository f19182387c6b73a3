"""Exported C on another processor: AArch64, run here by qemu, computes what phistar computes on this machine."""

import shutil
import subprocess

import pytest

import phistar as ps

COMPILER, RUNNER = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
pytestmark = pytest.mark.skipif(
    not (COMPILER and RUNNER), reason="no aarch64-linux-gnu-gcc and qemu-aarch64 (gcc-aarch64-linux-gnu, qemu-user)"
)
CASES = {
    "forward dynamics": (ps.forward_dynamics, lambda: ps.load("puma560"), None),
    "inverse dynamics": (ps.inverse_dynamics, lambda: ps.load("puma560"), None),
    "a Jacobian": (ps.jacobian, lambda: ps.load("puma560"), "tool"),
    "derivatives": (ps.forward_dynamics_derivatives, lambda: ps.planar_chain(3, gravity=(0, -9.81, 0)), None),
    "loops over links": (ps.forward_dynamics, lambda: ps.chain(60), None),
}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("case", CASES)
def test_the_example_agrees_on_aarch64(case, level, tmp_path):
    """The example compares every result with the numbers that phistar found here, and fails where they differ."""
    function, robot, frame = CASES[case]
    paths = ps.export_c(function, robot(), tmp_path, frame, name="quantity")
    sources = [str(path) for path in paths if path.suffix == ".c"]
    program = tmp_path / "example"
    command = [COMPILER, "-std=c99", "-Wall", "-Werror", "-static", level, *sources, "-lm", "-o", str(program)]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([RUNNER, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
