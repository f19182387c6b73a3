"""Derivatives of a plant's step agree with differences of the step itself: rest, slip, trees that float, limits."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from phistar.plant.session import PlantState
from tests.plants import plant_of, run

BOX = ps.Box([0.2, 0.2, 0.2])
STEP = 0.002


def differences(plant, state, command, eps):
    """∂x⁺/∂x and ∂x⁺/∂u by central differences of `plant.step`."""
    model, nv = plant.model, plant.model.nv
    base = plant.step(state, command, STEP)

    def end(at, given):
        made = plant.step(at, given, STEP)
        return np.concatenate([model.difference(base.q, made.q), made.v])

    def moved(change):
        return PlantState(model.integrate(state.q, change[:nv]), state.v + change[nv:], state.memory)

    by_state = [(end(moved(e), command) - end(moved(-e), command)) / (2 * eps) for e in eps * np.eye(2 * nv)]
    given = np.zeros(plant.nu) if command is None else np.asarray(command, float)
    by_command = [(end(state, given + e) - end(state, given - e)) / (2 * eps) for e in eps * np.eye(plant.nu)]
    return np.array(by_state).T, np.array(by_command).reshape(plant.nu, 2 * nv).T


def agrees(plant, state, command=None, eps=2e-5):
    """To 1e-6 of the largest entry; differences of two lengths together leave out their own first error."""
    found = plant.step_derivatives(state, command, STEP)
    wide, near = (differences(plant, state, command, e) for e in (eps, eps / 2))
    for made, a, b in zip((found.state, found.command), wide, near, strict=True):
        expected = (4.0 * b - a) / 3.0
        np.testing.assert_allclose(made, expected, atol=1e-6 * max(np.abs(expected).max(initial=0.0), 1.0))
    np.testing.assert_array_equal(found.after.q, plant.step(state, command, STEP).q)


def test_a_tumbling_body_in_flight():
    builder = ps.ModelBuilder("stone")
    inertia = ps.Inertia(1.0, (0.02, 0.01, -0.03), np.diag([0.01, 0.02, 0.025]))
    builder.body("stone", parent="world", joint=ps.Free(), inertia=inertia)
    plant, random = ps.Plant(), np.random.default_rng(0)
    plant.add(builder.build(), "stone")
    agrees(plant, plant.state(plant.model.integrate(plant.state().q, random.normal(size=6)), 3 * random.normal(size=6)))


@pytest.mark.parametrize(
    "shapes, places, v, eps",
    [
        ([ps.Sphere(0.1)], [(0, 0, 0.1003)], [0, 0, 0, 0, 0, 0], 2e-5),
        ([ps.Sphere(0.1)], [(0, 0, 0.1003)], [0, 0, 0, 1.0, 0.3, 0], 2e-5),
        ([BOX], [(0, 0, 0.1005)], [0, 0, 0, 0, 0, 0], 2e-5),
        ([BOX], [(0, 0, 0.1005)], [0, 0, 0.5, 1.0, 0.3, 0], 2e-5),
        ([BOX, ps.Sphere(0.1)], [(0, 0, 0.1005), (0.02, 0.01, 0.302)], [0] * 9 + [0.1, 0, 0], 2e-5),
        ([BOX, BOX], [(0, 0, 0.1005), (0.03, 0.02, 0.3015)], [0] * 8 + [0.2, 0.5, 0, 0], 1e-6),
    ],
    ids=["ball rests", "ball slides", "box rests", "box slides", "ball on a box", "box on a box"],
)
def test_free_bodies_in_contact(shapes, places, v, eps):
    plant = plant_of(shapes, places)
    agrees(plant, run(plant, 15, state=plant.state(v=v))[-1], eps=eps)


def test_a_capsule_and_a_ball_meet_the_edges_of_a_box():
    plant = plant_of([ps.Capsule(0.05, 0.3), BOX], [(0.13, 0.02, 0.235), (0, 0, 0.1005)], friction=0.4)
    q = plant.state().q.copy()
    q[3:7] = np.array([0.1, 0.62, 0.05, 0.77]) / np.linalg.norm([0.1, 0.62, 0.05, 0.77])
    for state in run(plant, 120, state=plant.state(q))[25::25]:
        plant.step(state, None, STEP)
        if plant.session.engine.counts[c.SUBSTEPS] == 1:
            agrees(plant, state, eps=1e-5)


def test_an_arm_under_servos_and_motors():
    random = np.random.default_rng(1)
    plant = ps.Plant()
    plant.add(ps.load("puma560"), "arm")
    plant.actuate("arm", "impedance", stiffness=50.0, damping=3.0)
    agrees(plant, plant.state(0.3 * random.normal(size=6), random.normal(size=6)), random.normal(size=18))
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm")
    plant.actuate("arm", "velocity", damping=4.0, gear=2.0)
    agrees(plant, plant.state([0.3, 0.2], [1.0, -1.0]), [0.3, 0.4])


def test_joints_of_several_rates_whose_tip_slides():
    builder = ps.ModelBuilder("arm")
    inertia = ps.Inertia(1.0, (0.1, 0.2, -0.3), np.diag([0.01, 0.02, 0.025]))
    builder.body("a", parent="world", joint=ps.Spherical(), inertia=inertia)
    builder.body("b", parent="a", joint=ps.Universal(), placement=ps.Pose(xyz=(0, 0, -0.5)), inertia=inertia)
    plant = ps.Plant()
    plant.add(builder.build(), "arm")
    plant.add_shape(ps.Sphere(0.1), "arm/b", at=ps.Pose(xyz=(0, 0, -0.3)))
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.9005)))
    agrees(plant, run(plant, 3, state=plant.state(v=[0.3, 0.2, 1.0, 0.1, 0.2]))[-1], eps=1e-5)


def walker_model():
    """A trunk that floats, with two legs."""
    builder = ps.ModelBuilder("walker")
    trunk = ps.Inertia(5.0, (0.01, 0.0, 0.02), np.diag([0.1, 0.2, 0.25]))
    builder.body("trunk", parent="world", joint=ps.Free(), inertia=trunk)
    for side, y in (("l", 0.1), ("r", -0.1)):
        inertia = ps.Inertia(0.8, (0.0, 0.0, -0.15), np.diag([0.01, 0.01, 0.002]))
        joint = ps.Revolute(axis=(0, 1, 0), damping=0.1, stiffness=5.0)
        builder.body(side, parent="trunk", joint=joint, placement=ps.Pose(xyz=(0, y, 0)), inertia=inertia)
    return builder.build()


def walker():
    """One on round feet."""
    plant = ps.Plant()
    plant.add_shape(ps.Plane())
    plant.add(walker_model(), "walker", at=ps.Pose(xyz=(0, 0, 0.3505)))
    for side in "lr":
        plant.add_shape(ps.Sphere(0.05), f"walker/{side}", at=ps.Pose(xyz=(0, 0, -0.3)))
    plant.actuate("walker", "position", stiffness=80.0, damping=4.0)
    return plant


def test_a_tree_that_floats_and_stands():
    plant, random = walker(), np.random.default_rng(2)
    agrees(plant, plant.state(v=0.3 * random.normal(size=8)), [0.1, -0.2])  # in the air, or just touching
    agrees(plant, run(plant, 20, command=[0.0, 0.1])[-1], [0.1, -0.1], eps=1e-5)


def test_limits_and_dry_friction():
    builder = ps.ModelBuilder("hinge")
    joint = ps.Revolute(axis=(0, 1, 0), limits=(-0.5, 0.5), friction=0.3, damping=0.2, stiffness=3.0)
    inertia = ps.Inertia(1.0, (0.3, 0, 0), np.eye(3) * 0.01)
    builder.body("link", parent="world", joint=joint, inertia=inertia)
    plant = ps.Plant()
    plant.add(builder.build(), "hinge")
    at_the_stop = run(plant, 120)[-1], plant.state([0.4996], [0.0])  # at rest the bristle is at its end: a kink
    for state in (*at_the_stop, plant.state([0.1], [1.0]), plant.state([0.1], [0.0])):
        agrees(plant, state, eps=1e-7)  # within what the bristle of dry friction bends


def four_bar():
    b = ps.ModelBuilder("four_bar")
    rod, z = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12])), ps.Revolute(axis=(0, 1, 0), damping=0.1)
    b.body("crank", parent="world", joint=z, inertia=rod)
    b.body("coupler", parent="crank", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.body("rocker", parent="world", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.frame("coupler_end", body="coupler", placement=ps.Pose(xyz=(1, 0, 0)))
    b.frame("rocker_end", body="rocker", placement=ps.Pose(xyz=(1, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=z)
    plant = ps.Plant()
    plant.add(b.build(), "bar")
    plant.actuate("bar", "force", ["crank"])
    return plant


def test_a_closed_loop_that_swings():
    plant = four_bar()
    state = run(plant, 60, state=plant.state([-1.2, 1.2, -1.2]), command=[0.3])[-1]
    agrees(plant, state, [0.3], eps=1e-4)  # nearly rigid rows: what a solve misses counts less, the wider apart


def test_two_bodies_that_a_weld_holds_together_and_one_to_the_world():
    builder, random = ps.ModelBuilder("stone"), np.random.default_rng(4)
    inertia = ps.Inertia(1.0, (0.02, 0.01, -0.03), np.diag([0.01, 0.02, 0.025]))
    builder.body("stone", parent="world", joint=ps.Free(), inertia=inertia)
    for where in ("other", "world"):
        plant = ps.Plant()
        plant.add(builder.build(), "one")
        plant.add(walker_model(), "other", at=ps.Pose(xyz=(0.1, 0.2, 0.3)))
        plant.weld("one/stone", "other/trunk" if where == "other" else "world")
        state = run(plant, 200, state=plant.state(v=0.3 * random.normal(size=14)))[-1]
        agrees(plant, state, eps=3e-4)


def test_a_gripper_whose_mimic_joint_couples_its_fingers():
    plant = ps.Plant()
    plant.add(ps.load("panda"), "panda", collides=False)
    plant.actuate("panda", "position", [f"panda_joint{i}" for i in range(1, 8)], stiffness=200.0, damping=40.0)
    q = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.785, 0.02, 0.02])
    agrees(plant, run(plant, 20, state=plant.state(q), command=q[:7])[-1], q[:7] + 0.1, eps=1e-6)


STRINGS = """<mujoco><option><flag contact="disable"/></option><worldbody><site name="wall" pos="0 .3 1.2"/>
<body name="palm" pos="0 0 1"><joint name="a" axis="0 1 0" damping=".02"/><geom type="box" size=".1 .02 .02" mass=".5"/>
 <site name="p1" pos=".05 .02 .03"/><site name="p2" pos="-.04 .05 .01" euler="10 20 30"/>
 <body name="finger" pos=".1 0 0"><joint name="b" axis="0 1 1" armature=".001"/>
  <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".1"/><site name="f1" pos=".05 0 .012"/>
  <body name="tip" pos=".1 0 0"><joint name="c" axis="0 0 1"/>
   <geom type="capsule" fromto="0 0 0 .06 0 0" size=".01" mass=".05"/><site name="t1" pos=".03 .01 .012"/></body></body>
