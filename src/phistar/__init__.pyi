"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar import (
    control as control,
    estimation as estimation,
    freeflying as freeflying,
    identify as identify,
    loops as loops,
    onboard as onboard,
    optimize as optimize,
    space as space,
    view as view,
)
from phistar.compiled import compile as compile
from phistar.contact.surface import Surface as Surface
from phistar.derivatives import (
    forward_dynamics_derivatives as forward_dynamics_derivatives,
    inverse_dynamics_derivatives as inverse_dynamics_derivatives,
    inverse_dynamics_hessian_product as inverse_dynamics_hessian_product,
    linearize as linearize,
    regressor as regressor,
)
from phistar.dynamics import (
    bias as bias,
    center_of_mass as center_of_mass,
    center_of_mass_jacobian as center_of_mass_jacobian,
    centroidal_map as centroidal_map,
    composite_inertia as composite_inertia,
    coriolis_matrix as coriolis_matrix,
    force_response as force_response,
    forward_dynamics as forward_dynamics,
    forward_dynamics_two_step as forward_dynamics_two_step,
    forward_kinematics as forward_kinematics,
    frame_acceleration as frame_acceleration,
    frame_velocity as frame_velocity,
    gravity_load as gravity_load,
    innovations as innovations,
    inverse_dynamics as inverse_dynamics,
    jacobian as jacobian,
    jacobian_dot_v as jacobian_dot_v,
    joint_friction as joint_friction,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    mass_matrix_inverse as mass_matrix_inverse,
    mobility as mobility,
    momentum as momentum,
    operational_space as operational_space,
    potential_energy as potential_energy,
    task_mobility as task_mobility,
    tip_acceleration_change as tip_acceleration_change,
)
from phistar.errors import (
    FileError as FileError,
    InfeasibleError as InfeasibleError,
    ModelError as ModelError,
    PhistarError as PhistarError,
    ShapeError as ShapeError,
    SpaceError as SpaceError,
    StatementError as StatementError,
    UnknownNameError as UnknownNameError,
)
from phistar.export import (
    casadi_function as casadi_function,
    export_c as export_c,
    export_object as export_object,
    export_wasm as export_wasm,
)
from phistar.expression import Expression as Expression, algebra as algebra, law as law
from phistar.hybrid import HybridDynamics as HybridDynamics, hybrid_dynamics as hybrid_dynamics
from phistar.io import from_dh as from_dh, load as load, save as save
from phistar.loops.assembly import assemble as assemble
from phistar.loops.forces import constraint_forces as constraint_forces
from phistar.loops.residual import loop_residual as loop_residual
from phistar.model import (
    Box as Box,
    Capsule as Capsule,
    Connection as Connection,
    Coupling as Coupling,
    Cylinder as Cylinder,
    Cylindrical as Cylindrical,
    Distance as Distance,
    Ellipsoid as Ellipsoid,
    Fixed as Fixed,
    FlexibleInertia as FlexibleInertia,
    Free as Free,
    Geometry as Geometry,
    Helical as Helical,
    Mesh as Mesh,
    Model as Model,
    ModelBuilder as ModelBuilder,
    Planar as Planar,
    Plane as Plane,
    Polytope as Polytope,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Sphere as Sphere,
    Spherical as Spherical,
    Universal as Universal,
    beam as beam,
    craig_bampton as craig_bampton,
    chain as chain,
    from_graph as from_graph,
    planar_chain as planar_chain,
)
from phistar.scalar_expressions import symbolic as symbolic
from phistar.second_derivatives import (
    forward_dynamics_second_derivatives as forward_dynamics_second_derivatives,
    inverse_dynamics_second_derivatives as inverse_dynamics_second_derivatives,
)
from phistar.sim.campaign.campaign import campaign as campaign
from phistar.sim.rollout import rollout as rollout
from phistar.sim.scenes.scene import Scene as Scene
from phistar.plant.plant import Plant as Plant
from phistar.geometry.shape_records import Material as Material
from phistar.sim.mcap_files import read_mcap as read_mcap
from phistar.sim.mcap_files import write_mcap as write_mcap
from phistar.sim.simulate import simulate as simulate
from phistar.sim.topology import Latch as Latch, Release as Release
from phistar.sim.trajectory import Trajectory as Trajectory
from phistar.spatial import Inertia as Inertia, Pose as Pose
from phistar.vibration import Modes as Modes, modes as modes

__version__: str

__all__: list[str]
