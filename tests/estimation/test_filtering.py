"""Forward dynamics as filter and smoother: R87's equations as printed, physics, and every way to update P."""

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.backends.programs.program import program_of
from phistar.errors import ModelError, ShapeError, UnknownNameError
from phistar.estimation.filtering import STATEMENTS, filter_function
from phistar.expression import setting_of, symbols_of
from tests.estimation import r87
from tests.trees import mechanism, relative

UPDATES = ("conventional", "joseph", "square_root")


@pytest.fixture(scope="module")
def moving_arm():
    return r87.arm(5, seed=3)


def printed(model, q, v, tau):
    return r87.filter_and_smoother(r87.Chain(model, q, v), r87.tip_first(tau))


@pytest.mark.parametrize("update", UPDATES)
def test_every_quantity_is_that_of_the_printed_equations(moving_arm, update):
    """(35)-(47), one by one."""
    found = estimation.forward_dynamics(*moving_arm, keep="all", update=update)
    for name, values in printed(*moving_arm).items():
        expected = r87.base_first(values)
        assert relative(getattr(found, name).reshape(expected.shape), expected) < 1e-11, name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", ["puma560", "tree with rotors", "tree of any joints"])
def test_accelerations_are_those_of_forward_dynamics(name, update):
    seed = {"tree with rotors": 14, "tree of any joints": 16}
    case = (
        mechanism(seed[name], rotors=name == "tree with rotors", armature=True, serial=False, bodies=4)
        if name in seed
        else None
    )
    rng = np.random.default_rng(1)
    model = case.model if case else ps.load(name)
    q, v, tau = (case.q, case.vectors["v"], case.vectors["T"]) if case else rng.normal(size=(3, 6))
    frame = list(model.frames)[-1]
    if update == "square_root" and case and case.symbols.rotors:
        with pytest.raises(ModelError, match="gyroscopic"):
            estimation.forward_dynamics(model, q, v, tau, update=update)
        return
    load = {frame: rng.normal(size=6)}
    found = estimation.forward_dynamics(model, q, v, tau, load, update=update)
    assert relative(found.accelerations, ps.forward_dynamics(model, q, v, tau, load)) < 1e-11


def test_a_residual_is_the_acceleration_with_all_joints_inboard_locked():
    """R87 §XI; at rest, where locking a joint takes no velocity away."""
    model, q, _, tau = r87.arm(4)
    rest = np.zeros(4)
    found = estimation.forward_dynamics(model, q, rest, tau, keep=["residuals"])
    mass, load = ps.mass_matrix(model, q), ps.gravity_load(model, q)
    for k in range(4):
        outboard = np.linalg.solve(mass[k:, k:], (tau - load)[k:])
        assert np.isclose(found.residuals[k], outboard[0], rtol=1e-10)


def test_an_innovation_is_what_the_joints_outboard_did_not_tell():
    """e⁻ = τ − E[τ | τ outboard] of the Gaussian with the mass matrix as covariance (R87 eqs. 54, 55); at rest."""
    model, q, _, tau = r87.arm(5)
    found = estimation.forward_dynamics(model, q, np.zeros(5), tau, keep=["innovations", "joint_inertias"])
    mass, new = ps.mass_matrix(model, q), tau - ps.gravity_load(model, q)
    for k in range(5):
        told = mass[k, k + 1 :] @ np.linalg.solve(mass[k + 1 :, k + 1 :], np.eye(4 - k)) if k < 4 else np.zeros(0)
        assert np.isclose(found.innovations[k], new[k] - told @ new[k + 1 :], rtol=1e-9)
        assert np.isclose(found.joint_inertias[k, 0, 0], mass[k, k] - told @ mass[k + 1 :, k], rtol=1e-9)


def test_costates_are_the_links_accelerations(moving_arm):
    model, q, v, _ = moving_arm
    found = estimation.forward_dynamics(*moving_arm, keep=["costates"])
    world = ps.jacobian(model, q, "tip") @ found.accelerations + ps.jacobian_dot_v(model, q, v, "tip")
    turn = ps.forward_kinematics(model, q, "tip")[:3, :3]
    assert relative(turn @ found.costates[-1, :3], world[:3]) < 1e-12


def test_the_update_forms_are_one_matrix_and_measure_the_joint_exactly(moving_arm):
    """(43), (50), (51); HP⁺ = 0 where there is no armature (R87 §XI)."""
    model, q, *_ = moving_arm
    found = estimation.forward_dynamics(*moving_arm, keep=["gains", "inertias", "updated_inertias"])
    for k, joint in enumerate(model.joints):
        H, P, G = joint.kind.subspace(q[joint.q_slice]).T, found.inertias[k], found.gains[k]
        kept, after = np.eye(6) - G @ H, found.updated_inertias[k]
        assert relative(after, kept @ P) < 1e-12
        assert relative(after, kept @ P @ kept.T) < 1e-12
        assert np.abs(H @ after).max() < 1e-13 * np.abs(P).max()


def test_armature_is_measurement_noise():
    """D = HPH* + A, and then HP⁺ is not zero (R87 eq. 57 with R(k))."""
    model = ps.load("puma560")
    found = estimation.forward_dynamics(model, *np.full((3, 6), 0.3), keep="all")
    own = [joint.kind.subspace(np.zeros(1)).T for joint in model.joints]
    for k, H in enumerate(own):
        assert np.isclose(found.joint_inertias[k, 0, 0], (H @ found.inertias[k] @ H.T).item() + model.armature[k])
        assert np.abs(H @ found.updated_inertias[k]).max() > 1e-6


