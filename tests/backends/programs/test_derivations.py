"""Derivations that come with the package: they are what the laws give, and first calls of its functions need no more.

An edit of the laws puts them out of date until `python tools/derivations.py` is run; they are ignored meanwhile.
"""

import pytest

import phistar as ps
from phistar.backends.programs import derivations, derived_programs
from phistar.backends.programs.derivations import spell_statements
from phistar.backends.programs.derived_programs import derived_program, forms_offered
from phistar.expression import setting_of, symbols_of
from phistar.sweeps import search
from tools.derivations import derive, functions, mechanisms

OUT_OF_DATE = pytest.mark.skipif(
    not derivations.own_derivations()["derived"], reason="out of date: python tools/derivations.py"
)


@pytest.fixture
def nothing_kept(monkeypatch):
    monkeypatch.setenv("PHISTAR_CACHE", "off")
    monkeypatch.setattr(derivations, "known", {})


@OUT_OF_DATE
@pytest.mark.parametrize("number", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_they_are_what_the_laws_give(nothing_kept, number):
    model = list(mechanisms())[number]
    for function in functions():
        wanted, _ = function.statements_for(model, ())
        given = wanted.nodes, wanted.symbols, wanted.setting, bool(wanted.matrix)
        forms = wanted.forms()
        if wanted.form == derivations.ARTICULATED:
            assert {(x.form, x.taken) for x in forms} <= set(forms_offered(*given))
        for each in forms:
            assert each.program() == derived_program(*given, each.form, each.taken), function


@OUT_OF_DATE
def test_first_calls_derive_nothing(nothing_kept, monkeypatch):
    def derives(*_):
        raise AssertionError("something is derived")

    for module, name in ((search, "forms"), (derived_programs, "derived_program"), (derived_programs, "forms_offered")):
        monkeypatch.setattr(module, name, derives)
    for model in mechanisms():
        derive(model, functions())


def test_an_edit_of_the_laws_puts_them_out_of_date(monkeypatch):
    monkeypatch.setattr(derivations.stored, "contents_of", lambda *rooms: "another state")
    assert not derivations.own_derivations.__wrapped__()["derived"]


def test_nothing_hangs_on_what_frames_are_called():
    model, named, made = ps.chain(3), [], []
    for frames in (("tip", "link2"), ("link3", "joint2")):
        symbols = symbols_of(model, frames)
        nodes = tuple(ps.operational_space.nodes(symbols).items())
        named.append(spell_statements(nodes, symbols))
        made.append(derived_program(nodes, symbols, setting_of(model, frames), True, derivations.ARTICULATED))
    assert named[0] == named[1] and made[0] == made[1]
    assert spell_statements((), symbols_of(model, ("tip",))) != spell_statements(
        (), symbols_of(model, ("tip", "link2"))
    )
