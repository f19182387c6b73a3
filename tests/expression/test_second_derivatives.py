"""Second derivatives of the dynamics as statements: by laws, compiled, certified, and equal to the tensors that
`ps.inverse_dynamics_second_derivatives` and `ps.forward_dynamics_second_derivatives` give."""

from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.errors import StatementError
from tests.trees import relative


@cache
def robot(name):
    if name == "chain":
        return ps.chain(3)
    builder, inertia = ps.ModelBuilder("fork"), ps.Inertia(1.0, (0.1, 0.02, 0.0), np.diag([0.02, 0.03, 0.04]))
    builder.body("trunk", joint=ps.Revolute((0, 0, 1)), inertia=inertia)
    for side in (1.0, -1.0):
        place = ps.Pose(xyz=(0.1, 0.2 * side, 0.4))
        builder.body(f"arm{side:+.0f}", "trunk", ps.Revolute((0, 1, 0), armature=0.1), place, inertia)
        place = ps.Pose(xyz=(0.3, 0.0, 0.1))
        builder.body(f"hand{side:+.0f}", f"arm{side:+.0f}", ps.Prismatic((1, 0, 0)), place, inertia)
    return builder.build()


def inverse(A):
    return A.mass @ A.qdd + A.C + A.g


def forward(A):
    return A.mass.inv @ (A.T - A.C - A.g)


SECOND = {
    "inverse dqdq": lambda A: inverse(A).derivative(wrt="q").derivative(wrt="q"),
    "inverse dqdv": lambda A: inverse(A).derivative(wrt="v").derivative(wrt="q"),
    "inverse dvdv": lambda A: inverse(A).derivative(wrt="v").derivative(wrt="v"),
    "inverse dadq": lambda A: inverse(A).derivative(wrt="qdd").derivative(wrt="q"),
    "forward dqdq": lambda A: forward(A).derivative(wrt="q").derivative(wrt="q"),
    "forward dqdv": lambda A: forward(A).derivative(wrt="v").derivative(wrt="q"),
    "forward dvdv": lambda A: forward(A).derivative(wrt="v").derivative(wrt="v"),
    "forward dtaudq": lambda A: A.mass.inv.derivative(wrt="q"),
}
FUNCTIONS = {"inverse": ps.inverse_dynamics_second_derivatives, "forward": ps.forward_dynamics_second_derivatives}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("which", SECOND)
@pytest.mark.parametrize("name", ["chain", "fork"])
def test_the_compiled_statement_is_the_tensor(name, which):
    model, rng = robot(name), np.random.default_rng(5)
    q, v, third = rng.normal(size=(3, 2, model.nv))
    compiled = ps.compile(SECOND[which](ps.algebra(model)), matrix=True)
    given = {"q": q, "v": v, "qdd": third, "T": third}
    found = compiled(*(given[x] for x in compiled.inputs))
    kind, tensor = which.split()
    expected = getattr(FUNCTIONS[kind](model, q, v, third), tensor).dense()
    if tensor == "dqdv":  # by v first, then by q
        expected = np.swapaxes(expected, -1, -2)
    assert relative(found, expected) < 1e-11


@pytest.mark.parametrize("which", ["inverse dqdq", "inverse dvdv", "forward dvdv"])
def test_their_derivations_are_certified(which):
    derivation = SECOND[which](ps.algebra()).derivation(matrix=True)
    assert any(step.citation for step in derivation.steps)
    replay(derivation.certificate())


def test_a_derivative_by_rates_is_evaluated_to_fifty_digits():
    assert evaluate(SECOND["inverse dvdv"](ps.algebra()).derivation(matrix=True).certificate(), 0) < 1e-50


def test_derivatives_by_rates_and_accelerations_are_the_papers():
    A = ps.algebra()
    assert inverse(A).derivative(wrt="qdd").equals(A.mass).proved
    assert inverse(A).derivative(wrt="v").simplify().show() == "Hφ(2·(𝓑φ*H*) + Mφ*Ψ́)"
    energy = A.v.T @ A.mass @ A.v / 2
    assert energy.derivative(wrt="v").equals(A.mass @ A.v).proved
    assert str(A.mass.derivative(wrt="v").statement.simplify()) == "0"


def test_what_is_differentiated_by_is_named():
    A = ps.algebra()
    with pytest.raises(StatementError, match="wrt='qdd'"):
        A.C.derivative(wrt="T")
    with pytest.raises(StatementError, match="vectors"):
        A.mass.derivative(wrt="qdd")
