"""Every public function on robots that bend, an arm, a free flyer and a tree: right, or refused by a sentence.

What is right is made here from places of nodes alone: ℳ from the velocities of all nodes, 𝒞 and 𝒢 from differences of
energies, and everything else from these by dense linear algebra.
"""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.wide import wide_links

LIGHT = ps.Inertia(0.5, (0.05, 0.0, 0.02), np.diag([1e-3, 2e-3, 2.5e-3]))
STEP = 1e-6


def beam(modes):
    return ps.beam(1.0, (20.0, 40.0), 1.0, modes=modes, axial_inertia=0.02, damping=0.02)


def arm():
    b = ps.ModelBuilder("arm", gravity=(0, 0, -9.81))
    b.body("upper", joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam(2))
    b.body("fore", "upper.tip", ps.Revolute(axis=(0, 0, 1)), inertia=beam(1))
    b.body("hand", "fore.tip", ps.Revolute(axis=(1, 0, 0)), ps.Pose((0.05, 0, 0)), LIGHT)
    b.frame("tip", "hand", ps.Pose((0.1, 0, 0)))
    return b.build()


def flyer():
    b = ps.ModelBuilder("flyer", gravity=(0, 0, 0))
    b.body("bus", joint=ps.Free(), inertia=ps.Inertia(10.0, (0, 0, 0.1), np.diag([1.0, 1.2, 1.4])))
    b.body("upper", "bus", ps.Revolute(axis=(0, 1, 0)), ps.Pose((0.3, 0, 0)), beam(2))
    b.body("panel", "bus", ps.Fixed(), ps.Pose((-0.3, 0, 0), rpy=(0, 0, np.pi)), beam(1))
    b.frame("tip", "upper.tip", ps.Pose((0.1, 0, 0)))
    return b.build()


def tree():
    b = ps.ModelBuilder("tree", gravity=(0, 0, -9.81))
    b.body("trunk", joint=ps.Spherical(), inertia=beam(2))
    b.body("left", "trunk.tip", ps.Revolute(axis=(0, 1, 0)), inertia=beam(1))
    b.body("right", "trunk.tip", ps.Universal(), inertia=LIGHT)
    b.frame("tip", "left.tip", ps.Pose((0.1, 0, 0)))
    return b.build()


class Known:
    """A robot at a state, and what its nodes say of it."""

    def __init__(self, model):
        rng = np.random.default_rng(7)
        self.model, self.frame = model, "tip"
        self.q = model.random(rng)
        for body in model.bodies:
            self.q[body.mode_q_slice] = 0.05 * rng.normal(size=body.modes)
        self.v, self.tau, self.a, self.other = rng.normal(size=(4, model.nv))

    def moved(self, rates, h=STEP):
        return self.model.integrate(self.q, h * np.asarray(rates))

    def pieces(self, q):
        """Rotation, centre, mass and tensor about it of everything that moves as one."""
        links, found = wide_links(self.model, q), []
        for k, body in enumerate(self.model.bodies):
            pose = ps.forward_kinematics(self.model, q, body.name)
            held = [(np.eye(3), np.zeros(3), body.inertia.matrix)]
            if body.flexible is not None:
                nodes = (links.node(k, j) for j in range(len(body.flexible.nodes)))
                held = [(x.turn, x.place, own) for x, own in zip(nodes, body.flexible.masses, strict=True)]
            for turn, place, matrix in held:
                mass = matrix[3, 3]
                lever = np.array([matrix[2, 4], matrix[0, 5], matrix[1, 3]])
                com = lever / mass if mass else lever
                tensor = matrix[:3, :3] - mass * (com @ com * np.eye(3) - np.outer(com, com))
                whole = pose[:3, :3] @ turn
                found.append((whole, pose[:3, 3] + pose[:3, :3] @ place + whole @ com, mass, tensor))
        return found

    def motions(self, q):
        """(pieces, 6, nv): [ω in the piece's axes; velocity of its centre] of each rate, by central differences."""
        made = []
        for unit in np.eye(self.model.nv):
            ahead, back = (self.pieces(self.model.integrate(q, way * STEP * unit)) for way in (1.0, -1.0))
            rows = []
            for (r1, c1, _, _), (r0, c0, _, _) in zip(ahead, back, strict=True):
                turn = (r0.T @ r1 - r1.T @ r0) / (4.0 * STEP)
                rows.append([turn[2, 1], turn[0, 2], turn[1, 0], *((c1 - c0) / (2.0 * STEP))])
            made.append(rows)
        return np.moveaxis(np.array(made), 0, -1)

    def mass_at(self, q):
        total = self.model.armature * np.eye(self.model.nv)
        for (_, _, mass, tensor), motion in zip(self.pieces(q), self.motions(q), strict=True):
            total = total + motion[:3].T @ tensor @ motion[:3] + mass * motion[3:].T @ motion[3:]
        return total


