"""Every public function is the dense value of its statement: for each joint kind, on trees, with any leading axes."""

from itertools import count

import numpy as np
import pytest

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.values import links_at
from tests.trees import KINDS, Mechanism, mechanism, relative

CASES = {kind: mechanism(80, kind=kind, bodies=2, frames=1, serial=True, tips=True) for kind in KINDS}
CASES["tree with armature"] = mechanism(81, serial=False, armature=True, bodies=4, frames=2, floating=False)
CASES["floating tree"] = mechanism(85, serial=False, armature=False, bodies=4, frames=1, floating=True, kind="revolute")
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TOLERANCE = 1e-11


def dense(case: Mechanism, node, frames: tuple[str, ...] | None = None) -> np.ndarray:
    """The matrix of a statement, straight from the definitions; a vector as (rows,)."""
    matrices = case.dense if frames is None else Dense(links_at(case.model, case.q, frames), case.vectors)
    result = matrices(node)
    return result[:, 0] if node.domain.over == "scalars" else result


@pytest.mark.sampled(4)
@EVERY
def test_inverse_and_forward_dynamics(case):
    s, v = case.symbols, case.vectors
    tau = ps.inverse_dynamics(case.model, case.q, v["v"], v["qdd"])
    assert relative(tau, dense(case, s.mass @ s.qdd + s.C + s.g)) < TOLERANCE
    assert relative(ps.forward_dynamics(case.model, case.q, v["v"], tau), v["qdd"]) < 1e-10
    accelerations = ps.forward_dynamics(case.model, case.q, v["v"], v["T"])
    assert relative(accelerations, dense(case, s.mass.inv @ (s.T - s.C - s.g))) < 1e-10


@pytest.mark.sampled(6)
@EVERY
def test_forces_at_frames_enter_through_the_jacobians_adjoint(case):
    s, v = case.symbols, case.vectors
    f_ext = {name: v["f"][6 * i : 6 * i + 6] for i, name in enumerate(case.frames)}
    tau = ps.inverse_dynamics(case.model, case.q, v["v"], v["qdd"], f_ext=f_ext)
    assert relative(tau, dense(case, s.mass @ s.qdd + s.C + s.g - s.J.T @ s.f)) < TOLERANCE
    assert relative(ps.forward_dynamics(case.model, case.q, v["v"], tau, f_ext=f_ext), v["qdd"]) < 1e-10


@pytest.mark.sampled(4)
@EVERY
def test_mass_matrix_its_inverse_and_its_factors(case):
    s, identity = case.symbols, np.eye(case.model.nv)
    mass = ps.mass_matrix(case.model, case.q)
    assert relative(mass, dense(case, s.mass)) < TOLERANCE
    assert np.array_equal(mass, mass.T)
    assert relative(mass @ ps.mass_matrix_inverse(case.model, case.q), identity) < 1e-10


@pytest.mark.parametrize("name", ["revolute", "helical", "universal", "tree with armature", "floating tree"])
def test_innovations_factor_the_mass_matrix(name):
    """ℳ = (I + HφK) D (I + HφK)*, (I + HφK)⁻¹ = I − HψK (RJK91 lemmas 1, 2)."""
    case = CASES[name]
    factor, inverse, d = ps.innovations(case.model, case.q)
    assert relative(factor @ d @ factor.T, dense(case, case.symbols.mass)) < TOLERANCE
    assert relative(factor @ inverse, np.eye(case.model.nv)) < TOLERANCE
    assert relative(d, dense(case, case.symbols.D)) < TOLERANCE


@pytest.mark.sampled(2)
@EVERY
def test_bias_and_gravity(case):
    s = case.symbols
    assert relative(ps.bias(case.model, case.q, case.vectors["v"]), dense(case, s.C + s.g)) < TOLERANCE
    assert relative(ps.gravity_load(case.model, case.q), dense(case, s.g)) < TOLERANCE


@pytest.mark.sampled(3)
@EVERY
def test_jacobians_and_frames(case):
    for name in case.frames:
        s = ps.algebra(case.model, [name]).symbols
        jacobian = ps.jacobian(case.model, case.q, name)
        assert relative(jacobian, dense(case, s.J, (name,))) < TOLERANCE
        rate = ps.jacobian_dot_v(case.model, case.q, case.vectors["v"], name)
        expected = dense(case, s.Jdot_v, (name,))
        assert np.allclose(rate, expected, rtol=0, atol=TOLERANCE * max(1.0, np.abs(expected).max()))
        body, point = case.dense.frame_point(name)
        pose = ps.forward_kinematics(case.model, case.q, name)
        assert np.allclose(pose[:3, 3], point, atol=1e-12)
        assert np.allclose(pose[:3, :3], case.dense.poses[body][0] @ case.model.frame(name).placement.rotation)


def is_regular(case: Mechanism) -> bool:
    s = case.symbols
    return np.linalg.cond(case.dense(s.J @ s.mass.inv @ s.J.T)) < 1e4


