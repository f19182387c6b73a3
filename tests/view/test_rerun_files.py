"""Motions as recordings of rerun: every body, joint and contact is in them, with the numbers of the motion."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

import phistar as ps

if importlib.util.find_spec("rerun") is None:
    pytest.skip("rerun-sdk is not installed", allow_module_level=True)

READER = """
import json, sys, rerun_bindings
found = {}
for chunk in rerun_bindings.RrdReaderInternal(sys.argv[1]).stream():
    batch = chunk.to_record_batch()
    wanted = [name for name in batch.schema.names if name.endswith(("scalars", "translation"))]
    found[chunk.entity_path] = [row[0] for row in batch.column(wanted[0]).to_pylist()] if wanted else []
print(json.dumps(found))
"""


def chunks(path):
    """Entities with their numbers; read by a process of its own, as rerun's library is better kept out of this one."""
    done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_recording_has_the_joints_the_poses_the_signals_and_the_contacts(tmp_path):
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(1, 0, 0.101)))
    run = ps.simulate(plant, 0.02)
    found = chunks(ps.view.write_rerun(run, tmp_path / "run.rrd"))
    joint = run.model.joints[0]
    np.testing.assert_allclose(found[f"/joints/{joint.name}/q"], run.q[:, joint.q_slice][:, 0])
    np.testing.assert_allclose(found["/world/ball"], run["ball"].q[:, :3], atol=1e-6)
    assert "/contacts" in found and "/signals/residual" in found and "/world/ball/geometry_0" in found