@pytest.fixture(scope="module", params=[arm, flyer, tree], ids=lambda make: make.__name__)
def known(request):
    return Known(request.param())


@pytest.fixture(scope="module")
def mass(known):
    return known.mass_at(known.q)


@pytest.fixture(scope="module")
def jacobian(known):
    """Of the frame, by differences of its pose."""
    columns = []
    for unit in np.eye(known.model.nv):
        ahead, back = (ps.forward_kinematics(known.model, known.moved(way * unit), "tip") for way in (1.0, -1.0))
        turn = (ahead[:3, :3] @ back[:3, :3].T - back[:3, :3] @ ahead[:3, :3].T) / (4.0 * STEP)
        columns.append([turn[2, 1], turn[0, 2], turn[1, 0], *((ahead[:3, 3] - back[:3, 3]) / (2.0 * STEP))])
    return np.array(columns).T


def close(found, expected, tolerance=2e-6):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * (1.0 + np.abs(expected).max()))


@pytest.mark.sampled(6)
def test_the_mass_matrix_is_that_of_the_nodes(known, mass):
    model, q, v = known.model, known.q, known.v
    close(ps.mass_matrix(model, q), mass)
    close(ps.mass_matrix_inverse(model, q) @ mass, np.eye(model.nv), 1e-5)
    close(ps.kinetic_energy(model, q, v), 0.5 * v @ mass @ v)
    close(ps.force_response(model, q, known.tau), np.linalg.solve(mass, known.tau), 1e-5)
    found = ps.innovations(model, q)
    close(found.factor @ found.D @ found.factor.T, mass)
    close(ps.composite_inertia(model, q)[..., 3, 3].max(), model.total_mass)


@pytest.mark.sampled(2)
def test_weight_momentum_and_center_are_those_of_the_nodes(known):
    model, q, v = known.model, known.q, known.v
    pieces, motions = known.pieces(q), known.motions(q)
    center = sum(mass * place for _, place, mass, _ in pieces) / model.total_mass
    close(ps.center_of_mass(model, q), center)
    close(ps.potential_energy(model, q), -model.total_mass * model.gravity @ center)
    slopes = sum(mass * own[3:] for (_, _, mass, _), own in zip(pieces, motions, strict=True))
    close(ps.center_of_mass_jacobian(model, q), slopes / model.total_mass)
    close(ps.gravity_load(model, q), -slopes.T @ model.gravity)
    total = np.zeros(6)
    for (turn, place, mass, tensor), own in zip(pieces, motions, strict=True):
        linear = mass * own[3:] @ v
        total += [*(turn @ tensor @ own[:3] @ v + np.cross(place, linear)), *linear]
    close(ps.momentum(model, q, v), total)
    close(ps.centroidal_map(model, q)[3:] @ v, total[3:])


@pytest.mark.sampled(2)
def test_the_frame_moves_as_its_pose_does(known, jacobian):
    model, q, v, a, h = known.model, known.q, known.v, known.a, 1e-5
    close(ps.jacobian(model, q, "tip"), jacobian)
    close(ps.frame_velocity(model, q, v, "tip"), jacobian @ v)
    ahead, back = (ps.jacobian(model, known.moved(way * v, h), "tip") for way in (1.0, -1.0))
    drift = (ahead - back) @ v / (2.0 * h)
    close(ps.jacobian_dot_v(model, q, v, "tip"), drift, 1e-5)
    close(ps.frame_acceleration(model, q, v, a, "tip"), jacobian @ a + drift, 1e-5)