def test_one_inward_and_one_outward_pass_after_the_velocities():
    model = ps.chain(3)
    symbols, setting = symbols_of(model, ()), setting_of(model, ())
    nodes = tuple(filter_function(tuple(STATEMENTS)).nodes(symbols).items())
    program = program_of(nodes, symbols, setting, True, AS_WRITTEN)
    assert [sweep.direction for sweep in program.passes] == ["outward", "inward", "outward"]


def test_what_was_not_asked_for_is_not_there(moving_arm):
    found = estimation.forward_dynamics(*moving_arm, keep="gains")
    assert found.gains.shape == (5, 6, 1) and set(found.kept) == {"accelerations", "gains"}
    with pytest.raises(UnknownNameError, match=r"inertias were not kept; ask for them with keep=\['inertias'\]"):
        _ = found.inertias


def test_states_come_in_batches_and_lists():
    model = ps.chain(2)
    q = np.random.default_rng(0).normal(size=(3, 4, 2))
    found = estimation.forward_dynamics(
        model, q, [0.1, 0.2], [[0.3, 0.4]], keep=["states", "inertias", "joint_inertias"]
    )
    assert found.accelerations.shape == (3, 4, 2) and found.states.shape == (3, 4, 2, 6)
    assert found.inertias.shape == (3, 4, 2, 6, 6) and found.joint_inertias.shape == (3, 4, 2, 1, 1)
    one = estimation.forward_dynamics(model, q[1, 2], [0.1, 0.2], [0.3, 0.4], keep=["states"], update="square_root")
    assert relative(one.states, found.states[1, 2]) < 1e-12


def test_long_chains_and_joints_of_several_dofs_have_the_same_shapes():
    builder = ps.ModelBuilder("mixed")
    inertia = ps.Inertia(1.0, (0.1, 0, 0), np.eye(3) * 0.1)
    builder.body("a", parent="world", joint=ps.Spherical(), inertia=inertia)
    builder.body("b", parent="a", joint=ps.Revolute(armature=0.5), placement=ps.Pose(xyz=(0.3, 0, 0)), inertia=inertia)
    model = builder.build()
    arguments = (model, [0, 0, 0, 1, 0.2], [0.1] * 4, [0.2] * 4)
    found = estimation.forward_dynamics(*arguments, keep="all")
    root = estimation.forward_dynamics(*arguments, keep="all", update="square_root")
    assert found.gains.shape == (2, 6, 3) and found.joint_inertias.shape == (2, 3, 3)
    assert not np.any(found.gains[1, :, 1:]) and not np.any(found.joint_inertias[1, 1:])
    for name in STATEMENTS:
        assert relative(getattr(root, name), getattr(found, name)) < 1e-11, name
    long = estimation.forward_dynamics(ps.chain(45), *np.full((3, 45), 0.1), keep=["gains"])
    assert long.gains.shape == (45, 6, 1)


def test_mistakes_are_answered_with_sentences(moving_arm):
    with pytest.raises(UnknownNameError, match="keeps no 'gain'; it has accelerations"):
        estimation.forward_dynamics(*moving_arm, keep=["gain"])
    with pytest.raises(UnknownNameError, match="'jospeh' is no way to update P; choose from conventional, joseph"):
        estimation.forward_dynamics(*moving_arm, update="jospeh")
    with pytest.raises(ShapeError):
        estimation.forward_dynamics(moving_arm[0], [0.1, 0.2], *moving_arm[2:])


def test_an_indefinite_inertia_has_no_square_root(tmp_path):
    """Files are taken as they are; a negative moment has no root."""
    inertia = '<mass value="1"/><inertia ixx="-1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="odd"/></joint>'
    links = f'<link name="base"/><link name="odd"><inertial>{inertia}</inertial></link>'
    path = tmp_path / "odd.urdf"
    path.write_text(f'<robot name="odd">{links}{joint}</robot>')
    model = ps.load(str(path))
    with pytest.raises(ModelError, match="odd of odd has an indefinite inertia"):
        estimation.forward_dynamics(model, [0], [0], [1], update="square_root")


def test_a_function_that_uses_the_filter_is_compiled():
    model = ps.chain(3)

    def residuals(q, v, tau):
        found = estimation.forward_dynamics(model, q, v, tau, keep=["residuals", "gains"])
        return np.concatenate([found.residuals, found.gains.reshape(-1)])

    compiled = ps.compile(residuals, model)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, 3))
    assert relative(compiled(q, v, tau)[3], residuals(q[3], v[3], tau[3])) < 1e-12


@pytest.mark.parametrize("update", UPDATES)
def test_what_is_not_a_number_spoils_its_own_row_only(update):
    q, v, tau = np.random.default_rng(0).normal(size=(3, 4, 2))
    q[2, 1] = np.nan
    found = estimation.forward_dynamics(ps.chain(2), q, v, tau, update=update).accelerations
    assert np.isnan(found).any(axis=1).tolist() == [False, False, True, False]


def test_a_robot_that_cannot_move_is_refused():
    builder = ps.ModelBuilder("still")
    builder.body("rock", parent="world", joint=ps.Fixed(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    with pytest.raises(ModelError, match="nothing to measure"):
        estimation.forward_dynamics(builder.build(), [], [], [])
