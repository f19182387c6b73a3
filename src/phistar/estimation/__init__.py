"""Dynamics as estimation (R87): filters, smoothers and covariances that are the dynamics."""

from phistar.estimation.acceleration_accuracy import forward_errors, graded_chain, precise_forward_dynamics
from phistar.estimation.boundary import BoundaryValueProblem, Solution
from phistar.estimation.chain_sampling import SampledConfigurations, sample_configurations
from phistar.estimation.chandrasekhar import PropagatedGains, propagated_gains
from phistar.estimation.collision_alarm import Collision, CollisionTest, Touched
from phistar.estimation.composite import CompositeBodies, composite_bodies
from phistar.estimation.consistency import Consistency, consistency
from phistar.estimation.covariances import (
    AccelerationParts,
    Covariances,
    acceleration_parts,
    closed_form_inverse,
    covariances,
)
from phistar.estimation.filtering import Filtered, forward_dynamics
from phistar.estimation.force_observer import (
    ForceObserver,
    Observed,
    generalized_momentum,
    momentum_forces,
)
from phistar.estimation.information import InformationFilter, information_filter
from phistar.estimation.kalman import Filter, Smoother, kalman_filter, kalman_smoother
from phistar.estimation.observability import Observability, observability, observability_gramian, self_motions
from phistar.estimation.pose_filter import PoseEstimate, PoseFilter
from phistar.estimation.robot_filter import RobotEstimate, RobotFilter
from phistar.estimation.scan import scanned_forward_dynamics
from phistar.estimation.state_space import StateSpace, sample_joint_forces, sample_link_forces, state_space

__all__ = [
    "AccelerationParts",
    "BoundaryValueProblem",
    "Collision",
    "CollisionTest",
    "CompositeBodies",
    "Consistency",
    "Covariances",
    "Filter",
    "Filtered",
    "ForceObserver",
    "InformationFilter",
    "Observability",
    "Observed",
    "PoseEstimate",
    "PoseFilter",
    "PropagatedGains",
    "RobotEstimate",
    "RobotFilter",
    "SampledConfigurations",
    "Smoother",
    "Solution",
    "StateSpace",
    "Touched",
    "acceleration_parts",
    "closed_form_inverse",
    "composite_bodies",
    "consistency",
    "covariances",
    "forward_dynamics",
    "forward_errors",
    "generalized_momentum",
    "graded_chain",
    "information_filter",
    "kalman_filter",
    "kalman_smoother",
    "momentum_forces",
    "observability",
    "observability_gramian",
    "precise_forward_dynamics",
    "propagated_gains",
    "sample_configurations",
    "sample_joint_forces",
    "sample_link_forces",
    "scanned_forward_dynamics",
    "self_motions",
    "state_space",
]