@pytest.mark.sampled(6)
def test_forces_and_accelerations_are_lagranges(known, mass, jacobian):
    model, q, v, a, h = known.model, known.q, known.v, known.a, 1e-5
    lead = model.joints[0]
    bias = ps.bias(model, q, v)
    power = [ps.kinetic_energy(model, known.moved(way * v, h), v) for way in (1.0, -1.0)]
    close(v @ (bias - ps.gravity_load(model, q)), (power[0] - power[1]) / (2.0 * h), 1e-5)  # v·𝒞 is the change of ½v*ℳv
    if lead.kind.flat:  # ∂L/∂q in coordinates that are rates
        rate = (ps.mass_matrix(model, known.moved(v, h)) - ps.mass_matrix(model, known.moved(-v, h))) @ v / (2.0 * h)
        slope = []
        for unit in np.eye(model.nv):
            sides = [ps.kinetic_energy(model, known.moved(way * unit, h), v) for way in (1.0, -1.0)]
            slope.append((sides[0] - sides[1]) / (2.0 * h))
        close(bias, rate - slope + ps.gravity_load(model, q), 1e-5)
    close(ps.inverse_dynamics(model, q, v, a), mass @ a + bias)
    expected = np.linalg.solve(mass, known.tau - bias)
    close(ps.forward_dynamics(model, q, v, known.tau), expected, 1e-5)
    close(ps.forward_dynamics_two_step(model, q, v, known.tau), expected, 1e-5)
    push = known.other[:6]
    pushed = np.linalg.solve(mass, known.tau + jacobian.T @ push - bias)
    close(ps.forward_dynamics(model, q, v, known.tau, {"tip": push}), pushed, 1e-5)
    joint = next(each for each in model.joints if each.nv)
    wanted = np.ones(joint.nv)
    found = ps.hybrid_dynamics(model, q, v, known.tau, {joint.name: wanted})
    close(found.accelerations[joint.v_slice], wanted)
    free = np.setdiff1d(np.arange(model.nv), np.arange(model.nv)[joint.v_slice])
    close(ps.inverse_dynamics(model, q, v, found.accelerations)[free], known.tau[free])


@pytest.mark.sampled(2)
def test_the_coriolis_matrix_is_christoffels(known):
    model, q, v, h = known.model, known.q, known.v, 1e-5
    found = ps.coriolis_matrix(model, q, v)
    close(found @ v, ps.bias(model, q, v) - ps.gravity_load(model, q), 1e-12)
    rate = (ps.mass_matrix(model, known.moved(v, h)) - ps.mass_matrix(model, known.moved(-v, h))) / (2.0 * h)
    left = rate - 2.0 * found
    close(left + left.T, np.zeros(left.shape), 1e-7)
    if all(joint.kind.flat for joint in model.joints):
        sides = [[ps.mass_matrix(model, known.moved(way * u, h)) for way in (1.0, -1.0)] for u in np.eye(model.nv)]
        slopes = np.array([(ahead - back) / (2.0 * h) for ahead, back in sides])
        first, second, third = (np.einsum(way, slopes, v) for way in ("kij,k->ij", "jik,k->ij", "ijk,k->ij"))
        close(found, 0.5 * (first + second - third), 1e-7)
    expected = ps.mass_matrix(model, q) @ known.a + found @ known.other + ps.gravity_load(model, q)
    close(ps.control.reference_dynamics(model, q, v, known.other, known.a), expected, 1e-12)


