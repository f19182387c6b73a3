"""Robots that come with phistar, by name, each with its source."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from phistar.errors import ModelError, UnknownNameError
from phistar.io.robots import freeflyer, parallel_jaw, puma560, rj2w_tree, wd89_fig1
from phistar.model import Free, Model, ModelBuilder, planar_chain

EARTH = (0.0, 0.0, -9.81)
SPACE = (0.0, 0.0, 0.0)
_PLANAR = re.compile(r"planar([1-9][0-9]{0,3})")
_R87 = (
    "G. Rodriguez, Kalman filtering, smoothing, and recursive robot arm forward and inverse dynamics, 1987, "
    "section XII: a planar chain (the dimensions and masses are phistar's)"
)


@dataclass(frozen=True)
class Bundled:
    """A bundled robot: its builder, the source of its numbers, its gravity, and the options it takes."""

    build: Callable[..., Model]
    source: str
    gravity: tuple[float, float, float] = EARTH
    options: tuple[str, ...] = ()


_ROBOTS = {
    "puma560": Bundled(puma560.corke, puma560.CORKE, options=("motors", "friction")),
    "puma560_akb": Bundled(puma560.armstrong, puma560.ARMSTRONG, options=("motors",)),
    "rj2w_tree": Bundled(rj2w_tree.rj2w_tree, rj2w_tree.SOURCE, SPACE),
    "freeflyer": Bundled(freeflyer.freeflyer, freeflyer.SOURCE, SPACE, ("motors", "friction")),
    "parallel_jaw": Bundled(parallel_jaw.parallel_jaw, parallel_jaw.SOURCE),
    "wd89_fig1": Bundled(wd89_fig1.wd89_fig1, wd89_fig1.SOURCE),
}

# Name → where its numbers come from. Of the planar chains (`planar1` … `planar9999`) only the customary two are listed.
SOURCES = {name: robot.source for name, robot in _ROBOTS.items()} | {"planar2": _R87, "planar3": _R87}


def names() -> tuple[str, ...]:
    """The bundled robots, in alphabetical order."""
    return tuple(sorted(SOURCES))


def is_bundled(name: str) -> bool:
    """Whether a name is that of a bundled robot, a planar chain of any length among them."""
    return name in _ROBOTS or _PLANAR.fullmatch(name) is not None


def load_bundled(
    name: str,
    /,
    floating: bool = False,
    gravity: Sequence[float] | None = None,
    strict: bool = False,
    **options: bool,
) -> Model:
    """The bundled robot of this name.

    floating  sets a massless `base` free on a joint named `root`; robots that fly already stay as they are
    gravity   None is the robot's own: (0, 0, -9.81), or none for those that live in space
    strict    raises where the robot would otherwise have `model.warnings`
    options   `motors=False` leaves out rotors and gears (puma560, puma560_akb, freeflyer), `friction=False` the joint
              friction (puma560, freeflyer)
    """
    robot = _find(name)
    unknown = [option for option in options if option not in robot.options]
    if unknown:
        known = ", ".join(robot.options) or "none"
        raise ModelError(f"The bundled robot '{name}' has no option {', '.join(unknown)}; its options: {known}.")
    model = robot.build(gravity=robot.gravity if gravity is None else gravity, strict=strict, **options)
    return _set_free(model, strict) if floating and not _is_free(model) else model


def _find(name: str) -> Bundled:
    if name in _ROBOTS:
        return _ROBOTS[name]
    planar = _PLANAR.fullmatch(name)
    if planar:
        return Bundled(lambda gravity, strict: planar_chain(int(planar[1])).replace(name=name, gravity=gravity), _R87)
    raise UnknownNameError(f"There is no bundled robot '{name[:80]}'; there are {', '.join(names())}.")


def _is_free(model: Model) -> bool:
    return isinstance(model.joints[0].kind, Free)


def _set_free(model: Model, strict: bool) -> Model:
    builder = ModelBuilder(model.name, gravity=model.gravity)
    builder.body("base", joint=Free(), joint_name="root")
    builder.attach(model, parent="base")
    return builder.build(strict=strict)
