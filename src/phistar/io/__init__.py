"""Robot files, DH tables and bundled robots, made into models."""

from phistar.io.dh import from_dh
from phistar.io.load import load

__all__ = ["from_dh", "load"]