def test_inverse_kinematics_moves_joints_alone(known):
    model, q = known.model, known.q
    target, start = ps.forward_kinematics(model, q, "tip"), model.integrate(q, 0.1 * np.ones(model.nv))
    for body in model.bodies:
        start[body.mode_q_slice] = q[body.mode_q_slice]
    found = ps.control.inverse_kinematics(model, target, "tip", start)
    assert found.success
    close(ps.forward_kinematics(model, found.q, "tip"), target, 1e-8)
    for body in model.bodies:
        np.testing.assert_array_equal(found.q[body.mode_q_slice], q[body.mode_q_slice])
    straight = q.copy()
    for body in model.bodies:
        straight[body.mode_q_slice] = 0.0
    found = ps.control.inverse_kinematics(model, ps.forward_kinematics(model, straight, "tip"), "tip")
    assert found.success and not any(found.q[body.mode_q_slice].any() for body in model.bodies)


@pytest.mark.sampled(2)
def test_the_task_space_is_that_of_mass_and_jacobian(known, mass, jacobian):
    model, q = known.model, known.q
    mobility = jacobian @ np.linalg.solve(mass, jacobian.T)
    close(ps.mobility(model, q, "tip"), mobility, 1e-5)
    push = known.other[:6]
    felt = ps.tip_acceleration_change(model, q, "tip", push)  # of a force that the tip exerts
    close(felt, -np.linalg.solve(mass, jacobian.T @ push), 1e-4)


