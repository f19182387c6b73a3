"""A moving picture of a run, for README.md: the frames of a folder that `phistar run --out` left, as a GIF.

python tools/animation.py RUN FILE.gif [BEGIN END]      seconds of the run

The one in README.md: `phistar run grapple --seed 0 --out run`, then this, from when the arms start to when they hold:
`python tools/animation.py run docs/pictures/grapple.gif 15 29`.
"""

import sys
from pathlib import Path

import numpy as np

from phistar.view.report_picture import camera_around, image, solids
from phistar.view.report_run import load_motion

SIZE, FRAMES, HOLD = (520, 290), 36, 110  # pixels, how many, milliseconds each
TOWARDS = (1.9, -0.7, 0.75)
PAPER = np.array([255, 255, 255])


def main() -> int:
    from PIL import Image

    run = load_motion(sys.argv[1])
    t = run.t
    begin, end = (float(x) for x in sys.argv[3:5]) if len(sys.argv) > 4 else (t[0], t[-1])
    chosen = [int(np.argmin(np.abs(t - time))) for time in np.linspace(begin, end, FRAMES)]
    drawn = [solids(run.model, run.q[k]) for k in chosen]
    camera = camera_around([solid.corners for solid, _ in drawn], SIZE, direction=TOWARDS)
    frames = []
    for solid, ground in drawn:
        pixels = image(solid, ground, camera, SIZE).astype(float)
        alpha = pixels[..., 3:] / 255
        flat = np.round(pixels[..., :3] * alpha + PAPER * (1 - alpha)).astype(np.uint8)
        frames.append(Image.fromarray(flat).quantize(96, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE))
    durations = [HOLD] * (len(frames) - 1) + [1500]
    frames[0].save(
        Path(sys.argv[2]), save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
