"""MuJoCo's own compiler, asked for numbers: defaults, frames, angles, inertias of geoms come out as MuJoCo means them.

Nothing is printed, no log file is left behind, and whatever MuJoCo raises becomes a sentence with the file's own line.
"""

import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import FileError
from phistar.io.mjcf.document import Document
from phistar.io.mjcf.meshes import MeshFile, settle_meshes
from phistar.io.packages import Folders
from phistar.io.xml import quote
from phistar.model.parts import WORLD

_LOCK = threading.Lock()  # MuJoCo's handler of warnings is one for the whole process
_MAX_DOFS = 4000
_LINE = re.compile(r",? *\bline (\d+)")


class Drive(NamedTuple):
    """An actuator's gain, and bias force b₀ + b₁ length + b₂ rate; ranges of its force and its control; whether it is
    of this kind at all, without muscles or dynamics of its own."""

    name: str
    gain: float
    bias: tuple[float, ...]
    force_range: tuple[float, float]
    control_range: tuple[float, float]
    plain: bool
    muscle: bool = False
    inherited: float = 0.0  # share of the target's range that the control has

    @property
    def has_ratio(self) -> bool:
        """Whether b₂ is a damping ratio, as <position dampratio=…> writes it."""
        return self.plain and self.bias[2] > 0.0 and self.gain == -self.bias[1] and self.gain > 0.0

    @property
    def strongest(self) -> float:
        """The largest force it can exert, whichever way; infinity where nothing bounds it."""
        by_range = max(abs(bound) for bound in self.force_range)
        if not self.plain or any(self.bias):
            return by_range
        return min(by_range, abs(self.gain) * max(abs(bound) for bound in self.control_range)) if self.gain else 0.0


@dataclass(frozen=True)
class Compiled:
    """MuJoCo's model of a file (`mj`), with what it does not hold: actuator rotors, meshes, lines, things left out."""

    mujoco: Any
    mj: Any
    spec: Any
    document: Document
    meshes: dict[int, MeshFile | None]
    left_out: Mapping[str, int]
    heard: tuple[str, ...]
    drives: tuple[Drive, ...] = ()

    def is_enabled(self, effect: str) -> bool:
        """Whether <option><flag> leaves an effect on: "SPRING", "EQUALITY", … as in MuJoCo's mjtDisableBit."""
        bits = self.mujoco.mjtDisableBit
        off = int(getattr(bits, f"mjDSBL_{effect}"))
        if effect in ("EQUALITY", "FRICTIONLOSS", "LIMIT"):
            off |= int(bits.mjDSBL_CONSTRAINT)
        return not self.mj.opt.disableflags & off

    @property
    def has_passive_forces(self) -> bool:
        """MuJoCo leaves out every passive force when springs and dampers are both off."""
        return self.is_enabled("SPRING") or self.is_enabled("DAMPER")

    @cached_property
    def driven_joints(self) -> np.ndarray:
        """The joint of one coordinate that each actuator acts on, −1 for other targets."""
        mj, targets, kinds = self.mj, self.mujoco.mjtTrn, self.mujoco.mjtJoint
        on_joint = np.isin(mj.actuator_trntype, [int(targets.mjTRN_JOINT), int(targets.mjTRN_JOINTINPARENT)])
        joints = np.where(on_joint, mj.actuator_trnid[:, 0], -1)
        scalar = np.append(np.isin(mj.jnt_type, [int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE)]), False)
        return np.where(scalar[joints], joints, -1)

    @cached_property
    def efforts(self) -> np.ndarray:
        """(njnt,): the largest force or moment that actuators exert on each joint, themselves or through fixed tendons;
        infinity where nothing bounds it, 0 where none acts."""
        mj, targets = self.mj, self.mujoco.mjtTrn
        found = np.zeros(mj.njnt)
        for number, (kind, drive) in enumerate(zip(mj.actuator_trntype, self.drives, strict=True)):
            gear, target = mj.actuator_gear[number], mj.actuator_trnid[number, 0]
            if kind in (int(targets.mjTRN_JOINT), int(targets.mjTRN_JOINTINPARENT)):
                ball = mj.jnt_type[target] == int(self.mujoco.mjtJoint.mjJNT_BALL)
                found[target] += _force_behind_gear(drive, float(np.linalg.norm(gear[:3])) if ball else gear[0])
            elif kind == int(targets.mjTRN_TENDON):
                wraps = slice(mj.tendon_adr[target], mj.tendon_adr[target] + mj.tendon_num[target])
                over_joints = mj.wrap_type[wraps] == int(self.mujoco.mjtWrap.mjWRAP_JOINT)
                shares = zip(mj.wrap_objid[wraps][over_joints], mj.wrap_prm[wraps][over_joints], strict=True)
                for joint, share in shares:
                    found[joint] += _force_behind_gear(drive, gear[0] * share)
        return found

    @cached_property
    def reflected_inertia(self) -> tuple[np.ndarray, np.ndarray]:
        """Armature and damping that the actuators add to each joint: their own times the square of the gear."""
        mj, on_joint = self.mj, self.driven_joints >= 0
        added = np.zeros((2, mj.njnt))
        for row, own in zip(added, (mj.actuator_armature, mj.actuator_damping), strict=True):
            np.add.at(row, self.driven_joints[on_joint], (mj.actuator_gear[:, 0] ** 2 * own)[on_joint])
        return added[0], added[1]

    @cached_property
    def bodies(self) -> dict[int, Any]:
        """The spec's bodies by their numbers in `mj`."""
        return {body.id: body for body in self.spec.bodies}

    def refuse(self, element: Any, sentence: str) -> FileError:
        """The error to raise about an element of the spec, in the file's own words and line."""
        return _refusal(self.document, element, sentence)


