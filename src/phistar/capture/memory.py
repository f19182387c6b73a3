"""Memory of a capture between samples; data alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.capture.phase_law import LawRows
from phistar.capture.planner import Plan
from phistar.capture.settings import Settings
from phistar.control.supervisor import State
from phistar.estimation.free_body import ROWS
from phistar.estimation.sighted_body import PACKED


class Memory(NamedTuple):
    """State carried between samples, for h hands that n joints move."""

    decision: State
    time: float  # of the last sample
    object: np.ndarray  # (18,) its `center` as estimated, a carrier in the world,
    twist: np.ndarray  # (6,) and as the base sees it move
    belief: np.ndarray  # (39,) of it at the last sighting, see `estimation.free_body`,
    covariance: np.ndarray  # (378,) and how well that is known
    surprise: float  # NIS of the sightings of the last moment, over its mean: how little they are as was believed
    center: np.ndarray  # (3,) the point of it that is followed: its mass centre as the plan has it
    doubt: np.ndarray  # (2,) standard deviations on arrival, rad and m, that the plan was made with
    begun: bool  # whether it was seen
    smooth: np.ndarray  # (6 h + n,) wrists and joint rates
    carrier: np.ndarray  # (18,) what the paths are fixed to, at the start of the phase; once held, in the base's axes
    paths: np.ndarray  # (h, 18)
    angles: np.ndarray  # (h,) that the paths turn by
    way: np.ndarray  # (3 n,) of the joints
    lasting: float  # of the phase's paths, s
    travel: tuple[float, ...]  # how far each hand has closed in, m
    closing: tuple[float, ...]  # and how fast
    squeeze: float  # N
    closed: np.ndarray  # (k,) how far each finger of a jaw is to be closed, m
    touching: tuple[tuple[bool, ...], ...]  # which fingers do, hand by hand
    held: np.ndarray  # (h, 4, 4) the grips in the object's frame when it was taken
    plan: Plan | None
    pace: Settings  # as the plan has them: faster where the object spins faster
    tried: tuple[tuple[str, ...], ...]  # places, in vain
    attempts: int
    asked: float  # when the planner was asked last
    refusal: str  # and what it said where it had no plan
    home: np.ndarray  # (n,) where the joints began


def first_memory(decision: State, rows: LawRows, settings: Settings, fingers: tuple[int, ...]) -> Memory:
    """Memory before the first sample."""
    still, six, none = np.concatenate([np.eye(3).ravel(), np.zeros(9)]), np.zeros(6), (0.0,) * rows.hands
    never = -settings.period
    return Memory(
        decision=decision,
        time=never,
        object=still,
        twist=six,
        belief=np.zeros(ROWS),
        covariance=np.zeros(PACKED),
        surprise=1.0,
        center=np.zeros(3),
        doubt=np.zeros(2),
        begun=False,
        smooth=np.zeros(rows.smooth),
        carrier=still,
        paths=np.zeros((rows.hands, 18)),
        angles=np.zeros(rows.hands),
        way=np.zeros(rows.way),
        lasting=1.0,
        travel=none,
        closing=none,
        squeeze=0.0,
        closed=np.zeros(rows.fingers),
        touching=tuple((False,) * count for count in fingers),
        held=np.tile(np.eye(4), (rows.hands, 1, 1)),
        plan=None,
        pace=settings,
        tried=(),
        attempts=0,
        asked=never,
        refusal="",
        home=np.zeros(rows.joints),
    )
