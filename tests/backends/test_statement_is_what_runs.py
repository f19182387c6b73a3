"""The shown statement is what runs: scaled, it is another result, at every size and through the public function."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.link_sizes import space_sizes
from phistar.second_derivatives import Tensor
from phistar.stated import Stated, StatedFunction
from phistar.sweeps.lower import GIVEN
from tests.trees import relative

FACTOR = 3
ARGUMENTS = {
    "inverse_dynamics": "v a",
    "forward_dynamics": "v tau",
    "forward_dynamics_two_step": "v tau",
    "mass_matrix": "",
    "mass_matrix_inverse": "",
    "bias": "v",
    "gravity_load": "",
    "jacobian": "frame",
    "frame_velocity": "v frame",
    "jacobian_dot_v": "v frame",
    "innovations": "",
    "operational_space": "v frame",
    "task_mobility": "v frame",
    "mobility": "frame",
    "force_response": "tau",
    "tip_acceleration_change": "frame force",
    "momentum": "v",
    "kinetic_energy": "v",
    "composite_inertia": "",
    "inverse_dynamics_derivatives": "v a",
    "forward_dynamics_derivatives": "v tau",
    "inverse_dynamics_second_derivatives": "v a",
    "regressor": "v a",
}
# `linearize` puts the tables of its statements beside what is not of them: −v~ and 1.
SIZES = [6, pytest.param(40, marks=pytest.mark.slow), 41, pytest.param(50, marks=pytest.mark.slow)]


def called(name, model):
    rng = np.random.default_rng(5)
    given = {"q": model.random(rng), "frame": list(model.frames)[-1], "force": rng.normal(size=6)}
    given |= {vector: rng.normal(size=model.nv) for vector in ("v", "a", "tau")}
    found = getattr(ps, name)(model, given["q"], *(given[x] for x in ARGUMENTS[name].split()))
    if isinstance(found, ps.dynamics.OperationalSpace):
        return found.inertia, found.coriolis, found.gravity
    found = found if isinstance(found, tuple) else (found,)
    return tuple(x.values if isinstance(x, Tensor) else x for x in found)


def scale(monkeypatch, function):
    """A function with its statement FACTOR times as large, and with nothing compiled for it yet."""
    stated = function._statement
    if isinstance(function, Stated):
        assert function.kernels  # there before, so that it is there as it was afterwards

    def scaled(symbols):
        made = stated(symbols)
        return {key: FACTOR * x for key, x in made.items()} if isinstance(made, dict) else FACTOR * made

    monkeypatch.setattr(function, "_statement", scaled)
    monkeypatch.setattr(function, "_slot", function._slot + " scaled")
    if isinstance(function, Stated):
        monkeypatch.delitem(function.__dict__, "kernels")
        monkeypatch.setattr(function._entries, "slot", function._slot)
        monkeypatch.setattr(function, "__call__", function._slow_call)


@pytest.mark.parametrize("bodies", SIZES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_scaled_statement_scales_the_compiled_result(name, bodies, monkeypatch):
    model = ps.chain(bodies)
    before = called(name, model)
    scale(monkeypatch, getattr(ps, name))
    for found, plain in zip(called(name, model), before, strict=True):
        assert relative(found, FACTOR * plain) < 1e-9


def stated_functions():
    """Every public function with a statement, also those of the packages inside."""
    modules = [ps, *(x for name in dir(ps) if isinstance(x := getattr(ps, name), ModuleType))]
    found = {name: getattr(module, name, None) for module in modules for name in dir(module) if name[0] != "_"}
    return {name: x for name, x in found.items() if isinstance(x, StatedFunction)}


OTHERS = {name: x for name, x in stated_functions().items() if name not in ARGUMENTS and isinstance(x, Stated)}


def evaluated(function, model):
    """The results of a function's statements, by the kernel that the function itself calls."""
    rng = np.random.default_rng(5)
    frames = (list(model.frames)[-1],)
    program = function.statements_for(model, frames)[0].program()
    named = {field: name for name, field in GIVEN.items()}
    sizes = space_sizes(model, frames)
    given = {named[x]: rng.normal(size=sizes[space]) for x, space in program.inputs if x in named and x != "a_g"}
    given |= {"R": np.abs(given["R"])} if "R" in given else {}
    return function.evaluate_all(model, model.random(rng), given, frames)


@pytest.mark.parametrize("bodies", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (40, 41, 50))])
@pytest.mark.parametrize("name", OTHERS)
def test_a_scaled_statement_scales_what_every_other_function_computes(name, bodies, monkeypatch):
    model = replace(ps.chain(bodies), name=f"{name} of {bodies}")
    before = evaluated(OTHERS[name], model)
    scale(monkeypatch, OTHERS[name])
    found = evaluated(OTHERS[name], model)
    assert all(relative(found[key], FACTOR * x) < 1e-9 for key, x in before.items())
