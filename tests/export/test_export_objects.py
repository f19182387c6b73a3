"""Objects for other processors, C of floats of 32 bits, headers for C++ and Rust: linked and run where this machine
can, read where it cannot."""

import platform
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine.jit import host
from phistar.errors import StatementError
from phistar.export.objects import PROCESSORS

ARM = ps.load("puma560")
CC, CXX = (shutil.which(name) for name in ("gcc", "g++"))
RUSTC = shutil.which("rustc")
if RUSTC and subprocess.run([RUSTC, "--version"], capture_output=True).returncode:
    RUSTC = None  # rustup's stand-in, without a toolchain
MACHINES = {"thumb": 40, "riscv": 243, "aarch64": 183, "x86_64": 62}  # e_machine of ELF
LIBRARY = {"sin", "cos", "sqrt", "sinf", "cosf", "sqrtf", "memset", "memcpy"}
CASES = {
    "forward dynamics": (ps.forward_dynamics, lambda: ARM, None),
    "a Jacobian": (ps.jacobian, lambda: ARM, "tool"),
    "derivatives": (ps.forward_dynamics_derivatives, lambda: ARM, None),
    "loops over links": (ps.forward_dynamics, lambda: ps.chain(60), None),
}
LEVELS = [name for name in PROCESSORS if name.startswith("x86-64")]
NEEDED = {"x86-64-v2": "+sse4.2", "x86-64-v3": "+avx2", "x86-64-v4": "+avx512f"}
runs_here = pytest.mark.skipif(
    not (CC and platform.machine() == "x86_64" and platform.system() == "Linux"), reason="needs gcc on x86-64 Linux"
)


def symbols(data):
    """ELF's machine, and the names of a file's defined and undefined global symbols."""
    wide = data[4] == 2
    machine = struct.unpack_from("<H", data, 18)[0]
    start, size, count = (
        (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58))
        if wide
        else (*struct.unpack_from("<I", data, 32), *struct.unpack_from("<HH", data, 46))
    )
    sections = []
    for k in range(count):
        at = start + k * size
        kind = struct.unpack_from("<I", data, at + 4)[0]
        place, length = struct.unpack_from("<QQ", data, at + 24) if wide else struct.unpack_from("<II", data, at + 16)
        link = struct.unpack_from("<I", data, at + (40 if wide else 24))[0]
        sections.append((kind, place, length, link))
    defined, undefined = set(), set()
    for kind, place, length, link in sections:
        if kind != 2:
            continue
        names = sections[link][1]
        for at in range(place, place + length, 24 if wide else 16):
            name = struct.unpack_from("<I", data, at)[0]
            info, home = (
                (data[at + 4], struct.unpack_from("<H", data, at + 6)[0])
                if wide
                else (data[at + 12], struct.unpack_from("<H", data, at + 14)[0])
            )
            text = data[names + name : data.index(b"\0", names + name)].decode()
            if info >> 4 and text:
                (defined if home else undefined).add(text)
    return machine, defined, undefined


@pytest.mark.parametrize("target", PROCESSORS)
def test_objects_are_of_their_processor_and_need_the_c_library_alone(target, tmp_path):
    dtype = np.float64 if "f64" in PROCESSORS[target].numbers[:1] else np.float32
    for case, (function, robot, frame) in CASES.items():
        if dtype is np.float32 and case == "loops over links":
            continue
        path, header = ps.export_object(function, robot(), tmp_path, target, frame, name="quantity", dtype=dtype)
        machine, defined, undefined = symbols(path.read_bytes())
        assert machine == MACHINES[next(x for x in MACHINES if PROCESSORS[target].target.triple.startswith(x))]
        assert "quantity" in defined and undefined <= LIBRARY
        told = header.read_text()
        assert re.search(r"Object file for .*: \d{3,} bytes of code, \d+ of constants", told)
        assert re.search(r"Each call, the longest too: .*\d+ (additions|operations)", told.replace("\n * ", " "))


def test_sizes_and_counts_are_those_of_the_code(tmp_path):
    """Of the code's own count, and of its sections."""
    path, header = ps.export_object(ps.forward_dynamics, ARM, tmp_path, "cortex-m4", name="fd", dtype=np.float32)
    told = header.read_text().replace("\n * ", " ")
    counted = re.findall(r"(\d+) (?:additions|subtractions|multiplications|divisions|sines|cosines)", told)
    total = int(re.search(r"(\d+) operations", told)[1])
    assert sum(map(int, counted)) == total == ps.compile(ps.forward_dynamics, ARM).operations
    assert 2000 < int(re.search(r"(\d+) bytes of code", told)[1]) < path.stat().st_size


def test_processors_without_doubles_say_so(tmp_path):
    _, header = ps.export_object(ps.gravity_load, ARM, tmp_path, "cortex-m4", name="weight")
    assert "has no doubles" in header.read_text()
    _, header = ps.export_object(ps.gravity_load, ARM, tmp_path, "cortex-m7", name="weight")
    assert "has no doubles" not in header.read_text()


