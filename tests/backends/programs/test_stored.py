"""Programs as plain data: what comes back is the program, term for term."""

import json

import pytest

import phistar as ps
from phistar.backends.programs.derivations import Rows, value_of
from phistar.operators.symbols import NAMES, Symbols
from phistar.sweeps.lower import lower

S = Symbols()
STATEMENTS = {
    "forward dynamics": ps.forward_dynamics.statement.simplify().node,
    "task inertia": next(iter(ps.operational_space.statements.values())).simplify().node,
    **{name: getattr(S, name) for name in NAMES if name not in ("I", "Q", "C", "g", "Jdot_v", "C_ref")},
}


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("matrix", [False, True])
def test_a_program_survives_being_written_and_read(name, matrix):
    program = lower(STATEMENTS[name], matrix=matrix)
    rows = Rows()
    number = rows.add(program)
    assert value_of(json.loads(json.dumps(rows.rows)), number) == program
    assert rows.add(program) == number


def test_what_is_no_part_of_a_program_is_refused():
    with pytest.raises(TypeError, match="no part of a program"):
        Rows().add(object())
