"""Tendons of an MJCF file, their equalities, and actuators that pull them or push at sites, as tendons of a plant."""

from __future__ import annotations

from typing import Any, NamedTuple

from phistar.io.mjcf.compile import Compiled, Drive
from phistar.io.mjcf.mjcf_equalities import joints_of_tendon
from phistar.io.mjcf.mjcf_tree import Names, read_names
from phistar.io.mjcf.supported_tendons import is_affine_equality, wraps
from phistar.plant.actuators import Actuator, Kind
from phistar.plant.tendons import INFINITE, JointTerm, Stretch, Tendon, Term, Thrust


class FileTendons(NamedTuple):
    """Tendons of a plant, and the number among them of each of MuJoCo's, of those that a plant has."""

    tendons: tuple[Tendon, ...]
    numbers: dict[int, int]


def read_tendons(compiled: Compiled, robot: str) -> FileTendons:
    """Tendons that do not wrap around geoms, and one more for each equality of more than two joints."""
    mj, names = compiled.mj, read_names(compiled.mj)
    kept = [tendon for tendon in range(mj.ntendon) if not wraps(compiled, tendon)]
    made = [_tendon(compiled, names, tendon, robot) for tendon in kept]
    return FileTendons((*made, *_equalities(compiled, names, robot)), {each: i for i, each in enumerate(kept)})


def _tendon(compiled: Compiled, names: Names, tendon: int, robot: str) -> Tendon:
    mj = compiled.mj
    limited = mj.tendon_limited[tendon] and compiled.is_enabled("LIMIT")
    return Tendon(
        mj.tendon(tendon).name or f"tendon{tendon}",
        _terms(compiled, names, tendon),
        stiffness=float(mj.tendon_stiffness[tendon]) if compiled.is_enabled("SPRING") else 0.0,
        damping=float(mj.tendon_damping[tendon]) if compiled.is_enabled("DAMPER") else 0.0,
        rest=(float(mj.tendon_lengthspring[tendon, 0]), float(mj.tendon_lengthspring[tendon, 1])),
        limits=(float(mj.tendon_range[tendon, 0]), float(mj.tendon_range[tendon, 1])) if limited else INFINITE,
        friction=float(mj.tendon_frictionloss[tendon]) if compiled.is_enabled("FRICTIONLOSS") else 0.0,
        robot=robot,
    )


def _terms(compiled: Compiled, names: Names, tendon: int, factor: float = 1.0) -> tuple[Term, ...]:
    """Joints, or straight ways between sites; behind a pulley they count 1/divisor, and a new way begins."""
    mj, kinds, made = compiled.mj, compiled.mujoco.mjtWrap, []
    share, last = factor, ""
    for number in range(mj.tendon_adr[tendon], mj.tendon_adr[tendon] + mj.tendon_num[tendon]):
        kind, what, given = mj.wrap_type[number], int(mj.wrap_objid[number]), float(mj.wrap_prm[number])
        if kind == int(kinds.mjWRAP_JOINT):
            made.append(JointTerm(names.joints[what], factor * given))
        elif kind == int(kinds.mjWRAP_PULLEY):
            share, last = factor / given, ""
        else:
            site = names.sites[what]
            if last:
                made.append(Stretch(last, site, share))
            last = site
    return tuple(made)


def _equalities(compiled: Compiled, names: Names, robot: str) -> list[Tendon]:
    """L₁ − L₁₀ = a₀ + a₁(L₂ − L₂₀): held sums of terms."""
    mj, made = compiled.mj, []
    for number in range(mj.neq):
        if not is_affine_equality(compiled, number) or joints_of_tendon(compiled, number):
            continue
        first, second, data = int(mj.eq_obj1id[number]), int(mj.eq_obj2id[number]), mj.eq_data[number]
        terms, held = _terms(compiled, names, first), float(mj.tendon_length0[first] + data[0])
        if second >= 0:
            terms += _terms(compiled, names, second, -float(data[1]))
            held -= float(data[1] * mj.tendon_length0[second])
        name = mj.equality(number).name or f"equality{number}"
        made.append(Tendon(name, terms, held=held, robot=robot))
    return made


