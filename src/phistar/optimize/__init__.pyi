"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.optimize.constraints import (
    Constraint as Constraint,
    constraint as constraint,
    frame_at as frame_at,
    joint_limits as joint_limits,
    outside_sphere as outside_sphere,
)
from phistar.optimize.contracted_hessian import forward_dynamics_hessian as forward_dynamics_hessian
from phistar.optimize.costs import (
    Cost as Cost,
    control as control,
    frame_motion as frame_motion,
    frame_pose as frame_pose,
    frame_position as frame_position,
    joint_position as joint_position,
    joint_velocity as joint_velocity,
    mass_center as mass_center,
    residual as residual,
    spatial_momentum as spatial_momentum,
)
from phistar.optimize.control_problem import Problem as Problem, problem as problem
from phistar.optimize.solution import Iteration as Iteration, Solution as Solution

__all__: list[str]
