"""The process behind an FMU of a scene: `python -m phistar.onboard.fmu_process RESOURCES SOCKET`.

The FMU's C starts it and sends, by the socket of that number, how many seconds to go on (0: begin) and the inputs; it
answers with how that went, a float (0; 1: failed; 2: the scene has ended with this step), and the outputs, or what was
wrong in 500 bytes.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from pathlib import Path

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.onboard.scene_sides import SceneSide
from phistar.sim.scenes.scene import Scene

LONGEST = 500
FINE, FAILED, OVER = 0.0, 1.0, 2.0
SCENE, SETTINGS = "scene.toml", "run.json"


def side_of(resources: Path) -> SceneSide:
    """The side of the scene that an FMU's resources name."""
    try:
        told = json.loads((resources / SETTINGS).read_text("utf-8"))
        packages = [resources / str(folder) for folder in told["packages"]]
        side, seed, code = str(told["side"]), int(told["seed"]), bool(told["code"])
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(f"{resources}: these are no resources of a scene's FMU.") from None
    return SceneSide(Scene.load(resources / "scene" / SCENE, packages, code), side, seed)


def answer(link: socket.socket, resources: Path) -> None:
    """Answer questions until there are no more."""
    try:
        side = side_of(resources)
        size = 8 * (1 + len(side.names.inputs))
    except PhistarError as error:
        link.sendall(_failure(error))
        return
    while question := _read(link, size):
        length, inputs = struct.unpack_from("<d", question)[0], np.frombuffer(question, "<f8", offset=8)
        try:
            made = side.step(length, inputs) if length > 0.0 else side.start()
            status = OVER if side.over else FINE
            link.sendall(struct.pack("<d", status) + np.asarray(made, dtype="<f8").tobytes())
        except PhistarError as error:
            link.sendall(_failure(error))


def _read(link: socket.socket, size: int) -> bytes:
    """So many bytes; none where the other end is closed."""
    found = b""
    while len(found) < size:
        more = link.recv(size - len(found))
        if not more:
            return b""
        found += more
    return found


def _failure(error: Exception) -> bytes:
    text = str(error).encode("utf-8")[: LONGEST - 1].decode("utf-8", "ignore").encode("utf-8")
    return struct.pack("<d", FAILED) + text.ljust(LONGEST, b"\0")


def main() -> None:
    resources, number = sys.argv[1:]
    with socket.socket(fileno=int(number)) as link:
        answer(link, Path(resources))


if __name__ == "__main__":
    main()
