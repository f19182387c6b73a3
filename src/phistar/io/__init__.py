"""Robot files, DH tables and bundled robots, made into models, and models as files."""

from phistar.io.dh import from_dh
from phistar.io.load import load
from phistar.io.model_files import save

__all__ = ["from_dh", "load", "save"]
