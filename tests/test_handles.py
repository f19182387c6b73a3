"""Handles: a public function bound to a robot and a frame gives what the function gives, into the caller's arrays."""

import numpy as np
import pytest

import phistar as ps

PUMA = ps.load("puma560")


def states(model, count, seed=3):
    rng = np.random.default_rng(seed)
    q = np.stack([model.random(rng) for _ in range(count)])
    return q, rng.standard_normal((count, model.nv)), rng.standard_normal((count, model.nv))


FUNCTIONS = [
    (ps.jacobian, 1, "tool"),
    (ps.frame_velocity, 2, "tool"),
    (ps.frame_velocity, 2, ["tool", "link3"]),
    (ps.mass_matrix, 1, None),
    (ps.mass_matrix_inverse, 1, None),
    (ps.gravity_load, 1, None),
    (ps.bias, 2, None),
    (ps.inverse_dynamics, 3, None),
    (ps.forward_dynamics, 3, None),
    (ps.kinetic_energy, 2, None),
    (ps.momentum, 2, None),
]


@pytest.mark.parametrize(("function", "count", "frame"), FUNCTIONS)
def test_a_handle_gives_what_the_function_gives_with_and_without_room(function, count, frame):
    arrays = states(PUMA, 4)[:count]
    frame = [PUMA.bodies[2].name if name == "link3" else name for name in frame] if isinstance(frame, list) else frame
    expected = function(PUMA, *arrays, *([] if frame is None else [frame]))
    handle = function.on(PUMA, frame)
    for row, wanted in zip(zip(*arrays, strict=True), expected, strict=True):
        room = np.full(np.shape(wanted), np.nan)
        assert np.allclose(handle(*row), wanted, rtol=1e-12, atol=1e-12)
        for _ in range(2):  # the kernel is known after the first call
            assert handle(*row, out=room) is room
            assert np.allclose(room, wanted, rtol=1e-12, atol=1e-12)
            room[...] = np.nan
    room = np.full(expected.shape, np.nan)
    assert handle(*arrays, out=room) is room
    assert np.array_equal(room, expected)


def test_quaternions_are_still_checked_when_the_result_goes_to_the_callers_array():
    builder = ps.ModelBuilder("stone")
    builder.body("stone", "world", ps.Free(), inertia=ps.Inertia(2.0, (0.1, 0, 0), np.eye(3)))
    stone = builder.build()
    handle, room = ps.gravity_load.on(stone), np.empty(6)
    q = stone.neutral()
    assert np.array_equal(handle(q, out=room), ps.gravity_load(stone, q))
    q[6] = 1.01
    for _ in range(2):
        with pytest.raises(ps.ShapeError, match="not of length one"):
            handle(q, out=room)


def test_derivatives_go_into_a_tuple_of_arrays():
    q, v, tau = (x[0] for x in states(PUMA, 1))
    rooms = tuple(np.empty((6, 6)) for _ in range(3))
    assert ps.forward_dynamics_derivatives.on(PUMA)(q, v, tau, out=rooms) is rooms
    for room, expected in zip(rooms, ps.forward_dynamics_derivatives(PUMA, q, v, tau), strict=True):
        assert np.array_equal(room, expected)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ps.jacobian.on(PUMA), "jacobian needs a frame"),
        (lambda: ps.mass_matrix.on(PUMA, "tool"), "mass_matrix takes no frame"),
        (lambda: ps.jacobian.on(PUMA, "tol"), "did you mean 'tool'"),
        (lambda: ps.jacobian.on("tool", PUMA), "takes the robot first"),
        (lambda: ps.jacobian.on(PUMA, "tool")(np.zeros(5), out=np.empty((6, 6))), "needs \\(…, 6\\)"),
        (lambda: ps.jacobian.on(PUMA, "tool")(np.zeros(6), out=np.empty((6, 5))), "shape \\(6, 6\\)"),
        (lambda: ps.jacobian.on(PUMA, "tool")(np.zeros(6), out=np.empty((6, 6), "f4")), "float64"),
        (
            lambda: ps.forward_dynamics_derivatives.on(PUMA)(*np.zeros((3, 6)), out=np.empty(3)),
            "\\(6, 6\\), \\(6, 6\\)",
        ),
    ],
)
def test_what_does_not_fit_is_told(call, sentence):
    with pytest.raises(ps.PhistarError, match=sentence):
        call()


TABLES = [ps.inverse_dynamics_derivatives, ps.forward_dynamics_derivatives, ps.linearize]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("model", [ps.chain(6), ps.chain(50)], ids=["short", "long"])
def test_tables_are_written_straight_into_the_callers_arrays(function, model, monkeypatch):
    arrays = states(model, 5)
    expected = function(model, *arrays)
    handle, rooms = function.on(model), tuple(np.full_like(table, np.nan) for table in expected)
    straight = function is not ps.linearize or model.nv < 50  # of long robots it is put together from tables
    if straight:
        monkeypatch.setattr(type(handle), "_long_way", lambda *_: pytest.fail("results were copied"))
    assert handle(*arrays, out=rooms) is rooms
    for room, table in zip(rooms, expected, strict=True):
        assert np.array_equal(room, table)


def test_springs_are_in_the_linearization_that_goes_to_the_callers_arrays():
    builder = ps.ModelBuilder("sprung", gravity=(0, 0, 0))
    hinge = ps.Revolute(axis=(0, 0, 1), stiffness=8.0, damping=0.4)
    builder.body("wheel", joint=hinge, inertia=ps.Inertia(1.0, (0, 0, 0), 2.0 * np.eye(3)))
    model, rooms = builder.build(), (np.empty((2, 2)), np.empty((2, 1)))
    for _ in range(2):
        ps.linearize.on(model)([0.0], [0.0], [0.0], out=rooms)
        assert rooms[0].tolist() == [[0.0, 1.0], [-4.0, -0.2]]