def compile_document(document: Document, folders: Folders, floating: bool) -> Compiled:
    """The document as MuJoCo understands it, with motors in the places of its actuators (`drives` are as written)."""
    mujoco = _import_mujoco()
    with _listening(mujoco) as heard:
        spec = _trying(document, lambda: mujoco.MjSpec.from_string(document.text))
        _check_size(mujoco, spec, document)
        if floating:
            _free_base(mujoco, spec, document)
        left_out = Counter(document.left_out)
        meshes = settle_meshes(mujoco, spec, folders, partial(_origin, document))
        drives = tuple(_drive(mujoco, actuator) for actuator in spec.actuators)
        _prune(mujoco, spec)
        if not document.plant:
            left_out["actuators"] += len(drives)
        mj = _trying(document, spec.compile)
    gone = left_out + meshes.left_out
    drives = _with_damping_ratios(mujoco, mj, drives)
    return Compiled(mujoco, mj, spec, document, meshes.by_id(), gone, tuple(heard), drives)


def _with_damping_ratios(mujoco: Any, mj: Any, drives: tuple[Drive, ...]) -> tuple[Drive, ...]:
    """Damping ratios of position servos, which stand as positive b₂, as damping: −2ζ√(kp m), where m is the inertia at
    the start that the actuator meets, 1/(moment ℳ⁻¹ moment*)."""
    if not any(drive.has_ratio for drive in drives):
        return drives
    data, moments, moved = mujoco.MjData(mj), np.zeros((mj.nu, mj.nv)), np.zeros((mj.nu, mj.nv))
    mujoco.mj_fwdPosition(mj, data)
    rows = data.moment_rownnz, data.moment_rowadr, data.moment_colind
    mujoco.mju_sparse2dense(moments, data.actuator_moment.reshape(-1), *rows)
    mujoco.mj_solveM(mj, data, moved, moments)
    made = list(drives)
    for number, drive in enumerate(drives):
        if drive.has_ratio:
            softness = float(moments[number] @ moved[number])
            damping = -2.0 * drive.bias[2] * np.sqrt(-drive.bias[1] / softness) if softness > 0.0 else 0.0
            made[number] = drive._replace(bias=(drive.bias[0], drive.bias[1], float(damping)))
    return tuple(made)


def _drive(mujoco: Any, actuator: Any) -> Drive:
    """The gains of an actuator as they were written; the compiled model has motors in their places."""
    spans = []
    for limited, span in ((actuator.forcelimited, actuator.forcerange), (actuator.ctrllimited, actuator.ctrlrange)):
        given = limited == mujoco.mjtLimited.mjLIMITED_TRUE
        given |= limited == mujoco.mjtLimited.mjLIMITED_AUTO and span[0] < span[1]
        spans.append((float(span[0]), float(span[1])) if given else (-np.inf, np.inf))
    affine = actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE
    fixed = actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED and actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
    bias = tuple(float(x) for x in actuator.biasprm[:3]) if affine else (0.0, 0.0, 0.0)
    muscle = actuator.gaintype == mujoco.mjtGain.mjGAIN_MUSCLE or actuator.dyntype == mujoco.mjtDyn.mjDYN_MUSCLE
    return Drive(
        actuator.name,
        float(actuator.gainprm[0]),
        bias,
        spans[0],
        spans[1],
        bool(fixed),
        bool(muscle),
        float(actuator.inheritrange),
    )


