"""Motions as recordings of rerun: every body, joint and contact is in them, with the numbers of the motion."""

import numpy as np
import pytest

import phistar as ps

pytest.importorskip("rerun")


def chunks(path):
    import rerun_bindings

    return {
        chunk.entity_path: chunk.to_record_batch() for chunk in rerun_bindings.RrdReaderInternal(str(path)).stream()
    }


def column(batch, ending):
    (name,) = [name for name in batch.schema.names if name.endswith(ending)]
    return np.array([row[0] for row in batch.column(name).to_pylist()])


def test_a_recording_has_the_joints_the_poses_the_signals_and_the_contacts(tmp_path):
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(1, 0, 0.101)))
    run = ps.simulate(plant, 0.02)
    found = chunks(ps.view.write_rerun(run, tmp_path / "run.rrd"))
    joint = run.model.joints[0]
    np.testing.assert_allclose(column(found[f"/joints/{joint.name}/q"], "scalars"), run.q[:, joint.q_slice][:, 0])
    np.testing.assert_allclose(column(found["/world/ball"], "translation"), run["ball"].q[:, :3], atol=1e-6)
    assert "/contacts" in found and "/signals/residual" in found and "/world/ball/geometry_0" in found