@pytest.mark.sampled(6)
def test_derivatives_are_differences(known):
    model, q, v, tau, h = known.model, known.q, known.v, known.tau, 1e-6
    found = ps.forward_dynamics_derivatives(model, q, v, tau)
    for unit in np.eye(model.nv)[:: max(model.nv // 3, 1)]:
        ahead, back = (ps.forward_dynamics(model, known.moved(way * unit, h), v, tau) for way in (1.0, -1.0))
        close(found.dq @ unit, (ahead - back) / (2.0 * h), 1e-4)
        ahead, back = (ps.forward_dynamics(model, q, v + way * h * unit, tau) for way in (1.0, -1.0))
        close(found.dv @ unit, (ahead - back) / (2.0 * h), 1e-4)
    inverse = ps.inverse_dynamics_derivatives(model, q, v, ps.forward_dynamics(model, q, v, tau))
    close(ps.mass_matrix(model, q) @ found.dq, -inverse.dq, 1e-6)


@pytest.mark.sampled(6)
def test_estimation_is_of_links_that_bend(known, mass):
    model, q, inverse = known.model, known.q, np.linalg.inv(mass)
    close(ps.estimation.closed_form_inverse(model, q), inverse, 1e-5)
    found = ps.estimation.covariances(model, q)
    widest = max(6 + body.modes for body in model.bodies)
    assert found.predicted.shape == (len(model.bodies), widest, widest)
    for block, body in zip(found.accelerations, model.bodies, strict=True):
        count = len(body.rates)
        close(block[:count, :count], inverse[np.ix_(body.rates, body.rates)], 1e-5)
        assert not block[count:].any() and not block[:, count:].any()
    close(ps.estimation.composite_bodies(model, q).masses[0], model.total_mass)
    kept = ps.estimation.forward_dynamics(model, q, known.v, known.tau, keep="all")
    close(kept.accelerations, ps.forward_dynamics(model, q, known.v, known.tau), 1e-9)
    assert kept.states.shape == (len(model.bodies), widest)
    parts = ps.estimation.acceleration_parts(model, q, known.v, known.tau)
    close(parts.joint_forces + parts.link_forces + parts.link_motions, kept.accelerations, 1e-9)
    white = ps.control.innovations_of_forces(model, q, known.tau)
    close(white @ white, known.tau @ inverse @ known.tau, 1e-5)
    close(ps.control.forces_of_innovations(model, q, white), known.tau, 1e-9)


def test_random_forces_have_the_covariance_of_the_mass_matrix(known, mass):
    model, count = known.model, 20000
    drawn = ps.estimation.sample_joint_forces(model, known.q, count, np.random.default_rng(0))
    scale = np.sqrt(np.outer(np.diag(mass), np.diag(mass)))
    assert np.abs((drawn.T @ drawn / count - mass) / scale).max() < 0.05
    links = ps.estimation.sample_link_forces(model, known.q, 3, np.random.default_rng(0))
    assert links.shape == (3, len(model.bodies), max(6 + body.modes for body in model.bodies))


def test_free_flight_is_that_of_the_mass_matrix(known, mass, jacobian):
    model, q, v = known.model, known.q, known.v
    if model.name != "flyer":
        with pytest.raises(ps.ModelError, match="is not free"):
            ps.freeflying.generalized_jacobian(model, q, "tip")
        return
    shift = -np.linalg.solve(mass[:6, :6], mass[:6, 6:])
    close(ps.freeflying.generalized_jacobian(model, q, "tip"), jacobian[:, 6:] + jacobian[:, :6] @ shift)
    close(ps.freeflying.wiggle_velocity(model, q, v[6:]), shift @ v[6:])
    null = ps.freeflying.reaction_null_space(model, q)
    close(shift[:3] @ null, np.zeros((3, model.nv - 6)))
    found = ps.freeflying.forward_dynamics(model, q, v, known.tau[6:])
    pushed = np.concatenate([np.zeros(6), known.tau[6:]])
    close(found, ps.forward_dynamics(model, q, v, pushed), 1e-9)
    for refused in (ps.freeflying.mass_matrix, ps.freeflying.energy):
        with pytest.raises(ps.StatementError, match="Two-way forms go back over φ"):
            refused(*((model, q) if refused is ps.freeflying.mass_matrix else (model, q, v)))


@pytest.mark.sampled(2)
def test_motions_batches_and_exports_agree(known, tmp_path):
    model, q, v, tau = known.model, known.q, known.v, known.tau
    expected = ps.forward_dynamics(model, q, v, tau)
    many = ps.compile(ps.forward_dynamics, model)(*(np.stack([x] * 9) for x in (q, v, tau)))
    close(many, np.stack([expected] * 9), 1e-10)
    close(np.ravel(ps.casadi_function(ps.forward_dynamics, model)(q, v, tau)), expected, 1e-10)
    assert {path.suffix for path in ps.export_c(ps.forward_dynamics, model, tmp_path)} >= {".c", ".h"}
    run = ps.simulate(model, q, 0.1 * v, 0.02, rtol=1e-10)
    rolled = ps.rollout(model, np.stack([q] * 3), np.stack([0.1 * v] * 3), np.zeros((3, 80, model.nv)), 0.02 / 80)
    close(rolled.q[1, -1], run.q[-1], 1e-5)
    errors = ps.control.PDControl(model, kp=2.0, kd=0.0)(0.0, q, v, np.concatenate([known.moved(v, 1e-4), 0.0 * v]))
    close(errors, 2e-4 * v, 1e-6)


def test_the_state_space_model_has_the_mass_matrix_as_covariance_and_the_bias_forces_as_mean(known):
    model, found = known.model, ps.estimation.state_space(known.model, known.q, known.v)
    size = found.transition.shape[-1]
    mean, covariance = np.zeros(size), np.zeros((size, size))
    seen, crossed, means = [], np.zeros((0, size)), []
    steps = zip(found.transition, found.design, found.state_covariance, found.state_input, strict=True)
    for move, design, own, given in steps:
        mean, covariance, crossed = move @ mean + given, move @ covariance @ move.T + own, crossed @ move.T
        crossed = np.vstack([crossed, design @ covariance])
        seen.append(crossed @ design[0])
        means.append(design[0] @ mean)
    whole = np.zeros((model.nv, model.nv))
    for i, column in enumerate(seen):
        whole[: i + 1, i] = whole[i, : i + 1] = column
    whole += np.diag(found.noise)
    close(whole, ps.mass_matrix(model, known.q)[np.ix_(found.rates, found.rates)], 1e-12)
    close(np.array(means), ps.inverse_dynamics(model, known.q, known.v, 0.0 * known.v)[found.rates], 1e-11)


def test_momentum_changes_by_its_own_forces_where_no_joint_force_acts(known):
    model, q, v, h = known.model, known.q, known.v, 1e-5
    ahead, back = (ps.estimation.generalized_momentum(model, known.moved(way * v, h), v) for way in (1.0, -1.0))
    expected = (ahead - back) / (2.0 * h) - ps.bias(model, q, v)
    close(ps.estimation.momentum_forces(model, q, v), expected, 1e-7)


def parameters(model):
    """π: ten numbers of each rigid body; of one that bends the scale of its mass."""
    return np.concatenate([[1.0] if body.modes else body.inertia.parameters for body in model.bodies])


@pytest.mark.sampled(2)
def test_the_regressor_gives_the_forces_of_the_parameters(known):
    model, q, v, a = known.model, known.q, known.v, known.a
    table, own = ps.regressor(model, q, v, a), parameters(model)
    expected = ps.inverse_dynamics(model, q, v, a) - model.armature * a
    close(table @ own, expected, 1e-12)
    close(ps.compile(ps.regressor, model)(q, v, a), table, 1e-12)
    body = next(body for body in model.bodies if body.modes)
    place = sum(1 if each.modes else 10 for each in model.bodies[: body.joint.body])
    flexible = replace(body.flexible, masses=1.5 * body.flexible.masses, modal_mass=None, shared_mass=None)
    if body.flexible.shared_mass is not None:
        flexible = replace(body.flexible, masses=1.5 * body.flexible.shared_mass, modal_mass=None, shared_mass=None)
    heavier, own[place] = model.replace(inertias={body.name: flexible}), 1.5
    close(table @ own, ps.inverse_dynamics(heavier, q, v, a) - model.armature * a, 1e-12)


@pytest.mark.sampled(2)
def test_filters_scans_and_arithmetic_of_many_digits_are_of_links_that_bend(known):
    model, q, v, tau = known.model, known.q, known.v, known.tau
    plain = ps.estimation.forward_dynamics(model, q, v, tau, keep="all")
    root = ps.estimation.forward_dynamics(model, q, v, tau, keep="all", update="square_root")
    assert plain.kept.keys() == root.kept.keys()
    for name, expected in plain.kept.items():
        assert root.kept[name].shape == expected.shape
        close(root.kept[name], expected, 1e-11)
    if model.is_serial:
        close(ps.estimation.scanned_forward_dynamics(model, q, v, tau), plain.accelerations, 1e-12)
        both = ps.estimation.scanned_forward_dynamics(model, q, np.stack([v, 0.0 * v]), tau)
        close(both, ps.forward_dynamics(model, q, np.stack([v, 0.0 * v]), tau), 1e-12)
    else:
        with pytest.raises(ps.ModelError, match="not a serial chain"):
            ps.estimation.scanned_forward_dynamics(model, q, v, tau)
    errors = ps.estimation.forward_errors(model, q, tau)
    assert set(errors) == set(ps.estimation.acceleration_accuracy.METHODS)
    assert max(errors.values()) < 1e-12


def test_identification_is_of_rigid_bodies(known):
    with pytest.raises(ps.PhistarError, match="bend"):
        ps.identify.base_parameters(known.model)


def test_modes_are_degrees_of_freedom_of_what_they_move():
    """Two joints and four modes move a tip in six directions; one bends before the frame of the second body."""
    b = ps.ModelBuilder("two beams", gravity=(0, 0, -9.81))
    b.body("upper", joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam(3))
    b.body("fore", "upper.tip", ps.Revolute(axis=(1, 0, 0)), ps.Pose((0, 0.2, 0)), beam(2))
    model = b.build()
    q, v = np.array([0.3, 0.01, -0.02, 0.01, 0.5, 0.02, 0.01]), np.zeros(7)
    expected = np.linalg.inv(ps.mobility(model, q, "fore.tip"))
    space = ps.compile(lambda q, v: ps.operational_space(model, q, v, "fore.tip").inertia, model)
    close(space(q, v), expected, 1e-6)
    assert ps.control.OperationalSpaceControl(model, "fore.tip", kp=1.0, kd=1.0).model is model
    with pytest.raises(ps.PhistarError, match="5 degrees of freedom move 'fore'"):
        ps.control.OperationalSpaceControl(model, "fore", kp=1.0, kd=1.0)
