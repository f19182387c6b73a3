"""Writes docs/films.txt, the films of the gallery with their programs; `make gallery` draws the films themselves.

Run by the docs build before Sphinx: `python docs/generate_gallery.py [FOLDER]`.
"""

from __future__ import annotations

import ast
import sys
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
PROGRAMS, FILMS = DOCS.parent / "examples" / "gallery", DOCS / "static" / "films"
# The first of them, two to a row; others follow by name.
FIRST = ("capture", "free_capture", "wall", "dominoes", "quadruped", "rope", "stewart", "engine")
FIGURE = (
    '<figure><video src="_static/films/{name}.mp4" width="480" height="320" autoplay loop muted playsinline '
    'aria-label="{told}"></video><figcaption>{told} <code>examples/gallery/{name}.py</code></figcaption></figure>'
)


def figures() -> list[str]:
    names = [path.stem for path in sorted(PROGRAMS.glob("*.py"))]
    missing = [name for name in names if not (FILMS / f"{name}.mp4").is_file()]
    if missing:
        raise SystemExit(f"There are no films of {', '.join(missing)}: make gallery draws them.")
    order = sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    return [FIGURE.format(name=name, told=escape(sentence(PROGRAMS / f"{name}.py"))) for name in order]


def sentence(program: Path) -> str:
    """The first paragraph of a program: what it shows."""
    return (ast.get_docstring(ast.parse(program.read_text("utf-8"))) or "").replace("\n", " ")


def write(folder: Path) -> Path:
    made = folder / "films.txt"
    made.write_text("\n".join(["```{raw} html", '<div class="films">', *figures(), "</div>", "```", ""]), "utf-8")
    return made


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
