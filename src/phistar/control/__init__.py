"""Control: task coordinates, trajectories, inverse kinematics, the laws, and what to watch while they run."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily(  # pyright: ignore[reportUnsupportedDunderAll]
    "phistar.control",
    {
        **dict.fromkeys(["PotentialFieldControl"], "phistar.control.avoidance"),
        **dict.fromkeys(["HybridControl", "ImpedanceControl"], "phistar.control.compliance"),
        **dict.fromkeys(["AttitudeControl", "ObjectControl"], "phistar.control.grasp_laws"),
        **dict.fromkeys(
            [
                "DecoupledControl",
                "diagonalized",
                "forces_of_innovations",
                "innovations_of_forces",
                "rates_of_residuals",
            ],
            "phistar.control.innovations",
        ),
        **dict.fromkeys(["inverse_kinematics"], "phistar.control.kinematics"),
        **dict.fromkeys(
            ["GravityCompensation", "InverseDynamicsControl", "PDControl", "dynamic_feedback", "gathered"],
            "phistar.control.joint_laws",
        ),
        **dict.fromkeys(["Controller"], "phistar.control.law"),
        **dict.fromkeys(
            ["dynamic_manipulability", "effective_mass", "manipulability", "plot_monitors"], "phistar.control.monitors"
        ),
        **dict.fromkeys(["Multirate", "control_sweeps"], "phistar.control.multirate"),
        **dict.fromkeys(
            ["OperationalSpaceControl", "ResolvedAccelerationControl", "operational_forces", "resolved_acceleration"],
            "phistar.control.operational",
        ),
        **dict.fromkeys(
            ["EnergyControl", "PassivityControl", "coriolis_product", "reference_dynamics"], "phistar.control.passivity"
        ),
        **dict.fromkeys(
            ["casadi_task", "euler_task", "position_task", "quaternion_task", "task_space"], "phistar.control.task"
        ),
        **dict.fromkeys(["joint_trajectory", "pose_trajectory"], "phistar.control.trajectories"),
    },
)
