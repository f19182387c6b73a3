"""Gravity, thrusters, drag and sunlight on the bodies of a spacecraft."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phistar as ps
from phistar.plant.body_motions import BodyMotions

space = ps.space
ORBIT = space.Orbit.circular(altitude=500e3, inclination=0.3)


def satellite(tensor=(4.0, 9.0, 10.0), com=(0.0, 0.0, 0.0)):
    builder = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
    builder.body("hub", "world", ps.Free(), inertia=ps.Inertia(50.0, com, np.diag(tensor)))
    return builder.build()


def state(model, **given):
    q, v = model.neutral(), np.zeros(model.nv)
    q[:3] = given.get("place", (0, 0, 0))
    q[3:7] = given.get("turn", (0, 0, 0, 1))
    v[:3], v[3:6] = given.get("spin", (0, 0, 0)), given.get("velocity", (0, 0, 0))
    return q, v


def test_relative_motion_is_that_of_two_orbits_to_eleven_digits_of_the_radius():
    """A body set free beside the origin moves as the difference of two Kepler orbits does."""
    model, place, velocity = satellite(tensor=(1, 1, 1)), np.array([120.0, -300.0, 80.0]), np.array([0.1, 0.3, -0.2])
    q, v = state(model, place=place, velocity=velocity)
    run = ps.simulate(
        model, q, v, 3000.0, control=space.FieldControl(model, [space.OrbitalGravity(ORBIT)]), rtol=1e-12, atol=1e-12
    )
    r, u = ORBIT.at(0.0)
    other = space.Orbit(tuple(r + place), tuple(u + velocity), ORBIT.planet)
    np.testing.assert_allclose(run.q[-1, :3], other.at(3000.0)[0] - ORBIT.at(3000.0)[0], rtol=0, atol=1e-6)


def test_about_an_oblate_planet_origin_and_body_fall_alike():
    """A body at the origin stays there; one beside it moves as the difference of two falls."""
    model, place = satellite(tensor=(1, 1, 1)), np.array([120.0, -300.0, 80.0])
    gravity = space.OrbitalGravity(ORBIT, oblate=True)
    rest = gravity.wrenches(BodyMotions(model, 700.0, *state(model)))[0]
    np.testing.assert_allclose(rest[3:], 0.0, atol=1e-12)
    q, v = state(model, place=place)
    run = ps.simulate(model, q, v, 1500.0, control=space.FieldControl(model, [gravity]), rtol=1e-11, atol=1e-11)

    def fall(t, x):
        return np.concatenate([x[3:], ORBIT.planet.gravity(x[:3])])

    r, u = ORBIT.at(0.0)
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-8}
    ends = [solve_ivp(fall, (0.0, 1500.0), np.concatenate([start, u]), **options).y[:3, -1] for start in (r + place, r)]
    np.testing.assert_allclose(run.q[-1, :3], ends[0] - ends[1], rtol=0, atol=1e-5)
    assert np.linalg.norm(gravity.path.at(1500.0)[0] - ORBIT.at(1500.0)[0]) > 1e3  # the way is another
    before, after = gravity.path.at(-300.0), gravity.path.at(300.0)
    assert np.linalg.norm(before[0] - after[0]) > 1e6


def test_small_motions_are_clohessy_and_wiltshires():
    """Their difference falls with the square of the distance: a hundredth of it, a ten thousandth of the error."""
    model, n, time = satellite(tensor=(1, 1, 1)), ORBIT.mean_motion, 1500.0
    errors = []
    for size in (1.0, 0.01):
        relative = size * np.array([10.0, -20.0, 5.0, 0.01, -0.02, 0.015])
        axes = space.hill_axes(*ORBIT.at(0.0))
        turning = np.array([0, 0, n])
        q, v = state(model, place=axes @ relative[:3], velocity=axes @ (relative[3:] + np.cross(turning, relative[:3])))
        control = space.FieldControl(model, [space.OrbitalGravity(ORBIT)])
        run = ps.simulate(model, q, v, time, control=control, rtol=1e-13, atol=1e-14)
        found = space.hill_axes(*ORBIT.at(time)).T @ run.q[-1, :3]
        errors.append(np.abs(found - (space.clohessy_wiltshire(n, time) @ relative)[:3]).max())
    assert errors[1] < 3e-4 * errors[0] and errors[1] < 1e-7


def test_the_gravity_gradient_turns_a_long_satellite_at_its_libration_frequency():
    """Small pitch about the orbit's normal: θ̈ = −3n²(I_y − I_x)/I_z θ, x outward."""
    model, n = satellite(tensor=(2.0, 9.0, 10.0)), ORBIT.mean_motion
    axes = space.hill_axes(*ORBIT.at(0.0))
    pitch = 1e-4
    from phistar.spatial import from_axis_angle, from_quaternion, to_quaternion

    start = axes @ from_axis_angle(np.array([0.0, 0, 1]), pitch)
    q, v = state(model, turn=to_quaternion(start), spin=(0, 0, n))
    quarter = 0.5 * np.pi / (n * np.sqrt(3 * (9.0 - 2.0) / 10.0))
    control = space.FieldControl(model, [space.OrbitalGravity(ORBIT)])
    run = ps.simulate(model, q, v, quarter, control=control, rtol=1e-11, atol=1e-13, t_eval=[0.0, quarter])
    relative = space.hill_axes(*ORBIT.at(quarter)).T @ from_quaternion(run.q[-1, 3:7])
    assert abs(np.arctan2(relative[1, 0], relative[0, 0])) < 1e-3 * pitch


