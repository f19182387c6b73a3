"""Statements as tables over pairs of joints: what stands on either side, and the program that makes it."""

import pytest

import phistar as ps
from phistar.backends.programs.derivations import Rows, value_of
from phistar.errors import StatementError
from phistar.identities.polynomial import expand
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import INWARD, OUTWARD
from phistar.sweeps.tables import lower_tables, pair_form
from tests.trees import mechanism, relative

S = Symbols()
BY_RATES = ps.inverse_dynamics_derivatives.statements["dv"].simplify(matrix=True).node


def test_a_table_has_a_block_of_its_own_and_products_for_both_ways_along_the_tree():
    form = pair_form(BY_RATES, S)
    columns = S.r @ S.Psi_prime + 2 * S.r_v @ S.H.T
    assert dict(expand(form.own).terms) == dict(expand(S.H @ columns).terms)
    ((left, right),) = form.carries
    assert text(left) == "H*" and dict(expand(right).terms) == dict(expand(columns).terms)
    assert {(text(a), text(b)) for a, b in form.carried} == {("rH*", "Ψ́"), ("2·(r_v*H*)", "H*")}


@pytest.mark.parametrize("seed", range(4))
def test_the_products_add_up_to_the_statement(seed):
    case = mechanism(seed, rotors=False)
    s = case.symbols
    for node in (
        s.H @ s.phi @ s.M @ s.phi.T @ s.H.T,
        s.H @ s.phi @ (s.M @ s.phi.T @ s.Psi_prime + s.B_v @ s.phi.T @ s.H.T),
    ):
        form = pair_form(node, s)
        total = case.dense(form.own)
        total = total + sum(case.dense(a.T @ s.phi_tilde @ b) for a, b in form.carries)
        total = total + sum(case.dense(a.T @ s.phi_tilde.T @ b) for a, b in form.carried)
        assert relative(total, case.dense(node)) < 1e-11


def test_the_program_of_a_table_goes_out_and_in_once_and_can_be_kept():
    program = lower_tables({"dv": BY_RATES}, S, {})
    assert [sweep.direction for sweep in program.passes] == [OUTWARD, INWARD]
    (table,) = program.tables
    made = {s.target for sweep in program.sweeps for s in sweep.statements}
    assert {table.own, *(x for pair in (*table.carries, *table.carried) for x in pair)} <= made
    rows = Rows()
    assert value_of(rows.rows, rows.add(program)) == program


def test_what_is_no_product_over_pairs_is_refused_in_a_sentence():
    with pytest.raises(StatementError, match="no product over pairs"):
        pair_form(S.H @ S.psi @ S.K, S)
