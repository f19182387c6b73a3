"""Writes docs/reference: an object of Sphinx's Python domain for every public name, from its docstring and signature.

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
from phistar.lazy import stated_names

CHAPTERS = ("control", "estimation", "freeflying", "identify", "loops", "onboard", "optimize", "space")
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
    homes = stated_names(str(Path(ps.__file__).with_suffix(".pyi")))
    for name in ps.__all__:
        home = homes[name]
        if home != "phistar":
            page = next((group for group, starts in GROUPS.items() if home.startswith(starts)), OTHERS)
            yield Name(f"ps.{name}", getattr(ps, name), page)
    for chapter in (name for name in ps.__all__ if homes[name] == "phistar"):
        module = importlib.import_module(f"phistar.{chapter}")
        for name in module.__all__:
            yield Name(f"ps.{chapter}.{name}", getattr(module, name), f"ps.{chapter}")


def entry(name: Name) -> str:
    """A heading for the table of contents, and the object with its signature, docstring and members."""
    value, path = name.value, name.written.replace("ps.", "phistar.", 1)
    if inspect.ismodule(value):
        return f"## {name.written}\n\n{prose(inspect.getdoc(value) or '')}"
    kind = "class" if inspect.isclass(value) else "function"
    kind = "exception" if kind == "class" and issubclass(value, Exception) else kind
    inside = [prose(inspect.getdoc(value) or ""), *_statements(value)]
    inside += list(_members(value)) if inspect.isclass(value) else []
    body = "\n\n".join(part for part in inside if part)
    return f"## {name.written}\n\n::::{{py:{kind}}} {path}{_signature(value)}\n\n{body}\n::::"


def _statements(value: Any) -> Iterator[str]:
    """The statements a function is compiled from, typeset."""
    if not inspect.isclass(value) and hasattr(value, "statements"):
        named = value.statements.items()
        shown = [f"${x.latex()}$" if name == "y" else f"`{name}` ${x.latex()}$" for name, x in named]
        yield "Stated as " + ", ".join(shown) + "."


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    plain = [_bare(each) for each in signature.parameters.values() if not each.name.startswith("_")]
    return str(signature.replace(return_annotation=inspect.Signature.empty, parameters=plain))


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
    """Public methods and properties that the class itself tells of."""
    if is_dataclass(value):
        told = ", ".join(f"`{field.name}`" for field in fields(value) if not field.name.startswith("_"))
        yield f"Fields: {told}." if told else ""
    for name, member in vars(value).items():
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        inner = getattr(inner, "fget", None) or getattr(inner, "func", None) or inner
        doc = inspect.getdoc(inner) if callable(inner) else None
        if name.startswith("_") or not doc:
            continue
        if isinstance(member, property) or hasattr(member, "func"):
            yield f":::{{py:property}} {name}\n\n{prose(doc)}\n:::"
        else:
            call = _without_self(inner) if not isinstance(member, staticmethod) else _signature(inner)
            yield f":::{{py:method}} {name}{call}\n\n{prose(doc)}\n:::"


def _without_self(function: Any) -> str:
    return re.sub(r"^\((self|cls)(, )?", "(", _signature(function))


def prose(doc: str) -> str:
    """A docstring as Markdown: NumPy's sections as lists, examples as code, stars as adjoints."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    made = [_paragraphs(parts[0])]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        made.append(f"**{title}**")
        entries = title in ("Parameters", "Returns", "Raises", "Attributes", "Yields")
        made.append(_entries(body) if entries else _paragraphs(body))
    return "\n\n".join(part for part in made if part)


def _entries(body: str) -> str:
    """`name : type` and what is indented under it, as a definition list."""
    made = []
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, rest = block.partition("\n")
        name, _, kind = head.partition(" : ")
        told = _marked(" ".join(line.strip() for line in rest.splitlines()))
        term = f"`{name}`: {_marked(kind)}" if kind else f"{_marked(name)}"
        made.append(f"{term}\n: {told}" if told else term)
    return "\n\n".join(made)


def _paragraphs(text: str) -> str:
    """Paragraphs; what is indented, laid out in columns, or typed at a prompt is code."""
    made = []
    for paragraph in text.strip("\n").split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].startswith(">>>"):
            made.append(f"```pycon\n{paragraph}\n```")
        elif any(line.startswith("    ") or re.match(r"\w+  +\S", line) for line in lines):
            made.append(f"```text\n{paragraph}\n```")
        else:
            made.append(_marked(paragraph))
    return "\n\n".join(made)


def _marked(paragraph: str) -> str:
    """Stars of a paragraph are adjoints of operators, not emphasis; `code` stays."""
    pieces = re.split(r"(`[^`]*`)", paragraph)
    return "".join(p if p.startswith("`") else STARS.sub(r"\\\1", p).replace("|", "\\|") for p in pieces)


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
        head = prose(inspect.getdoc(importlib.import_module(f"phistar.{page[3:]}")) or "") if "." in page else ""
        text = "\n\n".join(part for part in (f"# {page}", head, *map(entry, chosen)) if part) + "\n"
        made.append(folder / f"{slug(page)}.md")
        made[-1].write_text(text, "utf-8")
    index = (
        "# Reference\n\nEvery public name, from its docstring. `import phistar as ps` is understood. The search finds "
        "names as they are typed, and other sites can link to them (`objects.inv`).\n\n"
    )
    table = "\n".join(slug(page) for page in pages)
    made.append(folder / "index.md")
    made[-1].write_text(f"{index}```{{toctree}}\n:maxdepth: 2\n\n{table}\n```\n", "utf-8")
    return made


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "reference")
