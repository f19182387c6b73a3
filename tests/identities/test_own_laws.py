"""`ps.law`: true laws are taken and used, false ones refused with the mechanism that shows it."""

import pytest

import phistar as ps
from phistar.identities.law import LAWS


def test_a_true_law_is_used_from_then_on():
    algebra = ps.algebra(frames=["hand"], tree=True)
    statement = algebra.B.T @ algebra.Omega @ algebra.psi @ algebra.B
    assert statement.simplify().show() == "B*ΩψB"

    @ps.law("own", "one_frame", as_rule="always")
    def frame_hears_itself(s):
        return s.B.T @ s.Omega @ s.psi @ s.B, s.B.T @ s.Omega @ s.B

    derivation = statement.derivation()
    assert str(derivation.result) == "B*ΩB" and [step.citation for step in derivation.steps] == ["own"]
    assert frame_hears_itself in LAWS


def test_a_false_law_is_refused_with_its_counterexample():
    with pytest.raises(ps.StatementError, match=r"no_noise is false: ψG = G does not hold; on random mechanism"):

        @ps.law("own")
        def no_noise(s):
            return s.psi @ s.G, s.G

    assert all(law.name != "no_noise" for law in LAWS)


def test_a_law_that_needs_a_condition_is_true_with_it_and_false_without():
    def omega(s):
        gram = s.psi.T @ s.H.T @ s.D.inv @ s.H @ s.psi
        return gram, s.Omega + s.psi_tilde.T @ s.Omega + s.Omega @ s.psi_tilde

    with pytest.raises(ps.StatementError, match="omega is false"):
        ps.law("KJR92 eq. 56", as_rule="never")(omega)
    assert ps.law("KJR92 eq. 56", "serial", as_rule="never")(omega).needs == ("serial",)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (lambda s: (s.phi, s.H), "only operators between the same spaces"),
        (lambda s: s.phi, "must give both sides"),
        (lambda s: (s.phi @ s.E_phi, s.phi @ s.E_phi @ s.phi @ (s.I - s.E_phi)), "would rewrite without end"),
    ],
)
def test_a_law_that_cannot_be_one_is_refused(statement, sentence):
    statement.__name__ = "own_law"
    with pytest.raises(ps.PhistarError, match=sentence):
        ps.law("own")(statement)


def test_needs_uses_and_names_are_checked():
    with pytest.raises(ps.StatementError, match="planar is none of them"):
        ps.law("own", "planar")
    with pytest.raises(ps.StatementError, match="sometimes is none of them"):
        ps.law("own", as_rule="sometimes")

    def lemma_1(s):
        return s.phi @ s.E_phi, s.phi_tilde

    with pytest.raises(ps.StatementError, match="There is a law lemma_1 already"):
        ps.law("own")(lemma_1)


def test_a_law_that_leads_in_circles_with_another_is_refused_when_it_is_declared():
    """Both were taken, and statements with them could not be simplified any more."""

    @ps.law("a note", as_rule="always")
    def base_sees_gains(s):
        return s.E @ s.phi @ s.G, s.E @ (s.G + s.phi @ s.K)

    with pytest.raises(ps.PhistarError, match="without end: with the laws there are"):

        @ps.law("a note", as_rule="always")
        def base_sees_shifts(s):
            return s.E @ s.phi @ s.K, s.E @ s.phi @ s.G - s.E @ s.G

    assert base_sees_gains in LAWS and len([law for law in LAWS if law.own]) == 1


def test_a_bare_decorator_takes_the_function_and_checks_it():
    """It was taken for a citation, and nothing was checked."""
    with pytest.raises(ps.StatementError, match="no_noise is false"):

        @ps.law
        def no_noise(s):
            return s.psi @ s.G, s.G

    @ps.law
    def gain_seen_from_the_base(s):
        return s.E @ s.phi @ s.G, s.E @ (s.G + s.phi @ s.K)

    assert gain_seen_from_the_base in LAWS
    with pytest.raises(ps.StatementError, match="citation in words"):
        ps.law(3)
