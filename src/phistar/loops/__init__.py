"""Closed chains: closures as rows on task motions and joint rates, what follows from them, and how to meet them."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily(  # pyright: ignore[reportUnsupportedDunderAll]
    "phistar.loops",
    {
        **dict.fromkeys(["assemble_velocity", "assemblies"], "phistar.loops.assembly"),
        **dict.fromkeys(["loop_report"], "phistar.loops.forces"),
        **dict.fromkeys(["Grasp", "effective_inertia", "grasp_dynamics"], "phistar.loops.grasp.holding"),
        **dict.fromkeys(
            ["PointContact", "RollingDisc", "RollingSphere", "SlidingLine", "SlidingPoint", "SoftFinger"],
            "phistar.loops.grasp.contacts",
        ),
        **dict.fromkeys(["internal_forces"], "phistar.loops.grasp.forces"),
        **dict.fromkeys(["one_sided_dynamics"], "phistar.loops.grasp.onesided"),
        **dict.fromkeys(["PrimaryJoints"], "phistar.loops.primary.joints"),
        **dict.fromkeys(["time_derivatives"], "phistar.loops.primary.taylor"),
    },
)
