"""The time loop in machine code, on steps recorded by hand; other CPUs, other lanes, and the disk."""

import subprocess
import sys

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.timeloop import Memory, TimeLoop, TimeSignature, record
from phistar.backends.machine import jit
from phistar.backends.machine.jit import Target, compile_object, gufunc, host, load_object
from phistar.sim import rollout_kernel as compiled

BASELINE = Target(host().triple, "x86-64", "")
on_x86 = pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="the baseline is that of x86-64")


def oscillator(weights, gains=0, control=None, lanes=None):
    """q̇ = v, v̇ = u − q, and s = start + Σ hβk."""
    memory = Memory(1, 1, gains)

    def stage(x, y, s, u, clock, weights):
        k = np.array([y[1], u[0] - y[0]], dtype=object)
        return {"y": x + clock[1:] * weights[:1] * k, "s": s + clock[1:] * weights[1:] * k}

    phases = record(memory, stage, ("x", "y", "s", "u", "clock", "weights"))
    finish = record(memory, lambda s: {"x": s, "y": s, "s": s}, ("s",))
    acting = None if control is None else record(memory, control, ("clock", "x", "gains"))
    loop = TimeLoop(memory, phases, finish, acting, weights)
    code = compile_object(loop.text(lanes or host().lanes, host().fma), host())
    return gufunc(load_object(code), TimeSignature(memory, control is None), "oscillator", "")


EULER = ((0.0, 1.0),)
HEUN = ((1.0, 0.5), (0.0, 0.5))
RK4 = ((1 / 2, 1 / 6), (1 / 2, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))


