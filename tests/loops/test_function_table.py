"""Every public function of a model, on mechanisms with loops: the closed chain's answer, or a refusal by name.

The table says of each function what its answer is compared with. A function that is not in it fails a test of its own.
"""

import inspect

import numpy as np
import pytest

import phistar as ps
from phistar.loops.closure import closures, loop_frames
from tests.loops.mechanisms import two_arms
from tests.trees import relative


def _rjk91():
    """Two arms that hold each other by the hand (RJK91 Fig. 1)."""
    model = two_arms(ps.Fixed(), seed=3, links=6)
    return model, ps.assemble(model, model.random(3)), "left tip"


def _robot(name, frame):
    def load():
        try:
            model = ps.load(name)
        except ps.UnknownNameError:
            pytest.skip("example-robot-data is not installed")
        return model, ps.assemble(model, model.random(1)), frame

    return load


MODELS = {
    "RJK91 Fig. 1": _rjk91,
    "Panda with mimic fingers": _robot("panda", "panda_hand"),
    "PR2": _robot("pr2", "r_gripper_palm_link"),
    "Talos": _robot("talos_full_v2", "gripper_left_base_link"),
}
QUICK = ("Panda with mimic fingers",)


class Closed:
    """A state of a mechanism with its loops closed, and its motion by explicit matrices."""

    def __init__(self, model, q, frame):
        rng = np.random.default_rng(0)
        self.model, self.tree, self.q, self.frame = model, model.tree, q, frame
        self.v = ps.loops.assemble_velocity(model, q, 0.3 * rng.standard_normal(model.nv))
        self.tau, self.a = rng.standard_normal((2, model.nv))
        self.force = rng.standard_normal(6)
        tree, frames = self.tree, loop_frames(model)
        jacobians = {f: ps.jacobian(tree, q, f) for f in frames}
        poses = {f: ps.forward_kinematics(tree, q, f) for f in frames}
        found = closures(model, q, poses, self.v, {f: J @ self.v for f, J in jacobians.items()})
        self.rows, self.drift = found.on_rates, found.drift
        for i, f in enumerate(frames):
            own = found.on_frames[:, 6 * i : 6 * i + 6]
            self.rows = self.rows + own @ jacobians[f]
            self.drift = self.drift + own @ ps.jacobian_dot_v(tree, q, self.v, f)
        self.mass, self.bias = ps.mass_matrix(tree, q), ps.bias(tree, q, self.v)
        self.jacobian = ps.jacobian(tree, q, frame)
        inverse = np.linalg.inv(self.mass)
        self.pinched = np.linalg.pinv(self.rows @ inverse @ self.rows.T, rcond=1e-10, hermitian=True)
        self.inverse = inverse - inverse @ self.rows.T @ self.pinched @ self.rows @ inverse
        self.falling = inverse @ self.rows.T @ self.pinched @ self.drift

    def moved(self, forces):
        """θ̈ under joint forces."""
        return self.inverse @ (forces - self.bias) - self.falling

    @property
    def mobility(self):
        return self.jacobian @ self.inverse @ self.jacobian.T


def _same(name, *arguments):
    """Answers that closures do not change: those of the spanning tree."""

    def check(c):
        given = [getattr(c, x) for x in arguments]
        ours, want = getattr(ps, name)(c.model, *given), getattr(ps, name)(c.tree, *given)
        _equal(ours, want, 1e-12)

    return check


def _equal(ours, want, tolerance):
    if isinstance(want, tuple):
        for one, other in zip(ours, want, strict=True):
            _equal(one, other, tolerance)
    elif isinstance(want, dict):
        assert ours.keys() == want.keys()
        for key in want:
            _equal(ours[key], want[key], tolerance)
    else:
        assert relative(np.asarray(ours), np.asarray(want)) < tolerance


def _refused(call):
    def check(c):
        with pytest.raises(ps.PhistarError, match=r"loops|closed|model\.tree|model\.embedded"):
            call(c)

    return check


def _near(ours, want):
    return lambda c: _equal(np.asarray(ours(c)), want(c), 1e-8)


def _told(c):
    """A joint outside every loop, or one that a loop leaves free, moves as told; the others as closures let them."""
    joint = c.model.joints[0]
    found = ps.hybrid_dynamics(c.model, c.q, c.v, c.tau, {joint.name: np.full(joint.nv, 0.3)})
    assert np.allclose(found.accelerations[joint.v_slice], 0.3)
    assert np.abs(c.rows @ found.accelerations + c.drift).max() < 1e-8 * max(1.0, np.abs(found.accelerations).max())


def _forces(c):
    found = ps.constraint_forces(c.model, c.q, c.v, c.tau)
    assert set(found) == {loop.name for loop in c.model.loops}


def _is_closed(model, q):
    assert np.abs(ps.loop_residual(model, q)).max() < 1e-10


def _moves(c):
    _is_closed(c.model, ps.rollout(c.model, c.q, c.v, dt=1e-4, steps=4, limits="ignore").q[-1])


def _moves_to_tolerance(c):
    _is_closed(c.model, ps.simulate(c.model, c.q, c.v, 1e-3, rtol=1e-8, limits="ignore").q[-1])


