"""Textures: a small file may unpack to a picture of many gigabytes, so its size is asked before it is opened."""

import io
import warnings

from phistar.model.mesh_files.limits import LARGEST_IMAGE, MEGABYTE, damaged_file_error


def count_pixels(content: bytes | memoryview, path: str) -> int:
    """How many pixels a picture has; more than are read are refused, and one that cannot be understood has none: it is
    left to the reader to skip."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return 0  # no reader either
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # answered by a refusal below
            with Image.open(io.BytesIO(content)) as image:  # reads the head alone
                width, height = image.size
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return 0
    except Image.DecompressionBombError:
        raise _too_large(path) from None
    if width * height > LARGEST_IMAGE:
        raise _too_large(path)
    return width * height


def _too_large(path: str) -> Exception:
    return damaged_file_error(path, f"a picture in it has more than {LARGEST_IMAGE // MEGABYTE} million pixels")
