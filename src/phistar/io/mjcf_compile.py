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
from functools import cached_property
from typing import Any

import numpy as np

from phistar.errors import FileError
from phistar.io.mjcf_document import Document
from phistar.io.mjcf_meshes import MeshFile, settle_meshes
from phistar.io.packages import Folders

_LOCK = threading.Lock()  # MuJoCo's handler of warnings is one for the whole process
_LINE = re.compile(r",? *\bline (\d+)")


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

    def enabled(self, effect: str) -> bool:
        """Whether <option><flag> leaves an effect on: "SPRING", "EQUALITY", … as in MuJoCo's mjtDisableBit."""
        bits = self.mujoco.mjtDisableBit
        off = int(getattr(bits, f"mjDSBL_{effect}"))
        if effect in ("EQUALITY", "FRICTIONLOSS", "LIMIT"):
            off |= int(bits.mjDSBL_CONSTRAINT)
        return not self.mj.opt.disableflags & off

    @cached_property
    def driven(self) -> np.ndarray:
        """The joint that each actuator adds its armature and damping to, −1 for none."""
        joints = [self.driven_joint(actuator) for actuator in range(self.mj.nactuator)]
        return np.array([-1 if joint is None else joint for joint in joints])

    @property
    def has_passive_forces(self) -> bool:
        """MuJoCo leaves out every passive force when springs and dampers are both off."""
        return self.enabled("SPRING") or self.enabled("DAMPER")

    def driven_joint(self, actuator: int) -> int | None:
        """The joint of one coordinate that an actuator acts on; None for other targets."""
        kinds, transmissions = self.mujoco.mjtJoint, self.mujoco.mjtTrn
        joint = int(self.mj.actuator_trnid[actuator, 0])
        if int(self.mj.actuator_trntype[actuator]) not in (
            transmissions.mjTRN_JOINT,
            transmissions.mjTRN_JOINTINPARENT,
        ):
            return None
        return joint if int(self.mj.jnt_type[joint]) in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE) else None

    def refuse(self, element: Any, sentence: str) -> FileError:
        """The error to raise about an element of the spec, in the file's own words and line."""
        return FileError(f"{_where(self.document, element)}: {sentence}")


def compile_document(document: Document, folders: Folders) -> Compiled:
    """The document as MuJoCo understands it, without what only draws, senses or drives."""
    mujoco = _import_mujoco()
    with _listening(mujoco) as heard:
        spec = _trying(document, lambda: mujoco.MjSpec.from_string(document.text))
        left_out = Counter(document.left_out)
        meshes = settle_meshes(mujoco, spec, folders, lambda element: _where(document, element))
        _prune(spec, left_out)
        mj = _trying(document, spec.compile)
    if mj is None or not _is_finite(mj):
        raise FileError(f"{document.where(1)}: the numbers of this file grow beyond what can be computed with.")
    return Compiled(mujoco, mj, spec, document, meshes.by_id(), left_out + meshes.left_out, tuple(heard))


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


def _prune(spec: Any, left_out: Counter[str]) -> None:
    """Keeps every body and geom, and of the actuators only those that add inertia or damping to a joint."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    spec.compiler.usethread = False
    spec.compiler.LRopt.mode = 0  # would simulate the model to find the lengths of muscles
    for actuator in spec.actuators:
        left_out["actuators"] += 1
        actuator.nsample = 0
        if not actuator.armature and not np.any(actuator.damping):
            spec.delete(actuator)


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
        reason = re.sub(r"^(XML )?Error: ", "", lines[0]).rstrip(". ")
        element = _LINE.sub("", lines[1]).strip() if len(lines) > 1 else ""
        about = f" ({element[0].lower()}{element[1:]})" if element.startswith("Element") else ""
        raise FileError(
            f"{document.where(int(found[1]) if found else 1)}: MuJoCo does not accept this: {reason}{about}."
        ) from None


def _where(document: Document, element: Any) -> str:
    found = _LINE.search(str(element.info))
    return document.where(int(found[1]) if found else 1)


def _is_finite(mj: Any) -> bool:
    fields = "body_pos body_quat body_mass body_ipos body_iquat body_inertia jnt_pos jnt_axis jnt_range jnt_stiffness "
    fields += (
        "dof_armature dof_damping dof_frictionloss qpos0 qpos_spring site_pos site_quat geom_pos geom_quat geom_size "
    )
    fields += "eq_data tendon_length0 actuator_armature actuator_damping actuator_gear"
    return all(np.isfinite(getattr(mj, name)).all() for name in fields.split())
