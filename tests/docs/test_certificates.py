"""Derivations that pages show carry certificates, which the build of the site checks."""

import json

import pytest

from phistar.errors import StatementError
from tests.programs import program

GENERATOR = program("docs/generate_certificates.py")


def test_every_page_notebook_and_readme_that_shows_a_derivation_is_certified():
    found = GENERATOR.programs()
    assert {"README", "start", "tutorials/statement", "howto/own_algebra", "papers/rjk91", "papers/r87"} <= set(found)


@pytest.mark.parametrize("page", ["README", "start", "estimation/observability"])
def test_a_page_is_certified_by_the_derivations_that_it_prints(page, tmp_path):
    found = GENERATOR.certified(page, GENERATOR.programs()[page], tmp_path)
    assert found
    for said, file in found:
        proof = json.loads((tmp_path / file).read_text("utf-8"))
        assert said == f"{proof['statement']} = {proof['result_text']}"


def test_a_page_whose_derivation_does_not_hold_ends_the_build(tmp_path, monkeypatch):
    def refuses(proof):
        raise StatementError("step 1 does not follow")

    monkeypatch.setitem(GENERATOR.certified.__globals__, "replay", refuses)
    with pytest.raises(StatementError, match="step 1"):
        GENERATOR.certified("README", GENERATOR.programs()["README"], tmp_path)
