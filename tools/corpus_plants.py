"""Plants of strangers' MJCF files against MuJoCo: `python tools/corpus_plants.py FOLDER…`, each a wheel unpacked.

Every MJCF file that MuJoCo loads is loaded as a plant, and accelerations at random states under random controls are
compared with mj_forward; with `--run`, one second under a constant control, MuJoCo's accelerations integrated to a
tolerance of 1e-12, with `ps.simulate(…, rtol=1e-10)`. MuJoCo's soft constraints
(limits, dry friction, equalities, contact) are turned off on both sides, and actuators that the plant says do not act
are off in MuJoCo too.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mujoco as library
import numpy as np
from scipy.integrate import solve_ivp

import phistar as ps
from phistar.io.mjcf.mjcf_tree import read_names
from tools.corpus import files, kind_of, peer_loads, plain

mujoco: Any = library  # its types are not known
STATES, RATE, SPREAD = 3, 0.5, 0.3
SECONDS, ROUND = 1.0, 1e-7


@contextmanager
def unconstrained(path: Path) -> Iterator[Path]:
    """A file beside the one given that includes it and turns constraints and contact off."""
    flags = '<option><flag constraint="disable" contact="disable"/></option>'
    with tempfile.NamedTemporaryFile("w", suffix=".xml", dir=path.parent, delete=False) as made:
        made.write(f'<mujoco model="{path.stem}"><include file="{path.name}"/>{flags}</mujoco>')
    try:
        yield Path(made.name)
    finally:
        Path(made.name).unlink()


class Peer:
    """MuJoCo's model of a file beside the plant, with both's orders of coordinates and rates."""

    def __init__(self, path: Path, plant: ps.Plant) -> None:
        self.plant, self.mj = plant, mujoco.MjModel.from_xml_path(str(path))
        bits = mujoco.mjtDisableBit
        self.mj.opt.disableflags |= int(bits.mjDSBL_CONSTRAINT) | int(bits.mjDSBL_CONTACT)
        self.data = mujoco.MjData(self.mj)
        self.names = read_names(self.mj).joints
        acting = {actuator.name for actuator in plant.motors}
        self.kept = [i for i in range(self.mj.nu) if self._name(i) in acting]
        if not self.kept:  # plugins act by themselves
            self.mj.opt.disableflags |= int(bits.mjDSBL_ACTUATION)
        for number in set(range(self.mj.nu)) - set(self.kept):
            self.mj.actuator_gainprm[number] = self.mj.actuator_biasprm[number] = 0.0
            self.mj.actuator_dyntype[number] = self.mj.actuator_gaintype[number] = 0
            self.mj.actuator_biastype[number] = 0
            self.mj.actuator_plugin[number] = -1

    def _name(self, number: int) -> str:
        """What the plant calls an actuator."""
        own = self.mj.actuator(number).name
        on_joint = int(self.mj.actuator_trntype[number]) in (0, 1)
        target = self.mj.actuator_trnid[number, 0]
        return own or (self.names[target] if on_joint else self.mj.tendon(target).name or f"tendon{target}")

    def set(self, q: np.ndarray, v: np.ndarray, command: np.ndarray) -> None:
        mj, data = self.mj, self.data
        for joint, name in enumerate(self.names):
            own = self.plant.model.joints[self.plant.model.joint_indices[name]]
            at, rate = int(mj.jnt_qposadr[joint]), int(mj.jnt_dofadr[joint])
            place, pace = q[own.q_slice].copy(), v[own.v_slice].copy()
            if mj.jnt_type[joint] in (0, 1):  # free, ball: quaternions w first
                place[-4:] = np.roll(place[-4:], 1)
            if mj.jnt_type[joint] == 0:
                pace = np.concatenate([rotation(place[-4:]) @ pace[3:], pace[:3]])
            data.qpos[at : at + len(place)], data.qvel[rate : rate + len(pace)] = place, pace
        data.ctrl[:] = 0.0
        data.ctrl[self.kept] = command

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and v̇ in the plant's order."""
        mj, data, model = self.mj, self.data, self.plant.model
        q, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        for joint, name in enumerate(self.names):
            own = model.joints[model.joint_indices[name]]
            at, rate = int(mj.jnt_qposadr[joint]), int(mj.jnt_dofadr[joint])
            place = data.qpos[at : at + len(q[own.q_slice])].copy()
            pace, change = data.qvel[rate : rate + own.nv].copy(), data.qacc[rate : rate + own.nv].copy()
            if mj.jnt_type[joint] == 0:
                turn = rotation(place[-4:]).T
                pace = np.concatenate([pace[3:], turn @ pace[:3]])
                change = np.concatenate([change[3:], turn @ change[:3] - np.cross(pace[:3], pace[3:])])
            if mj.jnt_type[joint] in (0, 1):
                place[-4:] = np.roll(place[-4:], -1)
            q[own.q_slice], v[own.v_slice], a[own.v_slice] = place, pace, change
        return q, v, a


