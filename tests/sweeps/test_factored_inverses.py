"""Forms of the articulated step of wide links: the same numbers, and never more operations than the plain one."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from benchmarks.multibody.bending_chains import bending_chain, counted
from phistar.backends.kernel import Kernel
from phistar.backends.links.mass_points import ByFewPoints, ByIntegrals
from phistar.backends.programs.derivations import APART, ARTICULATED, DECOUPLED, FACTORED
from phistar.backends.programs.program import Evaluation
from phistar.backends.rolled_kernel import rolled_counts, rolled_plan
from phistar.dynamics import forward_dynamics
from phistar.model.decoupled_modes import decoupled_modes
from phistar.sweeps.ir import Divide, Invert
from phistar.sweeps.passes import validate
from phistar.sweeps.rate_coordinates import has_rate_coordinates
from tests.loops.mechanisms import four_bar, two_arms
from tests.trees import relative


def _terms(form):
    wanted = forward_dynamics.statements_for(bending_chain(2, 2), ())[0]
    program = replace(wanted, form=form).program()
    return [type(s.term) for sweep in program.sweeps for s in sweep.statements]


def test_products_with_the_inverse_are_solved_for_and_no_inverse_is_left():
    assert Invert in _terms(ARTICULATED) and Invert not in _terms(FACTORED)
    assert Divide in _terms(FACTORED)


@pytest.mark.parametrize("statement", (ps.forward_dynamics, ps.mass_matrix_inverse))
def test_both_forms_have_one_value(statement):
    model, rng = bending_chain(3, 4), np.random.default_rng(1)
    q, v, tau = rng.uniform(-0.1, 0.1, (3, 5, model.nv))
    wanted = statement.statements_for(model, ())[0]
    vectors = {"v": v, "T": tau} if statement is ps.forward_dynamics else {}
    found = [
        Evaluation(replace(wanted, form=form).program(), model)(q, vectors)["y"] for form in (ARTICULATED, FACTORED)
    ]
    assert relative(found[0], found[1]) < 1e-10


@pytest.mark.sampled(6)
@pytest.mark.parametrize("modes", (1, 4, 8))
@pytest.mark.parametrize("stiffening", (True, False))
def test_two_stages_take_fewer_operations(modes, stiffening):
    inverse, stages, apart = counted(bending_chain(20, modes, stiffening))
    assert stages < inverse and apart <= stages
    model = bending_chain(20, modes, stiffening)
    state = np.zeros(model.nv)
    ps.forward_dynamics(model, state, state, state)
    kernels: list[Kernel] = [x for x in model.__dict__["_kernels"].values() if isinstance(x, Kernel)]
    counts = [{each.form: each.operations for each in x.forms} for x in kernels]
    assert counts and all(x[FACTORED] == stages < x[ARTICULATED] for x in counts)
    assert all(x.operations == apart for x in kernels)
    assert all((x.forms[0].form == DECOUPLED) == (apart < stages) for x in kernels)


def test_few_modes_move_the_ends_of_a_beam_in_coordinates_in_which_its_modal_mass_is_the_identity():
    body = ps.beam(1.0, (10.0, 12.0), 1.0, modes=8, axial_inertia=0.01, stiffening=False)
    found, node = decoupled_modes(body), dict(body.ends)["tip"]
    assert found is not None
    moved = np.concatenate([found.body.rotations[node], found.body.modes[node]])
    still = ~moved.any(axis=0)
    assert still.sum() == 4 and not found.body.rotations[~body.is_point][..., still].any()
    assert np.allclose(found.basis @ found.inverse, np.eye(8), atol=1e-13)
    assert relative(found.body.modes, body.modes @ found.basis) < 1e-13
    assert np.allclose(found.body.modal_mass[still], np.eye(8)[still], atol=1e-12)
    assert relative(found.body.frequencies, body.frequencies) < 1e-9


def test_where_modal_mass_depends_on_bending_or_every_mode_moves_the_ends_nothing_is_decoupled():
    assert decoupled_modes(ps.beam(1.0, 10.0, 1.0, modes=8)) is None
    assert decoupled_modes(ps.beam(1.0, (10.0, 12.0), 1.0, modes=4, stiffening=False)) is None


@pytest.mark.parametrize("name", ("forward_dynamics", "operational_space", "jacobian_dot_v", "inverse_dynamics"))
def test_other_coordinates_of_the_modes_have_one_value(name):
    model, rng = bending_chain(3, 8, False), np.random.default_rng(1)
    frames = ("link2.tip",) if name in ("operational_space", "jacobian_dot_v") else ()
    q, v, x = rng.uniform(-0.1, 0.1, (3, 5, model.nv))
    vectors = {"v": v, "T": x, "x": x, "qdd": x}
    wanted = getattr(ps, name).statements_for(model, frames)[0]
    one, other = (Evaluation(replace(wanted, form=form).program(), model, frames) for form in (FACTORED, DECOUPLED))
    found, expected = other(q, vectors), one(q, vectors)
    assert expected and all(relative(found[key], expected[key]) < 1e-8 for key in expected)


def test_operators_over_the_joints_stay_in_the_coordinates_of_the_robot():
    wanted = ps.mass_matrix_inverse.statements_for(bending_chain(3, 8, False), ())[0]
    assert replace(wanted, form=DECOUPLED).program() == replace(wanted, form=FACTORED).program()
    wanted = forward_dynamics.statements_for(bending_chain(3, 8, False), ())[0]
    assert has_rate_coordinates(validate(replace(wanted, form=DECOUPLED).program()))


@pytest.mark.parametrize("modes", (1, 4, 8))
def test_a_few_points_have_the_moments_of_all(modes):
    body = ps.beam(1.0, (10.0, 12.0), 1.0, modes=modes, axial_inertia=0.01)
    first, second = body.point_moments
    few = body.equivalent_points
    assert few.shape[1] < len(body.nodes)
    assert relative(np.einsum("arp,brq->apbq", few, few), second) < 1e-14
    rng = np.random.default_rng(0)
    eta, velocity = 0.2 * rng.standard_normal((4, modes)), rng.standard_normal((4, modes + 6, 1))
    one = ByIntegrals(eta, body.monomials, first, body.point_mass, second)
    other = ByFewPoints(eta, body.monomials, first, body.point_mass, few)
    assert relative(one.mass(), other.mass()) < 1e-14
    assert relative(one.bias_force(velocity), other.bias_force(velocity)) < 1e-13


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", (lambda: four_bar((0.5, 1.0, 0.9, 1.1)), lambda: two_arms(ps.Spherical(), 1, 6, True)))
def test_compound_links_move_each_part_of_their_inertia_by_itself(make):
    closed = make()
    q = ps.assemble(closed, closed.random(2))
    model, rng = closed.embedded(q=q), np.random.default_rng(0)
    v, tau = rng.standard_normal((2, model.nv))
    wanted, found = forward_dynamics.statements_for(model, ())[0], {}
    for form in (ARTICULATED, APART):
        asked = replace(wanted, form=form)
        plan = rolled_plan(asked)
        assert plan is not None
        value = Evaluation(asked.program(), model)(q, {"v": v, "T": tau})["y"]
        found[form] = value, rolled_counts(asked, plan)[0]
    assert relative(found[APART][0], found[ARTICULATED][0]) < 1e-11
    assert found[APART][1] <= found[ARTICULATED][1]
