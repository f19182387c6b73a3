"""Any body may be called the base: nothing that can be measured changes (Jain and Rodriguez 1995a, RJ2W §6)."""

import numpy as np
import pytest

import phistar as ps
from tests.trees import mechanism, relative

KINDS = ("revolute", "prismatic", "helical", "universal", "spherical", "planar", "free")


def robot(kind: str) -> ps.Model:
    return mechanism(17, floating=True, kind=kind, serial=True, bodies=4, armature=False, frames=1).model


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """A chain of one kind of joint, re-rooted on its last body, at three states."""
    model, rng = robot(request.param), np.random.default_rng(1)
    q, v, a = model.random(rng, (3,)), rng.normal(size=(3, model.nv)), rng.normal(size=(3, model.nv))
    return model, model.rerooted(model.bodies[-1].name), (q, v, a)


@pytest.mark.sampled(6)
def test_every_frame_stays_where_it_is(case):
    model, there, (q, _, _) = case
    assert there.model.bodies[0].name == model.bodies[-1].name
    assert (there.model.nq, there.model.nv) == (model.nq, model.nv)
    assert list(there.model.frames) == list(model.frames)
    for name in ("frame0", model.bodies[0].name):
        expected = ps.forward_kinematics(model, q, name)
        assert np.abs(ps.forward_kinematics(there.model, there.q(q), name) - expected).max() < 1e-13


@pytest.mark.sampled(6)
def test_velocities_momentum_and_energy_do_not_change(case):
    model, there, (q, v, _) = case
    places, rates = there.q(q), there.v(q, v)
    expected = (ps.jacobian(model, q, "frame0") @ v[..., None])[..., 0]
    assert relative((ps.jacobian(there.model, places, "frame0") @ rates[..., None])[..., 0], expected) < 1e-12
    assert relative(ps.momentum(there.model, places, rates), ps.momentum(model, q, v)) < 1e-12
    assert relative(ps.kinetic_energy(there.model, places, rates), ps.kinetic_energy(model, q, v)) < 1e-12


@pytest.mark.sampled(6)
def test_accelerations_do_not_change(case):
    """Of a frame for any θ̈, and θ̈ itself when nothing pushes."""
    model, there, (q, v, a) = case
    places, rates, faster = there.q(q), there.v(q, v), there.a(q, v, a)

    def acceleration(robot, q, v, a):
        return (ps.jacobian(robot, q, "frame0") @ a[..., None])[..., 0] + ps.jacobian_dot_v(robot, q, v, "frame0")

    expected = acceleration(model, q, v, a)
    assert relative(acceleration(there.model, places, rates, faster), expected) < 1e-12
    coasting = there.a(q, v, ps.forward_dynamics(model, q, v, np.zeros(model.nv)))
    assert relative(ps.forward_dynamics(there.model, places, rates, np.zeros(model.nv)), coasting) < 1e-11


def test_the_internal_mass_matrix_does_not_change():
    """Nor do joint forces: joints of one axis keep their coordinates, whichever end is the base's."""
    model = ps.load("rj2w_tree")
    rng = np.random.default_rng(2)
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=8)
    mass, moved = ps.freeflying.mass_matrix(model, q), ps.freeflying.forward_dynamics(model, q, v, tau)
    for body in ("link1", "link6"):
        there = model.rerooted(body)
        order = np.array([model.joint(joint.name).v_slice.start - 6 for joint in there.model.joints[1:]])
        assert relative(ps.freeflying.mass_matrix(there.model, there.q(q)), mass[np.ix_(order, order)]) < 1e-13
        found = ps.freeflying.forward_dynamics(there.model, there.q(q), there.v(q, v), tau[order])
        assert relative(found, there.a(q, v, moved)) < 1e-11


def test_there_and_back_is_where_it_started():
    model = ps.load("rj2w_tree")
    rng = np.random.default_rng(3)
    q, v, a = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    there = model.rerooted("link2")
    back = there.model.rerooted("link9")
    places, rates = there.q(q), there.v(q, v)
    order = np.concatenate([np.arange(back.model.nv)[back.model.joint(j.name).v_slice] for j in model.joints[1:]])
    assert np.abs(back.v(places, rates)[order] - v[6:]).max() < 1e-12
    assert np.abs(back.a(places, rates, there.a(q, v, a))[order] - a[6:]).max() < 1e-11
    for name in ("link9", "tip1", "tip6"):
        expected = ps.forward_kinematics(model, q, name)
        assert np.abs(ps.forward_kinematics(back.model, back.q(places), name) - expected).max() < 1e-13
    assert back.model.total_mass == pytest.approx(model.total_mass, rel=1e-15)


