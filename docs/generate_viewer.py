"""Writes docs/viewer/operators.png: operators of the PUMA 560 with their block structure.

Run by the docs build before Sphinx: `python docs/generate_viewer.py [FOLDER]`. The pictures of the viewer itself need a
browser; tools/screenshots.py takes them, and they are kept with the pages.
"""

import sys
from pathlib import Path

import phistar as ps


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "viewer"
    folder.mkdir(parents=True, exist_ok=True)
    A = ps.algebra(ps.load("puma560"))
    operators = [A.H, A.E_phi, A.phi, A.psi, A.M, A.P, A.D, A.mass]
    figure = ps.view.operator_picture(operators, [0.3, 0.6, -1.6, 0.2, -0.6, 0.1])
    figure.savefig(folder / "operators.png", dpi=110)


if __name__ == "__main__":
    main()
