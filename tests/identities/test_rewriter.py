"""From the abstract statement alone to the cheapest form: the expected form, an equal value, linear cost, citations."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings

import phistar as ps
from phistar.cli.checker import replay
from phistar.errors import StatementError
from phistar.identities import rewriter
from phistar.identities.law import LAWS, TREE, Setting
from phistar.identities.rewriter import forms, simplify
from phistar.operators.show import latex, text
from phistar.operators.symbols import Symbols
from phistar.sweeps.cost import cost_polynomial
from phistar.sweeps.lower import lower
from tests.identities.targets import CHAIN, TARGETS, regular_mechanisms
from tests.statements import magnitude, statements
from tests.trees import mechanism

FORMS = [
    pytest.param(target.statement, *form, id=f"{name}-{where}")
    for name, target in TARGETS.items()
    for where, form in zip(("chain", "tree"), target.forms, strict=True)
]
EACH_FORM = pytest.mark.parametrize(("statement", "symbols", "setting", "expected", "sweeps"), FORMS)
MOST_FORMS, MOST_STEPS = 8, 30
# Steps of ordinary algebra, which no paper need be cited for.
ALGEBRA = {"inverse of a product", "inverse of a sum of inverses", "collecting terms"}


@EACH_FORM
def test_the_expected_form_is_found(statement, symbols, setting, expected, sweeps):
    assert text(simplify(statement(symbols), symbols, setting).result) == expected


@EACH_FORM
def test_the_form_found_costs_a_number_of_operations_linear_in_n(statement, symbols, setting, expected, sweeps):
    derivation = simplify(statement(symbols), symbols, setting)
    program = lower(derivation.result)
    assert cost_polynomial(program).degree == 1
    assert len(program.passes) == sweeps
    if {derivation.start.domain.over, derivation.start.codomain.over} != {"links"}:
        assert str(derivation.cost(derivation.result)) == "O(n)"


@EACH_FORM
def test_each_step_follows_from_the_last_and_cites_its_law(statement, symbols, setting, expected, sweeps):
    derivation = simplify(statement(symbols), symbols, setting)
    laws = {law.name.replace("_", " "): law.citation for law in LAWS}
    node = derivation.start
    for step in derivation.steps:
        assert step.before is node and step.after is not node
        node = step.after
        assert step.law in ALGEBRA or laws[step.law] == step.citation
    assert derivation.result is node


@EACH_FORM
def test_the_steps_that_are_told_lead_from_the_statement_to_the_result(statement, symbols, setting, expected, sweeps):
    found = simplify(statement(symbols), symbols, setting)
    ends = [found.start, *(step.after for step in found.steps)]
    assert [step.before for step in found.steps] == ends[:-1]
    assert ends[-1] is found.result


@EACH_FORM
def test_few_forms_are_compared_and_few_steps_told(statement, symbols, setting, expected, sweeps):
    """What a derivation costs, counted; benchmarks/proofs.py prints how long it takes."""
    found = forms(statement(symbols), symbols, setting)
    assert len(found) <= MOST_FORMS
    assert max(len(form.told()) for form in found) <= MOST_STEPS


# Values


ON_CHAIN = {"serial": True, "tips": True, "frames": 1, "armature": False}
MECHANISMS = {"chain": ON_CHAIN, "tree": {"serial": False, "armature": True}, "chain with armature": {"serial": True}}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", MECHANISMS)
@pytest.mark.parametrize("name", TARGETS)
def test_the_form_found_has_the_value_of_the_statement(name, where):
    target = TARGETS[name]
    for case in regular_mechanisms(target, 6, **MECHANISMS[where]):
        node = target.statement(case.symbols)
        result = simplify(node, case.symbols, case.setting).result
        assert_equal(case, node, result, 1e-10)


def assert_equal(case, node, result, tolerance=1e-11) -> None:
    ours, theirs = case.dense(result), case.dense(node)
    error = np.abs(ours - theirs).max()
    if error > tolerance * np.abs(theirs).max():
        assert error <= tolerance * max(1.0, magnitude(case.dense, node, result)), text(node)


SERIAL = mechanism(50, serial=True, tips=True, frames=1, armature=False, bodies=3, kind="revolute")
BRANCHING = mechanism(51, serial=False, tips=False, frames=2, armature=True, bodies=4, kind="helical")


@settings(max_examples=settings.default.max_examples // 2)
@given(statements(SERIAL.symbols))
def test_simplifying_keeps_the_value_of_any_statement_of_a_chain(node):
    assert_equal(SERIAL, node, simplify(node, SERIAL.symbols, SERIAL.setting).result)


@settings(max_examples=settings.default.max_examples // 2)
@given(statements(BRANCHING.symbols))
def test_simplifying_keeps_the_value_of_any_statement_of_a_tree(node):
    assert_equal(BRANCHING, node, simplify(node, BRANCHING.symbols, BRANCHING.setting).result)


@settings(max_examples=settings.default.max_examples // 3)
@given(statements(CHAIN[0], longest=5))
def test_simplifying_never_costs_more_and_is_done_when_it_is_done(node):
    derivation = simplify(node, *CHAIN)
    again = simplify(derivation.result, *CHAIN)
    assert again.cost(again.result) <= derivation.cost(derivation.result)
    assume(not rewriter._needs_definitions(node))
    assert derivation.cost(derivation.result) <= derivation.cost(node)


# When nothing is found


@pytest.mark.parametrize("statement", [lambda s: s.phi, lambda s: s.H @ s.phi, lambda s: s.D.inv, lambda s: s.T])
def test_it_says_so_when_it_finds_nothing_better(statement):
    symbols, setting = CHAIN
    derivation = simplify(statement(symbols), symbols, setting)
    assert derivation.steps == ()
    assert derivation.result is derivation.start
    assert "No law makes this cheaper." in str(derivation)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (lambda s: s.E_phi.inv, r"ℰφ is strictly causal"),
        (lambda s: (s.phi @ s.E_phi).inv, r"ℰφ is strictly causal"),
        (lambda s: (s.H.T @ s.D.inv @ s.H).inv, r"structurally singular: between H\* and D⁻¹ it passes through Rates"),
        (lambda s: (s.K @ s.H + s.E_phi).inv, r"structurally singular"),
    ],
)
def test_what_no_configuration_can_invert_is_refused(statement, sentence):
    symbols, setting = CHAIN
    with pytest.raises(StatementError, match=sentence):
        simplify(statement(symbols), symbols, setting)


def test_the_inverse_of_jj_needs_to_be_told_that_the_arm_is_nonredundant():
    s = Symbols(armature=False)
    with pytest.raises(StatementError, match=r"exists only where the arm has as many dofs as its tip; say so with"):
        simplify((s.J.T @ s.U_task @ s.J).inv, s, Setting())


@pytest.mark.parametrize("setting", [Setting(), TREE])
def test_a_task_metric_added_to_the_mass_matrix_leaves_it_positive(setting):
    """(ℳ + J*UJ)⁻¹ exists for any arm, redundant ones too: ℳ > 0."""
    s = Symbols(armature=False)
    node = (s.mass + s.J.T @ s.U_task @ s.J).inv
    result = simplify(node, s, setting).result
    assert text(result) == "(I − Hψ′K′)*D′⁻¹(I − Hψ′K′)"
    case = mechanism(52, serial=True, tips=True, frames=1, bodies=8, kind="revolute", armature=False)
    assert not case.setting.nonredundant
    own = case.symbols
    node = (own.mass + own.J.T @ own.U_task @ own.J).inv
    assert_equal(case, node, simplify(node, own, case.setting).result, 1e-10)


def test_omega_is_used_only_where_its_side_conditions_hold():
    """(56) is false on trees, and one diagonal block is all that several frames would not have."""
    s = Symbols(armature=False)
    node = s.J @ s.mass.inv @ s.J.T
    used = {
        setting: "Ω" in text(simplify(node, s, setting).result)
        for setting in (Setting(), Setting(serial=False), Setting(one_frame=False, serial=False), TREE)
    }
    assert list(used.values()) == [True, True, False, False]


def test_the_mixed_congruence_pays_for_a_matrix_and_not_for_one_vector():
    """KJR92 eq. 54 makes two sweeps triangular; the counts of both programs say when that is worth P."""
    symbols, setting = CHAIN
    as_written, split = (
        symbols.psi @ symbols.M @ symbols.phi.T,
        symbols.psi @ symbols.P + symbols.P @ symbols.phi_tilde.T,
    )
    for matrix, cheaper, dearer in ((False, as_written, split), (True, split, as_written)):
        assert text(simplify(as_written, symbols, setting, matrix).result) == text(cheaper)
        counts = [cost_polynomial(lower(node, matrix))(30).total for node in (cheaper, dearer)]
        assert counts[0] < counts[1]


@pytest.mark.parametrize("statement", [lambda s: s.phi, lambda s: s.I - s.E_phi, lambda s: s.phi @ s.M @ s.phi.T])
def test_the_cost_class_of_an_operator_between_links_is_that_of_its_count(statement):
    """Applied to a vector φ takes 24n − 24 additions; as a matrix it has n²/2 blocks."""
    symbols, setting = CHAIN
    node = statement(symbols)
    derivation = simplify(node, symbols, setting)
    assert str(derivation.cost(node)) == "O(n)"
    assert cost_polynomial(lower(node)).degree == 1
    assert str(simplify(symbols.phi, symbols, setting, True).cost(symbols.phi)) == "O(n²)"


INVERSES = {
    "(I + KHφ)⁻¹": (lambda s: (s.I + s.K @ s.H @ s.phi).inv, "I − KHψ"),
    "(I + φKH)⁻¹": (lambda s: (s.I + s.phi @ s.K @ s.H).inv, "I − ψKH"),
    "(I − ψKH)⁻¹": (lambda s: (s.I - s.psi @ s.K @ s.H).inv, "I + φKH"),
    "(I − KHψ)⁻¹": (lambda s: (s.I - s.K @ s.H @ s.psi).inv, "I + KHφ"),
    "RJK91's proof of lemma 2": (lambda s: s.I - s.H @ s.phi @ (s.I + s.K @ s.H @ s.phi).inv @ s.K, "I − HψK"),
    "(ℳUℳ)⁻¹": (lambda s: (s.mass @ s.U @ s.mass).inv, ""),
    "(ℳR⁻¹ℳ)⁻¹": (lambda s: (s.mass @ s.R.inv @ s.mass).inv, ""),
    "((ℳ + R)⁻¹ + ℳ⁻¹)⁻¹": (lambda s: ((s.mass + s.R).inv + s.mass.inv).inv, ""),
}


@pytest.mark.parametrize("name", INVERSES)
@pytest.mark.parametrize("armature", [False, True])
def test_inverses_are_pushed_through_and_split(name, armature):
    """O(n), found unaided, equal in value, and justified step by step."""
    statement, expected = INVERSES[name]
    case = mechanism(53, serial=True, tips=True, frames=1, bodies=5, kind="revolute", armature=armature, rotors=False)
    node = statement(case.symbols)
    derivation = simplify(node, case.symbols, case.setting)
    assert cost_polynomial(lower(derivation.result)).degree == 1
    assert text(derivation.result) == (expected or text(derivation.result))
    assert_equal(case, node, derivation.result, 1e-9)
    replay(json.loads(json.dumps(derivation.certificate())))


# The determinant


@pytest.mark.parametrize("seed", range(60, 66))
def test_the_determinant_of_the_mass_matrix_is_that_of_d(seed):
    """det ℳ = ∏ det D(k) (RJK91 after lemma 1), with armature too."""
    case = mechanism(seed)
    blocks = case.algebra.mass.determinant()
    assert text(blocks.node) == "D"
    assert np.isclose(np.linalg.det(case.dense(blocks.node)), np.linalg.det(case.dense(case.symbols.mass)), rtol=1e-9)


@pytest.mark.parametrize("armature", [True, False])
def test_the_determinant_of_the_mass_matrix_written_out_is_the_same(armature):
    case = mechanism(66, armature=armature)
    s = case.symbols
    written_out = case.algebra.expression(s.H @ s.phi @ s.M @ s.phi.T @ s.H.T + s.A)
    assert written_out.determinant().node is s.D


def test_a_determinant_that_no_law_factors_is_refused():
    A = ps.algebra()
    with pytest.raises(StatementError, match="No law factors"):
        (A.mass + A.H @ A.phi @ A.M @ A.H.T).determinant()


def test_triangular_operators_have_determinant_one_and_small_ones_are_their_own():
    A = ps.algebra()
    for unit in (A.phi, A.psi.T, A.I + A.H @ A.phi @ A.K, (A.I - A.H @ A.psi @ A.K).inv, A.phi @ A.psi.inv):
        assert unit.determinant().show() == "I"
    assert A.Lambda.determinant().show() == A.Lambda.simplify(matrix=True).show()


# What is printed


def test_a_derivation_prints_each_step_with_its_law_its_citation_and_the_cost():
    symbols, setting = CHAIN
    derivation = simplify(symbols.mass.inv, symbols, setting)
    assert str(derivation).splitlines() == [
        "  ℳ⁻¹    [O(n³)]",
        "= (HφMφ*H*)⁻¹    [O(n³) → O(n³)]    newton euler factorization, RJK91 eq. 3; KJR92 eq. 42",
        "= ((I + HφK)D(I + HφK)*)⁻¹    [O(n³) → O(n³)]    lemma 1, RJK91 lemma 1, eq. 11; KJR92 eq. 49",
        "= (I + HφK)*⁻¹D⁻¹(I + HφK)⁻¹    [O(n³) → O(n³)]    inverse of a product",
        "= (I − HψK)*D⁻¹(I − HψK)    [O(n³) → O(n)]    lemma 2, RJK91 lemma 2, eq. 12; KJR92 eq. 50",
    ]


@EACH_FORM
def test_a_derivation_as_latex_and_as_data_says_the_same(statement, symbols, setting, expected, sweeps):
    derivation = simplify(statement(symbols), symbols, setting)
    rows = derivation.latex().splitlines()
    assert rows[0] == r"\begin{aligned}" and rows[-1] == r"\end{aligned}"
    assert len(rows) == 3 + len(derivation.steps)
    for row, step in zip(rows[2:], derivation.steps):
        assert latex(step.after) in row and step.law in row and step.citation in row
    data = derivation.as_dict()
    assert [step["law"] for step in data["steps"]] == [step.law for step in derivation.steps]
    assert data["result"]["statement"] == expected
    assert data["improved"] == bool(derivation.steps)


@pytest.mark.parametrize("said", [{}, {"nonredundant": True}, {"tree": True, "armature": True}])
def test_optional_laws_that_run_in_circles_are_left_out(said):
    """Behind (I + HφK)⁻¹DK* some undo what others do, for ever; the form without them is given."""
    a = ps.algebra(**said)
    assert ((a.I + a.H @ a.phi @ a.K).inv @ a.D @ a.K.T).simplify().show() == "(I − HψK)DK*"


def test_a_second_derivative_along_two_directions_has_a_form():
    """Two hundred rewrites were taken for a circle."""
    a = ps.algebra()
    motion = a.mass.inv @ (a.T - a.C - a.g)
    twice = motion.derivative(along=a.v).derivative(along=a.vector("w", "Rates"))
    assert not any(name in str(twice.simplify()) for name in ("ℳ", "𝒞", "𝒢"))
