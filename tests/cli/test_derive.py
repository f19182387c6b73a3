"""`phistar derive`: the page and the JSON say what the algebra says; a wrong statement is marked, with exit code 2."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phistar as ps
from phistar.__main__ import main
from phistar.cli.derive import limited_time
from phistar.errors import StatementError
from phistar.operators.symbols import NAMES
from phistar.sweeps.cost import CostPolynomial, cost_polynomial
from phistar.sweeps.lower import lower
from phistar.sweeps.patterns import count

A = ps.algebra()


def facts_of(capsys, *arguments):
    assert main(["derive", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def shown_by(capsys, *arguments):
    assert main(["derive", *arguments]) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


LEMMA_4 = """\
(I − HψK)Hφ   Forces → Torques
Serial chain with one task frame, at its tip; joints without armature.

Derivation
 step                   law       citation                       cost
──────────────────────────────────────────────────────────────────────
          (I − HψK)Hφ                                            O(n)
    1   = Hψ            lemma 4   RJK91 lemma 4, eq. 16   O(n) → O(n)
                                  KJR92 eq. 53

Recursion: 1 sweep (inward)   given x; result y
  z⁺(0) = 0; P⁺(0) = 0
  for k = 1 … n    (inward, tip to base)
      P(k) = φ(k,k−1) P⁺(k−1) φ*(k,k−1) + M(k)
      U(k) = P(k) H*(k)
      D(k) = H(k) U(k)
      D⁻¹(k) = D(k)⁻¹
      G(k) = U(k) D⁻¹(k)
      P⁺(k) = P(k) − G(k) U*(k)
      z(k) = φ(k,k−1) z⁺(k−1) + x(k)
      y(k) = H(k) z(k)
      z⁺(k) = z(k) − G(k) y(k)
  end loop