def test_the_result_unpacks_as_a_model_and_two_maps():
    model = ps.load("rj2w_tree")
    other, map_q, map_v = model.rerooted("link3")
    q, v = model.random(0), np.ones(model.nv)
    assert map_q(q).shape == (other.nq,)
    assert map_v(q[None], v).shape == (1, other.nv)


def test_the_base_itself_changes_nothing():
    model = ps.load("rj2w_tree")
    there = model.rerooted("link9")
    q, v = model.random(4), np.random.default_rng(0).normal(size=model.nv)
    assert there.model == model
    assert np.abs(model.difference(q, there.q(q))).max() < 1e-14
    assert np.array_equal(there.v(q, v), v)


def test_limits_and_springs_go_along():
    builder = ps.ModelBuilder("worn")
    mass = ps.Inertia(1.0, (0, 0, 0), np.eye(3))
    builder.body("a", joint=ps.Free(), inertia=mass)
    joint = ps.Revolute(axis=(0, 0, 1), limits=(-1, 2), damping=0.3, armature=0.1, friction=(0.2, 0.4))
    builder.body("b", parent="a", joint=joint, inertia=mass)
    universal = ps.Universal(armature=(0.1, 0.2), limits=((-1, -2), (3, 4)))
    builder.body("c", parent="b", joint=universal, inertia=mass)
    turned = builder.build().rerooted("c").model
    kinds = {joint.name: joint.kind for joint in turned.joints}
    assert np.array_equal(kinds["b"].axis if "b" in kinds else turned.joints[2].kind.axis, [0, 0, -1])
    assert np.array_equal(turned.joints[2].kind.limits, [[-1], [2]])
    assert np.array_equal(turned.joints[1].kind.limits, [[-2, -1], [4, 3]])
    assert np.array_equal(turned.joints[1].kind.armature, [0.2, 0.1])


def bending_flyer():
    """A bus that carries a panel that bends and an arm of two rigid links, the last with a boom that bends."""
    part = ps.Inertia(2.0, (0.1, 0, 0.05), np.diag([0.1, 0.2, 0.25]))
    beam = ps.beam(1.0, (20.0, 40.0), 1.0, modes=3, axial_inertia=0.02)
    b = ps.ModelBuilder("bending flyer", gravity=(0, 0, 0))
    b.body("bus", joint=ps.Free(), inertia=part)
    b.body("panel", "bus", ps.Revolute(axis=(1, 0, 0)), ps.Pose((-0.3, 0, 0)), beam)
    b.body("arm", "bus", ps.Revolute(axis=(0, 1, 0)), ps.Pose((0.3, 0, 0)), part)
    b.body("hand", "arm", ps.Spherical(), ps.Pose((0.4, 0, 0)), part)
    b.body("boom", "hand", ps.Universal(), ps.Pose((0.1, 0.1, 0)), beam)
    b.body("load", "boom.tip", ps.Prismatic(axis=(1, 0, 0)), inertia=part)
    return b.build()


def test_bodies_that_bend_go_along():
    model, rng = bending_flyer(), np.random.default_rng(2)
    there = model.rerooted("hand")
    q, v = model.random(rng, (3,)), rng.normal(size=(3, model.nv))
    a = rng.normal(size=(3, model.nv))
    places, rates, accelerations = there.q(q), there.v(q, v), there.a(q, v, a)
    assert relative(ps.kinetic_energy(there.model, places, rates), ps.kinetic_energy(model, q, v)) < 1e-12
    assert relative(ps.momentum(there.model, places, rates), ps.momentum(model, q, v)) < 1e-12
    for frame in ("panel.tip", "load"):
        expected = ps.frame_acceleration(model, q, v, a, frame)
        assert relative(ps.frame_acceleration(there.model, places, rates, accelerations, frame), expected) < 1e-11
    with pytest.raises(ps.ModelError, match="boom bends"):
        model.rerooted("load")


def test_what_cannot_be_re_rooted_is_refused_with_a_sentence():
    arm = ps.load("puma560")
    with pytest.raises(ps.ModelError, match="cannot be re-rooted: its base must be one body on a Free joint"):
        arm.rerooted(arm.bodies[-1].name)
    free = ps.load("rj2w_tree")
    with pytest.raises(ps.UnknownNameError, match="moving body"):
        free.rerooted("link10")
    with pytest.raises(ps.ModelError, match="The world cannot be the base"):
        free.rerooted("world")
    geared = ps.Revolute(axis=(0, 0, 1), gear_ratio=10.0, rotor_inertia=1e-3, gyroscopic=True)
    with pytest.raises(ps.ModelError, match="its rotor spins on the link that carries it"):
        free.replace(joints={"joint8": geared}).rerooted("link1")
    with pytest.raises(ps.ModelError, match="a Planar joint's coordinates change"):
        free.replace(joints={"joint8": ps.Planar(damping=0.1)}).rerooted("link1")
