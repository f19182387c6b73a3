"""WD89's way: everything as a function of the primary joints, against RJK91's way and against closed forms."""

from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.loops.primary.primary_closures import closed_state
from phistar.loops.primary.primary_joints import PrimaryJoints
from phistar.loops.primary.terminating_links import cut_coordinates, cut_influence, terminating_links


def rod(mass, length):
    side = mass * length**2 / 12
    return ps.Inertia(mass, (length / 2, 0, 0), np.diag([1e-3 * mass, side, side]))


Z, UP = (0, 0, 1), (0, -9.81, 0)


@cache
def four_bar(damping=0.0, cut_damping=0.0, stiffness=0.0):
    b = ps.ModelBuilder("four_bar", gravity=UP)
    b.body("crank", joint=ps.Revolute(Z, damping=damping, armature=0.02), inertia=rod(1.0, 0.2))
    b.body("coupler", "crank", ps.Revolute(Z), ps.Pose(xyz=(0.2, 0, 0)), rod(1.5, 0.5))
    b.body("rocker", joint=ps.Revolute(Z, friction=damping), placement=ps.Pose(xyz=(0.5, 0, 0)), inertia=rod(2.0, 0.4))
    b.frame("coupler_end", "coupler", ps.Pose(xyz=(0.5, 0, 0)))
    b.frame("rocker_end", "rocker", ps.Pose(xyz=(0.4, 0, 0)))
    b.loop("pin", "coupler_end", "rocker_end", ps.Revolute(Z, damping=cut_damping, stiffness=stiffness))
    return b.build(), ["crank"], [0.5, 0.5, 1.5]


CRANK, ROD = 0.1, 0.3


@cache
def slider_crank():
    b = ps.ModelBuilder("slider_crank", gravity=UP)
    b.body("crank", joint=ps.Revolute(Z), inertia=rod(0.5, CRANK))
    b.body("rod", "crank", ps.Revolute(Z), ps.Pose(xyz=(CRANK, 0, 0)), rod(0.4, ROD))
    b.body("piston", joint=ps.Prismatic((1, 0, 0)), inertia=ps.Inertia(0.8, tensor=np.eye(3) * 1e-3))
    b.frame("rod_end", "rod", ps.Pose(xyz=(ROD, 0, 0)))
    b.loop("wrist_pin", "piston", "rod_end", ps.Revolute(Z))
    return b.build(), ["crank"], [0.3, -0.4, 0.4]


def slider_crank_position(Q):
    """U(Q) in closed form: rod angle from the crank, piston on the axis."""
    swing = -np.arcsin(CRANK / ROD * np.sin(Q[0]))
    return np.stack([Q[0], swing - Q[0], CRANK * np.cos(Q[0]) + ROD * np.cos(swing)])


@cache
def parallelogram_robot():
    """A turret with a parallelogram arm: the forearm is driven through a crank and a parallel link."""
    b = ps.ModelBuilder("parallelogram_robot")
    b.body("turret", joint=ps.Revolute(Z), inertia=ps.Inertia(5.0, tensor=np.eye(3) * 0.1))
    y = ps.Revolute((0, 1, 0))
    b.body("upper", "turret", y, inertia=rod(2.0, 0.5))
    b.body("forearm", "upper", y, ps.Pose(xyz=(0.5, 0, 0)), rod(1.5, 0.4))
    b.body("crank", "turret", y, inertia=rod(0.4, 0.1))
    b.body("link", "crank", y, ps.Pose(xyz=(-0.1, 0, 0)), rod(0.6, 0.5))
    b.frame("link_end", "link", ps.Pose(xyz=(0.5, 0, 0)))
    b.frame("elbow", "forearm", ps.Pose(xyz=(-0.1, 0, 0)))
    b.frame("tool", "forearm", ps.Pose(xyz=(0.4, 0, 0)))
    b.loop("elbow_pin", "link_end", "elbow", ps.Revolute((0, 1, 0)))
    return b.build(), ["turret", "upper", "crank"], [0.0, -0.6, 0.9, 0.3, -0.9]


def parallelogram_position(Q):
    """The crank stays parallel to the forearm, the link to the upper arm."""
    return np.stack([Q[0], Q[1], Q[2] - Q[1], Q[2], Q[1] - Q[2]])


