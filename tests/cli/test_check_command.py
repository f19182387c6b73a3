"""`phistar check`: certificates hold, and nothing that was altered does."""

import copy
import json
from pathlib import Path

import pytest

import phistar as ps
import phistar.cli.check_command as program
from phistar.cli.app import run
from phistar.cli.checker import evaluate, replay
from phistar.errors import StatementError
from phistar.identities.rewriter import simplify
from tests.identities.targets import TARGETS

FORMS = [
    pytest.param(target.statement, *form[:2], id=f"{name}-{where}")
    for name, target in TARGETS.items()
    for where, form in zip(("chain", "tree"), target.forms, strict=True)
]


def certificate(name="mass matrix inverse"):
    symbols, setting, *_ = TARGETS[name].forms[0]
    made = simplify(TARGETS[name].statement(symbols), symbols, setting).certificate()
    return json.loads(json.dumps(made))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("statement", "symbols", "setting"), FORMS)
def test_every_derivation_of_the_papers_statements_carries_a_certificate_that_holds(statement, symbols, setting):
    made = json.loads(json.dumps(simplify(statement(symbols), symbols, setting).certificate()))
    replay(made)
    assert evaluate(made, 0) < 1e-50


def test_the_command_says_that_a_certificate_holds(tmp_path, capsys):
    file = tmp_path / "proof.json"
    assert run(["derive", "J @ inv(mass) @ J.T", "--certificate", str(file)]) == 0
    capsys.readouterr()
    assert run(["check", str(file)]) == 0
    told = capsys.readouterr().out
    assert "J @ inv(mass) @ J.T = B.T @ Omega @ B holds: 8 steps replayed exactly" in told and "to 50 digits" in told


def _other_result(data):
    data["result"] = data["start"]


def _skipped_step(data):
    del data["steps"][1]


def _other_coefficient(data):
    data["steps"][0]["uses"][0]["coefficient"] = "2"


def _false_law(data):
    for law in data["laws"]:
        if law["name"] == "lemma 2":
            law["right"] = ["mul", law["right"], law["right"]]


def _unmet_condition(data):
    data["laws"][0]["needs"] = ["serial"]
    data["mechanism"]["serial"] = False


def _false_algebra(data):
    law = next(law for law in data["laws"] if law["kind"] == "law")
    law["kind"], law["substitution"] = "algebra", {"X": law["left"]}


@pytest.mark.parametrize(
    "alter", [_other_result, _skipped_step, _other_coefficient, _false_law, _unmet_condition, _false_algebra]
)
def test_nothing_that_was_altered_holds(alter, tmp_path, capsys):
    data = copy.deepcopy(certificate())
    alter(data)
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    assert run(["check", str(file)]) == 1
    assert "does not hold" in capsys.readouterr().err


def test_a_law_that_is_false_is_found_by_its_numbers_though_the_steps_follow_from_it():
    """ψ = φ, used once: exact in the replay, and false on every mechanism."""
    data = certificate("lemma 4")
    (psi,) = [i for i, symbol in enumerate(data["symbols"]) if symbol["name"] == "psi"]
    (phi,) = [i for i, symbol in enumerate(data["symbols"]) if symbol["name"] == "phi"]
    blank = {"citation": "", "needs": [], "domain": "Forces", "substitution": {}, "uses": []}
    data["laws"] = [{"name": "ψ is φ", "kind": "law", "left": ["sym", psi], "right": ["sym", phi], **blank}]
    use = {"law": 0, "coefficient": "1", "before": ["id", ""], "after": ["id", ""], "adjoint": False}
    step = {"law": "ψ is φ", "before": ["sym", psi], "after": ["sym", phi], "domain": "Forces", "uses": [use]}
    data |= {"start": ["sym", psi], "result": ["sym", phi], "steps": [step]}
    replay(data)
    with pytest.raises(StatementError, match="the law ψ is φ is false on a random mechanism"):
        evaluate(data, 0)


OF_MOTION = {
    "a rate": lambda a: a.phi.rate(),
    "the rate of what Riccati's equation makes": lambda a: (a.mass.inv @ a.T).derivative(along=a.v),
    "a derivative of forward dynamics": lambda a: a.expression(ps.forward_dynamics_derivatives.nodes(a.symbols)["dq"]),
    "both ways": lambda a: a.M_i @ a.qdd_i,
    "what some joints drive": lambda a: a.L.T @ (a.L @ a.mass @ a.L.T + a.R).inv @ a.L @ a.T,
}


@pytest.mark.parametrize("name", OF_MOTION)
def test_letters_of_velocities_are_evaluated_too(name):
    """A derivative is what differences say, to fifty digits."""
    made = json.loads(json.dumps(OF_MOTION[name](ps.algebra()).derivation().certificate()))
    replay(made)
    assert evaluate(made, 0) < 1e-50


def test_a_derivative_with_a_wrong_sign_is_found():
    made = json.loads(json.dumps(ps.algebra().phi.rate().derivation().certificate()))
    law = next(law for law in made["laws"] if law["kind"] == "law")
    law["right"] = ["add", ["-1", law["right"]]]
    with pytest.raises(StatementError, match="is false on a random mechanism"):
        evaluate(made, 0)


def test_what_is_told_to_hold_is_what_was_checked_not_what_the_file_says(tmp_path, capsys):
    data = certificate()
    data["statement"], data["result_text"] = "ℳ", "0"
    for symbol in data["symbols"]:
        symbol["shown"] = "φ"
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    assert run(["check", str(file)]) == 0
    assert capsys.readouterr().out.startswith("inv(mass) = (I + -1 * (H @ psi @ K)).T @ inv(D) @")


def _huge_number(data):
    data["steps"][0]["uses"][0]["coefficient"] = "1e999999999"


def _many_frames(data):
    data["mechanism"]["frames"] = 10**9


def _many_terms(data):
    symbol = ["add", ["1", ["sym", 0]], ["1", ["sym", 1]]]
    data["laws"] = [{**data["laws"][0], "left": ["mul", *(14 * [symbol])]} for _ in range(1000)]


def _long_word(data):
    data["start"] = ["mul", *(100_000 * [["sym", 0]])]
    data["steps"][0]["before"] = data["start"]


@pytest.mark.parametrize("bomb", [_huge_number, _many_frames, _many_terms, _long_word])
def test_certificates_made_to_take_for_ever_are_refused(bomb, tmp_path, capsys):
    data = certificate()
    bomb(data)
    file = tmp_path / "altered.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    assert run(["check", str(file)]) in (1, 2)
    assert capsys.readouterr().err


def test_a_device_is_no_certificate(capsys):
    assert run(["check", "/dev/zero"]) == 2
    assert "regular file" in capsys.readouterr().err


OTHER_VERSION = '{"format": "phistar certificate", "format_version": 2}'


@pytest.mark.parametrize("text", ["", "[]", "{}", OTHER_VERSION, "[" * 100_000])
def test_what_is_no_certificate_is_refused(text, tmp_path, capsys):
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    assert run(["check", str(file)]) == 2
    assert "no certificate of phistar" in capsys.readouterr().err
    assert run(["check", str(tmp_path / "missing.json")]) == 2


def test_the_program_is_small_and_imports_nothing_of_the_algebra():
    """Under 300 lines with all that it takes, reading a stranger's file and the command too; empty lines apart."""
    folder = Path(program.__file__).parent
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("check_command.py", "checker.py"))
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) < 300
    imported = {line.split()[1] for line in lines if line.strip().startswith(("from phistar", "import phistar"))}
    assert imported == {"phistar.errors", "phistar.safe_files", "phistar.cli.checker"}
