"""C export: strict C99 that compiles without a warning and computes what phistar computes."""

import ctypes
import os
import re
import shutil
import stat
import subprocess
from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PART
from phistar.backends.code.c import SCRATCH, identifier, plain, variables
from tests.loops.mechanisms import four_bar
from tests.trees import KINDS, mechanism, relative

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
TOLERANCE = 1e-12


def compiled(paths, *options):
    """The C function, loaded."""
    library = paths[0].with_suffix(".so")
    command = [COMPILER, *STRICT, "-O1", "-shared", "-fPIC", *options, "-o", library, paths[0], "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return getattr(ctypes.CDLL(str(library)), paths[0].stem)


def called(function, arguments, sizes):
    """The results of a C function, one array each."""
    given = [np.ascontiguousarray(x, dtype=float) for x in arguments]
    results = [np.full(size, np.nan) for size in sizes]
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*given, *results)]
    function.restype = None
    function(*pointers)
    return results


@cache
def robots():
    return {
        "puma560": ps.load("puma560"),
        "planar3": ps.load("planar3"),
        "rj2w_tree": ps.load("rj2w_tree"),
        "freeflyer": ps.load("freeflyer"),
        **{kind: mechanism(70, kind=kind, bodies=2, frames=1, armature=True).model for kind in KINDS},
    }


QUANTITIES = {
    "forward_dynamics": ("v", "tau"),
    "inverse_dynamics": ("v", "a"),
    "mass_matrix": (),
    "mass_matrix_inverse": (),
    "bias": ("v",),
    "gravity_load": (),
    "momentum": ("v",),
    "kinetic_energy": ("v",),
    "center_of_mass": (),
}


PAIRS = [(robot, name) for robot in ("puma560", "planar3") for name in QUANTITIES]
PAIRS += [(robot, name) for robot in ("rj2w_tree", "freeflyer", *KINDS) for name in ("inverse_dynamics", "bias")]
PAIRS += [(robot, "forward_dynamics") for robot in KINDS]


@pytest.mark.sampled(4)
@needs_compiler
@pytest.mark.parametrize("robot, name", PAIRS)
def test_c_computes_what_phistar_computes(robot, name, tmp_path):
    model, rng, function = robots()[robot], np.random.default_rng(0), getattr(ps, name)
    code = compiled(ps.export_c(function, model, tmp_path))
    for _ in range(3):
        state = [model.random(rng), *rng.normal(size=(len(QUANTITIES[name]), model.nv))]
        expected = np.asarray(function(model, *state))
        (result,) = called(code, state, [expected.size])
        assert relative(result, np.ravel(expected)) < TOLERANCE * conditioning(name, model, state[0])


@needs_compiler
@pytest.mark.parametrize("kind", ["bending", "closed"])
def test_c_of_links_of_any_width_computes_the_same_and_lists_every_rate(kind, tmp_path):
    """A beam with its modes; a four-bar in its independent rate."""
    if kind == "bending":
        b = ps.ModelBuilder("boom")
        b.body("boom", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.beam(1.0, 20.0, 1.0, modes=2))
        b.body("hand", "boom.tip", ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(0.5, (0.1, 0, 0), 1e-3 * np.eye(3)))
        model = b.build()
        q, listed = 0.1 * np.ones(model.nq), ["boom, about its axis", "boom, mode 1, per s", "boom, mode 2, per s"]
    else:
        closed = four_bar()
        q = ps.assemble(closed, np.array([-1.2, 1.2, -1.2]))
        model, listed = closed.embedded(independent=["crank"], q=q), ["v[0]: crank, about its axis"]
    paths, (v, tau) = ps.export_c(ps.forward_dynamics, model, tmp_path), np.ones((2, model.nv))
    (result,) = called(compiled(paths), [q, v, tau], [model.nv])
    assert relative(result, ps.forward_dynamics(model, q, v, tau)) < 1e-10
    header = next(path for path in paths if path.suffix == ".h").read_text()
    assert all(line in header for line in listed) and f"v[{model.nv}]: " in header


def conditioning(name, model, q):
    """Inverses amplify rounding; what two orders of the same sums may differ by."""
    return max(1.0, 1e-2 * np.linalg.cond(ps.mass_matrix(model, q))) if "inverse" in name or "forward" in name else 1.0


