"""Every quantity as one operator statement. Read these files beside the papers; all else explains or computes it.

A function decorated with `states` is compiled from the statement above it: `ps.forward_dynamics.statement` shows it,
with `.derivation()`, `.algorithm()`, `.cost(n)` and `.sweeps`. Symbols: H φ M of RJK91, ℳ mass matrix (armature
included), 𝒞 Coriolis, 𝒢 gravity, T joint forces, f task forces (world axes at their frames).
"""

from phistar.dynamics.frame_motion import (
    forward_kinematics,
    frame_acceleration,
    frame_poses,
    frame_velocity,
    jacobian,
    jacobian_dot_v,
    task_frames,
)
from phistar.dynamics.joint_space import (
    Forces,
    Innovations,
    bias,
    coriolis_matrix,
    force_response,
    forward_dynamics,
    forward_dynamics_two_step,
    frame_load,
    gravity_load,
    innovations,
    inverse_dynamics,
    joint_friction,
    mass_matrix,
    mass_matrix_inverse,
    with_load,
)
from phistar.dynamics.task_space import (
    OperationalSpace,
    TaskMobility,
    mobility,
    operational_space,
    task_mobility,
    tip_acceleration_change,
)
from phistar.dynamics.whole_body import (
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_map,
    composite_inertia,
    kinetic_energy,
    momentum,
    potential_energy,
)

__all__ = [
    "Forces",
    "Innovations",
    "OperationalSpace",
    "TaskMobility",
    "bias",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_map",
    "composite_inertia",
    "coriolis_matrix",
    "force_response",
    "forward_dynamics",
    "forward_dynamics_two_step",
    "forward_kinematics",
    "frame_acceleration",
    "frame_load",
    "frame_poses",
    "frame_velocity",
    "gravity_load",
    "innovations",
    "inverse_dynamics",
    "jacobian",
    "jacobian_dot_v",
    "joint_friction",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_inverse",
    "mobility",
    "momentum",
    "operational_space",
    "potential_energy",
    "task_frames",
    "task_mobility",
    "tip_acceleration_change",
    "with_load",
]
