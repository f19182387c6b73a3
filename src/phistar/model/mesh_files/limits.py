"""Limits of what is read of a mesh, and the refusal of anything more."""

from phistar.errors import FileError

MEGABYTE = 2**20
LARGEST_BINARY = 256 * MEGABYTE
LARGEST_TEXT = 64 * MEGABYTE  # numbers written out take several times as much memory as the text
MOST_TRIANGLES = 5_000_000  # what a binary STL of LARGEST_BINARY has
MOST_NUMBERS = 64_000_000  # in all arrays of a file: 512 MB as float64
MOST_WRITTEN = 3_000_000  # vertices and faces written out in a PLY or OFF: readers take some 400 bytes for each
MOST_PARTS = 5_000  # pieces with a material or primitives of their own: readers take the square of their number
MOST_PLACES = 10_000  # where parts of a file stand: nodes of a scene
LARGEST_IMAGE = 16 * MEGABYTE  # pixels
MOST_PIXELS = 4 * LARGEST_IMAGE  # in all pictures of a mesh
DEEPEST = 100  # nodes within nodes


def damaged_file_error(path: str, reason: str) -> FileError:
    """Return the refusal of a file that does not hold what it says."""
    return FileError(f"The mesh {path} is damaged or made to harm: {reason}.")


def too_much(path: str, count: float, what: str, most: int) -> FileError:
    """Return the refusal of a file that asks for more than is read."""
    return FileError(
        f"The mesh {path} asks for {count:.3g} {what}; {most} is the most that is read. Give one with fewer triangles."
    )
