"""Run the code in README.md and the pages of docs/, and write what it prints beneath it; with --check, only compare.

python tools/pages.py [--check] [PAGE …]

Blocks of a page run in order and share their names, in an empty folder:
- ```python runs; a ```text block right after it is its output.
- ```py is the same in another library: it runs where that library is installed.
- ```console is `$ phistar …` with its output; ```sh is commands of which only those of phistar run, unseen.
- ```toml and ```xml whose first line names a file, as in `# scene.toml`, are written to it.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(?P<language>[a-z]+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"^(?:#|<!--) (?P<name>[\w.-]+\.\w+)")
FOLLOWS = re.compile(r"\A\s*\Z")


class Block(NamedTuple):
    """A fenced block and where its body is in the page."""

    language: str
    body: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    return [Block(m["language"], m["body"], m.start("body"), m.end("body")) for m in FENCE.finditer(text)]


def pages() -> list[Path]:
    """README.md and every page of the site that is kept, in order; what the site's programs write is not."""
    written = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not _generated(path)]
    return [ROOT / "README.md", *written]


def _generated(path: Path) -> bool:
    """Whether the .gitignore beside a page leaves it out."""
    ignored = path.parent / ".gitignore"
    patterns = ignored.read_text().split() if ignored.exists() else []
    return any(path.match(pattern.lstrip("/")) for pattern in patterns)


def refreshed(text: str) -> str:
    """The page with every output as it is now; run in the working folder."""
    names: dict[str, Any] = {"__name__": "__page__"}
    found, pieces, done = blocks(text), [], 0
    for number, block in enumerate(found):
        shown = _after(text, found, number)
        printed = _run(block, names)
        if block.language == "console" and printed is not None:
            pieces += [text[done : block.start], printed]
            done = block.end
        elif shown is not None and printed is not None:
            pieces += [text[done : shown.start], printed]
            done = shown.end
    return "".join([*pieces, text[done:]])


def _after(text: str, found: list[Block], number: int) -> Block | None:
    """The output block that belongs to a program."""
    if found[number].language not in ("python", "py") or number + 1 == len(found):
        return None
    following = found[number + 1]
    between = text[found[number].end + 3 : following.start - len("```text\n")]
    return following if following.language == "text" and FOLLOWS.match(between) else None


def _run(block: Block, names: dict[str, Any]) -> str | None:
    """What a block prints; None where it printed nothing that a page could show, or could not run."""
    if block.language in ("python", "py"):
        try:
            return _trimmed(_printed(lambda: exec(compile(block.body, "<page>", "exec"), names)))
        except ModuleNotFoundError:
            if block.language == "python":
                raise
            return None
    if block.language in ("console", "sh"):
        return _commands(block)
    name = NAMED.match(block.body) if block.language in ("toml", "xml") else None
    if name:
        Path(name["name"]).write_text(block.body, "utf-8")
    return None


def _commands(block: Block) -> str:
    """Every `phistar …` of a block, with what it prints; a command that fails is an error."""
    from phistar.cli.app import run

    mark = "$ " if block.language == "console" else ""
    told = ""
    for line in block.body.splitlines():
        if line.startswith(f"{mark}phistar "):
            codes: list[int] = []
            arguments = shlex.split(line.removeprefix(mark), comments=True)[1:]
            output = _printed(lambda given=arguments, kept=codes: kept.append(run(given)))
            if codes != [0]:
                raise RuntimeError(f"{line}: exit code {codes}\n{output}")
            told += f"{line}\n{_trimmed(output)}"
    return told


def _printed(call: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        call()
    return out.getvalue()


def _trimmed(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.rstrip().splitlines())


def main() -> int:
    chosen = [Path(name).resolve() for name in sys.argv[1:] if not name.startswith("-")] or pages()
    wrong = 0
    for path in chosen:
        written = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            current = refreshed(written)
        if "--check" not in sys.argv[1:]:
            path.write_text(current, "utf-8")
        elif current != written:
            wrong += 1
            lines = written.splitlines(True), current.splitlines(True)
            sys.stdout.writelines(difflib.unified_diff(*lines, str(path), "as it is now", n=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    sys.exit(main())
