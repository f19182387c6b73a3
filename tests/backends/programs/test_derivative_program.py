"""The compiled derivatives are their statements: other statements, other results."""

from hashlib import sha256

import numpy as np
import pytest

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.common_frame import common_frame, single_axes
from phistar.backends.programs import derivative_program
from phistar.backends.recorded import Recorded
from phistar.derivatives import RECORDED
from phistar.operators.nodes import spelling
from phistar.operators.symbols import Symbols
from phistar.sweeps.lower import GIVEN
from tests.trees import mechanism, relative

MODELS = {
    "arm": mechanism(31, serial=True, floating=False, armature=False, bodies=3, kind="revolute").model,
    "floating tree": mechanism(32, serial=False, floating=True, armature=False, bodies=8, kind="revolute").model,
}
ROBOTS = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def compiled(name, statements, symbols, model):
    """The derivatives of other statements, by way of machine code."""
    plain = RECORDED[name]
    program = derivative_program.tables_program(tuple(statements(symbols).items()), symbols)
    given = [GIVEN[{"a": "qdd", "tau": "T"}.get(x, x)] for x in plain.inputs[1:]]
    told = repr([(public, spelling(node)) for public, node in statements(symbols).items()])
    made = Recorded(
        f"other_{name}_{sha256(told.encode()).hexdigest()}",  # known by name, also on disk: one for each statement
        plain.inputs,
        plain.outputs[: len(statements(symbols))],
        lambda model, q, *vectors: derivative_program.evaluate(
            program, common_frame(single_axes(model), q), dict(zip(given, vectors, strict=True))
        ),
        lambda model: plain.shapes(model)[: len(statements(symbols))],
    )
    return lambda *arrays: made(model, *arrays)


def state(model):
    rng = np.random.default_rng(3)
    return model.random(rng), *rng.normal(size=(2, model.nv))


def statements(mass, velocity):
    """∂τ/∂θ and ∂τ/∂θ̇ as the laws find them, with M and 𝓑 so many times as large."""

    def stated(s):
        by_q = mass * (s.M @ s.phi.T @ s.Psi_ddot) + 2 * velocity * (s.B_v @ s.phi.T @ s.Psi_dot)
        by_v = mass * (s.M @ s.phi.T @ s.Psi_prime) + 2 * velocity * (s.B_v @ s.phi.T @ s.H.T)
        turned = s.H @ s.phi_tilde @ s.F_hat @ s.H.T
        return {"dq": s.H @ s.phi @ by_q + turned, "dv": s.H @ s.phi @ by_v}

    return stated


@pytest.mark.sampled(6)
@ROBOTS
@pytest.mark.parametrize(("mass", "velocity"), [(1, 1), (3, 1), (1, 5)])
def test_masses_and_velocities_of_the_statement_are_in_the_compiled_derivatives(model, mass, velocity):
    """Nothing stands beside the algebra: M or 𝓑 scaled in the statement is another result, that statement's."""
    stated, (q, v, a) = statements(mass, velocity), state(model)
    found = compiled("inverse_dynamics_derivatives", stated, Symbols(), model)(q, v, a)
    frame = common_frame(single_axes(model), q)
    dense = Dense(frame.links, {"v": v, "qdd": a, "a_g": frame.base_acceleration})
    plain = ps.inverse_dynamics_derivatives(model, q, v, a)
    for ours, node, table in zip(found[:2], stated(Symbols()).values(), plain[:2], strict=True):
        assert relative(ours, dense(node)) < 1e-12
        assert (relative(ours, table) < 1e-12) == (mass == velocity == 1)


@ROBOTS
def test_forward_dynamics_meets_the_statement_at_its_own_acceleration(model):
    q, v, tau = state(model)
    symbols = derivative_program.symbols_under_forces(Symbols())

    def stated(s):
        return {name: -(s.mass.inv @ node) for name, node in statements(3, 1)(s).items()}

    found = compiled("forward_dynamics_derivatives", stated, symbols, model)(q, v, tau)
    a = ps.forward_dynamics(model, q, v, tau)
    tables = compiled("inverse_dynamics_derivatives", statements(3, 1), Symbols(), model)(q, v, a)
    inverse = ps.mass_matrix_inverse(model, q)
    assert max(relative(x, -inverse @ y) for x, y in zip(found[:2], tables[:2], strict=True)) < 1e-10


def test_a_statement_that_is_no_table_is_refused():
    s = Symbols()
    with pytest.raises(ps.PhistarError, match="only ℳ is inverted"):
        derivative_program.tables_program((("y", (s.mass + s.H @ s.M @ s.H.T).inv),), s)


@ROBOTS
def test_any_sum_of_products_over_pairs_is_a_table(model):
    """Two tables added, one of them scaled: products that no public function has."""
    q, v, a = state(model)

    def stated(s):
        return {"y": s.H @ s.phi @ s.M @ s.phi.T @ s.Psi_prime - 2 * (s.H @ s.phi @ s.M @ s.phi.T @ s.H.T)}

    frame = common_frame(single_axes(model), q)
    dense = Dense(frame.links, {"v": v, "qdd": a, "a_g": frame.base_acceleration})
    found = compiled("inverse_dynamics_derivatives", stated, Symbols(), model)(q, v, a)
    assert relative(found, dense(stated(Symbols())["y"])) < 1e-12