def by_hand(weights, q, v, times, forces):
    x = np.array([q, v])
    states = [x]
    for k, h in enumerate(np.diff(times)):
        y, s = x, x
        for alpha, beta in weights:
            rate = np.array([y[1], forces(k, x) - y[0]])
            y, s = x + h * alpha * rate, s + h * beta * rate
        x = s
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("weights", [EULER, HEUN, RK4], ids=["one stage", "two stages", "four stages"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_stages_follow_the_table_whatever_the_lanes(weights, lanes):
    rng, times = np.random.default_rng(0), np.array([0.0, 0.1, 0.15, 0.4, 0.5])
    q0, v0, forces = rng.normal(size=(11, 1)), rng.normal(size=(11, 1)), rng.normal(size=(11, 4))
    q, v = oscillator(weights, lanes=lanes)(q0, v0, times, forces)
    assert q.shape == v.shape == (11, 5, 1)
    for row in range(11):
        expected = by_hand(weights, q0[row, 0], v0[row, 0], times, lambda k, x, row=row: forces[row, k])
        assert np.abs(np.stack([q[row, :, 0], v[row, :, 0]], axis=1) - expected).max() < 1e-14


def test_control_sees_time_state_and_gains_at_the_start_of_each_step():
    function = oscillator(HEUN, 2, lambda clock, x, gains: {"u": gains[:1] * x[:1] + gains[1:] * x[1:] + clock[:1]})
    rng, times = np.random.default_rng(0), np.linspace(0, 1, 6)
    q0, v0, gains = rng.normal(size=(5, 1)), rng.normal(size=(5, 1)), rng.normal(size=(5, 2))
    q, _ = function(q0, v0, times, gains)
    for row, (a, b) in enumerate(gains):
        acting = lambda k, x, a=a, b=b: a * x[0] + b * x[1] + times[k]  # noqa: E731
        expected = by_hand(HEUN, q0[row, 0], v0[row, 0], times, acting)
        assert np.abs(q[row, :, 0] - expected[:, 0]).max() < 1e-14


def test_strides_of_inputs_and_outputs_are_followed():
    function, rng = oscillator(RK4), np.random.default_rng(0)
    q0, v0, times, forces = rng.normal(size=(9, 1)), rng.normal(size=(9, 1)), np.arange(5.0), rng.normal(size=(9, 4))
    q, v = function(q0, v0, times, forces)
    wide = np.full((9, 10, 3), np.nan), np.full((5, 2, 9), np.nan)
    out = wide[0][::-1, ::2, 1:2], np.moveaxis(wide[1], -1, 0)[:, :, 1:]
    function(np.repeat(q0, 2, axis=0)[::2], v0, np.repeat(times, 3)[::3], np.asfortranarray(forces), out=out)
    assert np.array_equal(out[0], q)
    assert np.array_equal(out[1], v)
    assert np.isnan(wide[0][:, 1::2]).all()


def test_each_row_may_have_its_own_times():
    function, rng = oscillator(RK4), np.random.default_rng(0)
    times, forces = np.cumsum(rng.random((6, 4)), axis=1), np.zeros((6, 3))
    q, _ = function(np.ones((6, 1)), np.zeros((6, 1)), times, forces)
    for row in range(6):
        assert np.array_equal(q[row], function(np.ones(1), np.zeros(1), times[row], forces[row])[0])


def test_recorded_outputs_may_be_constants():
    function = oscillator(EULER, 0, lambda clock, x, gains: {"u": np.array([2.0])})
    q, v = function(np.zeros(1), np.zeros(1), np.array([0.0, 0.5]))
    assert (q[-1, 0], v[-1, 0]) == (0.0, 1.0)


def arm():
    return ps.load("puma560")


def arm_states(count):
    rng = np.random.default_rng(0)
    return arm().random(rng, (count,)), rng.normal(size=(count, 6)), rng.normal(size=(count, 10, 6))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_all_lanes_agree_on_a_robot(method, lanes):
    model, (q0, v0, controls) = arm(), arm_states(5)
    run = ps.rollout(model, q0, v0, controls, dt=1e-3, method=method, limits="ignore")
    function = compiled.compiled_rollout(model, method, Memory(6, 6), None, lanes=lanes)
    q, v = function(q0, v0, run.t, controls.reshape(5, -1))
    assert np.abs(q - run.q).max() < 1e-13
    assert np.abs(v - run.v).max() < 1e-12


@on_x86
@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_a_cpu_without_avx_and_fma_agrees(method):
    model, (q0, v0, controls) = arm(), arm_states(5)
    run = ps.rollout(model, q0, v0, controls, dt=1e-3, method=method, limits="ignore")
    function = compiled.compiled_rollout(model, method, Memory(6, 6), None, BASELINE)
    q, v = function(q0, v0, run.t, controls.reshape(5, -1))
    assert np.abs(q - run.q).max() < 1e-13
    assert np.abs(v - run.v).max() < 1e-12


def test_a_step_of_runge_kutta_is_compiled_once_not_four_times():
    model, memory = arm(), Memory(6, 6)
    euler, runge_kutta = (compiled.time_loop(model, name, memory, None) for name in ("euler", "rk4"))
    assert runge_kutta.stage.trace.operations < 1.2 * euler.stage.trace.operations
    assert runge_kutta.operations > 3.5 * euler.operations


STARTS = """
import sys
import numpy as np, phistar as ps
from phistar.backends.machine import jit
counted, original = [], jit.compile_object
jit.compile_object = lambda *given: counted.append(1) or original(*given)
model = ps.load("planar2")
run = ps.rollout(model, [0.1, 0.2], [0, 0], dt=1e-2, steps=3, controller=lambda t, q, v: -float(sys.argv[1]) * q)
print(len(counted), run.q.sum().hex())
"""


@pytest.mark.slow
def test_the_second_start_compiles_nothing_and_another_controller_does(tmp_path, monkeypatch):
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "kernels"))
    done = [
        subprocess.run([sys.executable, "-c", STARTS, gain], capture_output=True, text=True, check=True).stdout.split()
        for gain in ("2.0", "2.0", "3.0")
    ]
    assert [compiled for compiled, _ in done] == ["1", "0", "1"]
    assert done[0][1] == done[1][1] != done[2][1]


def test_entries_on_disk_differ_by_model_method_controller_and_cpu(monkeypatch):
    names = []
    monkeypatch.setattr(jit.cache, "load", lambda name: names.append(name) or ({}, b""))
    monkeypatch.setattr(jit, "load_object", lambda *given: None)
    monkeypatch.setattr(compiled, "gufunc", lambda *given: None)
    memory = Memory(2, 2)
    control = record(memory, lambda clock, x, gains: {"u": -x[:2]}, ("clock", "x", "gains"))
    other = record(memory, lambda clock, x, gains: {"u": -2.0 * x[:2]}, ("clock", "x", "gains"))
    for model in (ps.load("planar2"), ps.load("planar2", gravity=(0, 0, 0))):
        for method in ("euler", "rk4"):
            for phase in (None, control, other):
                for target in (host(), BASELINE):
                    compiled.compiled_rollout(model, method, memory, phase, target)
    assert len(set(names)) == len(names) == 24