def rotation(quaternion: np.ndarray) -> np.ndarray:
    made = np.zeros(9)
    mujoco.mju_quat2Mat(made, quaternion)
    return made.reshape(3, 3)


def commands(plant: ps.Plant, random: np.random.Generator) -> np.ndarray:
    """A control within each actuator's range."""
    spans = [actuator.command_range for actuator in plant.actuators]
    return np.array([random.uniform(max(low, -1.0), min(high, 1.0)) if max(low, -1.0) < min(high, 1.0) else
                     0.5 * (low + high) for low, high in spans])  # fmt: skip


def acceleration_error(plant: ps.Plant, peer: Peer, seed: int = 0) -> float:
    """Largest |v̇ − MuJoCo's| of some states, as a part of the largest acceleration."""
    random, worst = np.random.default_rng(seed), 0.0
    for _ in range(STATES):
        change = SPREAD * random.normal(size=plant.model.nv)
        q, v = plant.model.integrate(plant.state().q, change), RATE * random.normal(size=plant.model.nv)
        command = commands(plant, random)
        peer.set(q, v, command)
        mujoco.mj_forward(peer.mj, peer.data)
        expected = peer.state()[2]
        found = plant.acceleration(plant.state(q, v), command)
        worst = max(
            worst, float(np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1.0))
        )
    return worst


def run_error(plant: ps.Plant, peer: Peer) -> float:
    """Largest difference of q after a second from the file's start, under a constant control within its range.

    MuJoCo's accelerations are integrated by SciPy's LSODA: its own RK4 would need steps of a microsecond where servos
    are stiff. Quaternions follow q' = ½ q ω.
    """
    command, start = commands(plant, np.random.default_rng(1)), plant.state()
    mj, data = peer.mj, peer.data
    peer.set(start.q, start.v, command)
    turning = [(int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j]), int(mj.jnt_type[j])) for j in range(mj.njnt)
               if mj.jnt_type[j] in (0, 1)]  # fmt: skip
    straight = [(int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j])) for j in range(mj.njnt) if mj.jnt_type[j] in (2, 3)]
    places, rates = (np.array([pair[k] for pair in straight], dtype=int) for k in range(2))

    def change(_: float, y: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = y[: mj.nq], y[mj.nq :]
        mujoco.mj_forward(mj, data)
        made = np.zeros_like(y)
        made[places] = data.qvel[rates]
        for at, rate, kind in turning:
            if kind == 0:
                made[at : at + 3] = data.qvel[rate : rate + 3]
                at, rate = at + 3, rate + 3
            spin = np.array([0.0, *(0.5 * data.qvel[rate : rate + 3])])  # in the body's axes
            mujoco.mju_mulQuat(made[at : at + 4], data.qpos[at : at + 4].copy(), spin)
        made[mj.nq :] = data.qacc
        return made

    first = np.concatenate([data.qpos, data.qvel])
    found = solve_ivp(change, (0.0, SECONDS), first, "LSODA", rtol=1e-12, atol=1e-13)
    change(0.0, found.y[:, -1])
    run = ps.simulate(plant, SECONDS, start=start, step=SECONDS, rtol=1e-10, atol=1e-12,
                      control=(lambda *_: command) if plant.actuators else None)  # fmt: skip
    expected = plant.model.normalized(peer.state()[0])
    return float(np.abs(plant.model.difference(run.q[-1], expected)).max(initial=0.0))


def outcome(path: Path, packages: Path, runs: bool) -> tuple[str, float, float, Sequence[str]]:
    """The refusal ("" where it loads), errors of accelerations and of a run, and what was told of left-out things."""
    try:
        with unconstrained(path) as file:
            full, plant = ps.Plant.load(path, packages=packages), ps.Plant.load(file, packages=packages)
            if not plant.model.nv:
                return "", 0.0, 0.0, full.warnings
            peer = Peer(path, plant)
            return "", acceleration_error(plant, peer), run_error(plant, peer) if runs else 0.0, full.warnings
    except ps.PhistarError as error:
        return str(error), np.nan, np.nan, ()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.corpus_plants", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--run", action="store_true", help="compare a second of motion too")
    parser.add_argument("--most", type=float, default=1e-9, help="largest error of accelerations that counts as equal")
    parser.add_argument("--skip", default="^$", help="leave out files whose names match this expression")
    given = parser.parse_args()
    told: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for folder in given.folders:
        for path in files(folder):
            if kind_of(path) != "MJCF" or re.search(given.skip, path.name) or not peer_loads(path):
                continue
            counts["files"] += 1
            reason, error, run, warnings = outcome(path, folder, given.run)
            counts["loaded"] += not reason
            counts["equal"] += error <= given.most
            counts["same runs"] += given.run and run <= ROUND
            told.update({plain(re.sub(r"[\d.]+", "#", text)) for text in warnings})
            print(f"{path.relative_to(folder)!s:90.90} {reason[:160] or f'{error:8.1e} {run:8.1e}'}", flush=True)
    print(dict(counts))
    for text, count in told.most_common(30):
        print(f"{count:5} {text[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
