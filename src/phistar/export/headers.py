"""Declarations of an exported function for C++ and Rust (1.82 or later): arrays of known sizes instead of pointers."""

from __future__ import annotations

from collections.abc import Sequence

from phistar.backends.code.c import WORK, CFunction
from phistar.errors import StatementError

LANGUAGES = {"c++": "hpp", "rust": "rs"}
_TYPES = {"f64": ("double", "f64"), "f32": ("float", "f32")}
_RUST = """as async await become box break const continue crate do dyn else enum extern false final fn for if
impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try
type typeof unsafe unsized use virtual where while yield abstract"""
_RUST_WORDS = frozenset(_RUST.split())


def check_languages(languages: Sequence[str] | str) -> tuple[str, ...]:
    """Languages that headers are wanted for."""
    names = (languages,) if isinstance(languages, str) else tuple(languages)
    for name in names:
        if name not in LANGUAGES:
            raise StatementError(f"There are headers for {' and '.join(LANGUAGES)}, but none for {name!r:.100}.")
    return names


def header_files(code: CFunction, comment: Sequence[str], languages: Sequence[str]) -> dict[str, str | bytes]:
    """Name and text of each header."""
    made = {"c++": _cpp_header, "rust": _rust_header}
    return {f"{code.name}.{LANGUAGES[name]}": made[name](code, comment) for name in languages}


def _arrays(code: CFunction) -> list[tuple[str, int, bool]]:
    """Name and size of each parameter, and whether it is written."""
    work = [(WORK, code.work, True)] if code.work else []
    return [*((x, n, False) for x, n in code.arguments), *((x, n, True) for x, n in code.outputs), *work]


def _cpp_header(code: CFunction, comment: Sequence[str]) -> str:
    number, guard = _TYPES[code.kind][0], f"{code.name.upper()}_HPP"
    kinds = [(name, f"std::array<{number}, {n}>", made) for name, n, made in _arrays(code)]
    given = ", ".join(f"{'' if made else 'const '}{kind} &{name}" for name, kind, made in kinds)
    data = ", ".join(f"{name}.data()" for name, _, _ in kinds)
    lines = [*(f"// {line}".rstrip() for line in comment), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <array>", "", f'#include "{code.name}.h"', "", "namespace phistar {", ""]
    lines += [f"inline void {code.name}({given}) noexcept", "{", f"    ::{code.name}({data});", "}", ""]
    return "\n".join([*lines, "}  // namespace phistar", "", f"#endif  // {guard}", ""])


def _rust_header(code: CFunction, comment: Sequence[str]) -> str:
    number = _TYPES[code.kind][1]
    kinds = [(_rust_name(name), n, made) for name, n, made in _arrays(code)]
    raw = ", ".join(f"{name}: *{'mut' if made else 'const'} {number}" for name, _, made in kinds)
    safe = ", ".join(f"{name}: &{'mut ' if made else ''}[{number}; {n}]" for name, n, made in kinds)
    data = ", ".join(f"{name}.as_{'mut_' if made else ''}ptr()" for name, _, made in kinds)
    name = _rust_name(code.name)
    linked = [] if name == code.name else [f'        #[link_name = "{code.name}"]']
    lines = [*(f"//! {line}".rstrip() for line in comment), "", "mod c {", '    unsafe extern "C" {', *linked]
    lines += [f"        pub fn {name}({raw});", "    }", "}", "", f"pub fn {name}({safe}) {{"]
    lines += ["    // The arrays are as long as the function reads and writes, and none is another.", "    unsafe {"]
    return "\n".join([*lines, f"        c::{name}({data});", "    }", "}", ""])


def _rust_name(name: str) -> str:
    """A name that is none of the language's own words."""
    return f"{name}_" if name in _RUST_WORDS else name
