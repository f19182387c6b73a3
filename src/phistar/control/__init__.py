"""Control: task coordinates, trajectories, inverse kinematics, the laws, and what to watch while they run."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.control", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