Operations for one value, on a serial chain of n revolute links
"""


def test_the_page_of_lemma_4_is_as_the_papers_print_it():
    command = [sys.executable, "-m", "phistar", "derive", "(I - H @ psi @ K) @ H @ phi"]
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=True)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    written = LEMMA_4.splitlines()
    assert lines[: len(written)] == written


def test_the_page_shows_each_step_with_law_citation_and_cost_before_and_after(capsys):
    statement = "J @ inv(mass) @ J.T"
    page = "\n".join(shown_by(capsys, statement))
    derivation = (A.J @ A.mass.inv @ A.J.T).derivation()
    assert len(derivation.steps) == 8
    for number, step in enumerate(derivation.steps, start=1):
        costs = f"{derivation.cost(step.before)} → {derivation.cost(step.after)}"
        cells = [str(number), f"= {step.after!r}", step.law, step.citation.split("; ")[0], costs]
        row = r"\n +" + " +".join(re.escape(cell) for cell in cells) + r"\n"
        assert re.search(row, page), row
    for line in str((A.J @ A.mass.inv @ A.J.T).algorithm()).splitlines():
        assert f"\n  {line}\n" in page


def test_the_page_compares_the_counted_operations_with_the_naive_way(capsys):
    lines = shown_by(capsys, "inv(mass)", "--n", "7", "--n", "1000")
    at = next(i for i, line in enumerate(lines) if line.startswith("Operations"))
    heading, _, derived, naive, ratio, explained = lines[at + 1 : at + 7]
    best = A.mass.inv.cost_polynomial()
    dense = cost_polynomial(lower((A.H @ A.phi @ A.M @ A.phi.T @ A.H.T).inv.node))
    assert heading.split() == ["additions", "multiplications", "divisions", *"n=7", "n", "=", "1,000"]
    assert derived.split()[-2:] == [f"{best(7).total:,}", f"{best(1000).total:,}"]
    assert naive.split()[-2:] == [f"{dense(7).total:,}", f"{dense(1000).total:,}"]
    assert ratio.split()[-1] == f"{dense(1000).total / best(1000).total:,.1f}"
    assert "(HφMφ*H*)⁻¹ as it stands, inverses by dense solves" in explained
    assert (best.degree, dense.degree) == (1, 3)


def test_it_says_so_when_nothing_is_cheaper_than_what_was_typed(capsys):
    lines = shown_by(capsys, "phi @ M")
    assert "  No law makes this cheaper." in lines
    assert any(line.startswith(" as written") for line in lines)
    assert not any("naive" in line for line in lines)


KEYS = {
    "": {"format_version", "statement", "matrix", "domain", "codomain", "mechanism", "derivation", "recursion"}
    | {"operations"},
    "mechanism": {"serial", "armature", "nonredundant"},
    "derivation": {"start", "steps", "result", "improved"},
    "recursion": {"sweeps", "inputs", "result", "algorithm"},
    "operations": {"derived", "naive"},
}
STEP = {"law", "citation", "statement", "latex", "cost", "cost_before"}
COUNTED = {"statement", "polynomials", "coefficients", "from_n", "counts"}
KINDS = ["additions", "multiplications", "divisions"]


@pytest.mark.parametrize(
    "arguments", [["J @ inv(mass) @ J.T"], ["T"], ["Lambda"], ["mass", "--matrix"], ["inv(mass) @ T", "--tree"]]
)
def test_json_has_one_shape_whatever_the_statement(arguments, capsys):
    facts = facts_of(capsys, *arguments)
    for name, keys in KEYS.items():
        assert set(facts[name] if name else facts) == keys
    assert facts["format_version"] == 1 and facts["statement"] == arguments[0]
    assert all(set(step) == STEP for step in facts["derivation"]["steps"])
    assert all(set(item) == {"name", "over", "identity"} for item in facts["recursion"]["inputs"])
    assert set(facts["recursion"]["sweeps"]) <= {"inward", "outward"}
    for counted in facts["operations"].values():
        assert set(counted) == COUNTED
        assert list(counted["polynomials"]) == list(counted["coefficients"]) == KINDS
        assert [item["n"] for item in counted["counts"]] == [7, 100]
        assert all(item["total"] == sum(item[kind] for kind in KINDS) for item in counted["counts"])


def test_json_holds_what_the_algebra_says(capsys):
    facts = facts_of(capsys, "inv(mass) @ (T - C - g)")
    expression = A.mass.inv @ (A.T - A.C - A.g)
    derivation = expression.derivation()
    assert (facts["domain"], facts["codomain"]) == ("Scalars", "Rates")
    assert facts["derivation"]["start"]["latex"] == expression.latex()
    assert [step["statement"] for step in facts["derivation"]["steps"]] == [repr(s.after) for s in derivation.steps]
    assert [step["citation"] for step in facts["derivation"]["steps"]] == [s.citation for s in derivation.steps]
    assert facts["recursion"]["algorithm"] == str(expression.algorithm()).splitlines()
    assert facts["recursion"]["sweeps"] == [sweep.direction for sweep in expression.sweeps]
    assert [item["name"] for item in facts["recursion"]["inputs"]] == ["θ̇", "T", "a_g"]
    coefficients = facts["operations"]["derived"]["coefficients"]
    assert [[str(c) for c in part] for part in expression.cost_polynomial().parts] == list(coefficients.values())


def test_the_identity_that_a_recursion_starts_from_is_told_from_what_is_given(capsys):
    inputs = facts_of(capsys, "Lambda")["recursion"]["inputs"]
    assert sorted(item["identity"] for item in inputs) == [False, True]
    assert any("is the identity" in line for line in shown_by(capsys, "Lambda"))


def test_sizes_below_the_polynomials_are_counted_link_by_link(capsys):
    facts = facts_of(capsys, "inv(mass)", "--n", "1", "--n", "2", "--n", "50")
    program = A.mass.inv.program()
    totals = [count(program, n).total for n in (1, 2, 50)]
    assert [item["total"] for item in facts["operations"]["derived"]["counts"]] == totals


def test_the_naive_way_fills_in_definitions_and_resolves_no_inverse(capsys):
    naive = facts_of(capsys, "inv(J @ inv(mass) @ J.T) @ Jdot_v", "--armature")["operations"]["naive"]
    assert naive["statement"] == "(B*φ*H*(HφMφ*H* + A)⁻¹HφB)⁻¹(B*φ*a + a(0))"


PAPERS = [
    "inv(mass)",
    "J @ inv(mass) @ J.T",
    "C",
    "g",
    "inv(J @ inv(mass) @ J.T) @ (J @ inv(mass) @ C - Jdot_v)",
    "inv(J @ inv(mass) @ J.T) @ J @ inv(mass) @ g",
    "-inv(mass) @ J.T @ f",
    "inv(Q @ J @ inv(mass) @ J.T @ Q.T)",
    "(I - H @ psi @ K) @ H @ phi",
    "inv(I + H @ phi @ K)",
    "inv(mass) @ (T - C - g)",
    "J @ U @ J.T",
    "J.T @ U_task @ J",
    "inv(J.T @ U_task @ J)",
    "mass @ qdd + C + g",
    "ℳ.inv @ (T − 𝒞 − 𝒢)",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("statement", PAPERS)
@pytest.mark.parametrize("mechanism", [[], ["--tree", "--armature"]], ids=["chain", "tree"])
def test_the_papers_statements_come_out_linear(statement, mechanism, capsys):
    facts = facts_of(capsys, statement, "--nonredundant", *mechanism)
    assert facts["derivation"]["result"]["cost"] in ("O(n)", "O(1)")
    assert all(len(part) <= 2 for part in facts["operations"]["derived"]["coefficients"].values())


def test_what_may_be_assumed_decides_what_is_found(capsys):
    statement = "J @ inv(mass) @ J.T"
    results = {
        option: facts_of(capsys, statement, *filter(None, [option]))["derivation"]["result"]["statement"]
        for option in ("", "--tree")
    }
    assert results == {"": "B*ΩB", "--tree": "B*ψ*H*D⁻¹HψB"}
    steps = facts_of(capsys, "mass", "--armature")["derivation"]["steps"]
    assert steps[0]["statement"] == "HφMφ*H* + A"
    assert facts_of(capsys, "mass", "--tree")["mechanism"] == {
        "serial": False,
        "armature": False,
        "nonredundant": False,
    }


def test_a_matrix_is_another_question_than_its_action(capsys):
    facts = facts_of(capsys, "inv(mass)", "--matrix")
    assert facts["matrix"] and len(facts["operations"]["derived"]["coefficients"]["additions"]) == 3
    assert "Operations for the operator as a matrix" in "\n".join(shown_by(capsys, "inv(mass)", "--matrix"))


def test_latex_is_the_derivation_and_nothing_else(capsys):
    assert main(["derive", "J @ inv(mass) @ J.T", "--latex"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == (A.J @ A.mass.inv @ A.J.T).derivation().latex()


WRONG = [
    ("J @@ mass", "   ^"),
    ("J @ mass", "^^^^^^^^"),
    ("phi + H", "^^^^^^^"),
    ("H @ inv(J)", "        ^"),
    ("inv(H.T @ inv(D) @ H)", "    ^^^^^^^^^^^^^^^^"),
    ("phi @ inv(E_phi)", "          ^^^^^"),
    ("Omega @ phii", "        ^^^^"),
    ("2 * I", "^^^^^"),
    ("J.T @ inv(J @ J", "         ^"),
]


@pytest.mark.parametrize(("statement", "carets"), WRONG, ids=[statement for statement, _ in WRONG])
def test_a_wrong_statement_is_a_sentence_with_the_factor_marked_and_exit_code_2(statement, carets, capsys):
    assert main(["derive", statement]) == 2
    seen = capsys.readouterr()
    sentence, echo, marks, end = seen.err.split("\n")
    assert seen.out == "" and end == "" and sentence.endswith((".", "?"))
    assert (echo, marks) == (f"  {statement}", f"  {carets}")


def test_a_wrong_statement_is_as_wrong_in_json_and_latex(capsys):
    for option in ("--json", "--latex"):
        assert main(["derive", "J @ mass", option]) == 2
        seen = capsys.readouterr()
        assert seen.out == "" and "^^^^^^^^" in seen.err


def test_a_condition_that_is_missing_is_named_as_the_option_it_is(capsys):
    assert main(["derive", "inv(J.T @ U_task @ J)"]) == 2
    error = capsys.readouterr().err
    assert "--nonredundant" in error and "ps.algebra(" not in error
    assert error.splitlines()[-1] == "      ^^^^^^^^^^^^^^^^"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["M", "P"],
        ["M", "--n", "0"],
        ["M", "--n", "x"],
        ["M", "--json", "--latex"],
        ["M", "--no-such-option"],
        [""],
        ["M" * 3000],
        ["-" * 900 + "M"],
    ],
    ids=lambda arguments: " ".join(arguments)[:24],
)
def test_wrong_usage_is_exit_code_2_with_a_reason(arguments, capsys):
    assert main(["derive", *arguments]) == 2
    seen = capsys.readouterr()
    assert seen.out == "" and len(seen.err) > 20 and "Traceback" not in seen.err


@pytest.fixture(params=["in front", "in the background"])
def interruptible(request):
    """A shell starts what runs in the background so that Ctrl-C does not reach it."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before if request.param == "in front" else signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_search_that_does_not_end_is_stopped_with_a_sentence(interruptible, monkeypatch, capsys):
    monkeypatch.setattr("phistar.cli.derive.LONGEST_SEARCH", 0.3)
    assert main(["derive", " @ ".join(["(phi + psi + I)"] * 40)]) == 2  # 3^40 words: without a stop it would not end
    assert "too long" in capsys.readouterr().err