def first_regular(**asked) -> Mechanism:
    """The first seed at which Λ exists: six dofs and more to every frame."""
    return next(case for case in (mechanism(seed, **asked) for seed in count()) if is_regular(case))


REGULAR = {
    "chain": first_regular(serial=True, tips=True, frames=1, bodies=3, armature=False, kind="spherical"),
    "two frames": first_regular(serial=False, frames=2, bodies=5, armature=True, kind="planar"),
}


@pytest.mark.parametrize("case", REGULAR.values(), ids=REGULAR)
def test_operational_space_inertia_coriolis_and_gravity(case):
    s = case.symbols
    omega = dense(case, s.J @ s.mass.inv @ s.J.T)
    inertia, coriolis, gravity = ps.operational_space(case.model, case.q, case.vectors["v"], list(case.frames))
    assert relative(inertia @ omega, np.eye(len(omega))) < 1e-8
    assert relative(omega @ coriolis, dense(case, s.J @ s.mass.inv @ s.C - s.Jdot_v)) < 1e-8
    assert relative(omega @ gravity, dense(case, s.J @ s.mass.inv @ s.g)) < 1e-8


@pytest.mark.sampled(2)
@EVERY
def test_a_tip_force_changes_accelerations_by_what_forward_dynamics_says(case):
    """force is the paper's f(0), exerted by the tip: Δθ̈ = FD(f_ext = −force) − FD() (RJK91 eq. 18)."""
    name, force, (q, v, tau) = case.frames[0], case.vectors["f"][:6], (case.q, case.vectors["v"], case.vectors["T"])
    change = ps.tip_acceleration_change(case.model, q, name, force)
    with_force = ps.forward_dynamics(case.model, q, v, tau, f_ext={name: -force})
    without = ps.forward_dynamics(case.model, q, v, tau)
    assert np.allclose(change, with_force - without, atol=1e-10 * np.abs(with_force).max())


@pytest.mark.sampled(6)
@EVERY
def test_momentum_energy_and_centre_of_mass(case):
    model, q, v = case.model, case.q, case.vectors["v"]
    momentum, moment, height = np.zeros(6), np.zeros(3), 0.0
    for k, body in enumerate(model.bodies):
        centre = case.dense.centre(k)
        velocity = case.dense.point_jacobian(k, centre) @ v
        own = case.dense.world_mass(k) @ velocity
        momentum += np.concatenate([own[:3] + np.cross(centre, own[3:]), own[3:]])
        moment += body.inertia.mass * centre
        height -= body.inertia.mass * centre @ model.gravity
        if body.parent >= 0:  # a rotor that a moving link carries
            momentum[:3] += case.dense.poses[k][0] @ case.dense.links.rotor(k)[:3] @ v[model.joints[k].v_slice]
    assert relative(ps.momentum(model, q, v), momentum) < TOLERANCE
    assert relative(ps.center_of_mass(model, q), moment / model.total_mass) < TOLERANCE
    assert relative(ps.potential_energy(model, q), height) < TOLERANCE
    assert relative(ps.kinetic_energy(model, q, v), v @ dense(case, case.symbols.mass) @ v / 2) < TOLERANCE
    whole = ps.composite_inertia(model, q)
    assert relative(whole[3:, 3:], model.total_mass * np.eye(3)) < TOLERANCE


# The statements behind the functions


