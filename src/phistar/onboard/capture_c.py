"""A capture's controller as C99: readings in, joint forces out, one call a sample; only its planner stays outside."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.code.c import CFunction, identifier
from phistar.backends.kernels import number
from phistar.capture import controller as decisions
from phistar.capture import estimate, jaw_moves
from phistar.capture.controller import CaptureController
from phistar.capture.estimate import SIGHTED, UNTOUCHED
from phistar.capture.facts import HOLDING, fact_names, fact_row, fact_rows
from phistar.capture.paths import coast_carrier
from phistar.capture.phase_law import LawRows, measured_names, traceable_law
from phistar.capture.planner import Plan
from phistar.capture.settings import Settings
from phistar.errors import FileError, PhistarError
from phistar.estimation.free_body import FreeBody
from phistar.export import kernel_code
from phistar.export.files import steps_of
from phistar.onboard.rules_c import RulesCode, export_rules
from phistar.spatial import log_quaternion

PACE = ("approach", "closing_speed", "squeeze", "squeeze_time", "slowing", "standoff")  # as the C has them
NAMED = ("plan", "reach", "approach", "contact", "coordinate", "hold", "back_off", "regroup", "retreat", "aborted")
PARTS = ("capture.c", "capture_switches.c")


def export_capture(
    controller: CaptureController, directory: str | os.PathLike[str], name: str = "capture"
) -> tuple[Path, ...]:
    """Write the controller of a capture as C99 that needs nothing but <math.h> and <string.h>.

    `NAME_start(state)` once, then `NAME_step(state, t, readings, tips, target, tau)` at every sample: the filter that
    follows the target, the law of all phases, the facts and the rules. It gives the number of the rule that switched,
    or 0, and allocates nothing; the header says how many operations a sample takes at most. The planner runs
    elsewhere: what it finds is handed in by `NAME_hand_in(state, plan)`, in the order of `plan_row`.

    Parameters
    ----------
    controller : CaptureController
        Such as `phistar.capture.from_scene` gives.
    directory : path
        Made if it is not there.
    name : str
        NAME.

    Returns
    -------
    tuple of Path
        NAME.c, NAME.h, NAME_rules.c, NAME_rules.h.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> setting = ps.Scene.load("grapple").setting(1)  # doctest: +SKIP
    >>> with TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     [path.name for path in ps.onboard.export_capture(setting.control, folder, "grip")]
    ['grip.c', 'grip.h', 'grip_rules.c', 'grip_rules.h']
    """
    name, folder = identifier(name), Path(directory)
    code, paths = CaptureCode(controller, name), []
    rules = export_rules(controller.supervisor, folder, f"{name}_rules")
    try:
        for ending, text in (("c", code.source()), ("h", code.header())):
            temporary, path = folder / f".{name}.{secrets.token_hex(6)}", folder / f"{name}.{ending}"
            temporary.write_text(text, encoding="utf-8", newline="\n")
            os.replace(temporary, path)
            paths.append(path)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return (*paths, *rules)


def plan_row(plan: Plan | None, center: np.ndarray, doubt: np.ndarray, pace: Settings) -> Array:
    """Arguments of `NAME_hand_in` of an exported capture, as numbers in the order of `NAME_plan`.

    Without a plan it says what is to be known still: the mass centre that is followed from now on, and the pace.

    Parameters
    ----------
    plan : Plan or None
    center : (3,)
        The target's mass centre in its frame, as it was estimated for the plan, m.
    doubt : (2,)
        Standard deviations of the target's attitude and place on arrival, rad and m.
    pace : Settings
        `Settings.at_spin` of the target's spin.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from phistar.capture.settings import Settings
    >>> len(ps.onboard.plan_row(None, np.zeros(3), np.zeros(2), Settings().at_spin(0.2)))
    14
    """
    own = [getattr(pace, each) for each in PACE]
    if plan is None:
        return np.array([0.0, 0.0, 0.0, *center, *doubt, *own])
    parts = plan.contact.ravel(), plan.q, plan.rates, plan.weights, plan.shares
    return np.concatenate([[1.0, plan.start, plan.arrival], center, doubt, own, *parts])


@dataclass(frozen=True, eq=False)
class CaptureCode:
    """The C of a capture's controller."""

    controller: CaptureController
    name: str

    @cached_property
    def rules(self) -> RulesCode:
        return RulesCode(self.controller.supervisor, f"{self.name}_rules")

    @cached_property
    def kernels(self) -> tuple[tuple[CFunction, int], ...]:
        """The functions without branches, and how many operations each takes."""
        arms, settings = self.controller.arms.without_mass(), self.controller.settings
        count, delay = len(arms.hands), np.array([settings.delay])
        law, rows = traceable_law(arms)
        fingers = tuple(len(hand.fingers) for hand in arms.hands)
        jaws = tuple(bool(hand.jaw) for hand in arms.hands)

        def first_sight(seen: Any, base: Any, center: Any) -> Any:
            belief, covariance = estimate.first_sight(seen, base, settings)
            return belief, covariance, estimate.as_carrier(FreeBody.of(belief), center)

        def locate(belief: Any, covariance: Any, lying: Any, there: Any, center: Any) -> Any:
            lying, there = lying.reshape(count, 4, 4), there.reshape(count, 4, 4)
            return estimate.locate(belief, covariance, lying, there, delay, center)

        def facts(measured, tips, touching, grips, body, held, twist, shares, told):  # type: ignore[no-untyped-def]
            return fact_row(fingers, jaws, measured, tips, touching, grips, body, held, twist, shares, told)

        def in_base(carrier: Any, base: Any) -> Any:
            return estimate.in_base(carrier, base)

        sighted = {**SIGHTED, "lying": 16 * count, "there": 16 * count}
        made: dict[str, tuple[Callable[..., Any], Mapping[str, int]]] = {
            "law": (law, rows),
            "follow": (estimate.follow_body, sighted),
            "carry": (estimate.on_base, sighted),
            "coast": (coast_carrier, sighted),
            "in_base": (in_base, sighted),
            "first_sight": (first_sight, sighted),
            "locate": (locate, sighted),
            "turn_vector": (log_quaternion, {"q": 4}),
            "facts": (facts, fact_rows(fingers)),
        }
        return tuple(self._kernel(called, *each) for called, each in made.items())

    def _kernel(self, called: str, function: Callable[..., Any], rows: Mapping[str, int]) -> tuple[CFunction, int]:
        model = self.controller.arms.without_mass().model
        found, code = kernel_code(function, model, None, f"{self.name}_{called}", (), False, rows)
        if code.work:
            raise PhistarError(
                f"{model.name} is too long a robot for a capture in C: its law needs {code.work} doubles."
            )
        return code, sum(step.operations for step in steps_of(found))

    @property
    def operations(self) -> int:
        """The most operations of a sample: every function once, and the rules."""
        return sum(count for _, count in self.kernels) + self.rules.operations

    def header(self) -> str:
        own = self.controller.arms
        hands, sizes = len(own.hands), LawRows.of(own)
        text = files("phistar.onboard").joinpath("capture_head.h").read_text("utf-8")
        given = {
            "NAME": self.name,
            "GUARD": f"{self.name.upper()}_H",
            "OPERATIONS": self.operations,
            "PERIOD": f"{self.controller.period:g}",
            "READINGS": ", ".join(f"{each} ({size})" for each, size in own.readings.items()),
            "READ": sum(own.readings.values()),
            "TIPS": sum(len(hand.fingers) for hand in own.hands),
            "HANDS": hands,
            "JOINTS": sizes.joints,
            "SLIDES": max(sizes.fingers, 1),
            "FORCES": own.scene.nv,
        }
        for key, value in given.items():
            text = text.replace(f"@{key}@", str(value))
        return text

    def source(self) -> str:
        own = [self._static(code) for code, _ in self.kernels]
        head = ["#include <math.h>", "#include <string.h>", "", f'#include "{self.name}.h"', ""]
        head += [f"#define NAME(x) {self.name}_##x", *self._definitions(), ""]
        parts = [files("phistar.onboard").joinpath(part).read_text("utf-8") for part in PARTS]
        return "\n".join([*head, *own, *self._tables(), "", *parts])

    def _static(self, code: CFunction) -> str:
        own = code.source().replace(f'#include "{code.name}.h"', f"static {code.prototype};")
        return own.replace(f"\nvoid {code.name}(", f"\nstatic void {code.name}(")

    def _definitions(self) -> list[str]:
        own, arms, settings = self.controller, self.controller.arms, self.controller.settings
        sizes, phases = LawRows.of(arms), own.supervisor.phases
        numbers = {
            "PERIOD": own.period, "DELAY": settings.delay, "LIGHT": settings.light, "SERVO": jaw_moves.SERVO,
            "SOON": jaw_moves.SOON, "SLACK": jaw_moves.SLACK, "STARTLED": decisions.STARTLED,
            "SURPRISING": decisions.SURPRISING, "SETTLING": decisions.SETTLING, "TOUCH_ON": settings.touch_on,
            "TOUCH_OFF": settings.touch_off, "BACK_OFF": settings.back_off, "BACK_OFF_TIME": settings.back_off_time,
            "RETREAT_TIME": settings.retreat_time, "AHEAD": max(hand.ahead for hand in arms.hands),
        }  # fmt: skip
        counts = {
            "HANDS": sizes.hands, "JOINTS": sizes.joints, "SLIDES": sizes.fingers, "KNOWN": len(self.rules.facts),
            "TIPS": sum(len(hand.fingers) for hand in arms.hands), "FACTS": len(fact_names(arms)),
            "MEASURED": len(measured_names(arms)),
            **{phase: phases.index(phase) if phase in phases else -1 for phase in NAMED},
        }  # fmt: skip
        base = f"((readings) + {_places(arms.readings)[arms.layout.base_reading]})" if arms.free else "fixed_base"
        lines = [f"#define CODE_{key} {number(value)}" for key, value in numbers.items()]
        lines += [f"#define CODE_{key} {value}" for key, value in counts.items()]
        return [*lines, f"#define BASE(readings) {base}", f"#define MASS{' mass,' if arms.mass is not None else ''}"]

    def _tables(self) -> list[str]:
        own, arms, phases = self.controller, self.controller.arms, self.controller.supervisor.phases
        at, facts = _places(arms.readings), fact_names(arms)
        angles = [at[f"{hand.name}_joints"] + i for hand in arms.hands for i in range(len(hand.joints))]
        jaws = [(at[f"{hand.name}_jaw"] + i, hand.jaw.open[i], hand.jaw.ways[i])
                for hand in arms.hands if hand.jaw for i in range(2)]  # fmt: skip
        tips = np.cumsum([0, *(len(hand.fingers) for hand in arms.hands)]).tolist()
        slides = np.cumsum([0, *(2 * bool(hand.jaw) for hand in arms.hands)]).tolist()
        on_phases = {"untouched": UNTOUCHED, "holding": HOLDING, "on_joints": decisions.ON_JOINTS}
        wholes = {"angle_at": angles, "jaw_at": [jaw[0] for jaw in jaws], "first_tip": tips, "first_slide": slides,
                  "fact_at": [facts.index(each) for each in self.rules.facts],
                  **{key: [int(phase in each) for phase in phases] for key, each in on_phases.items()}}  # fmt: skip
        lag = own.period + own.settings.filter_time
        floats = {
            "jaw_open": [jaw[1] for jaw in jaws], "jaw_ways": [jaw[2] for jaw in jaws],
            "ahead": [hand.ahead for hand in arms.hands], "smoothing": [own.period / lag],
            "pace": [getattr(own.settings, each) for each in PACE],
            **({} if arms.free else {"fixed_base": own.fixed_base.tolist()}),
            **({} if arms.mass is None else {"mass": np.asarray(arms.mass).tolist()}),
        }  # fmt: skip
        rows = {"noises": [estimate.noises(own.settings, phase) for phase in phases],
                "gains": [own.gains[phase] for phase in phases]}  # fmt: skip
        lines = [f"static const int {key}[] = {{{_list(map(str, each))}}};" for key, each in wholes.items()]
        lines += [f"static const double {key}[] = {{{_list(map(number, each))}}};" for key, each in floats.items()]
        for key, each in rows.items():
            text = ",\n".join(f"    {{{_list(map(number, row))}}}" for row in each)
            lines.append(f"static const double {key}[][{len(each[0])}] = {{\n{text}}};")
        return lines


def _places(readings: Mapping[str, int]) -> dict[str, int]:
    """Where each reading begins in the row of all."""
    starts = np.cumsum([0, *readings.values()]).tolist()
    return dict(zip(readings, starts, strict=False))


def _list(entries: Sequence[str] | Any) -> str:
    return ", ".join(entries) or "0"
