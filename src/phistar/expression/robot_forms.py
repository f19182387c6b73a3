"""The forms of a statement as they are counted on its robot: by the kernel that would run, with all its freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phistar.backends.executor import form_by_laws, operations_of, tallies_of
from phistar.backends.kernel import Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.programs.derivations import ARTICULATED
from phistar.backends.programs.program import is_wide
from phistar.errors import StatementError
from phistar.expression.given import check_frames, names_its_frames
from phistar.expression.own_values import operators_or_inputs
from phistar.model import Model
from phistar.operators.nodes import adjoint
from phistar.operators.spaces import SCALARS
from phistar.sweeps.cost import Count
from phistar.sweeps.search import Search, Tried, forms_worth_counting, search

if TYPE_CHECKING:
    from phistar.expression.statement import Expression


def cost_on_robot(e: Expression, model: Model, n: int | None, matrix: bool) -> Count:
    """The instructions of the kernel that would run."""
    if n is not None and n != len(model.bodies):
        raise StatementError(
            f"{e.show()} is bound to {model.name}, which has {len(model.bodies)} bodies, not {n!r}; cost() "
            "counts what runs for it, and a chain of n links is counted by the abstract statement: ps.algebra()."
        )
    check_frames(e.node, e.symbols)
    return operations_of(_statements(e, model, matrix))


def form_on_robot(e: Expression, matrix: bool) -> int:
    """Which of the forms that laws offer is cheapest on the robot of a statement; 0, the one that is cheapest on a
    chain, of an abstract statement, of bodies that bend, and of operators that are made as their adjoints."""
    wanted = _count(e, matrix)
    taken = () if wanted is None or wanted.flipped else form_by_laws(wanted)
    return taken[0] if taken else 0


def search_on_robot(e: Expression, matrix: bool) -> Search:
    """The forms of a statement in order of the operations of their kernels; of an operator with few rows, those of its
    adjoint, which is what runs."""
    wanted = _count(e, matrix)
    if wanted is None:
        return search(e.node, e.symbols, e.setting, matrix, told=True)
    ((_, node),) = wanted.nodes
    found = search(node, e.symbols, e.setting, matrix)
    offers, counted = forms_worth_counting(node, e.symbols, e.setting, matrix), []
    for each in tallies_of(wanted):
        if each.form == ARTICULATED:
            form = offers[each.taken[0] if each.taken else 0]
        else:
            form = search(node, e.symbols, e.setting, matrix, False).best
        counted.append(Tried(form, each.operations))
    there = {each.form.node for each in counted}
    others = (Tried(each.form, None) for each in found.tried if each.form.node not in there)
    return Search(node, (*counted, *others), f"for {wanted.model.name}")


def _count(e: Expression, matrix: bool) -> Statements | None:
    """Count a form on the robot of a statement; None where there is none, or nothing that moves."""
    if e.model is None or not e.model.nv or e.form != ARTICULATED or has_wide_links(e.model):
        return None
    if not names_its_frames(e.node):
        return None
    return _statements(e, e.model, matrix)


def _statements(e: Expression, model: Model, matrix: bool) -> Statements:
    matrix = matrix and e.node.domain != SCALARS
    flipped = matrix and is_wide(e.node)
    named = (("y", adjoint(e.node) if flipped else e.node),)
    operators = operators_or_inputs(e.node, e.operators, model, e.symbols.frames or ())
    return Statements(named, e.symbols, e.setting, matrix, model, operators, form=e.form, flipped=flipped)
