"""Free-flying robots: what space robots need when nothing holds their base.

The model's root joint is free; `a`, `tau`, `joint_rates` have entries for the other joints only, in the model's order.
"""

from phistar.freeflying.energy import Energy, energy, joint_momentum, rigid_velocity, wiggle_jacobian, wiggle_velocity
from phistar.freeflying.floating_motion import forward_dynamics, thrusters
from phistar.freeflying.free_base import joint_count
from phistar.freeflying.momentum import (
    CenterOfMassFrame,
    center_of_mass_frame,
    generalized_jacobian,
    mass_at_base,
    momentum,
    reaction_null_space,
)
from phistar.freeflying.two_way_dynamics import inverse_dynamics, mass_matrix

__all__ = [
    "CenterOfMassFrame",
    "Energy",
    "center_of_mass_frame",
    "energy",
    "forward_dynamics",
    "generalized_jacobian",
    "inverse_dynamics",
    "joint_count",
    "joint_momentum",
    "mass_at_base",
    "mass_matrix",
    "momentum",
    "reaction_null_space",
    "rigid_velocity",
    "thrusters",
    "wiggle_jacobian",
    "wiggle_velocity",
]