def stated_functions():
    return {name: getattr(ps, name) for name in dir(ps) if hasattr(getattr(ps, name), "statement")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", stated_functions())
def test_a_function_shows_the_statement_it_is_compiled_from(name):
    for statement in stated_functions()[name].statements.values():
        assert statement.show() and statement.latex()
        assert statement.sweeps
        assert statement.cost(7).total > 0
        assert str(statement.derivation())


def test_the_functions_that_the_papers_state_have_a_statement():
    assert ps.forward_dynamics.statement.show() == "ℳ⁻¹(T − 𝒞 − 𝒢)"
    assert ps.mass_matrix.statement.show() == "ℳ"
    assert {"inverse_dynamics", "bias", "gravity_load", "jacobian", "innovations", "operational_space"} <= set(
        stated_functions()
    )


def test_scaling_a_symbol_in_a_statement_changes_what_is_computed():
    """The algebra is the source: 2M for M gives twice the forces and half the accelerations, armature kept."""
    case = CASES["tree with armature"]
    a, x = case.algebra, case.vectors["T"]
    mass = a.H @ a.phi @ a.M @ a.phi.T @ a.H.T
    heavy = a.H @ a.phi @ (2 * a.M) @ a.phi.T @ a.H.T
    assert relative(heavy.apply(case.q, x), 2 * mass.apply(case.q, x)) < TOLERANCE
    expected = np.linalg.solve(2 * mass.dense(case.q) + a.A.dense(case.q), x)
    assert relative((heavy + a.A).inv.apply(case.q, x), expected) < 1e-10
    assert relative((mass + a.A).inv.apply(case.q, x), expected) > 1e-2
    compiled = ps.compile((heavy + a.A).inv, case.model)
    assert relative(compiled(case.q, x), expected) < 1e-10


# Leading axes and wrong shapes


def test_leading_axes_broadcast_as_in_numpy():
    model, rng = CASES["tree with armature"].model, np.random.default_rng(0)
    q, v, tau = model.random(rng, (3, 1)), rng.normal(size=(4, model.nv)), rng.normal(size=model.nv)
    together = ps.forward_dynamics(model, q, v, tau)
    assert together.shape == (3, 4, model.nv)
    for i in range(3):
        for j in range(4):
            assert np.allclose(together[i, j], ps.forward_dynamics(model, q[i, 0], v[j], tau), rtol=1e-11, atol=1e-11)
    assert ps.mass_matrix(model, q).shape == (3, 1, model.nv, model.nv)
    assert ps.jacobian(model, q, "frame0").shape == (3, 1, 6, model.nv)
    assert ps.kinetic_energy(model, q, v).shape == (3, 4)
    assert ps.center_of_mass(model, q).shape == (3, 1, 3)


def test_lists_are_accepted_and_empty_batches_are_empty():
    model = CASES["revolute"].model
    zero = [0.0] * model.nv
    assert ps.bias(model, [0.1] * model.nq, zero).shape == (model.nv,)
    assert ps.bias(model, np.zeros((0, model.nq)), zero).shape == (0, model.nv)


def test_a_nan_spoils_its_own_row_only():
    model, rng = CASES["tree with armature"].model, np.random.default_rng(1)
    q, v = model.random(rng, (3,)), rng.normal(size=(3, model.nv))
    v[1] = np.nan
    result = ps.forward_dynamics(model, q, v, v[0])
    assert np.isnan(result[1]).any() and np.isfinite(result[[0, 2]]).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: ps.mass_matrix(m, np.zeros(m.nq + 1)), r"q has shape \(\d+,\); .* needs"),
        (lambda m: ps.bias(m, m.neutral(), np.zeros(m.nv - 1)), r"v has shape"),
        (lambda m: ps.inverse_dynamics(m, np.zeros((2, m.nq)), np.zeros((3, m.nv)), np.zeros(m.nv)), "broadcast"),
        (lambda m: ps.forward_dynamics(m, m.neutral(), np.zeros(m.nv), "fast"), "array of real numbers"),
        (lambda m: ps.forward_dynamics(m, m.neutral(), np.zeros(m.nv), np.zeros(m.nv), f_ext=[1]), "f_ext must map"),
    ],
)
def test_wrong_shapes_are_value_errors_with_a_sentence(call, sentence):
    with pytest.raises(ps.ShapeError, match=sentence) as refusal:
        call(CASES["universal"].model)
    assert isinstance(refusal.value, ValueError)


def test_unknown_frames_are_named_with_near_matches():
    case = CASES["revolute"]
    with pytest.raises(ps.UnknownNameError, match="frame0"):
        ps.jacobian(case.model, case.q, "frame_0")


@pytest.mark.sampled(4)
@EVERY
def test_what_forces_add_is_the_change_of_forward_dynamics(case):
    model, q, v, tau = case.model, case.q, case.vectors["v"], case.vectors["T"]
    f_ext = {name: case.vectors["f"][6 * i : 6 * i + 6] for i, name in enumerate(case.frames)}
    still = ps.forward_dynamics(model, q, v, np.zeros(model.nv))
    pushed = ps.forward_dynamics(model, q, v, tau, f_ext)
    assert np.allclose(ps.force_response(model, q, tau, f_ext), pushed - still, atol=1e-10 * np.abs(pushed).max())
    with_joints = ps.forward_dynamics(model, q, v, tau)
    assert np.allclose(ps.force_response(model, q, tau), with_joints - still, atol=1e-10 * np.abs(pushed).max())


@pytest.mark.sampled(4)
@EVERY
def test_motions_and_mobility_of_frames_one_by_one_and_stacked(case):
    model, q, v, frames = case.model, case.q, case.vectors["v"], list(case.frames)
    jacobian = np.concatenate([ps.jacobian(model, q, name) for name in frames])
    assert np.allclose(ps.frame_velocity(model, q, v, frames), jacobian @ v, atol=1e-12 * np.abs(jacobian).max())
    assert np.allclose(ps.frame_velocity(model, q, v, frames[0]), (jacobian @ v)[:6], atol=1e-12)
    expected = jacobian @ np.linalg.solve(ps.mass_matrix(model, q), jacobian.T)
    assert relative(ps.mobility(model, q, frames), expected) < 1e-8
    assert relative(ps.mobility(model, q, frames[0]), expected[:6, :6]) < 1e-8
    with pytest.raises(ps.UnknownNameError, match="at least one frame"):
        ps.frame_velocity(model, q, v, [])