@pytest.mark.sampled(2)
@needs_compiler
@pytest.mark.parametrize("name", ["jacobian", "forward_kinematics", "jacobian_dot_v", "operational_space"])
def test_quantities_of_a_frame(name, tmp_path):
    model, rng, function = ps.load("puma560"), np.random.default_rng(0), getattr(ps, name)
    code = compiled(ps.export_c(function, model, tmp_path, "tool"))
    q, v = model.random(rng), rng.normal(size=6)
    state = [q] if name in ("jacobian", "forward_kinematics") else [q, v]
    expected = function(model, *state, "tool")
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for ours, theirs in zip(called(code, state, [x.size for x in expected]), expected, strict=True):
        assert relative(ours, np.ravel(theirs)) < 1e-10


@needs_compiler
def test_external_forces_and_parameters_are_arguments(tmp_path):
    model, rng = ps.load("puma560"), np.random.default_rng(0)
    code = compiled(ps.export_c(ps.forward_dynamics, model, tmp_path, "tool", parameters=("inertia", "gravity")))
    q, v, tau, force = rng.normal(size=(4, 6))
    inertia = np.concatenate([body.inertia.parameters for body in model.bodies])
    (result,) = called(code, [q, v, tau, force, inertia, model.gravity], [6])
    expected = ps.forward_dynamics(model, q, v, tau, {"tool": force})
    assert relative(result, expected) < 1e-11


@needs_compiler
@pytest.mark.parametrize("option", ["-O0", "-O2", "-O3"])
def test_the_example_checks_itself(tmp_path, option):
    paths = ps.export_c(ps.forward_dynamics, ps.load("puma560"), tmp_path)
    program = tmp_path / "example"
    command = [COMPILER, *STRICT, option, "-o", program, paths[2], paths[0], "-lm"]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0 and "difference from phistar" in done.stdout
    wrong = paths[0].read_text().replace("sin(", "cos(")
    paths[0].write_text(wrong)
    subprocess.run(command, check=True)
    assert subprocess.run([program], capture_output=True).returncode == 1


