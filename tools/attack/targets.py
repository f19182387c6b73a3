"""What is attacked: for each kind of file a whole one, spoiled by chance, and the call that reads it."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from tools.attack.mesh_targets import mesh, mesh_beside
from tools.attack.mutate import Attempt
from tools.attack.robot_targets import dh_table, model_file, robot_file, sdf, sidecar, xacro
from tools.attack.run_targets import certificate, checkpoint, model_inside, plant, run_folder, scene, trajectory

# Each kind with its share of the cases: scenes, plants and checkpoints build worlds and take long.
TARGETS: dict[str, tuple[Callable[[Random, Path], Attempt], int]] = {
    "urdf": (robot_file("urdf/*.urdf"), 30),
    "mjcf": (robot_file("mjcf/*.xml"), 20),
    "sdf": (sdf, 6),
    "xacro": (xacro, 6),
    "dh": (dh_table, 8),
    "sidecar": (sidecar, 8),
    "model": (model_file, 6),
    "mesh": (mesh, 16),
    "mesh beside": (mesh_beside, 6),
    "scene": (scene, 6),
    "plant": (plant, 6),
    "run": (run_folder, 4),
    "trajectory": (trajectory, 4),
    "model inside": (model_inside, 2),
    "checkpoint": (checkpoint, 2),
    "certificate": (certificate, 4),
}
