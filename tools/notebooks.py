"""Notebooks from their sources, notebooks/*.py: run, and kept with what they print.

python tools/notebooks.py [NAME …]      run and write notebooks/NAME.ipynb
python tools/notebooks.py --pages DIR   write the kept notebooks as pages of the site, without running anything

A source is plain Python in cells: `# %%` begins code, `# %% [markdown]` text, whose lines are comments. Notebooks run
in their folder, where by_hand.py is.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
ORDER = ("rjk91", "kjr92", "r87", "rj2w", "wd89", "links")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LONGEST = 600  # s for a cell
MARKDOWN = "# %% [markdown]"


def cells(source: str) -> list[tuple[str, str]]:
    """("markdown" or "code", text) for each cell of a source."""
    found = []
    for part in source.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        if head.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
            found.append(("markdown", "\n".join(lines)))
        else:
            found.append(("code", body.strip()))
    return found


def notebook(name: str) -> Any:
    """The notebook of a source, not run yet; its cells have steady names, so that differences are readable."""
    import nbformat

    made = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})
    kinds = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    for number, (kind, text) in enumerate(cells((FOLDER / f"{name}.py").read_text("utf-8"))):
        made.cells.append(kinds[kind](text, id=f"cell-{number}"))
    return made


def executed(name: str) -> Any:
    """The notebook after a run from top to bottom, in a process of its own."""
    from nbclient import NotebookClient
    from nbformat import NotebookNode

    made = notebook(name)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    NotebookClient(
        made, timeout=LONGEST, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    for cell in made.cells:
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            cell.outputs = _merged(cell.outputs)
    return made


def _merged(outputs: list[Any]) -> list[Any]:
    """What was printed in pieces, in one; notes of the kernel left out."""
    kept: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            continue
        if kept and output.output_type == "stream" and kept[-1].output_type == "stream":
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def page(kept: dict[str, Any], folder: Path, name: str) -> str:
    """A kept notebook as Markdown; its pictures become files beside it."""
    parts = []
    for cell in kept["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append("".join(cell["source"]))
            continue
        parts.append(f"```python\n{''.join(cell['source'])}\n```")
        for output in cell["outputs"]:
            parts += list(_shown(output, folder, f"{name}-{cell['id']}"))
    return "\n\n".join(parts) + f"\n\n*The notebook: `notebooks/{name}.ipynb`, made from `notebooks/{name}.py`.*\n"


def _shown(output: dict[str, Any], folder: Path, stem: str) -> Iterator[str]:
    data = output.get("data", {})
    if output["output_type"] == "stream":
        yield f"```text\n{''.join(output['text']).rstrip()}\n```"
    elif "image/png" in data:
        (folder / f"{stem}.png").write_bytes(base64.b64decode("".join(data["image/png"])))
        yield f"![]({stem}.png)"
    elif "text/plain" in data:
        yield f"```text\n{''.join(data['text/plain'])}\n```"


def pages(folder: Path) -> None:
    """Every kept notebook as a page, and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ORDER:
        kept = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
        (folder / f"{name}.md").write_text(page(kept, folder, name), "utf-8")


def main() -> int:
    if sys.argv[1:2] == ["--pages"]:
        pages(Path(sys.argv[2]))
        return 0
    import nbformat

    for name in sys.argv[1:] or ORDER:
        nbformat.write(executed(name), FOLDER / f"{name}.ipynb")
        print(f"notebooks/{name}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