</body>
<body name="drone" pos="1 0 1"><freejoint/><geom type="box" size=".1 .1 .02" mass=".4"/>
 <site name="rotor" pos=".1 .1 .02" euler="5 0 3"/></body></worldbody>
<tendon><fixed name="coupled" stiffness="3" damping=".1" springlength=".1 .2" FRICTION>
  <joint joint="b" coef="1"/><joint joint="c" coef="-.7"/></fixed>
 <spatial name="string" stiffness="40" damping=".5" springlength="0.05" LIMIT>
  <site site="p1"/><site site="f1"/><site site="t1"/></spatial>
 <spatial name="leash" stiffness="4" damping=".5" springlength="0.05"><site site="wall"/><site site="rotor"/></spatial>
 <spatial name="pulley" stiffness="5"><site site="wall"/><site site="p2"/><pulley divisor="2"/>
  <site site="f1"/><site site="t1"/></spatial></tendon>
<actuator><position name="both" tendon="coupled" kp="4" kv=".2" gear="2" ctrlrange="-1 1"/>
 <motor name="cable" tendon="string" gear="3" ctrlrange="-1 0" forcerange="-0.4 0.1"/>
 <velocity name="rate" tendon="pulley" kv="2"/>
 <motor name="lift" site="rotor" gear="0 .1 2 0 0 .3" ctrlrange="0 5"/>
 <motor name="own" joint="a" gear="2" forcerange="-.3 1"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    "more", [{}, {"LIMIT": 'limited="true" range="0 0.1293"'}, {"FRICTION": 'frictionloss="0.02"'}]
)
def test_strings_pull_along_the_ways_they_take(tmp_path, more):
    pytest.importorskip("mujoco")
    text = STRINGS
    for word in ("LIMIT", "FRICTION"):
        text = text.replace(word, more.get(word, ""))
    (tmp_path / "scene.xml").write_text(text)
    plant, random = ps.Plant.load(tmp_path / "scene.xml"), np.random.default_rng(5)
    command = [0.2, -0.1, 0.3, 2.0, 0.1]
    state = run(plant, 5, state=plant.state(v=0.3 * random.normal(size=plant.model.nv)), command=command)[-1]
    agrees(plant, state, command, eps=1e-6)


