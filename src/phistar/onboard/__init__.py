"""What runs on the robot: rules as C, a paced loop with its deadlines told, and joint states over UDP."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.onboard", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
