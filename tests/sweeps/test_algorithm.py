"""Recursions printed as the papers print them."""

import subprocess
import sys

import pytest

import phistar as ps
from phistar.identities.rewriter import simplify
from phistar.sweeps.algorithm import Algorithm
from phistar.sweeps.lower import lower
from tests.identities.targets import TARGETS

FORWARD = """\
V(n+1) = 0
for k = n … 1    (outward, base to tip)
    V(k) = φ*(k+1,k) V(k+1) + H*(k) θ̇(k)
    s₂(k) = E*(k) a_g
    a(k) = [ω(k+1)×ω(k); ω(k+1)×(ω(k+1)×ℓ(k+1,k))]
end loop
z⁺(0) = 0; P⁺(0) = 0
for k = 1 … n    (inward, tip to base)
    P(k) = φ(k,k−1) P⁺(k−1) φ*(k,k−1) + M(k)
    U(k) = P(k) H*(k)
    D(k) = H(k) U(k)
    D⁻¹(k) = D(k)⁻¹
    G(k) = U(k) D⁻¹(k)
    P⁺(k) = P(k) − G(k) U*(k)
    z(k) = φ(k,k−1) z⁺(k−1) + P(k) (a(k) + s₂(k)) + [ω(k)×I(k)ω(k); m(k) ω(k)×(ω(k)×p(k))]
    ε(k) = T(k) − H(k) z(k)
    z⁺(k) = z(k) + G(k) ε(k)
    ν(k) = D⁻¹(k) ε(k)
end loop
λ(n+1) = 0
for k = n … 1    (outward, base to tip)
    λ⁻(k) = φ*(k+1,k) λ(k+1)
    y(k) = ν(k) − G*(k) λ⁻(k)
    λ(k) = a(k) + s₂(k) + λ⁻(k) + H*(k) y(k)
end loop
"""
INVERSE = """\
α(n+1) = 0; V(n+1) = 0
for k = n … 1    (outward, base to tip)
    V(k) = φ*(k+1,k) V(k+1) + H*(k) θ̇(k)
    α(k) = φ*(k+1,k) α(k+1) + H*(k) θ̈(k) + [ω(k+1)×ω(k); ω(k+1)×(ω(k+1)×ℓ(k+1,k))] + E*(k) a_g
end loop
f(0) = 0
for k = 1 … n    (inward, tip to base)
    f(k) = φ(k,k−1) f(k−1) + M(k) α(k) + [ω(k)×I(k)ω(k); m(k) ω(k)×(ω(k)×p(k))]
    y(k) = H(k) f(k)
end loop
"""
A = ps.algebra()
STATEMENTS = {
    "forward dynamics": (A.mass.inv @ (A.T - A.C - A.g), FORWARD),
    "inverse dynamics": (A.mass @ A.qdd + A.C + A.g, INVERSE),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_recursion_is_printed_as_in_the_papers(name):
    statement, expected = STATEMENTS[name]
    assert f"{statement.algorithm()}\n" == expected


def test_what_was_made_before_does_not_change_what_is_printed():
    """In a Python of its own, other sums of the same terms are made first, in another order."""
    before = "(A.T.T @ A.v, A.g - A.T + A.C, A.M + A.phi @ A.M @ A.phi.T, (A.mass.inv @ (A.C + A.g - A.T)).algorithm())"
    code = f"import phistar as ps; A = ps.algebra(); {before}; print((A.mass.inv @ (A.T - A.C - A.g)).algorithm())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == FORWARD


@pytest.mark.parametrize("where", [0, 1], ids=["chain", "tree"])
@pytest.mark.parametrize("name", TARGETS)
def test_every_target_prints_one_loop_per_sweep_and_names_only_what_it_makes(name, where):
    symbols, setting, _, sweeps = TARGETS[name].forms[where]
    program = lower(simplify(TARGETS[name].statement(symbols), symbols, setting).result)
    shown = str(Algorithm(program))
    assert shown.count("end loop") == sweeps
    made = {statement.target for sweep in program.sweeps for statement in sweep.statements}
    for target in made:
        assert f"{target}(k) = " in shown or f"\n{target} = " in f"\n{shown}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in dir(ps) if hasattr(getattr(ps, name), "statement")])
def test_every_public_function_prints_its_recursion(name):
    for statement in getattr(ps, name).statements.values():
        assert "loop" in str(statement.algorithm())


def test_pairings_closures_and_dense_solves_have_a_printed_form():
    a = ps.algebra()
    assert "Σ V*(k) s(k)" in str((a.V.T @ a.M @ a.V).algorithm())
    assert "SOLVE: " in str(a.Lambda.algorithm())
    assert "Q " in str((a.Q @ a.J).algorithm())
    unresolved = (a.mass + a.H @ a.phi @ a.phi @ a.M @ a.H.T).inv
    assert "SOLVE (dense)" in str(unresolved.algorithm())


def test_the_tip_force_is_not_taken_for_the_start_of_a_recursion():
    """f(0) is given; the recursion HφBf(0) starts with a field of another name."""
    a = ps.algebra()
    shown = str((a.J.T @ a.f).algorithm())
    assert "\nf(0) = 0" not in f"\n{shown}" and "B(k) f(0)" in shown