@needs_compiler
def test_the_readme_s_command_works(tmp_path):
    ps.export_c(ps.bias, ps.load("planar2"), tmp_path)
    (command,) = re.findall(r"```sh\n(.*)\n```", (tmp_path / "README.md").read_text())
    done = subprocess.run(command.replace("cc ", f"{COMPILER} ", 1), shell=True, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_c_plus_plus_can_call_it(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    paths = ps.export_c(ps.bias, ps.load("planar2"), tmp_path)
    done = subprocess.run([compiler, "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", paths[1]], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_source_needs_only_math_and_keeps_no_state(tmp_path):
    paths = ps.export_c(ps.mass_matrix_inverse, ps.load("puma560"), tmp_path)
    source = paths[0].read_text()
    assert re.findall(r"#include\s+(\S+)", source) == ["<math.h>", '"puma560_mass_matrix_inverse.h"']
    assert not re.search(r"alloc|free\(|printf|goto|while|for \(", source)
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    at_file_level = [line for line in code.splitlines() if line and line[0] not in " {}#"]
    assert all(
        re.match(r"((APART )?static )?void \w+\(.*\)$", line) for line in at_file_level
    )  # functions, no variables


def test_every_constant_is_exact(tmp_path):
    """Hexadecimal, or part of an index: no decimal digits that a compiler would have to round."""
    source = ps.export_c(ps.forward_dynamics, ps.load("puma560"), tmp_path)[0].read_text()
    assert "0x1." in source
    decimals = re.findall(r"(?<![\w.+-])\d+\.\d+(?![\w])", re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL))
    assert set(decimals) <= {"0.0", "1.0"}


def test_long_functions_are_split(tmp_path):
    source = ps.export_c(ps.mass_matrix_inverse, ps.chain(9), tmp_path)[0].read_text()
    parts = re.findall(r"^APART static void .*?^}", source, flags=re.DOTALL | re.MULTILINE)
    assert len(parts) > 3 and all(part.count("\n    const double x") <= 2 * PART for part in parts)


@needs_compiler
def test_a_split_function_computes_the_same(tmp_path):
    model = ps.chain(9)
    code = compiled(ps.export_c(ps.mass_matrix_inverse, model, tmp_path))
    q = model.random(np.random.default_rng(0))
    (result,) = called(code, [q], [81])
    assert relative(result.reshape(9, 9), ps.mass_matrix_inverse(model, q)) < 1e-9


def test_the_header_tells_shape_order_and_units_of_everything(tmp_path):
    model = mechanism(71, kind="spherical", floating=True, bodies=2, frames=1).model
    header = ps.export_c(ps.forward_dynamics, model, tmp_path, "frame0")[1].read_text()
    assert "f_ext[6]" in header and "frame0" in header
    for k in range(model.nq):
        assert f" * q[{k}]: " in header
    for k in range(model.nv):
        assert re.search(rf" \* v\[{k}\]: \w+, .*, in (rad|m)/s\n", header)
    for text in ("q[11]", "v[9]", "tau[9]", "out[9]", "in rad/s^2 or m/s^2", "N m", "quaternion w", "of unit norm"):
        assert text in header
    assert max(map(len, header.splitlines())) <= 160


def test_the_header_of_a_statement_names_its_spaces(tmp_path):
    model = ps.load("puma560")
    algebra = ps.algebra(model, ["tool"])
    header = ps.export_c(algebra.mass.inv @ algebra.J.T, model, tmp_path, name="reaction")[1].read_text()
    assert "x[6]: what the operator acts on: TaskForces[tool]" in header and "out[6]: Rates" in header
    assert "void reaction(const double *q, const double *x, double *out);" in header


def test_several_functions_share_a_folder_and_its_readme(tmp_path):
    model = ps.load("planar2")
    for function in (ps.bias, ps.mass_matrix):
        ps.export_c(function, model, tmp_path / "deep" / "folder")
    readme = (tmp_path / "deep" / "folder" / "README.md").read_text()
    assert "void planar2_bias(" in readme and "void planar2_mass_matrix(" in readme
    assert len(list((tmp_path / "deep" / "folder").iterdir())) == 7


def test_exporting_twice_gives_the_same_files(tmp_path):
    first, second = (ps.export_c(ps.bias, ps.load("planar3"), tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    paths = ps.export_c(ps.bias, ps.load("planar2"), tmp_path)
    before = {path: path.read_bytes() for path in paths}
    real, opened = type(tmp_path).open, []

    def failing(self, mode="r", *rest, **options):
        if mode == "xb":
            opened.append(self)
            if len(opened) == 3:
                raise OSError(28, "No space left on device")
        return real(self, mode, *rest, **options)

    monkeypatch.setattr(type(tmp_path), "open", failing)
    with pytest.raises(ps.FileError, match="No space left on device"):
        ps.export_c(ps.bias, ps.load("planar2", gravity=(0, 0, -1)), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_a_file_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ps.FileError, match="cannot be written"):
        ps.export_c(ps.bias, ps.load("planar2"), tmp_path / "file" / "below")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_files_are_readable_as_the_user_s_other_files(tmp_path):
    old = os.umask(0o022)
    try:
        paths = ps.export_c(ps.bias, ps.load("planar2"), tmp_path)
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o644}


EVIL = [
    "*/ int evil; /*",
    "a\\\nb",
    "??/\n",
    "#include <stdio.h>\n",
    "☃ \u202e",
    "../../x",
    "for",
    "7up",
    "☃",
    "a" * 300,
]


@needs_compiler
@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_no_name_of_a_robot_file_gets_into_the_code(tmp_path, name):
    builder = ps.ModelBuilder(name)
    joint = f"{name} joint"
    builder.body("link", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0.1, 0, 0)), joint_name=joint)
    model = builder.build()
    paths = ps.export_c(ps.gravity_load, model, tmp_path / "out")
    assert {path.parent for path in paths} == {tmp_path / "out"}
    assert all(path.read_text().isascii() for path in paths)
    (load,) = called(compiled(paths), [np.zeros(1)], [1])
    assert load == pytest.approx(ps.gravity_load(model, [0.0]))


def clashing(q, static, x0, between, worst):
    return {"sin": np.sin(q), "x1": static, "a b": x0, "a-b": between, "new": worst, "out_expected": q, "out": q}


@needs_compiler
def test_arguments_and_results_may_have_any_name(tmp_path):
    """Words of C and C++, functions and variables of the code, and keys that are no names at all."""
    rows = dict.fromkeys(("static", "x0", "between", "worst"), 3)
    paths = ps.export_c(clashing, ps.load("planar3"), tmp_path, rows=rows)
    example = [COMPILER, *STRICT, "-o", tmp_path / "example", tmp_path / "planar3_clashing_example.c", paths[0], "-lm"]
    done = subprocess.run(example, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "example"], capture_output=True).returncode == 0
    given = np.random.default_rng(0).normal(size=(5, 3))
    for ours, theirs in zip(called(compiled(paths), given, [3] * 7), clashing(*given).values(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    names = variables([*("q", "static", "a b", "a-b", "x7", "η", "run", "new"), SCRATCH], "run")
    assert len(set(names)) == 9 and names[0] == "q" and not {"static", "x7", "run", "new", SCRATCH} & set(names)


def test_identifiers_and_comments():
    assert identifier("7 up") == "_7_up" and identifier("double") == "_double" and identifier("☃") == "robot"
    assert len(identifier("a" * 1000)) == 100
    assert plain("a*/b\n☃") == "a* /b<U+000A><U+2603>"
