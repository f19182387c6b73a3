"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.control.avoidance import PotentialFieldControl as PotentialFieldControl
from phistar.control.collision_limit import CollisionLimit as CollisionLimit, Distance as Distance
from phistar.control.compliance import HybridControl as HybridControl, ImpedanceControl as ImpedanceControl
from phistar.control.coordinated import CoordinatedControl as CoordinatedControl, CoordinatedGains as CoordinatedGains
from phistar.control.grasp_laws import AttitudeControl as AttitudeControl, ObjectControl as ObjectControl
from phistar.control.innovations import (
    DecoupledControl as DecoupledControl,
    diagonalized as diagonalized,
    forces_of_innovations as forces_of_innovations,
    innovations_of_forces as innovations_of_forces,
    rates_of_residuals as rates_of_residuals,
)
from phistar.control.joint_laws import (
    GravityCompensation as GravityCompensation,
    InverseDynamicsControl as InverseDynamicsControl,
    PDControl as PDControl,
    dynamic_feedback as dynamic_feedback,
    gathered as gathered,
)
from phistar.control.kinematics import inverse_kinematics as inverse_kinematics
from phistar.control.control_law import Controller as Controller
from phistar.control.monitors import (
    dynamic_manipulability as dynamic_manipulability,
    effective_mass as effective_mass,
    manipulability as manipulability,
    plot_monitors as plot_monitors,
)
from phistar.control.multirate import Multirate as Multirate, control_sweeps as control_sweeps
from phistar.control.operational import (
    OperationalSpaceControl as OperationalSpaceControl,
    ResolvedAccelerationControl as ResolvedAccelerationControl,
    operational_forces as operational_forces,
    resolved_acceleration as resolved_acceleration,
)
from phistar.control.passivity import (
    EnergyControl as EnergyControl,
    PassivityControl as PassivityControl,
    coriolis_product as coriolis_product,
    reference_dynamics as reference_dynamics,
)
from phistar.control.regulator import Regulator as Regulator, lqr as lqr
from phistar.control.sampled import (
    Command as Command,
    SampledController as SampledController,
    SampledFunction as SampledFunction,
    Switch as Switch,
)
from phistar.control.task import (
    casadi_task as casadi_task,
    euler_task as euler_task,
    position_task as position_task,
    quaternion_task as quaternion_task,
    task_space as task_space,
)
from phistar.control.task_program import (
    TaskSolution as TaskSolution,
    solve_tasks as solve_tasks,
    task_rates as task_rates,
)
from phistar.control.tasks import (
    CenterOfMassTask as CenterOfMassTask,
    FrameTask as FrameTask,
    JointLimits as JointLimits,
    Limit as Limit,
    LookAtTask as LookAtTask,
    PostureTask as PostureTask,
    SphereLimit as SphereLimit,
    Task as Task,
)
from phistar.control.trajectories import joint_trajectory as joint_trajectory, pose_trajectory as pose_trajectory
from phistar.optimize.path_integral import PathIntegral as PathIntegral
from phistar.optimize.predictive import ModelPredictiveControl as ModelPredictiveControl
from phistar.steps.step_chain import StepChain as StepChain

__all__: list[str]