def tendon_of_actuator(compiled: Compiled, number: int, found: FileTendons, robot: str) -> Tendon | int | None:
    """What an actuator acts along that is no joint of one coordinate: a tendon by its number, or one to be added for
    a site or a joint of several coordinates; None where a plant has none."""
    mj, targets, names = compiled.mj, compiled.mujoco.mjtTrn, read_names(compiled.mj)
    kind, target = int(mj.actuator_trntype[number]), int(mj.actuator_trnid[number, 0])
    name = f"{mj.actuator(number).name or f'actuator{number}'}:way"
    if kind == int(targets.mjTRN_TENDON):
        return found.numbers.get(target)
    if kind == int(targets.mjTRN_SITE) and mj.actuator_trnid[number, 1] < 0:
        force, moment = mj.actuator_gear[number, :3].tolist(), mj.actuator_gear[number, 3:].tolist()
        return Tendon(name, (Thrust(names.sites[target], (*moment, *force)),), robot=robot)
    return None


def tendon_actuator(compiled: Compiled, number: int, tendon: int, name: str) -> Actuator:
    """gear·(gain·u + b₀ + b₁ gear·L + b₂ gear·L̇) along a tendon; a site's gear is in its wrench already."""
    mj, drive = compiled.mj, compiled.drives[number]
    at_site = mj.actuator_trntype[number] == int(compiled.mujoco.mjtTrn.mjTRN_SITE)
    gear = 1.0 if at_site else float(mj.actuator_gear[number, 0])
    low, high = sorted(gear * bound if gear else 0.0 for bound in drive.force_range)
    kind, scale, offset, gains = servo_numbers(drive.gain, drive.bias, gear)
    span = drive.control_range if at_site else control_range(drive, mj.tendon_range[mj.actuator_trnid[number, 0]])
    return Actuator(
        name, kind, name, -1, tendon, *gains, max(abs(low), abs(high)), scale, span,
        offset=offset, force_range=(low, high),
    )  # fmt: skip


def servo_numbers(gain: float, bias: Any, gear: float) -> tuple[Kind, float, float, tuple[float, float]]:
    """Kind, factor and offset of the command, and gains, of gear·(gain·u + b₀ + b₁ gear·x + b₂ gear·ẋ): what falls with
    x and ẋ is implicit, the rest is what the command is multiplied by and what is added to it."""
    stiffness, damping = -bias[1] * gear**2, -bias[2] * gear**2
    kind: Kind = "position" if stiffness > 0.0 else "velocity" if damping > 0.0 else "force"
    held = {"position": stiffness, "velocity": damping, "force": 1.0}[kind]
    gains = (stiffness if kind == "position" else 0.0, 0.0 if kind == "force" else max(damping, 0.0))
    return kind, float(gear * gain / held), float(gear * bias[0] / held), (float(gains[0]), float(gains[1]))


def control_range(drive: Drive, span: Any) -> tuple[float, float]:
    """The range of an actuator's control: its own, or with `inheritrange` that share of its target's."""
    if not drive.inherited:
        return drive.control_range
    middle, half = 0.5 * (span[0] + span[1]), 0.5 * (span[1] - span[0]) * drive.inherited
    return float(middle - half), float(middle + half)


def tendon_warnings(compiled: Compiled) -> list[str]:
    """A sentence about tendons that wrap around geoms, which a plant has not."""
    mj = compiled.mj
    names = [mj.tendon(t).name or f"tendon{t}" for t in range(mj.ntendon) if wraps(compiled, t)]
    if not names:
        return []
    told = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return [
        f"{len(names)} tendons wrap around geoms and were left out ({told}): a plant's run straight between sites. "
        "plant.add_tendon(name, frames, …) adds one that runs over frames of your choice."
    ]
