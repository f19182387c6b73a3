"""The dynamics as JAX functions, whose derivatives are the library's analytic ones (extra `jax`).

    import jax, phistar as ps, phistar.jax as psj
    jax.config.update("jax_enable_x64", True)
    arm = ps.load("puma560")
    grad = jax.grad(lambda q: psj.potential_energy(arm, q))(q)

Each function takes the robot first and JAX arrays with any leading axes, works under `jit`, `vmap`, `grad`, `jacfwd`
and `jacrev`, and calls the compiled kernels on the processor. Derivatives by q are by its entries; where they are
quaternions, see `phistar.autodiff`. Second derivatives are not offered by them; `pure_function` writes any function out
in JAX's own arithmetic, for every device and every order of derivative that JAX knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from phistar.autodiff import FUNCTIONS, Differentiable
from phistar.backends.traces.symbolic import replay
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.recording import record

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    raise PhistarError("phistar.jax needs JAX: pip install 'phistar[jax]'.") from missing

__all__ = [
    "bias",
    "center_of_mass",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_load",
    "inverse_dynamics",
    "kinetic_energy",
    "potential_energy",
    "pure_function",
]


@lru_cache(maxsize=256)
def _function(name: str, model: Model, frame: tuple[str, ...]) -> Any:
    """The JAX function of a robot; kept, so that what `jit` has compiled is found again."""
    stated = FUNCTIONS[name]

    @jax.custom_jvp
    def value(*arrays: Any) -> Any:
        return _numpy_call(partial(_value, stated, model, frame), (stated.shape(model),), arrays)[0]

    @value.defjvp
    def _(arrays: Any, tangents: Any) -> Any:
        # Linear in the tangents, so that JAX transposes it for reverse mode.
        shapes = tuple((*stated.shape(model), array.shape[-1]) for array in arrays)
        found = _numpy_call(partial(stated.jacobians, model), shapes, arrays, frame)
        changes = [_along(jacobian, tangent) for jacobian, tangent in zip(found, tangents, strict=True)]
        return value(*arrays), sum(changes[1:], changes[0])

    return value


def _value(stated: Differentiable, model: Model, frame: tuple[str, ...], *arrays: Any) -> tuple[Any, ...]:
    return (stated.value(model, *arrays, *frame),)


def _along(jacobian: Any, tangent: Any) -> Any:
    """J · tangent over J's last axis, whatever axes a result has before it."""
    axes = jacobian.ndim - tangent.ndim
    return jnp.sum(jacobian * tangent.reshape(*tangent.shape[:-1], *[1] * axes, tangent.shape[-1]), axis=-1)


def _numpy_call(function: Any, shapes: tuple[Any, ...], arrays: tuple[Any, ...], frame: tuple[str, ...] = ()) -> Any:
    """NumPy's answer inside a JAX program; the leading axes of the arrays are those of the results."""
    kind, batch = jnp.result_type(*arrays), jnp.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    wanted = tuple(jax.ShapeDtypeStruct((*batch, *shape), kind) for shape in shapes)

    def callback(*given: Any) -> tuple[np.ndarray, ...]:
        made = function(*(np.asarray(x, dtype=float) for x in given), *frame)
        return tuple(np.asarray(x, dtype=kind) for x in made)

    wide = [jnp.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays]
    return jax.pure_callback(callback, wanted, *wide, vmap_method="broadcast_all")


def _evaluate(name: str, model: Model, arrays: tuple[Any, ...], frame: tuple[str, ...] = ()) -> jax.Array:
    check_robot(f"phistar.jax.{name}", (model,))
    return _function(name, model, frame)(*(_floats(x) for x in arrays))


def _floats(given: Any) -> jax.Array:
    """Array of floats, at the precision that JAX is set to."""
    array = jnp.asarray(given)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> jax.Array:
    """Joint accelerations under joint forces, (…, nv): `phistar.forward_dynamics`, differentiable by q, v, tau."""
    return _evaluate("forward_dynamics", model, (q, v, tau))


