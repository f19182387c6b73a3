"""Robot multibody dynamics in which the program is the algebra.

>>> import numpy as np
>>> import phistar as ps
>>> arm = ps.load("puma560")
>>> q, v = np.zeros((2, arm.nv))
>>> ps.forward_dynamics(arm, q, v, ps.gravity_load(arm, q)).round(9) + 0.0
array([0., 0., 0., 0., 0., 0.])
>>> print(ps.forward_dynamics.statement)
ℳ⁻¹(T − 𝒞 − 𝒢)

The public names are listed in `__init__.pyi`, and loaded when they are first used. Chapters are had as a whole:
`ps.control`, `ps.estimation`, `ps.freeflying`, `ps.identify`, `ps.loops`, `ps.optimize`, `ps.view`.
"""

from phistar.lazy import PROVIDERS, lazily

_ELSEWHERE = {
    **dict.fromkeys(["rnea", "RNEA", "id"], "ps.inverse_dynamics"),
    **dict.fromkeys(["aba", "ABA", "fd"], "ps.forward_dynamics"),
    **dict.fromkeys(["crba", "CRBA", "inertia_matrix", "mass"], "ps.mass_matrix"),
    **dict.fromkeys(["computeMinverse", "minverse"], "ps.mass_matrix_inverse"),
    **dict.fromkeys(["nle", "nonLinearEffects", "rnea_bias", "nonlinear_effects"], "ps.bias"),
    **dict.fromkeys(["gravload", "computeGeneralizedGravity", "gravity"], "ps.gravity_load"),
    **dict.fromkeys(["fk", "fkine", "forwardKinematics", "framePlacement"], "ps.forward_kinematics"),
    **dict.fromkeys(["ik", "ikine", "inverse_kinematics"], "ps.control.inverse_kinematics"),
    **dict.fromkeys(["jacob0", "computeFrameJacobian", "frame_jacobian"], "ps.jacobian"),
    **dict.fromkeys(["com", "centerOfMass", "centre_of_mass"], "ps.center_of_mass"),
    **dict.fromkeys(["jacobianCenterOfMass", "com_jacobian"], "ps.center_of_mass_jacobian"),
    **dict.fromkeys(["ccrba", "computeCentroidalMap", "centroidal_matrix"], "ps.centroidal_map"),
    **dict.fromkeys(["coriolis", "computeCoriolisMatrix"], "ps.coriolis_matrix"),
    **dict.fromkeys(["computeRNEADerivatives"], "ps.inverse_dynamics_derivatives"),
    **dict.fromkeys(["computeABADerivatives"], "ps.forward_dynamics_derivatives"),
    **dict.fromkeys(["buildModelFromUrdf", "load_urdf", "load_mjcf", "from_urdf"], "ps.load"),
    **dict.fromkeys(["integrate", "difference", "neutral"], "a method of the model, model.integrate(q, dv) and so on"),
}
"""Names people know from other libraries, and what stands for them here."""

PROVIDERS["phistar.model"] = "phistar.backends.coordinate_kernels"
PROVIDERS["phistar.stated"] = "phistar.compiled"


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("phistar")
    except PackageNotFoundError:  # sources on the path, nothing installed
        return "0+unknown"


__getattr__, __dir__, __all__ = lazily(  # pyright: ignore[reportUnsupportedDunderAll]
    "phistar", __file__, _ELSEWHERE, {"__version__": _version}
)
