"""Every quantity as one operator statement. Read these files beside the papers; all else explains or computes it."""

from phistar.dynamics.frame_motion import (
    forward_kinematics as forward_kinematics,
    frame_acceleration as frame_acceleration,
    frame_poses as frame_poses,
    frame_velocity as frame_velocity,
    jacobian as jacobian,
    jacobian_dot_v as jacobian_dot_v,
    task_frames as task_frames,
)
from phistar.dynamics.joint_space import (
    Forces as Forces,
    Innovations as Innovations,
    bias as bias,
    coriolis_matrix as coriolis_matrix,
    force_response as force_response,
    forward_dynamics as forward_dynamics,
    forward_dynamics_two_step as forward_dynamics_two_step,
    frame_load as frame_load,
    gravity_load as gravity_load,
    innovations as innovations,
    inverse_dynamics as inverse_dynamics,
    mass_matrix as mass_matrix,
    mass_matrix_inverse as mass_matrix_inverse,
    with_load as with_load,
)
from phistar.dynamics.passive_joints import joint_friction as joint_friction
from phistar.dynamics.task_space import (
    OperationalSpace as OperationalSpace,
    TaskMobility as TaskMobility,
    mobility as mobility,
    operational_space as operational_space,
    task_mobility as task_mobility,
    tip_acceleration_change as tip_acceleration_change,
)
from phistar.dynamics.whole_body import (
    center_of_mass as center_of_mass,
    center_of_mass_jacobian as center_of_mass_jacobian,
    centroidal_map as centroidal_map,
    composite_inertia as composite_inertia,
    kinetic_energy as kinetic_energy,
    momentum as momentum,
    potential_energy as potential_energy,
)

__all__: list[str]