def _force_behind_gear(drive: Drive, gear: float) -> float:
    """The largest force behind a gear: nothing passes one of 0."""
    return abs(gear) * drive.strongest if gear else 0.0


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as problem:
        raise FileError(
            f"MJCF files are read with MuJoCo, which cannot be imported here ({problem}); "
            'install it with: pip install "phistar[mjcf]".'
        ) from None
    if int(mujoco.__version__.split(".")[0]) < 4:
        raise FileError(f"MJCF files are read with MuJoCo 4 or newer; {mujoco.__version__} is installed: upgrade it.")
    return mujoco


def _check_size(mujoco: Any, spec: Any, document: Document) -> None:
    """MuJoCo's memory grows with the square of the degrees of freedom, and its time faster."""
    kinds = mujoco.mjtJoint
    dofs = {kinds.mjJNT_FREE: 6, kinds.mjJNT_BALL: 3, kinds.mjJNT_SLIDE: 1, kinds.mjJNT_HINGE: 1}
    count = sum(dofs[joint.type] for joint in spec.joints)
    if count > _MAX_DOFS:
        raise FileError(
            f"{document.origins[0][0]}: {count} degrees of freedom are more than the {_MAX_DOFS} that are read."
        )


def _free_base(mujoco: Any, spec: Any, document: Document) -> None:
    """floating=True: a free joint `root` for the one body that is fixed to the world."""
    carried = [body for body in spec.bodies if body.parent is not None and not body.mocap]
    bases = [body for body in carried if body.parent.name == WORLD]
    if len(bases) != 1:
        raise FileError(
            f"{document.origins[0][0]}: floating=True frees the one body that hangs on the world; "
            f"here {len(bases)} do. Leave floating=False."
        )
    base = bases[0]
    if len(base.joints):
        sentence = f"body {quote(base.name)} moves in the world already, so floating=True has nothing to free."
        raise _refusal(document, base, sentence)
    for joint in spec.joints:
        if joint.name == "root":
            sentence = "a joint is called 'root', the name of the free joint that floating=True adds."
            raise _refusal(document, joint, sentence)
    base.add_freejoint(name="root").align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE


def _prune(mujoco: Any, spec: Any) -> None:
    """Keeps every body and geom; of the actuators only what they add to the inertia and damping of their joints."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.compiler.usethread = False
    spec.compiler.LRopt.mode = 0  # would simulate the model to find the lengths of muscles
    for actuator in spec.actuators:
        actuator.set_to_motor()
        actuator.nsample, actuator.delay, actuator.inheritrange = 0, 0.0, 0.0
        for limited in ("ctrllimited", "forcelimited", "actlimited"):
            setattr(actuator, limited, mujoco.mjtLimited.mjLIMITED_FALSE)


@contextmanager
def _listening(mujoco: Any) -> Iterator[list[str]]:
    """Gathers MuJoCo's warnings, which it would print and append to MUJOCO_LOG.TXT."""
    heard: list[str] = []
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        previous = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(heard.append)
        try:
            yield heard
        finally:
            mujoco.set_mju_user_warning(previous)
            heard.extend(str(warning.message) for warning in caught)


def _trying(document: Document, step: Any) -> Any:
    try:
        return step()
    except Exception as problem:  # MuJoCo raises whatever its C++ raises
        lines = [line for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
        found = _LINE.search(str(problem))
        reason = re.sub(r"^((XML )?Error: )+", "", lines[0]).rstrip(". ")
        element = _LINE.sub("", lines[1]).strip() if len(lines) > 1 else ""
        about = f" ({element[0].lower()}{element[1:]})" if element.startswith("Element") else ""
        file, line = document.origin(int(found[1]) if found else 1)
        raise FileError(f"{file}:{line}: MuJoCo does not accept this: {reason}{about}.") from None


def _refusal(document: Document, element: Any, sentence: str) -> FileError:
    """The error about an element of a spec, with its line in the file."""
    file, line = _origin(document, element)
    return FileError(f"{file}:{line}: {sentence}")


def _origin(document: Document, element: Any) -> tuple[str, int]:
    """The file and the line that an element of a spec came from."""
    found = _LINE.search(str(element.info))
    return document.origin(int(found[1]) if found else 1)
