"""Write the derivations that come with the package: `python tools/derivations.py`, some twenty seconds.

Statements of all public functions, for chains and trees, with and without motor inertia, and at frames at a tip and
inside: what first calls of these functions would otherwise have the rewriter find.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from inspect import signature
from typing import Any

import phistar as ps
from phistar.backends.machine.cache import contents_of
from phistar.backends.pairwise.programs import pair_program
from phistar.backends.programs import derivations
from phistar.backends.programs.derivations import Rows
from phistar.derivatives import RECORDED
from phistar.model import Model
from phistar.second_derivatives import stated_solutions, stated_triples
from phistar.stated import Stated

CHAIN, TREE, ROOTS = (*range(-1, 7),), (-1, 0, 1, 1, 3, 0, 5, 6), (-1, 0, 1, 2, -1, 4, 5, 6)
"""Parents of eight links: in a row, with branches, and two chains on the world."""


def mechanisms() -> Iterator[Model]:
    """Of each structure a robot with and one without motor inertia, and an arm of six joints of each."""
    for armature in (0.0, 0.1):
        for parents in (CHAIN, CHAIN[:6], TREE, ROOTS):
            plain = ps.chain(len(parents))
            joints = [replace(body.joint, kind=replace(body.joint.kind, armature=armature)) for body in plain.bodies]
            linked = zip(plain.bodies, parents, joints, strict=True)
            bodies = tuple(replace(body, parent=parent, joint=joint) for body, parent, joint in linked)
            yield replace(plain, bodies=bodies)


def functions() -> list[Stated[Any, Any]]:
    """The public functions that state what they compute."""
    public = (getattr(ps, name) for name in dir(ps) if not name.startswith("_"))
    return [x for x in public if isinstance(x, Stated)]


def frames_of(function: Stated[Any, Any], model: Model) -> list[tuple[str, ...]]:
    """The frames that a function is derived for: none, or one at a tip, one inside, and two."""
    if not {"frame", "frames"} & set(signature(function).parameters):
        return [()]
    tips = [f"link{k + 1}" for k, children in enumerate(model.children) if not children]
    return [(tips[-1],), ("link2",), (tips[0], "link8" if len(tips) > 1 else "link2")]


def derive(model: Model, functions: list[Stated[Any, Any]]) -> None:
    """Ask for what the functions' first calls ask for."""
    for function in functions:
        for frames in frames_of(function, model):
            wanted, _ = function.statements_for(model, frames)
            for each in wanted.forms():
                each.program()
            if wanted.is_plain_table:
                pair_program(wanted.nodes, wanted.symbols, model.is_serial)
    for recorded in RECORDED.values():
        if recorded.tables is not None:
            pair_program(*recorded.tables(), model.is_serial)
            recorded.trace(model)
    stated_triples()
    stated_solutions()


def main() -> None:
    os.environ["PHISTAR_CACHE"] = "off"
    derivations.own_derivations.cache_clear()
    derivations.FILE.unlink(missing_ok=True)
    for model in mechanisms():
        derive(model, functions())
    rows = Rows()
    derived = {name: rows.add(value) for name, value in sorted(derivations.known.items())}
    data = {"sources": contents_of(*derivations.SOURCES), "derived": derived, "rows": rows.rows}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    derivations.FILE.write_text(text.replace("],[", "],\n[") + "\n", "utf-8")
    print(f"{len(derived)} derivations, {len(rows.rows)} rows, {derivations.FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
