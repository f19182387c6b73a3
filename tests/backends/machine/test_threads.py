"""Batches cut into pieces that threads take one after the other."""

import threading

import numpy as np
import pytest

from phistar.backends.machine.threads import _pieces, spread, together
from phistar.errors import PhistarError

SHAPES = [(3,)]


@pytest.mark.parametrize(("rows", "threads", "smallest"), [(100_000, 2, 1500), (3001, 2, 1500), (7, 3, 2), (5, 4, 1)])
def test_pieces_are_all_rows_once_and_end_small(rows, threads, smallest):
    pieces = list(_pieces(rows, threads, smallest))
    assert [i for start, stop in pieces for i in range(start, stop)] == list(range(rows))
    sizes = [stop - start for start, stop in pieces]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= smallest and sizes[0] * threads <= max(rows, smallest * threads)


def test_a_slow_thread_takes_less(monkeypatch):
    """One thread sleeps in its first piece; the other has done all the rest meanwhile."""
    monkeypatch.setenv("PHISTAR_THREADS", "2")
    caller, rest, calls = threading.get_ident(), threading.Event(), []

    def doubled(x, out):
        calls.append((threading.get_ident() == caller, len(x)))
        if len(calls) == 1:
            assert rest.wait(30)
        out[0][...] = 2 * x
        if sum(size for _, size in calls) == 50_000:
            rest.set()

    x = np.arange(150_000.0).reshape(50_000, 3)
    np.testing.assert_array_equal(spread(doubled, (x,), SHAPES), 2 * x)
    assert len({thread for thread, _ in calls[1:]}) == 1 and calls[0][0] != calls[1][0]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
def test_room_that_is_given_is_filled_by_all_threads(monkeypatch, kind):
    monkeypatch.setenv("PHISTAR_THREADS", "2")
    sizes = []

    def doubled(x, out):
        sizes.append(len(x))
        out[0][...] = 2 * x

    x, room = np.arange(150_000.0).reshape(50_000, 3), np.empty((50_000, 3), kind)
    assert spread(doubled, (x,), SHAPES, room) is room
    np.testing.assert_array_equal(room, 2 * x)
    assert len(sizes) > 2 and sum(sizes) == 50_000


def test_room_that_is_read_too_or_has_more_axes_is_left_to_numpy(monkeypatch):
    monkeypatch.setenv("PHISTAR_THREADS", "2")
    x, calls = np.arange(150_003.0).reshape(50_001, 3), []
    for read, room in ((x[:-1], x[1:]), (x, np.empty((2, 50_001, 3))), (x, [0.0])):
        spread(lambda *arrays, out: calls.append(out), (read,), SHAPES, room)
        assert calls.pop() is room and calls == []


def test_a_caller_does_not_wait_for_threads_that_are_busy_elsewhere(monkeypatch):
    """The only worker sleeps in another caller's piece; who comes meanwhile does all the work alone."""
    monkeypatch.setenv("PHISTAR_THREADS", "2")
    x, busy, release = np.arange(150_000.0).reshape(50_000, 3), threading.Event(), threading.Event()

    def held(given, out):
        if threading.current_thread().name == "phistar":
            busy.set()
            assert release.wait(30)
        else:
            assert busy.wait(30)
        out[0][...] = given

    def doubled(given, out):
        callers.add(threading.current_thread().name)
        out[0][...] = 2 * given

    callers: set[str] = set()
    other = threading.Thread(target=spread, args=(held, (x,), SHAPES), name="other")
    other.start()
    assert busy.wait(30)
    np.testing.assert_array_equal(spread(doubled, (x,), SHAPES), 2 * x)
    assert callers == {threading.current_thread().name} and other.is_alive()
    release.set()
    other.join(30)
    assert not other.is_alive()


def test_a_mistake_in_any_thread_is_raised(monkeypatch):
    monkeypatch.setenv("PHISTAR_THREADS", "2")

    def broken(x, out):
        if 0.0 not in x:
            raise FloatingPointError("broken")
        out[0][...] = x

    with pytest.raises(FloatingPointError):
        spread(broken, (np.arange(150_000.0).reshape(50_000, 3),), SHAPES)


def test_a_thread_count_must_be_a_number(monkeypatch):
    monkeypatch.setenv("PHISTAR_THREADS", "many")
    with pytest.raises(PhistarError, match="'many'"):
        spread(lambda x, out: None, (np.zeros((50_000, 3)),), SHAPES)


@pytest.mark.parametrize("shapes", [[(2, 3)] * 3, [(2, 3), (4,), ()], [(0, 0)] * 2])
@pytest.mark.parametrize("batch", [(5,), (2, 4), (0,)])
def test_room_for_all_outputs_has_their_shapes_and_no_entry_twice(batch, shapes):
    outputs = together(batch, shapes)
    assert [x.shape for x in outputs] == [batch + shape for shape in shapes]
    for number, x in enumerate(outputs):
        x[...] = number
    assert all(np.all(x == number) for number, x in enumerate(outputs))
