"""Writes docs/papers: the kept notebooks of the five papers as pages, with their outputs; nothing is run.

Run by the docs build before Sphinx: `python docs/generate_papers.py [FOLDER]`.
"""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    tool = runpy.run_path(str(HERE.parent / "tools" / "notebooks.py"))
    tool["pages"](Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "papers")
