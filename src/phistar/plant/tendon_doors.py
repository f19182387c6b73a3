"""The doors of tendons: `plant.add_tendon` and `plant.actuate_tendon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from phistar.errors import ModelError
from phistar.model.names import unknown
from phistar.plant.actuators import Actuator, Kind
from phistar.plant.tendons import INFINITE, JointTerm, Stretch, Tendon, Term, check_tendon

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


def tendons_of(plant: Plant) -> tuple[Tendon, ...]:
    """A plant's tendons by the names of its model."""
    return tuple(t.with_prefix(plant.prefix(t.robot)) if t.robot else t for t in plant.tendons)


def add_tendon(
    plant: Plant,
    name: str,
    over: Mapping[str, float] | Sequence[str],
    stiffness: float = 0.0,
    damping: float = 0.0,
    rest: float | tuple[float, float] = 0.0,
    limits: tuple[float, float] = INFINITE,
    friction: float = 0.0,
    held: float | None = None,
) -> None:
    """Adds a tendon: a weighted sum of joints, or a string through frames.

    Parameters
    ----------
    name : str
        What it is called; `plant.actuate_tendon` pulls it by this name.
    over : mapping or sequence
        {"robot/joint": factor}, so that the length is Σ factor·q; or the frames "robot/frame" that a string runs
        through, one after the other, so that it is Σ |p(i+1) − p(i)|, in m.
    stiffness, damping : float
        Of a spring along it, N/m, and of a damper, N s/m; implicit in the step.
    rest : float or pair
        The length at which the spring is slack, or the interval.
    limits : pair
        Shortest and longest length; beyond it pushes as a joint's stop does.
    friction : float
        Dry friction along it, N.
    held : float, optional
        The length that it always has.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> joints = [f"arm/{joint.name}" for joint in plant["arm"].model.joints]
    >>> plant.add_tendon("coupling", {joints[0]: 1.0, joints[1]: -0.5}, stiffness=20.0)
    >>> bool(plant.step(plant.state([0.3, 0.0], [0.0, 0.0])).v[1] > 0.0)
    True
    """
    if any(tendon.name == name for tendon in plant.tendons):
        raise ModelError(f"The plant already has a tendon called '{name}'; give each its own name.")
    terms: tuple[Term, ...]
    if isinstance(over, Mapping):
        terms = tuple(JointTerm(joint, float(factor)) for joint, factor in over.items())
    else:
        frames = [over] if isinstance(over, str) else list(over)
        if len(frames) < 2:
            raise ModelError(f"The tendon '{name}' needs two frames at least to run through; it was given {frames!r}.")
        terms = tuple(Stretch(a, b) for a, b in pairwise(frames))
    slack = (float(rest), float(rest)) if isinstance(rest, int | float) else (float(rest[0]), float(rest[1]))
    ends = (float(limits[0]), float(limits[1]))
    tendon = Tendon(name, terms, stiffness, damping, slack, ends, friction, held)
    check_tendon(plant.model, tendon)
    plant.tendons = (*plant.tendons, tendon)
    plant.invalidate()


def actuate_tendon(
    plant: Plant,
    tendon: str,
    kind: Kind = "force",
    stiffness: float = 0.0,
    damping: float = 0.0,
    limits: tuple[float, float] = INFINITE,
    gear: float = 1.0,
    command_range: tuple[float, float] = INFINITE,
    name: str = "",
) -> None:
    """Gives a tendon an actuator, whose command comes after those of the joints' actuators.

    Parameters
    ----------
    tendon : str
        The tendon's name.
    kind : {"force", "position", "velocity"}
        What the command is: a force along it (negative pulls), a length, or the rate of its length.
    stiffness, damping : float
        Gains of a servo, implicit in the step.
    limits : pair
        Least and largest force; (−F, 0) is a cable, which pulls alone.
    gear : float
        What a command is multiplied by.
    command_range : pair
        The command is cut to it.
    name : str
        What the actuator is called; the tendon's name by default.
    """
    names = [each.name for each in plant.tendons]
    if tendon not in names:
        raise unknown("tendon", tendon, names, plant.name)
    if kind not in ("force", "position", "velocity"):
        raise ModelError(f"A tendon's actuator is of the kind force, position or velocity; {kind!r:.50} is of joints.")
    number, span = names.index(tendon), (float(command_range[0]), float(command_range[1]))
    made = Actuator(
        name or tendon, kind, tendon, -1, number, stiffness, damping, max(abs(limits[0]), abs(limits[1])), gear, span,
        force_range=(float(limits[0]), float(limits[1])),
    )  # fmt: skip
    plant.pulls = (*plant.pulls, made)
    plant.invalidate()
