"""Pictures and films without a browser, a window or a graphics card: RGB arrays, PNG, GIF and MP4."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from phistar.array_types import ImageArray
from phistar.errors import FileError, ShapeError
from phistar.model import Model
from phistar.sim.trajectory import Trajectory
from phistar.view.bent_surfaces import exaggerate_modes
from phistar.view.report_picture import Camera, camera_around, image, solids

PAPER = (255, 255, 255)
SAMPLED = 24  # states of a motion that a camera is placed by
MOST_FRAMES = 20_000
Frames = Iterator[ImageArray]


def render(
    model: Model,
    q: Any,
    size: tuple[int, int] = (640, 480),
    camera: Camera | None = None,
    background: Sequence[int] = PAPER,
    shadows: bool = True,
) -> ImageArray:
    """Draw a model at a configuration, without a browser, a window or a graphics card.

    Parameters
    ----------
    model : Model
        What is drawn: its visual geometry, or the collision geometry where there is no other.
    q : (nq,)
        The configuration.
    size : pair
        Width and height in pixels.
    camera : Camera, optional
        `ps.view.Camera(target, direction, width)`; by default one that sees all of the model.
    background : three numbers from 0 to 255
        The colour behind it.
    shadows : bool
        Whether bodies cast shadows.

    Returns
    -------
    (height, width, 3) array of uint8

    Examples
    --------
    >>> import phistar as ps
    >>> model = ps.load("puma560")
    >>> ps.view.render(model, model.neutral(), size=(160, 120)).shape
    (120, 160, 3)
    """
    given = np.asarray(model.checked_q(q))
    if given.ndim != 1:
        raise ShapeError(f"A picture is of one configuration, q ({model.nq},); it was given shape {given.shape}.")
    _check_size(size)
    solid, ground = solids(model, exaggerate_modes(model, given, 1.0))
    shown = camera or camera_around([solid.corners], size)
    return _flat(image(solid, ground, shown, size, shadows), background)


def film(
    motion: Trajectory,
    path: str | os.PathLike[str],
    size: tuple[int, int] = (640, 480),
    rate: float = 25.0,
    speed: float = 1.0,
    camera: Camera | None = None,
    background: Sequence[int] = PAPER,
    shadows: bool = True,
) -> Path:
    """Write a motion as a film, MP4 or GIF by the ending of the path, without a browser.

    Parameters
    ----------
    motion : Trajectory
        What moves; of a batch, choose one with `motion.member(k)`.
    path : path
        NAME.mp4 (needs the package av) or NAME.gif (needs Pillow): pip install 'phistar[film]'.
    size : pair
        Width and height in pixels; of MP4 even numbers.
    rate : float
        Frames a second.
    speed : float
        How many seconds of the motion pass in a second of the film.
    camera, background, shadows
        As for `ps.view.render`; by default the camera sees all of the motion.

    Returns
    -------
    Path
        Where the film is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> fall = ps.simulate(ps.load("planar2"), [1.0, 0.0], [0.0, 0.0], 0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = ps.view.film(fall, pathlib.Path(folder, "fall.gif"), size=(64, 48))
    ...     made.read_bytes()[:3]
    b'GIF'
    """
    place, ending = Path(path), Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise FileError(f"{place}: a film is written as .mp4 or .gif, not as '{ending}'.")
    if motion.q.ndim != 2:
        raise ShapeError(f"A film is of one motion; this has q of shape {motion.q.shape}: take motion.member(k).")
    if not (0.0 < rate < 1e4 and 0.0 < speed < 1e6):
        raise ShapeError(f"A film needs a rate and a speed greater than 0; it was given {rate!r} and {speed!r}.")
    _check_size(size)
    _WRITERS[ending](frames(motion, size, rate, speed, camera, background, shadows), place, rate)
    return place


def frames(
    motion: Trajectory,
    size: tuple[int, int] = (640, 480),
    rate: float = 25.0,
    speed: float = 1.0,
    camera: Camera | None = None,
    background: Sequence[int] = PAPER,
    shadows: bool = True,
) -> Frames:
    """Pictures (height, width, 3) of a motion, one after the other, all by one camera."""
    model, t = motion.model, np.asarray(motion.t)
    count = int((t[-1] - t[0]) / speed * rate + 1e-9) + 1
    if count > MOST_FRAMES:
        raise ShapeError(
            f"The film would have {count} frames; at most {MOST_FRAMES} are drawn. Raise speed or lower rate."
        )
    chosen = np.searchsorted(t, t[0] + speed / rate * np.arange(count) - 1e-9).clip(0, len(t) - 1)
    if camera is None:
        some = chosen[np.linspace(0, count - 1, min(count, SAMPLED)).astype(int)]
        camera = camera_around([solids(model, motion.q[k])[0].corners for k in some], size)
    for k in chosen:
        yield render(model, motion.q[k], size, camera, background, shadows)


def _flat(pixels: np.ndarray, background: Sequence[int]) -> ImageArray:
    """RGB of RGBA on a background."""
    alpha = pixels[..., 3:].astype(float) / 255.0
    mixed = pixels[..., :3] * alpha + np.asarray(background, dtype=float) * (1.0 - alpha)
    return np.round(mixed).astype(np.uint8)


def _check_size(size: tuple[int, int]) -> None:
    if len(size) != 2 or not all(isinstance(x, int | np.integer) and 1 <= x <= 8192 for x in size):
        raise ShapeError(
            f"A picture's size is width and height, whole numbers from 1 to 8192; it was given {size!r:.60}."
        )


def _write_gif(pictures: Frames, path: Path, rate: float) -> None:
    try:
        from PIL import Image
    except ImportError:
        raise FileError("A GIF is written with Pillow: pip install 'phistar[film]'.") from None
    made = [Image.fromarray(each).quantize(128, dither=Image.Dither.NONE) for each in pictures]
    hold = max(20, round(1000.0 / rate))  # browsers show shorter ones slower
    made[0].save(path, "GIF", save_all=True, append_images=made[1:], duration=hold, loop=0, optimize=True)


def _write_mp4(pictures: Frames, path: Path, rate: float) -> None:
    try:
        import av
    except ImportError:
        raise FileError("An MP4 is written with the package av: pip install 'phistar[film]'.") from None
    with av.open(str(path), "w") as container:
        stream: Any = None
        for each in pictures:
            even = each[: each.shape[0] // 2 * 2, : each.shape[1] // 2 * 2]  # the codec halves colours
            if stream is None:
                stream = container.add_stream("h264", rate=Fraction(rate).limit_denominator(1000))
                stream.width, stream.height, stream.pix_fmt = even.shape[1], even.shape[0], "yuv420p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(even), format="rgb24")))
        container.mux(stream.encode(None))


_WRITERS: dict[str, Callable[[Frames, Path, float], None]] = {".gif": _write_gif, ".mp4": _write_mp4}
