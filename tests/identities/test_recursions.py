"""Inverses of triangular operators are sweeps: (N − ℰφR)⁻¹ as it stands, and what laws bring to it."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.errors import StatementError
from phistar.sweeps.cost import cost_polynomial
from phistar.sweeps.lower import lower
from tests.trees import mechanism, relative

WRITTEN = {
    "I + φ": (lambda a: a.I + a.phi, "I − (2·I − ℰφ)⁻¹"),
    "2φ − I": (lambda a: 2 * a.phi - a.I, "−I − 2·(−I − ℰφ)⁻¹"),
    "I + ℰφ": (lambda a: a.I + a.E_phi, "(I + ℰφ)⁻¹"),
    "φ + φφ": (lambda a: a.phi + a.phi @ a.phi, "(2·I − ℰφ)⁻¹ − ℰφ"),
    "φ + ψ": (
        lambda a: a.phi + a.psi,
        "1/2·I − 1/2·ℰφ + KH(1/4·I − 1/4·((2·I − 2·ℰφ + KH)⁻¹KH))",
    ),
    "2φ − ψ": (lambda a: 2 * a.phi - a.psi, "I − ℰφ − KH(I − 2·((I − ℰφ + 2·(KH))⁻¹KH))"),
    "I + HψK": (lambda a: a.I + a.H @ a.psi @ a.K, "I − H(I − ℰφ + 2·(KH))⁻¹K"),
    "I − Fℰφ": (lambda a: a.I - a.F @ a.E_phi, "I + F(I − ℰφF)⁻¹ℰφ"),
    "F + φ": (lambda a: a.F + a.phi, "(I + (I − ℰφ)F)⁻¹(I − ℰφ)"),
    "FφF + F": (lambda a: a.F @ a.phi @ a.F + a.F, "F⁻¹ − (I − ℰφ + F)⁻¹"),
    "F + Fφ": (lambda a: a.F + a.F @ a.phi, "(I − (2·I − ℰφ)⁻¹)F⁻¹"),
    "N + HφK": (lambda a: a.N + a.H @ a.phi @ a.K, "N⁻¹ − N⁻¹H(I − ℰφ + KN⁻¹H)⁻¹KN⁻¹"),
    "N + HφV": (lambda a: a.N + a.H @ a.phi @ a.V, "N⁻¹ − N⁻¹H(I − ℰφ + VN⁻¹H)⁻¹VN⁻¹"),
}
LETTERS = {"F": ("Forces", "Forces"), "N": ("Torques", "Torques"), "V": ("Torques", "Forces")}


class Own:
    """An algebra with letters of one's own, block diagonal over links and joints, and their numbers."""

    def __init__(self, model=None):
        self.algebra = ps.algebra() if model is None else ps.algebra(model)
        self.made = {
            name: self.algebra.operator(f"{name}_own", *spaces, structure="block-diagonal")
            for name, spaces in LETTERS.items()
        }

    def __getattr__(self, name):
        return self.made[name] if name in self.made else getattr(self.algebra, name)

    def numbers(self, model, seed=0):
        rng, links, rates = np.random.default_rng(seed), [6] * len(model.bodies), [x.nv for x in model.joints]
        sizes = {"Forces": links, "Torques": rates}
        found = {}
        for name, (source, target) in LETTERS.items():
            rows, columns = (np.repeat(range(len(links)), sizes[space]) for space in (target, source))
            drawn = rng.normal(size=(len(rows), len(columns))) * (rows[:, None] == columns[None, :])
            found[f"{name}_own"] = drawn + (4 * np.eye(len(rows)) if source == target else 0)
        return found


def used(expression, numbers):
    return {name: value for name, value in numbers.items() if name in repr(expression)}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_form_that_is_found_is_linear_and_certified(name):
    written, expected = WRITTEN[name]
    statement = written(Own()).inv
    found = statement.simplify()
    assert found.show().replace("_own", "") == expected
    assert cost_polynomial(lower(found.node)).degree == 1
    certificate = json.loads(json.dumps(statement.derivation().certificate()))
    replay(certificate)
    assert evaluate(certificate, 0) < 1e-50


@pytest.mark.sampled(4)
@pytest.mark.parametrize("starred", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_it_undoes_what_it_inverts_on_a_tree_and_so_does_its_adjoint(name, starred):
    case = mechanism(3, rotors=False, frames=1, bodies=5)
    own = Own(case.model)
    whole = WRITTEN[name][0](own)
    whole = whole.T if starred else whole
    numbers = used(whole, own.numbers(case.model))
    matrix = whole.dense(case.q, **numbers)
    x = np.random.default_rng(1).normal(size=len(matrix))
    assert relative(matrix @ whole.inv.apply(case.q, x, **numbers), x) < 1e-10


@pytest.mark.parametrize("schedule", ["written out", "link by link"])
@pytest.mark.parametrize("starred", [False, True])
def test_kernels_have_its_value_link_by_link_and_written_out(schedule, starred):
    model = ps.chain(9)
    a, rng = ps.algebra(model), np.random.default_rng(0)
    q, x = model.random(rng), rng.normal(size=54)
    whole = (a.phi + a.psi).T if starred else a.phi + a.psi
    kernel = ps.compile(whole.inv, model, schedule=schedule)
    assert relative(whole.dense(q) @ kernel(q, x), x) < 1e-12


def test_its_rate_is_that_of_the_inverse():
    model, h = ps.chain(4), 1e-6
    a, rng = ps.algebra(model), np.random.default_rng(0)
    q, v, x = model.random(rng), rng.normal(size=4), rng.normal(size=24)
    inverse = (a.phi + a.psi).inv.simplify()
    ahead, behind = (inverse.dense(model.integrate(q, sign * h * v)) @ x for sign in (1, -1))
    assert relative(inverse.rate().apply(q, x, v=v), (ahead - behind) / (2 * h)) < 1e-8


@pytest.mark.parametrize("statement", [lambda a: a.phi - a.psi, lambda a: a.phi - a.I, lambda a: a.E_phi + a.K @ a.H])
def test_what_has_nothing_on_its_diagonal_has_no_inverse(statement):
    with pytest.raises(StatementError, match="structurally singular"):
        statement(ps.algebra()).inv.simplify()
