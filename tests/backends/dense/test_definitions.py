"""The oracle itself, held against motion: poses moved by the joints' own `integrate`, differentiated numerically."""

from functools import cached_property

import numpy as np
import pytest

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.values import links_at
from phistar.errors import StatementError
from phistar.operators.nodes import Inverse
from phistar.operators.symbols import Symbols
from tests.trees import KINDS, mechanism

CASES = [mechanism(20, kind=kind, bodies=3, frames=2) for kind in KINDS]
CASES += [mechanism(seed, bodies=5) for seed in range(21, 27)]
STENCIL = np.array([-3, -2, -1, 0, 1, 2, 3])
FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
SECOND = np.array([2, -27, 270, -490, 270, -27, 2]) / 180
EVERY = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join(type(joint.kind).__name__ for joint in case.model.joints)
)


class Motion:
    """The mechanism along q ⊕ tv, rates constant, at seven times about t = 0."""

    step = 2e-3

    def __init__(self, case) -> None:
        self.case, self.model = case, case.model
        self.q = case.model.integrate(case.q, STENCIL[:, None] * self.step * case.vectors["v"])

    @cached_property
    def bodies(self):
        """Each body's pose at each time."""
        result = []
        for q in self.q:
            poses = []
            for body in self.model.bodies:
                rotation, place = body.joint.kind.pose(q[body.joint.q_slice])
                local = body.placement @ ps.Pose(xyz=place, rotation=rotation)
                poses.append(local if body.parent < 0 else poses[body.parent] @ local)
            result.append(poses)
        return result

    def rate(self, values):
        return np.tensordot(FIRST, np.asarray(values), 1) / self.step

    def second_rate(self, values):
        return np.tensordot(SECOND, np.asarray(values), 1) / self.step**2

    def points(self, body, place):
        return [poses[body].rotation @ place + poses[body].translation for poses in self.bodies]

    def spin(self, body):
        """ω and ω̇ in world axes, from R(t): ω̃ = ṘR*."""
        turns = [poses[body].rotation for poses in self.bodies]
        now = turns[3]
        rate, second = self.rate(turns), self.second_rate(turns)
        return unskew(rate @ now.T), unskew(second @ now.T + rate @ rate.T)


def difference(ours, theirs) -> float:
    """Relative, where there is something to be relative to: sliding bodies have no Coriolis forces."""
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


def unskew(matrix):
    return np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]) / 2


@EVERY
def test_the_jacobian_and_its_rate_are_what_frames_do(case):
    motion, s = Motion(case), case.symbols
    velocity, acceleration = [], []
    for name in case.frames:
        frame = case.model.frame(name)
        omega, omega_dot = motion.spin(frame.body)
        points = motion.points(frame.body, frame.placement.translation)
        velocity.append(np.concatenate([omega, motion.rate(points)]))
        acceleration.append(np.concatenate([omega_dot, motion.second_rate(points)]))
    assert difference(case.dense(s.J @ s.v)[:, 0], np.concatenate(velocity)) < 1e-8
    assert difference(case.dense(s.Jdot_v)[:, 0], np.concatenate(acceleration)) < 1e-6


@EVERY
def test_the_mass_matrix_is_the_kinetic_energy_and_armature(case):
    motion, s = Motion(case), case.symbols
    energy = case.model.armature @ case.vectors["v"] ** 2
    for k, body in enumerate(case.model.bodies):
        omega, _ = motion.spin(k)
        linear = motion.rate(motion.points(k, body.inertia.com))
        turn = motion.bodies[3][k].rotation
        energy += body.inertia.mass * linear @ linear + omega @ turn @ body.inertia.tensor @ turn.T @ omega
    assert difference(case.dense(s.v.T @ s.mass @ s.v)[0, 0], energy) < 1e-8


@EVERY
def test_coriolis_and_gravity_forces_are_newton_and_euler_on_every_body(case):
    """C = Σ Jᵢ*[d(Iω)/dt; m c̈] at v̇ = 0, and g = −Σ Jᵢ*[0; m g]."""
    motion, s = Motion(case), case.symbols
    coriolis, weight = np.zeros(case.model.nv), np.zeros(case.model.nv)
    for k, body in enumerate(case.model.bodies):
        omega, omega_dot = motion.spin(k)
        turn = motion.bodies[3][k].rotation
        tensor = turn @ body.inertia.tensor @ turn.T
        centre = motion.points(k, body.inertia.com)
        jacobian = case.dense.point_jacobian(k, centre[3])
        moment = tensor @ omega_dot + np.cross(omega, tensor @ omega)
        coriolis += jacobian.T @ np.concatenate([moment, body.inertia.mass * motion.second_rate(centre)])
        weight -= jacobian[3:].T @ (body.inertia.mass * case.model.gravity)
    assert difference(case.dense(s.C)[:, 0], coriolis) < 1e-6
    assert difference(case.dense(s.g)[:, 0], weight) < 1e-12


@EVERY
def test_link_velocities_are_in_link_axes_at_link_origins(case):
    motion, s = Motion(case), case.symbols
    rows = []
    for k in range(len(case.model.bodies)):
        turn = motion.bodies[3][k].rotation
        rows += [turn.T @ motion.spin(k)[0], turn.T @ motion.rate(motion.points(k, np.zeros(3)))]
    assert difference(case.dense(s.V)[:, 0], np.concatenate(rows)) < 1e-8


@EVERY
def test_phi_carries_forces_inward_between_the_origins_of_links(case):
    """φ(i,j) f is the same force at link i, for every i inboard of j: seen from the world's origin nothing changes."""
    poses, phi = case.dense.poses, case.dense(case.symbols.phi)
    for j in range(len(poses)):
        for i in range(len(poses)):
            block = phi[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            if i in case.dense.ancestors(j):
                assert np.allclose(at_world(*poses[i]) @ block, at_world(*poses[j]), atol=1e-12)
            else:
                assert not block.any()


def at_world(turn, place):
    """A force at a link, in its axes, seen in world axes at the world's origin, (6, 6)."""
    lever = np.cross(np.eye(3), place, axisa=0).T @ turn
    return np.block([[turn, -lever], [np.zeros((3, 3)), turn]])


def test_a_frame_on_the_world_does_not_move():
    builder = ps.ModelBuilder("arm")
    builder.body("link", joint=ps.Revolute(), inertia=ps.Inertia(1.0, (0.5, 0, 0), np.eye(3)))
    builder.frame("corner", body="world", placement=ps.Pose(xyz=(1, 2, 3)))
    model, s = builder.build(), Symbols(("corner",), armature=False)
    dense = Dense(links_at(model, np.array([0.3]), ("corner",)), {"v": np.array([2.0])})
    for node in (s.J, s.Jdot_v, s.B, s.a0):
        assert not dense(node).any()


def test_the_inverse_of_a_singular_operator_is_refused_in_a_sentence():
    case = CASES[0]
    with pytest.raises(StatementError):
        case.algebra.expression(Inverse(case.symbols.E_phi)).dense(case.q)
