"""What a compiled statement prints is the program that its kernel runs, in every schedule."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PAIRS, ROLLED, WRITTEN
from phistar.backends.executor import program_run
from phistar.backends.kernel import trace_statements

CHAIN = ps.chain(14)
A = ps.algebra(CHAIN, [CHAIN.bodies[-1].name])
STATEMENTS = {
    "forward dynamics": (A.mass.inv @ (A.T - A.C - A.g), False),
    "inverse dynamics": (A.mass @ A.qdd + A.C + A.g, False),
    "mass matrix": (A.mass, True),
    "mobility": (A.J @ A.mass.inv @ A.J.T, True),
    "Jacobian": (A.J, True),
    "phi": (A.phi, True),
}


@pytest.mark.parametrize("schedule", [WRITTEN, ROLLED])
@pytest.mark.parametrize("name", STATEMENTS)
def test_every_line_is_of_the_program_that_runs(name, schedule):
    expression, matrix = STATEMENTS[name]
    made = ps.compile(expression, matrix=matrix, schedule=schedule)
    run = program_run(made.statements, made.kernel)
    shown = str(made.algorithm())
    assert made.algorithm().program == run and shown.count("end loop") == sum(s.direction != "flat" for s in run.sweeps)
    targets = [statement.target for sweep in run.sweeps for statement in sweep.statements]
    assert all(f"{target}(k) = " in shown or f"{target} = " in shown for target in targets)


def test_a_program_written_out_is_the_one_that_was_traced(monkeypatch):
    """Where bias accelerations are taken is decided on the way to the trace; it was not printed."""
    made, seen = ps.compile(STATEMENTS["inverse dynamics"][0], schedule=WRITTEN), []
    monkeypatch.setattr("phistar.backends.kernel.run", lambda program, *rest: seen.append(program) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trace_statements(made.statements)
    assert seen == [made.algorithm().program]


def test_loops_over_pairs_are_shown():
    made = ps.compile(A.mass, matrix=True, schedule=PAIRS)
    assert "k carries j" in str(made.algorithm()) and r"\dots" in made.algorithm()._repr_latex_()
    q = np.linspace(-1, 1, CHAIN.nv)
    assert np.allclose(made(q), ps.mass_matrix(CHAIN, q))


def test_an_adjoint_that_is_made_in_its_place_is_shown():
    made = ps.compile(A.J, matrix=True)
    assert made.flipped and str(made.algorithm()) != str(A.J.algorithm())
