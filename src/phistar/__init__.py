"""phistar: robot multibody dynamics in which the program is the algebra. The public names."""

from importlib import import_module
from typing import Any

# Public name → the module that defines it. Loaded on first use, so that `import phistar` stays quick.
_HOME = {
    **dict.fromkeys(
        [
            "PhistarError",
            "ModelError",
            "FileError",
            "UnknownNameError",
            "ShapeError",
            "SpaceError",
            "StatementError",
            "InfeasibleError",
        ],
        "phistar.errors",
    ),
    **dict.fromkeys(["Pose", "Inertia"], "phistar.spatial"),
    **dict.fromkeys(
        [
            *["Model", "ModelBuilder", "chain", "planar_chain", "Geometry", "Box", "Sphere", "Cylinder", "Capsule"],
            *["Ellipsoid", "Plane", "Polytope", "Mesh"],
            *["Revolute", "Prismatic", "Helical", "Universal", "Spherical", "Planar", "Free", "Fixed"],
            *["Cylindrical", "Distance", "Coupling", "Connection", "from_graph"],
        ],
        "phistar.model",
    ),
    **dict.fromkeys(["load", "from_dh"], "phistar.io"),
    **dict.fromkeys(["algebra", "Expression"], "phistar.expression"),
    **dict.fromkeys(["compile"], "phistar.compiled"),
    **dict.fromkeys(["export_c", "casadi_function"], "phistar.export"),
    "symbolic": "phistar.symbolic",
    **dict.fromkeys(
        [
            *["inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse", "bias", "gravity_load"],
            *["jacobian", "jacobian_dot_v", "forward_kinematics", "innovations", "operational_space"],
            *["tip_acceleration_change", "momentum", "kinetic_energy", "potential_energy", "center_of_mass"],
            *["forward_dynamics_two_step", "composite_inertia", "joint_friction", "task_mobility"],
            *["frame_velocity", "mobility", "force_response"],
        ],
        "phistar.dynamics",
    ),
    **dict.fromkeys(
        [
            *["inverse_dynamics_derivatives", "forward_dynamics_derivatives", "linearize", "regressor"],
            *["inverse_dynamics_hessian_product"],
        ],
        "phistar.derivatives",
    ),
    **dict.fromkeys(
        ["position_task", "quaternion_task", "euler_task", "casadi_task", "task_space"], "phistar.control.task"
    ),
    **dict.fromkeys(["joint_trajectory", "pose_trajectory"], "phistar.control.trajectories"),
    **dict.fromkeys(["Multirate", "control_sweeps"], "phistar.control.multirate"),
    "inverse_kinematics": "phistar.control.inverse_kinematics",
    **dict.fromkeys(
        ["manipulability", "dynamic_manipulability", "effective_mass", "plot_monitors"], "phistar.control.monitors"
    ),
    **dict.fromkeys(["PDControl", "GravityCompensation", "InverseDynamicsControl"], "phistar.control.joint_laws"),
    **dict.fromkeys(["dynamic_feedback", "gathered"], "phistar.control.joint_laws"),
    "Controller": "phistar.control.law",
    **dict.fromkeys(["PassivityControl", "EnergyControl", "coriolis_product"], "phistar.control.passivity"),
    "reference_dynamics": "phistar.control.passivity",
    **dict.fromkeys(["OperationalSpaceControl", "ResolvedAccelerationControl"], "phistar.control.operational"),
    **dict.fromkeys(["operational_forces", "resolved_acceleration"], "phistar.control.operational"),
    **dict.fromkeys(["ImpedanceControl", "HybridControl"], "phistar.control.compliance"),
    "PotentialFieldControl": "phistar.control.avoidance",
    **dict.fromkeys(["DecoupledControl", "diagonalized", "innovations_of_forces"], "phistar.control.innovations"),
    **dict.fromkeys(["rates_of_residuals", "forces_of_innovations"], "phistar.control.innovations"),
    **dict.fromkeys(["constraint_forces", "loop_report"], "phistar.loops.forces"),
    **dict.fromkeys(["assemble", "assemblies", "assemble_velocity"], "phistar.loops.assembly"),
    "loop_residual": "phistar.loops.residual",
    "time_derivatives": "phistar.loops.taylor",
    "PrimaryJoints": "phistar.loops.primary",
    **dict.fromkeys(
        ["SoftFinger", "PointContact", "SlidingPoint", "SlidingLine", "RollingSphere", "RollingDisc"],
        "phistar.loops.grasp_contacts",
    ),
    **dict.fromkeys(["Grasp", "grasp_dynamics", "effective_inertia"], "phistar.loops.grasp"),
    "one_sided_dynamics": "phistar.loops.grasp_onesided",
    "internal_forces": "phistar.loops.grasp_forces",
    **dict.fromkeys(["ObjectControl", "AttitudeControl"], "phistar.control.grasp_laws"),
    "rollout": "phistar.sim.rollout",
    "simulate": "phistar.sim.simulate",
    "Scene": "phistar.sim.scenes.scene",
    "Surface": "phistar.contact.surface",
}

# Chapters that are had as a whole: ps.estimation.forward_dynamics.
_CHAPTERS = ("estimation", "freeflying")

__all__ = sorted([*_HOME, *_CHAPTERS])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _CHAPTERS:
        return import_module(f"phistar.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'phistar' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
