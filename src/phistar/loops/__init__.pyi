"""The public names. Importing the package loads none of them; each is loaded when it is first used."""

from phistar.loops.assembly import assemble_velocity as assemble_velocity, assemblies as assemblies
from phistar.loops.closed_statements import ClosedChain as ClosedChain, closed_chain as closed_chain
from phistar.loops.embedding import Embedding as Embedding
from phistar.loops.feasible_rates import closed_rates as closed_rates, closure_jacobian as closure_jacobian
from phistar.loops.forces import loop_report as loop_report
from phistar.loops.grasp.contacts import (
    PointContact as PointContact,
    RollingDisc as RollingDisc,
    RollingSphere as RollingSphere,
    SlidingLine as SlidingLine,
    SlidingPoint as SlidingPoint,
    SoftFinger as SoftFinger,
)
from phistar.loops.grasp.force_plan import ForcePlan as ForcePlan, plan_forces as plan_forces
from phistar.loops.grasp.grasp_forces import internal_forces as internal_forces
from phistar.loops.grasp.holding import (
    Grasp as Grasp,
    effective_inertia as effective_inertia,
    grasp_dynamics as grasp_dynamics,
)
from phistar.loops.grasp.onesided import one_sided_dynamics as one_sided_dynamics
from phistar.loops.primary.primary_joints import PrimaryJoints as PrimaryJoints
from phistar.loops.primary.taylor import time_derivatives as time_derivatives

__all__: list[str]
