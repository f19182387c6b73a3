"""Writes docs/algebra/certificates.md: derivations that README, pages and notebooks show, each with its certificate.

A page runs as far as its last derivation; every one that it shows is written as a certificate and checked as `phistar
check` does, and the build ends where one does not hold. `conf.py` puts a link to them under the page. Run by the docs
build before Sphinx: `python docs/generate_certificates.py [FOLDER]`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from phistar.cli.checker import DIGITS, evaluate, replay
from phistar.identities.derivation import Derivation
from phistar.operators.nodes import Node

HERE = Path(__file__).resolve().parent
SHOWS = re.compile(r"\.derivation\(|phistar derive")


@contextlib.contextmanager
def shown() -> Iterator[dict[tuple[Node, Node], Derivation]]:
    """The derivations that are printed meanwhile, by their ends, as they come: each prints what it begins with."""
    found: dict[tuple[Node, Node], Derivation] = {}
    counted = Derivation.cost

    def noted(derivation: Derivation, node: Node) -> Any:
        found.setdefault((derivation.start, derivation.result), derivation)
        return counted(derivation, node)

    Derivation.cost = noted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Derivation.cost = counted  # type: ignore[method-assign]


def programs() -> dict[str, Callable[[], object]]:
    """The program of each page that shows derivations, by the page's name on the site."""
    pages, notebooks = (runpy.run_path(str(HERE.parent / "tools" / f"{name}.py")) for name in ("pages", "notebooks"))
    found: dict[str, Callable[[], object]] = {}
    for path in pages["pages"]():
        text = path.read_text("utf-8")
        if SHOWS.search(text):
            name = str(path.relative_to(HERE).with_suffix("")) if path.is_relative_to(HERE) else path.stem
            found[name] = lambda text=text: pages["refreshed"](_as_far_as_shown(text, "```\n"))
    for name in notebooks["ORDER"]:
        cells = notebooks["cells"]((notebooks["FOLDER"] / f"{name}.py").read_text("utf-8"))
        code = [text for kind, text in cells if kind == "code"]
        last = max((i for i, text in enumerate(code) if SHOWS.search(text)), default=-1)
        if last >= 0:
            found[f"papers/{name}"] = lambda code=code[: last + 1]: _run_cells(code, notebooks["FOLDER"])
    return found


def _as_far_as_shown(text: str, fence: str) -> str:
    """A page up to the end of the block that shows its last derivation."""
    last = max(match.start() for match in SHOWS.finditer(text))
    return text[: text.find(fence, last) + len(fence)]


def _run_cells(code: list[str], folder: Path) -> None:
    """Cells of a notebook, one after the other; the last line of one may be a derivation that it shows."""
    names: dict[str, Any] = {"__name__": "__notebook__"}
    sys.path.insert(0, str(folder))
    try:
        for text in code:
            exec(compile(text, "<cell>", "exec"), names)
            with contextlib.suppress(SyntaxError):
                last = eval(compile(text.splitlines()[-1], "<cell>", "eval"), names) if SHOWS.search(text) else None
                str(last)
    finally:
        sys.path.remove(str(folder))


def certified(page: str, run: Callable[[], object], folder: Path) -> list[tuple[str, str]]:
    """The statements that a page derives, each with the file of its certificate, which was checked."""
    unseen = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty), unseen, shown() as derivations:
        run()
    found = []
    for number, derivation in enumerate((x for x in derivations.values() if x.steps), start=1):
        proof = json.loads(json.dumps(derivation.certificate()))
        replay(proof)
        evaluate(proof, 0)
        path = folder / f"{page.replace('/', '-').lower()}-{number}.json"
        path.write_text(json.dumps(proof, ensure_ascii=False), "utf-8")
        found.append((f"{proof['statement']} = {proof['result_text']}", path.name))
    return found


def main(folder: Path) -> None:
    kept = folder / "certificates"
    kept.mkdir(parents=True, exist_ok=True)
    pages = {page: certified(page, run, kept) for page, run in programs().items()}
    lines = [
        "# Certificates",
        "",
        "Every derivation that a page, a notebook or the README shows, with its certificate: each was replayed exactly "
        f"and evaluated to {DIGITS} digits on a random mechanism when the site was built, as `phistar check` does.",
        "",
        *("| page | derived | certificate |", "|---|---|---|"),
    ]
    for page, found in pages.items():
        name = page if page == "README" else f"[{page}](../{page}.md)"
        lines += [f"| {name} | `{said}` | {{download}}`{file} <certificates/{file}>` |" for said, file in found]
    (folder / "certificates.md").write_text("\n".join(lines) + "\n", "utf-8")
    files = {page: [file for _, file in found] for page, found in pages.items()}
    (kept / "pages.json").write_text(json.dumps(files), "utf-8")
    print(f"{sum(map(len, files.values()))} derivations of {len(files)} pages certified")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "algebra")
