"""The same mechanism in fewer numbers: what moves alike, moved; what the joints and the base feel, unchanged."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.kernel import Statements, compile_statements, trace_statements
from phistar.backends.links.concise import grouped_inertias, is_about_motion, moved_origins
from phistar.backends.links.values import links_at
from phistar.backends.programs.derivations import COMPOSITE
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from tests.trees import KINDS, mechanism

CASES = [mechanism(50, kind=kind, bodies=4, frames=1, serial=False, rotors=False) for kind in KINDS]
CASES += [mechanism(51, bodies=6, frames=2, serial=False, floating=True, armature=True, rotors=False)]
S = Symbols()


def motion(s: Symbols) -> dict[str, Node]:
    """Statements that only tell what a mechanism does."""
    return {
        "mass": s.mass,
        "forward dynamics": s.mass.inv @ (s.T - s.C - s.g),
        "task mobility": s.J @ s.mass.inv @ s.J.T,
        "innovations": s.I + s.H @ s.phi @ s.K,
        "D": s.D,
    }


SHARES = {
    "M": S.M,
    "link space": S.phi.T @ S.H.T,
    "P": S.H @ S.P @ S.H.T,
    "b": S.H @ S.phi @ S.b,
    "composites": S.H @ S.r @ S.H.T,
    "links' motions": S.V,
    "accelerations at link origins": S.B.T @ S.phi.T @ S.a,
    "accelerations seen from link origins": S.a0,
}


def assert_equal(found, expected, tolerance=1e-11):
    assert np.abs(found - expected).max() <= tolerance * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_mass_on_a_joints_axis_is_felt_alike_with_either_link(case):
    """HφMφ*H* and EφMφ*E* from grouped inertias are those of the links' own."""
    model, q = CASES[case].model, CASES[case].q
    links = [links_at(model, q), links_at(moved_origins(model), q)]
    parameters = [np.stack([body.inertia.parameters for body in model.bodies]), grouped_inertias(links[1].model)]
    found = []
    for one, inertias in zip(links, parameters, strict=True):
        motions = np.zeros((len(model.bodies), 6, model.nv + 6))
        for k, parent in enumerate(model.parents):
            above = np.hstack([np.zeros((6, model.nv)), np.eye(6)]) if parent < 0 else motions[parent]
            rotation, offset = one.rotation[k], one.offset[k]
            motions[k, :3] = rotation.T @ above[:3]
            motions[k, 3:] = rotation.T @ (above[3:] - np.cross(offset, above[:3], axisb=0, axisc=0))
            motions[k][:, model.joints[k].v_slice] += one.subspace[k]
        found.append(sum(x.T @ matrix(y) @ x for x, y in zip(motions, inertias, strict=True)))
    assert_equal(found[1], found[0])


def matrix(parameters):
    """M of ten parameters."""
    mass, h, (xx, xy, yy, xz, yz, zz) = parameters[0], parameters[1:4], parameters[4:]
    lever = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
    return np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), lever], [-lever, mass * np.eye(3)]])


def test_a_link_on_a_revolute_joint_has_no_mass_left_and_nothing_along_the_axis():
    model = ps.load("puma560")
    grouped = grouped_inertias(model)
    for body, (mass, *moment, xx, _, yy, _, _, zz) in zip(model.bodies[1:], grouped[1:], strict=True):
        assert (mass, np.dot(moment, body.joint.axis)) == (0.0, 0.0)
        assert body.joint.axis[2] != 1.0 or zz == pytest.approx(xx + yy, abs=1e-15)
    assert grouped[0, 0] == pytest.approx(model.total_mass)


def test_origins_move_along_axes_and_frames_stay():
    builder, last = ps.ModelBuilder("parallel axes"), "world"
    for name in ("one", "two", "three"):
        inertia = ps.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([1.0, 1.2, 0.9]))
        builder.body(name, last, ps.Revolute(axis=(0, 0, 1)), ps.Pose(xyz=(0.3, 0.0, 0.2)), inertia)
        last = name
    builder.frame("tool", body="three", placement=ps.Pose(xyz=(0.1, 0.2, 0.3)))
    model = builder.build()
    moved = moved_origins(model)
    assert [tuple(body.placement.translation) for body in moved.bodies[1:]] == [(0.3, 0.0, 0.0)] * 2
    q = model.random(np.random.default_rng(0))
    assert_equal(ps.forward_kinematics(moved, q, "tool"), ps.forward_kinematics(model, q, "tool"))
    assert_equal(ps.mass_matrix(moved, q), ps.mass_matrix(model, q))


@pytest.mark.parametrize("name", motion(S))
def test_statements_about_motion_may_be_made_concise(name):
    assert is_about_motion([motion(S)[name]], S)


@pytest.mark.parametrize("name", SHARES)
def test_statements_about_the_links_shares_may_not(name):
    assert not is_about_motion([SHARES[name]], S)


def test_another_mass_or_armature_is_left_as_it_is():
    other = S.with_pair(2 * S.M, S.A)
    assert not is_about_motion([other.D], other) and not is_about_motion([other.D], S)


def test_an_arm_costs_half_of_what_its_links_as_given_would():
    """Runtime inertias forbid the grouping: the same statement with and without it."""
    model = ps.load("puma560")
    e = ps.algebra(model).expression(S.mass)
    counts = []
    for parameters in ((), ("inertia",)):
        wanted = Statements((("y", e.node),), e.symbols, e.setting, True, model, {}, parameters)
        counts.append(trace_statements(wanted)[0].operations)
    assert counts[0] < 0.5 * counts[1]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("name", motion(S))
def test_concise_kernels_equal_the_dense_operators(case, name):
    m = CASES[case]
    node = motion(m.symbols)[name]
    wanted = Statements((("y", node),), m.symbols, m.setting, True, m.model, {})
    assert wanted.is_about_motion
    kernel = compile_statements(wanted)
    given = {"θ̇": m.vectors["v"], "T": m.vectors["T"]}
    found = kernel.function(m.q, *(np.ravel(given[name]) for name in kernel.inputs))
    expected = m.dense(node)
    assert_equal(np.reshape(found, expected.shape), expected, 1e-10)


def heavy_tip(ratio):
    builder, parent = ps.ModelBuilder("heavy tip"), "world"
    for k in range(9):
        mass = ratio if k == 8 else 1.0
        place = ps.Pose(xyz=(0.3, 0.1, 0.2)) if k else ps.Pose()
        inertia = ps.Inertia(mass, (0.1, 0.05, -0.02), 0.01 * mass * np.diag([1.0, 1.5, 2.0]))
        builder.body(f"link{k}", parent, ps.Revolute(axis=np.eye(3)[k % 3]), place, inertia)
        parent = f"link{k}"
    return builder.build()


def test_a_light_link_keeps_its_digits_beside_a_heavy_one():
    """What lies on the axis of a link 10⁸ times as heavy is not counted to its parent; of a link 10⁴ times, it is."""
    own = heavy_tip(1e8).bodies[7].inertia.mass
    assert grouped_inertias(heavy_tip(1e8))[7, 0] < 10 * own
    assert grouped_inertias(heavy_tip(1e4))[8, 0] == 0.0


def test_where_a_light_link_carries_a_heavy_one_composite_bodies_are_not_used():
    offered = [ps.forward_dynamics.statements_for(heavy_tip(ratio), ())[0].forms() for ratio in (1.0, 1e8)]
    assert [COMPOSITE in {each.form for each in forms} for forms in offered] == [True, False]
