"""One walk through programs: every reader is a domain of it, and a new one needs no walk of its own."""

import ast
from pathlib import Path

import pytest

import phistar as ps
from phistar.backends.pairwise.bodies import _Columns
from phistar.backends.programs.interpret import _Machine
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.steps import StepTracer
from phistar.sweeps.algorithm import _Text
from phistar.sweeps.evaluate import Domain, evaluate
from phistar.sweeps.ir import fields_anywhere
from phistar.sweeps.patterns import _Chain

SOURCES = Path(ps.__file__).parent
READERS = [_Text, _Chain, _Machine, StepTracer, FlatTracer, _Columns]


class Reads(Domain):
    """Of every value the fields that it is made of, at one site."""

    def __init__(self):
        self.found = {}

    def sites(self, sweep):
        return (0,)

    def get(self, name, at):
        return frozenset({name})

    def put(self, statement, at, value):
        self.found[statement.target] = value

    def data(self, name, at):
        return frozenset()

    def product(self, left, right, term, at, half):
        return left | right

    def total(self, terms, half):
        return frozenset().union(*(x for _, x in terms))

    def transpose(self, x):
        return x

    def invert(self, x):
        return x

    def divide(self, x, matrix):
        return x | matrix

    def apply(self, function, arguments, at):
        return frozenset().union(*arguments)

    def operator(self, name, transposed, x):
        return x

    def solve(self, matrix, right, symmetric):
        return matrix | right

    def move(self, term, at):
        return fields_anywhere(term)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_programs_is_a_domain_of_the_one_walk(reader):
    assert issubclass(reader, Domain)
    assert reader.value is Domain.value


def test_no_other_module_walks_through_terms():
    """A walk matches products and sums and takes their parts; passes rebuild terms, they do not evaluate them."""
    walks = [
        path.name
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name in ("value", "_show") and "Times(" in ast.unparse(node)
    ]
    assert walks == ["evaluate.py"]


@pytest.mark.parametrize("name", ["forward_dynamics", "operational_space", "kinetic_energy", "momentum"])
def test_a_new_domain_sees_what_each_statement_reads(name):
    program = getattr(ps, name).statement.program()
    reads = Reads()
    evaluate(program, reads)
    for sweep in program.sweeps:
        for statement in sweep.statements:
            assert reads.found[statement.target] <= fields_anywhere(statement.term)
            assert fields_anywhere(statement.term) - reads.found[statement.target] <= {"X"}  # where a link is: implied
