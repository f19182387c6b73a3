"""Defining equations: a sweep is lowered from them alone, and they say what the laws say."""

import pytest

from phistar.identities import derivative_laws, kinematic_laws
from phistar.operators.meanings import FIELDS, INWARD, LOCAL, OUTWARD, Recursion, recursion_of
from phistar.operators.nodes import Symbol
from phistar.operators.spaces import FORCES, MOTIONS
from phistar.operators.symbols import Symbols
from phistar.sweeps.defining_equations import Equations
from phistar.sweeps.ir import CARRIED, CHILDREN, COMPLIANCE, INERTIA, PARENT, Data, Move, Plus

S = Symbols()


class Written:
    """A program that has no fields yet."""

    def __init__(self):
        self.inputs = {}

    def suffix(self, pair):
        return ""

    def block(self, node):
        return Data(node.name)


def lowered(letter, node):
    return Equations(Written(), joseph=False).equation(letter, node)


def letter(*traits):
    return Symbol("X", MOTIONS, FORCES, frozenset({"memoryless", *traits}))


def test_an_equation_that_no_table_knows_lowers_to_a_scan_by_itself():
    x = letter("symmetric")
    made = lowered(x, S.E_phi @ x @ S.E_phi.T + 2 * S.M)
    assert made.target == "X" and made.symmetric
    assert isinstance(made.term, Plus) and set(made.term.terms) == {(1, Move(CHILDREN, INERTIA, "X")), (2, Data("M"))}
    assert Recursion("any", (), ((x, S.E_phi @ x @ S.E_phi.T + S.M),)).way == INWARD


def test_what_stands_on_both_sides_says_where_a_block_comes_from():
    x, y = letter(), Symbol("X", FORCES, MOTIONS, frozenset({"memoryless", "symmetric"}))
    assert lowered(x, S.E_phi @ x @ S.E_phi.T).term is Move(CHILDREN, CARRIED, "X")
    assert lowered(y, S.E_phi.T @ y @ S.E_phi).term is Move(PARENT, COMPLIANCE, "X")


@pytest.mark.parametrize(
    ("law", "symbol"),
    [
        (kinematic_laws.composite_recursion, S.r),
        (kinematic_laws.gramian_recursion, S.Gamma),
        (derivative_laws.coriolis_composite_recursion, S.r_v),
    ],
)
def test_laws_of_recursions_are_the_defining_equations(law, symbol):
    assert law.sides(S) == recursion_of(symbol).equations[0]


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "V_ref"])
def test_every_defined_symbol_has_its_equation_and_a_way(name):
    symbol = getattr(S, name)
    made = recursion_of(symbol)
    assert symbol in dict(made.equations) and made.way in (INWARD, OUTWARD, LOCAL) and made.weight > 0


def test_a_given_symbol_has_none():
    assert recursion_of(S.v) is None and recursion_of(S.M) is None