def inverse_dynamics(model: Model, q: Any, v: Any, a: Any) -> jax.Array:
    """Joint forces for joint accelerations, (…, nv): `phistar.inverse_dynamics`, differentiable by q, v, a."""
    return _evaluate("inverse_dynamics", model, (q, v, a))


def bias(model: Model, q: Any, v: Any) -> jax.Array:
    """Velocity and gravity forces, (…, nv): `phistar.bias`, differentiable by q, v."""
    return _evaluate("bias", model, (q, v))


def gravity_load(model: Model, q: Any) -> jax.Array:
    """Joint forces that gravity asks for, (…, nv): `phistar.gravity_load`, differentiable by q."""
    return _evaluate("gravity_load", model, (q,))


def kinetic_energy(model: Model, q: Any, v: Any) -> jax.Array:
    """Kinetic energy [J], (…): `phistar.kinetic_energy`, differentiable by q, v."""
    return _evaluate("kinetic_energy", model, (q, v))


def potential_energy(model: Model, q: Any) -> jax.Array:
    """Potential energy in gravity [J], (…): `phistar.potential_energy`, differentiable by q."""
    return _evaluate("potential_energy", model, (q,))


def center_of_mass(model: Model, q: Any) -> jax.Array:
    """Centre of mass in the world [m], (…, 3): `phistar.center_of_mass`, differentiable by q."""
    return _evaluate("center_of_mass", model, (q,))


def forward_kinematics(model: Model, q: Any, frame: str) -> jax.Array:
    """Pose of a frame in the world, (…, 4, 4): `phistar.forward_kinematics`, differentiable by q."""
    return _evaluate("forward_kinematics", model, (q,), (frame,))


def pure_function(
    function: Any,
    model: Model,
    frame: str | Sequence[str] | None = None,
    *,
    rows: Mapping[str, int] | None = None,
) -> Callable[..., Any]:
    """Write a function of one robot out in JAX's own arithmetic.

    The instructions are those that would be compiled to machine code, with the O(n) form that the algebra finds; no
    kernel is called. The result runs wherever JAX does, in any precision, and JAX differentiates it to any order.
    Compiling it takes JAX time that grows with the instructions: seconds for an arm, a minute for a humanoid.

    Parameters
    ----------
    function : callable or Expression
        One of phistar's (ps.forward_dynamics, …), one written with them, or a statement.
    model : Model
    frame : str or sequence of str, optional
        The frame(s) it is about, or where f_ext acts.
    rows : mapping, optional
        How many entries further arguments have, by name.

    Returns
    -------
    callable
        Takes JAX arrays (…, n), with any leading axes that broadcast, in the order of the function's arguments after
        the robot; returns an array, or a tuple of them where the function has several results.

    Examples
    --------
    >>> import jax, phistar.jax as psj
    >>> energy = psj.pure_function(ps.potential_energy, ps.planar_chain(2, gravity=(0, -9.81, 0)))
    >>> jax.hessian(energy)(np.zeros(2)).shape
    (2, 2)
    """
    found = record(function, model, frame, rows=rows)
    sizes = [size for _, size in found.arguments]

    def pure(*arrays: Any) -> Any:
        if len(arrays) != len(sizes):
            names = ", ".join(name for name, _ in found.arguments)
            raise ShapeError(f"{found.name} takes {names}: {len(arrays)} arrays were given.")
        given = [_floats(x) for x in arrays]
        for (name, size), x in zip(found.arguments, given, strict=True):
            if x.shape[-1:] != (size,):
                raise ShapeError(f"{found.name}: {name} has the shape {x.shape}; its last axis has {size} entries.")
        batch, kind = jnp.broadcast_shapes(*(x.shape[:-1] for x in given)), jnp.result_type(*given)
        entries = replay(found.trace, [x[..., i] for x in given for i in range(x.shape[-1])], jnp)
        results, start = [], 0
        for _, shape in found.results:
            own = entries[start : start + math.prod(shape)]
            start += len(own)
            row = jnp.stack([jnp.broadcast_to(jnp.asarray(x, kind), batch) for x in own], axis=-1)
            results.append(row.reshape(*batch, *shape))
        return results[0] if len(results) == 1 else tuple(results)

    return pure