@runs_here
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", list(CASES)[:3])
def test_objects_linked_to_the_example_agree(case, dtype, tmp_path):
    """The example that comes with the C, with the object in the place of the compiled C."""
    function, robot, frame = CASES[case]
    ps.export_c(function, robot(), tmp_path, frame, name="quantity", dtype=dtype)
    for level in (level for level in LEVELS if NEEDED[level] in host().features):
        made = ps.export_object(function, robot(), tmp_path / level, level, frame, name="quantity", dtype=dtype)
        program = tmp_path / level / "example"
        command = [CC, "-std=c99", str(tmp_path / "quantity_example.c"), str(made[0]), "-lm", "-o", str(program)]
        subprocess.run(command, check=True)
        done = subprocess.run([str(program)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-500:]


@runs_here
def test_memory_that_is_lent_takes_the_place_of_the_stack(tmp_path):
    """Derivatives of a long robot: more numbers wait than a small stack holds."""
    model = ps.chain(60)
    path, header = ps.export_object(ps.inverse_dynamics, model, tmp_path, "x86-64-v2", name="quantity")
    count = int(re.search(r"work\[(\d+)\]", header.read_text())[1])
    rng = np.random.default_rng(0)
    given = {"q": model.random(rng), **dict(zip("va", rng.normal(size=(2, 60)), strict=True))}
    lines = ["#include <stdio.h>", '#include "quantity.h"', "int main(void) {"]
    for name, x in given.items():
        lines.append(f"static const double {name}[] = {{{', '.join(float(y).hex() for y in x)}}};")
    lines += [f"static double out[60], work[{count}];", "quantity(q, v, a, out, work);"]
    lines += ['for (int i = 0; i < 60; i++) printf("%.17g\\n", out[i]);', "return 0; }"]
    (tmp_path / "main.c").write_text("\n".join(lines))
    program = tmp_path / "main"
    subprocess.run([CC, "-std=c99", str(tmp_path / "main.c"), str(path), "-lm", "-o", str(program)], check=True)
    made = np.array(subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split(), float)
    expected = ps.inverse_dynamics(model, *given.values())
    np.testing.assert_allclose(made, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.skipif(CC is None, reason="no gcc")
@pytest.mark.parametrize("case", list(CASES)[:3])
def test_c_of_floats_compiles_without_warnings_and_stays_within_the_bound(case, tmp_path):
    function, robot, frame = CASES[case]
    paths = ps.export_c(function, robot(), tmp_path, frame, name="quantity", dtype=np.float32)
    sources = [str(path) for path in paths if path.suffix == ".c"]
    assert "double" not in (tmp_path / "quantity.c").read_text()
    assert "Floats of 32 bits: up to" in (tmp_path / "quantity.h").read_text()
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion", "-Wfloat-conversion"]
    subprocess.run([CC, *strict, "-c", str(tmp_path / "quantity.c"), "-o", str(tmp_path / "quantity.o")], check=True)
    program = tmp_path / "example"
    subprocess.run([CC, "-std=c99", "-Wall", "-Werror", *sources, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-500:]


NAMES = {"plain": "quantity", "a word of Rust": "match"}


@runs_here
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("title", NAMES)
def test_headers_of_other_languages_give_the_same_numbers(title, dtype, tmp_path):
    name = NAMES[title]
    made = ps.export_object(
        ps.gravity_load, ARM, tmp_path, "x86-64-v2", name=name, dtype=dtype, headers=["c++", "rust"]
    )
    expected, number = ps.gravity_load(ARM, np.arange(6) / 8), "double" if dtype is np.float64 else "float"
    programs = {}
    if CXX:
        source = tmp_path / "main.cpp"
        source.write_text(
            f'#include <cstdio>\n#include "{name}.hpp"\nint main() {{\n'
            f"std::array<{number}, 6> q{{0, 0.125, 0.25, 0.375, 0.5, 0.625}}, out;\nphistar::{name}(q, out);\n"
            'for (double x : out) std::printf("%.17g\\n", x);\n}\n'
        )
        programs["c++"] = [CXX, "-std=c++17", "-Wall", "-Werror", str(source), str(made[0])]
    if RUSTC:
        source, called = tmp_path / "main.rs", f"{name}_" if name == "match" else name
        kind = "f64" if dtype is np.float64 else "f32"
        source.write_text(
            f'#[path = "{name}.rs"]\nmod robot;\nfn main() {{\n'
            f"let q: [{kind}; 6] = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625];\nlet mut out = [0.0; 6];\n"
            f'robot::{called}(&q, &mut out);\nfor x in out {{ println!("{{}}", x); }}\n}}\n'
        )
        programs["rust"] = [RUSTC, "--edition", "2021", "-D", "warnings", "-C", f"link-arg={made[0]}", str(source)]
    for language, command in programs.items():
        program = tmp_path / f"program_{'cpp' if language == 'c++' else language}"
        subprocess.run([*command, "-o", str(program)], check=True)
        printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
        rounding = 1e-12 if dtype is np.float64 else 1e-6
        np.testing.assert_allclose(np.array(printed, float), expected, rtol=0, atol=rounding * np.abs(expected).max())


def test_what_there_is_not_is_refused(tmp_path):
    with pytest.raises(StatementError, match="no target 'z80'; it is one of"):
        ps.export_object(ps.gravity_load, ARM, tmp_path, "z80")
    with pytest.raises(StatementError, match="none for 'fortran'"):
        ps.export_c(ps.gravity_load, ARM, tmp_path, headers=["fortran"])
    with pytest.raises(StatementError, match="may lose"):
        ps.export_object(ps.gravity_load, ARM, tmp_path, "cortex-m4", dtype=np.float32, accuracy=1e-9)
    assert not list(tmp_path.iterdir())