def test_interrupting_the_search_is_not_taken_for_its_end():
    with pytest.raises(KeyboardInterrupt), limited_time(60):
        raise KeyboardInterrupt
    with pytest.raises(StatementError, match="too long"), limited_time(60):
        raise RecursionError


def test_help_lists_every_symbol_and_three_examples(capsys):
    assert main(["derive", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("phistar derive ") == 4  # the usage and three examples
    words = set(re.findall(r"\w+", shown))
    assert set(NAMES) | {"Lambda"} <= words


def test_the_examples_of_the_help_run(capsys):
    main(["derive", "--help"])
    examples = re.findall(r'phistar derive "(.*)"(.*)', capsys.readouterr().out)
    assert len(examples) == 3
    for statement, options in examples:
        assert main(["derive", statement, *options.split()]) == 0


def test_the_page_fits_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setattr("phistar.cli.info.WIDTH_WHEN_PIPED", 80)
    lines = shown_by(capsys, "J @ inv(mass) @ J.T")
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("…") for line in lines)
    for step in (A.J @ A.mass.inv @ A.J.T).derivation().steps:
        at = next(i for i, line in enumerate(lines) if f"= {step.after!r}" in line)
        assert step.law in lines[at + 1] and step.citation in lines[at + 1]


def test_a_statement_may_begin_with_a_minus_sign(capsys):
    assert facts_of(capsys, "-inv(mass) @ J.T @ f")["derivation"]["start"]["statement"] == "−ℳ⁻¹J*f(0)"


def test_output_without_unicode_is_no_error():
    environment = os.environ | {"PYTHONIOENCODING": "ascii:backslashreplace"}
    command = [sys.executable, "-m", "phistar", "derive", "inv(mass)"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "newton euler factorization" in done.stdout


PIECES = [
    "J",
    "mass",
    "phi",
    "H",
    "I",
    "T",
    "C",
    "inv(",
    "(",
    ")",
    ")",
    "@",
    "@",
    "+",
    "-",
    "*",
    ".T",
    ".inv",
    "2",
    "^",
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9))
def test_no_string_of_tokens_gives_a_traceback_or_another_exit_code(capsys, pieces):
    code = main(["derive", "--json", "--", " ".join(pieces)])
    seen = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in seen.err and bool(seen.out) == (code == 0)


def test_a_polynomial_is_shown_part_by_part(capsys):
    derived = facts_of(capsys, "inv(mass)")["operations"]["derived"]
    polynomial = A.mass.inv.cost_polynomial()
    assert isinstance(polynomial, CostPolynomial)
    assert ", ".join(f"{shown} {kind}" for kind, shown in derived["polynomials"].items()) == str(polynomial)


def test_several_robots_are_derived_each_by_its_laws(capsys):
    """RJK91 eq. 26 as it is printed."""
    text = "inv(a.J @ inv(a.mass) @ a.J.T + b.J @ inv(b.mass) @ b.J.T)"
    assert main(["derive", text, "--robot", "a", "--robot", "b"]) == 0
    told = capsys.readouterr().out
    assert "= ((B*ΩB)₍a₎ + (B*ΩB)₍b₎)⁻¹" in told and told.count("lemma 4, RJK91 lemma 4") == 2
    assert main(["derive", "a.mass + b.mass", "--robot", "a", "--robot", "b"]) != 0
    assert "Rates[a]" in capsys.readouterr().err
    assert main(["derive", "a.J", "--robot", "a", "--tree"]) != 0
