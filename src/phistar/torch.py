"""The dynamics as PyTorch functions, whose gradients are the library's analytic ones (extra `torch`).

    import torch, phistar as ps, phistar.torch as pst
    arm = ps.load("puma560")
    q = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    pst.potential_energy(arm, q).backward()

Each function takes the robot first and tensors with any leading axes, on the processor; the kernels that NumPy calls
run on the tensors' memory. Derivatives by q are by its entries; where they are quaternions, see `phistar.autodiff`.
Second derivatives are not offered: asking for them is an error of PyTorch's, never a wrong number.
"""

# PyTorch is not among the packages that types are checked with; `import torch` is then taken for this very file.
# pyright: reportAttributeAccessIssue=false, reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.autodiff import FUNCTIONS
from phistar.errors import PhistarError
from phistar.model import Model
from phistar.model.check import check_robot

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as missing:
    raise PhistarError("phistar.torch needs PyTorch: pip install 'phistar[torch]'.") from missing

__all__ = [
    "bias",
    "center_of_mass",
    "forward_dynamics",
    "forward_kinematics",
    "gravity_load",
    "inverse_dynamics",
    "kinetic_energy",
    "potential_energy",
]


class _Dynamics(torch.autograd.Function):
    """One of `autodiff.FUNCTIONS`: its value now, its Jacobians when gradients are asked for."""

    @staticmethod
    def forward(ctx: Any, name: str, model: Model, frame: tuple[str, ...], *tensors: torch.Tensor) -> torch.Tensor:
        ctx.name, ctx.model, ctx.frame = name, model, frame
        ctx.save_for_backward(*tensors)
        made = FUNCTIONS[name].value(model, *(_array(x) for x in tensors), *frame)
        return torch.as_tensor(np.asarray(made), dtype=_kind(tensors))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        tensors, stated = ctx.saved_tensors, FUNCTIONS[ctx.name]
        arrays, gradient = [_array(x) for x in tensors], _array(gradients[0])
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        wide = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
        axes = tuple(range(len(batch), gradient.ndim))
        made = []
        for tensor, jacobian in zip(tensors, stated.jacobians(ctx.model, *wide, *ctx.frame), strict=True):
            back = np.sum(gradient[..., None] * jacobian, axis=axes)
            made.append(torch.as_tensor(back, dtype=tensor.dtype).sum_to_size(tensor.shape))
        return None, None, None, *made


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy().astype(float, copy=False)


def _kind(tensors: tuple[torch.Tensor, ...]) -> torch.dtype:
    return tensors[0].dtype if len({x.dtype for x in tensors}) == 1 else torch.float64


def _evaluate(name: str, model: Model, given: tuple[Any, ...], frame: tuple[str, ...] = ()) -> torch.Tensor:
    check_robot(f"phistar.torch.{name}", (model,))
    tensors = [torch.as_tensor(x) for x in given]
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise PhistarError(f"phistar.torch.{name} works on the processor; a tensor is on {tensor.device}: x.cpu().")
    floats = [x if x.is_floating_point() else x.to(torch.float64) for x in tensors]
    return _Dynamics.apply(name, model, frame, *floats)


def forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> torch.Tensor:
    """Joint accelerations under joint forces, (…, nv): `phistar.forward_dynamics`, differentiable by q, v, tau."""
    return _evaluate("forward_dynamics", model, (q, v, tau))


def inverse_dynamics(model: Model, q: Any, v: Any, a: Any) -> torch.Tensor:
    """Joint forces for joint accelerations, (…, nv): `phistar.inverse_dynamics`, differentiable by q, v, a."""
    return _evaluate("inverse_dynamics", model, (q, v, a))


def bias(model: Model, q: Any, v: Any) -> torch.Tensor:
    """Velocity and gravity forces, (…, nv): `phistar.bias`, differentiable by q, v."""
    return _evaluate("bias", model, (q, v))


def gravity_load(model: Model, q: Any) -> torch.Tensor:
    """Joint forces that gravity asks for, (…, nv): `phistar.gravity_load`, differentiable by q."""
    return _evaluate("gravity_load", model, (q,))


def kinetic_energy(model: Model, q: Any, v: Any) -> torch.Tensor:
    """Kinetic energy [J], (…): `phistar.kinetic_energy`, differentiable by q, v."""
    return _evaluate("kinetic_energy", model, (q, v))


def potential_energy(model: Model, q: Any) -> torch.Tensor:
    """Potential energy in gravity [J], (…): `phistar.potential_energy`, differentiable by q."""
    return _evaluate("potential_energy", model, (q,))


def center_of_mass(model: Model, q: Any) -> torch.Tensor:
    """Centre of mass in the world [m], (…, 3): `phistar.center_of_mass`, differentiable by q."""
    return _evaluate("center_of_mass", model, (q,))


def forward_kinematics(model: Model, q: Any, frame: str) -> torch.Tensor:
    """Pose of a frame in the world, (…, 4, 4): `phistar.forward_kinematics`, differentiable by q."""
    return _evaluate("forward_kinematics", model, (q,), (frame,))
