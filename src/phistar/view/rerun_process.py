"""The process that writes a recording of rerun: `python -m phistar.view.rerun_process FILE NAME`; arrays on stdin."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np

TIMELINE = "time"


def main() -> int:
    import rerun as rr

    arrays: Any = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    recording: Any = rr.RecordingStream("phistar", recording_id=sys.argv[2])
    recording.save(sys.argv[1])
    recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    times = [rr.TimeColumn(TIMELINE, duration=arrays["t"])]
    for name in arrays.files:
        kind, _, rest = name.partition(":")
        entity, _, part = rest.rpartition(":")
        if kind == "mesh" and part == "corners":
            recording.log(entity, _mesh(rr, arrays, entity), static=True)
        elif kind == "pose" and part == "place":
            turn = arrays[f"pose:{entity}:turn"]
            columns = rr.Transform3D.columns(translation=arrays[name], quaternion=turn)
            recording.send_columns(entity, indexes=times, columns=columns)
        elif kind == "curve":
            recording.send_columns(entity, indexes=times, columns=rr.Scalars.columns(scalars=arrays[name]))
    if "arrow:at" in arrays.files:
        _log_arrows(rr, recording, arrays)
    recording.flush()
    recording.disconnect()
    return 0


def _mesh(rr: Any, arrays: Any, entity: str) -> Any:
    corners = arrays[f"mesh:{entity}:corners"]
    faces = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
    normals, color = arrays[f"mesh:{entity}:normals"], arrays[f"mesh:{entity}:color"]
    return rr.Mesh3D(vertex_positions=corners, vertex_normals=normals, triangle_indices=faces, albedo_factor=color)


def _log_arrows(rr: Any, recording: Any, arrays: Any) -> None:
    acts, at, along = arrays["arrow:acts"], arrays["arrow:at"], arrays["arrow:along"]
    for k, t in enumerate(arrays["t"].tolist()):
        recording.set_time(TIMELINE, duration=t)
        recording.log("contacts", rr.Arrows3D(origins=at[k, acts[k]], vectors=along[k, acts[k]]))


if __name__ == "__main__":
    sys.exit(main())
