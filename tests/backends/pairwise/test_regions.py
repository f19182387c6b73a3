"""Loops over pairs are made from programs of statements, whichever these are: what is stated is what they compute."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PAIRS
from phistar.backends.pairwise.programs import pair_program
from phistar.backends.programs.derivations import Rows, value_of
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import INWARD, OUTWARD
from phistar.sweeps.regions import PairProgram
from tests.trees import mechanism, relative

TREE = mechanism(72, serial=False, floating=True, armature=True, rotors=False, bodies=6).model
CHAIN = ps.chain(13)
MODELS = {"tree": TREE, "chain": CHAIN}
STATEMENTS = {
    "2ℳ": lambda a: 2 * a.mass,
    "ℳ + A": lambda a: a.mass + a.A,
    "ℳ⁻¹ + 3D⁻¹": lambda a: a.mass.inv + 3 * a.D.inv,
    "HφMφ*H* − 2HMH*": lambda a: a.H @ a.phi @ a.M @ a.phi.T @ a.H.T - 2 * a.H @ a.M @ a.H.T,
    "Hφ(M + P)φ*H*": lambda a: a.H @ a.phi @ (a.M + a.P) @ a.phi.T @ a.H.T,
    "HφPφ*H*": lambda a: a.H @ a.phi @ a.P @ a.phi.T @ a.H.T,
    "HψMφ*H*": lambda a: a.H @ a.psi @ a.M @ a.phi.T @ a.H.T,
    "HψP": lambda a: a.H @ a.psi @ a.P @ a.H.T,
    "I − HψK": lambda a: a.I - a.H @ a.psi @ a.K,
    "HφK": lambda a: a.H @ a.phi @ a.K,
    "(HφK)*": lambda a: (a.H @ a.phi @ a.K).T,
    "HφMH*": lambda a: a.H @ a.phi @ a.M @ a.H.T,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("robot", MODELS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_that_nothing_lists_are_loops_over_pairs(name, robot):
    """Each on explicit matrices, from the definitions."""
    model, rng = MODELS[robot], np.random.default_rng(4)
    statement = STATEMENTS[name](ps.algebra(model))
    made = ps.compile(statement, matrix=True, schedule=PAIRS)
    q = model.random(rng, shape=(5,))
    for found, each in zip(made(q), q, strict=True):
        assert relative(found, statement.dense(each)) < 1e-10


def statements(mass, velocity):
    """∂τ/∂θ and ∂τ/∂θ̇ as the laws find them, with M and 𝓑 so many times as large."""
    s = ps.algebra(CHAIN)
    by_q = mass * (s.M @ s.phi.T @ s.Psi_ddot) + 2 * velocity * (s.B_v @ s.phi.T @ s.Psi_dot)
    by_v = mass * (s.M @ s.phi.T @ s.Psi_prime) + 2 * velocity * (s.B_v @ s.phi.T @ s.H.T)
    return s.H @ s.phi @ by_q + s.H @ s.phi_tilde @ s.F_hat @ s.H.T, s.H @ s.phi @ by_v


@pytest.mark.slow
def test_masses_and_velocities_of_the_statement_are_in_the_tables_of_long_robots():
    """Nothing stands beside the algebra: the tables change with M and with 𝓑, each in proportion."""
    rng = np.random.default_rng(4)
    q, v, a = CHAIN.random(rng), *rng.normal(size=(2, CHAIN.nv))

    def tables(mass, velocity):
        by_q, by_v = (ps.compile(x, matrix=True, schedule=PAIRS) for x in statements(mass, velocity))
        return np.stack([by_q(q, v, a), by_v(q, v)])

    first = tables(1, 1)
    assert relative(first, np.stack(ps.inverse_dynamics_derivatives(CHAIN, q, v, a)[:2])) < 1e-12
    by_mass, by_velocity = tables(2, 1) - first, tables(1, 2) - first
    assert min(np.abs(x).max() for part in (by_mass, by_velocity) for x in part) > 1e-2
    assert relative(tables(3, 2), first + 2 * by_mass + by_velocity) < 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [71, 75, 76])
def test_what_is_eliminated_is_what_the_laws_of_articulated_bodies_say(seed):
    """−ℳ⁻¹∂τ by P, ψ and 𝒴 as the rewriter finds it, on explicit matrices."""
    case = mechanism(seed, serial=False, rotors=False, varying=False, bodies=5)
    model, rng = case.model, np.random.default_rng(4)
    q, v, a = model.random(rng), *rng.normal(size=(2, model.nv))
    algebra = ps.algebra(model)
    for node in ps.forward_dynamics_derivatives.nodes(algebra.symbols).values():
        statement = algebra.expression(node)
        form = statement.simplify(matrix=True)
        assert {"P", "D"} & set(form.show())
        made = ps.compile(statement, matrix=True, schedule=PAIRS)
        given = {"v": v, "qdd": a}
        found = made(q, *(given[{"θ̇": "v", "θ̈": "qdd"}.get(name, name)] for name in made.inputs[1:]))
        assert relative(found, form.dense(q, **given)) < 1e-9


def test_what_is_unchanged_on_its_way_is_a_product_of_blocks_of_two_links():
    """ℳ: no field is handed on, and a pair costs one product."""
    program = pair_program((("mass", Symbols().mass),), Symbols())
    (region,) = program.regions
    (field,) = region.fields
    rows = Rows()
    assert not field.handed_on and isinstance(program, PairProgram)
    assert value_of(rows.rows, rows.add(program)) == program


def test_the_inverse_of_a_serial_chain_is_one_outward_recursion_a_column():
    """R87 eqs. 69-72, 83: one triangle, and nothing is taken inward; of trees both ways are gone."""
    nodes = (("inverse", Symbols().mass.inv),)
    chain, tree = (pair_program(nodes, Symbols(), serial) for serial in (True, False))
    assert [x.direction for x in chain.regions] == [OUTWARD] and chain.lower == ("inverse",)
    assert [x.direction for x in tree.regions] == [INWARD, OUTWARD] and not tree.lower


@pytest.mark.sampled(2)
@pytest.mark.parametrize("links", [36, 37, 43, 44])
def test_strips_of_columns_cover_chains_of_any_length(links):
    model = ps.chain(links)
    q = model.random(np.random.default_rng(1), shape=(3,))
    found = ps.compile(ps.algebra(model).mass.inv, matrix=True, schedule=PAIRS)(q)
    assert relative(found @ ps.mass_matrix(model, q), np.broadcast_to(np.eye(links), found.shape)) < 1e-9


def test_columns_that_meet_on_the_way_are_refused_in_a_sentence():
    a = ps.algebra(CHAIN)
    with pytest.raises(ps.StatementError, match="no form 'pair by pair'"):
        ps.compile(a.H @ a.phi @ a.B_v @ a.psi.T @ a.H.T, matrix=True, schedule=PAIRS)