@cache
def stewart():
    """Six legs on universal joints hold a platform by balls; the platform is free in the tree."""
    b = ps.ModelBuilder("stewart")
    top = ps.Inertia(8.0, (0, 0, 0.02), np.diag([0.2, 0.2, 0.35]))
    b.body("platform", joint=ps.Free(), placement=ps.Pose(xyz=(0, 0, 0.8)), inertia=top)
    leg = ps.Inertia(1.0, (0, 0, 0.2), np.diag([0.02, 0.02, 0.001]))
    for k in range(6):
        low = np.deg2rad(60 * (k // 2) * 2 + (10 if k % 2 else -10))
        high = np.deg2rad(60 * (k // 2) * 2 + (50 if k % 2 else -50))
        foot = 0.6 * np.array([np.cos(low), np.sin(low), 0])
        ball = 0.35 * np.array([np.cos(high), np.sin(high), 0])
        aim = ball + np.array([0, 0, 0.8]) - foot
        turned = ps.Pose(xyz=foot, rotation=_looking(aim))
        b.body(f"lower{k}", joint=ps.Universal(), placement=turned, inertia=leg)
        slide = ps.Prismatic(Z, damping=1.0)
        b.body(f"upper{k}", f"lower{k}", slide, ps.Pose(xyz=(0, 0, np.linalg.norm(aim))), leg, joint_name=f"leg{k}")
        b.frame(f"seat{k}", "platform", ps.Pose(xyz=ball))
        b.loop(f"ball{k}", f"seat{k}", f"upper{k}", ps.Spherical(damping=0.01))
    model = b.build()
    return model, [f"leg{k}" for k in range(6)], model.neutral()


def _looking(aim):
    z = aim / np.linalg.norm(aim)
    x = np.cross((0, 1, 0), z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


MECHANISMS = {
    "four-bar": four_bar,
    "four-bar with friction": lambda: four_bar(0.3, 0.2, 1.5),
    "slider-crank": slider_crank,
    "parallelogram robot": parallelogram_robot,
    "Stewart platform": stewart,
    "WD89's figure 1": lambda: (ps.load("wd89_fig1"), ["joint5", "joint7", "joint3"], np.zeros(7)),
}


def way_of(name):
    model, joints, guess = MECHANISMS[name]()
    return PrimaryJoints(model, joints, guess=guess)


def drawn(way, rng, shape=(4,)):
    """Primary coordinates near the guess, rates and accelerations."""
    n = len(way.rates)
    near = way.guess[way.coordinates]
    return near + rng.uniform(-0.15, 0.15, (*shape, n)), rng.normal(size=(*shape, n)), rng.normal(size=(*shape, n))


def friction_on_tree(way, q, v):
    """The passive forces of the tree's joints, and those at the cuts as forces on both frames, J*f; (…, nv)."""
    model = way.model
    state = closed_state(model, q)
    cut = terminating_links(model)
    rates = (way.influence(q)[..., model.nv :, :] @ v[..., way.rates][..., None])[..., 0]
    held = ps.joint_friction(cut, cut_coordinates(model, state.poses), rates)
    result = ps.joint_friction(model, q, v)
    for loop, joint in zip(model.loops, cut.joints, strict=True):
        turn, own = state.poses[loop.frame_b][..., :3, :3], held[..., joint.v_slice]
        moment = (
            turn @ own[..., None] if isinstance(loop.joint, ps.Spherical) else (turn @ loop.joint.axis * own)[..., None]
        )
        apart = state.jacobians[loop.frame_b] - state.jacobians[loop.frame_a]
        result = result + (np.swapaxes(apart[..., :3, :], -1, -2) @ moment)[..., 0]
    return result


def dense_solution(model, q, v, tau):
    """[ℳ A*; A 0][θ̈; −λ] = [T − 𝒞 − 𝒢; −drift] by least squares, state by state."""
    state, right = closed_state(model, q, v), tau - ps.bias(model, q, v)
    mass, found = ps.mass_matrix(model, q), []
    for k in range(len(q)):
        a = state.jacobian[k]
        whole = np.block([[mass[k], a.T], [a, np.zeros((len(a), len(a)))]])
        found.append(np.linalg.lstsq(whole, np.concatenate([right[k], -state.drift[k]]), rcond=1e-12)[0][: model.nv])
    return np.array(found)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MECHANISMS)
def test_both_ways_give_the_same_accelerations_from_the_same_joint_forces(name):
    way, rng = way_of(name), np.random.default_rng(1)
    Q, rate, _ = drawn(way, rng)
    tau_all = rng.normal(size=(4, way.model.nv))
    motion = way.motion(Q, rate, np.zeros(rate.shape))
    own = motion.influence[..., : way.model.nv, :]
    tau = (np.swapaxes(own, -1, -2) @ tau_all[..., None])[..., 0]
    ours = way.motion(Q, rate, way.forward_dynamics(Q, rate, tau)).a
    total = tau_all + friction_on_tree(way, motion.q, motion.v)
    theirs = dense_solution(way.model, motion.q, motion.v, total)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    rjk91 = ps.forward_dynamics(way.model, motion.q, motion.v, total)
    np.testing.assert_allclose(ours, rjk91, rtol=1e-10, atol=1e-10 * np.abs(rjk91).max())


@pytest.mark.parametrize("name", MECHANISMS)
def test_inverse_and_forward_dynamics_undo_each_other(name):
    way = way_of(name)
    Q, rate, acceleration = drawn(way, np.random.default_rng(2))
    tau = way.inverse_dynamics(Q, rate, acceleration)
    np.testing.assert_allclose(way.forward_dynamics(Q, rate, tau), acceleration, atol=1e-10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_configurations_close_the_loops_and_rates_are_their_derivatives(name):
    way = way_of(name)
    Q, rate, acceleration = drawn(way, np.random.default_rng(3))
    model, h = way.model, 1e-5
    motion = way.motion(Q, rate, acceleration)
    assert np.abs(closed_state(model, motion.q).residual).max() < 1e-12
    np.testing.assert_array_equal(motion.q[..., way.coordinates], Q)

    def at(t):
        return way.motion(Q + t * rate + 0.5 * t * t * acceleration, rate + t * acceleration, acceleration, motion.q)

    after, before = at(h), at(-h)
    travelled = model.difference(motion.q, after.q) - model.difference(motion.q, before.q)
    np.testing.assert_allclose(travelled / (2 * h), motion.v, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((after.v - before.v) / (2 * h), motion.a, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_mass_matrix_holds_the_kinetic_energy(name):
    way = way_of(name)
    Q, rate, _ = drawn(way, np.random.default_rng(4))
    motion = way.motion(Q, rate, np.zeros(rate.shape))
    ours = 0.5 * np.einsum("ki,kij,kj->k", rate, way.mass_matrix(Q), rate)
    np.testing.assert_allclose(ours, ps.kinetic_energy(way.model, motion.q, motion.v), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "position"),
    [("slider-crank", slider_crank_position), ("parallelogram robot", parallelogram_position)],
)
def test_a_position_function_given_agrees_with_newtons_method_and_with_the_implicit_function_theorem(name, position):
    found = way_of(name)
    given = PrimaryJoints(found.model, found.joints, position)
    Q, rate, acceleration = drawn(found, np.random.default_rng(5))
    for ours, theirs in zip(given.motion(Q, rate, acceleration), found.motion(Q, rate, acceleration)):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)
    np.testing.assert_allclose(
        given.inverse_dynamics(Q, rate, acceleration), found.inverse_dynamics(Q, rate, acceleration), atol=1e-11
    )


@pytest.mark.parametrize(
    ("name", "position"),
    [("slider-crank", slider_crank_position), ("parallelogram robot", parallelogram_position)],
)
def test_derivatives_of_any_order_follow_from_the_closures_as_from_the_closed_form(name, position):
    found = way_of(name)
    given = PrimaryJoints(found.model, found.joints, position)
    Q, rate, acceleration = drawn(found, np.random.default_rng(6))
    path = [Q, rate, acceleration, -rate, 2.0 * acceleration, rate]
    for ours, theirs in zip(found.derivatives(*path), given.derivatives(*path), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_the_papers_example_has_three_primary_joints_and_nine_rates():
    """WD89 §2.3: q5, q7 and q3 are primary; q1, q2, q4, q6 and the cut joints 8 and 9 follow from the two closures."""
    way = way_of("WD89's figure 1")
    influence = way.influence(way.configuration([0.1, -0.1, 0.2]))
    assert influence.shape == (9, 3)
    np.testing.assert_array_equal(influence[[4, 6, 2]], np.eye(3))
    assert np.abs(influence[[0, 1, 3, 5, 7, 8]]).max(axis=1).min() > 0.05
    np.testing.assert_allclose(influence[[0, 1, 3, 5, 7, 8], 2], 0.0, atol=1e-12)  # link 3 is on no loop


def test_newtons_method_stays_in_the_assembly_of_its_guess_all_around():
    way = way_of("slider-crank")
    Q = np.linspace(-2 * np.pi, 4 * np.pi, 40)[:, None]
    wanted = np.array([slider_crank_position(x) for x in Q])
    np.testing.assert_allclose(way.configuration(Q), wanted, atol=1e-11)


def test_the_platform_can_be_primary_instead_of_its_legs():
    model, legs, _ = stewart()
    by_legs, by_platform = PrimaryJoints(model, legs), PrimaryJoints(model, ["platform"])
    pose = np.array([0.05, -0.03, 0.04, 0.02, -0.05, 0.08, 0.0])
    pose[6] = np.sqrt(1 - pose[3:6] @ pose[3:6])
    q = by_platform.configuration(pose)
    np.testing.assert_allclose(by_legs.configuration(q[by_legs.coordinates], guess=q), q, atol=1e-10)
    forward, inverse = by_legs.influence(q), by_platform.influence(q)
    np.testing.assert_allclose(forward[by_platform.rates] @ inverse[by_legs.rates], np.eye(6), atol=1e-10)


def test_friction_at_the_cut_joint_takes_its_power_through_the_primary_joint():
    Q, rate = np.array([[0.7]]), np.array([[2.0]])
    forces = {}
    for damping in (0.0, 0.2):
        model, joints, guess = four_bar(0.0, damping)
        way = PrimaryJoints(model, joints, guess=guess)
        forces[damping] = way.inverse_dynamics(Q, rate, np.zeros((1, 1)))
        cut = way.motion(Q, rate, np.zeros((1, 1))).cut_rates
    lost = 0.2 * np.sum(cut**2)
    assert lost > 1e-3
    np.testing.assert_allclose((forces[0.2] - forces[0.0]) @ rate.T, [[lost]], rtol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "joint",
    [
        ps.Revolute((1, 2, -1)),
        ps.Prismatic((1, 2, -1)),
        ps.Helical((1, 2, -1), pitch=0.3),
        ps.Helical((1, 2, -1)),
        ps.Universal((1, 0, 0.3), (0, 1, 1)),
        ps.Spherical(),
        ps.Planar((1, 2, -1)),
    ],
    ids=lambda joint: type(joint).__name__,
)
def test_coordinates_and_rates_of_a_cut_joint_are_those_of_the_same_joint_in_the_tree(joint):
    rng = np.random.default_rng(7)
    b = ps.ModelBuilder("pair")
    b.body("a", joint=ps.Free(), inertia=rod(1, 1))
    b.body("b", "a", joint, ps.Pose(xyz=(1, 2, 3), rpy=(1, 2, 3)), rod(1, 1), joint_name="tree")
    b.frame("seat", "a", ps.Pose(xyz=(1, 2, 3), rpy=(1, 2, 3)))
    b.loop("cut", "seat", "b", joint)
    model = b.build()
    q, v = model.random(rng, (5,)), rng.normal(size=(5, model.nv))
    state = closed_state(model, q)
    own = model.joint("tree")
    found = cut_coordinates(model, state.poses)
    assert np.abs(own.kind.difference(q[..., own.q_slice], found)).max() < 1e-12
    rates = (cut_influence(model, state.poses, state.jacobians) @ v[..., None])[..., 0]
    np.testing.assert_allclose(rates, v[..., own.v_slice], atol=1e-12)


def test_surplus_actuators_share_the_load_as_chosen_and_make_the_same_motion():
    way, rng = way_of("four-bar with friction"), np.random.default_rng(8)
    Q, rate, acceleration = drawn(way, rng)
    actuators = ["crank", "rocker", "pin"]
    rows = [0, 2, 3]
    chosen = way.motion(Q, rate, acceleration).influence[..., rows, :]
    needed = way.inverse_dynamics(Q, rate, acceleration)

    def effect(forces):
        return (np.swapaxes(chosen, -1, -2) @ forces[..., None])[..., 0]

    even = way.actuated_inverse_dynamics(Q, rate, acceleration, actuators)
    spared = way.actuated_inverse_dynamics(Q, rate, acceleration, actuators, weights=[1.0, 1e8, 1e8])
    loaded = way.actuated_inverse_dynamics(Q, rate, acceleration, actuators, preload=[0.0, 0.5, -0.5])
    for forces in (even, spared, loaded):
        np.testing.assert_allclose(effect(forces), needed, atol=1e-11)
    np.testing.assert_allclose(spared[..., 0], needed[..., 0], rtol=1e-6)
    assert np.all(np.linalg.norm(even, axis=-1) <= np.linalg.norm(loaded, axis=-1))
    surplus = loaded - even  # a split differs by what moves nothing, and is nearest to what was asked for
    np.testing.assert_allclose(effect(surplus), 0.0, atol=1e-11)
    assert np.all(np.linalg.norm(loaded - [0.0, 0.5, -0.5], axis=-1) <= np.linalg.norm(even - [0, 0.5, -0.5], axis=-1))


def test_a_model_without_loops_has_only_primary_joints():
    arm = ps.load("puma560")
    frictionless = arm.replace(
        joints={j.name: ps.Revolute(j.axis, armature=j.kind.armature_diagonal) for j in arm.joints}
    )
    way, rng = PrimaryJoints(frictionless, [joint.name for joint in arm.joints]), np.random.default_rng(9)
    q, v, a = rng.normal(size=(3, 2, arm.nq))
    np.testing.assert_allclose(way.inverse_dynamics(q, v, a), ps.inverse_dynamics(frictionless, q, v, a), atol=1e-11)


def test_bad_choices_are_refused_with_sentences():
    model, joints, guess = four_bar()
    way = PrimaryJoints(model, joints, guess=guess)
    with pytest.raises(ps.UnknownNameError, match="krank"):
        PrimaryJoints(model, ["krank"])
    with pytest.raises(ps.ModelError, match="each once"):
        PrimaryJoints(model, ["crank", "crank"])
    with pytest.raises(ps.PhistarError, match="cannot all move freely"):
        PrimaryJoints(model, ["crank", "rocker"]).influence(way.configuration([0.7]))
    robot, _, start = parallelogram_robot()
    with pytest.raises(ps.PhistarError, match="2 of parallelogram_robot's 4 secondary rates undetermined"):
        PrimaryJoints(robot, ["turret"], guess=start).influence(start)
    b = ps.ModelBuilder("too_short", gravity=UP)
    b.body("crank", joint=ps.Revolute(Z), inertia=rod(1.0, 0.2))
    b.body("rocker", joint=ps.Revolute(Z), placement=ps.Pose(xyz=(1.0, 0, 0)), inertia=rod(1.0, 0.2))
    b.frame("left", "crank", ps.Pose(xyz=(0.2, 0, 0)))
    b.frame("right", "rocker", ps.Pose(xyz=(0.2, 0, 0)))
    b.loop("rod", "left", "right", ps.Distance(0.3))
    with pytest.raises(ps.PhistarError, match=r"'rod' of too_short cannot be closed .* state \(1,\)"):
        PrimaryJoints(b.build(), ["crank"], guess=[0.0, 3.0]).configuration([[1e-9], [3.14]])
    with pytest.raises(ps.ModelError, match="leaves its loops open"):
        PrimaryJoints(model, joints, lambda Q: np.stack([Q[0], Q[0], Q[0]])).configuration([0.3])
    with pytest.raises(ps.ModelError, match="quaternion"):
        PrimaryJoints(stewart()[0], ["leg0"], lambda Q: Q)
    with pytest.raises(ps.PhistarError, match="cannot drive"):
        way.actuated_inverse_dynamics([0.7], [0.0], [0.0], [])


def test_one_bad_state_spoils_itself_only():
    way = way_of("slider-crank")
    Q = np.array([[0.3], [np.nan], [0.8]])
    found = way.configuration(Q)
    assert np.isnan(found[1]).any()
    np.testing.assert_allclose(found[[0, 2]], way.configuration(Q[[0, 2]]), atol=1e-12)


def test_a_nan_spoils_its_own_state_and_unequal_axes_are_told():
    model, joints, guess = four_bar()
    primary = PrimaryJoints(model, joints, guess=guess)
    Q, rate = np.array([[1.1], [np.nan], [1.2]]), [0.7]
    for found in (
        primary.forward_dynamics(Q, rate, [0.4]),
        primary.inverse_dynamics(Q, rate, [0.2]),
        primary.actuated_inverse_dynamics(Q, rate, [0.2], ["crank", "rocker"]),
    ):
        assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()
    with pytest.raises(ps.ShapeError, match="Q_rate"):
        primary.motion(np.ones((3, 1)), np.ones((2, 1)), [0.0])
    with pytest.raises(ps.ShapeError, match="tau"):
        primary.forward_dynamics(np.ones((3, 1)), rate, np.ones((2, 1)))
    with pytest.raises(ps.ModelError, match="once each"):
        primary.actuated_inverse_dynamics([1.1], rate, [0.2], ["crank", "crank"])
