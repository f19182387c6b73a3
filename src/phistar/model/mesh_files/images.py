"""Textures: a small file may unpack to a picture of many gigabytes, so its size is asked before it is opened."""

import io
import warnings

from phistar.model.mesh_files.limits import LARGEST_IMAGE, MEGABYTE, damaged


def check_image(content: bytes, path: str) -> None:
    """Refuse a picture of more pixels than are read; one that cannot be understood is left to the reader to skip."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return  # no reader either
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # answered by a refusal below
            with Image.open(io.BytesIO(content)) as image:  # reads the head alone
                width, height = image.size
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return
    except Image.DecompressionBombError:
        raise _too_large(path) from None
    if width * height > LARGEST_IMAGE:
        raise _too_large(path)


def _too_large(path: str) -> Exception:
    return damaged(path, f"a picture in it has more than {LARGEST_IMAGE // MEGABYTE} million pixels")
