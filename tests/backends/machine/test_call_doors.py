"""Functions of C in front of the entries: what they pass on, what they leave to Python, and that nothing leaks."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine.call_doors import held_door, layout_is_known, stated_door
from phistar.stated import Stated

pytestmark = pytest.mark.skipif(not layout_is_known(), reason="this Python holds arrays in another way")


class Robot:
    """Something with a dictionary, in which entries are looked up."""


def told(*args, **kwargs):
    return "slow", args, kwargs


def entered(name):
    return lambda *arrays: (name, *arrays)


def robot(**entries):
    made = Robot()
    made.__dict__["slot"] = {None if key == "none" else key: entered(key) for key in entries}
    return made


@pytest.mark.parametrize(
    ("places", "args", "kwargs", "found"),
    [
        ((0, 0), (1, 2), {}, ("none", 1, 2)),
        ((2, 0), (1, "tip"), {}, ("tip", 1)),
        ((2, 0), (1, "tip", 3), {}, ("tip", 1, 3)),
        ((2, 0), (1, "other"), {}, "slow"),
        ((2, 0), (1, ["tip"]), {}, "slow"),
        ((2, 0), (1,), {}, "slow"),
        ((2, 0), (1,), {"frame": "tip"}, "slow"),
        ((0, 3), (1, 2), {}, ("none", 1, 2)),
        ((0, 3), (1, 2, {"tip": 5}), {}, ("tip", 1, 2, 5)),
        ((0, 3), (1, 2), {"f_ext": {"tip": 5}}, ("tip", 1, 2, 5)),
        ((0, 3), (1, 2, {"tip": 5, "tool": 6}), {}, "slow"),
        ((0, 3), (1, 2, {}), {}, "slow"),
        ((0, 3), (1, 2, None), {}, "slow"),
        ((0, 3), (1,), {"f_ext": {"tip": 5}}, "slow"),
        ((0, 3), (1, 2), {"other": {"tip": 5}}, "slow"),
        ((0, 3), (1, 2), {"f_ext": None, "other": 1}, "slow"),
        ((0, 0), tuple(range(9)), {}, "slow"),
    ],
)
def test_an_entry_is_found_by_frame_or_force_and_all_else_is_left_to_python(places, args, kwargs, found):
    call, model = stated_door("slot", told, *places), robot(none=1, tip=1)
    made = call(model, *args, **kwargs)
    assert made == (("slow", (model, *args), kwargs) if found == "slow" else found)


@pytest.mark.parametrize("first", [None, 3, "robot", np.zeros(3), Robot()])
def test_what_keeps_no_entries_is_left_to_python(first):
    assert stated_door("slot", told, 0, 0)(first, 1)[0] == "slow"
    assert stated_door("slot", told, 0, 0)()[0] == "slow"


def test_an_entry_that_does_not_fit_and_one_that_fails():
    model, call = Robot(), stated_door("slot", told, 0, 0)
    model.__dict__["slot"] = {None: lambda *arrays: NotImplemented}
    assert call(model, 1) == ("slow", (model, 1), {})
    model.__dict__["slot"] = {None: lambda *arrays: 1 / 0}
    with pytest.raises(ZeroDivisionError):
        call(model, 1)


def test_a_handle_has_its_entries_with_it():
    call = held_door(entered("single"), entered("into"), told)
    assert call(1, 2) == ("single", 1, 2)
    assert call(1, 2, out=3) == ("into", 1, 2, 3)
    assert call(1, other=3) == ("slow", (1,), {"other": 3})
    assert held_door(lambda x: NotImplemented, None, told)(1) == ("slow", (1,), {})


def test_public_functions_are_called_in_c_once_they_have_an_entry_and_keep_their_descriptions():
    model = ps.load("puma560")
    for function, args in ((ps.gravity_load, ()), (ps.jacobian, ("tool",))):
        first = function(model, np.zeros(6), *args)
        assert isinstance(function, Stated) and not isinstance(function.__call__, type(lambda: None))
        np.testing.assert_array_equal(function(model, np.zeros(6), *args), first)
        assert "Parameters" in function.__doc__ and function.__name__ in repr(function)


def test_nothing_is_leaked():
    model, q, force = ps.load("puma560"), np.zeros(6), np.ones(6)
    load, room = {"tool": force}, np.empty(6)
    handle = ps.forward_dynamics.on(model)
    calls = (
        lambda: ps.forward_dynamics(model, q, q, q),
        lambda: ps.forward_dynamics(model, q, q, q, load),
        lambda: ps.forward_dynamics(model, q, q, q, f_ext=load),
        lambda: ps.jacobian(model, q, "tool"),
        lambda: handle(q, q, q, out=room),
    )
    for call in calls:
        call(), call()
        gc.collect()
        before = [sys.getrefcount(x) for x in (model, q, force, load, room, "tool", None.__class__)]
        for _ in range(300):
            call()
        assert [sys.getrefcount(x) for x in (model, q, force, load, room, "tool", None.__class__)] == before


@pytest.mark.parametrize("function", [ps.jacobian, ps.forward_dynamics, ps.mass_matrix, ps.kinetic_energy])
def test_a_handle_with_room_allocates_nothing(function):
    model, rng = ps.load("puma560"), np.random.default_rng(0)
    frame = "tool" if function is ps.jacobian else None
    arrays = [rng.standard_normal(6) for _ in range({"mass_matrix": 1, "jacobian": 1}.get(function.__name__, 2))]
    arrays += [rng.standard_normal(6)] * (function is ps.forward_dynamics)
    expected = function(model, *arrays, *([frame] if frame else []))
    handle, room = function.on(model, frame), np.empty(np.shape(expected))
    handle(*arrays, out=room)
    handle(*arrays)
    tracemalloc.start()
    for _ in range(5):
        handle(*arrays, out=room)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        handle(*arrays, out=room)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200  # the counter of the loop
    np.testing.assert_array_equal(room, expected)


def test_room_that_is_an_argument_too_or_does_not_fit_is_still_right():
    model, q = ps.load("puma560"), np.random.default_rng(0).standard_normal(6)
    handle = ps.gravity_load.on(model)
    expected = handle(q.copy())
    both = np.random.default_rng(0).standard_normal(12)
    assert handle(q, out=both[:6]) is not None and np.array_equal(both[:6], expected)
    same = q.copy()
    np.testing.assert_array_equal(handle(same, out=same), expected)
    apart = np.zeros(12)[::2]
    np.testing.assert_array_equal(handle(q, out=apart), expected)
    fixed = np.zeros(6)
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        handle(q, out=fixed)
