"""Loops in lanes: every lane does what Python does with its arrays, whatever the others do."""

import numpy as np
import pytest

from phistar.backends.code.native import Arrays, Layout, loops_module
from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.lane_memory import LaneMemory
from phistar.backends.kernels.uniform import Uniform
from phistar.backends.kernels.validate import validate
from phistar.backends.kernels.widen import lane_arrays, widen
from phistar.backends.native_door import LaneLoops
from phistar.errors import StatementError
from tests.backends.code.test_native_fuzz import COLUMNS, FLOATS, INTS, ROWS, Source, loaded

LANES = 8


def lane_text(seed):
    """A generated function without arrays as arguments, which lanes do not have."""
    text = Source(seed).text().replace("fill(m, m.ints, ", "fill(m, ")
    return text.replace("m: Arrays, ints: Wholes,", "m: Arrays,").replace("    ints[at]", "    m.ints[at]")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_generated_loops_do_in_every_lane_what_python_does(block, tmp_path):
    for seed in range(20 * block, 20 * block + 20):
        text, random = lane_text(seed), np.random.default_rng(seed)
        module = loaded(text, tmp_path / f"lanes_{seed}.py")
        given = {"floats": np.zeros(FLOATS), "ints": np.zeros(INTS, np.int64)}
        given["table"] = random.integers(-16, 16, (ROWS, COLUMNS)) / 8
        functions = module.twice, module.clipped, module.fill, module.main
        loops = LaneLoops(functions, given, {}, LANES, (), ("floats", "ints"))
        for name, x in loops.own.items():
            x[...] = random.integers(-16, 16, x.shape) / 8 if name == "floats" else random.integers(-4, 5, x.shape)
        known = []
        for lane in range(LANES):
            own = {name: x[..., lane].copy() for name, x in loops.own.items()}
            known.append(Arrays(**{**given, **own}))
            module.main(known[-1])
        loops()
        for lane, made in enumerate(known):
            for name in loops.own:
                np.testing.assert_array_equal(loops.own[name][..., lane], getattr(made, name), err_msg=text)


def total(m: Arrays, n: int) -> float:
    made = 0.0
    for i in range(n):
        made += m.weights[i, 1] * m.x[i]
    return made


def told(m: Arrays) -> None:
    m.out[0] = total(m, m.count[0])
    m.heard[m.number[0]] = m.out[0]


def test_lanes_whose_whole_numbers_differ_are_called_in_groups_and_write_where_they_are_told():
    random = np.random.default_rng(0)
    given = {"weights": random.normal(size=(5, 2)), "x": np.zeros(5), "out": np.zeros(1), "heard": np.zeros(LANES)}
    given |= {"count": np.zeros(1, np.int64), "number": np.zeros(1, np.int64)}
    loops = LaneLoops((total, told), given, {}, LANES, ("heard",), ("x", "count", "number"))
    assert set(loops.own) == {"x", "out", "count", "number"}
    loops.own["x"][...] = random.normal(size=(5, LANES))
    loops.own["count"][...], loops.own["number"][...] = [3, 5, 3, 0, 5, 1, 3, 4], random.permutation(LANES)
    loops()
    for lane in range(LANES):
        n = loops.own["count"][0, lane]
        wanted = given["weights"][:n, 1] @ loops.own["x"][:n, lane]
        np.testing.assert_allclose(loops.own["out"][0, lane], wanted, rtol=1e-14, atol=1e-15)
        assert given["heard"][loops.own["number"][0, lane]] == loops.own["out"][0, lane]


def counted(m: Arrays) -> None:
    for i in range(m.count[0]):
        if m.x[i] > 0.0:
            break
        m.count[1] = m.sizes[i, 0]
        m.sizes[i, 1] = i


def test_indices_of_loops_and_columns_that_nothing_writes_are_common_to_all_lanes():
    module = loops_module((counted,), {}, Layout({"sizes": 2}, ("count", "sizes")))
    memory = LaneMemory.of(module, {"sizes": 2}, (), ("x",))
    assert lane_arrays("sizes", memory) == ["sizes", "sizes.lanes"] and lane_arrays("x", memory) == ["x.lanes"]
    assert memory.written == {"x": {None}, "count": {1}, "sizes": {1}}
    (function,) = module.functions
    found = Uniform(function, memory)
    webs = {found.webs.of_store(s) for s in _stores(function) if s.place.name in found.webs.locals}
    assert not webs & found.varying  # the loop's counter and i
    validate(widen(module, 4, memory))


def _stores(function):
    return [s for s in kernel_ir.statements(function.body) if isinstance(s, kernel_ir.Store)]


def elsewhere(m: Arrays) -> None:
    ask(m.address[m.count[0]], 0)


def ask(address: int, given: int) -> int:
    return 0


def test_what_is_asked_outside_is_the_same_in_all_lanes():
    given = {"address": np.zeros(2, np.int64), "count": np.zeros(1, np.int64)}
    with pytest.raises(StatementError, match="asks something else in every lane"):
        LaneLoops((elsewhere,), given, {}, 4, (), ("count",))