def test_a_mass_centre_off_the_origin_feels_the_same_force():
    """The wrench of one body written about two origins is one wrench."""
    shift = np.array([0.3, -0.2, 0.1])
    gravity, found = space.OrbitalGravity(ORBIT, oblate=True), []
    for com, place in ((np.zeros(3), shift), (shift, np.zeros(3))):
        model = satellite(com=tuple(com))
        q, v = state(model, place=np.array([30.0, 10, -5]) + place)
        wrench = gravity.wrenches(BodyMotions(model, 100.0, q, v))[0]
        found.append([*(wrench[:3] - np.cross(com, wrench[3:])), *wrench[3:]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-15)


JETS = [
    space.Thruster("hub", tuple(place), tuple(way), 5.0, 0.05)
    for place, way in (
        ((0, 1, 0), (1, 0, 0)), ((0, -1, 0), (1, 0, 0)), ((0, 1, 0), (-1, 0, 0)), ((0, -1, 0), (-1, 0, 0)),
        ((0, 0, 1), (0, 1, 0)), ((0, 0, -1), (0, 1, 0)), ((0, 0, 1), (0, -1, 0)), ((0, 0, -1), (0, -1, 0)),
        ((1, 0, 0), (0, 0, 1)), ((-1, 0, 0), (0, 0, 1)), ((1, 0, 0), (0, 0, -1)), ((-1, 0, 0), (0, 0, -1)),
    )
]  # fmt: skip


@pytest.mark.parametrize("step", [0.001, 0.004, 0.03])
def test_an_impulse_does_not_depend_on_the_step(step):
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(satellite(), "satellite")
    jets = [space.Thruster("satellite/hub", t.position, t.direction, t.force, t.least_time) for t in JETS]
    thrusters = space.Thrusters(plant.model, jets)
    plant.add_field(thrusters)
    on = thrusters.fire(0.0101, [0.0733, 0.0733, 0.01, 0.02, *[0.0] * 8])
    np.testing.assert_allclose(on[:4], [0.0733, 0.0733, 0.0, 0.0])
    run = ps.simulate(plant, 0.12, step=step)
    np.testing.assert_allclose(run.v[-1, 3], 2 * 5.0 * 0.0733 / 50.0, rtol=1e-12)


def test_pulses_are_none_or_at_least_the_shortest():
    thrusters = space.Thrusters(satellite(), JETS[:3])
    np.testing.assert_allclose(thrusters.fire(0.0, [0.02, 0.03, 0.2]), [0.0, 0.05, 0.2])
    with pytest.raises(ps.PhistarError, match="0 s or more were expected"):
        thrusters.fire(0.0, [-1.0, 0.0, 0.0])


def test_allocations_give_the_wrench_with_the_least_propellant():
    """Against a vertex enumeration of the same linear program."""
    from itertools import combinations

    columns = np.array([jet.wrench for jet in JETS]).T
    wanted = columns @ np.random.default_rng(1).uniform(0, 0.4, len(JETS))
    shares = space.allocate(JETS, wanted)
    np.testing.assert_allclose(columns @ shares, wanted, atol=1e-9)
    best = np.inf
    for chosen in combinations(range(len(JETS)), 6):
        part = columns[:, chosen]
        if np.linalg.matrix_rank(part) == 6:
            x = np.linalg.solve(part, wanted)
            if (x >= -1e-9).all() and (x <= 1 + 1e-9).all():
                best = min(best, x.sum())
    np.testing.assert_allclose(shares.sum(), best, rtol=1e-8)


def test_a_wrench_that_thrusters_cannot_give_is_told_with_what_they_can():
    with pytest.raises(ps.PhistarError, match="50 % of the wrench"):
        space.allocate(JETS, [0, 0, 0, 20.0, 0, 0])
    with pytest.raises(ps.PhistarError, match="0 % of the wrench"):
        space.allocate(JETS[:1], [0, 0, 0, 0, 1.0, 0])


def test_drag_points_against_the_stream_and_counts_faces_that_meet_it():
    model = satellite()
    faces = [space.Facet("hub", 2.0, (1.0, 0, 0)), space.Facet("hub", 3.0, (-1.0, 0, 0), (0, 0, 0.5))]
    drag = space.Drag(model, faces, ORBIT, density=1e-12)
    q, v = state(model)
    _, along = ORBIT.at(0.0)
    wrench = drag.wrenches(BodyMotions(model, 0.0, q, v))[0]
    assert np.allclose(wrench, 0.0)  # edge on: the orbit's velocity lies along y and z
    from phistar.spatial import from_axis_angle, to_quaternion

    q[3:7] = to_quaternion(from_axis_angle(np.array([0, 0, 1.0]), np.pi / 2))  # the body's x along the world's y
    wrench = drag.wrenches(BodyMotions(model, 0.0, q, v))[0]
    np.testing.assert_allclose(wrench[3], -0.5 * 1e-12 * 2.2 * 2.0 * along[1] ** 2, rtol=1e-12)


def test_sunlight_on_a_mirror_pushes_twice_as_on_a_black_face():
    model, sun = satellite(), (0.0, 0.0, 1.0)
    q, v = state(model)
    push = []
    for given in ({}, {"specular": 1.0}, {"diffuse": 1.0}):
        field = space.SolarPressure(model, [space.Facet("hub", 2.0, sun, (0.5, 0, 0), **given)], sun)
        push.append(field.wrenches(BodyMotions(model, 0.0, q, v))[0])
    force = 2.0 * 4.56e-6
    np.testing.assert_allclose([w[5] for w in push], [-force, -2 * force, -5 / 3 * force], rtol=1e-12)
    np.testing.assert_allclose(push[0][:3], [0, 0.5 * force, 0], atol=1e-20)


def test_a_plume_pushes_what_stands_in_it_and_not_what_stands_beside():
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(satellite(), "chaser")
    plant.add(satellite(), "target", at=ps.Pose(xyz=(0, 0, 0)))
    jets = space.Thrusters(plant.model, [space.Thruster("chaser/hub", (0, 0, 0), (1.0, 0, 0), 10.0)])
    plume = space.Plume(jets, plant.model, "target/hub", area=0.2)
    jets.fire(0.0, [1.0])
    q, v = plant.model.neutral(), np.zeros(12)
    found = []
    for place in ((-4.0, 0, 0), (0, -4.0, 0)):
        q[7:10] = place
        found.append(plume.wrenches(BodyMotions(plant.model, 0.0, q, v, 0.01)))
    expected = 10.0 * 0.2 / (2 * np.pi * (0.2 * 4.0) ** 2)
    np.testing.assert_allclose(found[0][1, 3], -expected, rtol=1e-9)
    assert np.abs(found[1]).max() < 1e-10 and np.abs(found[0][0]).max() == 0.0