def _derivatives(c):
    _equal(ps.forward_dynamics_derivatives(c.model, c.q, c.v, c.tau)[2], c.inverse, 1e-8)


def _operational(c):
    """Inertia on the directions that the closures leave the frame."""
    found = ps.operational_space(c.model, c.q, c.v, c.frame)
    _equal(c.mobility @ found.inertia @ c.mobility, c.mobility, 1e-6)


def _second(c):
    ours, want = (ps.inverse_dynamics_second_derivatives(x, c.q, c.v, c.a) for x in (c.model, c.tree))
    for one, other in zip(ours, want, strict=True):
        _equal(one.dense(), other.dense(), 1e-12)


TABLE = {
    "assemble": lambda c: _is_closed(c.model, ps.assemble(c.model, c.q)),
    "bias": _same("bias", "q", "v"),
    "center_of_mass": _same("center_of_mass", "q"),
    "center_of_mass_jacobian": _same("center_of_mass_jacobian", "q"),
    "centroidal_map": _same("centroidal_map", "q"),
    "composite_inertia": _same("composite_inertia", "q"),
    "constraint_forces": _forces,
    "coriolis_matrix": _same("coriolis_matrix", "q", "v"),
    "force_response": _near(
        lambda c: ps.force_response(c.model, c.q, c.tau, {c.frame: c.force}),
        lambda c: c.inverse @ (c.tau + c.jacobian.T @ c.force),
    ),
    "forward_dynamics": _near(lambda c: ps.forward_dynamics(c.model, c.q, c.v, c.tau), lambda c: c.moved(c.tau)),
    "forward_dynamics_derivatives": _derivatives,
    "forward_kinematics": _same("forward_kinematics", "q", "frame"),
    "frame_acceleration": _same("frame_acceleration", "q", "v", "a", "frame"),
    "frame_velocity": _same("frame_velocity", "q", "v", "frame"),
    "gravity_load": _same("gravity_load", "q"),
    "hybrid_dynamics": _told,
    "inverse_dynamics": _same("inverse_dynamics", "q", "v", "a"),
    "inverse_dynamics_derivatives": _same("inverse_dynamics_derivatives", "q", "v", "a"),
    "jacobian": _same("jacobian", "q", "frame"),
    "jacobian_dot_v": _same("jacobian_dot_v", "q", "v", "frame"),
    "joint_friction": _same("joint_friction", "q", "v"),
    "kinetic_energy": _same("kinetic_energy", "q", "v"),
    "linearize": lambda c: _equal(ps.linearize(c.model, c.q, c.v, c.tau).B[c.model.nv :], c.inverse, 1e-8),
    "loop_residual": lambda c: _is_closed(c.model, c.q),
    "mass_matrix": _same("mass_matrix", "q"),
    "mass_matrix_inverse": _near(lambda c: ps.mass_matrix_inverse(c.model, c.q), lambda c: c.inverse),
    "mobility": _near(lambda c: ps.mobility(c.model, c.q, c.frame), lambda c: c.mobility),
    "momentum": _same("momentum", "q", "v"),
    "potential_energy": _same("potential_energy", "q"),
    "regressor": _same("regressor", "q", "v", "a"),
    "rollout": _moves,
    "simulate": _moves_to_tolerance,
    "task_mobility": _near(lambda c: ps.task_mobility(c.model, c.q, c.v, c.frame).mobility, lambda c: c.mobility),
    "tip_acceleration_change": _near(
        lambda c: ps.tip_acceleration_change(c.model, c.q, c.frame, c.force),
        lambda c: -c.inverse @ c.jacobian.T @ c.force,
    ),
    "inverse_dynamics_hessian_product": _same("inverse_dynamics_hessian_product", "q", "v", "a", *["a"] * 4),
    "inverse_dynamics_second_derivatives": _second,
    "operational_space": _operational,
    "forward_dynamics_second_derivatives": _refused(
        lambda c: ps.forward_dynamics_second_derivatives(c.model, c.q, c.v, c.tau)
    ),
    "innovations": _refused(lambda c: ps.innovations(c.model, c.q)),
    "forward_dynamics_two_step": _refused(lambda c: ps.forward_dynamics_two_step(c.model, c.q, c.v, c.tau)),
}
OTHER = {
    "algebra": "its operators are the tree's, as it says; closed_statements.py has the closed chain's",
    "modes": "about an equilibrium: tests/dynamics/test_vibration.py",
    "save": "writes the model",
    "symbolic": "of any function of this table, as expressions",
}


def test_the_table_has_every_public_function_of_a_model():
    found = set()
    for name in ps.__all__:
        function = getattr(ps, name)
        if callable(function) and not inspect.isclass(function) and not inspect.ismodule(function):
            parameters = list(inspect.signature(function).parameters)
            found |= {name} if parameters[:1] == ["model"] else set()
    assert found == TABLE.keys() | OTHER.keys()


@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in MODELS])
def test_answers_are_the_closed_chains_or_refused_by_name(name):
    closed, wrong = Closed(*MODELS[name]()), {}
    for function, check in TABLE.items():
        try:
            check(closed)
        except Exception as error:
            wrong[function] = f"{type(error).__name__}: {error}"
    assert not wrong, wrong