def test_fields_and_the_drag_of_a_body():
    plant, random = ps.Plant(), np.random.default_rng(6)
    plant.add_shape(ps.Plane())
    builder = ps.ModelBuilder("stone")
    inertia = ps.Inertia(1.0, (0.02, 0.01, -0.03), np.diag([0.01, 0.02, 0.025]))
    builder.body("stone", parent="world", joint=ps.Free(damping=[0.1, 0.1, 0.2, 1.0, 0.5, 0.7]), inertia=inertia)
    plant.add(builder.build(), "stone", at=ps.Pose(xyz=(0, 0, 1)))
    plant.add(walker_model(), "walker", at=ps.Pose(xyz=(0, 1, 1)))

    class Wind:
        def wrenches(self, bodies):
            place, twists = bodies.poses[:, :3, 3], bodies.twists
            pull = np.concatenate([0.3 * np.cross(place, [0.1, 0.0, 1.0]), np.sin(place) - 0.2 * place**2], axis=1)
            return pull - 0.1 * twists * np.abs(twists)

    plant.add_field(Wind())
    agrees(plant, plant.state(v=random.normal(size=14)), eps=1e-5)


def test_joints_that_move_as_told():
    arm, plant, random = ps.load("puma560"), ps.Plant(), np.random.default_rng(7)
    names = [joint.name for joint in arm.joints]
    plant.add(arm.replace(joints={j.name: ps.Revolute(j.axis) for j in arm.joints}), "arm")
    plant.actuate("arm", "prescribed", names[:1])
    plant.actuate("arm", "locked", names[2:3])
    plant.actuate("arm", "force", [names[1], *names[3:]])
    moving = plant.state(0.3 * random.normal(size=6), random.normal(size=6))
    agrees(plant, run(plant, 2, state=moving, command=np.zeros(5))[-1], random.normal(size=5), eps=1e-3)


def test_steps_that_have_no_one_derivative_are_refused_in_a_sentence():
    plant = plant_of([ps.Sphere(0.1)], [(0, 0, 0.15)], restitution=0.8)
    falling = plant.state(v=[0, 0, 0, 0, 0, -30.0])
    with pytest.raises(ps.PhistarError, match="impacts"):
        plant.step_derivatives(falling, h=0.01)
    late = ps.Plant()
    late.add(ps.load("planar2"), "arm")
    late.actuate("arm", "force", delay=0.002)
    with pytest.raises(ps.PhistarError, match="delay=0"):
        late.step_derivatives(late.state(), [0.0, 0.0])
