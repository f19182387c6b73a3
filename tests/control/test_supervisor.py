"""Rules as data: phases, flags, lasting conditions, and what is wrong with rules told in a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistar.control.supervisor import Supervisor, condition
from phistar.errors import FileError

RULES = {
    "format_version": 1,
    "start": "seek",
    "ends": ["done"],
    "flags": {"touch": {"on": "force > 1.0", "off": "force < 0.3"}},
    "rules": [
        {"from": "seek", "to": "press", "when": "touch and error < 0.1", "for": 0.1, "reason": "it touches"},
        {"from": ["seek", "press"], "to": "done", "when": "elapsed > 5", "reason": "too late"},
        {"from": "press", "to": "seek", "when": "not touch", "reason": "lost"},
    ],
}


def supervisor(**changes):
    return Supervisor.of({**RULES, **changes}, ["force", "error"])


def run(own, samples, step=0.0625):
    state, switches = own.start(), []
    for i, facts in enumerate(samples):
        state, switch = own.step(state, i * step, facts)
        switches += [switch] if switch else []
    return state, switches


def test_a_condition_must_last_without_a_break():
    on, off = {"force": 2.0, "error": 0.0}, {"force": 2.0, "error": 1.0}
    assert run(supervisor(), [on, on, off, on, on])[1] == []
    _, (switch,) = run(supervisor(), [on, on, off, on, on, on])
    assert (switch.time, switch.before, switch.after) == (0.3125, "seek", "press")


def test_a_switch_tells_its_reason_and_the_numbers():
    _, (switch,) = run(supervisor(), [{"force": 2.0, "error": 0.015}] * 3)
    assert switch.reason == "it touches (touch 1, error 0.015)"


def test_a_flag_stays_between_its_marks():
    forces = [0.5, 1.5, 0.5, 0.2, 0.5]
    own, flags = supervisor(), []
    state = own.start()
    for i, force in enumerate(forces):
        state, _ = own.step(state, 0.01 * i, {"force": force, "error": 1.0})
        flags.append(state.flags[0])
    assert flags == [False, True, True, False, False]


def test_the_time_in_a_phase_begins_with_it():
    state, switches = run(supervisor(), [{"force": 2.0, "error": 0.0}] * 200)
    assert [switch.after for switch in switches] == ["press", "done"]
    assert switches[1].time - switches[0].time == 5.0625
    assert state.phase == "done"


def test_the_first_rule_that_holds_decides_and_an_end_is_kept():
    both = [{**rule, "for": 0.0, "when": "1 > 0"} for rule in RULES["rules"]]
    _, switches = run(supervisor(rules=both), [{"force": 0.0, "error": 0.0}] * 4)
    assert [switch.after for switch in switches] == ["press", "done"]


def test_steps_are_pure():
    own = supervisor()
    state, facts = own.start(), {"force": 2.0, "error": 0.0}
    assert own.step(state, 1.0, facts) == own.step(state, 1.0, facts)
    assert state == own.start() and facts == {"force": 2.0, "error": 0.0}


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_conditions_mean_what_python_means(a, b):
    text = "abs(a - b) < 10 and not (max(a, b) > 5 or min(a, 2 * b) <= -3) or a == -b / 2"
    wanted = (abs(a - b) < 10 and not (max(a, b) > 5 or min(a, 2 * b) <= -3)) or a == -b / 2
    assert condition(text, ["a", "b"], "here").holds({"a": a, "b": b}) is wanted


def test_a_division_by_zero_does_not_hold():
    assert condition("1 / a > 2", ["a"], "here").holds({"a": 0.0}) is False


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.real > 1",
        "a[0]",
        "(lambda: 1)()",
        "'text' == a",
        "a if a else a",
        "[a for a in (1,)]",
        "abs",
        "a > True",
        "pow(a, 2)",
        "a ** 9 ** 9",
        "abs(a, x=1)",
        "min(a)",
        "a >",
        3,
    ],
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(FileError, match="here"):
        condition(text, ["a"], "here")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format_version": 2}, "format_version is 2"),
        ({"start": 3}, "`start` names the first phase"),
        ({"colour": 1}, "'colour' is not known"),
        ({"ends": ["done", "nowhere"]}, "no rule leads from 'seek' to the phase 'nowhere'"),
        ({"ends": []}, "no rule leads out of the phase 'done'"),
        ({"ends": ["done", "press"]}, "'press' is listed in `ends`, but a rule leads out"),
        ({"flags": {"touch": "force > 1"}}, "two conditions, on and off"),
        ({"flags": {"force": {"on": "force > 1", "off": "force < 1"}}}, "a fact of this name already"),
        ({"flags": {"touch": {"on": "farce > 1", "off": "force < 1"}}}, "did you mean 'force'"),
        ({"rules": [{"from": "seek", "to": "done"}]}, "a rule has from, to, when, reason"),
        ({"rules": [{**RULES["rules"][0], "for": -1}]}, "`for` is a time in seconds"),
        ({"rules": [{**RULES["rules"][0], "from": []}]}, "names of phases"),
    ],
)
def test_wrong_rules_are_told_in_a_sentence(changes, sentence):
    with pytest.raises(FileError, match=sentence):
        supervisor(**changes)


def test_files_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        Supervisor.load(tmp_path / "none.toml", [])
    (tmp_path / "bad.toml").write_text("start = ")
    with pytest.raises(FileError, match="a file of rules is a TOML file"):
        Supervisor.load(tmp_path / "bad.toml", [])
