"""Writes docs/reference: an entry for every public name, from its docstring and signature.

Run by the docs build before Sphinx: `python docs/generate_reference.py [FOLDER]`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import phistar as ps

CHAPTERS = ("control", "estimation", "freeflying", "loops")
GROUPS = {
    "Models": ("phistar.model", "phistar.io", "phistar.spatial"),
    "Dynamics": ("phistar.dynamics", "phistar.derivatives"),
    "Algebra": ("phistar.expression",),
    "Compiling and exporting": ("phistar.compiled", "phistar.export", "phistar.scalar_expressions"),
    "Loops": ("phistar.loops",),
    "Simulation": ("phistar.sim", "phistar.contact"),
    "Errors": ("phistar.errors",),
}
OTHERS = "More"
STARS = re.compile(r"(?<!\\)([*_<>\[\]$~])")


class Name(NamedTuple):
    """A public name: as it is written (ps.control.PDControl), what it is, and the page it stands on."""

    written: str
    value: Any
    page: str


def public_names() -> Iterator[Name]:
    """Every name of phistar and of its chapters."""
    homes = vars(ps)["_HOME"]
    for name in ps.__all__:
        if homes[name] != f"phistar.{name}":
            home = homes[name]
            page = next((group for group, starts in GROUPS.items() if home.startswith(starts)), OTHERS)
            yield Name(f"ps.{name}", getattr(ps, name), page)
    for chapter in (name for name in ps.__all__ if homes[name] == f"phistar.{name}"):
        module = importlib.import_module(f"phistar.{chapter}")
        for name in module.__all__:
            yield Name(f"ps.{chapter}.{name}", getattr(module, name), f"ps.{chapter}")


def entry(name: Name) -> str:
    """A heading, the signature, the docstring, and of a class its public methods."""
    value = name.value
    parts = [f"## {name.written}", f"```python\n{_signature(name.written, value)}\n```"]
    parts += [_prose(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        parts += list(_members(value))
    statement = getattr(value, "statement", None)
    if statement is not None and not inspect.isclass(value):
        parts.append(f"Stated as `{statement.show()}`.")
    return "\n\n".join(part for part in parts if part)


def _signature(written: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return written
    plain = signature.replace(return_annotation=inspect.Signature.empty, parameters=list(map(_bare, _shown(signature))))
    text = f"{written}{plain}"
    if len(text) <= 110:
        return text
    stars = [str(plain.replace(parameters=[each]))[1:-1] for each in plain.parameters.values()]
    return f"{written}(\n    " + ",\n    ".join(stars) + ",\n)"


def _shown(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    return (parameter for parameter in signature.parameters.values() if not parameter.name.startswith("_"))


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    """Without types, which the docstring tells in shapes; defaults as they print."""
    default = parameter.default
    if default is not inspect.Parameter.empty and len(repr(default)) > 40:
        default = _Dots()
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


class _Dots:
    def __repr__(self) -> str:
        return "..."


def _members(value: type) -> Iterator[str]:
    """Public methods and properties that the class itself tells of, as a table."""
    rows = []
    for name, member in vars(value).items():
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        inner = getattr(inner, "fget", None) or getattr(inner, "func", None) or inner
        doc = inspect.getdoc(inner) if callable(inner) else None
        if name.startswith("_") or not doc:
            continue
        call = "" if isinstance(member, property) or hasattr(member, "func") else "()"
        rows.append(f"| `{name}{call}` | {_prose(doc.split(chr(10) + chr(10))[0]).replace(chr(10), ' ')} |")
    if is_dataclass(value):
        told = ", ".join(f"`{field.name}`" for field in fields(value) if not field.name.startswith("_"))
        yield f"Fields: {told}." if told else ""
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows])


def _prose(doc: str) -> str:
    """A docstring as Markdown: stars are operators' adjoints, not emphasis; indented stretches are code."""
    made = []
    for paragraph in doc.split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith("    ") or re.match(r"\w+  +\S", line) for line in lines):
            made.append(f"```text\n{paragraph}\n```")
        else:
            pieces = re.split(r"(`[^`]*`)", paragraph)
            made.append("".join(p if p.startswith("`") else STARS.sub(r"\\\1", p).replace("|", "\\|") for p in pieces))
    return "\n\n".join(made)


def slug(page: str) -> str:
    return re.sub(r"[^a-z]+", "_", page.lower()).strip("_")


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    names = list(public_names())
    pages = list(dict.fromkeys([*GROUPS, *(name.page for name in names)]))
    pages = [page for page in pages if any(name.page == page for name in names)]
    made = []
    for page in pages:
        chosen = sorted((name for name in names if name.page == page), key=lambda name: name.written.lower())
        head = _prose(inspect.getdoc(importlib.import_module(f"phistar.{page[3:]}")) or "") if "." in page else ""
        text = "\n\n".join(part for part in (f"# {page}", head, *map(entry, chosen)) if part) + "\n"
        made.append(folder / f"{slug(page)}.md")
        made[-1].write_text(text, "utf-8")
    index = "# Reference\n\nEvery public name, from its docstring. `import phistar as ps` is understood.\n\n"
    table = "\n".join(slug(page) for page in pages)
    made.append(folder / "index.md")
    made[-1].write_text(f"{index}```{{toctree}}\n:maxdepth: 2\n\n{table}\n```\n", "utf-8")
    return made


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "reference")
